"""Contexts that look like past ones, and that can exist: further trees of the grid, and what their leaves say."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
from sklearn.ensemble import IsolationForest

from whence import _core
from whence.question import Isolation, Question
from whence.question.relations import Relations
from whence.search.grid import KeptGrid
from whence.search.joining import Family, isolation_family, joined, relation_family
from whence.search.rows import staircases

__all__ = ["isolated", "related"]

#: The last grid with the trees of an isolation forest, by the forest.
_joined: WeakKeyDictionary[IsolationForest, tuple[KeptGrid, KeptGrid]] = WeakKeyDictionary()
#: The last grid with the trees of relations, by the relations, and the isolation forest that it was made with.
_related: WeakKeyDictionary[Relations, tuple[KeptGrid, IsolationForest | None, KeptGrid]] = WeakKeyDictionary()

#: What a relation that is broken adds: far more than any isolation forest makes up for.
BROKEN = 100.0


def isolated(
    question: Question, kept: KeptGrid, isolation: Isolation
) -> tuple[KeptGrid | None, _core.Plausibility | None]:
    """The grid with the isolation trees after the forest's own, and what their leaves say.

    Both are None where the question's time limit passes before the grid is built.
    """
    before, found = _joined.get(isolation.forest, (None, None))
    if before is not kept:
        found = joined(question, kept, [_family_of(question, isolation)])
        if found is not None:
            _joined[isolation.forest] = (kept, found)
    if found is None:
        return None, None
    return found, _core.Plausibility(found.grid, kept.trees, isolation.short_by())


def related(
    question: Question, kept: KeptGrid, relations: Relations, isolation: Isolation | None
) -> tuple[KeptGrid | None, _core.Plausibility | None]:
    """The grid with the trees of relations after all others, and what leaves say: broken ones are never plausible.

    Both are None where the question's time limit passes before the grid is built.
    """
    forest = None if isolation is None else isolation.forest
    trees = relations.trees + staircases(relations)
    before, with_forest, found = _related.get(relations, (None, None, None))
    if before is not kept or with_forest is not forest:
        families = [] if isolation is None else [_family_of(question, isolation)]
        found = joined(question, kept, [*families, relation_family(trees, question.inputs)])
        if found is not None:
            _related[relations] = (kept, forest, found)
    if found is None:
        return None, None
    says = [] if isolation is None else [isolation.short_by()]
    says += [np.where(tree.broken, BROKEN, 0.0)[tree.coordinate < 0] for tree in trees]
    return found, _core.Plausibility(found.grid, kept.trees, np.concatenate(says))


def _family_of(question: Question, isolation: Isolation) -> Family:
    forest = isolation.forest
    return isolation_family([tree.tree_ for tree in forest.estimators_], forest.estimators_features_, question.inputs)
