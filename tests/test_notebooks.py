"""The example notebooks run from top to bottom, and are stored without what running them prints."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def named(path: Path) -> str:
    """Return the name of a notebook's test."""
    return path.name


def test_there_are_notebooks() -> None:
    """The notebooks that are to be run were found."""
    assert [path.name[:2] for path in NOTEBOOKS] == ["01", "02", "03", "04", "05", "06"]


@pytest.mark.parametrize(
    "notebook", [NOTEBOOKS[0], *(pytest.param(path, marks=pytest.mark.long) for path in NOTEBOOKS[1:])], ids=named
)
def test_notebook_runs(notebook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell of a notebook runs, its assertions included: the first one always, the others in the long run."""
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    cells = nbformat.read(notebook, as_version=4)
    NotebookClient(cells, timeout=600, resources={"metadata": {"path": str(notebook.parent)}}).execute()
    assert all(cell["execution_count"] for cell in cells["cells"] if cell["cell_type"] == "code")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=named)
def test_notebook_is_stored_clean(notebook: Path) -> None:
    """A notebook holds no outputs and no counts of executions, and assertions that can fail."""
    cells = [cell for cell in json.loads(notebook.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    assert sum("assert " in "".join(cell["source"]) for cell in cells) >= 2
