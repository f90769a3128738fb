"""Questions as the paper asks them: a decision in one context, and as the alternative what is best in another."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from paper.histories import PROBLEMS, History
from whence import ForestWeights, KNNWeights, Policy
from whence.errors import InputError, InputTypeError

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Instance:
    """One explanation problem.

    Attributes
    ----------
    policy : Policy
        Fitted.
    context : ndarray
        Where the policy decided.
    alternative : plan
        What the policy decides in `alternative_context`.
    alternative_context : ndarray
        Where the alternative comes from.
    """

    policy: Policy
    context: Floats
    alternative: Any
    alternative_context: Floats


@dataclass(frozen=True, eq=False)
class Study:
    """A history with a policy fitted to it, of which any number of questions can be asked.

    Attributes
    ----------
    history : History
        What was observed.
    policy : Policy
        Fitted to it.
    seed : int
        Of the history, the forest and the questions.
    """

    history: History
    policy: Policy
    seed: int

    def question(self, number: int = 0) -> Instance:
        """The question of that number: two new contexts, and the policy's plan in the second as the alternative."""
        context, other = self.history.next_contexts(np.random.default_rng([self.seed, 1, number]), 2)
        return Instance(self.policy, context, self.policy.decide(other), other)


def study(problem: str, n: int, seed: int, *, predictor: ForestWeights | KNNWeights, **sizes: Any) -> Study:
    """A history of one of the paper's experiments, and a policy fitted to it.

    Parameters
    ----------
    problem : {"newsvendor", "shipment", "shortest_path", "cvar_shortest_path"}
        Which experiment.
    n : int
        Observations in the history.
    seed : int
        Of the history, of the forest where it has no ``random_state`` of its own, and of the questions. The history
        depends on `problem`, `n`, `sizes` and `seed` alone, so that predictors can be compared on it.
    predictor : ForestWeights or KNNWeights
        Not fitted; a copy of it is.
    **sizes
        Parameters of the experiment: `products` and `most` of the newsvendor, `features` and `width` of the paths,
        `alpha` of the CVaR path.

    Examples
    --------
    >>> from whence import KNNWeights
    >>> of_grids = study("shortest_path", 50, seed=0, predictor=KNNWeights(k=5), width=3)
    >>> of_grids.history.Y.shape
    (50, 12)
    >>> [route[-1] for route in (of_grids.question(0).alternative, of_grids.question(1).alternative)]
    [(2, 2), (2, 2)]
    """
    if problem not in PROBLEMS:
        raise InputError(f"'problem' must be one of {', '.join(map(repr, PROBLEMS))}. Got {problem!r} instead.")
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 2:
        raise InputError(f"'n' must be an int of at least 2. Got {n!r} instead.")
    if not isinstance(predictor, ForestWeights | KNNWeights):
        raise InputTypeError(f"'predictor' must be a ForestWeights or KNNWeights. Got {predictor!r} instead.")
    known = [name for name in inspect.signature(PROBLEMS[problem]).parameters if name not in ("n", "rng")]
    for name in sizes:
        if name not in known:
            offered = ", ".join(map(repr, known)) or "none"
            raise InputError(f"A size of the experiment {problem!r} must be one of: {offered}. Got {name!r} instead.")
    history = PROBLEMS[problem](n, np.random.default_rng([seed, 0]), **sizes)
    weights = clone(predictor)
    if isinstance(weights, ForestWeights) and weights.random_state is None:
        weights.random_state = seed
    return Study(history, Policy(history.problem, weights, history.risk).fit(history.X, history.Y), seed)


def instance(problem: str, n: int, seed: int, *, predictor: ForestWeights | KNNWeights, **sizes: Any) -> Instance:
    """The first question of :func:`study` with the same arguments.

    Parameters
    ----------
    problem, n, seed, predictor, **sizes
        As in :func:`study`.

    Examples
    --------
    >>> from paper.forests import paper_forest
    >>> asked = instance("newsvendor", 50, seed=1, predictor=paper_forest(10, 3))
    >>> asked.policy.explain(asked.context, instead=asked.alternative).status
    'optimal'
    """
    return study(problem, n, seed, predictor=predictor, **sizes).question()
