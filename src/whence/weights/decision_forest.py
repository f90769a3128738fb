"""Weights of a forest whose splits are chosen for the cost of the decision."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from whence import _core
from whence.checks import FLAG, JOBS, Rule, one_of, whole
from whence.errors import InputError, InputTypeError, InternalError, parameter_error
from whence.models.tree_arrays import FittedTrees, Forecast, raw_tree
from whence.risk import Expectation, Risk
from whence.util.aliases import Floats
from whence.util.json import quoted
from whence.weights.base import Capabilities, as_mass, as_matrix
from whence.weights.trees import TreeWeights

#: Where there is no limit on the depth.
DEEPEST = 2**30

BOOL = Rule("a bool", FLAG.fits)


class DecisionForest(TreeWeights):
    """Weights of a forest that was grown for a decision problem, not for a forecast.

    A plain forest splits where outcomes differ most. This one splits where it pays to have two plans instead of one:
    at the split whose two sides cost least, each with its own best plan (Kallus and Mao, "Stochastic optimization
    forests", Management Science, 2023). Where every split leaves one plan best on both sides, the outcomes decide as
    in a plain forest. From there on it is a forest like any other: each tree gives equal weight to the past
    observations in the context's leaf.

    The cost of both sides is exact for the newsvendor without a budget and for routes without cycles under expected
    cost. For any other problem or risk it is that of the best among some plans: those that are best in random parts of
    the history, from all of it down to a few observations.

    Parameters
    ----------
    problem : DecisionProblem, optional
        What is decided; by default that of the policy that the forest belongs to.
    risk : Risk, optional
        What is minimised; by default the policy's, or the expected cost.
    n_trees : int
        Number of trees.
    max_depth : int or None
        Depth limit of the trees.
    min_samples_leaf : int
        Smallest number of past observations that a leaf has of those that a tree was grown on; in an honest forest,
        also of those that count.
    max_features : {"sqrt", "log2"}, int, float or None
        Features to look at for a split, or their share; None for all.
    random_state : int, RandomState or None
        Seed of the forest.
    n_jobs : int, optional
        Threads that grow trees, -1 for all cores. The forest is the same for any number.
    honest : bool
        Whether a tree is grown on a random half of the history, while the other half counts in its leaves; otherwise
        it is grown on a bootstrap sample, and all past observations count.
    plans : int
        About how many plans are tried, where the cost of both sides is not known exactly.
    missing : bool
        Whether numbers of a context may be missing (NaN): every split sends them to the side where they cost less.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((80, 3))
    >>> Y = 10 + 20 * X[:, :1] + rng.random((80, 1))
    >>> problem = wh.Newsvendor(holding=1, backorder=3)
    >>> policy = wh.Policy(problem, wh.DecisionForest(problem, n_trees=20, random_state=0)).fit(X, Y)
    >>> policy.explain([0.2, 0.5, 0.5], instead=[25.0]).status
    'optimal'
    """

    kind: ClassVar[str] = "decision forest"
    label: ClassVar[str] = "forest"

    #: The problem and the risk of the policy that the forest belongs to.
    policys: tuple[Any, Risk] | None = None

    def __init__(
        self,
        problem: Any = None,
        risk: Risk | None = None,
        n_trees: int = 100,
        max_depth: int | None = 4,
        min_samples_leaf: int = 5,
        max_features: str | int | float | None = "sqrt",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        honest: bool = False,
        plans: int = 100,
        missing: bool = False,
    ) -> None:
        self.problem = problem
        self.risk = risk
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.honest = honest
        self.plans = plans
        self.missing = missing

    def __sklearn_clone__(self) -> DecisionForest:
        copied = {name: clone(value, safe=False) for name, value in self.get_params(deep=False).items()}
        fresh = type(self)(**copied)
        fresh.policys = self.policys
        return fresh

    def take_problem(self, problem: Any, risk: Risk) -> None:
        self.policys = problem, risk

    def fit(self, X: ArrayLike, Y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the forest on contexts `X` (coordinates) and outcomes `Y`; rows count for their `sample_weight`."""
        began = time.perf_counter()
        inputs: NDArray[np.float32] = as_matrix(X, self.dtype, missing=self._takes_missing())
        outcomes = np.ascontiguousarray(Y, dtype=np.float64)
        outcomes = outcomes[:, None] if outcomes.ndim == 1 else outcomes
        self._check_parameters(*inputs.shape)
        problem, risk = self._asked()
        rng = self._random()
        mass = as_mass(sample_weight, len(inputs))
        grower = self._grower(inputs, outcomes, problem, risk, rng, mass)
        samples = [self._sample(len(inputs), rng, mass) for _ in range(self.n_trees)]
        seeds = rng.randint(2**31 - 1, size=self.n_trees).tolist()
        grown = Parallel(n_jobs=self.n_jobs, require="sharedmem")(
            delayed(grower.grow)(count, counted, seed) for (count, counted), seed in zip(samples, seeds, strict=True)
        )
        counted = np.array([judged for _, judged in samples]) if self.honest else None
        trees: list[Any] = [GrownTree(*arrays) for arrays in grown]
        self.record(trees, inputs, mass, counted)
        self.fit_seconds = time.perf_counter() - began
        return self

    def _grower(
        self,
        inputs: NDArray[np.float32],
        outcomes: Floats,
        problem: Any,
        risk: Risk,
        rng: np.random.RandomState,
        mass: Floats | None,
    ) -> _core.TreeGrower:
        exact = getattr(problem, "least_costs", None)
        least: _core.LeastCosts | None = None if exact is None else exact(outcomes, risk)
        if least is None:
            least = _core.PlanCosts(plan_values(problem, risk, _filled(inputs), outcomes, self.plans, rng, mass))
        depth = DEEPEST if self.max_depth is None else min(self.max_depth, DEEPEST)
        smallest = min(self.min_samples_leaf, len(inputs))
        tried = _features(self.max_features, inputs.shape[1])
        return _core.TreeGrower(inputs, least, outcomes, depth, smallest, tried, True, self._takes_missing())

    @property
    def capabilities(self) -> Capabilities:
        return replace(super().capabilities, takes_sample_weight=True, knows_missing=self._takes_missing())

    def _takes_missing(self) -> bool:
        BOOL.check_all("DecisionForest", self, "missing", kind=InputTypeError)
        return bool(self.missing)

    def _as_read(self) -> TreeWeights:
        from whence.models.fitted_forest import ReadForestWeights

        counted = self.members_.leaf_of() >= 0 if self.honest else None
        return ReadForestWeights.view(self, GrownTrees(self.trees, self.n_features_in_), self, counted)

    def state(self) -> Iterator[Any]:
        yield from super().state()
        if self._takes_missing():
            yield from (tree.missing_go_to_left for tree in self.trees)

    def _sample(
        self, n: int, rng: np.random.RandomState, mass: Floats | None
    ) -> tuple[Floats, NDArray[np.bool_] | None]:
        """Return how much each row is there to grow a tree, and which ones count in it where these are others."""
        # Rows that count for nothing are as good as not there.
        there = np.arange(n) if mass is None else np.flatnonzero(mass > 0.0)
        grows = np.zeros(n)
        if not self.honest:
            np.add.at(grows, there[rng.randint(there.size, size=there.size)], 1.0)
            return grows if mass is None else grows * mass, None
        half = rng.permutation(there)[: there.size // 2]
        grows[half] = 1.0 if mass is None else mass[half]
        counted = np.zeros(n, dtype=np.bool_)
        counted[there] = grows[there] == 0.0
        return grows, counted

    def _asked(self) -> tuple[Any, Risk]:
        """Return the problem and the risk, the policy's where the forest has none of its own."""
        problem, risk = self.policys or (None, None)
        problem = problem if self.problem is None else self.problem
        if not (hasattr(problem, "solve") and hasattr(problem, "costs")):
            raise parameter_error("DecisionForest", "problem", "be a DecisionProblem", repr(problem), InputTypeError)
        return problem, self.risk or risk or Expectation()

    def _check_parameters(self, rows: int, columns: int) -> None:
        whole(1).check_all("DecisionForest", self, "n_trees", "min_samples_leaf", "plans")
        whole(1).or_none().check_all("DecisionForest", self, "max_depth")
        if self.risk is not None and not isinstance(self.risk, Risk):
            raise parameter_error("DecisionForest", "risk", "be a Risk or None", repr(self.risk), InputTypeError)
        BOOL.check_all("DecisionForest", self, "honest", kind=InputTypeError)
        JOBS.or_none(", or None").check_all("DecisionForest", self, "n_jobs")
        if self.honest and rows < 2:
            raise InputError(f"'X' must have at least 2 rows for an honest forest. Got {rows} instead.")
        _features(self.max_features, columns)

    def _random(self) -> np.random.RandomState:
        try:
            found: np.random.RandomState = check_random_state(self.random_state)
        except ValueError:
            wanted = "be an int from 0 to 2**32 - 1, a RandomState or None"
            raise parameter_error("DecisionForest", "random_state", wanted, quoted(self.random_state)) from None
        return found

    def describe(self) -> str:
        depth = "of any depth" if self.max_depth is None else f"of depth up to {self.max_depth}"
        honest = "honest " if self.honest else ""
        return f"a decision-aware forest of {len(self.trees)} {honest}trees {depth}"

    def for_trial(self) -> Self:
        trial: Self = clone(self)
        trial.n_trees = trial.plans = 1
        return trial


def _filled(inputs: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return contexts with the mean of a column where it is missing: boxes of contexts are cut from these."""
    gone = np.isnan(inputs)
    if not gone.any():
        return inputs
    known = (~gone).sum(axis=0)
    means = np.where(gone, 0.0, inputs).sum(axis=0) / np.maximum(known, 1)
    return np.where(gone, means.astype(np.float32), inputs)


def _features(given: Any, columns: int) -> int:
    """Return how many features are looked at for a split, as scikit-learn's forests understand it."""
    if given is None:
        return columns
    if one_of("sqrt", "log2").fits(given):
        return max(1, int(np.sqrt(columns) if given == "sqrt" else np.log2(columns)))
    if whole(1).fits(given):
        return min(int(given), columns)
    if isinstance(given, float | np.floating) and 0.0 < given <= 1.0:
        return max(1, int(given * columns))
    wanted = "be 'sqrt', 'log2', an int >= 1, a float in (0, 1] or None"
    raise parameter_error("DecisionForest", "max_features", wanted, repr(given))


#: Of a tail, levels at which it may begin, as quantiles of what a plan costs.
LEVELS = 10
#: Numbers in the table of what the plans cost (8 bytes each); more rows have fewer plans.
MOST_NUMBERS = 50_000_000


def plan_values(
    problem: Any,
    risk: Risk,
    contexts: NDArray[Any],
    outcomes: Floats,
    plans: int,
    rng: np.random.RandomState,
    mass: Floats | None = None,
) -> Floats:
    """Return what every row counts for under each of about `plans` plans, of shape (rows, plans).

    Rows count alike for the plans, or for as much as their `mass`. The least risk of some rows is the smallest mean of
    a column over them: for a tail there is a column for each plan and each of some levels at which it may begin.
    """
    levels = 1 if risk.tail is None else LEVELS
    most = max(1, min(plans, MOST_NUMBERS // (levels * len(outcomes))))
    found: dict[bytes, Floats] = {}
    for rows in random_parts(contexts, most, rng):
        weights = np.zeros(len(outcomes))
        weights[rows] = 1.0 if mass is None else mass[rows]
        if not weights.any():
            continue
        weights /= weights.sum()
        costs = np.asarray(problem.costs(problem.solve(outcomes, weights, risk), outcomes), dtype=np.float64)
        values = risk.values(costs)
        if values is None:
            raise InputError(
                "'risk' must be a weighted mean of 'values', or of their worst share, for splits to be judged by it. "
                f"Got {type(risk).__name__} instead."
            )
        values = np.asarray(values, dtype=np.float64)
        found[values.tobytes()] = values
    table = np.column_stack(list(found.values()))
    if risk.tail is None:
        return np.ascontiguousarray(table)
    shares = (np.arange(LEVELS) + 0.5) / LEVELS
    begins = np.quantile(table, shares, axis=0)
    return np.ascontiguousarray(np.hstack([level + np.maximum(table - level, 0.0) / risk.tail for level in begins]))


def random_parts(contexts: NDArray[Any], count: int, rng: np.random.RandomState) -> Iterator[NDArray[np.int64]]:
    """Yield rows of random boxes of contexts, the first one all of them; sizes are even on a logarithmic scale."""
    n, columns = contexts.shape
    yield np.arange(n)
    for _ in range(count - 1):
        rows, wanted = np.arange(n), np.exp(rng.uniform(0.0, np.log(n)))
        for _ in range(columns + int(np.log2(n)) * 2):
            if rows.size <= wanted:
                break
            seen = contexts[rows, rng.randint(columns)]
            cut = seen[rng.randint(rows.size)]
            side = seen <= cut if rng.randint(2) else seen > cut
            if side.any():
                rows = rows[side]
        yield rows


Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GrownTree:
    """Arrays over the nodes, node 0 the root (see :class:`whence.weights.trees.Tree`).

    >>> ints = lambda *numbers: np.array(numbers, dtype=np.int64)
    >>> tree = GrownTree(ints(0, -1, -1), np.array([0.5, -2, -2]), ints(1, -1, -1), ints(2, -1, -1))
    >>> tree.apply(np.array([[0.5], [0.6]]))
    array([1, 2])
    """

    feature: Ints
    threshold: Floats
    children_left: Ints
    children_right: Ints
    #: Whether a missing value goes to the left: 1 or 0.
    missing_left: Ints | None = None

    @property
    def missing_go_to_left(self) -> Ints:
        """Return whether a missing value goes to the left, 0 where nothing may be missing."""
        return np.zeros(self.node_count, dtype=np.int64) if self.missing_left is None else self.missing_left

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return int(self.feature.size)

    def apply(self, X: NDArray[Any]) -> Ints:
        """Return the leaf of every row."""
        seen = np.ascontiguousarray(X, dtype=np.float32).astype(np.float64)
        found = np.empty(len(seen), dtype=np.int64)
        children = self.children_left, self.children_right
        _core.leaves(self.feature, self.threshold, *children, self.missing_go_to_left, seen, found)
        return found


class GrownTrees(FittedTrees):
    """Such trees as a library's: for contexts in which something is missing they are laid out anew."""

    single: ClassVar[bool] = True
    kind: ClassVar[str] = "decision-aware"

    def __init__(self, grown: Sequence[GrownTree], columns: int) -> None:
        self.model, self._grown, self.n_features = None, list(grown), columns
        self.categories = {}
        self.trees = [raw_tree(tree) for tree in grown]

    @classmethod
    def of(cls, fitted: Any) -> Self | None:
        return None

    def leaves(self, X: Floats) -> Ints:
        return np.column_stack([tree.apply(X) for tree in self._grown])

    def forecast(self, label: Any = None) -> Forecast:
        raise InternalError("Trees that are grown for a decision forecast nothing.")

    def predicted(self, X: Floats, label: Any = None) -> Floats:
        raise InternalError("Trees that are grown for a decision forecast nothing.")
