"""Planes above the risk of a plan in a box of prices, by the tails that are possible in it, and by its corners.

The risk is the largest mean under a tail. In a box of prices many observations are in the tail, or out of it, at all
prices: the fewer are left, the nearer a plane comes. A plane is drawn from an anchor: away from it, every price by
itself adds at most what it adds under the tail that suits it best.

The risk is convex in the prices, too: a plane that is above it at all corners of what is less than the reach away is
above it everywhere there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from whence.problems.pricing import Terms
from whence.risk import tail_flow
from whence.util.aliases import Floats

#: Directions in which a box is narrow whose ends make corners, at most.
NARROW = 3
#: What is left of the reach is nothing where it is a smaller share of it.
NOTHING, TINY = 1e-6, 1e-12


@dataclass
class Row:
    """``up @ rises + down @ falls + constant``, as a function of changes."""

    up: Floats
    down: Floats
    constant: float

    def at(self, x: Floats) -> float:
        """The value at changes `x`."""
        return float(self.up @ np.maximum(x, 0.0) + self.down @ np.maximum(-x, 0.0)) + self.constant


@dataclass
class Rows:
    """Lines below the risk of the plan, and lines above that of rivals: each of the former is at most the latter."""

    own: list[Row] = field(default_factory=list)
    over: list[Row] = field(default_factory=list)

    def gap(self, x: Floats) -> float:
        """By how much they are broken at `x`."""
        return max(row.at(x) for row in self.own) - min(row.at(x) for row in self.over)


def straight_row(slope: Floats, constant: float) -> Row:
    """A line along which falls count as rises do, the other way."""
    return Row(slope, -slope, constant)


@dataclass
class PossibleTails:
    """The tails of a plan's costs at prices between `low` and `high`, less than `reach` away from today's."""

    terms: Terms
    question: Any
    tail: float
    low: Floats
    high: Floats
    reach: float

    def __post_init__(self) -> None:
        asked, terms = self.question, self.terms
        assert terms.slopes is not None
        self.slopes: Floats = terms.slopes * asked.scale
        self.today: Floats = terms.costs(asked.priced.values)
        self.shift: Floats = terms.shift * asked.scale
        slopes = self.slopes
        least, most = self.ends()
        weights, tail = asked.priced.weights, self.tail
        # In for certain: all that may cost as much fit into the tail. Out: those that cost more fill it.
        order, upto = _mass_from(most, weights)
        inside = upto[np.searchsorted(-most[order], -least, side="right") - 1] <= tail
        order, upto = _mass_from(least, weights)
        above = np.searchsorted(-least[order], -most, side="left")
        outside = np.where(above > 0, upto[np.maximum(above - 1, 0)], 0.0) >= tail
        self.sure: Floats = np.where(inside, weights, 0.0)
        self.open = np.flatnonzero(~inside & ~outside)
        self.left = tail - float(self.sure.sum())
        part = slopes[self.open]
        self.rise = self._most(slopes.T, part.T)
        self.fall = self._most(-slopes.T, -part.T)

    def ends(self) -> tuple[Floats, Floats]:
        """What every observation costs at least, and at most.

        From the prices of the box that are nearest to today's, as much may change as is left of the reach: first what
        costs rise by the most, as far as the box allows, then the next.
        """
        near = np.clip(0.0, self.low, self.high)
        weight = self.question.weight
        steps = np.concatenate((self.high - near, near - self.low))
        counts = np.tile(weight, 2)
        left = self.reach - float(weight @ np.abs(near))
        here = self.today + self.slopes @ near
        slopes = np.hstack([self.slopes, -self.slopes])
        return here - _farthest(-slopes, steps, counts, left), here + _farthest(slopes, steps, counts, left)

    def _risks(self, costs: Floats) -> Floats:
        """The risk of rows of costs."""
        order = np.argsort(-costs, axis=1)
        flow = tail_flow(self.question.priced.weights[order], self.tail)
        found: Floats = (flow * np.take_along_axis(costs, order, axis=1)).sum(axis=1) / self.tail
        return found

    def _most(self, every: Floats, part: Floats) -> Floats:
        """The largest mean of rows of costs under a tail that is possible."""
        found: Floats = every @ self.sure
        if self.open.size and self.left > 0.0:
            order = np.argsort(-part, axis=1)
            flow = tail_flow(self.question.priced.weights[self.open][order], self.left)
            found = found + (flow * np.take_along_axis(part, order, axis=1)).sum(axis=1)
        return found / self.tail

    def plane(self, anchor: Floats) -> Row:
        """What the risk is at most: by how far prices rise, by how far they fall, and a constant."""
        costs = self.today + self.slopes @ anchor
        here = float(self._most(costs[None, :], costs[None, self.open])[0])
        return self._from(anchor, here, self.rise.copy(), self.fall.copy())

    def _from(self, anchor: Floats, here: float, ups: Floats, downs: Floats) -> Row:
        """The plane that is `here` at an anchor. From 0, rises and falls count apart; from an end, along one line."""
        at_low = (anchor <= self.low) & (self.low != 0.0)
        at_high = (anchor >= self.high) & (self.high != 0.0) & ~at_low
        downs[at_low], ups[at_high] = -ups[at_low], -downs[at_high]
        constant = here - float(ups @ np.maximum(anchor, 0.0) + downs @ np.maximum(-anchor, 0.0))
        return Row(ups + self.shift, downs - self.shift, constant)

    # ---- corners of what is less than the reach away ---------------------------------------------------------------

    @cached_property
    def corner_plane(self) -> Row | None:
        """A plane that meets the risk at the point of the box nearest to today's prices, and at many of the corners.

        From there prices rise or fall, as far as the box allows and until nothing is left of the reach. So at a corner
        some of the narrow directions are at their ends, and what is left is spent on one more. None where nothing is.
        """
        asked = self.question
        near = np.clip(0.0, self.low, self.high)
        room = np.concatenate((self.high - near, near - self.low))
        left = self.reach - float(asked.weight @ np.abs(near))
        open_ = np.flatnonzero(room > 0.0)
        room, price, counts = room[open_], open_ % near.size, np.tile(asked.weight, 2)[open_]
        left = min(left, float(counts @ room))
        if left <= NOTHING * min(self.reach, float(room.sum())):
            return None
        # What counts nothing spends nothing: as if the reach were larger, of which it takes a part.
        counts, left = np.where(counts > 0.0, counts, left / room), left * (1.0 + float((counts <= 0.0).sum()))
        moves = np.hstack([self.slopes, -self.slopes]).T[open_]
        here = self.today + self.slopes @ near
        whole = np.concatenate((np.maximum(asked.high, 0.0), np.maximum(-asked.low, 0.0)))[open_]
        narrow = [i for i in np.argsort(room * counts) if room[i] * counts[i] < left and room[i] < whole[i]][:NARROW]
        least = float(self._risks(here[None, :])[0])
        corners, points = _corners(room[narrow], counts[narrow], price[narrow], left)
        rates = np.full(open_.size, -np.inf)
        found = self._risks(here + points @ moves[narrow]) - least
        for k, i in enumerate(narrow):
            # Where the directions after it are not taken, it makes up for what those before it leave.
            mine = (points[:, k] > 0.0) & ~points[:, k + 1 :].any(axis=1)
            rates[i] = ((found[mine] - points[mine, :k] @ rates[narrow[:k]]) / points[mine, k]).max()
        others = np.setdiff1d(np.arange(open_.size), narrow)
        for ends, rest in corners:
            step = rest / counts[others]
            costs = here + ends @ moves[narrow] + step[:, None] * moves[others]
            found = (self._risks(costs) - least - float(ends @ rates[narrow])) / step
            # A price does not rise and fall at once.
            apart = ~np.isin(price[others], price[narrow][ends > 0.0])
            rates[others] = np.where(apart, np.maximum(rates[others], found), rates[others])
        ups, downs = np.zeros(near.size), np.zeros(near.size)
        rising = open_ < near.size
        ups[price[rising]], downs[price[~rising]] = rates[rising], rates[~rising]
        return self._from(near, least, ups, downs)


def _corners(room: Floats, counts: Floats, price: Any, left: float) -> tuple[list[tuple[Floats, float]], Floats]:
    """Narrow directions that are taken to their ends, with what they leave; and these with a part of one more."""
    corners, points = [], []
    for taken in product((False, True), repeat=room.size):
        ends = np.where(taken, room, 0.0)
        rest = left - float(counts @ ends)
        # A price does not rise and fall at once.
        if rest < 0.0 or np.unique(price[list(taken)]).size < sum(taken):
            continue
        points.append(ends)
        if rest > TINY * left:
            corners.append((ends, rest))
        for k in np.flatnonzero(~np.array(taken, dtype=np.bool_) & (rest < counts * room)):
            if rest > TINY * left and price[k] not in price[list(taken)]:
                points.append(ends + (rest / counts[k]) * np.eye(room.size)[k])
    return corners, np.array(points)


def _mass_from(costs: Floats, weights: Floats) -> tuple[Any, Floats]:
    """The order of costs from the largest one, and the weight up to each."""
    order = np.argsort(-costs, kind="stable")
    return order, np.cumsum(weights[order])


def _farthest(slopes: Floats, steps: Floats, counts: Floats, left: float) -> Floats:
    """By how much rows of costs rise at most, where steps count `left` in all."""
    gains = np.maximum(slopes, 0.0) * steps
    spent = steps * counts
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = np.where(spent > 0.0, gains / spent, np.where(gains > 0.0, np.inf, 0.0))
    order = np.argsort(-worth, axis=1, kind="stable")
    before = np.cumsum(spent[order], axis=1) - spent[order]
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(spent[order] > 0.0, np.clip((left - before) / spent[order], 0.0, 1.0), 1.0)
    found: Floats = (np.take_along_axis(gains, order, axis=1) * part).sum(axis=1)
    return found
