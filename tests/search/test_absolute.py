"""Absolute questions: the best plan, or one within a share of it, held against the true optimum in every cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.asking import searching, varied
from tests.blocks import seeds
from tests.cases import OneOf, cases, contexts
from tests.forests import paper_forest
from tests.knn_reference import nearest_by_vertices
from tests.oracle import nearest
from tests.search.test_forest_search import assert_same, one_product, question_of, small_grid, two_products
from tests.search.test_neighbour_search import random_case

import whence as wh
from whence.errors import InputError
from whence.question import Question
from whence.search import forest_search as forest
from whence.search import neighbour_search as knn
from whence.search.forest_search import rival_row

SHARES = (0.0, 0.01, 0.05, 0.2)
EXACT = 1e-6
#: How large questions are searched one after the other, and settings under which small ones are too: rivals that all
#: boxes share, a box's own rivals, and the best plan at the nearest point of every box, with proposals.
WAYS: dict[str, dict[str, Any]] = {
    "shared": {},
    "own": {"common_rivals": 0},
    "eager": {"common_rivals": 0, "eager_from": 0, "first_look": 2, "later_look": 2},
    "late": {
        "common_rivals": 1,
        "eager_from": 6,
        "first_look": 4,
        "patience": (3, 3),
        "stalled": 9,
        "strong_from": (1, 1),
    },
}


def by_every_way(search: Callable[[], Any]) -> Iterator[Any]:
    """What a search returns in each of the ways."""
    for settings in WAYS.values():
        with searching(**settings):
            found = search()
        yield found


class Stock(wh.DecisionProblem):
    """A problem of one's own: stock one thing at a price, and pay the square of what is short."""

    def costs(self, decision: Any, Y: np.ndarray) -> np.ndarray:
        """Price of the stock, and the square of what is short."""
        return 2.0 * float(decision) + np.maximum(np.asarray(Y)[:, 0] - float(decision), 0.0) ** 2

    def solve(self, Y: np.ndarray, weights: np.ndarray, risk: Any) -> float:
        """By trying many stocks."""
        tried = np.linspace(0.0, float(np.asarray(Y).max()), 60)
        return float(tried[np.argmin([risk.of(self.costs(z, Y), weights) for z in tried])])


def own(rng: np.random.Generator, n: int, points: np.ndarray) -> tuple[Any, np.ndarray]:
    """Demands of one thing."""
    return Stock(), (3 + 4 * points[:, :1] + rng.normal(size=(n, 1))).clip(0.0).round(1)


def scaled(question: Question, within: float) -> Question:
    """The question with a share, its rivals made dearer by it."""
    better = question.claim.better

    def nearly(weights: np.ndarray) -> np.ndarray | None:
        best = better(weights)
        if best is None:
            return None
        best = (1.0 + within) * best
        gap = question.claim.risk.of(question.claim.alternative, weights) - question.claim.risk.of(best, weights)
        return best if gap > question.claim.tau else None

    return varied(question, better=nearly, within=within)


@pytest.mark.parametrize("block", seeds(2, 5))
def test_a_share_of_the_best_equals_brute_force(block: int) -> None:
    """500 questions about one of several plans, with every share and both risks: as by looking at all cells."""
    away = 0
    for seed in range(200_000 + 25 * block, 200_000 + 25 * (block + 1)):
        for i, case in enumerate(cases(seed, 4)):
            asked = case.but(kind="absolute", within=SHARES[(seed + i) % 4])
            truth = nearest(asked.question())
            away += truth is not None and truth.distance > 0
            for found in by_every_way(partial(forest.explain, asked.question())):
                assert_same(asked.question(), found, truth)
    assert away >= 30


@pytest.mark.parametrize("block", seeds(1, 4))
def test_a_margin_counts_beside_the_best(block: int) -> None:
    """The best plan is no answer where it does not save enough against the decision, however boxes are searched."""
    farther = 0
    for seed in range(400_000 + 25 * block, 400_000 + 25 * (block + 1)):
        for case in cases(seed, 2):
            plain = case.but(kind="absolute").question()
            asked = varied(plain, margin=(0.0, 0.1 * float(np.ptp(plain.claim.decision))))
            truth, without = nearest(asked), nearest(plain)
            farther += without is not None and (truth is None or truth.distance > without.distance)
            for found in by_every_way(partial(forest.explain, asked)):
                assert_same(asked, found, truth)
    assert farther >= 5


