"""Explanations found without proof: always explanations, and the nearest ones where that can be said."""

from __future__ import annotations

import numpy as np
import pytest
from tests.asking import varied
from tests.core.forest_cells import ForestScene, Ints, Mask, forest_scene, scenes

from whence._core import Proposals
from whence.search.grid import locate
from whence.search.proposals import nearest_first
from whence.settings import SearchSettings

SCENES = 20
MANY = 1_000_000


def _at(scene: ForestScene, cells: Ints) -> int:
    """Which of all cells these are."""
    (found,) = np.flatnonzero((scene.cells == cells).all(axis=1))
    return int(found)


def _one_feature_away(scene: ForestScene) -> Mask:
    """Cells that differ from the start in one feature: a number, or a category, which is several columns."""
    group = scene.located.group
    feature = np.where(group >= 0, -1 - group, np.arange(group.size))
    differs = scene.cells != scene.located.start
    return np.asarray(np.array([differs[:, feature == f].any(axis=1) for f in np.unique(feature)]).sum(axis=0) == 1)


def test_lines_find_the_nearest_change_of_one_feature() -> None:
    """What is found along the lines through the start is the nearest explanation that changes one feature."""
    found = 0
    for scene, _ in scenes(SCENES, plain=True):
        proposals = Proposals(scene.located, scene.criterion, scene.tau, MANY)
        proposals.try_lines()
        expected = float(scene.distance[scene.holds & _one_feature_away(scene)].min(initial=np.inf))
        assert proposals.found == pytest.approx(expected, abs=1e-12)
        if expected < np.inf:
            at = _at(scene, proposals.best)
            assert scene.holds[at]
            assert scene.distance[at] == pytest.approx(expected, abs=1e-12)
            found += 1
    assert found > 8


def test_only_what_is_nearer_than_the_cutoff_counts() -> None:
    """With the cutoff at the distance of the nearest change, lines find nothing; just beyond, they find it."""
    for scene, _ in scenes(SCENES, plain=True):
        expected = float(scene.distance[scene.holds & _one_feature_away(scene)].min(initial=np.inf))
        if expected == np.inf:
            continue
        proposals = Proposals(scene.located, scene.criterion, scene.tau, MANY)
        for cutoff, wanted in ((expected - 1e-9, expected - 1e-9), (expected + 1e-6, expected)):
            proposals.found = cutoff
            proposals.try_lines()
            assert proposals.found == pytest.approx(wanted, abs=1e-12)


def test_what_is_known_not_to_hold_is_not_looked_at() -> None:
    """Where nothing nearer than the nearest change of one feature holds, it is found with fewer looks, or as many."""
    fewer = 0
    for scene, _ in scenes(SCENES, plain=True):
        expected = float(scene.distance[scene.holds & _one_feature_away(scene)].min(initial=np.inf))
        if expected == np.inf:
            continue
        looks = []
        for none_nearer in (0.0, expected - 1e-12):
            proposals = Proposals(scene.located, scene.criterion, scene.tau, MANY)
            assert proposals.none_nearer == 0.0
            proposals.none_nearer = none_nearer
            proposals.try_lines()
            assert proposals.found == pytest.approx(expected, abs=1e-12)
            looks.append(MANY - proposals.looks)
        assert looks[1] <= looks[0]
        fewer += looks[1] < looks[0]
    assert fewer > 4


def test_pulling_back_leads_to_nearer_explanations() -> None:
    """From explanations that lie far, one is reached that stands and from which no single number can go back."""
    pulled_back = 0
    for scene, rng in scenes(SCENES):
        starts = np.flatnonzero(scene.holds)
        if not starts.size:
            continue
        for start in rng.choice(starts, 6):
            proposals = Proposals(scene.located, scene.criterion, scene.tau, MANY)
            proposals.pull_back(scene.cells[[start]], 1)
            at = _at(scene, proposals.best)
            assert scene.holds[at]
            assert scene.distance[at] == pytest.approx(proposals.found, abs=1e-12)
            assert proposals.found <= scene.distance[start] + 1e-12
            pulled_back += proposals.found < scene.distance[start] - 1e-9
            for j in np.flatnonzero((scene.located.group < 0) & (scene.cells[at] != scene.located.start)).tolist():
                back = scene.cells[at].copy()
                back[j] = scene.located.start[j]
                same = (scene.cells == back).all(axis=1)
                assert not scene.holds[same].any()
    assert pulled_back > 20


@pytest.mark.parametrize(
    "fine", [SearchSettings.exchange_passing, SearchSettings.exchange_long, SearchSettings.exchange_fine]
)
def test_exchanges_lead_nearer_than_pulling_back(fine: tuple[int, int]) -> None:
    """What is found stands, is never farther away than without exchanges, and sometimes nearer."""
    nearer = 0
    for scene, rng in scenes(SCENES):
        starts = np.flatnonzero(scene.holds)
        if not starts.size:
            continue
        for start in rng.choice(starts, 6):
            pulled, exchanged = (Proposals(scene.located, scene.criterion, scene.tau, MANY) for _ in range(2))
            pulled.pull_back(scene.cells[[start]], 1)
            exchanged.exchange(scene.cells[[start]], 1, *fine)
            at = _at(scene, exchanged.best)
            assert scene.holds[at]
            assert scene.distance[at] == pytest.approx(exchanged.found, abs=1e-12)
            assert exchanged.found <= pulled.found
            nearer += exchanged.found < pulled.found - 1e-9
    assert nearer > 5


