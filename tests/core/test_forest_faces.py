"""Where a box is split, held against scores of all its faces."""

from __future__ import annotations

import numpy as np
import pytest
from tests.core.forest_cells import ForestScene, scenes

from whence._core import Box, Faces, OpenBox, TailCriterion

SCENES = 20


def _opened(scene: ForestScene, rng: np.random.Generator) -> tuple[Box, OpenBox] | None:
    """A bounded box; None where the bound left nothing of it."""
    box = scene.box(rng, int(rng.integers(0, 3)))
    open_ = OpenBox(box, scene.criterion, scene.tau)
    return (box, open_) if open_.bound(scene.criterion, scene.tau) else None


def _pull(scene: ForestScene, open_: OpenBox) -> dict[tuple[int, int], float]:
    """Of every face between the projection and a better leaf: what is gained beyond it, times the way."""
    scores: dict[tuple[int, int], float] = {}
    for leaf, gain in zip(open_.best.tolist(), open_.gains.tolist(), strict=True):
        for j, (low, high) in scene.spans(leaf).items():
            cell = int(open_.cells[j])
            if gain <= 0.0 or low <= cell <= high:
                continue
            allowed = np.flatnonzero(np.isfinite(scene.columns[j]))
            target = allowed[allowed >= low][0] if cell < low else allowed[allowed <= high][-1]
            way = max(0.0, float(scene.columns[j][target] - scene.columns[j][cell]))
            face = (j, low - 1 if cell < low else high)
            scores[face] = scores.get(face, 0.0) + gain * (way + 1e-4)
    return scores


def test_the_pulling_face_has_the_highest_score() -> None:
    """It separates the projection from better leaves, and no other one that does so gains more for its way."""
    chosen = 0
    for scene, rng in scenes(SCENES):
        faces = Faces(scene.located)
        for _ in range(12):
            if (opened := _opened(scene, rng)) is None:
                continue
            _, open_ = opened
            scores = _pull(scene, open_)
            face = faces.pulling(open_)
            assert (face is None) == (not scores)
            if face is not None:
                assert scores[face] == pytest.approx(max(scores.values()), abs=1e-12)
                chosen += 1
    assert chosen > 50


def test_a_face_around_the_projection_cuts_its_leaves_off() -> None:
    """It lies inside the box, with all cells that have the projection's leaves on one side; without one, all have."""
    found = 0
    for scene, rng in scenes(SCENES):
        faces = Faces(scene.located)
        for _ in range(12):
            box = scene.box(rng, int(rng.integers(0, 8)))
            open_ = OpenBox(box, scene.criterion, scene.tau)
            face = faces.around(open_)
            inside = scene.inside(box)
            same = inside & (scene.leaves == open_.here).all(axis=1)
            if face is None:
                assert np.array_equal(same, inside)
                continue
            j, cut = face
            assert box.low[j] <= cut < box.high[j]
            sides = scene.cells[same, j] <= cut
            assert sides.all() or not sides.any()
            spans = [scene.spans(leaf) for leaf in open_.here.tolist()]
            assert cut in {edge for span in spans if j in span for edge in (span[j][0] - 1, span[j][1])}
            found += 1
    assert found > 50


def _gains(scene: ForestScene, box: Box, open_: OpenBox, j: int, cut: int) -> tuple[float, float]:
    """By how much the bounds of both halves exceed that of the box, at most by what is left of it a tree."""
    level = 0
    if isinstance(scene.criterion, TailCriterion):
        here = scene.members[open_.here].mean(axis=0)
        above = here @ (scene.policy.Y_[:, 1 + open_.worst, None] > scene.etas(1 + open_.worst) + 1e-9)
        level = int(np.argmax(above <= 1.0 - scene.risk.alpha + 1e-12))  # type: ignore[union-attr]
    worth = scene.worth(open_.worst, open_.eta, level)
    gains = []
    for first, last in ((box.low[j], cut), (cut + 1, box.high[j])):
        total = 0.0
        for leaves, best in zip(scene.tree_of(open_.reach.leaves), open_.best.tolist(), strict=True):
            spans = [scene.spans(leaf).get(j, (0, 10**6)) for leaf in leaves.tolist()]
            met = [leaf for leaf, (a, b) in zip(leaves.tolist(), spans, strict=True) if a <= last and b >= first]
            low, high = scene.spans(best).get(j, (0, 10**6))
            if not (low <= last and high >= first):
                rise = min((float(worth[leaf]) for leaf in met), default=np.inf) - float(worth[best])
                total += min(rise, open_.slack)
        gains.append(total)
    return gains[0], gains[1]


def _moved(scene: ForestScene, open_: OpenBox, j: int, cut: int) -> tuple[float, float]:
    """How much farther than the projection each half is, along the column."""
    own = scene.columns[j][int(open_.cells[j])]
    halves = scene.columns[j][: cut + 1], scene.columns[j][cut + 1 :]
    before, after = (max(0.0, float(half.min() - own)) if np.isfinite(half).any() else 0.0 for half in halves)
    return (0.0, after) if open_.cells[j] <= cut else (before, 0.0)


def test_the_sharpest_face_settles_both_halves_most() -> None:
    """The product of the shares by which its halves are settled is the highest of all faces that lift a bound."""
    chosen = farther = 0
    for scene, rng in scenes(SCENES):
        faces = Faces(scene.located)
        for number in range(6):
            if (opened := _opened(scene, rng)) is None:
                continue
            box, open_ = opened
            room = np.inf if number % 2 else float(rng.choice([0.2, 1.0]))
            near = box.project()[0]
            scores, lifted = {}, {j for leaf in open_.best.tolist() for j in scene.spans(leaf)}
            for j in lifted:
                for cut in range(int(box.low[j]), int(box.high[j])):
                    gains, ways = _gains(scene, box, open_, j, cut), _moved(scene, open_, j, cut)
                    rises = (gain / open_.slack if open_.slack > 0.0 else 0.0 for gain in gains)
                    shares = (min(1.0, rise + way / room) for rise, way in zip(rises, ways, strict=True))
                    scores[j, cut] = float(np.prod([max(share, 1e-3) for share in shares]))
            face = faces.sharpest(open_, scene.criterion, near + room)
            best = max(scores.values(), default=0.0)
            if best > 1.001e-6:
                assert face is not None
                assert scores[face] == pytest.approx(best, rel=1e-6)
                chosen += 1
                farther += room < np.inf
            elif face is not None:
                assert scores[face] == pytest.approx(1e-6, rel=1e-2)
    assert chosen > 30
    assert farther > 10
