"""A certificate checked later: what an explanation says, against a policy that computes it again."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from msgspec import structs, to_builtins

from whence.checks import FLAG, Rule
from whence.engines import engine_named
from whence.errors import InputError, InputTypeError, InternalError, WhenceError
from whence.explain.ask import Request
from whence.explain.build_question import filled_question, read_set, taking_over
from whence.explain.explanation import Costs, Explanation
from whence.explain.pipeline import explain, judged_after, rounding_limits
from whence.explain.recheck import Source, confirmed
from whence.explain.robust import CHOOSING, JUDGING, Held, Refitted, Reliance, Rung, expected_share
from whence.explain.rule import fault_of
from whence.features.kinds import Categorical
from whence.question import Answer, Question
from whence.report.build import EFFORT, document_digest, question_digest
from whence.report.document import QualityEntry, Report, scalar
from whence.util.json import number_from_plain, quoted, to_plain

if TYPE_CHECKING:
    from whence.policy import Policy

#: What documents of this schema did not hold at first.
ADDED = ("risk_words", "spread", "shown", "usual", "best", "after", "after_text")
#: Entries of one part of a document that are listed before the rest is only counted.
LISTED = 3


def differing(written: Any, computed: Any, largest: float = 1.0, leave_out: Collection[str] = ()) -> list[str]:
    """Return a sentence for every entry in which a document differs from the one that was computed again.

    Entries in `leave_out` are not compared, here and in the document inside this one; costs may differ by the rounding
    of sums, against the `largest` of them.

    Examples
    --------
    >>> differing({"a": [1, 2], "b": "x"}, {"a": [1, 3], "b": "x"})
    ['a[1] is 2 in the document and 3 computed again.']
    """
    lines: list[str] = []
    for name in dict.fromkeys((*written, *computed)):
        if name in leave_out or (name in ADDED and name not in written):
            continue
        pair = written.get(name), computed.get(name)
        if name in ("unrestricted", "nearest") and isinstance(pair[0], dict) and isinstance(pair[1], dict):
            lines += [f"{name}.{line}" for line in differing(*pair, largest, leave_out)]
            continue
        if name not in computed:
            lines.append(f"{name} is in the document, but no entry of that name belongs there.")
            continue
        found = list(_entries(written.get(name), computed[name], name, largest))
        lines += found[:LISTED]
        if len(found) > LISTED:
            lines.append(f"{name}: {len(found) - LISTED} more of its entries differ.")
    return lines


def _entries(written: Any, computed: Any, path: str, largest: float) -> Iterator[str]:
    if isinstance(written, dict) and isinstance(computed, dict):
        for name in dict.fromkeys((*written, *computed)):
            if name in written or name not in ADDED:
                yield from _entries(written.get(name), computed.get(name), f"{path}.{name}", largest)
    elif isinstance(written, list) and isinstance(computed, list):
        if len(written) != len(computed):
            yield f"{path} has {len(written)} entries in the document and {len(computed)} computed again."
            return
        for i, (one, other) in enumerate(zip(written, computed, strict=True)):
            yield from _entries(one, other, f"{path}[{i}]", largest)
    elif not _same(written, computed, *_slack(path, largest)):
        yield f"{path} is {quoted(written)} in the document and {quoted(computed)} computed again."


def _slack(path: str, largest: float) -> tuple[float, float]:
    """Return the relative and the absolute difference that rounding may make in the number at `path`."""
    if "cost" in path or path.endswith((".decision", ".alternative")):
        return 1e-9, 1e-9 * largest
    return (1e-6, 1e-6) if path.endswith(".part") else (1e-9, 1e-12)


def _same(one: Any, other: Any, relative: float, absolute: float) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=relative, abs_tol=absolute)
    if isinstance(one, str) and isinstance(other, str):
        # Where lines are broken is not what a text says.
        return one.split() == other.split()
    return type(one) is type(other) and one == other


#: Distances of two searches may differ by this much.
NEAR = 1e-6
#: How a search ends that came to an end.
ENDED = ("optimal", "already", "none")
#: What is not compared entry by entry: told by a search, or dealt with in a sentence of its own.
LEFT_OUT = (
    *("schema", "status", "bound", "note", "seconds", "nodes", "cuts", "versions", "question", "fingerprints"),
    # As many rows as there was time for: compared only where there are as many again.
    "quality",
)


@dataclass(frozen=True)
class Verification:
    """How an explanation compares with a policy; it is true where nothing differs.

    Attributes
    ----------
    differences : list of str
        What does not agree, one sentence each; empty where everything does.
    remarks : list of str
        What else is worth knowing: what the certificate does not carry, and what was not checked.
    proved : bool or None
        Whether a new search came to an end; None where none was asked for.
    """

    differences: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    proved: bool | None = None

    @property
    def agrees(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    def __bool__(self) -> bool:
        return self.agrees

    def __str__(self) -> str:
        return "\n".join(self.differences or ["Everything that was computed again agrees."])


FITTED = Rule("a fitted Policy", lambda value: callable(getattr(value, "_history", None)))


def verify(
    said: Explanation,
    policy: Policy,
    *,
    document: Mapping[str, Any] | None = None,
    prove: bool = False,
    time_limit: float | None = None,
    on_progress: Any = None,
    judge: Callable[[], QualityEntry | None] | None = None,
    barred: Sequence[Collection[str]] = (),
) -> Verification:
    """Compare the explanation `said`, or the `document` that it was read from, with what `policy` says now.

    With `prove`, the policy searches once more, within `time_limit`, and tells `on_progress` how far it has come.
    `judge` finds out how good the policy is, where the explanation says so; otherwise it is what is known of it. None
    of the `barred` sets of features may change as a whole.
    """
    FITTED.check("policy", policy, kind=InputTypeError)
    FLAG.check("prove", prove)
    policy._history()
    written = said.to_dict() if document is None else document
    differences, remarks = _fingerprints(said, written, policy)
    proved: bool | None = None
    try:
        differences += _recomputed(said, written, policy)
        if prove:
            found, said_so, proved = _proof(said, policy, time_limit, on_progress, barred)
            differences, remarks = differences + found, remarks + said_so
    except WhenceError as error:
        differences.append(f"The question cannot be put to this policy: {error}")
    found, said_so = _quality(written, policy.quality_ if judge is None or not written.get("quality") else judge())
    differences, remarks = differences + found, remarks + said_so
    if proved is None:
        remarks.append("Whether anything is nearer was not searched for again.")
    return Verification(differences, remarks, proved)


def _fingerprints(said: Explanation, written: Mapping[str, Any], policy: Policy) -> tuple[list[str], list[str]]:
    """Return what differs in the fingerprints, and what is to be said of them."""
    from whence import __version__

    differences, remarks = [], []
    claimed = written.get("fingerprints") or {}
    here = Source.of(policy).fingerprints(afresh=True)
    if said.intact is False or ("document" in claimed and claimed["document"] != document_digest(written)):
        differences.append("The document was changed after it was written: its fingerprint does not fit its content.")
    elif claimed and "document" not in claimed:
        differences.append("The document carries fingerprints, but none of itself: it was taken out.")
    for name in ("model", "history", "problem"):
        if name in claimed and claimed[name] != here[name]:
            differences.append(f"The {name} is not the one behind the explanation.")
    if "question" in claimed and ("question" not in written or claimed["question"] != question_digest(written)):
        differences.append("The question is not the one that was asked.")
    if written.get("question", {}).get("kind", said.kind) != said.kind:
        differences.append(f"The question was {written['question']['kind']!r}, the answer is {said.kind!r}.")
    lacking = [name for name in ("model", "history", "problem") if name not in claimed]
    if lacking:
        remarks.append(f"The document carries no fingerprint of {', '.join(lacking)}, so that was not compared.")
    if not said.asked:
        remarks.append("The document does not say what was fixed or bounded, so this was not checked.")
    if claimed.get("not_covered"):
        parts = ", ".join(claimed["not_covered"])
        remarks.append(f"The problem's fingerprint does not cover {parts}, whose state cannot be read.")
    version = said.report.versions.get("whence")
    if version != __version__:
        remarks.append(f"The explanation was written by whence {version}; this is {__version__}.")
    return differences, remarks


def _recomputed(said: Explanation, written: Mapping[str, Any], policy: Policy) -> list[str]:
    """Return what differs where everything but the search is done again."""
    from whence import __version__

    fresh, faults = recomputed(said, policy)
    fresh = structs.replace(fresh, engine=_engine(said, policy) if said.asked else said.engine)
    if fresh.unrestricted is not None:
        # What the restrictions keep away was found by the same engine.
        fresh = structs.replace(fresh, unrestricted=structs.replace(fresh.unrestricted, engine=fresh.engine))
    costs = [cost for array in (fresh.costs_decision, fresh.costs_alternative) if array is not None for cost in array]
    largest = max(map(abs, costs), default=1.0)
    # The words of another version may be others.
    left_out = [*LEFT_OUT, *([] if said.report.versions.get("whence") == __version__ else ["text", "shown"])]
    computed = to_builtins(_in_the_words_of(said.report, fresh.report))
    return faults + differing(dict(written), computed, largest, left_out)


def _quality(written: Mapping[str, Any], fresh: QualityEntry | None) -> tuple[list[str], list[str]]:
    """Return what differs in how good the policy is said to be, and what is to be said of that."""
    told = written.get("quality")
    if not told:
        return [], []
    if fresh is None:
        return [], ["How good the policy is was not found out again."]
    again = to_builtins(fresh)
    if (told.get("rows"), told.get("folds")) != (again["rows"], again["folds"]):
        return [], [
            f"How good the policy is was found out on {told.get('rows')} rows then and on {again['rows']} now, so that "
            "was not compared."
        ]
    return differing({"quality": told}, {"quality": again}, max(abs(fresh.cost), abs(fresh.average))), []


def _in_the_words_of(said: Report, fresh: Report) -> Report:
    """Return `fresh` with the sentences and charts of `said`: whether they are true is told once, by entry."""
    inner, free = said.unrestricted, fresh.unrestricted
    if inner is not None and free is not None:
        free = _in_the_words_of(inner, free)
    near, again = said.nearest, fresh.nearest
    if near is not None and again is not None:
        again = _in_the_words_of(near, again)
    words = {"text": said.text, "shown": said.shown, "spread": said.spread}
    return structs.replace(fresh, **words, unrestricted=free, nearest=again)


def _engine(said: Explanation, policy: Policy) -> str:
    """Return the name of the engine that the question asked for."""
    record = said.asked
    options = {"solver": record["solver"]} if record.get("solver") else {}
    return engine_named(str(record.get("engine", "auto"))).label(policy.weights_, options)


# ---- a new search --------------------------------------------------------------------------------------------------


def _proof(
    said: Explanation, policy: Policy, time_limit: float | None, on_progress: Any, barred: Sequence[Collection[str]]
) -> tuple[list[str], list[str], bool]:
    """Ask the same question once more; return what differs, what is to be said of it, and whether it ended."""
    record, request = said.asked, request_of(said, policy)
    options = {name: value for name, value in record.items() if name not in Request.__dataclass_fields__}
    dropped = [name for name, value in options.items() if not _askable(value)]
    remarks = [f"The option {name!r} cannot be read back, so it was left out." for name in dropped]
    again = explain(
        policy,
        replace(
            request,
            decision=None if record.get("decision") == "policy" else request.decision,
            engine=str(record.get("engine", "auto")),
            options={name: value for name, value in options.items() if name not in dropped},
            time_limit=time_limit,
            on_progress=on_progress,
        ),
        barred=barred,
    )
    ended, had_ended = again.status in ENDED, said.status in ENDED
    differences = []
    if ended and had_ended and said.status != again.status:
        differences.append(f"A new search ends as {again.status!r}, the explanation as {said.status!r}.")
    if again.distance < said.bound - _near(said.bound):
        differences.append(
            f"A new search finds a context at distance {again.distance:.9g}, where the bound is {said.bound:.9g}."
        )
    if ended and said.distance < again.bound - _near(again.bound):
        differences.append(
            f"A new search proves that nothing is nearer than {again.bound:.9g}, the distance is {said.distance:.9g}."
        )
    if ended and not had_ended:
        remarks.append(f"A new search ends as {again.status!r}, at distance {again.distance:.9g}.")
    if not ended:
        remarks.append(f"A new search did not end; it proved that nothing is nearer than {again.bound:.9g}.")
    return differences, remarks, ended


def _near(distance: float) -> float:
    return NEAR * max(1.0, abs(distance)) if math.isfinite(distance) else 0.0


def _askable(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float) or (isinstance(value, str) and "<" not in value)


def recomputed(said: Explanation, policy: Policy) -> tuple[Explanation, list[str]]:
    """Return `said` computed again, with status, bound and counts as stated, and what in it is wrong.

    An InputError where its context or its plans mean nothing to this policy.
    """
    asked: list[Question] = []

    def remember(question: Question) -> Answer:
        asked.append(question)
        return Answer("time_limit", None, math.inf, 0.0)

    request = request_of(said, policy)
    try:
        draft = explain(policy, request, search=remember)
    except InputError:
        # Some questions are for one engine only.
        if said.asked.get("engine", "auto") == "auto":
            raise
        request = replace(request, engine=str(said.asked["engine"]))
        draft = explain(policy, request, search=remember)
    draft = _as_told(draft, said, said.asked)
    # By how many standard errors it holds at the start, and how usual that is, is computed again below.
    to_search = bool(asked) and not (asked[0].claim.kappa or asked[0].space.plausibility)
    faults = _faults_of_status(said, draft, to_search) if to_search or not asked else []
    faults += _faults_of_numbers(said, policy)
    if said.asked.get("decision") == "policy":
        faults += _faults_of_decision(draft, policy)
    fresh = _completed(said, policy, draft, asked[0], faults) if asked else draft
    if asked and said.unrestricted is not None:
        free = asked[0].in_space(request.space(policy.schema_, policy.X_, draft.initial, restricted=False))
        inner = _as_told(structs.replace(draft, restricted=request.relates), said.unrestricted, said.asked)
        inner = _completed(said.unrestricted, policy, inner, free, faults)
        faults += _faults_of_numbers(said.unrestricted, policy)
        blocking = [] if said.asked else said.blocking
        if said.asked and inner.context is not None:
            point = policy.schema_.encode_row(inner.context)
            blocking = policy.schema_.restrictions_in_the_way(inner.initial, point, request.fixed, request.bounds)
        fresh = structs.replace(fresh, unrestricted=inner, blocking=blocking)
    if said.reliance is not None and said.reliance.refits == "worlds":
        fresh = structs.replace(fresh, reliance=_of_worlds(said, said.reliance, fresh))
    elif said.reliance is not None and said.reliance.refits != "worlds":
        refitted = Refitted.of(policy, said.reliance.refits)
        # Where the time was short, fewer refits were made.
        counted = CHOOSING[: said.reliance.chosen.refits], JUDGING[: said.reliance.judged.refits]
        chosen, judged = (refitted.held(fresh, numbers) for numbers in counted)
        if chosen is not None and judged is not None:
            found = replace(said.reliance, chosen=chosen, judged=judged, confidence=said.confidence)
            wanted = said.asked.get("holds", found.wanted)
            fresh = structs.replace(fresh, reliance=replace(found, wanted=wanted), agreed=chosen.with_others(judged))
    if said.nearest is not None and asked:
        plain = explain(policy, replace(request, confidence=0.0), search=remember)
        assert plain.question is not None
        near = _as_told(structs.replace(plain, asked={}), said.nearest, said.asked)
        near = _completed(said.nearest, policy, near, plain.question, faults)
        faults += _faults_of_numbers(said.nearest, policy)
        if said.reliance is not None and said.nearest.agreed is not None and said.reliance.refits != "worlds":
            numbers = (*CHOOSING, *JUDGING)[: said.nearest.agreed.refits]
            near = structs.replace(near, agreed=Refitted.of(policy, said.reliance.refits).held(near, numbers))
        fresh = structs.replace(
            fresh, nearest=_ruled(said.nearest, structs.replace(near, asked=said.nearest.asked), faults)
        )
    if fresh.reliance is not None and fresh.reliance.refits != "worlds":
        ladder = _ladder(said, fresh, Refitted.of(policy, fresh.reliance.refits))
        fresh = structs.replace(fresh, reliance=replace(fresh.reliance, ladder=ladder))
    return structs.replace(_ruled(said, fresh, faults), **_of_the_search(said)), faults


def _of_worlds(said: Explanation, told: Reliance, fresh: Explanation) -> Reliance:
    """What simulated worlds say of the explanation, by the curve that the document tells."""
    curve, kappa = told.curve, said.confidence
    return replace(
        told,
        wanted=said.asked.get("holds", told.wanted),
        confidence=kappa,
        share=None if curve is None else curve.share(kappa),
        interval=None if curve is None else curve.interval(kappa),
        needed=None if curve is None else curve.kappa(said.asked.get("holds", told.wanted)),
        ladder=tuple(
            replace(rung, distance=fresh.distance) if rung.confidence == kappa else rung for rung in told.ladder
        ),
    )


def _as_told(fresh: Explanation, said: Explanation, question: Mapping[str, Any]) -> Explanation:
    """Return `fresh`, restricted as it is told where that cannot be known.

    Documents without their question do not say what was fixed or bounded, and some from before do not say that contexts
    were ruled out.
    """
    return structs.replace(fresh, restricted=said.restricted and (fresh.restricted or not question))


def _ruled(said: Explanation, fresh: Explanation, faults: list[str]) -> Explanation:
    """Return `fresh` with its rule, where the document tells one.

    A rule that was found before its time was up is found again. Another one is as large as there was time for, and must
    be true as it is.
    """
    if said.rule is None:
        return fresh
    if said.rule.maximal and fresh.question is not None:
        return fresh.with_rule(None)
    fault = fault_of(fresh, said.rule)
    faults.extend([fault] if fault else [])
    return structs.replace(fresh, rule=said.rule)


def _ladder(said: Explanation, fresh: Explanation, refitted: Refitted) -> tuple[Rung, ...]:
    """Return the ladder, with the rungs of the nearest explanation and of the one that was chosen computed again."""
    assert fresh.reliance is not None
    known = {fresh.reliance.confidence: fresh}
    if fresh.nearest is not None:
        known[0.0] = fresh.nearest
    rungs = []
    for rung in fresh.reliance.ladder:
        again = known.get(rung.confidence)
        if again is not None:
            of_search = said if again is fresh else said.nearest
            assert of_search is not None
            over = None if rung.held is None else refitted.excesses(again, CHOOSING[: rung.held.refits])
            held = None if over is None else Held.of(over, again.tolerance)
            # Documents from before it was told lack what is expected.
            expected = None if over is None or rung.expected is None else expected_share(over, again.tolerance)
            rung = Rung(rung.confidence, of_search.status, again.distance, of_search.bound, held, expected)
        rungs.append(rung)
    return tuple(rungs)


def request_of(said: Explanation, policy: Policy) -> Request:
    """Return the question of an explanation, to be asked once more, without its limits and by the usual engine."""
    record = said.asked
    plans = [_plan(said, plan, policy) for plan in (said.alternative, said.decision)]
    instead = plans[0] if "instead" not in record else read_set(policy, record["instead"])
    tolerance = record.get("tolerance")
    if tolerance is None:
        # Documents without a question name the tolerance in the unit of the costs.
        costs = np.abs(np.asarray(policy.problem.costs(plans[0], policy.Y_), dtype=np.float64))
        tolerance = said.tolerance / float(costs.max()) if costs.max() > 0 else 0.0
    known = set(Request.__dataclass_fields__).difference(EFFORT, ("options", "on_progress", "on_nearest", "rule"))
    if record.get("holds") is not None:
        # What the ladder ended with is what is checked.
        record = {**record, "holds": None, "confidence": said.confidence}
    return Request(
        **{name: value for name, value in record.items() if name in known}
        | {
            "context": row_of(policy, said.initial),
            "instead": instead,
            "decision": plans[1],
            "kind": said.kind,
            "fixed": tuple(record.get("fixed", ())),
            "bounds": _bounds(policy, record.get("bounds")),
            "tolerance": tolerance,
            "separation": record.get("separation", 1e-6 if said.separation is None else said.separation),
        }
    )


def row_of(policy: Policy, written: pd.Series) -> pd.Series:
    """Return a context as the policy's history holds it; JSON knows categories only by their texts."""
    schema = policy.schema_
    row = schema.row({str(name): value for name, value in written.items()})
    values = [_level(policy, name, value) for name, value in row.items()]
    made = pd.Series(values, index=row.index, dtype=object)
    schema.encode_row(made)
    return made


