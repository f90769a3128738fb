"""The solvers that can carry the integer programs, by name."""

from __future__ import annotations

from whence.errors import InputError
from whence.milp.solvers.base import Solver

__all__ = ["solver_named"]


def solver_named(name: object, confirm: bool = True) -> Solver:
    """The solver called "highs" (which must `confirm` its optima), "gurobi" or "scip"; only now is it imported."""
    if name == "highs":
        from whence.milp.solvers.highs import Highs

        return Highs(confirm)
    if name == "scip":
        from whence.milp.solvers.scip import Scip

        return Scip()
    if name == "gurobi":
        from whence.milp.solvers.gurobi import Gurobi

        return Gurobi()
    raise InputError(f"The 'solver' parameter must be 'highs', 'gurobi' or 'scip'. Got {name!r} instead.")
