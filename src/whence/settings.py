"""How a search goes about a question: what its user may set, and what was chosen once by measuring.

Every number here changes how long an answer takes and never what it is: tests pass other ones and ask for the same
answers. Benchmarks are named by their file in ``benchmarks/``. A pair is for expected cost, then for CVaR.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class SearchSettings:
    """What an engine is told besides the question.

    Attributes
    ----------
    separation : float
        Least gap between the k-th and (k+1)-th neighbour distance.
    threads : int, optional
        Threads that may work on the question; what an engine takes by itself where left out.
    options : mapping
        What only some engines understand.
    """

    separation: float = 1e-6
    threads: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    # ---- slices of the driver: how often limits, progress and Ctrl-C are looked at ---------------------------------

    #: Seconds that a frontier searches before it is asked again: progress looks smooth, and asking costs under 1 %.
    slice_seconds: float = 0.05
    #: Seconds after which a frontier that can stop between two boxes returns: Ctrl-C is felt at once.
    longest_slice: float = 0.5
    #: Times the boxes of the slice before that a slice has at most: later boxes may take longer than those measured.
    slice_growth: int = 8

    # ---- forests: contexts proposed without proof (forest_search, questions) ---------------------------------------

    #: Boxes before the first proposal. The first boxes are the largest, and what is found makes them smaller: the more
    #: a box costs, the sooner that pays.
    patience: tuple[int, int] = (500, 0)
    #: The same where the claim must hold by standard errors (holds).
    patience_confident: tuple[int, int] = (64, 0)
    #: Past contexts that satisfy the criterion and are pulled towards the start; under CVaR exchanges improve the best.
    improved: tuple[int, int] = (6, 2)
    #: Boxes after which the plain bound has stalled: proposals by climbing, and the strong bound.
    stalled: int = 2000
    #: Past contexts from which a set without any context is descended, and times the looks of other proposals.
    descents: int = 12
    descent_looks: int = 8
    #: Boxes after which a set and deep trees are worth proposals by exchanges, and times the looks of other ones.
    exchange_from: int = 2500
    exchange_looks: int = 5
    #: Leaves from which a proposal comes before the first box, and seconds that must be left for it (defaults).
    large_forest: int = 100_000
    large_forest_seconds: float = 0.25
    #: Past contexts that are tried, nearest first, and how many are improved by exchanges, ten times as dear.
    tried: int = 4000
    exchanged: int = 10
    #: Of exchanges: parts of its way that a column is set nearer by, and contexts looked at for another column to make
    #: up for it. In passing, before a long proof, and for the best context there.
    exchange_passing: tuple[int, int] = (2, 4)
    exchange_long: tuple[int, int] = (4, 12)
    exchange_fine: tuple[int, int] = (8, 24)
    #: Seconds that one proposal takes at most, about.
    proposal_seconds: float = 0.1

    # ---- past contexts in which the claim holds (deep) ---------------------------------------------------------------

    #: Boxes, or plans met, without any context after which all past contexts are looked at: easy questions are over.
    recall_after: int = 1000
    recall_cuts: int = 32
    #: Boxes after which that is so in forests with more leaves than `large_forest`, whose boxes are dear.
    recall_large: int = 32
    #: Work that finding and improving one may take, in seconds that it needs about, and what a solve counts for; wall
    #: seconds that it takes at most, past contexts that are looked at, nearest first, and numbers of their weights.
    recall_work: float = 1.0
    recall_nearer: float = 0.3
    recall_solve: float = 0.004
    recall_seconds: float = 5.0
    recall_looks: int = 20_000
    recall_numbers: int = 20_000_000
    #: Past contexts of which the weights are kept as long as plans that are better are met there.
    recall_few: int = 128
    #: Past contexts, from the nearest to the farthest, whose best plans of a set are tried in all others.
    recall_spread: int = 16
    #: Plans met on the way nearer, and halvings of the way of a feature where there is no criterion of leaves.
    recall_turns: int = 24
    recall_halvings: int = 5

    # ---- forests: how boxes are bounded and split (forest_search) --------------------------------------------------

    #: Coordinates from which the strong bound pays; with standard errors as under CVaR.
    strong_from: tuple[int, int] = (8, 25)
    #: Buckets of steps per column and direction of the strong bound, where the number of columns leaves room for them.
    buckets: int = 12
    #: Boxes after which they are split where both halves come nearest to being settled, no longer next to the nearest
    #: point; and the same with the strong bound.
    sharp_from: tuple[int, int] = (500, 0)
    sharper_from: int = 16_000
    #: Coordinates up to which that is done with the plain bound.
    sharp_to: int = 24
    #: Leaves a tree above which trees are deep: one plan begins with such splits, for a set large boxes would be dear.
    many_leaves: int = 64
    #: Numbers in the CVaR table of a plan, and of all plans, above which rows are made when needed (12 bytes each).
    tail_table: int = 20_000_000
    tail_tables: int = 60_000_000
    #: Nodes or thresholds that one step of building a grid deals with: a twentieth of a second (weights_scale).
    grid_step: int = 200_000

    # ---- forests: absolute questions (absolute) ----------------------------------------------------------------------

    #: Rivals that all boxes share before they have their own.
    common_rivals: int = 32
    #: Boxes after which the search begins anew, such that each box asks for the best plan at its nearest point.
    eager_from: int = 32_000
    #: Boxes before the first proposal, and the factor until the next one.
    first_look: int = 500
    later_look: int = 4
    #: Rivals that proposals are judged by, and how many proposals may be refuted in a row.
    recent_rivals: int = 24
    refuted: int = 8

    # ---- potentials: plans one by one (questions) --------------------------------------------------------------------

    #: Boxes after which plans are taken one by one, as soon as all proposals have been tried.
    potentials_after: int = 2_001
    #: Coordinates from which that pays, and leaves a tree up to which it does.
    potentials_columns: int = 8
    potentials_leaves: int = 64
    #: Plans up to which that is so; and more of them, which take a while to list, where there are this many coordinates
    #: and seconds left.
    potentials_plans: int = 400
    potentials_most_plans: int = 4_000
    potentials_many_columns: int = 16
    potentials_seconds: float = 4.0
    #: Boxes of a slice: they are dear, and the clock is looked at between slices.
    potentials_slice: int = 64
    #: Boxes with potentials after which one plan with fewer coordinates also goes on without them, and how many plain
    #: boxes for each: they take as long, and now and then they are done sooner.
    potentials_both_from: int = 4_000
    potentials_plain: int = 7

    # ---- sets of plans (questions) -----------------------------------------------------------------------------------

    #: Numbers in the table of a list of plans (8 bytes each).
    set_table: int = 12_000_000
    #: Plans that are listed.
    set_listed: tuple[int, int] = (4_000, 1_000)
    #: Numbers of a table over all leaves from which it pays to know a context before it is made.
    set_large: int = 500_000
    #: Past contexts, evenly from the first to the last, where it is asked what a unit of a budget is worth, and how
    #: many times the most of that the largest price is: others are hardly ever needed, a wider range takes longer.
    budget_looks: int = 8
    budget_margin: float = 2.0
    #: Tables of quantities that are kept with a forest (4 bytes a row, tree and product each).
    stock_tables: int = 4
    #: Past contexts, evenly from the nearest to the farthest, whose best routes stand for very many; how often they
    #: propose a context before all routes count; and boxes after which these count where that failed.
    route_pool: int = 32
    route_turns: int = 2
    route_all_after: int = 64
    #: Boxes before the first proposal where very many routes have as many rivals: such boxes are dear.
    route_early: int = 8
    #: Where the set's own `solve` bounds boxes: past contexts whose best plans are tried, the share of the time left
    #: for that, boxes of the search among them, the share of trees that are decided before a box is solved for, and
    #: leaves a tree that are solved for at once: a box that meets more of them is split first.
    solved_tried: int = 200
    solved_share: float = 0.25
    solved_boxes: int = 20_000
    solved_decided: float = 0.2
    solved_leaves: float = 2.0

    # ---- neighbours and kernels (knn_search, predictors) -------------------------------------------------------------

    #: Radius of the first ball, in the distance of explanations; factors by which balls grow, the larger one while
    #: they take at most this many boxes; and how much farther a context may be to make the next ball.
    first_radius: float = 0.02
    wider: float = 1.2
    much_wider: float = 1.7
    easy_boxes: int = 64
    close: float = 1.2
    #: Boxes before contexts met on the way are looked at; then again whenever an eighth more have been examined.
    first_milestone: int = 16
    #: Boxes before the first proposal, and distances that one proposal may compute at random contexts.
    seeds_from: int = 256
    seed_distances: int = 100_000
    #: Rounds of pulling a context towards the start.
    seed_rounds: int = 30

    # ---- regions (holds_rule) ----------------------------------------------------------------------------------------

    #: Cells of a region that are looked at, all of them or drawn at random, for plans that beat the alternative.
    region_looks: int = 2000
    #: Boxes after which a slab is split where both halves gain most: it may well hold no bad cell at all.
    region_patience: int = 64
    #: Boxes of one slice, and seconds after which it looks at the clock.
    region_slice: int = 20_000
    region_clock: float = 0.05
    #: Plans that get a search each; under CVaR each takes a table.
    region_listed: tuple[int, int] = (4_000, 400)
    #: Numbers in the table of the leaves of a box and all samples.
    region_table: int = 20_000_000
