"""The cells of a question: distances, values, allowed cells, and leaves without any."""

from __future__ import annotations

import numpy as np
from tests.core.forest_scene import scenes


def test_distances_and_values_are_those_of_the_space() -> None:
    """The value of every cell lies in it and is allowed, and its distance is that of the space."""
    for scene in scenes(25):
        space = scene.question.space
        for point, distance in zip(scene.points, scene.distance, strict=True):
            assert space.contains(point) or np.array_equal(point, space.start)
            assert abs(space.distance(point) - distance) <= 1e-12


def test_no_allowed_point_is_nearer_than_its_cell_says() -> None:
    """Random allowed points are no nearer to the start than the cell that they fall into."""
    rng = np.random.default_rng(0)
    for scene in scenes(25, 100):
        space, inputs = scene.question.space, scene.question.inputs
        start = scene.kept.face_start
        for _ in range(30):
            point = rng.uniform(space.lower, space.upper)
            for j, levels in enumerate(space.levels):
                point[j] = point[j] if levels is None else rng.choice(levels)
            if (space.group >= 0).any() or not space.contains(point):
                continue
            for c, q in enumerate(inputs.coordinate):
                seen = np.float32(point[q] * inputs.scale[c] + inputs.offset[c])
                cell = int(np.searchsorted(scene.kept.cut[start[c] : start[c + 1]], seen))
                own = scene.located.distance[start[c] + c + cell]
                assert own <= space.weight[q] * abs(point[q] - space.start[q]) + 1e-12


def test_first_and_last_allowed_cells_and_the_start() -> None:
    """They follow from the distances; the start's own cell is 0 away."""
    for scene in scenes(25, 200):
        for j, allowed in enumerate(scene.allowed):
            assert (scene.located.first[j], scene.located.last[j]) == (allowed[0], allowed[-1])
            assert scene.located.start[j] in allowed
        assert scene.located.distance[scene.kept.places(scene.located.start)].sum() == 0.0
