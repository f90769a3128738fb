"""The command: every label of the paper gives its files, and what is unknown is refused by name."""

from __future__ import annotations

import io
import re
from pathlib import Path

import matplotlib.image
import pandas as pd
import pytest
import typer
from rich.console import Console

from paper import command, los_angeles
from paper.catalogue import ORDER, registry
from paper.experiment import Family, Label, Row, Setup, Task
from whence.errors import InputError, MissingDataError


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Everything at the smallest sizes, once: the folder, and what was printed."""
    out = tmp_path_factory.mktemp("reproduced")
    printed = io.StringIO()
    setup = Setup(runs=1, synthetic=True, tiny=True)
    command.reproduce_labels(list(registry()), setup, 1, out / "new", Console(file=printed, width=300))
    return out / "new", printed.getvalue()


def test_the_catalogue_has_every_label() -> None:
    """Every table and figure of the paper's experiments, in the paper's order."""
    assert [label.label for label in registry()] == list(ORDER)


@pytest.mark.long
@pytest.mark.parametrize("name", ORDER)
def test_every_label_gives_its_files(reproduced: tuple[Path, str], name: str) -> None:
    """A table with rows as CSV and Markdown, a picture as PNG and SVG, and the table in the terminal."""
    out, printed = reproduced
    stem = name.replace(":", "-")
    label = next(one for one in registry() if one.label == name)
    table = pd.read_csv(out / f"{stem}.csv")
    assert len(table)
    text = (out / f"{stem}.md").read_text("utf-8")
    assert text.startswith(f"# {name}: {label.title}")
    assert label.statement in text
    assert f"![{label.title}]({stem}.png)" in text
    assert matplotlib.image.imread(out / f"{stem}.png").shape[0] > 200
    assert (out / f"{stem}.svg").read_text("utf-8").rstrip().endswith("</svg>")
    assert f"{name}  {label.title}" in printed


@pytest.mark.long
def test_the_summary_names_machine_time_and_labels(reproduced: tuple[Path, str]) -> None:
    """One page says what was run, on what, how long it took, and leads to every label."""
    text = (reproduced[0] / "summary.md").read_text("utf-8")
    assert "Wall time" in text
    assert re.search(r"\d cores(, load [\d.]+ over the last 5 minutes)?; whence ", text)
    assert all(f"## [{name}]({name.replace(':', '-')}.md)" in text for name in ORDER)


def test_without_a_label_the_experiments_are_listed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Every label with its title, and nothing is run."""
    command.reproduce(out=tmp_path / "none")
    listed = capsys.readouterr().out
    assert all(label.label in listed and label.title in listed for label in registry())
    assert not (tmp_path / "none").exists()


def test_an_unknown_label_is_refused(tmp_path: Path) -> None:
    """The message says what labels there are and what came, and nothing is written."""
    with pytest.raises(InputError, match=r"'label' must be 'all' or one of .*tab:fullDist.*Got 'tab:fulDist' instead"):
        command.reproduce("tab:fulDist", out=tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    """A file in the way is named."""
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(InputError, match="'--out' cannot be created"):
        command.reproduce("tab:expDim", out=tmp_path / "file" / "below")


def test_one_label_is_run_and_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The command prints the table, the remarks and the files it wrote."""
    command.reproduce("tab:expDim", out=tmp_path)
    printed = capsys.readouterr().out
    assert "4+52n" in printed
    assert "its public code has 4+52n" in printed
    assert str(tmp_path / "tab-expDim.svg") in printed


FEW = ("fig:uberPath", "tab:expDim", "tab:uberExp")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalogue of two labels that need the data of Los Angeles, which is not there, and one that needs nothing."""
    labels = tuple(label for label in registry() if label.label in FEW)
    monkeypatch.setattr(command, "registry", lambda: labels)
    monkeypatch.delenv(los_angeles.VARIABLE, raising=False)


@pytest.mark.usefixtures("few")
def test_all_leaves_out_what_has_no_data(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The rest is run; the two labels and the reason stand on stderr and in the summary."""
    command.reproduce("all", out=tmp_path)
    said = capsys.readouterr().err
    wanted = "Left out: fig:uberPath and tab:uberExp. No folder is named, and the Los Angeles travel times are not"
    assert said.count(f"paper: {wanted}") == 2
    assert wanted in (tmp_path / "summary.md").read_text("utf-8")
    assert (tmp_path / "tab-expDim.md").exists()
    assert not (tmp_path / "tab-uberExp.md").exists()


@pytest.mark.usefixtures("few")
def test_data_that_was_asked_for_must_be_there(tmp_path: Path) -> None:
    """A label that needs the data refuses without it, and so does everything where a folder was named."""
    with pytest.raises(MissingDataError, match="No folder is named"):
        command.reproduce("tab:uberExp", out=tmp_path)
    with pytest.raises(MissingDataError, match="There is no folder"):
        command.reproduce("all", out=tmp_path, data=tmp_path / "none")


def interrupted_run(task: Task) -> list[Row]:
    """Stands for Ctrl-C in the midst of a run."""
    raise KeyboardInterrupt


def test_ctrl_c_says_how_to_go_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Exit code 130, a sentence, and the tables of what was done before stay."""
    done = next(label for label in registry() if label.label == "tab:expDim")
    family = Family("late", lambda setup: [Task("a", 0)], interrupted_run)
    late = Label("fig:late", "", "", lambda rows: rows, family)
    monkeypatch.setattr(command, "registry", lambda: (late, done))
    with pytest.raises(typer.Exit) as stop:
        command.reproduce("all", out=tmp_path, jobs=1)
    assert stop.value.exit_code == 130
    assert "paper: stopped; the same command picks up where it left off." in capsys.readouterr().err
    assert (tmp_path / "tab-expDim.md").exists()