def _level(policy: Policy, name: Any, value: Any) -> Any:
    column = policy.X_[name]
    if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        return value
    feature = policy.schema_.kind(name) if name in policy.schema_.names else None
    levels = feature.categories if isinstance(feature, Categorical) else None
    return next((level for level in levels or () if value in (level, scalar(level), to_plain(level))), value)


def _bounds(policy: Policy, written: Any) -> dict[str, Any] | None:
    if not isinstance(written, Mapping):
        return None
    bounds = dict(written)
    for name, limit in written.items():
        if name in policy.schema_.names and isinstance(policy.schema_.kind(name), Categorical):
            several = limit if isinstance(limit, list) else [limit]
            bounds[name] = [_level(policy, name, one) if name in policy.X_.columns else one for one in several]
        elif isinstance(limit, list) and name in policy.schema_.dated:
            bounds[name] = tuple(limit)
        elif isinstance(limit, list):
            bounds[name] = tuple(number_from_plain(end) if isinstance(end, str) else end for end in limit)
    return bounds


def _plan(said: Explanation, plan: Any, policy: Policy) -> Any:
    """Return a plan in its natural form."""
    form = "other" if said.source or said.written is None else said.written.plans.form
    if form == "other":
        return plan
    if form == "route":
        return policy.problem.from_plain(to_plain(plan), policy.outcome_names_)
    found = np.asarray(plan, dtype=np.float64)
    if found.size == 1:
        # Problems of one's own may decide a bare number, such as which of some plans; documents hold lists.
        decided = policy.decide(row_of(policy, said.initial))
        if isinstance(decided, int | np.integer):
            return int(found.item())
        return float(found.item()) if isinstance(decided, float | np.floating) else found
    return found


