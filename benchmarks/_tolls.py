"""Routes with a toll: a question whose nearest answer is far away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper import Instance
from paper.forests import paper_forest
from paper.histories import shortest_path
from whence import DecisionProblem, Policy, ShortestPath
from whence.risk import Risk

Floats = NDArray[np.float64]
#: Share of the training contexts in which the alternative may be the better plan.
SATISFIED = 0.01


class TolledPath(DecisionProblem):
    """A route and a toll to be paid whatever happens; the best toll is none."""

    def __init__(self, routes: ShortestPath) -> None:
        self.routes = routes

    def costs(self, decision: Any, Y: Floats) -> Floats:
        """Cost of the route plus the toll."""
        route, toll = decision
        return self.routes.costs(route, Y) + float(toll)

    def solve(self, Y: Floats, weights: Floats, risk: Risk) -> tuple[list[Any], float]:
        """The best route, without a toll."""
        return self.routes.solve(Y, weights, risk), 0.0

    def check(self, decision: Any) -> str | None:
        """Whether the route exists."""
        return self.routes.check(decision[0])

    def vector(self, decision: Any) -> Floats:
        """The edges of the route, and the toll."""
        return np.append(self.routes.vector(decision[0]), float(decision[1]))

    def parts(self, outcomes: Sequence[str] = ()) -> list[str]:
        """Names of the edges, and the toll."""
        return [*self.routes.parts(outcomes), "toll"]


def far_instance(features: int, n: int, seed: int) -> Instance:
    """A path question whose alternative bears a toll such that one training context in a hundred satisfies it.

    In context x the alternative costs D(x) more than the decision. A toll of minus the 1 % quantile of D over the
    training contexts leaves the criterion D(x) + toll <= 0 to 1 % of them.
    """
    history = shortest_path(n, np.random.default_rng([seed, 0]), features=features)
    assert isinstance(history.problem, ShortestPath)
    weights = paper_forest(n_trees=100, max_depth=4, random_state=seed)
    policy = Policy(TolledPath(history.problem), weights).fit(history.X, history.Y)
    context, other = history.next_contexts(np.random.default_rng([seed, 1, 0]), 2)
    plan, alternative = policy.decide(context), policy.decide(other)
    more = policy.problem.costs(alternative, policy.Y_) - policy.problem.costs(plan, policy.Y_)
    everywhere = policy.weights_.weights(policy.weights_.inputs_) @ more
    toll = -float(np.quantile(everywhere, SATISFIED))
    return Instance(policy, context, (alternative[0], toll), other)
