"""The nearest-neighbour search against references that share no code with it."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.asking import asking, varied
from tests.blocks import seeds
from tests.knn_reference import judge, nearest_by_milp, nearest_by_vertices
from tests.timing import at_most

from whence.features.space import Space
from whence.question import Answer, Limits, Question
from whence.risk import CVaR, Expectation, Risk
from whence.search.neighbour_search import NeighbourFrontier, explain
from whence.weights import InputMap, KNNWeights

Floats = NDArray[np.float64]

#: c continuous, o continuous with the start outside its bounds, d discrete, b binary, k category, f fixed.
SHAPES = [
    "c",
    "cc",
    "cb",
    "cd",
    "ck",
    "db",
    "bbbb",
    "kb",
    "dk",
    "ccb",
    "ckb",
    "cdd",
    "o",
    "oc",
    "ob",
    "cf",
    "ccf",
    "kk",
    "bbk",
]


def _numbers(rng: np.random.Generator, shape: Any, lattice: bool) -> Floats:
    return np.round(rng.random(shape) * 4) / 4 if lattice else rng.random(shape)


class _Coordinates:
    """Columns of past contexts and the space they span, feature by feature."""

    def __init__(self, rng: np.random.Generator, n: int, lattice: bool, weighted: bool) -> None:
        self.rng, self.n, self.lattice, self.weighted = rng, n, lattice, weighted
        self.columns: list[Floats] = []
        self.rows: list[tuple[float, float, float, Floats | None, float, int]] = []

    def add(self, kind: str, number: int) -> None:
        rng, n = self.rng, self.n
        weight = float(rng.uniform(0.3, 3.0)) if self.weighted else 1.0
        if kind == "k":
            levels = 3
            held, start = rng.integers(levels, size=n), int(rng.integers(levels))
            banned = int(rng.integers(levels)) if rng.random() < 0.3 else -1
            for level in range(levels):
                allowed = np.array([0.0]) if level == banned != start else np.array([0.0, 0.5])
                self.columns.append(0.5 * (held == level))
                self.rows.append((0.5 * (start == level), allowed[0], allowed[-1], allowed, weight, number))
            return
        if kind in "bd":
            values = np.array([0.0, 1.0]) if kind == "b" else np.array([0.0, 0.3, 0.55, 1.0])
            self.columns.append(rng.choice(values, n))
            start = float(rng.choice(values))
            self.rows.append((start, values[0], values[-1], values, weight, -1))
            return
        self.columns.append(_numbers(rng, n, self.lattice))
        start = float(_numbers(rng, 1, self.lattice)[0])
        low, high = 0.0, 1.0
        if kind == "f":
            low = high = start
        elif kind == "o":
            start, low, high = (0.1, 0.35, 0.9) if rng.random() < 0.5 else (0.95, 0.05, 0.6)
        elif rng.random() < 0.2:
            low = start
        self.rows.append((start, low, high, None, weight, -1))

    def space(self) -> tuple[Floats, Space]:
        start, low, high, levels, weight, group = zip(*self.rows, strict=True)
        space = Space(
            np.array(start),
            np.array(low),
            np.array(high),
            tuple(levels),
            np.array(weight),
            np.array(group, dtype=np.int64),
        )
        return np.column_stack(self.columns), space


def ask(
    points: Floats, space: Space, k: int, alternative: Floats, rivals: Sequence[Floats], risk: Risk,
    kind: Any = "relative", separation: float = 1e-6, **limits: Any,
) -> Question:  # fmt: skip
    """A question whose only plans are the alternative and the rivals; the first rival is the decision."""
    tau = 1e-6 * float(np.abs(alternative).max())

    def better(weights: Floats) -> Floats | None:
        cost = risk.of(alternative, weights)
        best = min(rivals, key=lambda rival: risk.of(rival, weights))
        return best if cost > risk.of(best, weights) + tau else None

    d = points.shape[1]
    return asking(
        space, KNNWeights(k).fit(points), InputMap(np.arange(d), np.ones(d), np.zeros(d)), alternative, rivals[0], risk,
        kind, tau, separation, better, Limits(**limits),
    )  # fmt: skip


def random_case(seed: int, shape: str | None = None, most: int = 8) -> tuple[Question, list[Floats]]:
    """A small question and the rivals the alternative must stand against."""
    rng = np.random.default_rng(seed)
    shape = SHAPES[seed % len(SHAPES)] if shape is None else shape
    n = int(rng.integers(3, most + 1))
    coordinates = _Coordinates(rng, n, lattice=rng.random() < 0.3, weighted=rng.random() < 0.4)
    for number, kind in enumerate(shape):
        coordinates.add(kind, number)
    points, space = coordinates.space()
    if rng.random() < 0.2:
        points[n // 2 :] = points[: n - n // 2]
    k = int(rng.choice([1, n - 1, int(rng.integers(1, n))]))
    risk: Risk = CVaR(float(rng.choice([0.3, 0.5, 0.8, 0.95]))) if rng.random() < 0.5 else Expectation()
    kind = "absolute" if rng.random() < 0.5 else "relative"
    alternative = rng.random(n) + rng.choice([-0.2, 0.0, 0.2])
    rivals = [rng.random(n) for _ in range(int(rng.integers(1, 5)))]
    separation = float(rng.choice([1e-6, 1e-6, 1e-3, 0.037]))
    question = ask(points, space, k, alternative, rivals, risk, kind, separation)
    return question, rivals if kind == "absolute" else rivals[:1]


def assert_stands(question: Question, answer: Answer, rivals: Sequence[Floats]) -> None:
    """The context is allowed, separates its neighbours, and the alternative stands there."""
    assert answer.point is not None
    assert isinstance(question.weights, KNNWeights)
    assert question.space.contains(answer.point)
    assert answer.distance == pytest.approx(question.space.distance(answer.point), abs=1e-12)
    distance = np.abs(question.weights.points_ - answer.point).sum(axis=1)
    order = np.argsort(distance)
    k = question.weights.k
    assert distance[order[k]] - distance[order[k - 1]] >= question.settings.separation
    assert judge(question, rivals)(order[:k])


def assert_agrees(question: Question, rivals: Sequence[Floats], expected: float) -> None:
    """The search proves the reference's distance."""
    answer = explain(question)
    if expected == np.inf:
        assert answer.status == "none"
        assert answer.point is None
        assert answer.distance == answer.bound == np.inf
    else:
        assert answer.status == "optimal"
        assert answer.distance == pytest.approx(expected, abs=1e-6)
        assert answer.bound == pytest.approx(answer.distance, abs=1e-9)
        assert_stands(question, answer, rivals)


