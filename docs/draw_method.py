"""Draws the figures of docs/method.md from small real policies.

    python docs/draw_method.py

The pictures go to ``docs/images/method-*.svg``. What is coloured is asked of the fitted policies, and every answer of
the search is marked where `policy.explain` finds it; the boxes of the second figure are those of a search in plain
Python that follows the page.
"""

from __future__ import annotations

import heapq
import itertools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon, Rectangle
from numpy.typing import NDArray

import whence as wh
from whence.report.html import ALTERNATIVE, DECISION

IMAGES = Path(__file__).parent / "images"
INK, SOFT = "#1c2126", "#5b6670"
BLUE, LIGHT, DARK = f"{DECISION}2e", "#d9670f38", "#d9670fb0"
Floats = NDArray[np.float64]


# ---- a small question in two features ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scene:
    """A policy on two features from 0 to 1, a context, and the plan proposed instead."""

    policy: wh.Policy
    start: Floats
    plan: list[float]

    @property
    def trees(self) -> list[Any]:
        """The trees, in the coordinates that they see."""
        return list(self.policy.weights_.trees)

    def explain(self, kind: str) -> wh.Explanation:
        """The nearest context of that kind."""
        return self.policy.explain(self.start, instead=self.plan, kind=kind)  # type: ignore[arg-type]

    def difference(self) -> Floats:
        """Cost of the plan minus cost of the decision, under each past observation."""
        policy = self.policy
        decision = policy.decide(self.start)
        return np.asarray(policy.problem.costs(self.plan, policy.Y_) - policy.problem.costs(decision, policy.Y_))


