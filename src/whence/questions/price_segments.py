"""The first prices on a segment at which a plan is the best, where the costs of plans are lines along it.

Under CVaR the risk of a plan is convex along a segment, and lies below the chord between two of its points. So a plan
that is better than all chords of its rivals allow is ruled out between these points, and what is left begins where the
plan's own risk, which is convex, first meets the lowest chord: a root that Newton's method finds from the left without
ever passing it. The problem's own solve judges that point: it is the answer, or one more rival is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from whence.problems.pricing import Terms
from whence.risk import tail_flow
from whence.util.aliases import Floats

#: A stretch of the segment that is shorter is a point.
POINT = 1e-11
#: Where less than this share of a stretch was ruled out, the next stretch is half as long.
SLOW = 0.1
#: What is ruled out is so by more than this share of the tolerance: otherwise a point that is approached from there
#: would never be reached.
INNER = 0.75
#: Plans on the way to a rival: how much nearer each of them is, and how many there are at most.
NEARER = 0.125
MOST_NEAR = 6
#: Steps of Newton's method on a function of finitely many pieces.
STEPS = 200


@dataclass
class Segment:
    """Prices from `start` (0) to `end` (1)."""

    start: Floats
    end: Floats
    own: Terms
    weights: Floats
    tail: float | None
    tau: float
    #: By how much the plan costs more than the best one, and that plan, at a point of the segment.
    judge: Callable[[Floats], tuple[float, Any]]
    #: The costs of a rival as lines.
    lines: Callable[[Any], Terms]
    #: The plan that lies a share of the way from the plan to a rival; None where there are no plans between two.
    toward: Callable[[Any, float], Any]
    rivals: list[tuple[Floats, Floats]] = field(default_factory=list)

    def at(self, t: float) -> Floats:
        """The values of the parameters at a point."""
        found: Floats = self.start + t * (self.end - self.start)
        return found

    def first(self, check_time: Callable[[], None]) -> float | None:
        """The first point at which the plan is best; None where there is none."""
        begins, ends = 0.0, [1.0]
        mine = self._line(self.own)
        while ends:
            check_time()
            root = self._root(mine, begins, ends[-1])
            if root is None:
                begins = ends.pop()
                continue
            gap, rival = self.judge(self.at(root))
            if gap <= self.tau:
                return root
            self._learn(rival, root, gap, mine)
            length = ends[-1] - begins
            if length <= POINT:
                begins = ends.pop()
            elif root - begins < SLOW * length:
                ends.append(root + 0.5 * (ends[-1] - root))
                begins = root
            else:
                begins = root
        return None

    def _learn(self, rival: Any, t: float, gap: float, mine: tuple[Floats, Floats]) -> None:
        """Keep a rival that is better at a point, and plans on the way to it that are better there as well.

        The best plan may come ever nearer to the plan without reaching it: plans near the plan rule out the most then.
        """
        chosen, share = [rival], NEARER
        while share * gap > self.tau and len(chosen) < MOST_NEAR:
            nearer = self.toward(rival, share)
            if nearer is None:
                break
            chosen.append(nearer)
            share *= NEARER
        risk = self._risk(mine, t)[0]
        for one in chosen:
            line = self._line(self.lines(one))
            known = any(np.array_equal(line[0], a) and np.array_equal(line[1], b) for a, b in self.rivals)
            if one is rival or risk - self._risk(line, t)[0] > INNER * self.tau:
                self.rivals += [] if known else [line]

    def _line(self, terms: Terms) -> tuple[Floats, Floats]:
        """Costs at the start, and by how much they change up to the end, by observation."""
        first, last = terms.costs(self.start), terms.costs(self.end)
        return first, last - first

    def _risk(self, line: tuple[Floats, Floats], t: float) -> tuple[float, float]:
        """The risk of costs at a point, and a slope of it."""
        costs = line[0] + t * line[1]
        if self.tail is None:
            return float(self.weights @ costs), float(self.weights @ line[1])
        order = np.argsort(-costs, kind="stable")
        flow = tail_flow(self.weights[order], self.tail) / self.tail
        return float(flow @ costs[order]), float(flow @ line[1][order])

    def _root(self, mine: tuple[Floats, Floats], begins: float, ends: float) -> float | None:
        """The first point between two at which no chord of a rival rules the plan out."""
        if not self.rivals:
            return begins
        chords = []
        for rival in self.rivals:
            (low, _), (high, _) = self._risk(rival, begins), self._risk(rival, ends)
            chords.append((low, (high - low) / max(ends - begins, POINT)))
        start, slope = np.array(chords).T
        t = begins
        for _ in range(STEPS):
            risk, rise = self._risk(mine, t)
            over = risk - (start + slope * (t - begins)) - INNER * self.tau
            worst = int(over.argmax())
            if over[worst] <= 0.0:
                return t
            fall = rise - slope[worst]
            if fall >= 0.0:
                return None
            further = t - over[worst] / fall
            if further > ends:
                return None
            if further <= t:
                return t
            t = further
        return t