@pytest.mark.parametrize("block", seeds(15, 60))
def test_agrees_with_every_vertex(block: int) -> None:
    """On small questions of every kind the distance is that of the best vertex of the arrangement."""
    for seed in range(20 * block, 20 * block + 20):
        question, rivals = random_case(seed)
        assert_agrees(question, rivals, nearest_by_vertices(question, rivals))


def _in_small_steps(question: Question, rivals: Sequence[Floats]) -> float:
    """Nearest distance by a loop of its own: two boxes at a time, and a proposal after each step."""
    frontier = NeighbourFrontier(question)
    for rival in rivals:
        frontier.cut(rival)
    cutoff = np.inf
    while True:
        point = frontier.advance(2, cutoff)
        if point is not None:
            return question.space.distance(point)
        if frontier.bound >= cutoff:
            return cutoff
        frontier.seeds.due = frontier.milestone = 0
        proposal = frontier.propose(cutoff)
        if proposal is not None:
            distance = question.space.distance(proposal)
            assert distance < cutoff
            assert frontier.bound <= distance + 1e-9
            assert_stands(question, Answer("time_limit", proposal, distance, 0.0), rivals)
            cutoff = distance


@pytest.mark.parametrize("block", seeds(4, 15))
def test_proposals_do_not_change_the_answer(block: int) -> None:
    """With proposals and tiny steps the distance is still that of the best vertex; every proposal stands."""
    for seed in range(5000 + 20 * block, 5020 + 20 * block):
        question, rivals = random_case(seed)
        expected = nearest_by_vertices(question, rivals)
        assert _in_small_steps(question, rivals) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", seeds(6, 24))
