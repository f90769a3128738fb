"""The compiled core of whence: searches over the boxes of a forest and of nearest neighbours."""

from collections.abc import Sequence
from enum import Enum
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from whence.util.aliases import Floats

Ints = NDArray[np.int32]

class Grid:
    """A forest in cells: column j has cells 0..n and faces between them."""

    def __init__(
        self, face_start: Ints, cut: NDArray[np.float32], column: Ints, split: Ints, left: Ints, right: Ints, root: Ints
    ) -> None: ...
    def lay_paths(self, nodes: int) -> bool:
        """Lay out the paths of the next trees with at least this many nodes; True once all are laid out."""

    def leaves_at(self, cells: Ints) -> Ints:
        """Leaf of every tree at a cell."""

    def leaves_of(self, cells: Ints) -> Ints:
        """Leaf of every tree at each of several cells, one row a cell."""

    def cells_alike(self, cells: Ints) -> tuple[Ints, Ints]:
        """First and last cell of every column in which all trees have the leaf of this cell."""

    asks: Final[Floats]
    columns: Final[int]
    trees: Final[int]
    leaves: Final[int]
    first_leaf: Final[Ints]

class Located:
    """The cells of a question: which are allowed, and how far they are from its start."""

    def __init__(
        self,
        grid: Grid,
        below: Floats,
        beyond: Floats,
        limits: Floats,
        group: Ints,
        discrete: NDArray[np.bool_],
        level_start: NDArray[np.int64],
        level: Floats,
    ) -> None: ...
    ONE_CELL: ClassVar[float]
    def part(self, low: Ints, high: Ints, start: Ints, column: int) -> Located:
        """Some of the cells, their distance counted in cells of one column, of ``ONE_CELL`` each."""

    distance: Final[Floats]
    value: Final[Floats]
    start: Final[Ints]
    first: Final[Ints]
    last: Final[Ints]
    group: Final[Ints]

class Excess:
    """By how much the alternative exceeds the rival it does worst against."""

    over: Final[float]
    worst: Final[int]

class Criterion:
    """What the leaves say about the alternative and its rivals."""

    rivals: Final[int]
    def excess(self, leaves: Ints) -> Excess:
        """The criterion where every tree has one of these leaves."""

class MeanCriterion(Criterion):
    """Expected cost."""

    def __init__(self, leaves: int) -> None: ...
    def add_rival(self, means: Floats) -> None: ...

class ConfidentMeanCriterion(MeanCriterion):
    """Expected cost: the mean difference plus kappa standard errors over the trees."""

    def __init__(self, leaves: int, kappa: float) -> None: ...

class CurveCriterion(MeanCriterion):
    """Costs that follow forecasts: a curve for every outcome, by what the leaves add up to."""

    def __init__(self, adds: Floats, offsets: Floats) -> None: ...
    def add_curves(self, first: NDArray[np.int64], at: Floats, value: Floats, slopes: Floats) -> None:
        """One more rival: corners and values of a curve for each outcome, and its slopes before and after them."""

class MeanBreach(MeanCriterion):
    """Where expected cost with confidence is broken."""

    def __init__(self, leaves: int, kappa: float) -> None: ...

class LeafSamples:
    """The samples of every leaf of some trees: those of leaf i are ``samples[first[i] : first[i] + size[i]]``."""

    def __init__(
        self,
        samples: Ints,
        first: NDArray[np.int64],
        size: NDArray[np.int64],
        trees: int,
        mass: Floats | None = None,
    ) -> None: ...
    def tail_means(self, leaves: Ints, costs: Floats, tail: float) -> Floats:
        """The CVaR of a plan where trees have these leaves, one row of them a context."""

class TailCriterion(Criterion):
    """CVaR."""

    def __init__(self, samples: LeafSamples, tail: float) -> None: ...
    def add_plan(self, etas: Floats, rank: Ints, kept: bool) -> None: ...
    def share_plan(self, other: TailCriterion, plan: int) -> None:
        """One more plan, of which another criterion about the same samples has the table."""

    all_etas: Final[int]

class ConfidentTailCriterion(TailCriterion):
    """CVaR: the difference plus kappa standard errors over the trees, with the plans of another criterion."""

    def __init__(self, plain: TailCriterion, kappa: float) -> None: ...

class TailBreach(TailCriterion):
    """Where CVaR with confidence is broken; the rival comes first."""

    def __init__(self, samples: LeafSamples, tail: float, kappa: float) -> None: ...