# ---- the context that was found ------------------------------------------------------------------------------------


def _completed(
    said: Explanation, policy: Policy, draft: Explanation, question: Question, faults: list[str]
) -> Explanation:
    """Return `draft` with the context that was said to do, its weights, costs and distance."""
    if said.context is None:
        return structs.replace(draft, **_of_the_search(said), distance=math.inf)
    schema, context = policy.schema_, row_of(policy, said.context)
    filled = _filled(said, policy)
    if filled:
        question = filled_question(policy, request_of(said, policy), draft.initial, question, filled, True)
    if not said.asked:
        # What was fixed or bounded is not known: only that the context must be one of the schema's.
        question = question.in_space(schema.space(draft.initial, restricted=False, filled=filled))
    point = schema.encode_row(context)
    distance = question.space.distance(point)
    answer = Answer("time_limit", point, distance, said.bound)
    if draft.plans is not None:
        row = policy.inputs_of(context)
        question, draft = taking_over(policy, question, draft, draft.plans, policy.weights_.at(row), row)
    try:
        # For this schema the context is the one that is written, to the last digit.
        written: Any = SimpleNamespace(
            decode=lambda *point: context,
            encode_row=schema.encode_row,
            exactly_related=lambda context, *others: context,
        )
        after = confirmed(question, answer, written, draft.initial, policy.inputs_of).weights
    except InternalError as error:
        faults.append(str(error))
        after = question.weights.at(policy.inputs_of(context))
    changed = schema.changed(question.space, draft.initial, context)
    risk = question.claim.risk
    return structs.replace(
        draft,
        **_of_the_search(said),
        # A rule is about the plan that takes over.
        question=question,
        context=context,
        changed=changed,
        room=_kept_room(said, rounding_limits(policy, question, answer, context, changed), faults),
        distance=distance,
        paid_after=Costs(
            risk.of(question.claim.decision, after),
            risk.of(question.claim.alternative, after) + question.claim.allowance,
        ),
        **judged_after(policy, draft, after),
    )


