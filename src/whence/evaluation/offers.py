"""A forecast that predicts clearly better than a policy's own weights, and the policy that would decide by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import KFold

from whence.features import Schema
from whence.policy import Policy
from whence.report.numbers import plain, share, with_unit
from whence.util.aliases import Floats
from whence.weights.forecast_weights import ForecastWeights
from whence.worlds.world_model import CLEARLY, FOLDS, candidates, crossed, explained_share

#: Predictors of worlds that `ForecastWeights` knows by name.
OFFERED = {"ridge": "linear", "forest": "forest", "boosting": "boosted"}
#: Rows by which predictions are compared, at most, and at least.
MOST_ROWS, LEAST_ROWS = 600, 40


@dataclass(frozen=True)
class Offer:
    """A forecast that predicts clearly better than a policy's weights."""

    #: What `ForecastWeights` calls it: "linear", "forest" or "boosted".
    model: str
    #: The share of the outcomes' variance that it explains on rows that it was not fitted to, and that the policy's
    #: own weights do.
    explained: float
    own: float
    #: With that forecast, to be fitted.
    policy: Policy
    #: What its decisions cost on rows not seen, and what those of the policy as it is do.
    costs: tuple[float, float] | None = None
    #: Whether that is clearly less: "better", "unclear" or "worse"; empty where it was not found out.
    verdict: str = ""
    cost_unit: str = ""

    @property
    def sentence(self) -> str:
        """What predicts better, by how much, and what deciding by it would cost."""
        told = (
            f"A {self.model} forecast predicts rows not seen clearly better than the policy's own weights: it explains "
            f"{share(self.explained)} of the variance of what came, they explain {share(max(self.own, 0.0))}."
        )
        use = f"ForecastWeights({self.model!r}), in a project kind = 'forecast' and model = '{self.model}' in [weights]"
        if self.costs is None:
            return f"{told} Try {use}."
        offered, before = (with_unit(plain(cost, 4), self.cost_unit) for cost in self.costs)
        if self.verdict == "worse":
            return f"{told} Deciding by it costs more all the same: {offered} against {before}."
        clearly = "" if self.verdict == "better" else ", not clearly less"
        return f"{told} Deciding by it costs {offered} against {before}{clearly}: {use}."


def better_forecast(policy: Policy, X: pd.DataFrame, Y: Floats) -> Offer | None:
    """Return the forecast that predicts best, where that is clearly better than by the policy's own weights.

    Examples
    --------
    >>> import whence as wh
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame(rng.random((120, 3)), columns=list("abc"))
    >>> Y = 10 + X[["a"]].to_numpy() * 40 + rng.random((120, 1))
    >>> better_forecast(wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(k=40)), X, Y).model
    'linear'
    """
    weights = policy.weights
    if len(X) < LEAST_ROWS or (weights is not None and weights.capabilities.forecasts):
        return None
    chosen = np.sort(np.random.default_rng(0).permutation(len(X))[:MOST_ROWS])
    X, Y = X.iloc[chosen].reset_index(drop=True), np.asarray(Y, dtype=np.float64)[chosen]
    own = explained_share(Y, _own_predictions(policy, X, Y))
    inputs = _anew(policy, X).fit(X, Y).past_inputs()
    best, most = "", own + CLEARLY
    for one in candidates(inputs, Y):
        if one.name in OFFERED:
            explained = explained_share(Y, crossed(one, inputs, Y, 0))
            if explained > most:
                best, most = OFFERED[one.name], explained
    if not best:
        return None
    offered: Policy = clone(policy)
    offered.set_params(weights=ForecastWeights(best))
    return Offer(best, most, own, offered)


def _anew(policy: Policy, X: pd.DataFrame) -> Any:
    """The policy, to be fitted to some of these rows: kinds of features and categories are those of all of them."""
    whole = (policy.schema or Schema()).fit(X)
    return clone(policy).set_params(schema=Schema({name: whole.kind(name) for name in whole.names}), unknown="ignore")


def _own_predictions(policy: Policy, X: pd.DataFrame, Y: Floats) -> Floats:
    """What the policy's weights say of every row where they were fitted to the folds that do not hold it."""
    found = np.empty(Y.shape)
    for fitted, left in KFold(FOLDS, shuffle=True, random_state=0).split(X):
        part = _anew(policy, X).fit(X.iloc[fitted].reset_index(drop=True), Y[fitted])
        for place, row in zip(left, part.weights_in(X.iloc[left]), strict=True):
            found[place] = row.toarray().ravel() @ part.Y_
    return found
