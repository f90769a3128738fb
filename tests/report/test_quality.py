"""How good the policy is, in the words of a report."""

from __future__ import annotations

import re

import numpy as np
import pytest
from msgspec import structs

import whence as wh
from whence.report.document import QualityEntry, SimpleRule
from whence.report.html import fragment
from whence.report.words import quality_in_words, warns

GOOD = {"rows": 1200, "folds": 5, "cost": 60.0, "average": 100.0, "foresight": 10.0, "verdict": "better"}


def entry(**changes: object) -> QualityEntry:
    return QualityEntry(**{**GOOD, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "said", "doubtful"),
    [
        (entry(prescriptiveness=0.444, spread=0.1), "saves 40 % against the sample average: 0.44 ± 0.10 of the", False),
        (entry(), "The policy saves 40 % against the sample average.", False),
        (entry(verdict="unclear"), "it is not clear that the policy beats the sample average", True),
        (entry(verdict="worse"), "the policy does not beat the sample average", True),
        (entry(average=-5.0, cost=-9.0), "The policy beats the sample average.", False),
        (
            entry(simple=SimpleRule(name="average per hour", cost=50.0, verdict="worse")),
            "Warning: the average per hour costs less (50 €)",
            True,
        ),
        (entry(simple=SimpleRule(name="average per hour", cost=61.0, verdict="unclear")), "saves 40 %", False),
    ],
)
def test_words_and_warnings(found: QualityEntry, said: str, doubtful: bool) -> None:
    """Every verdict has its sentence, and a warning exactly where the policy is not known to be the better rule."""
    text = quality_in_words(found, "Expected cost", "€")
    assert text.startswith("Expected cost on 1,200 rows it had not seen: 60 €" if found.cost > 0 else "Expected cost")
    assert said in text
    assert ("Warning" in text) == doubtful == warns(found)


def test_report_has_a_section_only_where_it_is_known() -> None:
    """Text, HTML and JSON of an explanation say it once the policy was judged, and read it again."""
    X = np.linspace(0, 1, 60)[:, None]
    policy = wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(k=5)).fit(X, 10 + 20 * X)
    plain = policy.explain([0.2], instead=[20.0])
    assert "quality" not in plain.to_dict()
    assert "How good the policy is" not in fragment(plain)
    for found in (entry(), entry(simple=SimpleRule(name="average per <b>", cost=1.0, verdict="worse"))):
        why = plain.with_quality(found)
        assert "How good the policy is" in fragment(why)
        assert "<b>" not in re.sub(r"<b>(Decision|Your plan|\d)", "", fragment(why).split("How good the policy is")[1])
        again = wh.Explanation.from_json(why.to_json())
        assert again.report.quality == found
        assert str(again) == str(why)
        assert why.verify(policy).agrees
        assert again.with_quality(None) is again
    assert structs.replace(plain).report.quality is None
