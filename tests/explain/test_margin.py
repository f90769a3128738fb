"""Better by a margin: both engines, every cell, and what a margin must not change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from tests.asking import varied
from tests.blocks import seeds
from tests.cases import Case, cases
from tests.oracle import MOST_CELLS, nearest, nearest_by_costs

import whence as wh
from whence.errors import InputError
from whence.search.grid import grid_of

BLOCKS, SEEDS = 8, 20


def asked(case: Case, **options: Any) -> wh.Explanation:
    """The question of a case, put to its policy."""
    return case.policy.explain(
        case.context,
        case.instead,
        decision=case.decision,
        kind=case.kind,
        fixed=case.fixed,
        bounds=case.bounds,
        **options,
    )


def margin_of(case: Case, number: int) -> Any:
    """A share of the decision's cost where no cost is negative, otherwise an amount."""
    if number % 2 or case.policy.Y_.min() < 0:
        return (float((0.1, 1.0, 3.0)[number % 3]), "cost")
    return (0.02, 0.1, 0.3)[number % 3]


def parts(margin: Any) -> tuple[float, float]:
    return (0.0, margin[0]) if isinstance(margin, tuple) else (margin, 0.0)


@pytest.mark.parametrize("block", seeds(2, BLOCKS))
def test_the_search_agrees_with_the_integer_program(block: int) -> None:
    """Both risks, both kinds: the same status and the same distance."""
    found = 0
    for seed in range(SEEDS * block, SEEDS * (block + 1)):
        case = cases(seed, 1)[0]
        margin = margin_of(case, seed)
        ours, theirs = asked(case, margin=margin), asked(case, margin=margin, engine="milp")
        assert ours.status == theirs.status
        assert ours.distance == pytest.approx(theirs.distance, abs=1e-5)
        if ours.cost_after is not None and ours.status == "optimal":
            share, amount = parts(margin)
            most = (1.0 - share) * ours.cost_after.decision - amount
            assert ours.cost_after.alternative <= most + 1.01 * ours.tolerance
            found += 1
    assert found > 0


@pytest.mark.parametrize("block", seeds(2, BLOCKS))
def test_neighbours_agree_with_the_integer_program(block: int) -> None:
    """Neighbour policies, both risks and kinds; of few past contexts, since their programs grow quickly."""
    looked = 0
    for seed in range(SEEDS * block, SEEDS * (block + 1)):
        case = cases(seed, 1, weights="knn")[0]
        if len(case.policy.X_) > 16:
            continue
        looked += 1
        margin = margin_of(case, seed)
        try:
            ours = asked(case, margin=margin)
        except InputError:  # a start at which neighbours tie is refused by both engines
            with pytest.raises(InputError, match="neighbour"):
                asked(case, margin=margin, engine="milp")
            continue
        theirs = asked(case, margin=margin, engine="milp")
        assert ours.status == theirs.status
        assert ours.distance == pytest.approx(theirs.distance, abs=1e-5)
    assert looked > SEEDS // 4


@pytest.mark.parametrize("block", seeds(2, BLOCKS))
def test_the_nearest_of_all_cells(block: int) -> None:
    """Relative questions by brute force."""
    looked = 0
    for seed in range(500 + 2 * SEEDS * block, 500 + 2 * SEEDS * (block + 1)):
        case = cases(seed, 1)[0].but(kind="relative")
        margin = margin_of(case, seed)
        question = varied(case.question(), margin=parts(margin))
        kept = grid_of(question)
        assert kept is not None
        if float(np.prod(np.diff(kept.face_start) + 2.0)) > MOST_CELLS / 10:
            continue
        best = nearest(varied(question, decision=question.claim.rival_decision, margin=(0.0, 0.0)))
        ours = asked(case, margin=margin)
        assert ours.distance == pytest.approx(np.inf if best is None else best.distance, abs=1e-6)
        looked += 1
    assert looked > SEEDS


def test_more_margin_is_never_nearer_and_none_is_none() -> None:
    """Margin 0 gives the answer without one, bit for bit."""
    for seed in range(60):
        case = cases(seed, 1)[0].but(kind="relative")
        plain, same, zero = asked(case), asked(case, margin=0.0), asked(case, margin=(0, "cost"))
        for other in (same, zero):
            assert (other.status, other.distance, other.bound, other.nodes) == (
                plain.status,
                plain.distance,
                plain.bound,
                plain.nodes,
            )
            assert (plain.context is None and other.context is None) or plain.context.equals(other.context)
        before = plain.distance
        for amount in (0.1, 0.5, 2.0, 8.0):
            distance = asked(case, margin=(amount, "cost")).distance
            assert distance >= before - 1e-9
            before = distance


