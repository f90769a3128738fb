"""Explanations on the real cases name contexts that can exist: they keep what the history shows without exception."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import whence as wh
from whence.project import Project

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
#: Questions about each case without relations, at most; how many of those whose answer is impossible are asked with
#: relations, and how many of them in any case.
TRIED, BROKEN, ASKED = 60, 3, 4


def case(name: str) -> tuple[Any, Any, pd.DataFrame, pd.DataFrame, Any]:
    """Problem, risk, contexts, outcomes and schema of a real case."""
    if name != "airports":
        project = Project.load(EXAMPLES / name)
        return project.policy.problem, project.policy.risk, project.X, project.Y, project.policy.schema
    sys.path.insert(0, str(EXAMPLES / "airports"))
    try:
        from departure import AIRPORTS, Departure
    finally:
        sys.path.pop(0)
    table = pd.read_csv(EXAMPLES / "airports" / "history.csv", index_col="date")
    return Departure(), wh.CVaR(0.8), table.drop(columns=list(AIRPORTS)), table[list(AIRPORTS)], None


def seen_together(X: pd.DataFrame, by: str, of: str, row: pd.Series) -> bool:
    """Whether a context has a value that was seen together with another one; of a number, one in the range seen."""
    among = X.loc[X[by] == row[by], of]
    if pd.api.types.is_numeric_dtype(among.dtype) and among.nunique() > 2:
        return bool(among.min() <= row[of] <= among.max())
    return bool((among == row[of]).any())


@pytest.mark.parametrize("name", ["restaurant", "bike-share", "airports"])
def test_what_the_history_shows_without_exception_holds(name: str) -> None:
    """Orders and ranges per month, weekday and so on: kept in the user's units, to the last digit, by every answer."""
    problem, risk, X, Y, schema = case(name)
    fitted = (schema or wh.Schema()).fit(X)
    few = [one for one in fitted.names if fitted.levels(one) and len(fitted.levels(one)) <= 31]
    pairs = [(by, of) for by in few for of in X.columns if by != of and (of not in few or by == "month")]
    relations = [*fitted.proposals(X), *(wh.observed(by, of) for by, of in pairs)]
    shown = wh.Schema(fitted.features, relations)
    weights = wh.ForestWeights(20, max_depth=None, min_samples_leaf=5, max_features=0.5, random_state=0)
    plain, policy = (wh.Policy(problem, weights, risk, one).fit(X, Y) for one in (schema, shown))
    rows = np.random.default_rng(0).permutation(len(X))

    def asked(one: wh.Policy, i: int) -> list[tuple[str, str]] | None:
        """What the nearest context of question `i` breaks; None where there is none but today's."""
        why = one.explain(X.iloc[rows[i]], instead=policy.decide(X.iloc[rows[-1 - i]]), time_limit=60)
        if why.context is None or why.status == "already":
            return None
        return [pair for pair in pairs if not seen_together(X, *pair, why.context)]

    broken = list(islice((i for i in range(TRIED) if asked(plain, i)), BROKEN))
    assert broken, "nothing was impossible without relations, so that nothing is shown"
    found = [asked(policy, i) for i in {*range(ASKED), *broken}]
    assert all(not one for one in found), found
    assert found.count([]) >= ASKED // 2
