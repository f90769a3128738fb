"""Every answer of the golden file is still given: status, distance, bound, context, text and document.

Where a sentence or a name is bettered on purpose, write the file again and commit it on its own::

    python -m tests.golden.test_golden
"""

from __future__ import annotations

import json
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from tests.golden.questions import Asked, answered, asked, fingerprint

FILE = Path(__file__).with_name("answers.json")
#: Libraries may fit other models in other versions; where more than these fits differ, the file says nothing any more.
MOST_OTHER_FITS = 0.25


def _groups() -> dict[str, list[Asked]]:
    grouped: dict[str, list[Asked]] = defaultdict(list)
    for question in asked():
        grouped[f"{question.predictor}, {question.problem}"].append(question)
    return grouped


def _fit(question: Asked) -> str:
    return "" if question.problem == "forecast" else fingerprint(*question.fitted)


def _sure(question: Asked, answer: dict[str, Any]) -> dict[str, Any]:
    """Return what must be the same: of several equally near contexts, threads that search together may find any."""
    if "/threads/" not in question.name:
        return answer
    return {key: answer[key] for key in ("status", "distance", "bound", "refused") if key in answer}


def differences(wanted: dict[str, Any], came: dict[str, Any]) -> list[str]:
    """Return what differs between two kept answers, a line each."""
    lines = []
    for key in sorted({*wanted, *came}):
        before, after = wanted.get(key), came.get(key)
        if key == "document" and isinstance(before, dict) and isinstance(after, dict):
            names = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
            lines += [f"document: {', '.join(names)}"] if names else []
        elif before != after:
            lines.append(f"{key}: {before!r} became {after!r}")
    return lines


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


@pytest.mark.parametrize("group", list(_groups()))
def test_answers_are_those_of_the_golden_file(group: str, kept: dict[str, Any]) -> None:
    """No answer to a question about these policies has changed."""
    wrong, others = [], 0
    for question in _groups()[group]:
        wanted = kept["answers"][question.name]
        if wanted["fit"] != _fit(question):
            others += 1
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            came = answered(question)
        lines = differences(_sure(question, wanted["answer"]), _sure(question, came))
        wrong += [f"{question.name}: {line}" for line in lines]
    assert not wrong, "\n".join(wrong)
    if others:
        warnings.warn(
            f"{others} questions about {group} were not compared: the library fits another model", stacklevel=1
        )


def test_fits_are_those_of_the_golden_file(kept: dict[str, Any]) -> None:
    """Nearly every policy of the file is fitted as it was when the file was written."""
    fits = {question.fitted: question for question in asked() if question.problem != "forecast"}
    other = [question.name for question in fits.values() if kept["answers"][question.name]["fit"] != _fit(question)]
    assert len(other) <= MOST_OTHER_FITS * len(fits), other


def test_the_file_holds_every_question_and_no_other(kept: dict[str, Any]) -> None:
    """The file was written for the questions as they are."""
    assert list(kept["answers"]) == [question.name for question in asked()]
    assert len(kept["answers"]) >= 400


def write() -> None:
    """Write the golden file from the answers of the code as it is."""
    answers = {}
    for question in asked():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answers[question.name] = {"fit": _fit(question), "answer": answered(question)}
    FILE.write_text(json.dumps({"answers": answers}, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