def test_an_absolute_answer_is_best_and_cheaper_by_the_margin() -> None:
    """Within a share of the best plan, and by the margin below the decision."""
    found = 0
    for seed in range(80):
        case = cases(seed, 1)[0].but(kind="absolute")
        why = asked(case, margin=(0.2, "cost"))
        if why.context is None or why.status == "already":
            continue
        found += 1
        weights = case.policy.weights_at(why.context)
        risks = [case.policy.risk_.of(column, weights) for column in case.policy.Y_.T]
        assert risks[case.instead] <= min(risks) + 1.01 * why.tolerance
        assert risks[case.instead] <= risks[case.decision] - 0.2 + 1.01 * why.tolerance
    assert found > 10


@pytest.mark.parametrize("margin", [-0.1, 1.0, 2, "5 %", (3, "euro"), (-1, "cost"), (1, 2, 3), True, float("nan")])
def test_a_margin_that_cannot_be(margin: Any) -> None:
    """One sentence that names the argument."""
    case = cases(0, 1)[0]
    with pytest.raises(InputError, match=r"^'margin' must be .* Got .* instead\.$") as caught:
        asked(case, margin=margin)
    assert caught.value.parameter == "margin"


# ---- costs that may be negative ----------------------------------------------------------------------------------


def below_zero(seed: int, **options: Any) -> Case:
    """A case whose costs are of either sign: shares of them are shares of their mean size."""
    case = cases(seed, 1, **options)[0]
    old = case.policy
    policy = wh.Policy(old.problem, clone(old.weights), old.risk, old.schema).fit(old.X_, old.Y_ - 11.0)
    return varied(case, policy=policy)


def size_of(case: Case) -> float:
    """What a share is taken of: the mean absolute cost of the decision over the history."""
    return float(np.abs(case.policy.Y_[:, case.decision]).mean())


def by_brute_force(case: Case, share: float, kind: str) -> float | None:
    """The distance of the nearest of all cells, from plain sample costs; None where there are too many cells."""
    case, amount = case.but(kind=kind), share * size_of(case)
    question, (Y, risk) = case.question(), (case.policy.Y_, case.policy.risk_)
    kept = grid_of(question)
    assert kept is not None
    if float(np.prod(np.diff(kept.face_start) + 2.0)) > MOST_CELLS / 10:
        return None
    if kind == "relative":
        best = nearest_by_costs(question, risk, Y[:, case.instead], [Y[:, case.decision] - amount])
    else:
        best = nearest_by_costs(question, risk, Y[:, case.instead] - amount, list(Y.T))
    return np.inf if best is None else best.distance


@pytest.mark.parametrize("block", seeds(1, BLOCKS))
@pytest.mark.parametrize(("kind", "option"), [("relative", "margin"), ("absolute", "within")])
def test_shares_of_costs_that_may_be_negative(kind: str, option: str, block: int) -> None:
    """Search, integer program and brute force agree on what a share means."""
    looked = found = 0
    for seed in range(SEEDS * block, SEEDS * (block + 1)):
        case, share = below_zero(seed).but(kind=kind), (0.05, 0.2, 0.5)[seed % 3]
        ours = asked(case, **{option: share})
        best = by_brute_force(case, share, kind)
        if best is not None:
            assert ours.distance == pytest.approx(best, abs=1e-6)
            looked += 1
        theirs = asked(case, **{option: share}, engine="milp")
        assert (ours.status, theirs.distance) == (theirs.status, pytest.approx(ours.distance, abs=1e-5))
        given = asked(case, **{option: (share * size_of(case), "cost")})
        assert (given.status, given.distance, given.bound) == (ours.status, ours.distance, ours.bound)
        if ours.status == "optimal":
            found += 1
            weights = case.policy.weights_at(ours.context)
            risks = [case.policy.risk_.of(column, weights) for column in case.policy.Y_.T]
            assert ours.cost_after == pytest.approx((risks[case.decision], risks[case.instead]))
            assert ours.verify(case.policy, prove=True).agrees
            assert wh.Explanation.from_json(ours.to_json()).to_json() == ours.to_json()
    assert looked > SEEDS // 4
    assert found > 0


