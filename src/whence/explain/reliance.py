"""How far an explanation can be relied on: in how many refits of the weights it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from whence.aliases import Floats
from whence.weights.refits import RefitKind

__all__ = ["CHOOSING", "JUDGING", "KAPPAS", "Held", "Reliance", "Rung", "chosen", "climb"]

#: Standard errors over the trees that are tried, one after the other. No formula for them transfers from one kind of
#: problem to another; what does is to try them on refits.
KAPPAS = (0.0, 1.2, 1.8, 2.3, 3.0, 4.0, 5.0, 7.0)
#: Refits by which a rung of the ladder is chosen, and others by which the choice is judged.
CHOOSING, JUDGING = range(10), range(10, 20)


class Held(NamedTuple):
    """In how many of some refits an explanation holds."""

    times: int
    refits: int

    @property
    def share(self) -> float:
        """The share of the refits."""
        return self.times / self.refits

    def __str__(self) -> str:
        return f"{self.times} of {self.refits} refits"


@dataclass(frozen=True)
class Rung:
    """One step of the ladder: so many standard errors, the distance of the nearest context, and how often it holds.

    Attributes
    ----------
    confidence : float
        Standard errors over the trees by which the alternative had to be better.
    status : str
        How the search for it ended.
    distance, bound : float
        Of the context found, and the proved lower bound on the nearest one.
    held : Held or None
        In how many of the refits that choose it holds; None where there is no context.
    """

    confidence: float
    status: str
    distance: float
    bound: float
    held: Held | None


@dataclass(frozen=True)
class Reliance:
    """What an explanation that had to hold in refits rests on.

    Attributes
    ----------
    wanted : float
        The share of the refits in which it had to hold.
    refits : {"seed", "bootstrap"}
        What was drawn anew: the random numbers of the forest, or the data.
    confidence : float
        Standard errors at which the ladder ended.
    chosen, judged : Held
        In how many of the refits that chose this rung it holds, and in how many others.
    ladder : tuple of Rung
        Every step that was tried.
    """

    wanted: float
    refits: RefitKind
    confidence: float
    chosen: Held
    judged: Held
    ladder: tuple[Rung, ...]

    @property
    def reached(self) -> bool:
        """Whether it holds in the share that was wanted, among the refits that choose."""
        return self.chosen.share >= self.wanted


def climb(find: Callable[[float], Rung], wanted: float, kappas: Iterable[float] = KAPPAS) -> list[Rung]:
    """The rungs of the ladder up to the first that holds often enough; up to where nothing more is found otherwise.

    Examples
    --------
    >>> def find(kappa):
    ...     return Rung(kappa, "optimal", 1.0 + kappa, 1.0 + kappa, Held(min(10, int(4 + 2 * kappa)), 10))
    >>> [rung.confidence for rung in climb(find, 0.9)]
    [0.0, 1.2, 1.8, 2.3, 3.0]
    """
    rungs: list[Rung] = []
    for kappa in kappas:
        rung = find(kappa)
        rungs.append(rung)
        if rung.held is None or rung.held.share >= wanted or rung.status in ("time_limit", "interrupted"):
            break
    return rungs


def chosen(rungs: list[Rung], wanted: float) -> int:
    """The rung to show: the first that holds often enough, otherwise the one that holds most often."""
    shares = [-1.0 if rung.held is None else rung.held.share for rung in rungs]
    often = [i for i, share in enumerate(shares) if share >= wanted]
    return often[0] if often else shares.index(max(shares))


def held(holds: Callable[[Floats], bool], weights: Iterable[Floats]) -> Held:
    """In how many of the refits, whose weights at the context are given, an explanation holds."""
    outcomes = [holds(w) for w in weights]
    return Held(sum(outcomes), len(outcomes))
