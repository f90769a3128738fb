"""Saved policies: used as they were, and refused where they are none."""

from __future__ import annotations

import pickle
from pathlib import Path

import joblib
import numpy as np
import pytest
from tests.project.samples import PROJECT, csv_text, days, write_project

from whence.errors import InputError
from whence.project import Project
from whence.project.project import load_policy, save_policy


def test_there_and_back(tmp_path: Path) -> None:
    """A saved policy decides and explains as the one that was saved, without a word where nothing changed."""
    path = write_project(tmp_path)
    project, again = Project.load(path), Project.load(path)
    save_policy(project, tmp_path / "policy.joblib")
    assert load_policy(again, tmp_path / "policy.joblib") == []
    context = project.context(5)
    np.testing.assert_array_equal(again.fitted().decide(context), project.fitted().decide(context))
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


def test_data_that_has_changed(tmp_path: Path) -> None:
    """A policy fitted before the data changed is used, with a word about it; other columns are refused."""
    path = write_project(tmp_path)
    save_policy(Project.load(path), tmp_path / "policy.joblib")
    (tmp_path / "days.csv").write_text(csv_text(days(seed=3)), "utf-8")
    told = load_policy(Project.load(path), tmp_path / "policy.joblib")
    assert told == ["policy.joblib was fitted before whence.toml or its data changed; it is used as it is."]
    path.write_text(PROJECT.replace('"days.csv"', '"days.csv"\nignore = ["day"]'), "utf-8")
    with pytest.raises(InputError, match=r"was fitted to columns other than those of whence\.toml: fit it again"):
        load_policy(Project.load(path), tmp_path / "policy.joblib")


@pytest.mark.parametrize("content", [b"", b"rubbish", pickle.dumps({"a": 1}), pickle.dumps([1, 2])])
def test_files_that_are_no_policy(tmp_path: Path, content: bytes) -> None:
    """A file that `whence fit --save` has not written is refused in a sentence."""
    project = Project.load(write_project(tmp_path))
    (tmp_path / "policy.joblib").write_bytes(content)
    with pytest.raises(InputError, match="is not a policy that 'whence fit --save' has written"):
        load_policy(project, tmp_path / "policy.joblib")


def test_another_version(tmp_path: Path) -> None:
    """A policy of another version of whence is refused: its insides may mean something else."""
    project = Project.load(write_project(tmp_path))
    content = {"mark": "whence policy", "version": "0.0.1", "of": "", "policy": project.fitted()}
    joblib.dump(content, tmp_path / "policy.joblib")
    with pytest.raises(InputError, match=r"was saved by whence 0\.0\.1"):
        load_policy(project, tmp_path / "policy.joblib")
