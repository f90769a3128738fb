"""By how many standard errors a plan of a set is better, and than which plans: what is asked with a confidence.

Some plan of the set has to be better than the decision, or than every plan outside the set, by a number of standard
errors over the trees or the neighbours. Of a set with more plans than this, or one that cannot be listed, it is the
best plan in the context that has to be.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whence.claims.plans import PlanBeats
from whence.util.aliases import Floats

__all__ = ["APART", "excess", "rivals_there", "worst_rival"]

#: Plans of a set, at most, of which each may be the one that is better.
APART = 400


def excess(claim: PlanBeats, costs: Floats, rival: Floats, trees: Floats) -> float:
    """By how much a plan costs more than a rival, standard errors included.

    Parameters
    ----------
    claim : PlanBeats
        Whose risk and confidence count.
    costs, rival : ndarray of shape (n,)
        What both cost under each past observation.
    trees : ndarray of shape (T, n)
        Weights by each tree, or neighbour, alone.
    """
    apart = claim.risk.by_tree(costs, trees) - claim.risk.by_tree(rival, trees)
    spread = float(apart.std(ddof=1)) / np.sqrt(apart.size) if apart.size > 1 else 0.0
    return float(apart.mean()) + claim.confidence * spread


def rivals_there(claim: PlanBeats, weights: Floats) -> list[Floats]:
    """What a plan of the set has to beat in a context with these weights, as sample costs.

    Relative: the decision. Absolute: every plan outside the set, or where they cannot be listed those that are decided
    in past contexts and the best plan there; and the decision, where it is outside the set or there is nothing else.
    """
    assert claim.plans is not None
    others = claim.plans.others if claim.kind == "absolute" else None
    if others is None:
        return [claim.rival_decision]
    known = others.every()
    found = [] if known is None else list(known)
    if known is None:
        best = others.best(weights)
        found = [*([] if best is None else [best]), *others.past()]
    return [claim.rival_decision, *found] if others.decided() or not found else found


def worst_rival(
    claim: PlanBeats, costs: Floats, rivals: Sequence[Floats], trees: Floats
) -> tuple[float, Floats | None]:
    """By how much a plan misses being better than all rivals, and the one that refutes it most, if any does."""
    if claim.risk.tail is None and len(rivals) > 1:
        apart = (costs - np.asarray(rivals)) @ trees.T
        spread = apart.std(axis=1, ddof=1) / np.sqrt(len(trees)) if len(trees) > 1 else 0.0
        over = apart.mean(axis=1) + claim.confidence * spread
    else:
        over = np.array([excess(claim, costs, rival, trees) for rival in rivals])
    worst = int(np.argmax(over))
    return float(over[worst]), rivals[worst] if over[worst] > claim.tau else None
