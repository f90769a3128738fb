"""Lists in words, and what was probably meant by a name that is not known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

__all__ = ["joined", "listed", "nearest"]


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint at the known word that was probably meant, with a space before it; empty where there is none.

    Examples
    --------
    >>> nearest("temprature", ["temperature", "rain"])
    " Did you mean 'temperature'?"
    """
    words = list(known)
    folded = {name.casefold(): name for name in words}
    if word.casefold() in folded:
        return f" Did you mean {folded[word.casefold()]!r}?"
    close = get_close_matches(word, words, n=1, cutoff=0.6)
    return f" Did you mean {close[0]!r}?" if close else ""


def listed(items: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c".

    Examples
    --------
    >>> listed(["rain", "weekday", "month"])
    'rain, weekday and month'
    """
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def joined(text: str, following: str) -> str:
    """Two texts on one line, or on two where the first one ends its line."""
    return f"{text}{following}".strip("\n") if text.endswith("\n") else f"{text} {following}".strip()
