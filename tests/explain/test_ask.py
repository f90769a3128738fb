"""The table of the options of ``Policy.explain``: complete, and what others state of an option follows from it."""

from __future__ import annotations

import inspect
import math

import pytest

import whence as wh
from whence.checks import Rule
from whence.errors import InputError
from whence.explain.ask import OPTIONS, Option, Request, SearchRequest
from whence.report.build import EFFORT, question_digest


def test_explain_has_the_options_of_the_table_with_their_defaults() -> None:
    """Every keyword of ``Policy.explain`` is in the table, with the default that it has there, and no other."""
    known = inspect.signature(wh.Policy.explain).parameters
    named = {name: one.default for name, one in known.items() if one.kind is inspect.Parameter.KEYWORD_ONLY}
    assert {name: one.default for name, one in OPTIONS.items()} == named


def test_effort_is_left_out_of_the_fingerprint_of_a_question() -> None:
    """What says how hard to try is no part of what is asked; all of it are options of explain."""
    assert set(EFFORT) <= set(OPTIONS)
    asked = {
        "question": {"kind": "absolute"},
        "initial": {},
        "plans": {"decision": 1, "alternative": 2},
        "risk": "mean",
    }
    tried = {**asked, "question": {"kind": "absolute", **dict.fromkeys(EFFORT, 1)}}
    assert question_digest(tried) == question_digest(asked)
    assert question_digest({**asked, "question": {"kind": "relative"}}) != question_digest(asked)


def test_certificates_record_what_the_table_says() -> None:
    """Options that are always recorded are in every record, those recorded where given only then, others never."""
    bare = Request({"a": 1.0}).as_plain()
    more = {"max_changes": 2, "memory_limit": 10**9, "fill": ["a"], "relations": ["a <= b"], "least_gain": 0.05}
    given = Request({"a": 1.0}, **more).as_plain()
    for name, one in OPTIONS.items():
        assert (name in bare) == (one.recorded == "always"), name
        assert (name in given) == (one.recorded != "never"), name


@pytest.mark.parametrize("one", OPTIONS.values(), ids=OPTIONS)
def test_defaults_keep_the_rules(one: Option) -> None:
    """A default is allowed, words are a sentence, and what commands take has a name for its value."""
    assert one.rule is None or one.rule.fits(one.default)
    assert one.words.endswith(".")
    assert bool(one.flag) == bool(one.metavar)


@pytest.mark.parametrize(
    ("name", "written", "value"),
    [("margin", "5 %", 0.05), ("within", 1, 1.0), ("fixed", ["a"], ("a",)), ("memory_limit", 1e9, 10**9)],
)
def test_what_files_hold_becomes_an_argument(name: str, written: object, value: object) -> None:
    """What a file may hold is read as what ``Policy.explain`` takes."""
    one = OPTIONS[name]
    assert isinstance(one.in_file, Rule)
    assert one.in_file.fits(written)
    assert not one.in_file.fits(math.nan)
    assert one.read(written) == value


def test_forecasts_share_the_options_of_the_search() -> None:
    """Where to look and when to stop are checked alike for plans and forecasts."""
    with pytest.raises(InputError, match="'max_changes' must be an int >= 1, or None"):
        SearchRequest(max_changes=0)
