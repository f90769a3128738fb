"""What must hold between the coordinates of a context so that it can exist, as trees of questions and linear rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from whence.util.aliases import Floats

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

#: By how much a threshold or a row may be missed, as a share of the numbers where they are large: what rounding costs.
SLACK = 1e-9
#: By how much a search lets a row be missed.
ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class RelationTree:
    """A relation as a tree of questions: a context goes left where ``x[coordinate] <= threshold``.

    >>> low = RelationTree.of([(0, 0.5, 1, 2), (-1, 0.0, 0, 0), (-1, 0.0, 0, 0)], [False, False, True])
    >>> low.keeps(np.array([[0.5], [0.6]])).tolist()
    [True, False]
    """

    #: What each node asks about; -1 in a leaf. Children stand behind their parent, node 0 is the root.
    coordinate: Ints
    #: Compared as float64.
    threshold: Floats
    #: Children of each node.
    left: Ints
    right: Ints
    #: Of each leaf, whether the relation does not hold there.
    broken: Bools
    #: The relation as it was written.
    text: str = ""

    @classmethod
    def of(cls, nodes: Sequence[tuple[int, float, int, int]], broken: Sequence[bool], text: str = "") -> RelationTree:
        """Make a tree of a coordinate, a threshold and two children of every node."""
        coordinate, threshold, left, right = zip(*nodes, strict=True)
        ints = [np.array(part, dtype=np.int64) for part in (coordinate, left, right)]
        return cls(ints[0], np.array(threshold, dtype=np.float64), ints[1], ints[2], np.array(broken, dtype=bool), text)

    def leaves(self, points: Floats) -> Ints:
        """Return the leaf of every point."""
        at = np.zeros(len(points), dtype=np.int64)
        rows = np.arange(len(points))
        while (inner := self.coordinate[at] >= 0).any():
            node = at[inner]
            left = points[rows[inner], self.coordinate[node]] <= self.threshold[node]
            at[inner] = np.where(left, self.left[node], self.right[node])
        return at

    def keeps(self, points: Floats) -> Bools:
        """Return, for every point, whether the relation holds there."""
        return ~self.broken[self.leaves(points)]

    def reached(self, lower: Floats, upper: Floats) -> Iterator[int]:
        """Yield the leaves that a box meets."""
        waiting = [0]
        while waiting:
            node = waiting.pop()
            j = int(self.coordinate[node])
            if j < 0:
                yield node
                continue
            if lower[j] <= self.threshold[node]:
                waiting.append(int(self.left[node]))
            if upper[j] > self.threshold[node]:
                waiting.append(int(self.right[node]))

    def always_kept(self, lower: Floats, upper: Floats) -> bool:
        """Return whether the relation holds in all of a box."""
        return not any(self.broken[leaf] for leaf in self.reached(lower, upper))

    def nearly_keeps(self, point: Floats) -> bool:
        """Return whether the relation holds at a point, or at one that differs by no more than rounding costs."""
        slack = SLACK * np.maximum(1.0, np.abs(point))
        return not all(self.broken[leaf] for leaf in self.reached(point - slack, point + slack))


@dataclass(frozen=True, eq=False)
class Relations:
    """Relations between coordinates: trees of questions, and linear rows ``rows @ x <= limits``.

    Every context but the initial one has to keep them all.
    """

    trees: tuple[RelationTree, ...] = ()
    rows: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    limits: Floats = field(default_factory=lambda: np.zeros(0))
    texts: tuple[str, ...] = ()
    #: The same in the user's units, which mean nothing to an engine (see :mod:`whence.features.relation_text`).
    statements: tuple[Any, ...] = ()

    @property
    def as_trees(self) -> bool:
        """Whether something of the relations can be said by trees: all but rows over other than two coordinates."""
        return bool(self.trees) or bool((np.count_nonzero(self.rows, axis=1) == 2).any())

    def always_kept(self, lower: Floats, upper: Floats) -> bool:
        """Return whether all relations hold in all of a box, so that nobody need look at them."""
        if len(self.rows) and (np.maximum(self.rows * lower, self.rows * upper).sum(axis=1) > self.limits).any():
            return False
        return all(tree.always_kept(lower, upper) for tree in self.trees)

    def keeps_exactly(self, point: Floats) -> bool:
        """Return whether all relations hold at a point, those of trees to the last digit."""
        return all(tree.keeps(point[None])[0] for tree in self.trees) and self.keeps(point)

    def keeps_rows(self, point: Floats) -> bool:
        """Return whether all rows hold at a point, up to rounding."""
        return bool((self.rows @ point <= self.limits + ROUNDING).all())

    def thresholds(self, coordinate: int) -> Floats:
        """Return what the trees compare a coordinate with, ascending."""
        found = [tree.threshold[tree.coordinate == coordinate] for tree in self.trees]
        return np.unique(np.concatenate(found)) if found else np.empty(0)

    @property
    def row_coordinates(self) -> set[int]:
        """The coordinates that rows are about."""
        return set(np.flatnonzero(np.any(self.rows != 0.0, axis=0)).tolist()) if len(self.rows) else set()

    @property
    def coordinates(self) -> set[int]:
        """The coordinates that relations are about."""
        found = {int(j) for tree in self.trees for j in np.unique(tree.coordinate[tree.coordinate >= 0])}
        return found | self.row_coordinates

    def joined(self, other: Relations | None) -> Relations:
        """Return these relations and others."""
        if not other:
            return self
        if not self:
            return other
        rows = np.concatenate([part.rows for part in (self, other) if len(part.rows)] or [self.rows])
        limits = np.concatenate([self.limits, other.limits])
        said = self.statements + other.statements
        return Relations(self.trees + other.trees, rows, limits, self.texts + other.texts, said)

    def __bool__(self) -> bool:
        return bool(self.trees) or bool(len(self.rows))

    @property
    def words(self) -> str:
        """The relations as they were written, the first few of them."""
        every = list(dict.fromkeys([*(tree.text for tree in self.trees), *self.texts]))
        return ", ".join(map(repr, every[:3])) + (", …" if len(every) > 3 else "")

    def broken(self, point: Floats) -> list[str]:
        """Return the relations, as they were written, that do not hold at a point, whatever rounding costs."""
        found = [tree.text for tree in self.trees if not tree.nearly_keeps(point)]
        for row, limit, text in zip(self.rows, self.limits, self.texts, strict=True):
            size = max(1.0, float(np.abs(row * point).sum()))
            if row @ point > limit + SLACK * size:
                found.append(text)
        return list(dict.fromkeys(found))

    def keeps(self, point: Floats) -> bool:
        """Return whether all relations hold at a point."""
        return not self.broken(point)


def table_tree(rows: Floats, groups: Sequence[Sequence[int]], spacing: Floats, begin: int, text: str) -> RelationTree:
    """Say that the coordinates from `begin` on are one of `rows`, as a tree that asks about one group after the other.

    The columns of a group belong together: one number, or the levels of a category, one of which is above 0. `spacing`
    says of each column that is a number how far its values are apart at least, also those that no row has.

    >>> tree = table_tree(np.array([[0.0, 0.5], [0.5, 0.0]]), [(0,), (1,)], np.full(2, 0.25), 0, "one of two")
    >>> tree.keeps(np.array([[0.0, 0.5], [0.5, 0.5], [0.5, 0.0], [0.25, 0.0]])).tolist()
    [True, False, True, False]
    """
    rows = np.unique(rows, axis=0)
    # What has most values first: it settles most of the others.
    order = sorted(groups, key=lambda group: -len(np.unique(rows[:, list(group)], axis=0)))
    grower = _TableGrower(rows, order, spacing, begin)
    grower.grow(np.arange(len(rows)), 0)
    return RelationTree.of(grower.nodes, grower.broken, text)


class _Grower:
    """The nodes of a tree, each child behind its parent."""

    def __init__(self) -> None:
        self.nodes: list[tuple[int, float, int, int]] = []
        self.broken: list[bool] = []

    def _leaf(self, broken: bool) -> int:
        return self._node(-1, 0.0, broken)

    def _node(self, coordinate: int, threshold: float, broken: bool = False) -> int:
        self.nodes.append((coordinate, threshold, 0, 0))
        self.broken.append(broken)
        return len(self.nodes) - 1

    def _link(self, node: int, left: int, right: int) -> int:
        self.nodes[node] = (*self.nodes[node][:2], left, right)
        return node


class _TableGrower(_Grower):
    """Asks about one group of columns after the other."""

    def __init__(self, rows: Floats, order: Sequence[Sequence[int]], spacing: Floats, begin: int) -> None:
        super().__init__()
        self.rows, self.order, self.spacing, self.begin = rows, order, spacing, begin

    def grow(self, left: np.ndarray, depth: int) -> int:
        """Return the tree over the rows that are `left`, from a group on; the number of its root."""
        if depth == len(self.order):
            return self._leaf(False)
        group = self.order[depth]
        if len(group) == 1:
            return self._number(left, depth, int(group[0]))
        return self._category(left, depth, [int(j) for j in group])

    def _split(self, column: int, threshold: float) -> int:
        return self._node(self.begin + column, threshold)

    def _category(self, left: np.ndarray, depth: int, group: list[int]) -> int:
        """Ask for one level after the other."""
        on = [j for j in group if (self.rows[left, j] > 0.25).any()]
        if not on:
            return self._leaf(True)
        node = self._split(on[0], 0.25)
        mine = self.rows[left, on[0]] > 0.25
        off = self._category(left[~mine], depth, group) if not mine.all() else self._leaf(True)
        return self._link(node, off, self.grow(left[mine], depth + 1))

    def _number(self, left: np.ndarray, depth: int, column: int) -> int:
        """Halve the values; what lies between two of them, or beyond, is not allowed."""
        values = np.unique(self.rows[left, column])
        gap = float(self.spacing[column]) / 4.0
        # Neighbours that lead to the same rows of what follows are asked about as one.
        rest = [j for group in self.order[depth + 1 :] for j in group]
        keys = [self.rows[left[self.rows[left, column] == v]][:, rest].tobytes() for v in values]
        runs: list[tuple[float, float, np.ndarray]] = []
        for value, key, before in zip(values, keys, [b"", *keys[:-1]], strict=True):
            mine = left[self.rows[left, column] == value]
            if runs and key == before and value - runs[-1][1] <= 4.5 * gap:
                runs[-1] = (runs[-1][0], float(value), mine)
            else:
                runs.append((float(value), float(value), mine))
        return self._halved(runs, column, depth, -np.inf, np.inf, gap)

    def _halved(
        self, runs: list[tuple[float, float, np.ndarray]], column: int, depth: int, low: float, high: float, gap: float
    ) -> int:
        """Return the tree over runs of values between two ends that were asked about already."""
        if len(runs) > 1:
            half = len(runs) // 2
            between = runs[half - 1][1] + gap
            node = self._split(column, between)
            first = self._halved(runs[:half], column, depth, low, between, gap)
            return self._link(node, first, self._halved(runs[half:], column, depth, between, high, gap))
        begin, end, rows = runs[0]
        # Up to the value before there is nothing to ask about.
        if low < begin - 3.5 * gap:
            node = self._split(column, begin - gap)
            off = self._leaf(True)
            return self._link(node, off, self._halved(runs, column, depth, begin - gap, high, gap))
        if high > end + 3.5 * gap:
            node = self._split(column, end + gap)
            inner = self._halved(runs, column, depth, low, end + gap, gap)
            return self._link(node, inner, self._leaf(True))
        return self.grow(rows, depth + 1)


Made = TypeVar("Made")


class Recent(Generic[Made]):
    """Keep the things that were asked for last, and at most `most` of them.

    >>> kept = Recent(most=2)
    >>> [kept.get(n, lambda n=n: print("made", n) or n) for n in (1, 2, 1, 3, 1, 2)]
    made 1
    made 2
    made 3
    made 2
    [1, 2, 1, 3, 1, 2]
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._made: dict[Hashable, Made] = {}

    def __len__(self) -> int:
        return len(self._made)

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what belongs to `key`, made now where it was not among the last ones asked for."""
        found = self._made.pop(key) if key in self._made else make()
        self._made[key] = found
        while len(self._made) > self.most:
            del self._made[next(iter(self._made))]
        return found


#: Nodes that the tree of one relation may have; more are a mistake of the user's.
MOST_NODES = 4_000


@dataclass(frozen=True)
class Within:
    """A coordinate lies in an interval, ends included."""

    coordinate: int
    low: float
    high: float


@dataclass(frozen=True)
class Among:
    """One of several coordinates of a category is on."""

    coordinates: tuple[int, ...]


@dataclass(frozen=True)
class Opposite:
    """A statement, as it was read or about coordinates, does not hold."""

    of: Any


@dataclass(frozen=True)
class Joined:
    """Two statements: both, one of them, the second if the first, or either both or none."""

    how: Literal["and", "or", "=>", "<=>"]
    first: Any
    second: Any

    def plain(self) -> Joined:
        """Return the same by "and" and "or" alone."""
        if self.how == "=>":
            return Joined("or", Opposite(self.first), self.second)
        if self.how == "<=>":
            ways = (Joined("=>", *pair).plain() for pair in ((self.first, self.second), (self.second, self.first)))
            return Joined("and", *ways)
        return self


Formula = Within | Among | Opposite | Joined


def conjuncts(formula: Formula) -> Iterator[Formula]:
    """Yield the statements that all have to hold, one by one.

    >>> a, b = Among((0,)), Among((1,))
    >>> list(conjuncts(Opposite(Joined("or", a, Opposite(b)))))
    [Opposite(of=Among(coordinates=(0,))), Among(coordinates=(1,))]
    """
    formula = _inward(formula)
    if isinstance(formula, Joined) and formula.how == "and":
        yield from conjuncts(formula.first)
        yield from conjuncts(formula.second)
    else:
        yield formula


def _inward(formula: Formula) -> Formula:
    """Return a formula in which nothing that is joined is negated as a whole."""
    if not isinstance(formula, Opposite):
        return formula
    inner = formula.of
    if isinstance(inner, Opposite):
        return _inward(inner.of)
    if isinstance(inner, Joined):
        return Joined("or" if inner.how == "and" else "and", Opposite(inner.first), Opposite(inner.second))
    return formula


def tree_of(formula: Formula, text: str) -> RelationTree:
    """Return the tree of questions that tells whether a formula holds.

    >>> tree = tree_of(Joined("or", Opposite(Among((1,))), Within(0, 0.2, 0.8)), "in July between ...")
    >>> tree.keeps(np.array([[0.9, 0.0], [0.9, 0.5], [0.5, 0.5]])).tolist()
    [True, False, True]
    """
    grower = _FormulaGrower()
    grower.grow(formula, {})
    return RelationTree.of(grower.nodes, grower.broken, text)


Known = dict[int, tuple[float, float]]


class _FormulaGrower(_Grower):
    """Asks one question after the other until the formula is settled."""

    def grow(self, formula: Formula, known: Known) -> int:
        """Return a node for what is left of `formula`; `known` are the ranges of coordinates on the way here."""
        if len(self.nodes) > MOST_NODES:
            raise OverflowError
        truth, question = _settled(formula, known)
        if truth is not None:
            return self._leaf(not truth)
        assert question is not None
        coordinate, threshold = question
        here = self._node(coordinate, threshold)
        low, high = known.get(coordinate, (-np.inf, np.inf))
        left = self.grow(formula, {**known, coordinate: (low, threshold)})
        beyond = float(np.nextafter(threshold, np.inf))
        return self._link(here, left, self.grow(formula, {**known, coordinate: (beyond, high)}))


def _settled(formula: Formula, known: Known) -> tuple[bool | None, tuple[int, float] | None]:
    """Whether a formula is true or false by what is known, or the next question: a coordinate and a threshold."""
    if isinstance(formula, Opposite):
        truth, question = _settled(formula.of, known)
        return (None if truth is None else not truth), question
    if isinstance(formula, Joined):
        ends = formula.how == "or"
        first, question = _settled(formula.first, known)
        if first is ends:
            return ends, None
        second, other = _settled(formula.second, known)
        if second is ends:
            return ends, None
        if first is None:
            return None, question
        return second, other
    if isinstance(formula, Among):
        open_one: tuple[int, float] | None = None
        for j in formula.coordinates:
            low, high = known.get(j, (0.0, 0.5))
            if low > 0.25:
                return True, None
            if high > 0.25 and open_one is None:
                open_one = (j, 0.25)
        return (False, None) if open_one is None else (None, open_one)
    low, high = known.get(formula.coordinate, (-np.inf, np.inf))
    if low > formula.high or high < formula.low:
        return False, None
    if low < formula.low:
        return None, (formula.coordinate, float(np.nextafter(formula.low, -np.inf)))
    if high > formula.high:
        return None, (formula.coordinate, formula.high)
    return True, None
