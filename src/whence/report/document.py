"""The report of an explanation as plain data: the JSON document "whence/explanation/1", entry by entry.

Text, HTML, notebook, charts and page only render what stands here; :mod:`whence.report.build` computes it once. The
schema ``explanation.schema.json`` is generated from these classes (:mod:`whence.report.document`). Entries with a
default are left out of the document where they have it.
"""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
import pandas as pd
from msgspec import Meta, Struct, field

from whence.util.aliases import Kind, Status
from whence.util.files import write_text
from whence.util.json import to_plain

#: Name and version of the schema; a change that a reader of this version would get wrong gets a new number.
SCHEMA = "whence/explanation/1"
#: Numbers of a larger size are refused: their squares and sums would overflow.
LARGEST = 1e100
#: Most observations that a document may claim to be about.
MOST_OBSERVATIONS = 10_000_000
#: Where no share of the best plan's cost was allowed for.
NOT_ASKED = 0.0


def about(text: str, **limits: Any) -> Meta:
    """Return what the schema says of an entry, and the limits that it has."""
    return Meta(description=text, **limits)


Number: TypeAlias = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Amount: TypeAlias = Annotated[float, Meta(ge=0, le=LARGEST)]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**53)]
Position: TypeAlias = Annotated[int, Meta(ge=0, le=MOST_OBSERVATIONS)]
#: A distance; JSON has no infinity, so that a text stands for it.
Distance: TypeAlias = Amount | Literal["Infinity"]
Scalar: TypeAlias = str | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | Number | bool | None
Interval: TypeAlias = Annotated[list[Number], Meta(min_length=2, max_length=2)]
FeatureKind: TypeAlias = Literal["continuous", "discrete", "categorical", "binary", "date"]