def test_agrees_with_the_integer_program(seed: int) -> None:
    """In three continuous coordinates the distance is that of the integer program."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 8))
    points = _numbers(rng, (n, 3), lattice=seed % 4 == 0)
    space = Space(rng.random(3), np.zeros(3), np.ones(3), (None,) * 3, rng.uniform(0.5, 2.0, 3), np.full(3, -1))
    rivals = [rng.random(n) for _ in range(2)]
    kind = "absolute" if seed % 2 else "relative"
    question = ask(points, space, int(rng.integers(1, n)), rng.random(n), rivals, Expectation(), kind, separation=1e-3)
    rivals = rivals if kind == "absolute" else rivals[:1]
    assert_agrees(question, rivals, nearest_by_milp(question, rivals))


@pytest.mark.parametrize("seed", range(6))
def test_all_binary_contexts_end_although_most_tie(seed: int) -> None:
    """With binary features only, where nearly all distances tie, the answer is the best of all 64 contexts or none."""
    rng = np.random.default_rng(seed)
    n, d, k = 40, 6, 5 + seed
    points = rng.integers(0, 2, (n, d)).astype(float)
    start = rng.integers(0, 2, d).astype(float)
    space = Space(start, np.zeros(d), np.ones(d), (np.array([0.0, 1.0]),) * d, np.ones(d), np.full(d, -1))
    rivals = [rng.random(n) for _ in range(3)]
    for kind in ("relative", "absolute"):
        question = ask(points, space, k, rng.random(n), rivals, Expectation(), kind)
        against = rivals if kind == "absolute" else rivals[:1]
        assert_agrees(question, against, nearest_by_vertices(question, against))


def _large(
    seed: int, n: int = 200, d: int = 4, k: int = 10, risk: Risk | None = None, kind: Any = "relative", **limits: Any
) -> tuple[Question, list[Floats]]:
    """Plans whose costs depend on the context: the alternative is best elsewhere, not at the start."""
    rng = np.random.default_rng(seed)
    points = rng.random((n, d))
    points[0], points[1] = 0.0, 1.0
    effects = rng.random((6, d)) * (rng.random((6, d)) < 0.6)
    costs = list(1.0 + effects @ points.T / d + 0.5 * rng.random((6, n)))
    space = Space(rng.random(d), np.zeros(d), np.ones(d), (None,) * d, np.ones(d), np.full(d, -1))
    at_start = KNNWeights(k).fit(points).at(space.start)
    order = np.argsort([float(at_start @ c) for c in costs])
    rivals = [costs[i] for i in order if i != order[2]]
    question = ask(points, space, k, costs[order[2]], rivals, risk or Expectation(), kind, **limits)
    return question, rivals if kind == "absolute" else rivals[:1]


@pytest.mark.parametrize("risk", [Expectation(), CVaR(0.7)], ids=["mean", "tail"])
@pytest.mark.parametrize("kind", ["relative", "absolute"])
@pytest.mark.parametrize("seed", seeds(2, 5))
def test_no_random_context_in_the_ball_is_an_explanation(seed: int, kind: str, risk: Risk) -> None:
    """None of 20,000 random contexts nearer than the answer separates its neighbours and satisfies the criterion."""
    question, rivals = _large(seed, risk=risk, kind=kind)
    answer = explain(question)
    assert answer.status in ("optimal", "none")
    radius = min(answer.distance, 4.0)
    if answer.point is not None:
        assert_stands(question, answer, rivals)
    rng = np.random.default_rng(seed)
    space, estimator = question.space, question.weights
    assert isinstance(estimator, KNNWeights)
    steps = rng.exponential(size=(20_000, 4)) * rng.choice([-1.0, 1.0], (20_000, 4))
    steps *= radius * rng.random((20_000, 1)) ** 0.25 / np.abs(steps).sum(axis=1, keepdims=True)
    contexts = np.clip(space.start + steps, 0.0, 1.0)
    holds = judge(question, rivals)
    known: dict[bytes, bool] = {}
    for rows in np.array_split(contexts, 20):
        distance = np.abs(rows[:, None, :] - estimator.points_).sum(axis=2)
        order = np.argpartition(distance, estimator.k, axis=1)
        following = np.take_along_axis(distance, order[:, estimator.k :], axis=1).min(axis=1)
        last = np.take_along_axis(distance, order[:, : estimator.k], axis=1).max(axis=1)
        for row, members, gap in zip(rows, np.sort(order[:, : estimator.k]), following - last, strict=True):
            if space.distance(row) < answer.distance - 1e-6 and gap >= question.settings.separation:
                key = members.tobytes()
                if key not in known:
                    known[key] = holds(members)
                assert not known[key]


@pytest.mark.parametrize("seed", seeds(2, 6))
def test_what_must_not_bring_an_explanation_nearer(seed: int) -> None:
    """Asking for more (all rivals) or allowing less (a fixed feature, an upper bound) never gives a nearer context."""
    relative = explain(_large(seed)[0])
    assert explain(_large(seed, kind="absolute")[0]).distance >= relative.distance - 1e-9
    question = _large(seed)[0]
    space = question.space
    fixed = varied(space, lower=np.r_[space.start[0], space.lower[1:]], upper=np.r_[space.start[0], space.upper[1:]])
    assert explain(varied(question, space=fixed)).distance >= relative.distance - 1e-9
    question = _large(seed)[0]
    capped = varied(space, upper=0.5 * (space.start + 1.0))
    assert explain(varied(question, space=capped)).distance >= relative.distance - 1e-9


@pytest.mark.parametrize("seed", seeds(5, 20))
def test_what_must_not_change_the_distance(seed: int) -> None:
    """The order of observations and of features, and the unit of the costs, leave the distance as it is."""
    question = _large(seed)[0]
    expected = explain(question).distance
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(200), rng.permutation(4)
    assert isinstance(question.weights, KNNWeights)
    points = question.weights.points_
    other = varied(
        _large(seed)[0],
        weights=KNNWeights(10).fit(points[rows][:, columns]),
        space=varied(question.space, start=question.space.start[columns]),
        alternative=question.claim.alternative[rows],
        decision=question.claim.decision[rows],
    )
    assert explain(other).distance == pytest.approx(expected, abs=1e-7)
    scaled = varied(
        _large(seed)[0],
        alternative=1e3 * question.claim.alternative,
        decision=1e3 * question.claim.decision,
        tau=1e3 * question.claim.tau,
    )
    assert explain(scaled).distance == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("seed", seeds(1, 4))
def test_more_nodes_never_make_it_worse(seed: int) -> None:
    """With a larger node limit the bound never falls and the distance never rises, and both enclose the optimum."""
    optimum = explain(_large(seed, d=6)[0]).distance
    bound, distance = 0.0, np.inf
    for nodes in (1, 10, 100, 1000, 10_000):
        answer = explain(_large(seed, d=6, node_limit=nodes)[0])
        assert answer.bound >= bound - 1e-9
        assert answer.distance <= distance + 1e-9
        assert answer.bound - 1e-7 <= optimum <= answer.distance + 1e-7
        bound, distance = answer.bound, answer.distance


@pytest.mark.parametrize("kind", ["relative", "absolute"])
def test_a_node_limit_gives_the_same_answer_whatever_the_clock(kind: Any) -> None:
    """Long and short slices of the search lead to the same boxes, the same bound and the same best context."""
    answers = []
    for seconds in (0.0, 0.001, 10.0):
        question = varied(_large(1, d=10, kind=kind, node_limit=700)[0], slice_seconds=seconds)
        answers.append(explain(question))
    assert answers[0].point is not None
    for answer in answers[1:]:
        assert (answer.status, answer.nodes, answer.bound) == ("time_limit", 700, answers[0].bound)
        assert np.array_equal(answer.point, answers[0].point)


@pytest.mark.parametrize("d", [12, 30])
def test_many_features_give_an_answer_in_time(d: int) -> None:
    """Where a proof takes too long, the best context found stands and the bound does not exceed its distance."""
    question, rivals = _large(1, d=d, time_limit=2.0)
    with at_most(4.0):
        answer = explain(question)
    assert_stands(question, answer, rivals)
    assert 0.0 < answer.bound <= answer.distance


def _corners(**limits: Any) -> Question:
    """Numbers that were 0 or 1 in the past: no coordinate lies inside a box, and no split makes more of it linear."""
    rng = np.random.default_rng(0)
    n, d, k = 500, 20, 30
    points = rng.integers(0, 2, (n, d)).astype(float)
    demand = points @ rng.normal(size=d)
    space = Space(points[0], np.zeros(d), np.ones(d), (None,) * d, np.ones(d), np.full(d, -1))
    here, there = demand[KNNWeights(k).fit(points).at(points[0]) > 0].mean(), demand.min()
    alternative, decision = np.abs(demand - there), 0.6 * np.abs(demand - here)
    return ask(points, space, k, alternative, [decision], Expectation(), **limits)


def test_a_box_that_no_split_makes_linear_ends_in_time() -> None:
    """A time limit ends the search within such a box, with what is proved by then."""
    question = _corners(time_limit=1.0)
    answer = explain(question)
    assert answer.status == "time_limit"
    assert 0.0 < answer.bound <= answer.distance
    assert question.limits.seconds < 20.0


def test_ctrl_c_ends_a_search_among_such_boxes() -> None:
    """A signal that raises KeyboardInterrupt, as that of Ctrl-C does, ends the search with what is known."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        answer = explain(_corners(time_limit=60.0))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert answer.status == "interrupted"
    assert 0.0 <= answer.bound <= answer.distance


