"""A search for weights that decide better: which depth, leaf size, features, or number of neighbours."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold

from whence.checks import FLAG, POSITIVE, one_of
from whence.errors import InputTypeError
from whence.evaluation.baselines import AVERAGE, FORESIGHT, PER_CATEGORY, folds_of
from whence.evaluation.evaluating import evaluate, offered
from whence.evaluation.evaluation import Evaluation
from whence.evaluation.offers import Offer
from whence.policy import Policy
from whence.report.numbers import plain, share, with_unit
from whence.util.frames import as_outcomes, as_pandas, as_table
from whence.weights import ForestWeights, KNNWeights, Weights

#: What is tried for forests, and for neighbours.
DEPTHS: tuple[int | None, ...] = (2, 4, 6, 10, None)
LEAVES = (1, 5, 20)
FEATURES: tuple[str | float, ...] = ("sqrt", 0.5, 1.0)
NEIGHBOURS = (3, 5, 10, 20, 40, 80)
#: A leaf, or the neighbours, may take at most this share of the rows.
LARGEST_SHARE = 0.2
#: The weights of the policy that is tuned.
AS_IT_IS = "as it is"
#: Other weights are as good as the best where they cost more by no more than this many standard errors.
AS_GOOD = 1.0


def candidates(policy: Policy, rows: int, columns: int, only: str | None = None) -> dict[str, Weights]:
    """Return weights to try besides those of `policy`, by name.

    Examples
    --------
    >>> import whence as wh
    >>> policy = wh.Policy(wh.Newsvendor(1, 3))
    >>> list(candidates(policy, 60, 4, only="knn"))
    ['knn, k 3', 'knn, k 5', 'knn, k 10']
    """
    most = max(1, int(LARGEST_SHARE * rows))
    found: dict[str, Weights] = {}
    if only in (None, "forest"):
        same: dict[str, Any] = {"n_trees": 100, "random_state": 0}
        if isinstance(policy.weights, ForestWeights):
            same = {"n_trees": policy.weights.n_trees, "random_state": policy.weights.random_state}
        for depth in DEPTHS:
            for leaf in (leaf for leaf in LEAVES if leaf <= most):
                for features in FEATURES if columns > 1 else (1.0,):
                    name = f"forest, depth {depth or 'any'}, leaf {leaf}, features {_features(features)}"
                    found[name] = ForestWeights(max_depth=depth, min_samples_leaf=leaf, max_features=features, **same)
    if only in (None, "knn"):
        found |= {f"knn, k {k}": KNNWeights(k=k) for k in NEIGHBOURS if k <= most}
    return found


def _features(features: str | float) -> str:
    return "all" if features == 1.0 else str(features)


@dataclass(frozen=True, eq=False)
class Tuning:
    """What was tried, what was chosen, and the evidence.

    Attributes
    ----------
    tried : Evaluation
        All candidates, on the same folds.
    judged : Evaluation
        What was chosen and the policy as it is, on folds that had no say in the choice where there are others.
    name : str
        What was chosen; :data:`AS_IT_IS` where nothing is clearly better.
    weights : Weights
        The weights that were chosen.
    afresh : bool
        Whether `judged` is about other folds than `tried`.
    before : Policy
        The policy that was tuned.
    offer : Offer or None
        A forecast that predicts clearly better than the weights that were chosen, with the policy that uses it.
    """

    tried: Evaluation
    judged: Evaluation
    name: str
    weights: Weights
    afresh: bool
    before: Policy
    offer: Offer | None = None

    @property
    def policy(self) -> Policy:
        """A policy with the weights that were chosen, to be fitted; that which was given stays as it is."""
        return _with(self.before, clone(self.weights))

    def __str__(self) -> str:
        return "\n".join([*self.evidence, *([] if self.offer is None else [self.offer.sentence])])

    @property
    def changed(self) -> bool:
        """Whether other weights than those of the policy were chosen."""
        return self.name != AS_IT_IS

    @property
    def evidence(self) -> list[str]:
        """What speaks for the choice, a line each."""
        table, unit = self.judged.totals, self.judged.cost_unit
        count = sum(name in self.tried.policies for name in self.tried.costs.columns)
        written = {name: with_unit(plain(cost, 4), unit) for name, cost in table.items()}
        rows = f"{len(self.judged.costs):,} rows not seen"
        which = "in folds that had no say in the choice" if self.afresh else "in the folds that chose"
        risk = self.judged.risk.name
        if not self.changed:
            best = self.tried.best
            return [
                f"None of {count} settings is clearly better: {risk} {written[AS_IT_IS]} as it is, "
                f"{written.get(best, written[AS_IT_IS])} for the best, on {rows} {which}."
            ]
        saved = share(1.0 - table[self.name] / table[AS_IT_IS]) if table[AS_IT_IS] > 0 else ""
        return [
            f"{self.name}: the simplest of {count} settings within a standard error of the best.",
            f"{risk[:1].upper()}{risk[1:]} {written[self.name]} against {written[AS_IT_IS]} before"
            + (f", {saved} less," if saved else ",")
            + f" on {rows} {which}.",
            f"Sample average {written[AVERAGE]}, foresight {written[FORESIGHT]}.",
        ]


def tune(
    policy: Policy,
    X: Any,
    Y: Any,
    *,
    cv: Any = 5,
    only: str | None = None,
    simplest: bool = True,
    most_rows: int | None = None,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    on_progress: Callable[[int, int], Any] | None = None,
    sample_weight: Any = None,
) -> Tuning:
    """Try forests and numbers of neighbours, and choose the simplest that is as good as the best.

    The policy stays as it is unless what was chosen costs clearly less, by more than twice the standard error over the
    held-out rows. Where `cv` is a number, that is judged in other folds than those that have chosen.

    Parameters
    ----------
    policy : Policy
        What to start from; its problem, risk and schema stay as they are.
    X, Y, cv, most_rows, time_limit, n_jobs, on_progress, sample_weight
        As for :func:`whence.evaluate`.
    only : {"forest", "knn"}, optional
        Try one kind of weights alone.
    simplest : bool
        Among the settings within a standard error of the best, take that of the shallowest trees, on which
        explanations are quickest; otherwise the best itself.

    Returns
    -------
    Tuning
        What was chosen (`name`, `weights`, and a policy to fit, `policy`), whether that is a change (`changed`), the
        evidence in a few lines (``print``), and the evaluations behind it (`tried`, `judged`).

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((120, 2))
    >>> Y = 10 + 20 * X[:, :1] + rng.random((120, 1))
    >>> found = wh.tune(wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(k=60)), X, Y, cv=3, only="knn")
    >>> found.name, found.policy.fit(X, Y).weights_.k
    ('knn, k 3', 3)
    """
    _check_policy(policy)
    began = time.monotonic()
    X, Y = as_pandas(X), as_pandas(Y)
    one_of("forest", "knn", None).check("only", only)
    POSITIVE.or_none().check("time_limit", time_limit)
    FLAG.check("simplest", simplest)
    weights = candidates(policy, *as_table(X, "X").shape, only)
    tried_policies = {AS_IT_IS: policy, **{name: _with(policy, found) for name, found in weights.items()}}
    limit = None if time_limit is None else 0.8 * time_limit
    same = partial(evaluate, X=X, Y=Y, against=[], most_rows=most_rows, n_jobs=n_jobs, sample_weight=sample_weight)
    tried = same(tried_policies, cv=cv, time_limit=limit, on_progress=on_progress)
    chosen = _simplest(tried, weights) if simplest else tried.best
    afresh = isinstance(cv, int | np.integer)
    last = tried
    if afresh:
        again = KFold(int(cv), shuffle=True, random_state=1)
        rivals = {name: tried_policies[name] for name in dict.fromkeys((AS_IT_IS, chosen, tried.best))}
        limit = None if time_limit is None else 0.2 * time_limit
        last = same(rivals, cv=again, against=[PER_CATEGORY], time_limit=limit)
    if chosen == AS_IT_IS or last.compared(chosen, AS_IT_IS) != "better":
        chosen, weights = AS_IT_IS, {AS_IT_IS: policy.weights or ForestWeights()}
    offer = None
    if only is None and most_rows is None:
        table = as_table(X, "X")
        outcomes, _ = as_outcomes(Y, len(table))
        folds = [(fold.train, fold.test) for fold in folds_of(cv, table, outcomes)]
        deadline = None if time_limit is None else began + float(time_limit)
        offer = offered(tried_policies[chosen], table, outcomes, folds, None, deadline, sample_weight)
    return Tuning(tried, last, chosen, weights[chosen], afresh, policy, offer)


def _check_policy(policy: Any) -> None:
    if not isinstance(policy, Policy):
        raise InputTypeError(f"'policy' must be a Policy. Got {type(policy).__name__} instead.")


def _with(policy: Policy, weights: Weights) -> Policy:
    changed: Policy = clone(policy)
    changed.weights = weights
    return changed


def _simplest(tried: Evaluation, weights: Mapping[str, Weights]) -> str:
    """Return the settings of the same kind as the best, and as good, on which explanations are quickest."""
    best = tried.best
    if best == AS_IT_IS:
        return best
    kind = type(weights[best])
    as_good = [name for name in weights if isinstance(weights[name], kind) and _as_good(tried, name, best)]
    return min(as_good, key=lambda name: (*_effort(weights[name]), tried.totals[name]))


def _as_good(tried: Evaluation, name: str, best: str) -> bool:
    difference, error = tried.difference(name, best)
    return name == best or difference <= AS_GOOD * error


def _effort(weights: Weights) -> tuple[float, ...]:
    """Return what makes explanations slow: deep trees with small leaves; neighbours, the more of them the slower."""
    if isinstance(weights, KNNWeights):
        return (float(weights.k),)
    assert isinstance(weights, ForestWeights)
    return (np.inf if weights.max_depth is None else float(weights.max_depth), -float(weights.min_samples_leaf))