def scene(weights: Any, n: int, seed: int, start: tuple[float, float], like: tuple[float, float]) -> Scene:
    """Demand that grows with both features, and unevenly; instead, what is best in the context `like`."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    X[:2] = [[0.0, 0.0], [1.0, 1.0]]
    Y = 10 + 14 * X[:, :1] * (0.4 + X[:, 1:]) + 5 * np.sin(5 * X[:, 1:]) + rng.normal(0, 0.6, (n, 1))
    policy = wh.Policy(wh.Newsvendor(holding=1.0, backorder=1.0), weights).fit(X, Y)
    return Scene(policy, np.array(start), [float(policy.decide(like)[0])])


def verdict(scene: Scene, point: Floats) -> int:
    """0 where the decision is cheaper, 1 where the plan is, 2 where no plan is better than that plan."""
    policy = scene.policy
    weights = policy.weights_at(point)
    if weights @ scene.difference() > 0:
        return 0
    best = policy.problem.solve(policy.Y_, weights, policy.risk_)
    regret = weights @ (policy.problem.costs(scene.plan, policy.Y_) - policy.problem.costs(best, policy.Y_))
    return 2 if regret <= 1e-6 else 1


# ---- drawing -------------------------------------------------------------------------------------------------------


def canvas(title: str) -> tuple[Any, Any]:
    """A square of the context plane."""
    figure, ax = plt.subplots(figsize=(5.6, 5.9), layout="constrained")
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="feature 1 (scaled)", ylabel="feature 2 (scaled)")
    ax.set_title(title, loc="left", fontsize=11, color=INK)
    return figure, ax


def ball(ax: Any, centre: Floats, radius: float, **look: Any) -> None:
    """All points within `radius` in the sum of absolute differences: a square on its tip."""
    corners = centre + radius * np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])
    ax.add_patch(Polygon(corners, closed=True, fill=False, edgecolor=INK, zorder=5, **look))


def mark(ax: Any, scene: Scene, kinds: tuple[str, ...] = ("relative", "absolute")) -> None:
    """The initial context, the nearest explanations, and the ball that has grown as far as each of them."""
    ax.plot(*scene.start, "o", markersize=9, markerfacecolor="white", markeredgecolor=INK, markeredgewidth=2, zorder=7)
    for kind in kinds:
        why = scene.explain(kind)
        assert why.status == "optimal"
        found = scene.policy.schema_.encode_row(why.context)
        ball(ax, scene.start, why.distance, linewidth=1.4, linestyle="-" if kind == "relative" else "--")
        ax.plot(
            *found, "*" if kind == "relative" else "D", markersize=13 if kind == "relative" else 8, color=INK, zorder=7
        )


def legend(figure: Any, handles: list[Any]) -> None:
    """Below the picture, in two columns."""
    look = {"frameon": False, "fontsize": 9, "labelcolor": INK, "handlelength": 1.6}
    figure.legend(handles=handles, loc="outside lower center", ncols=2, **look)


def dot(marker: str, label: str, **look: Any) -> Line2D:
    """A mark for the legend."""
    style = {"color": INK, "markersize": 9, **look}
    return Line2D([], [], linestyle="none", marker=marker, label=label, **style)


START = {"markerfacecolor": "white", "markeredgewidth": 2}
REGIONS = [
    Patch(facecolor=BLUE, label="the decision is cheaper"),
    Patch(facecolor=LIGHT, label="z' costs no more than the decision"),
    Patch(facecolor=DARK, label="z' is the best plan"),
]
MARKS = [
    dot("o", "initial context x₀", **START),
    dot("*", "nearest relative explanation", markersize=12),
    dot("D", "nearest absolute explanation", markersize=7),
]


def save(figure: Any, name: str) -> None:
    """Write one picture; the same input gives the same file."""
    path = IMAGES / f"{name}.svg"
    rough = path.with_suffix(".part")
    figure.savefig(rough, format="svg", metadata={"Date": None})
    # matplotlib leaves blanks at the ends of lines.
    rough.write_text("\n".join(line.rstrip() for line in rough.read_text("utf-8").splitlines()) + "\n", "utf-8")
    os.replace(rough, path)
    plt.close(figure)
    print(f"written: {path.name}")


# ---- cells of a forest ---------------------------------------------------------------------------------------------


def cuts(scene: Scene) -> list[Floats]:
    """The thresholds of all trees along either feature, with both ends."""
    found: list[list[float]] = [[], []]
    for tree in scene.trees:
        for feature, threshold in zip(tree.feature, tree.threshold, strict=True):
            if feature >= 0:
                found[feature].append(float(threshold))
    return [np.array([0.0, *sorted(set(side)), 1.0]) for side in found]


def forest_cells(scene: Scene) -> None:
    """The cells, who wins in each, and the ball that grows until it touches."""
    figure, ax = canvas("A forest cuts the plane into cells")
    xs, ys = cuts(scene)
    colours = {0: BLUE, 1: LIGHT, 2: DARK}
    for low, high in itertools.pairwise(ys):
        sides = list(itertools.pairwise(xs))
        won = [verdict(scene, np.array([(left + right) / 2, (low + high) / 2])) for left, right in sides]
        for same, run in itertools.groupby(zip(won, sides, strict=True), key=lambda cell: cell[0]):
            row = [side for _, side in run]
            width = row[-1][1] - row[0][0]
            ax.add_patch(Rectangle((row[0][0], low), width, high - low, facecolor=colours[same], edgecolor="none"))
    for x in xs[1:-1]:
        ax.axvline(x, color="white", linewidth=0.8)
    for y in ys[1:-1]:
        ax.axhline(y, color="white", linewidth=0.8)
    mark(ax, scene)
    legend(
        figure,
        [
            *REGIONS,
            *MARKS,
        ],
    )
    save(figure, "method-cells")


# ---- boxes of the search -------------------------------------------------------------------------------------------


Box = tuple[float, float, float, float]  # left and low, which do not belong to it, and right and high, which do
JUST_ABOVE = 1e-6


def reachable(tree: Any, box: Box, values: Floats, node: int = 0) -> float:
    """Smallest value of a leaf that some point of the box falls into."""
    if tree.children_left[node] < 0:
        return float(values[node])
    feature, threshold = tree.feature[node], tree.threshold[node]
    best = np.inf
    if box[feature] < threshold:
        best = reachable(tree, box, values, tree.children_left[node])
    if box[feature + 2] > threshold:
        best = min(best, reachable(tree, box, values, tree.children_right[node]))
    return best


def leaf_values(scene: Scene) -> list[Floats]:
    """For every tree, the mean over a leaf's observations of the difference in cost, divided by the number of trees."""
    difference, inputs = scene.difference(), scene.policy.schema_.encode(scene.policy.X_).astype(np.float32)
    found = []
    for tree in scene.trees:
        leaf = tree.apply(inputs)
        sums = np.bincount(leaf, difference, minlength=tree.node_count)
        counts = np.maximum(1, np.bincount(leaf, minlength=tree.node_count))
        found.append(sums / counts / len(scene.trees))
    return found


def nearest(box: Box, start: Floats) -> Floats:
    """The point of a box nearest to the start."""
    return np.clip(start, np.array(box[:2]) + JUST_ABOVE, box[2:])


def searched(scene: Scene) -> tuple[list[tuple[Box, str]], list[Box]]:
    """Boxes in the order in which they were taken from the queue, with what became of them; and those left in it."""
    values, edges = leaf_values(scene), cuts(scene)
    taken: list[tuple[Box, str]] = []
    whole: Box = (-JUST_ABOVE, -JUST_ABOVE, 1.0, 1.0)
    queue: list[tuple[float, int, Box]] = [(0.0, 0, whole)]
    count = itertools.count(1)
    while queue:
        _, _, box = heapq.heappop(queue)
        bound = sum(reachable(tree, box, v) for tree, v in zip(scene.trees, values, strict=True))
        point = nearest(box, scene.start)
        here = sum(reachable(tree, (*(point - 1e-9), *point), v) for tree, v in zip(scene.trees, values, strict=True))
        if bound > 0:
            taken.append((box, "dropped"))
            continue
        if here <= 0:
            taken.append((box, "answer"))
            return taken, [left for _, _, left in queue]
        taken.append((box, "split"))
        for half in halves(box, edges):
            distance = float(np.abs(nearest(half, scene.start) - scene.start).sum())
            heapq.heappush(queue, (distance, next(count), half))
    return taken, []


