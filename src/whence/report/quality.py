"""How good the policy behind an explanation is, in words."""

from __future__ import annotations

from whence.report.document import QualityEntry
from whence.report.numbers import plain, share, with_unit

__all__ = ["quality_in_words", "warns"]


def warns(quality: QualityEntry | None) -> bool:
    """Whether the policy is not known to be better than rules that need no model."""
    if quality is None:
        return False
    return quality.verdict != "better" or (quality.simple is not None and quality.simple.verdict == "worse")


def quality_in_words(quality: QualityEntry, risk: str, unit: str = "", named: str = "The policy") -> str:
    """What its decisions cost on rows that it has not seen, and a warning where simple rules do as well.

    Parameters
    ----------
    quality : QualityEntry
        What was found out.
    risk, unit : str
        What is minimised, at the beginning of a sentence, and the unit of costs.
    named : str
        How the policy is called at the beginning of a sentence.

    Examples
    --------
    >>> found = QualityEntry(
    ...     rows=200, folds=5, cost=60.0, average=100.0, foresight=0.0, prescriptiveness=0.4, spread=0.02,
    ...     verdict="better", simple=None,
    ... )
    >>> print(quality_in_words(found, "Expected cost", "€").replace(". ", ".\\n").replace(", ", ",\\n"))
    Expected cost on 200 rows it had not seen: 60 € for the policy,
    100 € for the same plan every time (sample average),
    0 € with foresight.
    The policy saves 40 % against the sample average: 0.40 ± 0.02 of the way to foresight.
    """
    costs = {name: with_unit(plain(getattr(quality, name), 4), unit) for name in ("cost", "average", "foresight")}
    called = named[:1].lower() + named[1:]
    said = (
        f"{risk} on {quality.rows:,} rows it had not seen: {costs['cost']} for {called}, {costs['average']} for the "
        f"same plan every time (sample average), {costs['foresight']} with foresight."
    )
    simple, worth = quality.simple, _worth(quality, named)
    if simple is not None and simple.verdict == "worse":
        cost = with_unit(plain(simple.cost, 4), unit)
        worth += f" Warning: the {simple.name} costs less ({cost}); try 'whence tune', or more of the past."
    return f"{said} {worth}"


def _worth(quality: QualityEntry, named: str) -> str:
    """What the policy saves against the sample average, or that it does not."""
    if quality.verdict == "unclear":
        return (
            f"Warning: it is not clear that {named[:1].lower() + named[1:]} beats the sample average; what it says of "
            "a context may be chance."
        )
    if quality.verdict == "worse":
        return f"Warning: {named[:1].lower() + named[1:]} does not beat the sample average; do not build on it."
    saved = share(1.0 - quality.cost / quality.average) if quality.average > 0 else ""
    saves = f"{named} saves {saved} against the sample average" if saved else f"{named} beats the sample average"
    if quality.prescriptiveness is None:
        return f"{saves}."
    spread = "" if quality.spread is None else f" ± {quality.spread:.2f}"
    return f"{saves}: {quality.prescriptiveness:.2f}{spread} of the way to foresight."
