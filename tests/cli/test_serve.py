"""`whence serve` without what it needs."""

from __future__ import annotations

import sys

import pytest
from tests.cli.support import refused, run


def test_serve_without_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the page's packages are missing, `serve` says what to install."""
    monkeypatch.setitem(sys.modules, "whence.web.server", None)
    assert "pip install 'whence[web]'" in refused(run("serve"))
