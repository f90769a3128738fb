"""Small forest questions as the core sees them, and what looking at every cell says about them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.asking import varied
from tests.cases import Case, OneOf, contexts, schema
from tests.forests import paper_forest
from tests.oracle import risk_of_rows

from whence import CVaR, Expectation, Policy
from whence._core import Box, Criterion, OpenBox
from whence.search import forest_search as criteria
from whence.search.grid import grid_of, locate

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Mask = NDArray[np.bool_]

#: Features of the scenes: c number, r rounded number, d few integers, b binary, k category.
SHAPES = ["cc", "k", "cr", "dk", "ck", "rb", "kk", "cdb", "crk", "ccc"]


class ForestScene:
    """A question with a random forest, an alternative (plan 0) and some rivals (plans 1, 2, ...)."""

    def __init__(
        self,
        seed: int,
        shape: str | None = None,
        *,
        alpha: float | None = None,
        rivals: int = 1,
        trees: int = 4,
        depth: int = 3,
        tau: float = 1e-6,
        table: bool = True,
        plain: bool = False,
        n: int = 24,
        coarse: bool = False,
        never_cheaper: bool = False,
    ) -> None:
        rng = np.random.default_rng([seed, 23])
        shape = SHAPES[seed % len(SHAPES)] if shape is None else shape
        X = contexts(rng, n, shape)
        declared = schema(rng, X, shape, plain=plain)
        points = declared.fit(X).encode(X)
        Y = 2.0 * (points - points.mean(axis=0)) @ rng.normal(size=(points.shape[1], 1 + rivals))
        # The alternative is dearer on most days, or it would be best where the question begins.
        Y = (Y + rng.normal(size=Y.shape) + np.arange(1 + rivals)[::-1] * 0.3).round(2)
        if coarse:
            # Few different costs: where most days cost the least, the tail begins at the first of them.
            Y = np.clip(Y.round(), 0.0, 3.0)
        if never_cheaper:
            # The alternative stands only where it costs the same: there the strong bound is as good as it can be.
            Y[:, 0] = np.maximum(Y.max(axis=1), Y[:, 0])
        self.risk = Expectation() if alpha is None else CVaR(alpha)
        policy = Policy(OneOf(), paper_forest(trees, depth, random_state=seed), self.risk, declared).fit(X, Y)
        context = policy.schema_.row(contexts(rng, 1, shape).iloc[0])
        self.policy, self.tau, self.rivals = policy, tau, rivals
        self.question = Case(seed, policy, context, 1, 0).question()
        kept = grid_of(self.question)
        assert kept is not None
        self.kept, self.grid = kept, kept.grid
        self.located = locate(self.question, kept)
        question = self.question if table else varied(self.question, tail_table=0)
        self.criterion = criteria.criterion_of(question, kept)
        for rival in range(1, 1 + rivals):
            criteria.add_rival(self.criterion, question, kept, np.ascontiguousarray(Y[:, rival]))

    # ---- cells ---------------------------------------------------------------------------------------

    @cached_property
    def columns(self) -> list[Floats]:
        """Distance of every cell, column by column; infinite where it is not allowed."""
        start = self.kept.face_start
        edges = [int(start[j]) + j for j in range(len(start))]
        return [self.located.distance[a:b] for a, b in pairwise(edges)]

    @cached_property
    def cells(self) -> Ints:
        """All cells that the question allows: one category of each feature is on."""
        allowed = [np.flatnonzero(np.isfinite(column)) for column in self.columns]
        rows = np.stack(np.meshgrid(*allowed, indexing="ij"), axis=-1).reshape(-1, len(allowed))
        for g in np.unique(self.located.group[self.located.group >= 0]):
            rows = rows[(rows[:, self.located.group == g] > 0).sum(axis=1) == 1]
        assert 0 < len(rows) <= 20_000
        return np.ascontiguousarray(rows, dtype=np.int32)

    @cached_property
    def distance(self) -> Floats:
        """Distance of every cell from the start."""
        return np.asarray(self.located.distance[self.kept.places(self.cells)].sum(axis=1))

    @cached_property
    def leaves(self) -> Ints:
        """Leaf of every tree at every cell."""
        return np.array([self.grid.leaves_at(row) for row in self.cells])

    # ---- costs ---------------------------------------------------------------------------------------

    @cached_property
    def members(self) -> Floats:
        """Weight of every sample in every leaf, by one tree."""
        weights = np.zeros((self.grid.leaves, len(self.policy.Y_)))
        samples = self.kept.samples.ravel()
        for leaf, (first, size) in enumerate(zip(self.kept.first, self.kept.size, strict=True)):
            np.add.at(weights[leaf], samples[first : first + size], 1.0 / size)
        return weights

    @cached_property
    def weights(self) -> Floats:
        """Weights of the samples at every cell."""
        return np.asarray(self.members[self.leaves].mean(axis=1))

    @cached_property
    def excess(self) -> Floats:
        """By how much the alternative's risk exceeds each rival's, at every cell."""
        risks = [risk_of_rows(self.risk, costs, self.weights) for costs in self.policy.Y_.T]
        return np.column_stack([risks[0] - rival for rival in risks[1:]])

    @cached_property
    def holds(self) -> Mask:
        """Where the alternative stands against all rivals."""
        return np.asarray((self.excess <= self.tau).all(axis=1))

    @cached_property
    def optimum(self) -> float:
        """Distance of the nearest explanation; infinite for none."""
        return float(self.distance[self.holds].min(initial=np.inf))

    # ---- thresholds ------------------------------------------------------------------------------------

    def etas(self, plan: int) -> Floats:
        """The distinct costs of a plan: the thresholds of its CVaR."""
        return criteria.distinct(np.ascontiguousarray(self.policy.Y_[:, plan]))[0]

    def table(self, plan: int) -> Floats:
        """(eta + mean excess over eta / tail) / trees, by leaf and eta, from the definition."""
        assert isinstance(self.risk, CVaR)
        etas = self.etas(plan)
        over = np.maximum(self.policy.Y_[:, plan, None] - etas, 0.0)
        return np.asarray((etas + self.members @ over / (1.0 - self.risk.alpha)) / self.grid.trees)

    # ---- boxes -----------------------------------------------------------------------------------------

    def inside(self, box: Box) -> Mask:
        """Which cells lie in a box."""
        return np.asarray(((box.low <= self.cells) & (self.cells <= box.high)).all(axis=1))

    def box(self, rng: np.random.Generator, restrictions: int = 3) -> Box:
        """A random box that is not empty."""
        box = Box(self.located)
        for _ in range(restrictions):
            row = self.cells[rng.choice(np.flatnonzero(self.inside(box)))]
            j = int(rng.integers(len(row)))
            first = int(rng.integers(0, row[j] + 1))
            last = int(rng.integers(row[j], len(self.columns[j])))
            assert box.restrict(j, first, last)
        return box

    def bounded(self, criterion: Criterion, tau: float, holds: Mask, rng: np.random.Generator) -> NDArray[np.int64]:
        """Bound random boxes twice: none is given up that holds an explanation, and no leaf dropped that one has.

        Returns how many boxes were given up, how many leaves were dropped, and how many explanations there were.
        """
        seen = np.zeros(3, dtype=np.int64)
        for _ in range(12):
            box = self.box(rng, int(rng.integers(0, 5)))
            holding = self.inside(box) & holds
            open_ = OpenBox(box, criterion, tau)
            before = open_.leaves.size
            for _ in range(2):
                if not open_.bound(criterion, tau):
                    assert not holding.any()
                    seen[0] += 1
                    break
                assert np.isin(self.leaves[holding], open_.leaves).all()
                seen += (0, before - open_.leaves.size, int(holding.sum()))
        return seen


@cache
def forest_scene(seed: int, alpha: float | None = None, rivals: int = 1, tau: float = 1e-6, **how: Any) -> ForestScene:
    """A scene, made once: nothing that tests do to it changes it."""
    return ForestScene(seed, alpha=alpha, rivals=rivals, tau=tau, **how)


def scenes(count: int, *, tails: bool | None = None, **how: Any) -> Iterator[tuple[ForestScene, np.random.Generator]]:
    """Scenes of every shape with expected costs and tails (or only one of them), and random numbers for each."""
    for seed in range(count):
        tail = seed % 4 >= 2 if tails is None else tails
        alpha = (0.3, 0.5, 0.8)[seed % 3] if tail else None
        scene = forest_scene(seed, alpha, 1 + seed % 3, (1e-6, 0.3)[seed % 2], **how)
        yield scene, np.random.default_rng([seed, 29])