class Change(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A feature that changes."""

    feature: str
    from_: Scalar = field(name="from")
    to: Scalar
    distance: Amount


class CostPair(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Of both plans in one context."""

    decision: Number
    alternative: Number
    best: Annotated[Number | None, about("Of what the policy itself plans there, where that is known.")] = None


class Map(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The network of a route problem whose nodes have places."""

    nodes: Annotated[list[Any], about("Names of the nodes.", min_length=1)]
    x: Annotated[list[Number], about("How far to the right every node is.")]
    y: Annotated[list[Number], about("How far up every node is.")]
    edges: Annotated[
        list[Annotated[list[Position], Meta(min_length=2, max_length=2)]],
        about("Edges as pairs of positions in 'nodes'."),
    ]
    streets: Annotated[list[str], about("Name of every edge, empty where it has none.")]
    decision: Annotated[list[Position], about("Positions in 'edges' of the decision's route.")]
    alternative: Annotated[list[Position], about("The same of the alternative.")]
    source: Annotated[Position, about("Position of the first node of every route.")]
    target: Annotated[Position, about("Position of the last node of every route.")]

    def name(self, node: int) -> str:
        """Return how the node at a position is called; a list stands for a tuple."""
        return str(tupled(self.nodes[node]))


class Plans(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Both plans."""

    form: Annotated[Literal["quantities", "route", "other"], about("What a plan is.")]
    parts: Annotated[list[str], about("Names of the quantities; empty for other forms.")]
    decision: Annotated[Any, about("The explained plan: numbers, nodes (tuples as lists), or anything.")]
    alternative: Annotated[Any, about("The plan that was proposed instead, in the same form.")]
    map: Map | None
    decision_text: Annotated[str, about("The decision as readable text.")]
    alternative_text: Annotated[str, about("The alternative as readable text.")]
    after: Annotated[Any, about("What the policy itself plans in the changed context, in the same form.")] = None
    after_text: Annotated[str, about("The same as readable text.")] = ""


class Observation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One past observation."""

    label: Annotated[str, about("Its row label in the history.")]
    values: Annotated[dict[str, Scalar], about("Its context, by column.")]
    before: Annotated[Amount, about("Its weight in the initial context.")]
    after: Annotated[Amount, about("Its weight in the changed context.")]
    decision: Annotated[Number | None, about("What the decision costs under it.")]
    alternative: Annotated[Number | None, about("What the alternative costs under it.")]
    part: Annotated[Number | None, about("Share of the turn in the costs that its change of weight carries.")]


class Observations(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which past observations speak."""

    count: Annotated[int, about("How many past observations there are.", ge=1, le=MOST_OBSERVATIONS)]
    rows: Annotated[list[Position], about("Positions of those with a weight; the next four lists are about these.")]
    weights_before: Annotated[list[Amount], about("Weights in the initial context; they sum to 1.")]
    weights_after: Annotated[list[Amount] | None, about("Weights in the changed context.")]
    costs_decision: Annotated[list[Number] | None, about("What the decision costs under each.")]
    costs_alternative: Annotated[list[Number] | None, about("What the alternative costs under each.")]
    gaining: Annotated[list[Observation], about("Those that gain most weight, or weigh most.")]
    losing: Annotated[list[Observation], about("Those that lose most weight.")]


class Panel(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The outcomes of both plans in one context: the weight in every bin, and the costs that sum them up."""

    heading: str
    decision: list[Amount]
    alternative: list[Amount]
    marks: CostPair


class Spread(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the outcomes of both plans spread, on common bins."""

    edges: Annotated[list[Number], about("Of the bins; the last one also holds rare costs beyond it.")]
    highest: Annotated[Amount, about("Largest weight in a bin.")]
    beyond: Annotated[bool, about("Whether there are costs beyond the last bin.")]
    panels: Annotated[list[Panel], about("The context as it is, and the changed one.")]


class ShownChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A change as it is written, rounded so that what is said of it stays true."""

    feature: str
    from_: str = field(name="from")
    to: str
    value: Annotated[Scalar, about("The changed value as it is shown, to be typed in.")]
    distance: str
    exact: Annotated[str, about("The changed number to its last digit, where it was rounded.")] = ""


class ShownTable(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A table as it is written."""

    heading: str
    head: list[str]
    rows: list[list[str]]
    numbers: Annotated[list[Position], about("Which columns hold numbers.")]


class ShownSpeaking(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which past observations speak, in words and tables."""

    said: str
    tables: list[ShownTable]
    share: Annotated[str, about("How much of the turn those in the tables carry together.")] = ""
    moved: Annotated[Amount, about("The share of all weight that moves from some of them to others.")] = 0.0


class ShownValue(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One value of a category or switch, and whether a rule allows for it."""

    text: str
    inside: bool
    was: Annotated[bool, about("Whether it is that of the initial context.")] = False
    found: Annotated[bool, about("Whether it is that of the context found.")] = False


class ShownRange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One condition of a rule as it is drawn: a part of a line, or some of the values that there are.

    Places on the line are shares of its length.
    """

    feature: str
    text: Annotated[str, about("The condition as it is written.")]
    ends: Annotated[list[str], about("What stands at both ends of the line; empty for values.")] = []
    begin: Annotated[Amount, about("Where the rule begins to hold.")] = 0.0
    end: Annotated[Amount, about("Where it ends.")] = 1.0
    was: Annotated[Amount | None, about("Where the initial context lies.")] = None
    found: Annotated[Amount | None, about("Where the context found lies.")] = None
    values: list[ShownValue] = []
    left_out: Annotated[Count, about("How many further values are not listed.")] = 0


class Shown(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Numbers and sentences as people read them; all of it follows from the other entries."""

    axis: Annotated[str, about("What is minimised, and in which unit, as an axis names it.")]
    verdict: str
    poor: Annotated[str, about("That neither plan is good in the changed context.")] = ""
    staying: str
    exact: str
    costs: str
    there: Annotated[str, about("What the policy itself plans in the changed context, and at what cost.")] = ""
    certainty: str
    remedy: str
    reliance: Annotated[str, about("How far it can be relied on.")] = ""
    usual: Annotated[str, about("How usual the context found is.")] = ""
    rule: Annotated[str, about("Where else it stays true.")] = ""
    where: Annotated[str, about("A heading for it, where it had to hold in refits.")] = ""
    reliable: Annotated[bool, about("Whether enough refits agree with it.")] = False
    agreed: Annotated[str, about("How many refits agree with it, and nothing of the nearest one.")] = ""
    gain: Annotated[str, about("By how much your plan is cheaper there.")] = ""
    ranges: Annotated[list[ShownRange], about("The rule as it is drawn, where it is worth telling.")] = []
    speaking: ShownSpeaking | None = None
    quality: Annotated[str, about("How good the policy is on rows that it has not seen.")] = ""
    forecast: Annotated[str, about("What is forecast in both contexts, where the policy forecasts.")] = ""
    changes: list[ShownChange]
    cost_before: Annotated[list[str], about("Of the decision and the alternative, as numbers alone.")]
    cost_after: list[str]
    priced_before: Annotated[list[str], about("The same with the unit of costs.")]
    priced_after: list[str]
    cost_headings: Annotated[list[str], about("Of columns with costs of the decision and the alternative.")]
    outcome_axis: Annotated[str, about("What an axis of outcomes is called.")]
    routes: Annotated[str, about("Both routes in a sentence or two, where they have a map.")]
    certificate: Annotated[list[list[str]], about("Names and texts of the certificate's lines.")]


class ShownHeld(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """In how many refits of the weights an explanation holds."""

    times: Count
    refits: Count


class LadderRung(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One confidence that was tried."""

    confidence: Annotated[Amount, about("Standard errors over the trees.")]
    status: str
    distance: Distance
    bound: Distance
    held: ShownHeld | None
    expected: Annotated[Amount | None, about("The share of further refits in which it is expected to hold.")] = None


class CurveStep(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was seen in simulated worlds of answers by this many standard errors."""

    confidence: Annotated[Amount, about("Standard errors over the trees or the neighbours.")]
    answered: Annotated[Count, about("Questions that have an answer by as many.")]
    true: Annotated[Count, about("Answers that are true in their world.")]
    share: Annotated[Amount | None, about("The share of true answers, by a fit that never falls.")] = None
    wider: Annotated[
        list[Count],
        about(
            "Of absolute claims: how many answers are true where 1, 1.5, 2, 3, 4, 5, 7, 10, 15, 20, 30 and 50 times as "
            "much is allowed."
        ),
    ] = []


class WorldsEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The simulated worlds in which it was learnt how often such answers are true."""

    model: Annotated[str, about("What predicts the worlds' mean outcomes.")]
    explained: Annotated[Number, about("The share of the outcomes' variance that it explains on rows not fitted to.")]
    worlds: Annotated[Count, about("Worlds that were simulated.")]
    of: Annotated[Count, about("Worlds that would have been with more time.")]
    questions: Annotated[Count, about("Questions that were asked in all of them.")]
    curve: Annotated[list[CurveStep], about("How often answers are true, step by step.")]


class RelianceEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an explanation that had to be true in the world, or to hold in refits, rests on."""

    wanted: Annotated[Amount, about("The share asked for: of such answers that are true, or of the refits.")]
    refits: Annotated[
        Literal["worlds", "seed", "bootstrap"],
        about("Judged by: simulated worlds, or refits with other random numbers, or on data drawn anew."),
    ]
    confidence: Annotated[Amount, about("Standard errors at which the ladder ended.")]
    chosen: Annotated[ShownHeld, about("Among the refits that chose it.")]
    judged: Annotated[ShownHeld, about("Among others, which had no say.")]
    ladder: Annotated[list[LadderRung], about("Every confidence that was tried.")]
    share: Annotated[Amount | None, about("In simulated worlds: the share of such answers that are true.")] = None
    interval: Annotated[Interval | None, about("Between which shares it lies, nine times of ten.")] = None
    worlds: Annotated[WorldsEntry | None, about("The worlds in which that was learnt.")] = None
    least_gain: Annotated[Amount, about("The least gain to speak of, as a share of the decision's cost.")] = 0.0
    needed: Annotated[Amount | None, about("Standard errors that the share asked for needs, if any do.")] = None
    outside: Annotated[list[str], about("What lies outside the history in the context found.")] = []
    wider: Annotated[
        Amount | None,
        about("Of absolute claims: how many times as much must be allowed for the share asked for to be true."),
    ] = None
    own: Annotated[
        ShownHeld | None, about("How many answers to this very question are true, of this many simulated worlds.")
    ] = None


class RegionCondition(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a rule asks of one feature: a number between two ends, of which null is none, or one of some values."""

    feature: str
    low: Number | None = None
    high: Number | None = None
    values: list[Scalar] | None = None
    text: Annotated[str, about("The condition as it is written.")]
    was: Annotated[Scalar, about("The feature in the initial context.")] = None
    found: Annotated[Scalar, about("The feature in the context found.")] = None
    room: Annotated[Interval | None, about("Of a number: from where to where it might have changed.")] = None
    known: Annotated[list[Scalar] | None, about("Of a category or switch: all of its values.")] = None


class RegionEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The largest box of contexts around the one found in which the explanation stays true."""

    sentence: Annotated[str, about("The rule, or why there is none worth telling.")]
    conditions: Annotated[list[RegionCondition], about("Of the features that it does not leave free.")]
    share: Annotated[Amount, about("The share of the past contexts inside.")]
    maximal: Annotated[bool, about("Whether it cannot be larger; otherwise the time was up.")]
    proved: Annotated[bool, about("Whether the explanation is known to stay true in all of it.")]
    short: Annotated[bool, about("Whether it is worth telling.")]

    @classmethod
    def none(cls, why: str, maximal: bool = False) -> RegionEntry:
        """Return that there is no rule, and why."""
        said = f"No rule: {why}."
        return cls(sentence=said, conditions=[], share=0.0, maximal=maximal, proved=False, short=False)

    def __str__(self) -> str:
        return self.sentence

    @property
    def frame(self) -> pd.DataFrame:
        """The conditions, one row per feature."""
        columns = ["feature", "low", "high", "values"]
        return pd.DataFrame([[getattr(one, name) for name in columns] for one in self.conditions], columns=columns)


class SimpleRule(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The cheapest rule that needs no model besides the sample average."""

    name: Annotated[str, about("Such as 'average per weekday'.")]
    cost: Annotated[Number, about("On the same held-out rows.")]
    verdict: Annotated[Literal["better", "unclear", "worse"], about("Of the policy against it.")]


class QualityEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the policy's decisions cost on past observations that it was not fitted to."""

    rows: Annotated[Count, about("How many past observations were held out in turn.")]
    folds: Annotated[Count, about("In how many parts.")]
    cost: Annotated[Number, about("Of the policy, by what it minimises.")]
    average: Annotated[Number, about("Of the plan that is best on average (sample average).")]
    foresight: Annotated[Number, about("Of the best plan for what really came.")]
    prescriptiveness: Annotated[Number | None, about("Between the sample average (0) and foresight (1).")] = None
    spread: Annotated[Amount | None, about("The standard deviation of that over the parts.")] = None
    verdict: Annotated[Literal["better", "unclear", "worse"], about("Of the policy against the sample average.")]
    simple: Annotated[SimpleRule | None, about("The cheapest average per category, if there is any.")] = None


class ForecastEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a policy that forecasts says of both contexts; past observations count by what forecasts missed then."""

    before: Annotated[dict[str, Number], about("The forecast of every uncertain quantity in the initial context.")]
    after: Annotated[dict[str, Number] | None, about("The same in the changed context.")] = None
    costs_decision: Annotated[list[Number] | None, about("Of the decision there, by past observation.")] = None
    costs_alternative: Annotated[list[Number] | None, about("Of the alternative there.")] = None


class Fingerprints(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """SHA-256 of what stands behind the explanation; those that are not known are missing."""

    model: Annotated[str, about("The fitted weights.")] = ""
    history: Annotated[str, about("Contexts, outcomes and schema.")] = ""
    problem: Annotated[str, about("Class and public state of the decision problem.")] = ""
    not_covered: Annotated[list[str], about("Parts of the problem that its fingerprint does not cover.")] = []
    question: Annotated[str, about("Context, plans, risk and 'question' without limits and engine.")] = ""
    document: Annotated[str, about("The document itself, without this entry.")] = ""


class Searched(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the search for a nearest context ended: the same for plans and for forecasts."""

    status: Annotated[
        Status,
        about(
            "'optimal': the nearest context, proved; 'already': the initial one; 'none': proved that there "
            "is none; 'time_limit', 'interrupted': the best found, if any."
        ),
    ]
    engine: Annotated[str, about("What found the answer.")]
    seconds: Annotated[Amount, about("How long it took.")]
    nodes: Annotated[Count, about("Boxes or solver nodes searched.")]
    tolerance: Annotated[Amount, about("Costs that differ by no more than this count as equal.")]
    blocking: Annotated[list[str], about("Features whose restrictions rule out every explanation.")]


class Finding(Searched, frozen=True, kw_only=True, omit_defaults=True):
    """What an explanation and its document have in common: what was asked for, and how the search for it ended."""

    kind: Annotated[Kind, about("Better than the decision, or than every plan.")]
    cuts: Annotated[Count, about("Rival plans met, for absolute explanations.")]
    within: Annotated[Amount, about("The share of the best plan's cost by which the alternative may cost more.")] = (
        NOT_ASKED
    )
    allowance: Annotated[Amount, about("The amount by which the alternative may cost more than the best plan.")] = (
        NOT_ASKED
    )
    confidence: Annotated[Amount, about("Standard errors over the trees by which to be better.")] = NOT_ASKED
    plausible: Annotated[Amount | None, about("Share of the history that it must be at least as usual as.")] = None
    max_changes: Annotated[Count | None, about("How many features may change at most, where that was limited.")] = None
    separation: Annotated[Amount | None, about("Least gap between the last neighbour's distance and the next.")]
    note: Annotated[str, about("Why there is none, or that the memory ended the search, where it is known.")]
    among: Annotated[str, about("Of a question about a set of plans: what one of them is called.")] = ""
    restricted: Annotated[bool, about("Whether contexts within the range of the history were ruled out.")] = False


class Report(Finding, frozen=True, kw_only=True, omit_defaults=True):
    """An explanation: the nearest context in which the alternative would have been better, and how sure that is."""

    schema: Literal["whence/explanation/1"]
    risk: Annotated[str, about("What is minimised, such as 'expected cost' or 'CVaR at 0.8'.")]
    text: Annotated[str, about("The explanation in plain sentences; not read again.")]
    initial: Annotated[dict[str, Scalar], about("The context of the decision, in the user's units.")]
    context: Annotated[dict[str, Scalar] | None, about("The nearest context, or null where there is none.")]
    changes: Annotated[list[Change], about("The features that change.")]
    distance: Annotated[Distance, about("Distance found.")]
    bound: Annotated[Distance, about("Proved lower bound on the distance of the nearest context.")]
    cost_before: Annotated[CostPair, about("In the initial context.")]
    cost_after: Annotated[CostPair | None, about("In the changed context.")]
    plans: Plans
    kinds: Annotated[dict[str, FeatureKind], about("Kind of every feature.")]
    units: Annotated[dict[str, str], about("Units of the features that have one.")]
    cost_unit: Annotated[str, about("Unit of all costs; missing where the problem names none.")] = ""
    room: Annotated[dict[str, Interval], about("Where changed numbers may lie with the same verdict.")]
    ranges: Annotated[dict[str, Interval], about("Smallest and largest past value of changed numbers.")]
    observations: Observations
    outcomes: Annotated[list[str], about("Names of the uncertain quantities.")]
    margin: Annotated[Interval | None, about("Share of the decision's cost, and amount, by which to cost less.")] = None
    usual: Annotated[Amount | None, about("The share of the history that is not more usual than the context.")] = None
    reliance: Annotated[RelianceEntry | None, about("How often such answers are true, where that was asked.")] = None
    nearest: Annotated[Report | None, about("Then also the nearest explanation, in this fit alone.")] = None
    held: Annotated[ShownHeld | None, about("In how many refits it holds, where that was found out.")] = None
    region: Annotated[RegionEntry | None, about("The rule, where it was found out.")] = None
    quality: Annotated[QualityEntry | None, about("How good the policy is, where that was found out.")] = None
    forecast: Annotated[ForecastEntry | None, about("The forecasts, where the policy makes them.")] = None
    unrestricted: Annotated[Report | None, about("The explanation without restrictions, where they rule out any.")]
    question: Annotated[dict[str, Any], about("Every option of the question, apart from context and plans.")] = {}
    versions: Annotated[dict[str, str], about("Versions of everything that had a part in the result.")]
    risk_words: Annotated[str, about("What is minimised, with the meaning of its name.")] = ""
    spread: Annotated[Spread | None, about("How the outcomes spread, where they are known.")] = None
    shown: Shown | None = None
    fingerprints: Fingerprints = Fingerprints()


def scalar(value: Any) -> Any:
    """Return a feature's value in a document: a number, a truth value, a missing value, or its text as it is shown."""
    plain = to_plain(value)
    return plain if plain is None or isinstance(plain, bool | int | float) else str(value)


def tupled(node: Any) -> Any:
    """Return a node as it may be looked up: JSON knows tuples as lists only."""
    return tuple(map(tupled, node)) if isinstance(node, list | tuple) else node


def schema() -> dict[str, Any]:
    """Return the schema of the document "whence/explanation/1"; entries that it does not know are allowed.

    Examples
    --------
    >>> schema()["title"]
    'whence/explanation/1'
    """
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": SCHEMA}
    return {**head, **msgspec.json.schema(Report)}


def main() -> None:
    """Write the schema to the file that is named, or print it."""
    text = json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
    if len(sys.argv) > 1:
        write_text(sys.argv[1], text, "the schema")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
