"""Shipment questions as the paper's public code puts them: does that explain why its distances are larger than ours?

    python -m paper.check_recourse [RUNS]

The public code takes a plan with the recourse that its solver returned for all past observations. Where an observation
had no weight when the plan was made, that recourse is arbitrary: nothing in the objective asks for a good one. Here the
same program goes to HiGHS, what it leaves in those observations is kept, and the questions of tab:fullDist are asked
once more with these costs. Writes ``docs/reproduction/shipment-recourse.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse

from paper import Instance, study
from paper.asking import KINDS, ask
from paper.cells import CELLS
from paper.experiment import Setup
from paper.forests import paper_forest
from paper.published import numbers
from whence import DecisionProblem, KNNWeights, Policy
from whence.risk import Risk

Floats = NDArray[np.float64]
#: What a plan is here: production beforehand, and what it costs in every past observation with its own recourse.
Plan = tuple[Floats, Floats]
TARGET = Path(__file__).resolve().parents[1] / "docs" / "reproduction" / "shipment-recourse.md"


class FrozenRecourse(DecisionProblem):
    """The shipment, with the recourse of a plan fixed when the plan is made."""

    def __init__(self, Y: Floats) -> None:
        n, locations = Y.shape
        angles = 2j * np.pi * np.arange(locations) / locations
        ship = 10.0 * np.abs(0.85 * np.exp(angles[::3])[:, None] - np.exp(angles)[None])
        self.warehouses = m = len(ship)
        eye = sparse.eye_array
        met = sparse.hstack([sparse.csr_array((locations, m)), sparse.kron(np.ones((1, m)), eye(locations))])
        left = sparse.hstack([eye(m), -sparse.kron(eye(m), np.ones((1, locations)))])
        beforehand = sparse.vstack([sparse.csr_array((locations, m)), eye(m)])
        #: Costs in one observation: at the last minute, and of every shipment.
        self.sample = np.concatenate([np.full(m, 100.0), ship.ravel()])
        blocks: list[Any] = [
            sparse.kron(np.ones((n, 1)), beforehand),
            sparse.kron(eye(n), sparse.vstack([met, left])),
        ]
        self.rows = sparse.hstack(blocks, format="csr")
        self.needed = np.hstack([Y, np.zeros((n, m))]).ravel()

    def solve(self, Y: Floats, weights: Floats, risk: Risk) -> Plan:
        """The extensive program: observations without weight are part of it, but nobody pays for them."""
        cost = np.concatenate([np.full(self.warehouses, 5.0), np.kron(weights, self.sample)])
        highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        nothing, endless = np.zeros(cost.size), np.full(cost.size, np.inf)
        start, index = self.rows.indptr[:-1].astype(np.int32), self.rows.indices.astype(np.int32)
        highs.passModel(
            cost.size, self.needed.size, self.rows.nnz, 2, 1, 0.0, cost, nothing, endless, self.needed,
            np.full(self.needed.size, np.inf), start, index, self.rows.data, np.zeros(cost.size, dtype=np.int32),
        )  # fmt: skip
        highs.run()
        found = np.array(highs.getSolution().col_value)
        production, recourse = found[: self.warehouses], found[self.warehouses :].reshape(len(Y), -1)
        return production, 5.0 * production.sum() + recourse @ self.sample

    def costs(self, decision: Plan, Y: Floats) -> Floats:
        """As they were when the plan was made."""
        return decision[1]

    def check(self, decision: Any) -> str | None:
        """Plans come from `solve` alone."""
        return None

    def vector(self, decision: Plan) -> Floats:
        """Production beforehand."""
        return decision[0]

    def parts(self, outcomes: Sequence[str] = ()) -> list[str]:
        """The warehouses."""
        return [f"warehouse {i + 1}" for i in range(self.warehouses)]


def distances(n: int, setting: str, shape: dict[str, int], seed: int) -> list[dict[str, Any]]:
    """The distances of one run of tab:fullDist, ours and with frozen recourse."""
    weights = KNNWeights(shape["k"]) if "k" in shape else paper_forest(shape["trees"], shape["depth"])
    asked = study("shipment", n, seed, predictor=weights).question()
    ours = asked.policy
    frozen = Policy(FrozenRecourse(ours.Y_), ours.weights, ours.risk).fit(ours.X_, ours.Y_)
    other = asked.alternative_context
    rows = []
    for name, policy in (("ours", ours), ("frozen", frozen)):
        question = Instance(policy, asked.context, policy.decide(other), other)
        for kind in KINDS:
            answered = ask(question, kind)
            l1 = float(np.abs(answered.published_step).mean()) if answered.status == "optimal" else np.nan
            told = {"n": n, "kind": kind, "setting": setting, "seed": seed, "recourse": name, "l1": l1}
            rows.append({**told, "symmetric": 100.0 * (answered.status == "already")})
    return rows


def main(runs: int) -> None:
    """Ask all questions and write the table."""
    tasks = [
        (task.sizes["n"], task.sizes["setting"], task.sizes, task.seed)
        for task in CELLS.tasks(Setup(runs=runs))
        if task.sizes["problem"] == "shipment" and not task.sizes["setting"].startswith("depth")
    ]
    found = Parallel(n_jobs=2, verbose=1)(delayed(distances)(*task) for task in tasks)
    rows = pd.DataFrame([row for part in found for row in part])
    cells = rows.groupby(["n", "kind", "setting", "recourse"], sort=False)
    table = cells["l1"].mean().unstack().join(cells["l1"].sem().unstack()["frozen"].rename("error"))
    table = table.join(cells["symmetric"].mean().unstack().add_suffix(" symmetric")).reset_index()
    names = ["n", "kind", "setting"]
    for label, column in (("tab:percSymm", "paper symmetric"), ("tab:fullDist", "paper")):
        paper = numbers(label).query("problem == 'shipment'").rename(columns={"paper": column})
        table = paper[[*names, column]].merge(table, on=names)
    lines = [
        "| n | kind | setting | paper | ours | as the solver leaves it | error | symmetric: paper | ours | as left |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r['n']} | {r['kind']} | {r['setting']} | {r['paper']:.2f} | {r['ours']:.2f} | {r['frozen']:.2f} | "
        f"{r['error']:.2f} | {r['paper symmetric']:.0f} % | {r['ours symmetric']:.0f} % | "
        f"{r['frozen symmetric']:.0f} % |"
        for r in table.to_dict("records")
    ]
    ratio = {name: np.exp(np.log(table["paper"] / table[name]).mean()) for name in ("ours", "frozen")}
    within = (np.abs(table["paper"] - table["frozen"]) <= 2.0 * np.sqrt(2.0) * table["error"]).sum()
    lines += [
        "",
        f"{runs} runs a cell. Paper / ours, geometric mean over the cells: {ratio['ours']:.2f}; with the recourse that "
        f"the solver leaves: {ratio['frozen']:.2f}, and {within} of {len(table)} cells within two standard errors.",
    ]
    TARGET.write_text("\n".join(lines) + "\n", "utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