@pytest.mark.parametrize(("problem", "alpha"), list(product((one_product, two_products, small_grid, own), (None, 0.7))))
def test_plans_without_end_equal_brute_force(problem: Any, alpha: float | None) -> None:
    """Plans from a continuum, from routes and of a problem of one's own, against the true optimum in every cell."""
    found = 0
    for seed in (drawn := seeds(5, 16)):
        rng = np.random.default_rng([seed, 5])
        kinds = "".join(rng.choice(list("crdbk"), 3))
        n = int(rng.integers(8, 18))
        X = contexts(rng, n, kinds)
        real, Y = problem(rng, n, wh.Schema.infer(X).encode(X))
        weights = paper_forest(n_trees=int(rng.integers(1, 6)), max_depth=3, random_state=seed)
        policy = wh.Policy(real, weights, wh.Expectation() if alpha is None else wh.CVaR(alpha)).fit(X, Y)
        context, other = contexts(rng, 2, kinds).iloc[[0]], X.iloc[int(rng.integers(n))]
        instead = policy.decide(other)
        if isinstance(real, wh.Newsvendor | Stock) and seed % 2:
            instead = 0.9 * policy.decide(context)
        before = 0.0
        for within in SHARES[::-1]:
            truth = nearest(scaled(question_of(policy, context, instead, "absolute"), within))
            found += truth is not None and truth.distance > 0
            wanted = np.inf if truth is None else truth.distance
            # A smaller share is never nearer.
            assert wanted >= before - EXACT
            before = wanted
            asked = partial(policy.explain, context, instead, kind="absolute", within=within)
            for why in by_every_way(asked):
                assert why.distance == pytest.approx(wanted, abs=EXACT)
                assert (why.status == "already") == (wanted == 0)
                if why.context is not None:
                    at = policy.weights_at(why.context)
                    best, mine = (
                        policy.risk_.of(real.costs(z, policy.Y_), at) for z in (policy.decide(why.context), instead)
                    )
                    assert mine <= (1.0 + within) * best + why.tolerance + 1e-9
    assert found >= len(drawn) // 4


def test_neighbours_within_a_share_equal_the_arrangement() -> None:
    """Among neighbours too, by looking at every vertex of the arrangement of their distances."""
    away = 0
    for seed in (drawn := seeds(150, 700)):
        question, rivals = random_case(seed, most=6)
        if question.claim.kind != "absolute" or question.claim.alternative.min() < 0.0:
            continue
        within = SHARES[seed % 4]
        asked = scaled(question, within)
        found = knn.explain(asked)
        truth = nearest_by_vertices(asked, [(1.0 + within) * rival for rival in rivals])
        assert found.distance == pytest.approx(truth, abs=1e-5)
        away += 0.0 < truth < np.inf
    assert away >= len(drawn) // 15


@pytest.mark.parametrize("weights", ["forest", "knn"])
def test_the_integer_program_agrees(weights: str) -> None:
    """Search and integer program share no code and give the same distance within every share."""
    from whence.milp.milp_engine import IntegerProgram

    away = 0
    for seed in (drawn := seeds(8, 24)):
        case = cases(seed, 1, weights=weights)[0].but(kind="absolute", within=SHARES[seed % 4])
        engine = forest.explain if weights == "forest" else knn.explain
        mine, other = engine(case.question()), IntegerProgram().answer(case.question(time_limit=60.0))
        assert mine.distance == pytest.approx(other.distance, abs=1e-5)
        away += 0.0 < mine.distance < np.inf
    assert away >= len(drawn) // 5


def test_the_dual_program_agrees() -> None:
    """The dual of a linear problem certifies a share of its optimum as well."""
    away = 0
    for seed in range(24):
        rng = np.random.default_rng([seed, 9])
        X = contexts(rng, 12, "cr")
        real, Y = small_grid(rng, 12, wh.Schema.infer(X).encode(X))
        policy = wh.Policy(real, paper_forest(n_trees=3, max_depth=3, random_state=seed)).fit(X, Y)
        instead = policy.decide(X.iloc[5])
        within = SHARES[seed % 4]
        asked = {"context": X.iloc[2], "instead": instead, "kind": "absolute", "within": within}
        mine, dual = policy.explain(**asked), policy.explain(**asked, engine="milp", method="dual")
        assert mine.distance == pytest.approx(dual.distance, abs=1e-5)
        away += 0.0 < mine.distance < np.inf
    assert away >= 3


