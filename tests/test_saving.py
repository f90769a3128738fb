"""Policies in files: complete or not at all, by the same version, and nothing else is taken for one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest

import whence as wh
from whence.errors import InputError, NotFittedError
from whence.policy import MARK


@pytest.fixture(scope="module")
def policy() -> wh.Policy:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"temp": rng.normal(20, 5, 60), "day": rng.choice(["Sat", "Sun"], 60)})
    return wh.Policy(wh.Newsvendor(1, 3), wh.ForestWeights(8, random_state=0)).fit(X, 10 + X[["temp"]])


def test_a_saved_policy_explains_alike(policy: wh.Policy, tmp_path: Path) -> None:
    today, file = {"temp": 18.0, "day": "Sat"}, tmp_path / "policy.whence"
    policy.save(file)
    again = wh.load(str(file))
    one, other = (p.explain(today, instead=[36.0]) for p in (policy, again))
    assert (one.status, one.distance, str(one)) == (other.status, other.distance, str(other))
    assert [path.name for path in tmp_path.iterdir()] == ["policy.whence"]


def test_a_policy_that_cannot_be_written_leaves_the_file_as_it_was(policy: wh.Policy, tmp_path: Path) -> None:
    file = tmp_path / "policy.whence"
    policy.save(file)
    before = file.read_bytes()

    class Own(wh.Newsvendor):
        """A class that no pickle can hold."""

    local = wh.Policy(Own(1, 3), wh.KNNWeights(k=3)).fit(np.arange(20.0)[:, None], np.arange(20.0))
    with pytest.raises(InputError, match="The policy must be made of what a pickle can hold"):
        local.save(file)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"no pickle", "is not a policy"),
        ({"mark": "another", "version": wh.__version__}, "is not a policy"),
        (
            {"mark": MARK, "version": "0.0.1", "policy": None},
            r"was saved by whence 0\.0\.1, this is .*: fit the policy again",
        ),
        ({"mark": MARK, "version": wh.__version__, "policy": 3}, "is not a policy"),
        ([1, 2], "is not a policy"),
    ],
)
def test_other_files_are_no_policies(tmp_path: Path, content: Any, sentence: str) -> None:
    file = tmp_path / "file"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        joblib.dump(content, file)
    with pytest.raises(InputError, match=sentence):
        wh.load(file)


def test_paths_that_are_none(policy: wh.Policy, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        wh.load(tmp_path / "absent")
    with pytest.raises(InputError, match="is a folder"):
        wh.load(tmp_path)
    with pytest.raises(InputError, match="in a folder that exists"):
        policy.save(tmp_path / "absent" / "policy")
    for path in (None, 3, b"x"):
        with pytest.raises(InputError, match="'path' must be a path"):
            policy.save(path)
        with pytest.raises(InputError, match="'path' must be a path"):
            wh.load(path)
    with pytest.raises(NotFittedError):
        wh.Policy(wh.Newsvendor(1, 3)).save(tmp_path / "policy")