def halves(box: Box, edges: list[Floats]) -> list[Box]:
    """A box cut at the middle threshold of the feature that has more of them inside."""
    inside = [side[(side > box[f]) & (side < box[f + 2])] for f, side in enumerate(edges)]
    feature = int(np.argmax([side.size for side in inside]))
    cut = float(inside[feature][inside[feature].size // 2])
    low, high = list(box), list(box)
    low[feature + 2] = high[feature] = cut
    return [tuple(low), tuple(high)]  # type: ignore[list-item]


def boxes(scene: Scene) -> None:
    """Boxes that were dropped, the one that holds the answer, and those that were never opened."""
    figure, ax = canvas("The search opens boxes, nearest first")
    taken, waiting = searched(scene)
    looks = {
        "dropped": {"facecolor": "#e9edf0", "edgecolor": "#9aa5ae", "hatch": "///"},
        "answer": {"facecolor": LIGHT, "edgecolor": ALTERNATIVE},
        "waiting": {"facecolor": BLUE, "edgecolor": DECISION},
    }
    mpl.rcParams["hatch.linewidth"] = 0.4
    ends = [(box, end) for box, end in taken if end != "split"]
    for number, (box, end) in enumerate([*ends, *((box, "waiting") for box in waiting)], start=1):
        left, low, right, high = box
        ax.add_patch(Rectangle((left, low), right - left, high - low, linewidth=1.0, **looks[end]))
        if end != "waiting" and min(right - left, high - low) > 0.03:
            ax.text(
                (left + right) / 2,
                (low + high) / 2,
                str(number),
                ha="center",
                va="center",
                fontsize=9,
                color=INK,
                bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
            )
    mark(ax, scene, ("relative",))
    legend(
        figure,
        [
            Patch(**looks["dropped"], label="dropped: no point in it would do"),
            Patch(**looks["answer"], label="its nearest point is the answer"),
            Patch(**looks["waiting"], label="waiting: no nearer than the answer"),
            dot("o", "initial context x₀", **START),
            dot("*", "nearest explanation", markersize=12),
        ],
    )
    save(figure, "method-boxes")
    print(f"boxes: {len(taken)} opened, {len(waiting)} left")


# ---- cells of nearest neighbours -----------------------------------------------------------------------------------


def neighbour_cells(scene: Scene, fine: int = 400) -> None:
    """The regions that share their nearest neighbours, and who wins in each."""
    figure, ax = canvas("Two nearest neighbours: cells between the past contexts")
    points = scene.policy.weights_.points_
    side = (np.arange(fine) + 0.5) / fine
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    distance = np.abs(grid[:, None, :] - points[None, :, :]).sum(axis=2)
    near = np.sort(np.argsort(distance, axis=1, kind="stable")[:, :2], axis=1)
    label = near[:, 0] * len(points) + near[:, 1]
    won = np.zeros(label.max() + 1, dtype=np.int64)
    for cell in np.unique(label):
        won[cell] = verdict(scene, grid[np.flatnonzero(label == cell)[0]])
    shade = [mpl.colors.to_rgba(colour) for colour in (BLUE, LIGHT, DARK)]
    picture = np.array(shade)[won[label]].reshape(fine, fine, 4)
    ax.imshow(picture, origin="lower", extent=(0, 1, 0, 1), interpolation="nearest")
    cell = label.reshape(fine, fine)
    border = np.zeros((fine, fine), dtype=bool)
    border[:, 1:] |= cell[:, 1:] != cell[:, :-1]
    border[1:, :] |= cell[1:, :] != cell[:-1, :]
    lines = np.zeros((fine, fine, 4))
    lines[border] = (1, 1, 1, 1)
    ax.imshow(lines, origin="lower", extent=(0, 1, 0, 1), interpolation="nearest")
    ax.plot(*points.T, ".", color=SOFT, markersize=6)
    mark(ax, scene)
    legend(
        figure,
        [
            *REGIONS,
            dot(".", "past context", color=SOFT),
            *MARKS,
        ],
    )
    save(figure, "method-neighbours")


def main() -> None:
    """Draw all of them."""
    mpl.use("Agg")
    mpl.rcParams.update(
        {"svg.fonttype": "none", "svg.hashsalt": "whence", "font.size": 10, "font.family": "sans-serif"}
    )
    IMAGES.mkdir(exist_ok=True)
    trees = wh.ForestWeights(n_trees=6, max_depth=3, max_features="sqrt", min_samples_leaf=1, random_state=2)
    forest = scene(trees, n=120, seed=2, start=(0.45, 0.40), like=(0.1, 0.1))
    forest_cells(forest)
    boxes(forest)
    neighbour_cells(scene(wh.KNNWeights(k=2), n=24, seed=3, start=(0.25, 0.70), like=(0.6, 0.4)))


if __name__ == "__main__":
    main()