def _filled(said: Explanation, policy: Policy) -> list[str]:
    """Return what the initial context lacks and the one that was found has."""
    assert said.context is not None
    before, after = row_of(policy, said.initial), row_of(policy, said.context)
    return [str(name) for name in before.index if pd.isna(before[name]) and not pd.isna(after[name])]


def _of_the_search(said: Explanation) -> dict[str, Any]:
    """Return what only the search could say."""
    return {name: getattr(said, name) for name in ("status", "bound", "nodes", "cuts", "seconds", "note")}


def _kept_room(said: Explanation, room: dict[str, tuple[float, float]], faults: list[str]) -> dict[str, Any]:
    """Return the room as it is said where it is not too wide: a search may know a smaller one."""
    for name, (low, high) in said.room.items():
        first, last = room.get(name, (math.inf, -math.inf))
        slack = 1e-6 * max(abs(first), abs(last))
        if low < first - slack or high > last + slack or low > high:
            faults.append(f"The room of {name!r} is said to be {low:.9g} to {high:.9g}, which is too wide.")
    return said.room


# ---- what cannot be so ---------------------------------------------------------------------------------------------


def _faults_of_status(said: Explanation, draft: Explanation, searched: bool) -> list[str]:
    """Return what is wrong with an answer that needs no search, a sentence each."""
    if not searched and said.status != draft.status:
        where = "holds in the initial context already" if draft.status == "already" else "can hold nowhere"
        return [f"The criterion {where}, so that the status is {draft.status!r}. The explanation says {said.status!r}."]
    if searched and said.status == "already":
        costs = draft.cost_before
        return [
            "The criterion does not hold in the initial context, as the status 'already' says: the alternative costs "
            f"{costs.alternative:.6g} there, the decision {costs.decision:.6g}."
        ]
    return []


