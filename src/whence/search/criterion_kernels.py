"""The criterion as the search sees it: each function has one way for expected costs and one for CVaR."""

from __future__ import annotations

from whence.search import mean_kernels, tail_kernels
from whence.search.compiling import by_risk

__all__ = ["bounded", "bounded_again", "excess_at", "last_eta", "worth"]

#: Of tables: the last threshold eta of the alternative, 0 for expected costs.
last_eta = by_risk(mean_kernels.last_eta, tail_kernels.last_eta)

#: Of (tables, rival, leaf, eta, level): what a leaf adds to the alternative's excess over a rival under the thresholds
#: eta of the one and level of the other.
worth = by_risk(mean_kernels.worth, tail_kernels.worth)

#: Of (tables, leaves, first, last, scratch): by how much the alternative's risk exceeds that of the rival it does worst
#: against, and which rival that is. For CVaR only the alternative's etas first..last count, and the rivals' own best
#: etas go to ``scratch.threshold``.
excess_at = by_risk(mean_kernels.excess_at, tail_kernels.excess_at)

#: Of (field, scratch): bound the criterion over the box and drop the leaves that it rules out; False where nothing is
#: left. Leaves every tree's best leaf in ``scratch.per_tree[ARG]`` and what it would gain in ``scratch.gains``.
bounded = by_risk(mean_kernels.bounded, tail_kernels.bounded)

#: Of (field, scratch): for CVaR, bound the box with the rival's threshold that suits the leaves of the bound; False
#: where nothing is left. The projection's own threshold, which comes first, is a poor one in a large box.
bounded_again = by_risk(mean_kernels.bounded_again, tail_kernels.bounded_again)
