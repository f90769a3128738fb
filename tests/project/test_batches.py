"""Many questions from a CSV file: bad rows do not stop the others, and a run that was stopped goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import parallel_config
from tests.blocks import examples
from tests.project.samples import write_project

from whence.errors import InputError
from whence.project import Project
from whence.project.batches import BatchRun, as_meant, as_text, read_questions

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


def asked(
    project: Project, folder: Path, text: str = ASKED, restart: bool = False, files: bool = False, instead: Any = None
) -> BatchRun:
    """A run over these questions."""
    path = folder / "asked.csv"
    path.write_text(text, "utf-8")
    questions = read_questions(project, path, instead, files)
    return BatchRun(project, questions, folder / "answered.csv", {"kind": "relative"}, restart)


def answered(run: BatchRun) -> pd.DataFrame:
    """The table that a run gives in the end."""
    for _ in run.work():
        pass
    return run.finish()


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
    with pytest.raises(InputError, match=r"asked\.csv, line 3: has 1 cells where the first line has 2\."):
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


SECRET = "rolls=1, password=swordfish"


@pytest.mark.parametrize("name", ["secret.json", "secret.csv", "secret.txt", "secret"])
@pytest.mark.parametrize("column", ["context", "instead"])
@pytest.mark.parametrize("mark", ["", "context:", "row:"])
def test_cells_open_no_files(project: Project, tmp_path: Path, name: str, column: str, mark: str) -> None:
    """A cell that names a file is no context and no plan, whether the file exists or not: the errors are the same."""
    told = []
    for exists in (True, False):
        path = tmp_path / name
        path.write_text('["swordfish"]' if name.endswith("json") else f"rolls\n{SECRET}\n", "utf-8")
        if not exists:
            path.unlink()
        cell = f"{mark}{path}"
        text = f"context,instead\n{cell},row:3\n" if column == "context" else f"context,instead\n4,{cell}\n"
        row = answered(asked(project, tmp_path, text)).iloc[0]
        assert row["status"] == "error"
        assert "swordfish" not in (tmp_path / "answered.csv").read_text("utf-8")
        told.append(row["error"])
    assert told[0] == told[1]


def test_files_that_are_allowed(project: Project, tmp_path: Path) -> None:
    """Where files are allowed their contexts and plans are taken; what is wrong with them is not quoted."""
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text('{"temp": 3, "rain": "no", "day": "Monday", "events": 1}', "utf-8")
    bad.write_text('["swordfish"]', "utf-8")
    plan = tmp_path / "plan.json"
    plan.write_text("[40, 20]", "utf-8")
    cells = ((good, plan), (bad, plan), (4, bad), (4, f"context:{bad}"), (4, f"context:{good}"), (99, "row:3"))
    text = "context,instead\n" + "".join(f"{one},{other}\n" for one, other in cells)
    table = answered(asked(project, tmp_path, text, files=True))
    assert (table["status"] == "error").tolist() == [False, True, True, True, False, True]
    assert "swordfish" not in (tmp_path / "answered.csv").read_text("utf-8")
    assert "bad.json' does not hold anything that can be used here." in table["error"].iloc[1]
    assert table["error"].iloc[5] == "The history has the rows 1 to 40. Got row 99 instead."


def test_a_file_on_the_command_line_is_the_users_own(project: Project, tmp_path: Path) -> None:
    """The plan that is given for all rows may be a file; the cells still may not."""
    plan = tmp_path / "plan.json"
    plan.write_text("[40, 20]", "utf-8")
    table = answered(asked(project, tmp_path, f"context,instead\n4,\n4,{plan}\n", instead=str(plan)))
    assert table["status"].iloc[0] != "error"
    assert table["status"].iloc[1] == "error"


def test_cells_that_a_spreadsheet_would_run(project: Project, tmp_path: Path) -> None:
    """Formulas get an apostrophe, also in the header; numbers stay numbers; read again all cells are the same."""
    text = '=id,-note,n,context,instead\n"=1+1",@sum,-3.5,4,row:3\n+49 30,\'=x,+2,4,=2+2\n-,-1e3,-x,4,row:3\n'
    answered(asked(project, tmp_path, text))
    table = pd.read_csv(tmp_path / "answered.csv", dtype=str)
    assert list(table.columns[:4]) == ["row", "'=id", "'-note", "n"]
    assert table["'=id"].tolist() == ["'=1+1", "'+49 30", "-"]
    assert table["'-note"].tolist() == ["'@sum", "'=x", "-1e3"]
    assert table["n"].tolist() == ["-3.5", "+2", "'-x"]
    for name in table.columns:
        for cell in table[name].dropna():
            assert len(cell) < 2 or cell[0] not in "=+-@" or float(cell) is not None
    again = table.assign(context="4", instead="row:3").drop(columns="row")
    again[["'=id", "'-note", "n", "context", "instead"]].to_csv(tmp_path / "second.csv", index=False)
    questions = read_questions(project, tmp_path / "second.csv")
    assert [list(q.carried.values()) for q in questions.rows] == [
        ["=1+1", "@sum", "-3.5"],
        ["+49 30", "=x", "+2"],
        ["-", "-1e3", "-x"],
    ]
    assert list(questions.rows[0].carried) == ["=id", "-note", "n"]


@given(st.text(alphabet="=+-@'\t\r1.,ex ", max_size=8), st.sampled_from([".", ","]))
@examples(100, 500)
def test_any_cell_is_safe_and_comes_back(cell: str, decimal: str) -> None:
    """Whatever a cell holds, it is written as a number or as nothing to run, and read as it was."""
    written = as_text(cell, decimal)
    assert as_meant(written) == cell
    if len(written) > 1 and written[0] in "=+-@\t\r":
        float(written.replace(",", ".") if decimal == "," else written)


def test_answers_do_not_depend_on_the_rows_that_are_asked_together(tmp_path: Path) -> None:
    """Saturday and Sunday are equally near: which is told was once a matter of what else was asked with it."""
    bakery = Project.load(Path(__file__).parents[2] / "examples" / "bakery-project")
    last = "Thursday,11.2,no,no,row:182"
    rows = ["Wednesday,24.8,no,no,row:137", "Tuesday,12.4,no,no,row:155", "Friday,12.3,no,no,row:88"]
    rows += ["Friday,9.8,no,no,row:127", "Saturday,1.3,no,no,row:77", "Tuesday,5.9,no,no,row:65"]
    rows += ["Tuesday,-2.9,no,no,row:100", "Thursday,3.9,no,no,row:11", "Monday,2.9,no,no,row:110"]
    said = {}
    for name, some, number in (("alone", [last], 1), ("together", [*rows, last], 10)):
        folder = tmp_path / name
        folder.mkdir()
        text = "\n".join(["weekday,temperature,rain,promotion,instead", *some])
        run = asked(bakery, folder, text)
        list(run.work(2))
        told = run.finish()
        said[name] = told[told["row"] == number].drop(columns="row").astype(str).to_numpy().tolist()
    assert len(said["alone"]) == 1
    assert said["alone"] == said["together"]
