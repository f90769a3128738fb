"""What the integer programs may be told beyond the question itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from whence.checks import FLAG, at_least, one_of, whole
from whence.errors import InputError
from whence.milp.ceilings import WAYS
from whence.milp.plausibility import Plausibility
from whence.milp.solvers import SOLVERS
from whence.milp.solvers.base import Solver
from whence.question import Isolation, Question

__all__ = ["NAMES", "Options"]


@dataclass(frozen=True)
class Options:
    """Options of the integer programs."""

    solver: str = "highs"
    #: How an absolute explanation is found: by an outer loop of solves and cuts, by cuts within one solve ("lazy"), or
    #: by the dual of a linear decision problem.
    method: str = "iterative"
    #: Relative gap at which a solution counts as optimal; 0 for the exact optimum.
    mip_gap: float = 0.0
    threads: int | None = None
    log: bool = False
    #: Whether HiGHS must find the same optimum in two ways before it is believed; it is not always right.
    confirm: bool = True
    w_max: str = "sample"
    #: Whether a better plan met on the way also becomes a row of its own, besides the region that is cut off.
    valid_inequality: bool = True
    plausibility: Any = None
    #: For ``method="dual"``: the polytope of plans, the cost vectors (one per past observation), the alternative.
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
        options._check()
        return options

    def _check(self) -> None:
        rules = {
            "solver": one_of(*SOLVERS),
            "method": one_of("iterative", "lazy", "dual"),
            "w_max": one_of(*WAYS),
            **dict.fromkeys(("log", "confirm", "valid_inequality"), FLAG),
            "mip_gap": at_least(0, "a float >= 0"),
            "threads": whole(1).or_none(),
        }
        for name, rule in rules.items():
            if not rule.fits(getattr(self, name)):
                raise self._refused(name, rule.wanted)

    def _refused(self, name: str, wanted: str) -> InputError:
        text = f"The {name!r} parameter must be {wanted}. Got {getattr(self, name)!r} instead."
        return InputError(text, parameter=name)

    def check_ability(self, solver: Solver, question: Question) -> None:
        """Refuse what the solver cannot do."""
        if self.method == "lazy" and question.kind == "absolute" and not solver.takes_rows:
            wanted = f"'iterative' or 'dual' with solver={solver.name!r}, which has no lazy constraints"
            raise self._refused("method", wanted)
        if self.threads not in (None, 1) and not solver.takes_threads:
            raise self._refused("threads", f"1 or None with solver={solver.name!r}")


#: The options that a user can give; the threads are those of the question.
NAMES = tuple(name for name in Options.__dataclass_fields__ if name not in ("linear", "threads"))
