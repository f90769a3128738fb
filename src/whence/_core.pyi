"""The compiled core of whence: searches over the boxes of a forest and of nearest neighbours."""

from enum import Enum

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

class Grid:
    """A forest in cells: column j has cells 0..n and faces between them."""

    def __init__(
        self, face_start: Ints, cut: NDArray[np.float32], column: Ints, split: Ints, left: Ints, right: Ints, root: Ints
    ) -> None: ...
    def lay_paths(self, nodes: int) -> bool: ...
    def leaves_at(self, cells: Ints) -> Ints: ...
    def path(self, leaf: int) -> Ints: ...
    @property
    def asks(self) -> Floats: ...
    @property
    def columns(self) -> int: ...
    @property
    def trees(self) -> int: ...
    @property
    def leaves(self) -> int: ...

class Located:
    """The cells of a question: which are allowed, and how far they are from its start."""

    def __init__(
        self,
        grid: Grid,
        limits: Floats,
        group: Ints,
        discrete: NDArray[np.bool_],
        level_start: NDArray[np.int64],
        level: Floats,
    ) -> None: ...
    @property
    def distance(self) -> Floats: ...
    @property
    def value(self) -> Floats: ...
    @property
    def start(self) -> Ints: ...
    @property
    def first(self) -> Ints: ...
    @property
    def last(self) -> Ints: ...
    @property
    def group(self) -> Ints: ...
    @property
    def dead(self) -> Ints: ...

class Criterion:
    """What the leaves say about the alternative and its rivals."""

    @property
    def rivals(self) -> int: ...
    @property
    def etas(self) -> int: ...

class MeanCriterion(Criterion):
    """Expected cost."""

    def __init__(self, leaves: int) -> None: ...
    def add_rival(self, means: Floats) -> None: ...

class TailCriterion(Criterion):
    """CVaR."""

    def __init__(
        self,
        samples: Ints,
        first: NDArray[np.int64],
        size: NDArray[np.int64],
        tail: float,
        trees: int,
        table_limit: int,
    ) -> None: ...
    def add_plan(self, etas: Floats, rank: Ints) -> None: ...
    @property
    def all_etas(self) -> int: ...

class Shares:
    """How the price of every step is shared out among the trees."""

    def __init__(self, located: Located, bucket: Ints, edge: Floats, begin: Ints, part: Floats) -> None: ...

class ForestSearch:
    """Best-first search over the boxes of a forest."""

    def __init__(self, located: Located, criterion: Criterion, tau: float) -> None: ...
    def advance(
        self, budget: int, cutoff: float, shares: Shares | None = None, sharp: bool = False
    ) -> tuple[bool, float]: ...
    def exclude(self, cells: Ints) -> None: ...
    @property
    def cells(self) -> Ints: ...
    @property
    def examined(self) -> int: ...

class Proposals:
    """Good explanations found without proof."""

    looks: int
    found: float

    def __init__(self, located: Located, criterion: Criterion, tau: float, looks: int) -> None: ...
    def try_lines(self) -> None: ...
    def pull_back(self, starts: Ints, improved: int) -> None: ...
    def climb(self, cutoff: float) -> bool: ...
    @property
    def best(self) -> Ints: ...
    @property
    def cells(self) -> Ints: ...

class SimplexStatus(Enum):
    """How a linear program ended."""

    SOLVED = 0
    INFEASIBLE = 1
    UNKNOWN = 2

class Simplex:
    """Least cost u >= 0, u <= upper, under rows that are added one by one."""

    def __init__(self, upper: Floats, cost: Floats, second_cost: Floats, most_rows: int) -> None: ...
    def add_row(self, row: Floats, limit: float) -> None: ...
    def minimise(self, cutoff: float = ...) -> tuple[SimplexStatus, float]: ...
    def clear_rows(self) -> None: ...
    def solution(self) -> Floats: ...

def smallest_first(values: Floats, m: int) -> None:
    """Reorder the values so that the m smallest of them come first."""

class AxisKind(Enum):
    """A number that moves freely, one with levels, or the rank of a category."""

    CONTINUOUS = 0
    DISCRETE = 1
    CATEGORY = 2

class Axis:
    """An axis of a nearest-neighbour question that can move."""

    def __init__(
        self,
        kind: AxisKind,
        start: float,
        weight: float,
        lower: float,
        upper: float,
        *,
        gap_low: float = ...,
        gap_high: float = ...,
        levels: Floats | None = None,
        costs: Floats | None = None,
    ) -> None: ...
    @property
    def kind(self) -> AxisKind: ...
    @property
    def start(self) -> float: ...
    @property
    def weight(self) -> float: ...
    @property
    def lower(self) -> float: ...
    @property
    def upper(self) -> float: ...
    @property
    def gap_low(self) -> float: ...
    @property
    def gap_high(self) -> float: ...
    @property
    def levels(self) -> Floats: ...
    @property
    def costs(self) -> Floats: ...

class BoxVerdict(Enum):
    """Whether a box holds an explanation, none, or must be split or solved."""

    PRUNED = 0
    FEASIBLE = 1
    SPLIT = 2
    LEAF = 3

class BoxLook:
    """What is known of a box once it has been examined."""

    @property
    def verdict(self) -> BoxVerdict: ...
    @property
    def distance(self) -> float: ...
    @property
    def settled(self) -> NDArray[np.int64]: ...
    @property
    def open(self) -> NDArray[np.int64]: ...
    @property
    def low(self) -> Floats: ...
    @property
    def high(self) -> Floats: ...
    @property
    def nearest(self) -> Floats: ...

class NeighbourProgress(Enum):
    """Why a search came back."""

    SPENT = 0
    CANDIDATE = 1
    EXHAUSTED = 2

class NeighbourSearch:
    """Best-first search over boxes of contexts."""

    def __init__(
        self,
        axes: list[Axis],
        points: Floats,
        base: Floats,
        k: int,
        separation: float,
        margin: float,
        alternative: Floats,
        tau: float,
        tail: float | None = None,
    ) -> None: ...
    def cut(self, rival: Floats) -> None: ...
    def exclude(self, members: NDArray[np.int64]) -> None: ...
    def restart(self) -> None: ...
    def advance(self, boxes: int, radius: float) -> NeighbourProgress: ...
    def standing(self, contexts: Floats) -> NDArray[np.bool_]: ...
    def forget_met(self) -> None: ...
    @property
    def nodes(self) -> int: ...
    @property
    def bound(self) -> float: ...
    @property
    def candidate(self) -> Floats: ...
    @property
    def met(self) -> Floats: ...
    @property
    def met_distance(self) -> float: ...
    def examine(self, low: Floats, high: Floats, radius: float) -> BoxLook: ...
    def solve_box(
        self, low: Floats, high: Floats, radius: float, patience: int
    ) -> tuple[float, float, Floats] | None: ...
    def relations(
        self, low: Floats, high: Floats, radius: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...
    def hopeless(self, inside: NDArray[np.int64], undecided: NDArray[np.int64]) -> bool: ...
    def satisfied(self, members: NDArray[np.int64]) -> bool: ...

def best_recourse(ship: Floats, spot: float, plan: Floats, demands: Floats, costs: Floats) -> None:
    """Cheapest recourse cost at a plan of every row of demands, into costs."""

def cutting_planes(
    ship: Floats,
    spot: float,
    production: float,
    demands: Floats,
    weights: Floats,
    tail: float,
    most_cuts: int,
    plan: Floats,
) -> int | None:
    """Optimal first stage, from plan into plan; the number of cuts, or None where it stopped before the optimum."""
