"""The face at which a box is split."""

from __future__ import annotations

import numpy as np
from tests.core.forest_scene import Scene, scenes, tree_of_leaves

from whence import _core
from whence.search.grid import leaf_means


def bounded_boxes(seed: int, count: int, first: int) -> list[tuple[Scene, _core.OpenBox]]:
    """Boxes whose bound left them open, of both risks."""
    rng = np.random.default_rng(seed)
    found = []
    for scene in scenes(count, first):
        for box in scene.random_boxes(rng, 5):
            open_ = _core.OpenBox(box, scene.criterion, scene.tau)
            if not open_.holds and open_.bound(scene.criterion, scene.tau):
                found.append((scene, open_))
    return found


def test_the_pulling_face_separates_the_projection_from_a_better_leaf() -> None:
    """The face lies in the box, between the projection and the best leaf of a tree that gains."""
    some = 0
    for scene, open_ in bounded_boxes(1, 60, 0):
        face = _core.Faces(scene.located).pulling(open_)
        gaining = [leaf for leaf, gain in zip(open_.best.tolist(), open_.gains.tolist(), strict=True) if gain > 0]
        cells = open_.cells
        wanted = {
            (j, low - 1 if cells[j] < low else high)
            for leaf in gaining
            for j, low, high in scene.grid.path(leaf).tolist()
            if not low <= cells[j] <= high
        }
        assert (face is None) == (not wanted)
        if face is not None:
            some += 1
            assert face in wanted
            assert open_.box.low[face[0]] <= face[1] < open_.box.high[face[0]]
    assert some >= 40


def test_the_pulling_face_has_the_highest_score() -> None:
    """Gain times extra distance, summed over the trees that a face keeps from their best leaf, is highest there."""
    for scene, open_ in bounded_boxes(2, 60, 100):
        face = _core.Faces(scene.located).pulling(open_)
        if face is None:
            continue
        score: dict[tuple[int, int], float] = {}
        distance = scene.located.distance
        for leaf, gain in zip(open_.best.tolist(), open_.gains.tolist(), strict=True):
            for j, low, high in scene.grid.path(leaf).tolist() if gain > 0 else []:
                cell, base = int(open_.cells[j]), int(scene.kept.face_start[j]) + j
                if low <= cell <= high:
                    continue
                between = [c for c in scene.allowed[j] if low <= c <= high]
                target = between[0] if cell < low else between[-1]
                extra = max(0.0, distance[base + target] - distance[base + cell])
                at = (j, low - 1 if cell < low else high)
                score[at] = score.get(at, 0.0) + gain * (extra + 1e-4)
        assert score[face] >= max(score.values()) * (1 - 1e-12)


def test_the_face_around_bounds_the_region_of_the_projection() -> None:
    """One side of the face holds all cells of the box with the same leaves; None where the whole box has them."""
    inner = 0
    for scene, open_ in bounded_boxes(3, 40, 200):
        face = _core.Faces(scene.located).around(open_)
        inside = scene.inside(open_.box)
        same = inside & (scene.leaves == open_.here).all(axis=1)
        if face is None:
            assert (same == inside).all()
            continue
        inner += 1
        j, cut = face
        assert open_.box.low[j] <= cut < open_.box.high[j]
        sides = scene.cells[same][:, j] <= cut
        assert sides.all() or not sides.any()
    assert inner >= 40


def test_the_sharpest_face_lifts_both_halves_most() -> None:
    """Without a cutoff, no face scores higher when the least values of both halves are computed for every face."""
    found = 0
    for scene, open_ in bounded_boxes(4, 60, 300):
        if isinstance(scene.criterion, _core.TailCriterion):
            continue
        values = leaf_means(scene.kept, scene.question.claim.alternative - scene.rivals[open_.worst])
        face = _core.Faces(scene.located).sharpest(open_, scene.criterion)
        leaves, trees = open_.reach.leaves, tree_of_leaves(scene)
        paths = [{j: (low, high) for j, low, high in scene.grid.path(int(leaf)).tolist()} for leaf in leaves]
        chosen = values[open_.best]
        score = {}
        for j in range(scene.grid.columns):
            for cut in range(int(open_.box.low[j]), int(open_.box.high[j])):
                lifts = []
                for half in ((0, cut), (cut + 1, np.inf)):
                    meets = [j not in path or (path[j][0] <= half[1] and path[j][1] >= half[0]) for path in paths]
                    lift = 0.0
                    for t in range(scene.grid.trees):
                        left = values[leaves[np.array(meets) & (trees[leaves] == t)]]
                        lift += (left.min() if left.size else np.inf) - chosen[t]
                    lifts.append(lift)
                score[j, cut] = float(np.prod([max(1e-3, min(1.0, lift / open_.slack)) for lift in lifts]))
        best = max(score.values(), default=1e-6)
        assert (face is None) == (best <= 1e-6)
        if face is not None:
            found += 1
            assert score[face] >= best * (1.0 - 1e-6)
    assert found >= 30
