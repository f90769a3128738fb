"""Requests that nobody thought of: from the server's own description, and almost right ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.blocks import examples
from tests.web.live import FINISHED, STRANGE, Live, finished, running, small_scenes, until

from whence.web.app import create_app

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
SLOW = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much]


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[Live]:
    """A server of its own, whose queue is soon full of short searches."""
    with running(small_scenes(), time_limit=0.05, queue=8) as server:
        yield server


@pytest.fixture(scope="module")
def program(fuzzed: Live) -> Iterator[httpx.Client]:
    """A program that talks to it."""
    with fuzzed.client() as client:
        yield client


description = schemathesis.openapi.from_dict(create_app([]).openapi())
operations = {found.ok().label: found.ok() for found in description.get_all_operations()}
POSITIVE, NEGATIVE = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE
#: Where every text is allowed, nothing can be sent that the description forbids.
forbidding = [label for label, found in operations.items() if found.body or found.query or "{row}" in label]
cases = [(label, POSITIVE) for label in operations] + [(label, NEGATIVE) for label in forbidding]


@pytest.mark.parametrize(("label", "mode"), cases)
def test_every_answer_is_as_described(fuzzed: Live, label: str, mode: schemathesis.GenerationMode) -> None:
    """Whatever the description allows or forbids to send, the answer is one that the description names."""
    statuses: list[int] = []

    @examples(4, 10, database=None, suppress_health_check=SLOW)
    @given(case=operations[label].as_strategy(generation_mode=mode))
    def answered(case: schemathesis.Case) -> None:
        # A scene that exists, most of the time: otherwise nothing behind it is ever reached.
        if "scene" in case.path_parameters and len(str(case.body)) % 4:
            case.path_parameters["scene"] = "strange"
        statuses.append(case.call_and_validate(base_url=fuzzed.url, checks=CHECKS).status_code)

    answered()
    assert statuses
    assert {str(status) for status in statuses} <= set(operations[label].definition.raw["responses"])
    # Not all that is generated as forbidden is: a query may repeat a parameter, or hold one more.
    assert mode is POSITIVE or max(statuses) >= 400


# ---- almost right ---------------------------------------------------------------------------------------

#: A question with nothing wrong in it.
RIGHT: dict[str, Any] = {
    "context": {STRANGE: 0.5, "level": 2, "kind": "a"},
    "plan": [[0, 0], [0, 1], [0, 2], [1, 2], [2, 2]],
}
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
nested = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner))
pairs = st.lists(st.integers(-1, 3), min_size=2, max_size=2)
values = {
    STRANGE: st.floats(-2, 2) | scalars,
    "level": st.integers(0, 4) | scalars,
    "kind": st.sampled_from(["a", "b", "c"]) | scalars,
}
contexts = st.fixed_dictionaries(values) | st.dictionaries(st.sampled_from(list(values)), scalars)
plans = st.lists(pairs, max_size=6) | st.just(RIGHT["plan"]) | nested
limits = st.dictionaries(
    st.sampled_from([*values, "moon"]), st.lists(st.floats(-2, 4) | st.sampled_from(["a", "b"]) | scalars, max_size=3)
)


#: Questions with several answers.
OTHERS = ["fronts", "menus", "reasons"]
places = st.lists(pairs | scalars, max_size=3)
sets = (
    st.just("any")
    | st.dictionaries(st.sampled_from(["through", "using", "avoiding", "at_least", "only", "moon"]), places, max_size=3)
    | st.fixed_dictionaries({"through": st.lists(pairs, min_size=1, max_size=2)})
    | st.fixed_dictionaries({"only": st.lists(plans, max_size=2)})
    | nested
)


def text_of(question: dict[str, Any]) -> bytes:
    """The question as JSON, with NaN and infinity as other programs write them."""
    return json.dumps(question).encode()


def test_almost_right_questions(program: httpx.Client) -> None:
    """Contexts, plans, sets and limits that are nearly right are answered, or refused with one sentence; both occur."""
    seen: dict[str, set[int]] = {name: set() for name in ("decide", "check", "explanations", *OTHERS, "comparisons")}

    @examples(20, 60, database=None, suppress_health_check=SLOW)
    @given(
        context=contexts,
        before=contexts,
        plan=plans,
        instead=sets,
        fixed=st.lists(st.sampled_from([*values, "moon"]), max_size=3),
        bounds=limits,
        other=st.sampled_from(OTHERS),
    )
    @example(RIGHT["context"], RIGHT["context"], RIGHT["plan"], {"through": [[0, 2]]}, [], {}, "menus")
    @example(RIGHT["context"], {}, RIGHT["plan"], {"through": [[0, 2]]}, [], {}, "fronts")
    @example(RIGHT["context"], {}, RIGHT["plan"], "any", [], {}, "reasons")
    def asked(
        context: dict[str, Any],
        before: dict[str, Any],
        plan: Any,
        instead: Any,
        fixed: list[str],
        bounds: dict[str, Any],
        other: str,
    ) -> None:
        restricted = {"context": context, "fixed": fixed, "bounds": bounds}
        for path, question in (
            ("decide", {"context": context}),
            ("check", {"context": context, "plan": plan}),
            ("explanations", {**restricted, "plan": plan}),
            ("explanations", {**restricted, "instead": instead}),
            (other, {**restricted, "instead": instead}),
            (other, {**restricted, "plan": plan}),
            ("comparisons", {"before": before, "after": context}),
        ):
            headers = {"content-type": "application/json"}
            answer = program.post(f"/api/scenes/strange/{path}", content=text_of(question), headers=headers)
            assert answer.status_code in (200, 202, 422, 429), answer.text
            seen[path].add(answer.status_code)
            if answer.status_code >= 400:
                assert isinstance(answer.json()["detail"], str)

    asked()
    assert seen["decide"] == seen["check"] == {200, 422}
    for path in ("explanations", *OTHERS, "comparisons"):
        assert seen[path] >= {422}
        assert seen[path] & {202, 429}


def test_searches_of_the_fuzzing_ended_well(fuzzed: Live, program: httpx.Client) -> None:
    """No search that the requests above began has failed, nor has one more that is surely begun."""
    jobs = fuzzed.app.state.pool._jobs
    until(lambda: all(job.state in FINISHED for job in list(jobs.values())), 60.0)
    answer = program.post("/api/scenes/strange/explanations", json=RIGHT)
    assert answer.status_code == 202, answer.text
    assert finished(program, answer.json()["job"])["state"] == "done"
    # Not every question was an explanation.
    assert {job.asked.question for job in jobs.values()} > {"explain"}
    assert len(jobs) > 0
    assert {job.error for job in jobs.values()} == {None}
