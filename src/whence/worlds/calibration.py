"""How many standard errors a share of truth needs, learnt once for a policy from worlds whose truth is known.

In each of some worlds the past contexts get new outcomes, and the policy is fitted to them. What is asked of it there
are questions of its own history: a past context, and the plan that it would decide in another one. Every step of a
ladder of standard errors gives an answer, and the world says whether it is true. This counts at once what refits cannot
tell apart: the luck by which the nearest context was chosen, what changes with the data, and what the weights smooth.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from whence.errors import WhenceError
from whence.problems.base import DecisionProblem
from whence.question import Limits, Progress
from whence.risk import Risk
from whence.util.aliases import Floats
from whence.util.linear_program import OutOfTime
from whence.worlds.curve import TIMES, Curve, counted, mostly_answered
from whence.worlds.world_model import WorldModel

#: Simulated worlds, and questions in each of them.
WORLDS, QUESTIONS = 12, 6
#: Steps of standard errors over a hundred trees; other numbers of trees, or of neighbours, have their own. The first
#: worlds are asked at these.
LADDER = (0.0, 2.0, 5.0, 8.0, 12.0, 16.0, 21.0, 28.0, 38.0)
#: Steps between them. Later worlds are asked at all steps where the share of true answers rises from few to most, each
#: question at every third one.
BETWEEN = (1.0, 3.0, 4.0, 6.5, 10.0, 14.0, 18.5, 24.5, 33.0)
#: How many worlds are the first; between which shares of true answers, the second one safely so, the later ones are
#: asked (a share of 0.95 must be safe there); and that every third of these steps is asked of a question.
FIRST, RISES, EVERY = 4, (0.4, 0.955), 3
#: Boxes after which a search in a world gives what it has found: fewer where each takes longer, since it looks at more
#: observations.
NODES, BOXES_TIMES_ROWS = (500, 6_000), 700_000
#: Pairs of contexts that are drawn for each question, at most: of those that the policy has not seen, and after that as
#: many times with the plan of any past context, where the same few plans are decided nearly everywhere.
TRIES, MORE_TRIES = 4, 3
#: Past contexts, or this part of them where there are few, that the policy of a world has not seen: questions are about
#: these, as users ask about new contexts. In those that it has seen, its plans follow the luck of their own outcomes.
UNSEEN, PART_UNSEEN = 8, 5
#: Once as many answers, and all of them, are true, more standard errors are not tried in the next of the first worlds.
SURELY = 12
#: The fewest worlds that a curve is made of.
LEAST_WORLDS = 2
#: The number of the first of the worlds in which one question is asked by itself: others than those of the curve.
OWN = 1_000
#: Worlds that are simulated at a time, each in a thread of its own: the same whatever the machine.
AT_ONCE = 2

#: The steps of one question in a world: from standard errors to an explanation.
Steps = Callable[[float], Any]
#: From a world's policy, a past context and what is asked instead to the steps; None where it is no question.
Ask = Callable[[Any, pd.Series, Any], "Steps | None"]
#: The numbers of the steps at which questions are asked, which take turns with these.
Plan = list[list[int]]


class Kind(NamedTuple):
    """What a calibration holds for: the kind of claim, its shares and amounts, and the set of plans, if it is one."""

    kind: str
    within: tuple[float, float]
    cheaper_by: tuple[float, float]
    plans: str


class Worlds:
    """The simulated worlds of a fitted policy, and what was learnt from them by kind of question; kept with it."""

    def __init__(self, world: Any = None) -> None:
        self.world = world
        self.curves: dict[Kind, Curve] = {}
        self._model: WorldModel | None = None

    def learn(self, curves: dict[Kind, Curve]) -> None:
        """Take over what was learnt of the same policy elsewhere, where it comes from more worlds."""
        for kind, curve in curves.items():
            if kind not in self.curves or curve.worlds > self.curves[kind].worlds:
                self.curves[kind] = curve

    def model_of(self, policy: Any, before_fit: Callable[[], None] = lambda: None) -> WorldModel:
        """Return the model of the outcomes, made when it is first needed; `before_fit` may end that by raising."""
        if self._model is None:
            inputs = policy.past_inputs()
            similar = policy.weights_.weights(inputs, as_sparse=True)
            self._model = WorldModel(inputs, policy.Y_, base_seed(policy), self.world, before_fit, similar)
        return self._model

    def __getstate__(self) -> dict[str, Any]:
        # A model may be larger than the policy, and can be made again; what was learnt from it is small.
        return {**vars(self), "_model": None}


def base_seed(policy: Any) -> int:
    """The seed of all that is drawn for a policy: the random state of its weights, where that is a number."""
    state = policy.weights_.get_params(deep=False).get("random_state")
    return int(state) if isinstance(state, int | np.integer) else 0


def node_limit(policy: Any) -> int:
    """Boxes that a search in a world may open: a number, and no time, so that it is the same on every machine."""
    return int(np.clip(BOXES_TIMES_ROWS // len(policy.Y_), *NODES))


def ladder_of(policy: Any) -> tuple[float, ...]:
    """The steps that are tried: a standard error over few neighbours is larger than one over many trees."""
    weights = policy.weights_
    if not weights.capabilities.knows_spread:
        return LADDER[:1]
    voters = weights.per_tree(policy.past_inputs()[0])
    factor = 1.0 if voters is None else float(np.sqrt(len(voters) / 100.0))
    return tuple(round(factor * kappa, 3) for kappa in sorted(LADDER + BETWEEN))


@dataclass
class Calibration:
    """One kind of question, asked in one world after the other.

    `plans` is what is asked instead where it is a set, or any plan (None); `own` is the one question that is asked in
    every world in the place of those of the history: its context, what is asked instead, and standard errors.
    """

    policy: Any
    worlds: Worlds
    ask: Ask
    plans: Any = None
    single: bool = True
    limits: Limits = field(default_factory=Limits)
    count: int = WORLDS
    questions: int = QUESTIONS
    own: tuple[pd.Series, Any, float] | None = None

    def curve(self) -> Curve | None:
        """What was seen in all worlds, or in those that there was time for; None where there were too few."""
        self.kappas = ladder_of(self.policy) if self.own is None else (self.own[2],)
        seen: list[list[float | None]] = []
        made = 0
        # A world that there was no time for is left out: what was seen of it would be the questions soon answered.
        with suppress(OutOfTime):
            model = self.worlds.model_of(self.policy, lambda: self._check_time(0))
            began = time.perf_counter()
            for first in range(0, self.count, AT_ONCE):
                each = AT_ONCE * (time.perf_counter() - began) / first if first else 0.0
                self._check_time(first + 1, each)
                numbers = range(first, min(first + AT_ONCE, self.count))
                for found in self._worlds(model, numbers, self._steps(seen, first)):
                    seen += found
                made = numbers.stop
        if made < min(LEAST_WORLDS, self.count):
            return None
        steps = mostly_answered(seen)
        kappas, seen = self.kappas[:steps], [question[:steps] for question in seen]
        answered, true = counted(kappas, seen)
        wider: tuple[tuple[int, ...], ...] = ()
        if any(times is not None and 1.0 < times < np.inf for question in seen for times in question):
            wider = tuple(zip(*(counted(kappas, seen, times)[1] for times in TIMES), strict=True))
        return Curve(kappas, answered, true, len(seen), made, self.count, model.name, model.explained, wider)

    def _check_time(self, number: int, needed: float = 0.0) -> None:
        """Say which world it is (0: the model of them); raise where not so much time is left, or the user stops it."""
        limits = self.limits
        if limits.on_progress is not None:
            told = Progress(0, np.inf, 0.0, limits.seconds, number, self.count, simulated=True)
            if limits.on_progress(told) is False:
                raise OutOfTime
        if limits.remaining <= needed:
            raise OutOfTime

    def _steps(self, seen: list[list[float | None]], worlds: int) -> Plan:
        """At which steps the questions of the next worlds are asked, which take turns with these.

        After so many `worlds`. Beyond a step at which nearly all answers are true nothing is learnt, and nobody asks
        for less than a few.
        """
        answered, true = counted(self.kappas, seen)
        last = len(self.kappas) - 1
        if worlds < FIRST or len(self.kappas) < len(LADDER):
            sure = (i for i, many in enumerate(answered) if many >= SURELY and true[i] == many)
            end = next(sure, last)
            coarse = sorted(LADDER + BETWEEN).index
            some = [coarse(kappa) for kappa in LADDER] if last else [0]
            return [[i for i, before in zip(some, [-1, *some], strict=False) if before < end]]
        curve = Curve(self.kappas, answered, true, len(seen), worlds, self.count, "", 0.0)
        few, most = RISES
        start = max(int(np.searchsorted(curve.shares, few, side="right")) - 1, 0)
        end = min(int(np.searchsorted(curve.safe_shares, most)), last)
        return [sorted({0, end, *range(start + i, end, EVERY)}) for i in range(EVERY)]

    def _worlds(self, model: WorldModel, numbers: range, steps: Plan) -> list[list[list[float | None]]]:
        """Ask the questions of some worlds at once."""
        count = min(len(numbers), effective_n_jobs(-1))
        policies = [copy.copy(self.policy) for _ in numbers]
        try:
            for one in policies[1:]:
                # What a problem keeps between solves is not for two threads.
                one.problem = copy.deepcopy(self.policy.problem)
        except Exception:  # a user's problem may hold anything
            count = 1
        # Models are fitted and asked here, one after the other: filters of warnings are not for two threads either.
        worlds = [self._simulated(model, one, number) for one, number in zip(policies, numbers, strict=True)]
        ask = Parallel(n_jobs=count, prefer="threads")
        answers = list(ask(delayed(self._asked)(*world, steps) for world in worlds))
        return [self._judged(model, one, found) for one, found in zip(policies, answers, strict=True)]

    def _simulated(
        self, model: WorldModel, policy: Any, number: int
    ) -> tuple[Any, np.random.Generator, NDArray[np.int64]]:
        """Return the policy of one world, what draws its questions, and the past contexts that it has not seen."""
        number += 0 if self.own is None else OWN
        rng = np.random.default_rng(np.random.SeedSequence([base_seed(policy), 31, number]))
        history, seed = model.drawn(rng), int(rng.integers(2**31))
        if self.own is not None:
            return policy.with_outcomes(history, seed), rng, np.empty(0, dtype=np.int64)
        count = len(history)
        unseen = rng.permutation(count)[: min(UNSEEN, count // PART_UNSEEN)]
        if len(unseen) > 1:
            # Where there are hardly more than as many neighbours as count, all are needed.
            with suppress(WhenceError):
                return policy.with_outcomes(history, seed, np.setdiff1d(np.arange(count), unseen)), rng, unseen
        return policy.with_outcomes(history, seed), rng, np.arange(count)

    def _asked(
        self, world: Any, rng: np.random.Generator, unseen: NDArray[np.int64], steps: Plan
    ) -> list[dict[int, Any]]:
        """Ask the questions of one world, step by step, as long as there are answers."""
        found: list[dict[int, Any]] = []
        for number, climb in enumerate(self._questions(world, rng, unseen)):
            found.append({})
            for step in steps[number % len(steps)]:
                explanation = climb(self.kappas[step])
                self._check_in_time()
                found[-1][step] = explanation
                if explanation.context is None:
                    break
        return found

    def _check_in_time(self) -> None:
        """Raise where the time is up: a search that was cut off by that tells nothing."""
        if self.limits.remaining <= 0.0:
            raise OutOfTime

    def _judged(self, model: WorldModel, policy: Any, found: list[dict[int, Any]]) -> list[list[float | None]]:
        """Return by question and step how many times as much must be allowed.

        That is None where there is no answer, and not a number where it was not asked.
        """
        answers = [one for some in found for one in some.values() if one.context is not None]
        truths = iter(self._truths(model, policy, answers))
        judged = []
        for some in found:
            row: list[float | None] = [np.nan] * len(self.kappas)
            for step, one in some.items():
                if one.context is None:
                    # More standard errors are never nearer: by more than these there is nothing, either.
                    row[step:] = [None] * (len(row) - step)
                else:
                    row[step] = next(truths)
            judged.append(row)
        return judged

    def _questions(self, world: Any, rng: np.random.Generator, unseen: NDArray[np.int64]) -> Iterator[Steps]:
        """Questions that are none already: a past context, and the plan of another one or a set."""
        if self.own is not None:
            climb = None
            with suppress(WhenceError):  # such as a plan that is the decision in this world
                climb = self.ask(world, *self.own[:2])
            self._check_in_time()
            if climb is not None:
                yield climb
            return
        made, searched, past = 0, 0, self.policy.X_
        few = TRIES * self.questions
        for drawn in range((1 + MORE_TRIES) * few):
            if self.questions == made or searched == few:
                return
            other = rng.choice(unseen if drawn < few else len(past))
            here, there = (past.iloc[int(i)] for i in (unseen[drawn % len(unseen)], other))
            try:
                instead = world.decision_in(world.schema_.row(there)).plan if self.single else self.plans
                climb = self.ask(world, here, instead)
            except WhenceError:
                continue  # such as a context that cannot be explained from
            self._check_in_time()
            if climb is None:
                continue
            searched += 1
            # A plan that is better nowhere tells nothing of answers.
            if climb(self.kappas[0]).context is not None:
                made += 1
                yield climb

    def _truths(self, model: WorldModel, policy: Any, explanations: list[Any]) -> list[float]:
        """How many times as much must be allowed for each explanation to be true in its world: 1 where it is."""
        if not explanations:
            return []
        inputs = np.array([policy.inputs_of(one.context) for one in explanations])
        around = model.around(inputs, policy.weights_.weights(inputs, as_sparse=True))
        return [
            times_there(one, policy.problem, policy.risk_, outcomes, chances)
            for one, (outcomes, chances) in zip(explanations, around, strict=True)
        ]


# ---- whether an answer is true in a world ---------------------------------------------------------------------------

#: An absolute explanation is true where the alternative costs at most this share more than the best plan there, or
#: what was asked for: the very best plan is another one in every world.
NEARLY = 0.01


def excess_there(explanation: Any, problem: DecisionProblem, risk: Risk, outcomes: Floats, weights: Floats) -> float:
    """By how much the alternative costs more than the explanation says, where these outcomes come with these weights.

    Of a set of plans, or of all plans, it is the plan that the explanation names: that one would be carried out.
    """
    above, allowed, behind = _there(explanation, problem, risk, outcomes, weights)
    return max(above - allowed, behind)


def times_there(explanation: Any, problem: DecisionProblem, risk: Risk, outcomes: Floats, weights: Floats) -> float:
    """How many times as much must be allowed for the explanation to be true there: 1 where it is, as it stands.

    Only the distance from the best plan may be allowed; what is not better than the decision stays untrue (infinite).
    """
    above, allowed, behind = _there(explanation, problem, risk, outcomes, weights)
    if max(above - allowed, behind) <= explanation.tolerance:
        return 1.0
    return above / allowed if allowed > 0.0 and behind <= explanation.tolerance else np.inf


def _there(
    explanation: Any, problem: DecisionProblem, risk: Risk, outcomes: Floats, weights: Floats
) -> tuple[float, float, float]:
    """By how much the alternative costs more than the best plan, by how much it may, and how far it is behind."""
    decision = np.asarray(problem.costs(explanation.decision, outcomes))
    cost = _cost(problem, risk, explanation.alternative, outcomes, weights)
    share, amount = explanation.saving
    above, allowed, behind = -np.inf, 0.0, -np.inf
    if explanation.kind == "absolute":
        best = _cost(problem, risk, problem.solve(outcomes, weights, risk), outcomes, weights)
        # A share of costs that may be negative is one of their mean size.
        size = best if decision.min() >= 0.0 and best >= 0.0 else float(np.abs(decision).mean())
        above, allowed = cost - best, max(explanation.allowance, max(NEARLY, explanation.within) * size)
    if explanation.kind == "relative" or share or amount:
        behind = float(cost - (1.0 - share) * risk.of(decision, weights) + amount)
    return above, allowed, behind


def _cost(problem: DecisionProblem, risk: Risk, plan: Any, outcomes: Floats, weights: Floats) -> float:
    return risk.of(np.asarray(problem.costs(plan, outcomes), dtype=np.float64), weights)