@pytest.mark.parametrize("block", seeds(1, BLOCKS))
def test_neighbours_with_costs_that_may_be_negative(block: int) -> None:
    """Both engines, both kinds."""
    looked = 0
    for seed in range(SEEDS * block, SEEDS * (block + 1)):
        case = below_zero(seed, weights="knn")
        option = {"within" if case.kind == "absolute" else "margin": 0.2}
        if len(case.policy.X_) > 14:
            continue
        try:
            ours = asked(case, **option)
        except InputError:  # a start at which neighbours tie is refused by both engines
            with pytest.raises(InputError, match="neighbour"):
                asked(case, **option, engine="milp")
            continue
        looked += 1
        theirs = asked(case, **option, engine="milp")
        assert (ours.status, theirs.distance) == (theirs.status, pytest.approx(ours.distance, abs=1e-5))
    assert looked > 0


def test_any_other_plan_where_costs_may_be_negative() -> None:
    """Without an alternative, 1 % is 1 % of the mean absolute cost; by brute force over all plans and cells."""
    looked = 0
    for seed in range(60):
        case = below_zero(seed).but(kind="relative")
        Y, risk, amount = case.policy.Y_, case.policy.risk_, 0.01 * size_of(case)
        question = varied(case.question(), tau=0.0)
        kept = grid_of(question)
        assert kept is not None
        if float(np.prod(np.diff(kept.face_start) + 2.0)) > MOST_CELLS / 20:
            continue
        looked += 1
        why = case.policy.explain(case.context, decision=case.decision, fixed=case.fixed, bounds=case.bounds)
        strictly = 1e-9 * float(np.abs(Y[:, case.decision]).max())
        best = [nearest_by_costs(question, risk, row, [Y[:, case.decision] - amount - strictly]) for row in Y.T]
        least = min([np.inf, *(one.distance for one in best if one is not None)])
        assert why.distance == pytest.approx(least, abs=1e-6)
        assert why.margin == (0.0, pytest.approx(amount))
        assert f"{amount:.3g}"[:4] in str(why)
    assert looked > 20


def test_sets_of_plans_where_costs_may_be_negative() -> None:
    """Within a share of the best: some plan of the set, by the search and by the plans one by one."""
    looked = 0
    for seed in range(40):
        case = below_zero(seed).but(kind="absolute")
        plans = case.policy.problem.only(sorted({case.instead, (case.decision + 1) % case.policy.Y_.shape[1]}))
        options: dict[str, Any] = {"kind": "absolute", "within": 0.2, "decision": case.decision}
        options |= {"fixed": case.fixed, "bounds": case.bounds}
        why = case.policy.explain(case.context, plans, **options)
        each = [case.policy.explain(case.context, plan, **options).distance for plan in plans.plans(10) or []]
        assert why.distance == pytest.approx(min(each), abs=1e-6)
        looked += np.isfinite(why.distance)
    assert looked > 10


def test_what_is_said_where_costs_may_be_negative() -> None:
    """The amount that a share came to, and in refits the same."""
    case = next(c for c in map(below_zero, range(60)) if asked(c.but(kind="absolute"), within=0.2).status == "optimal")
    why = asked(case.but(kind="absolute"), within=0.2)
    assert why.allowance == pytest.approx(0.2 * size_of(case))
    assert why.within == 0.0
    assert f"within {why.allowance:.6g} of the best" in str(why)
    assert why.asked["within"] == [why.allowance, "cost"]
    for kind, option in (("relative", {"within": (1, "cost")}), ("absolute", {"within": (1, "euro")})):
        with pytest.raises(InputError, match="'within'"):
            asked(case.but(kind=kind), **option)


def test_an_amount_is_no_share_of_an_order_that_follows_a_forecast() -> None:
    """Orders that follow a forecast know shares of the best only."""
    X = np.linspace(0, 1, 40)[:, None]
    policy = wh.Policy(wh.Newsvendor(1, 3), wh.ForecastWeights("linear")).fit(X, 10 + 20 * X)
    with pytest.raises(InputError, match="'within' must be a share"):
        policy.explain([0.2], [20.0], kind="absolute", within=(1, "cost"))
