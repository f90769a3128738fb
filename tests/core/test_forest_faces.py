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


def test_the_sharpest_face_lifts_both_halves_most() -> None:
    """Its score, the smaller gain and a tenth of the larger one, is the highest of all faces inside the box."""
    chosen = 0
    for scene, rng in scenes(SCENES):
        faces = Faces(scene.located)
        for _ in range(6):
            if (opened := _opened(scene, rng)) is None:
                continue
            box, open_ = opened
            need = open_.slack
            scores = {}
            for j in range(len(scene.columns)):
                for cut in range(int(box.low[j]), int(box.high[j])):
                    gains = _gains(scene, box, open_, j, cut)
                    scores[j, cut] = min(*gains, need) + 0.1 * min(max(gains), need)
            face = faces.sharpest(open_, scene.criterion)
            best = max(scores.values(), default=0.0)
            assert (face is None) == (best <= 1e-8 * need)
            if face is not None:
                assert scores[face] == pytest.approx(best, abs=1e-7 * (need + 1.0))
                chosen += 1
    assert chosen > 30
