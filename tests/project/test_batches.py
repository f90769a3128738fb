"""Many questions from a CSV file: bad rows do not stop the others, and a run that was stopped goes on."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from joblib import parallel_config
from tests.project.samples import write_project

from whence.errors import InputError
from whence.project import Project
from whence.project.batches import BatchRun, read_questions

ASKED = """id,context,temp,rolls,cakes
a,3,,40,20
b,4,12,41,22
c,99,,40,20
d,5,hot,40,20
e,6,,90,90
f,7,,many,1
g,8,,38,
h,9,,38,19
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project of the days, fitted."""
    return Project.load(write_project(tmp_path_factory.mktemp("days")))


def asked(project: Project, folder: Path, text: str = ASKED, restart: bool = False) -> BatchRun:
    """A run over these questions."""
    path = folder / "asked.csv"
    path.write_text(text, "utf-8")
    return BatchRun(project, read_questions(project, path), folder / "answered.csv", {"kind": "relative"}, restart)


def test_bad_rows_do_not_stop_the_others(project: Project, tmp_path: Path) -> None:
    """Every row of the input has its row in the output, in order, with an explanation or a sentence."""
    run = asked(project, tmp_path)
    for _ in run.work():
        pass
    run.finish()
    table = pd.read_csv(tmp_path / "answered.csv")
    assert table["id"].tolist() == list("abcdefgh")
    assert table["row"].tolist() == list(range(1, 9))
    failed = table[table["status"] == "error"]
    assert failed["id"].tolist() == list("cdefg")
    assert failed["error"].tolist() == [
        "The history has the rows 1 to 40. Got row 99 instead.",
        "'temp' must be a finite number. Got 'hot' instead.",
        "The plan is not feasible: The plan orders 180 in total, 80 more than the budget of 100.",
        "The quantity of 'rolls' must be a number. Got 'many' instead.",
        "The quantity of 'cakes' must be a number. Got '' instead.",
    ]
    assert not (tmp_path / "answered.csv.partial").exists()


def test_answers_are_those_of_the_policy(project: Project, tmp_path: Path) -> None:
    """Status, distance and context of a row are what `Policy.explain` gives for it."""
    run = asked(project, tmp_path)
    for _ in run.work():
        pass
    row = run.finish().iloc[1]
    why = project.fitted().explain(project.context(["4", "temp=12"]), [41.0, 22.0])
    assert (row["status"], row["distance"]) == (why.status, why.distance)
    assert why.context is not None
    assert [row[f"nearest {name}"] for name in project.X.columns] == why.context.tolist()


def test_a_run_that_was_stopped_goes_on(project: Project, tmp_path: Path) -> None:
    """What was done before a stop is not done again, also where the last line was half written, nor is it different."""
    whole = asked(project, tmp_path)
    for _ in whole.work():
        pass
    expected = whole.finish()
    (tmp_path / "answered.csv").unlink()

    first = asked(project, tmp_path)
    for done in first.work():
        if done == 3:
            break
    with first.partial.open("a", encoding="utf-8") as notes:
        notes.write('{"row": 4, "stat')
    second = asked(project, tmp_path)
    assert second.done == 3
    assert list(second.work()) == [4, 5, 6, 7, 8]
    pd.testing.assert_frame_equal(second.finish(), expected)


def test_rows_of_another_question_are_not_mixed(project: Project, tmp_path: Path) -> None:
    """Notes of a run with other questions are refused, and forgotten on demand."""
    first = asked(project, tmp_path)
    next(first.work())
    other = ASKED.replace("a,3", "a,2")
    with pytest.raises(InputError, match=r"answered\.csv\.partial holds rows of another question"):
        asked(project, tmp_path, other)
    assert asked(project, tmp_path, other, restart=True).done == 0


@pytest.mark.parametrize("rubbish", ["rubbish\n", "[1, 2]\n", '{"batch": 1}\n3\n', "\x00\n", "null\nnull\n"])
def test_notes_that_are_rubbish(project: Project, tmp_path: Path, rubbish: str) -> None:
    """A file of notes that no run has written is refused, not read."""
    (tmp_path / "answered.csv.partial").write_text(rubbish, "utf-8")
    with pytest.raises(InputError, match="holds rows of another question"):
        asked(project, tmp_path)


def test_rows_of_another_policy_are_not_mixed(project: Project, tmp_path: Path) -> None:
    """Notes made with a fitted policy are not continued with a saved one."""
    next(asked(project, tmp_path).work())
    other = Project.load(project.path)
    other.use(project.fitted(), "its digest")
    with pytest.raises(InputError, match="holds rows of another question"):
        asked(other, tmp_path)


def test_the_number_of_workers_does_not_matter(project: Project, tmp_path: Path) -> None:
    """Two workers, who get many rows at a time, give the same answers as one, in the same order."""
    runs = []
    for jobs, notes in ((1, 8), (2, 1)):
        run = asked(project, tmp_path)
        with parallel_config(backend="threading"):
            assert len(list(run.work(jobs))) == notes
        runs.append(run.finish())
    pd.testing.assert_frame_equal(runs[0], runs[1])


def test_columns_that_must_be_there(project: Project, tmp_path: Path) -> None:
    """Without contexts or without plans a file is refused before anything is explained."""
    with pytest.raises(InputError, match="must have a column 'context', or the columns 'temp', 'rain'"):
        asked(project, tmp_path, "id,instead\n1,2\n")
    with pytest.raises(InputError, match="must have a column 'instead', or a column for every part of the plan"):
        asked(project, tmp_path, "id,context\n1,2\n")
    with pytest.raises(InputError, match=r"There is none for 'rain', 'day', 'events'\. Is it the column 'rian'\?"):
        asked(project, tmp_path, "temp,rian,instead\n1,2,3\n")
    with pytest.raises(InputError, match=r"asked\.csv, line 3: has 1 cells where the header has 2\."):
        asked(project, tmp_path, "context,instead\n1,2\n1\n")


def test_the_output_is_written_as_the_input_is(project: Project, tmp_path: Path) -> None:
    """Semicolons and decimal commas in the input are those of the output."""
    run = asked(project, tmp_path, "context;temp;rolls;cakes\n4;12,5;41,5;22\n")
    for _ in run.work():
        pass
    run.finish()
    header, row = (tmp_path / "answered.csv").read_text("utf-8").splitlines()
    assert header.startswith("row;status;distance;")
    assert "41,5" not in header
    assert "." not in row.split(";")[2]
