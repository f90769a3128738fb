"""The solvers that can carry the integer programs, by name."""

from __future__ import annotations

from whence.errors import InputError
from whence.milp.solvers.base import Solver

__all__ = ["solver_named"]

NAMES = ("highs", "gurobi", "scip")


def solver_named(name: object) -> Solver:
    """The solver called "highs", "gurobi" or "scip"; importing it happens only here."""
    if name == "highs":
        from whence.milp.solvers.highs import Highs

        return Highs()
    if name == "scip":
        from whence.milp.solvers.scip import Scip

        return Scip()
    if name == "gurobi":
        from whence.milp.solvers.gurobi import Gurobi

        return Gurobi()
    raise InputError(f"The 'solver' parameter must be 'highs', 'gurobi' or 'scip'. Got {name!r} instead.")
