"""Which features explanations change, by brute force: every cell of a forest, every vertex between neighbours.

Nothing here is shared with the search: features are told apart by the schema's names, and sets of them are enumerated.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from tests.asking import varied
from tests.cases import Case, OneOf, contexts, schema
from tests.forests import paper_forest
from tests.knn_reference import nearest_by_vertices
from tests.oracle import cells, estimator_rows, satisfied
from tests.soaking import EXACT, forest_case, neighbour_case, resolution

from whence.policy import Policy
from whence.question import Question
from whence.risk import CVaR, Expectation
from whence.weights import KNNWeights

#: Nearest distance by the features that change.
Sets = dict[frozenset[str], float]


def sets_of(case: Case) -> Sets:
    """For every set of features that some explanation changes, and no others, the nearest such explanation's distance.

    For neighbours only sets that suffice while no part of them does are told apart from larger ones.
    """
    question = case.question()
    before = case.policy.weights_at(case.context)
    if question.claim.better(before) is None if case.kind == "absolute" else question.claim.is_satisfied(before):
        return {frozenset(): 0.0}
    if isinstance(question.weights, KNNWeights):
        return _of_neighbours(case, question)
    names = np.array(case.policy.schema_.feature_of_coordinate())
    points = cells(question)
    weights = question.weights.weights(estimator_rows(question, points))
    found: Sets = {}
    for i in np.flatnonzero(satisfied(question, weights)):
        if not question.claim.is_satisfied(weights[i]) or (
            case.kind == "absolute" and question.claim.better(weights[i]) is not None
        ):
            continue
        changed = frozenset(names[points[i] != question.space.start].tolist())
        distance = float(np.abs(points[i] - question.space.start) @ question.space.weight)
        found[changed] = min(distance, found.get(changed, np.inf))
    return found


def _of_neighbours(case: Case, question: Question) -> Sets:
    names = np.array(case.policy.schema_.feature_of_coordinate())
    rivals = [question.claim.decision, *(case.policy.Y_.T if case.kind == "absolute" else ())]
    found: Sets = {}
    every = list(dict.fromkeys(names.tolist()))
    for size in range(1, len(every) + 1):
        for chosen in combinations(every, size):
            space = case.policy.schema_.space(case.context, {*case.fixed} | ({*every} - {*chosen}), case.bounds)
            distance = nearest_by_vertices(varied(question, space=space), rivals)
            if np.isfinite(distance):
                found[frozenset(chosen)] = distance
    return found


def several_case(seed: int) -> Case:
    """A question about a forest whose answer takes several changes more often than not: one plan likes what is high."""
    rng = np.random.default_rng([seed, 23])
    kinds = "".join(rng.choice(list("crrddbk"), int(rng.integers(3, 6))))
    X = contexts(rng, int(rng.integers(20, 45)), kinds)
    declared = schema(rng, X, kinds, plain=rng.random() < 0.6)
    points = declared.fit(X).encode(X)
    high = (points - points.min(axis=0)) @ rng.choice([-1.0, 1.0, 1.0], points.shape[1])
    base = rng.normal(size=len(X)).round(1)
    likes = np.quantile(high, rng.choice([0.5, 0.7, 0.85])) - high
    Y = np.column_stack([base, base + likes.round(int(rng.choice([1, 2, 8]))), base + rng.normal(0.3, 0.3, len(X))])
    risk = Expectation() if rng.random() < 0.6 else CVaR(float(rng.choice([0.3, 0.7])))
    forest = paper_forest(int(rng.integers(2, 6)), int(rng.integers(2, 4)), random_state=seed)
    policy = Policy(OneOf(), forest, risk, declared).fit(X, Y)
    context = policy.schema_.row(X.iloc[int(np.argsort(high)[int(rng.integers(0, 4))])])
    kind = "absolute" if rng.random() < 0.4 else "relative"
    return Case(seed, policy, context, 0, 1, kind)


def forest_or_several(seed: int) -> Case:
    """Awkward data, or several changes."""
    return several_case(seed) if seed % 2 else forest_case(seed)


# Few changes, menus and reasons are held against the same sets, which are the dear part.
@lru_cache(maxsize=1000)
def forest_sets(seed: int) -> tuple[Case, Sets] | None:
    """A case of a forest and its sets; None where there are more cells than can be looked at."""
    case = forest_or_several(seed)
    try:
        return case, sets_of(case)
    except AssertionError:
        return None


@lru_cache(maxsize=1000)
def neighbour_sets(seed: int) -> tuple[Case, Sets]:
    """A case of neighbours and its sets."""
    case = neighbour_case(seed)
    return case, sets_of(case)


def nearest_with(sets: Sets, most: int) -> float:
    """The nearest distance with at most so many changes, infinite for none."""
    return min((distance for one, distance in sets.items() if len(one) <= most), default=np.inf)


def smallest_sets(sets: Sets, up_to: int) -> Sets:
    """Of these sets, those of which no part is one of them, up to that size."""
    return {one: d for one, d in sets.items() if len(one) <= up_to and not any(other < one for other in sets)}


def fewest_facts(sets: Iterable[frozenset[str]], names: list[str]) -> int:
    """How many names it takes at least to have one in every set."""
    sets = list(sets)
    for size in range(len(names) + 1):
        if any(all(one & set(chosen) for one in sets) for chosen in combinations(names, size)):
            return size
    raise AssertionError("a set without a name is met by none")


def same_distance(case: Case, found: float, wanted: float) -> bool:
    """Whether two distances agree, up to the digits that numbers of this size have."""
    if found == wanted:
        return True
    question = case.question()
    exact = EXACT[isinstance(question.weights, KNNWeights)]
    allowed = exact * float(question.space.weight.sum()) * (1.0 + (0.0 if np.isinf(wanted) else wanted))
    return abs(found - wanted) <= allowed + resolution(case, question)


def asked(case: Case) -> dict[str, Any]:
    """The options of the question."""
    return {"decision": case.decision, "kind": case.kind, "fixed": case.fixed, "bounds": case.bounds}


# ---- what an answer says beside it ------------------------------------------------------------------


def few_disagree(case: Case, sets: Sets, **how: Any) -> str:
    """In what the answers for every number of changes differ from brute force; empty where they do not."""
    for most in range(1, len(case.policy.schema_.names) + 1):
        wanted = nearest_with(sets, most)
        why = case.policy.explain(case.context, case.instead, max_changes=most, **asked(case), **how)
        status = "already" if wanted == 0.0 else "none" if np.isinf(wanted) else "optimal"
        if why.status != status or not same_distance(case, why.distance, wanted):
            return f"at most {most} changes: {why.status} at {why.distance!r}, brute force {wanted!r}"
        if len(why.changes) > most:
            return f"at most {most} changes: {len(why.changes)} features change"
    return ""


def menu_disagrees(case: Case, sets: Sets, up_to: int, **how: Any) -> str:
    """In what the menu differs from brute force; empty where it does not."""
    found = case.policy.menu(case.context, case.instead, up_to, **asked(case), **how)
    if frozenset() in sets:
        return "" if found.status == "already" else f"menu: {found.status}, but it holds as it is"
    wanted = smallest_sets(sets, up_to)
    met = {frozenset(map(str, why.changes["feature"])): why for why in found}
    complete = found.status == "complete" and found.complete_up_to == min(up_to, len(case.policy.schema_.names))
    if not complete or set(met) != set(wanted) or len(found) != len(met):
        return f"menu: {found!r}, brute force {sorted(map(sorted, wanted))}"
    for one, why in met.items():
        if why.status != "optimal" or not same_distance(case, why.distance, wanted[one]):
            return f"menu: {sorted(one)} at {why.distance!r}, brute force {wanted[one]!r}"
    distances = [why.distance for why in found]
    return "" if distances == sorted(distances) else "menu: not nearest first"


def reasons_disagree(case: Case, sets: Sets, smallest: bool = True, **how: Any) -> str:
    """In what the reasons differ from brute force, or do not keep what they say; empty where they do."""
    found = case.policy.reasons(case.context, case.instead, **asked(case), **how)
    status = "already" if frozenset() in sets else "proved" if sets else "none"
    if found.status != status or (status != "proved" and found.facts):
        return f"reasons: {found!r}, brute force {status}"
    if status != "proved":
        return ""
    facts = set(found)
    if not all(one & facts for one in sets):
        return f"reasons: {found!r} do not settle it"
    for name in facts:
        needed = set(map(str, found.needed[name].changes["feature"])) if name in found.needed else set()
        if name not in needed or needed & (facts - {name}):
            return f"reasons: {found!r}, but {name} is not shown to be needed"
    fewest = fewest_facts(sets, case.policy.schema_.names)
    if (smallest and not found.smallest) or (found.smallest and len(facts) != fewest):
        return f"reasons: {found!r}, brute force {fewest} facts"
    return "" if found.minimal else f"reasons: {found!r} are not proved to be needed"


def disagreement_about_sets(case: Case, **how: Any) -> str:
    """In what few changes, menu or reasons differ from brute force; empty where they do not, or it takes too long."""
    try:
        sets = sets_of(case)
    except AssertionError as error:
        if "too many" in str(error):
            return ""
        raise
    return (
        few_disagree(case, sets, **how)
        or menu_disagrees(case, sets, 1 + case.seed % 4, **how)
        or reasons_disagree(case, sets, **how)
    )
