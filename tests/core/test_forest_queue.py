"""Heap and queue of the forest search: order, and boxes made of restrictions."""

from __future__ import annotations

import numpy as np
import pytest
from tests.core.forest_cells import scenes

from whence._core import Box, Heap, Queue


def test_a_heap_gives_the_smallest_key_first() -> None:
    """Items pushed and popped in any order, with ties, come out by their keys, each with its own."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        heap, keys, held = Heap(), rng.integers(0, 30, 80) / 4.0, dict[int, float]()
        for item, key in enumerate(keys.tolist()):
            heap.push(key, item)
            held[item] = key
            while held and rng.random() < 0.4:
                popped, item = heap.pop()
                assert popped == min(held.values()) == held.pop(item)
        assert len(heap) == len(held)
        assert [heap.pop()[0] for _ in range(len(heap))] == sorted(held.values())
    with pytest.raises(ValueError, match="empty"):
        Heap().pop()


def test_a_queue_begins_with_the_whole_space() -> None:
    """The whole space, link -1, waits at distance 0; others come after it by their keys."""
    queue = Queue()
    first, second = queue.link(-1, 0, 0, 1), queue.link(-1, 0, 1, 2)
    queue.wait(0.7, first)
    queue.wait(0.2, second)
    assert len(queue) == 3
    assert [queue.take() for _ in range(3)] == [(0.0, -1), (0.2, second), (0.7, first)]
    with pytest.raises(ValueError, match="empty"):
        queue.take()


def test_leaves_are_kept_for_a_waiting_box_and_taken_once() -> None:
    """What is kept for a link is its own and the latest, and gone once it is taken; the whole space keeps nothing."""
    queue = Queue()
    first, second = queue.link(-1, 0, 0, 1), queue.link(-1, 0, 1, 2)
    assert queue.take_reach(first) is None
    queue.set_reach(first, [1, 2**63])
    queue.set_reach(second, [5, 6])
    queue.set_reach(second, [7, 8])
    below = queue.link(first, 1, 0, 1)
    assert queue.take_reach(below) is None
    assert queue.take_reach(first) == [1, 2**63]
    assert queue.take_reach(first) is None
    queue.set_reach(below, [3, 4])
    assert queue.take_reach(second) == [7, 8]
    assert queue.take_reach(below) == [3, 4]
    queue.set_reach(-1, [1, 1])
    assert queue.take_reach(-1) is None


def test_leaves_are_kept_for_as_many_boxes_as_there_is_room_for() -> None:
    """Where there is no more room, boxes wait without their leaves, until another one has been taken."""
    queue, words = Queue(), [0] * 2**21
    links = [queue.link(-1, 0, 0, i) for i in range(3)]
    for link in links:
        queue.set_reach(link, words)
    assert queue.take_reach(links[2]) is None
    assert queue.take_reach(links[0]) == words
    queue.set_reach(links[2], words)
    assert queue.take_reach(links[2]) == words


def test_a_box_is_made_of_all_its_restrictions() -> None:
    """Rebuilt from a chain of links it is the box that was restricted step by step, or empty as that one."""
    ends = set()
    for scene, rng in scenes(12):
        queue = Queue()
        for _ in range(10):
            link, left = -1, np.ones(len(scene.cells), dtype=bool)
            for _ in range(int(rng.integers(1, 5))):
                j = int(rng.integers(len(scene.columns)))
                first, last = np.sort(rng.integers(0, len(scene.columns[j]), 2)).tolist()
                link = queue.link(link, j, first, last)
                left &= (first <= scene.cells[:, j]) & (scene.cells[:, j] <= last)
            box = Box(scene.located)
            box.restrict(0, 0, 0)
            ends.add(bool(left.any()))
            assert queue.rebuild(link, box) == left.any()
            if left.any():
                assert np.array_equal(scene.inside(box), left)
    assert ends == {True, False}
