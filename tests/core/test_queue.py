"""The heap, and the queue of boxes that wait."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from tests.core.forest_scene import scenes

from whence import _core


def test_the_heap_hands_out_the_smallest_key_first() -> None:
    """Pushes and pops in any order agree with Python's own heap, ties and infinities included."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        heap, keys = _core.Heap(), []
        for item in range(300):
            if keys and rng.random() < 0.4:
                key, _ = heap.pop()
                assert key == heapq.heappop(keys)
            else:
                key = float(rng.choice([0.0, np.inf, float(rng.integers(0, 9)), float(rng.random())]))
                heap.push(key, item)
                heapq.heappush(keys, key)
            assert len(heap) == len(keys)
        assert [heap.pop()[0] for _ in range(len(keys))] == sorted(keys)


def test_every_item_comes_back_once_with_its_key() -> None:
    """No item is lost or doubled, whatever the keys."""
    rng = np.random.default_rng(1)
    keys = rng.integers(0, 5, 200).astype(float)
    heap = _core.Heap()
    for item, key in enumerate(keys.tolist()):
        heap.push(key, item)
    popped = [heap.pop() for _ in keys]
    assert sorted(item for _, item in popped) == list(range(200))
    assert all(keys[item] == key for key, item in popped)


def test_nothing_comes_from_an_empty_heap_or_queue() -> None:
    """Both refuse."""
    with pytest.raises(ValueError, match="empty"):
        _core.Heap().pop()
    queue = _core.Queue()
    assert queue.take() == (0.0, -1)
    with pytest.raises(ValueError, match="empty"):
        queue.take()


def test_a_link_is_its_parents_box_with_one_column_restricted() -> None:
    """A chain of links rebuilds the box that restricting one after the other gives, wherever they were taken."""
    rng = np.random.default_rng(2)
    for scene in scenes(20):
        queue, links = _core.Queue(), [(-1, [])]
        for _ in range(12):
            parent, before = links[int(rng.integers(len(links)))]
            j = int(rng.integers(scene.grid.columns))
            first, last = np.sort(rng.integers(0, scene.located.last[j] + 1, 2)).tolist()
            links.append((queue.link(parent, j, first, last), [*before, (j, first, last)]))
        for link, restrictions in links:
            box = scene.box()
            kept = np.ones(len(scene.cells), dtype=bool)
            for j, first, last in restrictions:
                kept &= (scene.cells[:, j] >= first) & (scene.cells[:, j] <= last)
            if queue.rebuild(link, box):
                assert (scene.inside(box) == kept).all()
            else:
                assert not kept.any()


def test_links_that_do_not_exist_are_refused() -> None:
    """A queue knows its own links only."""
    queue = _core.Queue()
    with pytest.raises(ValueError, match="link"):
        queue.wait(0.0, 0)
    with pytest.raises(ValueError, match="link"):
        queue.link(3, 0, 0, 1)


def test_what_nobody_holds_is_forgotten() -> None:
    """A box that is done with makes room, and so does all that only led to it; what a part still needs stays."""
    queue = _core.Queue()
    first = queue.link(-1, 0, 0, 5)
    left, right = queue.link(first, 1, 0, 2), queue.link(first, 1, 3, 5)
    queue.release(first)
    assert queue.links == 3
    queue.release(left)
    assert queue.links == 2
    with pytest.raises(ValueError, match="link"):
        queue.wait(0.0, left)
    queue.hold(right)
    queue.release(right)
    assert queue.links == 2
    queue.release(right)
    assert queue.links == 0


def test_memory_is_that_of_the_boxes_that_wait() -> None:
    """A chain of a hundred thousand boxes, one after the other, takes no more than a few."""
    queue = _core.Queue()
    link = queue.link(-1, 0, 0, 9)
    for number in range(100_000):
        far, near = queue.link(link, 0, 0, 3), queue.link(link, 0, 4, 9)
        queue.release(link)
        queue.release(near)
        link = far
        if number % 100 == 0:
            queue.release(link)
            link = queue.link(-1, 0, 0, 9)
    assert queue.links < 250
    assert queue.bytes < 100_000