def _next_candidate(frontier: NeighbourFrontier) -> Floats:
    """The nearest candidate left, whatever proposals the frontier makes on the way."""
    while (point := frontier.advance(100_000, np.inf)) is None:
        assert frontier.bound < np.inf
        frontier.propose(np.inf)
    return point


@pytest.mark.parametrize("seed", seeds(2, 5))
def test_an_excluded_set_of_neighbours_does_not_come_back(seed: int) -> None:
    """After its neighbours are excluded, the next candidate has others and is not nearer."""
    question = _large(seed)[0]
    frontier = NeighbourFrontier(question)
    frontier.cut(question.claim.decision)
    seen: list[Floats] = []
    distance = 0.0
    for _ in range(5):
        point = _next_candidate(frontier)
        weights = frontier.weights(point)
        assert not any(np.array_equal(weights, earlier) for earlier in seen)
        assert question.space.distance(point) >= distance - 1e-9
        seen.append(weights)
        distance = question.space.distance(point)
        frontier.exclude(point)


@pytest.mark.parametrize("kind", ["relative", "absolute"])
@pytest.mark.parametrize("seed", seeds(1, 4))
def test_two_threads_find_the_same_distance(seed: int, kind: Any) -> None:
    """The proved distance is the same whatever the number of threads."""
    alone, together = explain(_large(seed, kind=kind)[0]), explain(varied(_large(seed, kind=kind)[0], threads=2))
    assert together.status == alone.status
    assert together.distance == pytest.approx(alone.distance, abs=1e-9)


def test_a_candidate_is_handed_out_again_until_something_removes_it() -> None:
    """Asking once more without a new cut gives the same context."""
    question = _large(0)[0]
    frontier = NeighbourFrontier(question)
    frontier.cut(question.claim.decision)
    first = _next_candidate(frontier)
    again = frontier.advance(1, np.inf)
    assert again is not None
    assert np.array_equal(first, again)


def test_a_search_can_be_interrupted() -> None:
    """A callback that returns False ends the search with a valid bound."""
    question = _large(1, d=12, on_progress=lambda progress: False)[0]
    answer = explain(question)
    assert answer.status == "interrupted"
    assert 0.0 <= answer.bound <= answer.distance


def test_nothing_can_move() -> None:
    """With every feature fixed there is only the start itself, which is no explanation here."""
    question = _large(0)[0]
    start = question.space.start
    answer = explain(varied(question, space=varied(question.space, lower=start, upper=start)))
    assert answer.status == "none"
    assert answer.bound == np.inf
