"""The nearest explanation for one confidence after the other, until one holds well enough."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from whence import _core
from whence.question import Answer, Question
from whence.search.criteria import add_rival, criterion_of
from whence.search.forest import explain
from whence.search.grid import grid_of
from whence.search.plausibility import Isolation

__all__ = ["LADDER", "climb", "steps"]

#: Standard errors that are tried, one after the other. No formula for the right number transfers from one kind of
#: problem to another; that the first one is taken that holds in refits is what is calibrated everywhere.
LADDER = (0.0, 1.2, 1.8, 2.3, 3.0, 4.0, 5.0, 7.0)


def steps(
    question: Question, kappas: Sequence[float] = LADDER, isolation: Isolation | None = None
) -> Iterator[tuple[float, Answer]]:
    """Each kappa with the nearest explanation by so many standard errors, within the question's limits.

    Ends after the first one that is not proved nearest: the next ones are no nearer, and there is no time for them, or
    there is no explanation at all.
    """
    plans = _plans(question)
    for kappa in kappas:
        answer = explain(question, confidence=kappa, isolation=isolation, plans=plans)
        yield kappa, answer
        if answer.status != "optimal":
            return


def climb(
    question: Question,
    stands: Callable[[Answer], bool],
    kappas: Sequence[float] = LADDER,
    isolation: Isolation | None = None,
) -> list[tuple[float, Answer]]:
    """The steps up to the first explanation that `stands`, as by enough refits; all of them where none does."""
    taken = []
    for kappa, answer in steps(question, kappas, isolation):
        taken.append((kappa, answer))
        if answer.point is not None and stands(answer):
            break
    return taken


def _plans(question: Question) -> _core.TailCriterion | None:
    """The tables of a CVaR, which all steps share."""
    if question.risk.tail is None:
        return None
    kept = grid_of(question)
    if kept is None:
        return None
    criterion = criterion_of(question, kept)
    add_rival(criterion, question, kept, question.rival_decision)
    assert isinstance(criterion, _core.TailCriterion)
    return criterion
