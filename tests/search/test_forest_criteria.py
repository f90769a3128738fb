"""What the leaves of a forest say about a plan and its rivals."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.asking import varied
from tests.cases import Case, OneOf
from tests.search.test_forest_search import decimal_policy

from whence import CVaR, Policy
from whence.search import forest_search
from whence.search import forest_search as criteria
from whence.search.grid import grid_of
from whence.search.proposals import past_cells
from whence.settings import SearchSettings

Floats = NDArray[np.float64]


def test_costs_equal_up_to_rounding_are_one_threshold() -> None:
    """Equal sums that were added in another order are one threshold; a chain of close costs is not."""
    etas, rank = criteria.distinct(np.array([0.3, 7.0, 0.1 + 0.2, 5.0, 7.0]))
    assert etas.tolist() == [0.3, 5.0, 7.0]
    assert rank.tolist() == [0, 2, 0, 1, 2]
    chain = 1.0 + 0.6e-12 * np.arange(6)
    etas, rank = criteria.distinct(chain)
    assert rank.tolist() == [0, 0, 1, 1, 2, 2]
    assert etas.tolist() == chain[::2].tolist()


def test_costs_that_differ_by_more_than_rounding_stay_apart() -> None:
    """Thresholds closer than a thousand times the rounding allowance, but farther than it, are still two."""
    costs = np.array([1.0, 1.0 + 1e-10, 2.0, 2.0 + 1e-14])
    etas, rank = criteria.distinct(costs)
    assert etas.tolist() == [1.0, 1.0 + 1e-10, 2.0]
    assert rank.tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize("limit", [SearchSettings.tail_table, 0])
@pytest.mark.parametrize("alpha", [0.3, 0.5, 0.8, 0.95])
def test_the_excess_at_a_cell_is_the_risk_measures_own(alpha: float, limit: int) -> None:
    """What the search says of a past context is what the risk measure says, with and without a stored table."""
    fitted = decimal_policy(1, 90)
    policy = Policy(OneOf(), fitted.weights, CVaR(alpha)).fit(fitted.X_, fitted.Y_)
    question = Case(1, policy, policy.schema_.row(policy.X_.iloc[0]), 0, 1, "relative").question()
    question = varied(question, tail_table=limit)
    kept = grid_of(question)
    assert kept is not None
    frontier = forest_search.ForestFrontier(question, kept)
    frontier.cut(question.claim.decision)
    for row, cells in zip(policy.X_.to_numpy(), past_cells(kept, policy.weights_.inputs_), strict=True):
        weights = policy.weights_at(row)
        excess = policy.risk_.of(question.claim.alternative, weights) - policy.risk_.of(
            question.claim.decision, weights
        )
        said = frontier.criterion.excess(kept.grid.leaves_at(cells))
        assert said.over == pytest.approx(excess, abs=1e-9)
        assert said.worst == 0
