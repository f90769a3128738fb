"""How far an explanation can be relied on: as plain data, and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whence.plain_values import to_plain
from whence.report.model import LadderRung, RelianceEntry, Report, ShownHeld
from whence.report.numbers import plain, share

if TYPE_CHECKING:
    from whence.explain.reliance import Held, Reliance

__all__ = ["reliance_in_words", "reliance_of"]

#: What was drawn anew, in words.
DRAWN = {"seed": "other random numbers, same data", "bootstrap": "data drawn anew"}


def reliance_of(reliance: Reliance | None) -> RelianceEntry | None:
    """The entry of a report."""
    if reliance is None:
        return None
    return RelianceEntry(
        wanted=reliance.wanted,
        refits=reliance.refits,
        confidence=reliance.confidence,
        chosen=_held(reliance.chosen),
        judged=_held(reliance.judged),
        ladder=[
            LadderRung(
                confidence=rung.confidence,
                status=rung.status,
                distance=to_plain(float(rung.distance)),
                bound=to_plain(float(rung.bound)),
                held=None if rung.held is None else _held(rung.held),
            )
            for rung in reliance.ladder
        ],
    )


def _held(held: Held) -> ShownHeld:
    return ShownHeld(times=held.times, refits=held.refits)


def reliance_in_words(report: Report) -> str:
    """In how many refits it holds, where it turns by a hair, and how usual the context is."""
    parts = []
    found = report.reliance
    if found is not None:
        times, refits = found.chosen.times + found.judged.times, found.chosen.refits + found.judged.refits
        enough = found.chosen.times >= found.wanted * found.chosen.refits
        counted = f"it holds in {times} of {refits} refits ({DRAWN[found.refits]})"
        if found.judged.refits == 0:
            so_far = f", and it holds in {times} of those {refits}" if refits else ""
            parts.append(f"How far you may rely on it is not known: there was time for {refits} refits{so_far}.")
        else:
            parts.append(f"You may rely on it: {counted}." if enough else f"Do not rely on it: {counted} only.")
    near = report.nearest
    if near is not None and near.shown is not None and found is not None:
        first = found.ladder[0].held
        agree = "" if first is None else f"; {first.times} of {first.refits} refits agree"
        parts.append(
            f"By a hair, at distance {plain(_number(near.distance), 4)}{agree}: {_lowered(near.shown.verdict)}"
        )
    if report.usual is not None and report.status != "already":
        parts.append(f"{share(report.usual)} of past contexts are no more usual than the one found.")
    return " ".join(part.strip() for part in parts)


def _number(distance: float | str) -> float:
    return float("inf") if isinstance(distance, str) else distance


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]
