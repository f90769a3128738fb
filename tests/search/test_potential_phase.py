"""Plans one by one: the nearest context of any of them, against every cell and every plan."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from tests.asking import searching
from tests.forests import paper_forest
from tests.set_soaking import set_case, set_disagreement
from tests.soaking import disagreement, forest_case
from tests.timing import at_most

import whence as wh
from whence.search.frontiers import PlanByPlan


@pytest.fixture
def taken_apart(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Count when plans are taken one by one: the cutoffs at which that was done."""
    cutoffs: list[float] = []
    original = PlanByPlan._taken_apart

    def counting(self: PlanByPlan, cutoff: float) -> object:
        found = original(self, cutoff)
        cutoffs.extend([cutoff] * (found is not None))
        return found

    monkeypatch.setattr(PlanByPlan, "_taken_apart", counting)
    return cutoffs


@pytest.mark.parametrize("block", range(4))
def test_sets_agree_with_brute_force(block: int, taken_apart: list[float]) -> None:
    """Questions about sets of every family; those that suit are answered plan by plan, sooner or later."""
    with searching(potentials_after=block, potentials_columns=0):
        for seed in range(10_000 + 60 * block, 10_060 + 60 * block):
            assert set_disagreement(set_case(seed, ("own", "rule", "grid")[seed % 3])) == "", f"set_case({seed})"
    assert len(taken_apart) >= (15, 5, 2, 1)[block]


@pytest.mark.parametrize("block", range(4))
def test_single_plans_agree_with_brute_force(block: int, taken_apart: list[float]) -> None:
    """Questions about one plan over awkward data, from the first box or a later one on, alone or beside plain boxes."""
    both = 10**9 if block < 2 else 2
    with searching(potentials_after=block % 2, potentials_columns=0, potentials_both_from=both):
        for seed in range(20_000 + 100 * block, 20_100 + 100 * block):
            assert disagreement(forest_case(seed)) == "", f"forest_case({seed})"
    assert len(taken_apart) >= (10, 4)[block % 2]


def wide_policy(seed: int) -> wh.Policy:
    """A policy with ten features, whose plan is hard to change."""
    rng = np.random.default_rng(seed)
    X = rng.random((120, 10))
    problem = wh.ShortestPath.grid(4)
    slopes = rng.normal(size=(10, len(problem.parts())))
    Y = np.abs(3.0 + (X - 0.5) @ slopes + 0.3 * rng.normal(size=(120, slopes.shape[1])))
    return wh.Policy(problem, paper_forest(30, 4, random_state=seed)).fit(X, Y)


def test_the_answer_is_that_of_all_plans_together() -> None:
    """Whenever plans are taken one by one, the distance is the same, and proved."""
    for seed in range(3):
        policy = wide_policy(seed)
        with searching(potentials_after=10**9):
            together = policy.explain(policy.X_.iloc[0], margin=0.05)
        for after in (1, 50):
            with searching(potentials_after=after):
                apart = policy.explain(policy.X_.iloc[0], margin=0.05)
            assert apart.status == together.status
            assert apart.distance == pytest.approx(together.distance, abs=1e-12)


def test_nothing_would_change_it_is_proved_by_asking_whether_anything_could() -> None:
    """Where no explanation is known, plans are ruled out wherever they are, in a few boxes instead of very many."""
    policy = wide_policy(3)
    question = {"context": policy.X_.iloc[0], "margin": 0.3}
    boxes = []
    for after in (10**9, 1):
        with searching(potentials_after=after):
            why = policy.explain(**question)
        assert why.status == "none"
        boxes.append(why.nodes)
    assert boxes[1] < 0.5 * boxes[0], boxes


def test_the_unit_of_costs_does_not_change_the_course() -> None:
    """Potentials are found with half the digits, in the unit of distances, whatever that of costs is."""
    policy = wide_policy(1)
    fitted = RandomForestRegressor(30, max_depth=4, random_state=1).fit(policy.X_, policy.Y_)
    answers = set()
    for unit in (1e-100, 1e-44, 1.0, 1e38, 1e100):
        same = wh.Policy(policy.problem, wh.ForestWeights.of(fitted)).fit(policy.X_, policy.Y_ * unit)
        with searching(potentials_after=1):
            why = same.explain(policy.X_.iloc[0], margin=0.3)
        answers.add((why.status, round(why.distance, 9), why.nodes))
    assert len(answers) == 1, answers
    assert answers.pop()[0] == "optimal"


def test_a_time_limit_holds() -> None:
    """What is known by then is returned, with a bound that is proved."""
    policy = wide_policy(3)
    with searching(potentials_after=1):
        whole = policy.explain(policy.X_.iloc[1], margin=0.05)
    for seconds in (0.005, 0.02, 0.05):
        with at_most(seconds + 1.5), searching(potentials_after=1):
            why = policy.explain(policy.X_.iloc[1], margin=0.05, time_limit=seconds)
        assert why.bound <= whole.distance + 1e-12 <= why.distance + 2e-12