def _faults_of_numbers(said: Explanation, policy: Policy) -> list[str]:
    """Return what is wrong with distance and bound under this status, a sentence each."""
    faults = []
    gap = said.asked.get("mip_gap") or policy.weights_.capabilities.proof_gap
    least = said.distance * (1.0 - float(gap)) - 1e-9 if isinstance(gap, int | float) else said.distance
    if said.status in ("optimal", "already") and said.bound < least:
        faults.append(f"The bound must be the distance where the status is {said.status!r}. Got {said.bound:.9g}.")
    if said.bound > said.distance + 1e-9:
        faults.append(f"The bound must not exceed the distance, {said.distance:.9g}. Got {said.bound:.9g}.")
    if said.status == "none" and not math.isinf(said.bound):
        faults.append(f"The bound must be infinite where the status is 'none'. Got {said.bound:.9g}.")
    return faults


def _faults_of_decision(draft: Explanation, policy: Policy) -> list[str]:
    """Return what is wrong with the decision where it is said to be the policy's own."""
    decided, cost = policy.decision(draft.initial), draft.cost_before.decision
    if math.isclose(cost, decided.cost, rel_tol=1e-9, abs_tol=1e-9 * float(np.abs(decided.costs).max())):
        return []
    return [f"The policy decides otherwise in the initial context: at cost {decided.cost:.9g}, not {cost:.9g}."]
