"""Contexts that look like past ones: both engines, what plausibility must not change, and what every answer tells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest
from tests.blocks import seeds
from tests.cases import cases
from tests.explain.test_margin import asked
from tests.forests import paper_forest

import whence as wh
from whence.errors import InputError
from whence.weights import plausibility as usual_module
from whence.weights.plausibility import Isolation, usual_in

BLOCKS, SEEDS = 8, 20


@pytest.fixture
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """An isolation forest that the integer program can swallow."""
    monkeypatch.setattr(usual_module, "TREES", 3)


@pytest.mark.usefixtures("few_trees")
@pytest.mark.parametrize("block", seeds(2, BLOCKS))
def test_the_search_agrees_with_the_integer_program(block: int) -> None:
    """The same status and distance, and a context that scikit-learn's own score takes for usual enough."""
    farther = 0
    for seed in range(SEEDS * block, SEEDS * (block + 1)):
        case = cases(seed, 1)[0]
        share = (0.1, 0.4, 0.8)[seed % 3]
        ours, theirs = asked(case, plausible=share), asked(case, plausible=share, engine="milp")
        assert ours.status == theirs.status
        assert ours.distance == pytest.approx(theirs.distance, abs=1e-5)
        farther += ours.distance > asked(case).distance + 1e-9
        if ours.context is not None:
            schema = case.policy.schema_
            forest = usual_in(case.policy.weights_, schema, case.policy.X_).forest
            scores = np.sort(forest.score_samples(schema.encode(case.policy.X_)))
            least = scores[max(0, int(np.ceil(share * scores.size)) - 1)]
            assert forest.score_samples(schema.encode_row(ours.context)[None, :])[0] >= least - 1e-8
            assert ours.usual is not None
            assert ours.usual >= share - 1e-9
    assert farther > 0


def test_more_plausible_is_never_nearer_and_none_is_none() -> None:
    """Without a share it is the answer of before, bit for bit."""
    for seed in range(25):
        case = cases(seed, 1)[0].but(kind="relative")
        plain, none = asked(case), asked(case, plausible=None)
        assert (plain.status, plain.distance, plain.bound, plain.nodes) == (
            none.status,
            none.distance,
            none.bound,
            none.nodes,
        )
        before = plain.distance
        for share in (0.05, 0.3, 0.6, 0.95):
            distance = asked(case, plausible=share).distance
            assert distance >= before - 1e-9
            before = distance


def test_it_combines_with_margin_and_confidence() -> None:
    """All three at once: never nearer than any of them alone, and each of them holds."""
    found = 0
    for seed in range(40):
        case = cases(seed, 1)[0].but(kind="relative")
        ways: list[dict[str, Any]] = [{"plausible": 0.3}, {"margin": (0.2, "cost")}, {"confidence": 1.0}]
        every = asked(case, plausible=0.3, margin=(0.2, "cost"), confidence=1.0)
        for way in ways:
            assert every.distance >= asked(case, **way).distance - 1e-9
        if every.context is not None:
            found += 1
            assert every.usual is not None
            assert every.usual >= 0.3 - 1e-9
    assert found > 5


def test_a_share_is_that_of_scikit_learn() -> None:
    """The quick way to score one context gives the forest's own score."""
    rng = np.random.default_rng(3)
    points = rng.normal(size=(150, 3))
    usual = Isolation.of(points)
    fresh = IsolationForest(n_estimators=100, random_state=0).fit(points)
    scores = fresh.score_samples(points)
    for point in (*points[:40], *rng.uniform(-4, 4, (40, 3))):
        here = fresh.score_samples(point[None, :])[0]
        assert usual.share(point) == pytest.approx((scores <= here + 1e-9).mean())


def test_every_explanation_tells_how_usual_it_is() -> None:
    """Asked for or not, also for neighbours, and after a journey through JSON."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"t": rng.normal(20, 5, 80), "day": rng.choice(["Mon", "Sat"], 80)})
    Y = 10 + X[["t"]].to_numpy() + 5 * (X[["day"]] == "Sat").to_numpy()
    for weights in (paper_forest(20, random_state=0), wh.KNNWeights(k=7)):
        policy = wh.Policy(wh.Newsvendor(1, 3), weights).fit(X, Y)
        why = policy.explain(X.iloc[0], instead=policy.decide(X.iloc[0]) + 4)
        assert why.usual is not None
        assert 0.0 < why.usual <= 1.0
        again = wh.Explanation.from_json(why.to_json())
        assert again.usual == pytest.approx(why.usual)
        assert "The context found is " in str(again)
        assert "usual" in str(again)
        assert why.verify(policy).agrees
        assert again.verify(policy).agrees


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, "0.1", True, float("nan")])
def test_a_share_that_cannot_be(share: Any) -> None:
    """One sentence that names the argument."""
    with pytest.raises(InputError, match=r"^'plausible' must be a share .* Got .* instead\.$") as caught:
        asked(cases(0, 1)[0], plausible=share)
    assert caught.value.parameter == "plausible"


def test_neighbours_measure_it_by_distance() -> None:
    """A context that had to be usual is, by how far away its own neighbours are."""
    found = [asked(case, plausible=0.1) for case in cases(1, 10, weights="knn", plain=True)]
    shares = [why.usual for why in found if why.found]
    assert shares
    assert all(share is not None and share >= 0.1 for share in shares)
