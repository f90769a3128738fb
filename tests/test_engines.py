"""The registry of engines: one place that knows their names, and what belongs to which weights."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.forests import paper_forest

import whence as wh
from whence.engines import (
    CLAIMS,
    ENGINES,
    REFUSALS,
    TABLE,
    Engine,
    engine_named,
    engine_names,
    part_of,
    what_goes_with_what,
)
from whence.errors import InputError, InputTypeError
from whence.question import Answer, Question
from whence.weights.forecast_weights import ForecastLine


class Nothing(Engine):
    """An engine that gives up at once; it knows one option."""

    name = "nothing"
    words = "the engine that gives up"
    options = ("politely",)

    def label(self, weights: Any, options: Any) -> str:
        """Its name."""
        return "nothing"

    def check(self, question: Question) -> None:
        """Refuse to be impolite."""
        if question.settings.options.get("politely") is False:
            raise InputError("'politely' must be True.", parameter="politely")

    def answer(self, question: Question) -> Answer:
        """Nothing found, nothing proved."""
        return Answer("time_limit", None, np.inf, 0.0)


@pytest.fixture
def registered() -> Iterator[None]:
    """The engine that gives up, for one test."""
    ENGINES["nothing"] = Nothing
    yield
    del ENGINES["nothing"]


def policy() -> wh.Policy:
    """A small fitted policy."""
    X = np.random.default_rng(0).random((30, 2))
    return wh.Policy(wh.Newsvendor(1, 3), paper_forest(5, random_state=0)).fit(X, 10 + 20 * X[:, :1])


def test_every_engine_goes_by_its_name() -> None:
    """What is registered under a name says so itself; without a name the search answers."""
    for name in ENGINES:
        assert engine_named(name).name == name
        assert engine_named(name).words
    assert engine_named("auto") is engine_named("search")
    with pytest.raises(InputError, match=r"'engine' must be 'auto', 'search' or 'milp'\. Got 'magic'") as caught:
        engine_named("magic")
    assert caught.value.parameter == "engine"


@pytest.mark.usefixtures("registered")
def test_a_new_engine_is_one_entry() -> None:
    """An engine that is registered is asked, labels its answers, and refuses what it does not like."""
    assert "nothing" in engine_names()
    fitted = policy()
    why = fitted.explain([0.2, 0.5], instead=[24.0], engine="nothing", politely=True)
    assert (why.status, why.engine, why.bound, why.asked["politely"]) == ("time_limit", "nothing", 0.0, True)
    with pytest.raises(InputError, match="'politely' must be True"):
        fitted.explain([0.2, 0.5], instead=[24.0], engine="nothing", politely=False)
    with pytest.raises(InputError, match="'politely' is an option of engine='nothing'; the search does not know it"):
        fitted.explain([0.2, 0.5], instead=[24.0], politely=True)
    with pytest.raises(InputError, match="'solver' is an option of engine='milp'; the engine that gives up does not"):
        fitted.explain([0.2, 0.5], instead=[24.0], engine="nothing", solver="highs")


def test_a_subclass_is_searched_like_its_base() -> None:
    """Weights that derive from others use their parts."""

    class Own(wh.KNNWeights):
        """The same under another name."""

    for name in (*ENGINES, "region"):
        assert part_of(Own(), name) is part_of(wh.KNNWeights(), name)


def test_every_row_of_the_table_leads_somewhere() -> None:
    """What the table names exists, every claim has words, and a search goes with every predictor."""
    for (kind, claim), parts in TABLE.items():
        assert claim in CLAIMS
        assert "search" in parts, kind
        for path in (":".join(kind.rsplit(".", 1)), *parts.values()):
            module, _, name = path.partition(":")
            assert hasattr(import_module(module), name), path


def test_forecasts_are_called_as_the_user_does() -> None:
    """Not by the name of what they show to engines; which ones an engine knows is said where it is not all."""
    line = ForecastLine.__new__(ForecastLine)
    with pytest.raises(InputTypeError, match=r"ForecastWeights with trees, .* Got ForecastWeights with a linear model"):
        part_of(line, "milp")


def test_page_of_what_goes_with_what_shows_the_table() -> None:
    """The docs show the very table from which refusals are made, one row for each kind of predictor."""
    table = what_goes_with_what()
    page = Path(__file__).parents[1] / "docs" / "reference" / "what-goes-with-what.md"
    assert table in page.read_text(encoding="utf-8")
    assert len(table.splitlines()) == 5 + len({kind for kind, _ in TABLE}) + len(REFUSALS)
