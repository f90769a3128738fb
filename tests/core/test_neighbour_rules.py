"""Rules between the axes of a neighbour question: which contexts can exist, and what is left of boxes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.blocks import seeds

from whence._core import Axis, AxisKind, NeighbourProgress, NeighbourSearch, Rules

Nodes = list[list[float]]


def random_tree(rng: np.random.Generator, nodes: Nodes, depth: int) -> int:
    """A random tree over two numbers and a category of four; the place of its root."""
    here = len(nodes)
    nodes.append([-1.0, 0.0, 0.0, 0.0, 0.0, float(rng.random() < 0.5)])
    if depth > 0 and rng.random() < 0.8:
        axis = int(rng.integers(3))
        value = float(rng.integers(4)) if axis == 2 else float(rng.integers(0, 9) / 8)
        left, right = (random_tree(rng, nodes, depth - 1) for _ in range(2))
        nodes[here] = [float(axis), float(axis == 2), value, float(left), float(right), 0.0]
    return here


def exists(nodes: Nodes, roots: list[int], rows: np.ndarray, limits: np.ndarray, context: np.ndarray) -> bool:
    """The same by walking down every tree."""
    for at in roots:
        while nodes[at][0] >= 0:
            axis, category, value, left, right, _ = nodes[at]
            x = context[int(axis)]
            at = int(left) if (x != value if category else x <= value) else int(right)
        if nodes[at][5]:
            return False
    return bool((rows @ context <= limits + 1e-10).all())


@pytest.mark.parametrize("seed", seeds(10, 40))
def test_the_search_finds_the_nearest_context_that_can_exist(seed: int) -> None:
    """Axes with levels, so that every context can be looked at: the nearest one with the right neighbours."""
    rng = np.random.default_rng([seed, 18])
    levels = np.arange(9) / 8
    axes = [Axis(AxisKind.DISCRETE, float(rng.choice(levels)), 1.0, 0.0, 1.0, levels=levels) for _ in range(2)]
    costs = np.array([0.0, 0.3, 0.4, 1.0])
    axes.append(Axis(AxisKind.CATEGORY, 0.0, 1.0, 0.0, 3.0, costs=costs))
    nodes: Nodes = []
    roots = [random_tree(rng, nodes, 3) for _ in range(2)]
    rows, limits = np.array([[1.0, -1.0, 0.0]]), np.array([0.1])
    n, k = 8, 2
    points = np.column_stack([rng.random((n, 2)), rng.integers(0, 4, n)]).astype(float)
    alternative, rival = rng.random(n), rng.random(n)
    rules = Rules(np.array(nodes), np.array(roots), rows, limits)
    search = NeighbourSearch(axes, points, np.zeros(n), k, 1e-6, 1e-6 + 2e-9, alternative, 1e-9, rules=rules)
    search.cut(rival)
    best = np.inf
    for x in levels:
        for y in levels:
            for c in range(4):
                context = np.array([x, y, float(c)])
                far = np.abs(points[:, :2] - context[:2]).sum(axis=1) + (points[:, 2] != c)
                order = np.argsort(far)
                if far[order[k]] - far[order[k - 1]] < 1e-6 or not exists(nodes, roots, rows, limits, context):
                    continue
                if (alternative - rival)[order[:k]].mean() <= 1e-9:
                    best = min(best, abs(x - axes[0].start) + abs(y - axes[1].start) + costs[c])
    progress = search.advance(100_000, 10.0)
    if np.isinf(best):
        assert progress is NeighbourProgress.EXHAUSTED
    else:
        assert progress is NeighbourProgress.CANDIDATE
        at = search.candidate
        assert exists(nodes, roots, rows, limits, at)
        found = abs(at[0] - axes[0].start) + abs(at[1] - axes[1].start) + costs[int(at[2])]
        assert found == pytest.approx(best, abs=1e-9)


def test_numbers_that_move_freely_keep_every_tree() -> None:
    """No context of a fine grid that can exist is nearer than the one that is found, and that one can exist."""
    answers = set()
    line = np.concatenate([np.arange(65) / 64, np.nextafter(np.arange(8) / 8, 2.0)])
    grid = np.stack(np.meshgrid(line, line, np.arange(4.0), indexing="ij"), axis=-1).reshape(-1, 3)
    for seed in (92, *range(30)):
        rng = np.random.default_rng([seed, 19])
        axes = [Axis(AxisKind.CONTINUOUS, float(rng.random()), 1.0, 0.0, 1.0) for _ in range(2)]
        costs = np.array([0.0, 0.3, 0.4, 1.0])
        axes.append(Axis(AxisKind.CATEGORY, 0.0, 1.0, 0.0, 3.0, costs=costs))
        nodes: Nodes = []
        roots = [random_tree(rng, nodes, 3) for _ in range(2)]
        rows, limits, n, k = np.array([[1.0, -1.0, 0.0]]), np.array([0.1]), 8, 2
        points = np.column_stack([rng.random((n, 2)), rng.integers(0, 4, n)]).astype(float)
        gain = rng.random(n) - rng.random(n)
        rules = Rules(np.array(nodes), np.array(roots), rows, limits)
        search = NeighbourSearch(axes, points, np.zeros(n), k, 1e-6, 1e-6 + 2e-9, gain, 1e-9, rules=rules)
        search.cut(np.zeros(n))
        far = np.abs(points[:, None, :2] - grid[None, :, :2]).sum(axis=2) + (points[:, None, 2] != grid[None, :, 2])
        order = np.argsort(far, axis=0)
        apart = np.diff(np.take_along_axis(far, order[k - 1 : k + 1], axis=0), axis=0)[0]
        good = (apart >= 1e-6) & (gain[order[:k]].mean(axis=0) <= 0.0)
        away = np.abs(grid[:, 0] - axes[0].start) + np.abs(grid[:, 1] - axes[1].start) + costs[grid[:, 2].astype(int)]
        near = (i for i in np.argsort(away) if good[i] and exists(nodes, roots, rows, limits, grid[i]))
        best = next((float(away[i]) for i in near), np.inf)
        progress = search.advance(100_000, 10.0)
        answers.add(progress)
        if progress is not NeighbourProgress.CANDIDATE:
            assert np.isinf(best), seed
            continue
        at = search.candidate
        assert exists(nodes, roots, rows, limits, at), seed
        assert abs(at[0] - axes[0].start) + abs(at[1] - axes[1].start) + costs[int(at[2])] <= best + 1e-6, seed
    assert len(answers) == 2


@pytest.mark.parametrize(
    ("nodes", "roots", "says"),
    [
        ([[0.0, 0.0, 0.5, 0.0, 1.0, 0.0], [-1.0, 0, 0, 0, 0, 0]], [0], "behind their parent"),
        ([[-1.0, 0, 0, 0, 0, 0]], [1], "'roots' must be nodes"),
    ],
)
def test_broken_trees_are_refused(nodes: Nodes, roots: list[int], says: str) -> None:
    """Children that lead back, and roots that are none."""
    with pytest.raises(ValueError, match=says):
        Rules(np.array(nodes), np.array(roots), np.zeros((0, 1)), np.zeros(0))
