"""Better by a margin: both engines, every cell, and what a margin must not change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.blocks import seeds
from tests.cases import Case, cases
from tests.forests import paper_forest
from tests.oracle import MOST_CELLS, nearest

import whence as wh
from whence.errors import InputError
from whence.search.forest.grid import grid_of

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
        question = replace(case.question(), margin=parts(margin))
        kept = grid_of(question)
        assert kept is not None
        if float(np.prod(np.diff(kept.face_start) + 2.0)) > MOST_CELLS / 10:
            continue
        best = nearest(replace(question, decision=question.rival_decision, margin=(0.0, 0.0)))
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


def test_a_share_of_costs_that_may_be_negative_is_refused() -> None:
    """Less than a negative cost by a share of it would be more."""
    X = np.linspace(0.0, 1.0, 20)[:, None]
    Y = np.column_stack([X[:, 0] - 2.0, 0.2 - X[:, 0]])
    policy = wh.Policy(cases(0, 1)[0].policy.problem, paper_forest(5, random_state=0)).fit(X, Y)
    with pytest.raises(InputError, match="'margin' is a share of the decision's cost"):
        policy.explain([0.1], 1, margin=0.1)
    assert policy.explain([0.1], 1, margin=(0.1, "cost")).status in ("optimal", "none")
