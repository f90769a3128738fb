"""The solvers that can carry the integer programs, by name."""

from __future__ import annotations

from whence.milp.solvers.base import Solver
from whence.milp.solvers.gurobi import Gurobi
from whence.milp.solvers.highs import Highs
from whence.milp.solvers.scip import Scip

__all__ = ["SOLVERS", "solver_named"]

#: Solvers by the name that ``solver`` has.
SOLVERS: dict[str, type[Solver]] = {"highs": Highs, "gurobi": Gurobi, "scip": Scip}


def solver_named(name: str, confirm: bool = True) -> Solver:
    """The solver called "highs" (which must `confirm` its optima), "gurobi" or "scip"; its package is imported now."""
    return Highs(confirm) if name == "highs" else SOLVERS[name]()