def test_a_category_that_is_needed_stays() -> None:
    """Where the alternative stands in another category only, pulling back does not end in the initial one."""
    needed = 0
    for seed in range(16):
        scene = forest_scene(seed, None, 1, 1e-6, shape="ck", plain=True, depth=4)
        at_home = (scene.cells[:, scene.located.group >= 0] == scene.located.start[scene.located.group >= 0]).all(
            axis=1
        )
        for start in np.flatnonzero(scene.holds & ~at_home)[:20]:
            proposals = Proposals(scene.located, scene.criterion, scene.tau, MANY)
            proposals.pull_back(scene.cells[[start]], 1)
            at = _at(scene, proposals.best)
            assert scene.holds[at]
            needed += not at_home[at]
    assert needed > 10


def test_contexts_that_do_not_hold_are_not_pulled() -> None:
    """Where none of the contexts is an explanation, none is found."""
    for scene, _ in scenes(SCENES):
        proposals = Proposals(scene.located, scene.criterion, scene.tau, MANY)
        proposals.pull_back(scene.cells[~scene.holds], 10)
        assert proposals.found == np.inf


def test_climbing_ends_at_an_explanation_within_the_cutoff() -> None:
    """Where it arrives, the context stands and is nearer than the cutoff, though several steps led there."""
    arrived = refused = 0
    for scene, rng in scenes(SCENES):
        for cutoff in (np.inf, *rng.choice(scene.distance, 6).tolist()):
            proposals = Proposals(scene.located, scene.criterion, scene.tau, MANY)
            if proposals.climb(cutoff):
                at = _at(scene, proposals.cells)
                assert scene.holds[at]
                assert scene.distance[at] < cutoff or scene.distance[at] == 0.0
                arrived += 1
            else:
                refused += 1
    assert min(arrived, refused) > 20


def test_descents_end_at_an_explanation_however_far_away() -> None:
    """Where a descent says that it arrived, the context holds; from one that holds, it stays there."""
    arrived = 0
    for scene, rng in scenes(SCENES, plain=True):
        proposals = Proposals(scene.located, scene.criterion, scene.tau, MANY)
        for start in rng.integers(0, len(scene.cells), 5):
            holds = proposals.descend(scene.cells[start])
            at = _at(scene, proposals.cells)
            assert scene.holds[at] == holds
            assert at == start or not scene.holds[start]
            arrived += holds and at != start
        none = Proposals(scene.located, scene.criterion, scene.tau, 0)
        assert not none.descend(scene.cells[0]) or scene.holds[0]
    assert arrived > 10


def test_proposals_end_when_the_looks_are_used_up() -> None:
    """A look at a context counts, and without any left nothing more is looked at than what is under way."""
    scene = ForestScene(19)
    proposals = Proposals(scene.located, scene.criterion, scene.tau, 1)
    proposals.try_lines()
    proposals.pull_back(scene.cells, 100)
    assert proposals.looks > -len(scene.cells)
    used = proposals.looks
    proposals.pull_back(scene.cells, 100)
    assert proposals.looks == used <= 0


def test_past_contexts_become_allowed_cells() -> None:
    """Values that may not be taken stay as they are today; where a category is ruled out, so does the whole feature."""
    ruled_out = 0
    for scene, rng in scenes(SCENES, plain=True):
        space, group = scene.question.space, scene.located.group
        banned = np.zeros(group.size, dtype=bool)
        past = np.stack([rng.integers(0, len(column), 40) for column in scene.columns], axis=1).astype(np.int32)
        for g in np.unique(group[group >= 0]):
            members = np.flatnonzero(group == g)
            banned[members[scene.located.start[members] == 0][0]] = True
            on = np.array([len(scene.columns[j]) - 1 for j in members])
            past[:, members] = np.where(rng.integers(0, members.size, 40)[:, None] == np.arange(members.size), on, 0)
        levels = tuple(np.zeros(1) if banned[j] else levels for j, levels in enumerate(space.levels))
        question = varied(scene.question, space=varied(space, levels=levels, upper=np.where(banned, 0.0, space.upper)))
        starts = nearest_first(scene.kept, locate(question, scene.kept), past)
        allowed = {row.tobytes() for row in scene.cells[~(scene.cells[:, banned] > 0).any(axis=1)]}
        assert all(row.tobytes() in allowed for row in starts)
        ruled_out += int((past[:, banned] > 0).any(axis=1).sum())
    assert ruled_out > 50


def test_along_a_line_of_many_cells_what_is_found_is_closed_in_on() -> None:
    """Where only some cells of a line are looked at, the one found holds, and the next nearer one does not."""
    found = 0
    for seed in range(24):
        scene = ForestScene(seed, "cc", trees=30, depth=5, n=200, plain=True)
        if max(map(len, scene.columns)) < 100:
            continue
        proposals = Proposals(scene.located, scene.criterion, scene.tau, MANY)
        proposals.try_lines()
        if proposals.found == np.inf:
            continue
        (column,) = np.flatnonzero(proposals.best != scene.located.start)
        nearer = proposals.best.copy()
        nearer[column] -= np.sign(nearer[column] - scene.located.start[column])
        holds = [scene.criterion.excess(scene.grid.leaves_at(at)).over <= scene.tau for at in (proposals.best, nearer)]
        assert holds == [True, False] or (nearer == scene.located.start).all()
        found += 1
    assert found > 4
