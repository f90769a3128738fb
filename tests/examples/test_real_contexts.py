"""Explanations on the real cases name contexts that can exist: whatever the history shows without exception, they keep."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import whence as wh
from whence.project import Project

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
#: Questions about each case.
ASKED = 8


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
    weights = wh.ForestWeights(20, max_depth=4, max_features=0.5, random_state=0)
    plain, policy = (wh.Policy(problem, weights, risk, one).fit(X, Y) for one in (schema, shown))
    rows = np.random.default_rng(0).permutation(len(X))
    found = broken = 0
    for i in range(ASKED):
        today, instead = X.iloc[rows[i]], policy.decide(X.iloc[rows[-1 - i]])
        why, without = (one.explain(today, instead=instead, time_limit=60) for one in (policy, plain))
        for answer, kept in ((why, True), (without, False)):
            if answer.context is None or answer.status == "already":
                continue
            holds = [seen_together(X, by, of, answer.context) for by, of in pairs]
            if kept:
                assert all(holds), [pair for pair, one in zip(pairs, holds, strict=True) if not one]
                assert policy.schema_.broken(answer.context) == []
                found += 1
            broken += not kept and not all(holds)
    assert found >= ASKED // 2
    assert broken, "nothing was impossible without relations, so that nothing is shown"
