"""How many people to plan for each shift, when what is missing on the day is bought from an agency."""

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

import whence as wh


class Staffing(wh.DecisionProblem):
    def __init__(self, wage: float, agency: float, people: int) -> None:
        self.wage, self.agency, self.people = wage, agency, people

    def costs(self, decision: Any, Y: Any) -> Any:
        missing = np.maximum(Y - decision, 0).sum(axis=1)
        return self.wage * np.sum(decision) + self.agency * missing

    def solve(self, Y: Any, weights: Any, risk: Any) -> Any:
        Y, weights = Y[weights > 0], weights[weights > 0]
        n, shifts = Y.shape
        tail = 1 - getattr(risk, "alpha", 0.0)  # the expected cost is CVaR(0)
        # Columns: people a shift | missing a sample and shift | value-at-risk | cost above it a sample.
        missing = sparse.hstack([np.tile(np.eye(shifts), (n, 1)), sparse.eye(n * shifts)])
        cost = sparse.hstack([np.full((n, shifts), self.wage), self.agency * sparse.kron(np.eye(n), np.ones(shifts))])
        rows = sparse.bmat([[missing, None, None], [-cost, np.ones((n, 1)), np.eye(n)]])
        goal = np.r_[np.zeros(shifts + n * shifts), 1, weights / tail]
        crew = (np.arange(goal.size) < shifts).astype(int)
        limits = [LinearConstraint(rows, lb=np.r_[Y.ravel(), np.zeros(n)]), LinearConstraint(crew, ub=self.people)]
        plan = milp(goal, integrality=crew, constraints=limits, bounds=Bounds(0, np.inf)).x[:shifts]
        return np.round(plan)

    def parts(self, outcomes: Any = ()) -> list[str]:
        return ["day", "late", "night"]

    def check(self, decision: Any) -> str | None:
        return f"The plan needs more than {self.people} people." if np.sum(decision) > self.people else None


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    days = pd.DataFrame({"flu": rng.uniform(0, 100, 200), "holiday": rng.random(200) < 0.1})
    load = rng.poisson(np.outer(1 + days["flu"] / 50 - 0.5 * days["holiday"], [6, 8, 4]))
    problem = Staffing(wage=1, agency=2.5, people=60)
    policy = wh.Policy(problem, weights=wh.ForestWeights(random_state=0)).fit(days, load)
    today = {"flu": 20.0, "holiday": False}
    print("People for day, late and night today:", policy.decide(today))
    print(policy.explain(today, instead=[14, 18, 9]))
