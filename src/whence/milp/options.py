"""What the integer programs may be told beyond the question itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from whence.errors import InputError
from whence.milp.ceilings import WAYS
from whence.milp.plausibility import Plausibility
from whence.milp.solvers.base import Solver
from whence.question import Isolation, Question

__all__ = ["NAMES", "Options"]


@dataclass(frozen=True)
class Options:
    """Options of the integer programs.

    Attributes
    ----------
    solver : {"highs", "gurobi", "scip"}
        Who solves.
    method : {"iterative", "lazy", "dual"}
        How an absolute explanation is found: by an outer loop of solves and cuts, by cuts within one solve, or by
        the dual of a linear decision problem.
    mip_gap : float
        Relative gap at which a solution counts as optimal; 0 for the exact optimum.
    threads : int or None
        Threads of the solver; None leaves it to the solver.
    log : bool
        Whether the solver prints its log.
    confirm : bool
        Whether HiGHS must find the same optimum in two ways before it is believed; it is not always right.
    w_max : {"sample", "path", "mean", "unit"}
        Upper bound on weights in the CVaR model.
    valid_inequality : bool
        Whether a better plan met on the way also becomes a row of its own, besides the region that is cut off.
    plausibility : Plausibility or None
        Restricts the contexts to those that an isolation forest takes for inliers.
    linear : tuple or None
        For ``method="dual"``: the polytope of plans, the cost vectors (one per past observation), the alternative.
    """

    solver: str = "highs"
    method: str = "iterative"
    mip_gap: float = 0.0
    threads: int | None = None
    log: bool = False
    confirm: bool = True
    w_max: str = "sample"
    valid_inequality: bool = True
    plausibility: Any = None
    linear: Any = None

    @classmethod
    def of(cls, question: Question) -> Options:
        """The options in ``question.options``, checked."""
        given = {"threads": question.threads, **question.options}
        given = {name: value for name, value in given.items() if value is not None}
        unknown = [name for name in given if name not in cls.__dataclass_fields__]
        if unknown:
            known = ", ".join(map(repr, NAMES))
            raise InputError(
                f"An option of engine='milp' must be one of {known}. Got {unknown[0]!r} instead.", parameter=unknown[0]
            )
        if isinstance(question.plausible, Isolation):
            given.setdefault("plausibility", Plausibility(question.plausible.forest, question.plausible.score))
        options = cls(**given)
        if options.method == "dual" and question.kind == "absolute" and question.linear is not None:
            options = replace(options, linear=question.linear())
        _member("solver", options.solver, ("highs", "gurobi", "scip"))
        _member("method", options.method, ("iterative", "lazy", "dual"))
        _member("w_max", options.w_max, WAYS)
        for name in ("log", "confirm", "valid_inequality"):
            if not isinstance(getattr(options, name), bool | np.bool_):
                raise InputError(
                    f"The {name!r} parameter must be True or False. Got {getattr(options, name)!r} instead."
                )
        gap, threads = options.mip_gap, options.threads
        if isinstance(gap, bool) or not isinstance(gap, int | float | np.number) or not 0 <= float(gap) < np.inf:
            raise InputError(f"The 'mip_gap' parameter must be a float >= 0. Got {gap!r} instead.")
        if threads is not None and (
            isinstance(threads, bool) or not isinstance(threads, int | np.integer) or threads < 1
        ):
            raise InputError(f"The 'threads' parameter must be an int >= 1 or None. Got {threads!r} instead.")
        return options

    def check_ability(self, solver: Solver, question: Question) -> None:
        """Refuse what the solver cannot do."""
        if self.method == "lazy" and question.kind == "absolute" and not solver.abilities.lazy:
            raise InputError(
                f"The 'method' parameter must be 'iterative' or 'dual' with solver={solver.name!r}, which has no lazy "
                "constraints. Got 'lazy' instead."
            )
        if self.threads not in (None, 1) and not solver.abilities.threads:
            raise InputError(
                f"The 'threads' parameter must be 1 or None with solver={solver.name!r}. Got {self.threads!r} instead."
            )


def _member(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if not (isinstance(value, str) and value in allowed):
        names = ", ".join(map(repr, allowed[:-1])) + f" or {allowed[-1]!r}"
        raise InputError(f"The {name!r} parameter must be {names}. Got {value!r} instead.")


#: The options that a user can give; the threads are those of the question.
NAMES = tuple(name for name in Options.__dataclass_fields__ if name not in ("linear", "threads"))
