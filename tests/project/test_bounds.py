"""Bounds as people type them."""

from __future__ import annotations

import pytest

from whence.errors import InputError
from whence.project import Project
from whence.project.typed_questions import read_bounds


def test_bounds_that_are_read(project: Project) -> None:
    """Numbers keep between two ends, one of which may be left out; names to some of their categories."""
    schema = project.fitted().schema_
    assert read_bounds(["temp=0:20", "day=Monday|Tuesday"], schema) == {
        "temp": (0.0, 20.0),
        "day": ["Monday", "Tuesday"],
    }
    assert read_bounds(["temp=:20"], schema) == {"temp": (None, 20.0)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("temp", "A bound must be given as name=low:high or name=this|that. Got 'temp' instead."),
        ("tmp=0:1", "A bound names 'tmp', which is not a feature. Did you mean 'temp'?"),
        ("temp=0", "The bounds of 'temp' must be given as low:high, two numbers. Got '0' instead."),
        ("temp=a:b", "The bounds of 'temp' must be given as low:high, two numbers. Got 'a:b' instead."),
        ("day=Sunday", "A bound of 'day' must be among Monday, Tuesday, Wednesday. Got 'Sunday' instead."),
    ],
)
def test_bounds_that_are_refused(project: Project, text: str, expected: str) -> None:
    """A bound that cannot be read is refused in a sentence."""
    with pytest.raises(InputError) as refused:
        read_bounds([text], project.fitted().schema_)
    assert str(refused.value) == expected
