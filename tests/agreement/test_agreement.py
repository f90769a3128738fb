"""Whatever predicts, whatever is claimed and whatever else is asked for: search, brute force and integer program agree.

`python benchmarks/soak.py --weights drawn` goes on with further seeds for as long as you like.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from tests.agreement.generator import CLAIMS, OPTIONS, PREDICTORS, TREES, Asked, draw
from tests.agreement.reference import TooMany, disagreement, faults
from tests.asking import searching
from tests.blocks import count, seeds

import whence as wh

#: Options that a predictor does not know.
REFUSED = {
    "neighbours": "m",
    "euclidean": "mcp",
    "distance": "mk",
    "kernel": "mckp",
}
#: By how many standard errors a plan is the best of all, no list of contexts says: see tests/search/test_confidence.py.
UNKNOWN = {("absolute", "k"), ("best set", "k")}
#: How usual a context is, is not known where numbers are missing.
PAIRS = sorted({"".join(pair) for pair in combinations(OPTIONS, 2)} - {"mp"})


def compared(asked: Asked, name: str, *settings: dict[str, Any]) -> bool:
    """Hold the answers under several settings against brute force; whether few enough contexts were to be looked at."""
    plain: dict[str, Any] = {}
    for one in (plain, *settings):
        try:
            with searching(**one):
                wrong = disagreement(asked)
        except TooMany:
            return False
        assert not wrong, f"{name} {one or ''}: {wrong}"
    return True


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("predictor", PREDICTORS)
def test_every_option_agrees_with_every_context(predictor: str, claim: str) -> None:
    """The nearest context that can exist, by trying every combination of values at which anything turns.

    The answer is the same where past contexts are looked at before the first box.
    """
    looked = total = 0
    for option in ("", *OPTIONS):
        if (claim, option) in UNKNOWN or (option and option in REFUSED.get(predictor, "")):
            continue
        for seed in seeds(2, 12):
            total += 1
            name = f"draw({seed}, {predictor!r}, {claim!r}, {option!r})"
            looked += compared(draw(seed, predictor, claim, option), name, {"recall_after": 0})
    assert looked >= 0.6 * total


@pytest.mark.parametrize("predictor", REFUSED)
def test_what_a_predictor_does_not_know_is_refused(predictor: str) -> None:
    """One sentence, and no answer, for any claim."""
    for option in REFUSED[predictor]:
        for claim in ("relative", "absolute"):
            with pytest.raises(wh.errors.InputError):
                draw(0, predictor, claim, option).explain()


@pytest.mark.parametrize("options", PAIRS)
def test_pairs_of_options_agree_with_every_context(options: str) -> None:
    """What goes with forests, grown for the decision or not, and with neighbours alone goes together."""
    claims = ("relative", "set") if "k" in options else CLAIMS
    for seed in seeds(1, 6):
        for predictor in ("forest", "decision", "neighbours"):
            if not set(options) & set(REFUSED.get(predictor, "")):
                claim = claims[(seed + PAIRS.index(options)) % len(claims)]
                compared(draw(seed, predictor, claim, options), f"draw({seed}, {predictor!r}, {claim!r}, {options!r})")


@pytest.mark.parametrize(
    ("predictor", "option"),
    [(one, option) for one in ("forest", "neighbours") for option in ("", *"suldrtcoyfg")] + [("forest", "m")],
)
def test_the_integer_program_agrees(predictor: str, option: str) -> None:
    """A second engine, which shares no code with the search, finds the same distance, and contexts that can exist."""
    for seed in range(1000, 1000 + count(1, 6)):
        asked = draw(seed, predictor, ("relative", "absolute")[seed % 2], option)
        found, solved = asked.explain(), asked.explain(engine="milp", time_limit=60.0)
        name = f"draw({seed}, {predictor!r}, {asked.claim!r}, {option!r})"
        assert found.status == solved.status, name
        assert found.distance == pytest.approx(solved.distance, rel=2e-6, abs=2e-6), name
        assert not faults(asked, found), name
        assert not faults(asked, solved), name


def test_the_questions_are_not_trivial() -> None:
    """Most questions have an answer, and most answers lie away from the initial context."""
    away = [draw(seed, predictor).explain().distance for seed in range(12) for predictor in TREES]
    assert sum(0.0 < distance < float("inf") for distance in away) > len(away) / 2
