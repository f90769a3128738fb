"""Rows on disk: they survive an interruption, and rows of other settings are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.experiment import Task
from paper.records import Records, written
from whence.errors import InputError, InternalError

A, B, C = (Task(key, seed) for seed, key in enumerate("abc"))


def two(number: float) -> list[dict[str, float]]:
    return [{"x": number}, {"x": number + 0.1}]


def filled(folder: Path) -> Records:
    store = Records(folder, "rows", {"limit": 3})
    store.append(B, two(2.0))
    store.append(A, two(1.0))
    return store


def test_rows_come_in_the_order_of_the_tasks(tmp_path: Path) -> None:
    """What was written in any order is read in the order of the tasks that are asked for, and no others."""
    store = filled(tmp_path)
    assert store.keys() == {"a", "b"}
    assert store.rows([A, B, C])["x"].tolist() == [1.0, 1.1, 2.0, 2.1]
    assert store.rows([B])[["key", "seed"]].to_numpy().tolist() == [["b", 1], ["b", 1]]


def test_floats_are_read_as_they_were_written(tmp_path: Path) -> None:
    """No digit of a number is lost."""
    store = Records(tmp_path, "rows", {})
    store.append(A, [{"x": 0.1 + 0.2}])
    assert store.rows([A])["x"].item() == pytest.approx(0.1 + 0.2, rel=1e-15)


@pytest.mark.parametrize("lost", [1, 4, 9], ids=["newline", "half a number", "nearly a row"])
def test_a_torn_end_is_cut_off(tmp_path: Path, lost: int) -> None:
    """A task whose last row was half written counts as not done; the others stay."""
    path = filled(tmp_path).path
    path.write_bytes(path.read_bytes()[:-lost])
    again = Records(tmp_path, "rows", {"limit": 3})
    assert again.keys() == {"b"}
    again.append(A, two(1.0))
    assert again.rows([A, B])["x"].tolist() == [1.0, 1.1, 2.0, 2.1]


def test_a_task_with_a_missing_row_is_not_done(tmp_path: Path) -> None:
    """An end between two rows of one task is noticed too."""
    path = filled(tmp_path).path
    path.write_text("\n".join(path.read_text("utf-8").splitlines()[:-1]) + "\n", "utf-8")
    assert Records(tmp_path, "rows", {"limit": 3}).keys() == {"b"}


def test_a_file_without_a_whole_line_starts_anew(tmp_path: Path) -> None:
    """A header that was half written leaves nothing behind."""
    path = filled(tmp_path).path
    path.write_text("key,se", "utf-8")
    store = Records(tmp_path, "rows", {"limit": 3})
    assert store.keys() == set()
    store.append(A, two(1.0))
    assert store.keys() == {"a"}


def test_rows_of_other_settings_are_refused(tmp_path: Path) -> None:
    """Rows made under another limit are not mixed with new ones, and the message names both."""
    filled(tmp_path)
    with pytest.raises(InputError, match=r"rows\.csv was made with .*limit 3, this run has .*limit 4"):
        Records(tmp_path, "rows", {"limit": 4})


def test_rows_without_their_settings_are_refused(tmp_path: Path) -> None:
    """A file of unknown origin is not taken up."""
    (tmp_path / "rows.csv").write_text("key,seed,rows,x\na,0,1,1\n", "utf-8")
    with pytest.raises(InputError, match="unknown settings"):
        Records(tmp_path, "rows", {})


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b"\xff\xfe", b'{"depends": {}, "seconds": "long"}', b'{"seconds": 1.0}', b"[" * 9999]
)
def test_damaged_settings_are_refused(tmp_path: Path, content: bytes) -> None:
    """The file is named, and what to do about it."""
    filled(tmp_path)
    (tmp_path / "rows.json").write_bytes(content)
    with pytest.raises(InputError, match=r"rows\.json' must be a JSON file .* together with rows\.csv .*'--out'"):
        Records(tmp_path, "rows", {"limit": 3})


def test_all_rows_have_the_same_columns(tmp_path: Path) -> None:
    """A row with other columns would shift what follows, and is a defect."""
    store = filled(tmp_path)
    with pytest.raises(InternalError, match="same columns"):
        store.append(C, [{"y": 1.0}])


def test_wall_time_adds_up(tmp_path: Path) -> None:
    """Runs that take up earlier ones count them too."""
    filled(tmp_path).spent(2.5)
    again = Records(tmp_path, "rows", {"limit": 3})
    again.spent(1.0)
    assert again.seconds == 3.5


def test_a_file_appears_complete_or_not_at_all(tmp_path: Path) -> None:
    """Where writing fails the old file stays, and nothing is left beside it."""
    path = tmp_path / "a.txt"
    written(path, "old")
    with pytest.raises(UnicodeEncodeError):
        written(path, "\ud800")
    assert path.read_text("utf-8") == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]
