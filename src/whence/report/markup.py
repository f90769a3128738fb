"""HTML and SVG that cannot be broken by a name: whatever is not markup already is escaped."""

from __future__ import annotations

from html import escape

__all__ = ["Markup", "join", "tag"]

_EMPTY = {"br", "hr", "meta", "path", "rect", "line", "circle", "polygon"}


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def join(*parts: str) -> Markup:
    """The parts one after the other, escaped unless they are markup."""
    return Markup("".join(part if isinstance(part, Markup) else escape(str(part)) for part in parts))


def tag(name: str, /, *children: str, **attributes: object) -> Markup:
    """An element; an attribute's underscores become hyphens, ``class_`` is the class, None leaves one out.

    Examples
    --------
    >>> print(tag("p", "2 < 3", tag("br"), class_="note"))
    <p class="note">2 &lt; 3<br></p>
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_text(entry))}"'
        for key, entry in attributes.items()
        if entry is not None
    )
    if name in _EMPTY and not children:
        return Markup(f"<{name}{given}>" if name in ("br", "hr", "meta") else f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{join(*children)}</{name}>")


def _text(entry: object) -> str:
    return f"{entry:.5g}" if isinstance(entry, float) else str(entry)