class PlanList(Criterion):
    """Some plan of a list must not cost more than the best rival."""

    def __init__(self, leaves: int) -> None: ...
    def add_plans(self, rows: Floats) -> None:
        """What each leaf adds to the cost of plans of the set, one row a plan."""

    def limit_memory(self, bytes: int) -> None:
        """Leave room for about this many bytes of rows."""

    def add_rivals(self, rows: Floats) -> None:
        """The same of plans that the set must not cost more than."""

    def add_tail_rival(
        self, grid: Grid, samples: LeafSamples, tail: float, etas: Floats, rank: Ints, alive: Ints
    ) -> None: ...
    def add_tail_plan(
        self, grid: Grid, samples: LeafSamples, tail: float, etas: Floats, rank: Ints, alive: Ints, tau: float
    ) -> None: ...
    def set_routes(self, routes: RouteTable, all: RouteTable | None = None) -> None:
        """The set is all routes of a network, and so are the rivals."""

    def best_at(self, leaves: Ints) -> PlanList:
        """A list of the routes that are best in contexts with these leaves, one row each."""

    edges: Final[int]
    many: Final[bool]
    plans: Final[int]
    rival_rows: Final[int]

class LinearPlans(Criterion):
    """Some plan between corners must not cost more than the decision, or than the best plan of all."""

    def __init__(
        self,
        samples: LeafSamples,
        costs: Floats,
        corners: Floats,
        all: Floats | None,
        factor: float,
        allowance: float,
        decision: Floats,
        tail: float,
    ) -> None:
        """`costs` are what a unit of every entry of a plan costs in every sample, one row a sample.

        `corners` hold the set, those of `all` every plan there is; the best of these counts for `factor` times its
        cost, and plans of the set count for `allowance` less than theirs.
        """

    numbers: Final[int]

class Network:
    """A network without cycles: tail, edge and head of every arc, from the target backwards."""

    def __init__(self, arcs: Ints, nodes: int, source: int, target: int) -> None: ...

class RouteTable:
    """Routes of a network, and what each leaf says about its edges."""

    def __init__(self, costs: Floats, samples: LeafSamples, divisor: Floats, network: Network) -> None: ...

class StockTable:
    """What every breakpoint of every product costs in each leaf."""

    def __init__(
        self,
        samples: LeafSamples,
        demand: Floats,
        holding: Floats,
        backorder: Floats,
        lower: Floats,
        upper: Floats,
        alive: Ints | None = None,
        tree: Ints | None = None,
        dearest: float = ...,
        seconds: float = ...,
    ) -> None: ...
    whole: Final[bool]
    points: Final[Floats]
    breakpoints: Final[int]

class StockCriterion(MeanCriterion):
    """Some quantities must not cost more than a rival."""

    def __init__(
        self,
        table: StockTable,
        rival: Floats,
        all: StockTable | None = None,
        budget: float = ...,
        limit: tuple[int, float, bool] | None = None,
    ) -> None: ...
    breakpoints: Final[int]

class Plausibility:
    """Contexts that an isolation forest needs many splits to set apart."""

    def __init__(self, grid: Grid, first: int, short_by: Floats) -> None: ...
    def short_by(self, cells: Ints) -> float:
        """By how much the mean path at a cell is short of the least one."""

class Shares:
    """How the price of every step is shared out among the trees."""

    def __init__(self, located: Located, bucket: Ints, edge: Floats, begin: Ints, part: Floats) -> None: ...

class FewChanges:
    """Which features may differ from the start together."""

    def __init__(self, feature: Ints, most: int, barred: list[list[int]] = ..., free: list[int] = ...) -> None: ...
    def keep(self, box: Box) -> bool:
        """Keep what must stay beside the features that change in all of a box; false where too many do."""

class ForestSearch:
    """Best-first search over the boxes of a forest."""

    def __init__(
        self,
        located: Located,
        criterion: Criterion,
        tau: float,
        threads: int = 1,
        plausible: Plausibility | None = None,
        few: FewChanges | None = None,
    ) -> None: ...
    def ask_in_boxes(self, eager: bool) -> None:
        """From now on boxes of an absolute question have rivals of their own, and ask for them at once where eager."""

    def advance(
        self, budget: int, cutoff: float, shares: Shares | None = None, sharp: bool = False, seconds: float = ...
    ) -> tuple[bool, float]: ...
    def answer(self, row: Floats) -> None:
        """A plan that beats the alternative at the candidate: what each leaf adds to the criterion against it."""

    def meet(self, row: Floats) -> None:
        """A plan that was met elsewhere."""

    def show_latest(self, count: int) -> None:
        """Show the criterion the rivals met last."""

    bytes: Final[int]
    def exclude(self, cells: Ints, all: bool = False) -> None:
        """Leave out the contexts with the same leaves as in this cell, in the trees of the criterion or in all."""

    cells: Final[Ints]
    examined: Final[int]

