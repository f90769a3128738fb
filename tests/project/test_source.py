"""Where the keys of a project file stand."""

from __future__ import annotations

from pathlib import Path

from whence.project.findings import Source


def test_lines_of_keys() -> None:
    """A key's line is found in tables, dotted keys and quoted names; a key inside a value has its table's line."""
    text = '[a]\nb = 1\n[a."c d"]\ne.f = 2\n\n["a".g]\nh = { i = 3 }\n'
    source = Source(Path("p.toml"), text)
    assert source.at("a", "b") == "p.toml, line 2, a.b"
    assert source.at("a", "c d", "e", "f") == "p.toml, line 4, a.c d.e.f"
    assert source.at("a", "g", "h", "i") == "p.toml, line 7, a.g.h.i"
    assert source.at("z") == "p.toml, z"
