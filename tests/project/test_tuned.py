"""Weights written into a project file leave everything else as it is."""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path

import numpy as np
import pytest
from tests.project.samples import PROJECT, write_project

from whence.errors import InputError
from whence.project import Project
from whence.project.sections import settings_of, with_weights, write_weights
from whence.weights import ForestWeights, KernelWeights, KNNWeights

FOREST = ForestWeights(n_trees=60, max_depth=None, max_features=0.5, min_samples_leaf=5, random_state=3)

WEIGHTS = [
    "",
    "[weights]\n",
    "[weights]   # how\nkind = 'knn'  # near\nk = 10\n",
    '[weights]\n# first\nkind = "forest"\nmax_depth = 4    # shallow\n# last\n\n',
    "[ 'weights' ]\n  kind=\"forest\"\n  n_trees = 1_00 # many\n  max_features = 'sqrt'\n  random_state = 0\n",
    '[weights]\n# tuned: an earlier choice\n# mine\nkind = "knn"\nk = 5\n',
]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("weights", [FOREST, KNNWeights(k=7)], ids=["forest", "knn"])
@pytest.mark.parametrize("written", WEIGHTS)
def test_only_the_weights_change(written: str, weights: ForestWeights | KNNWeights, end: str) -> None:
    """Whatever stands before, the file reads the same but for its weights, and every comment of people is kept."""
    head = '# mine [weights]\ntitle = "a [weights] b"\n\n[data]\nhistory = "x.csv"   # [weights]\n\n'
    tail = '[risk]\nkind = "expectation" # k = 3\n'
    text = (head + written + tail).replace("\n", end)
    changed = with_weights(text, settings_of(weights), ["because", "it\nis"])
    before, after = tomllib.loads(text), tomllib.loads(changed)
    assert after.pop("weights") == settings_of(weights)
    before.pop("weights", None)
    assert after == before
    for remark in ("# mine", "# how", "# first", "# last", "# [weights]", "# k = 3"):
        assert (remark in text) == (remark in changed), remark
    assert changed.count("# tuned: ") == 2
    assert "an earlier choice" not in changed
    assert ("\r" in changed) == (end == "\r\n")
    # Once more: nothing grows.
    assert with_weights(changed, settings_of(weights), ["because", "it\nis"]) == changed


@pytest.mark.parametrize(
    "text",
    [
        'weights = { kind = "knn", k = 3 }\n[risk]\n',
        'weights.kind = "knn"\nweights.k = 3\n[risk]\n',
        '[weights]\nkind = "forest"\nmax_depth = """none"""\n',
        'title = """\n[weights]\nkind = "knn"\n"""\n[weights]\nkind = "knn"\nk = 3\n',
    ],
)
def test_what_cannot_be_changed_safely_is_refused(text: str) -> None:
    """Inline tables, dotted keys and texts over several lines are left alone, with what to write instead."""
    with pytest.raises(InputError, match=r'write it yourself: kind = "knn", k = 7'):
        with_weights(text, settings_of(KNNWeights(k=7)), [])


def test_the_project_reads_what_was_written(tmp_path: Path) -> None:
    """A project with new weights loads, and its policy has them."""
    path = write_project(tmp_path, PROJECT)
    write_weights(path, FOREST, ["better"])
    assert Project.load(path).policy.weights.get_params() == FOREST.get_params()
    write_weights(path, KNNWeights(k=np.int64(4)), ["worse"])
    assert Project.load(path).policy.weights.get_params() == KNNWeights(k=4).get_params()
    for weights in (KNNWeights(7, "euclidean", False), KernelWeights(0.4, "tricube", "l1", True, 0.05)):
        write_weights(path, weights, ["other"])
        assert Project.load(path).policy.weights.get_params() == weights.get_params()


@pytest.mark.skipif(os.name == "nt", reason="links and modes of POSIX")
def test_link_mode_and_mark_are_kept(tmp_path: Path) -> None:
    """A link stays a link, the file keeps its mode and its byte order mark, and nothing else is left behind."""
    path = write_project(tmp_path / "real", PROJECT)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    path.chmod(0o640)
    link = tmp_path / "whence.toml"
    link.symlink_to(path)
    write_weights(link, FOREST, ["better"])
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    assert "# tuned: better" in path.read_text("utf-8-sig")
    assert not list(path.parent.glob(".*partial"))


def test_a_refusal_leaves_the_file(tmp_path: Path) -> None:
    """Where the file cannot be changed safely it stays as it is, to the byte."""
    path = tmp_path / "whence.toml"
    path.write_bytes(b'weights = { kind = "knn", k = 3 }\n')
    with pytest.raises(InputError):
        write_weights(path, FOREST, [])
    assert path.read_bytes() == b'weights = { kind = "knn", k = 3 }\n'