class PotentialSearch:
    """Best-first search for a few plans, each by itself."""

    def __init__(self, located: Located, worth: Floats, tau: float, proved: float = 0.0) -> None: ...
    def advance(self, budget: int, cutoff: float, seconds: float = ...) -> tuple[bool, float]:
        """Search on for this many boxes or seconds: whether what was found is proved nearest, and the proved bound."""

    bytes: Final[int]
    cells: Final[Ints]
    distance: Final[float]
    examined: Final[int]

class Proposals:
    """Good explanations found without proof."""

    looks: int
    found: float
    none_nearer: float

    def __init__(
        self,
        located: Located,
        criterion: Criterion,
        tau: float,
        looks: int,
        seconds: float = ...,
        plausible: Plausibility | None = None,
        few: FewChanges | None = None,
    ) -> None: ...
    def try_lines(self) -> None: ...
    def pull_back(self, starts: Ints, improved: int) -> None: ...
    def exchange(self, starts: Ints, improved: int, parts: int, looks: int) -> None: ...
    def climb(self, cutoff: float) -> bool: ...
    def descend(self, cells: Ints) -> bool: ...
    best: Final[Ints]
    cells: Final[Ints]

class Box:
    """An interval of cells in every column; at first all that the question allows."""

    def __init__(self, located: Located) -> None: ...
    low: Final[Ints]
    high: Final[Ints]
    def restrict(self, column: int, first: int, last: int) -> bool: ...
    def project(self) -> tuple[float, Ints]: ...
    def tighten(self, room: float) -> bool: ...
    def leaves(self, room: float = ...) -> Ints: ...

class Queue:
    """The boxes that wait, nearest first: at the beginning the whole space, link -1."""

    def __init__(self) -> None: ...
    def __bool__(self) -> bool: ...
    def wait(self, link: int, key: float) -> None: ...
    def take(self) -> tuple[float, int]: ...
    def link(self, parent: int, column: int, first: int, last: int) -> int: ...
    def hold(self, link: int) -> None: ...
    def release(self, link: int) -> None: ...
    def rebuild(self, link: int, box: Box) -> bool: ...
    bytes: Final[int]

class OpenBox:
    """The box under way: the leaves that it meets, as far as they are not ruled out."""

    def __init__(self, box: Box, criterion: Criterion, tau: float, plausible: Plausibility | None = None) -> None: ...
    leaves: Final[Ints]
    def bound(self, criterion: Criterion, tau: float) -> bool: ...

class Faces:
    """Chooses the face, a column and a cut, at which a box is split; None where there is none."""

    def __init__(self, located: Located) -> None: ...
    def pulling(self, open: OpenBox) -> tuple[int, int] | None: ...
    def around(self, open: OpenBox) -> tuple[int, int] | None: ...

class KernelShape(Enum):
    """How a kernel falls."""

    GAUSSIAN = 0
    EPANECHNIKOV = 1
    BIWEIGHT = 2
    TRICUBE = 3

class KernelMeasure(Enum):
    """What measures how far past contexts are."""

    SCORES = 0
    SQUARES = 1
    SUMS = 2

class KernelSearch:
    """Best-first search over boxes of contexts that a kernel weighs."""

    def __init__(
        self,
        axes: list[Axis],
        measure: KernelMeasure,
        shape: KernelShape,
        rows: Floats,
        factors: Floats,
        base: Floats,
        entries: Floats | None,
        least: float,
        alternative: Floats,
        tau: float,
        tail: float | None = None,
        rules: Rules | None = None,
        most: int | None = None,
        barred: list[list[int]] = ...,
        free: list[int] = ...,
    ) -> None: ...
    def cut(self, rival: Floats) -> None:
        """The alternative must not lose to a plan with these costs."""

    def tighten(self, by: float) -> None:
        """The alternative must be better by so much more."""

    def advance(self, boxes: int, cutoff: float, gap: float, seconds: float = ...) -> bool: ...
    def standing(self, contexts: Floats) -> NDArray[np.bool_]:
        """For every context, whether it is an explanation."""

    def forget_met(self) -> None:
        """Forget the explanation that was met."""

    bytes: Final[int]
    nodes: Final[int]
    bound: Final[float]
    met: Final[Floats]
    met_distance: Final[float]

class SimplexStatus(Enum):
    """How a linear program ended."""

    SOLVED = 0
    INFEASIBLE = 1
    UNKNOWN = 2

class Simplex:
    """Least cost u >= 0, u <= upper, under rows that are added one by one."""

    def __init__(self, upper: Floats, cost: Floats, second_cost: Floats, most_rows: int) -> None: ...
    def add_row(self, row: Floats, limit: float) -> None:
        """Ask for row @ u <= limit."""

    def minimise(self, cutoff: float = ...) -> tuple[SimplexStatus, float]:
        """Status and least cost; a cost above the cutoff counts as infeasible."""

    def clear_rows(self) -> None:
        """Forget all rows."""

    def solution(self) -> Floats:
        """Values of the variables."""