def test_the_row_of_a_rival_bounds_its_cost() -> None:
    """A row adds up to the rival's risk where its threshold was taken, and to no less anywhere else."""
    from whence.search.grid import grid_of

    case = next(c for seed in range(50) for c in cases(seed, 1, weights="forest") if c.policy.risk_ == wh.CVaR(0.8))
    question = case.but(kind="absolute").question()
    kept = grid_of(question)
    assert kept is not None
    costs, points = question.claim.decision, case.policy.weights_.inputs_
    for here in (0, 1):
        weights = case.policy.weights_.weights(points)
        row = rival_row(question, kept, costs, weights[here])
        for i, at in enumerate(weights):
            cells = np.array(
                [
                    np.searchsorted(kept.cut[kept.face_start[c] : kept.face_start[c + 1]], np.float32(points[i, c]))
                    for c in range(points.shape[1])
                ],
                dtype=np.int32,
            )
            total = -row[kept.grid.leaves_at(cells)].sum()
            assert total >= question.claim.risk.of(costs, at) - 1e-9
            assert i != here or total == pytest.approx(question.claim.risk.of(costs, at))


def test_a_hard_question_opens_boxes_and_ends() -> None:
    """Where better plans have no end, boxes are opened and the bound rises, instead of proposals and cuts alone."""
    from tests.search.test_driver import policy, restaurant

    asked, (X, _) = policy("forest", "mean"), restaurant()
    mine = asked.decide(X.iloc[60]).copy()
    mine[4] *= 1.2
    exact = asked.explain(X.iloc[60], instead=mine, kind="absolute", node_limit=2000)
    assert exact.nodes >= 2000 or exact.status in ("optimal", "none")
    assert exact.bound > 0.3
    near = asked.explain(X.iloc[60], instead=mine, kind="absolute", within=0.02, time_limit=60.0)
    assert near.status in ("optimal", "none", "already")
    assert near.distance <= exact.distance


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"within": 0.1}, "use it with kind='absolute'"),
        ({"within": -0.1, "kind": "absolute"}, "'within' must be a number >= 0"),
        ({"within": True, "kind": "absolute"}, "'within' must be a number >= 0"),
        ({"within": "2 %", "kind": "absolute"}, "'within' must be a number >= 0"),
        ({"within": np.nan, "kind": "absolute"}, "'within' must be a number >= 0"),
    ],
)
def test_shares_that_make_no_sense_are_refused(given: Any, sentence: str) -> None:
    """One sentence that says what was expected."""
    X = np.linspace(0, 1, 12)[:, None]
    policy = wh.Policy(wh.Newsvendor(1.0, 4.0), paper_forest(n_trees=3, random_state=0)).fit(X, 10 * X)
    with pytest.raises(InputError, match=sentence):
        policy.explain(X[2], policy.decide(X[9]), **given)


def test_a_plan_with_a_profit_met_on_the_way_is_refused_with_a_way_out() -> None:
    """Two percent of a profit is not two percent of a cost; nor can it be known before that there is any."""
    X = np.linspace(0.0, 1.0, 30)[:, None]
    Y = np.column_stack([1.0 + X[:, 0], 2.0 - X[:, 0], 30.0 - 60.0 * X[:, 0]])
    policy = wh.Policy(OneOf(), wh.KNNWeights(k=3)).fit(X, Y)
    with pytest.raises(InputError, match=r"no cost may be negative: .* within=\(10, 'cost'\)") as caught:
        policy.explain([0.1], 1, kind="absolute", within=0.02)
    assert caught.value.parameter == "within"
    assert policy.explain([0.1], 1, kind="absolute", within=(0.1, "cost")).status in ("optimal", "none")


def test_no_share_is_the_answer_without_one() -> None:
    """``within=0`` is the plain absolute question, to the last bit."""
    for seed in range(40):
        case = cases(seed, 1)[0]
        plain, none = (
            case.policy.explain(case.context, case.instead, kind="absolute", **g) for g in ({}, {"within": 0})
        )
        assert (plain.status, plain.distance, plain.bound) == (none.status, none.distance, none.bound)
