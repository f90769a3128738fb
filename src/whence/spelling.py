"""What was probably meant by a name that is not known."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["nearest"]


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