class Rules:
    """Which contexts of a nearest-neighbour question can exist."""

    def __init__(self, nodes: Floats, roots: NDArray[np.int64], rows: Floats, limits: Floats) -> None: ...

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
        levels: Floats | None = None,
        costs: Floats | None = None,
        gaps: Floats | None = None,
        period: float = 0.0,
    ) -> None: ...
    kind: Final[AxisKind]
    period: Final[float]
    start: Final[float]
    weight: Final[float]
    lower: Final[float]
    upper: Final[float]
    gaps: Final[Floats]
    levels: Final[Floats]
    costs: Final[Floats]
    def far(self, values: Floats) -> Floats:
        """Distance of numbers from the start."""

class NeighbourProgress(Enum):
    """Why a search came back."""

    SPENT = 0
    CANDIDATE = 1
    EXHAUSTED = 2

class Places:
    """Contexts and past ones as places whose Euclidean distance counts."""

    def __init__(
        self, axes: list[Axis], members: Floats, columns: Floats, ranks: Floats | None, origin: Floats
    ) -> None: ...

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
        widest: float = ...,
        confidence: float = 0.0,
        rules: Rules | None = None,
        most: int | None = None,
        barred: list[list[int]] = ...,
        slopes: Floats | None = None,
        entries: Floats | None = None,
        apart: float = 1.0,
        by_nearness: bool = False,
        places: Places | None = None,
        free: list[int] = ...,
    ) -> None: ...
    def cut(self, rival: Floats) -> None:
        """The alternative must not lose to a plan with these costs."""

    def tighten(self, by: float) -> None:
        """The alternative must be better by so much more, where neighbours count by their nearness."""

    def exclude(self, members: NDArray[np.int64]) -> None:
        """Leave out this set of neighbours."""

    def restart(self) -> None:
        """Begin again with the whole space."""

    def advance(
        self,
        boxes: int,
        radius: float,
        threads: int = 1,
        pause: float = ...,
        seconds: float = ...,
        numbers: int = ...,
    ) -> NeighbourProgress: ...
    def standing(self, contexts: Floats) -> NDArray[np.bool_]:
        """For every context, whether it is an explanation."""

    def forget_met(self) -> None:
        """Forget the explanation that was met."""

    bytes: Final[int]
    nodes: Final[int]
    bound: Final[float]
    candidate: Final[Floats]
    met: Final[Floats]
    met_distance: Final[float]

class LeastCosts:
    """What the best plan for some rows costs."""

    def of_cuts(self, rows: NDArray[np.int64], weights: Floats, cuts: NDArray[np.int64]) -> Floats:
        """For every cut, the least costs of the rows before and after it together."""

class StockCosts(LeastCosts):
    """Quantities of several products."""

    def __init__(
        self, demands: Floats, holding: Floats, backorder: Floats, multipliers: Floats, budget: float
    ) -> None: ...

class RouteCosts(LeastCosts):
    """Routes of a network without cycles."""

    def __init__(self, costs: Floats, network: Network) -> None: ...

class PlanCosts(LeastCosts):
    """Plans that are tried."""

    def __init__(self, values: Floats) -> None: ...

class TreeGrower:
    """Trees whose splits are chosen for the cost of the decision."""

    def __init__(
        self,
        contexts: NDArray[np.float32],
        least: LeastCosts,
        outcomes: Floats,
        max_depth: int,
        min_leaf: int,
        tried: int,
        by_outcomes: bool,
        missing: bool = False,
    ) -> None: ...
    def grow(
        self, count: Floats, counted: NDArray[np.bool_] | None, seed: int
    ) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...

class Descent:
    """The leaves of one context in all trees of several forests."""

    def __init__(
        self,
        column: NDArray[np.int64],
        threshold: Floats,
        left: NDArray[np.int64],
        right: NDArray[np.int64],
        missing_left: NDArray[np.int64],
        roots: NDArray[np.int64],
        first: NDArray[np.int64],
        size: NDArray[np.int64],
        orders: Sequence[NDArray[np.int32]],
    ) -> None: ...
    def leaves(self, row: NDArray[np.float32]) -> NDArray[np.int64]:
        """The leaf of every tree, numbered on from tree to tree."""

    def weights(self, row: NDArray[np.float32]) -> Floats:
        """By forest, one per row, the weights of its samples where all of them count alike."""

def leaves(
    feature: NDArray[np.int64],
    threshold: Floats,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    missing_left: NDArray[np.int64],
    rows: Floats,
    found: NDArray[np.int64],
) -> None:
    """The leaf of every row, into found."""

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
