"""The report of an explanation as plain data: the JSON document "whence/explanation/1", entry by entry.

Text, HTML, notebook, charts and page only render what stands here; :mod:`whence.report.build` computes it once. The
schema ``explanation.schema.json`` is generated from these classes (:mod:`whence.report.schema`). Entries with a
default are left out of the document where they have it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct, field

from whence.plain import to_plain

__all__ = [
    "SCHEMA",
    "Change",
    "CostPair",
    "Fingerprints",
    "Map",
    "Observation",
    "Observations",
    "Panel",
    "Plans",
    "Report",
    "Shown",
    "ShownChange",
    "Spread",
    "scalar",
    "tupled",
]

#: Name and version of the schema; a change that a reader of this version would get wrong gets a new number.
SCHEMA = "whence/explanation/1"
#: Numbers of a larger size are refused: their squares and sums would overflow.
LARGEST = 1e100
#: Most observations that a document may claim to be about.
MOST_OBSERVATIONS = 10_000_000
#: Where no share of the best plan's cost was allowed for.
NOT_ASKED = 0.0

Number: TypeAlias = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Amount: TypeAlias = Annotated[float, Meta(ge=0, le=LARGEST)]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**53)]
Position: TypeAlias = Annotated[int, Meta(ge=0, le=MOST_OBSERVATIONS)]
#: A distance; JSON has no infinity, so that a text stands for it.
Distance: TypeAlias = Amount | Literal["Infinity"]
Scalar: TypeAlias = str | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | Number | bool | None
Interval: TypeAlias = Annotated[list[Number], Meta(min_length=2, max_length=2)]
FeatureKind: TypeAlias = Literal["continuous", "discrete", "categorical", "binary"]


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


class Map(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The network of a route problem whose nodes have places."""

    nodes: Annotated[list[Any], Meta(min_length=1, description="Names of the nodes.")]
    x: Annotated[list[Number], Meta(description="How far to the right every node is.")]
    y: Annotated[list[Number], Meta(description="How far up every node is.")]
    edges: Annotated[
        list[Annotated[list[Position], Meta(min_length=2, max_length=2)]],
        Meta(description="Edges as pairs of positions in 'nodes'."),
    ]
    streets: Annotated[list[str], Meta(description="Name of every edge, empty where it has none.")]
    decision: Annotated[list[Position], Meta(description="The edges that the decision takes, by position in 'edges'.")]
    alternative: Annotated[list[Position], Meta(description="The edges that the alternative takes.")]
    source: Annotated[Position, Meta(description="Position of the first node of every route.")]
    target: Annotated[Position, Meta(description="Position of the last node of every route.")]

    def name(self, node: int) -> str:
        """How the node at a position is called; a list stands for a tuple."""
        return str(tupled(self.nodes[node]))


class Plans(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Both plans."""

    form: Annotated[
        Literal["quantities", "route", "other"],
        Meta(description="What a plan is: quantities, nodes of a route, or anything else."),
    ]
    parts: Annotated[list[str], Meta(description="Names of the quantities; empty for other forms.")]
    decision: Annotated[
        Any, Meta(description="The explained plan: a list of numbers, a list of nodes (tuples as lists), or anything.")
    ]
    alternative: Annotated[Any, Meta(description="The plan that was proposed instead, in the same form.")]
    map: Map | None
    decision_text: Annotated[str, Meta(description="The decision as readable text.")]
    alternative_text: Annotated[str, Meta(description="The alternative as readable text.")]


class Observation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One past observation."""

    label: Annotated[str, Meta(description="Its row label in the history.")]
    values: Annotated[dict[str, Scalar], Meta(description="Its context, by column.")]
    before: Annotated[Amount, Meta(description="Its weight in the initial context.")]
    after: Annotated[Amount, Meta(description="Its weight in the changed context.")]
    decision: Annotated[Number | None, Meta(description="What the decision costs under it.")]
    alternative: Annotated[Number | None, Meta(description="What the alternative costs under it.")]
    part: Annotated[
        Number | None, Meta(description="Share of the turn in the risk of the costs that its change of weight carries.")
    ]


class Observations(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which past observations speak."""

    count: Annotated[
        Annotated[int, Meta(ge=1, le=MOST_OBSERVATIONS)], Meta(description="How many past observations there are.")
    ]
    rows: Annotated[
        list[Position],
        Meta(
            description="Those with a weight in one of the two contexts, by position; the next four lists are theirs."
        ),
    ]
    weights_before: Annotated[list[Amount], Meta(description="Weights in the initial context; they sum to 1.")]
    weights_after: Annotated[list[Amount] | None, Meta(description="Weights in the changed context.")]
    costs_decision: Annotated[list[Number] | None, Meta(description="What the decision costs under each.")]
    costs_alternative: Annotated[list[Number] | None, Meta(description="What the alternative costs under each.")]
    gaining: Annotated[
        list[Observation],
        Meta(description="Those that gain most weight; without a changed context, those that weigh most."),
    ]
    losing: Annotated[list[Observation], Meta(description="Those that lose most weight.")]


class Panel(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The outcomes of both plans in one context: the weight in every bin, and the costs that sum them up."""

    heading: str
    decision: list[Amount]
    alternative: list[Amount]
    marks: CostPair


class Spread(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the outcomes of both plans spread, on common bins."""

    edges: Annotated[list[Number], Meta(description="Edges of the bins; the last bin also holds rare costs beyond it.")]
    highest: Annotated[Amount, Meta(description="Largest weight in a bin.")]
    beyond: Annotated[bool, Meta(description="Whether there are costs beyond the last bin.")]
    panels: Annotated[list[Panel], Meta(description="The context as it is, and the changed one where there is one.")]


class ShownChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A change as it is written, rounded so that what is said of it stays true."""

    feature: str
    from_: str = field(name="from")
    to: str
    value: Annotated[Scalar, Meta(description="The changed value as it is shown, to be typed in.")]
    distance: str
    exact: Annotated[str, Meta(description="The changed number to its last digit, where it was rounded.")] = ""


class Shown(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Numbers and sentences as people read them; all of it follows from the other entries."""

    axis: Annotated[str, Meta(description="What is minimised, and in which unit, as an axis names it.")]
    verdict: str
    staying: str
    exact: str
    costs: str
    certainty: str
    remedy: str
    changes: list[ShownChange]
    cost_before: Annotated[list[str], Meta(description="Of the decision and the alternative, without their unit.")]
    cost_after: list[str]
    routes: Annotated[str, Meta(description="Both routes in a sentence or two, where they have a map.")]
    certificate: Annotated[list[list[str]], Meta(description="Names and texts of the certificate's lines.")]


class Fingerprints(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """SHA-256 of what stands behind the explanation; those that are not known are missing."""

    model: Annotated[str, Meta(description="The fitted weights.")] = ""
    history: Annotated[str, Meta(description="Contexts, outcomes and schema.")] = ""
    problem: Annotated[str, Meta(description="Class and public state of the decision problem.")] = ""
    not_covered: Annotated[
        list[str], Meta(description="Parts of the problem that its fingerprint does not cover.")
    ] = []
    question: Annotated[str, Meta(description="Context, plans, risk and 'question' without limits and engine.")] = ""
    document: Annotated[str, Meta(description="The document itself, without this entry.")] = ""


class Report(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An explanation: the nearest context in which the alternative would have been better, and how sure that is."""

    schema: Literal["whence/explanation/1"]
    status: Annotated[
        Literal["optimal", "already", "none", "time_limit", "interrupted"],
        Meta(
            description="'optimal': the nearest context, proved; 'already': the initial one; 'none': proved that there "
            "is none; 'time_limit', 'interrupted': the best found, if any."
        ),
    ]
    kind: Annotated[
        Literal["relative", "absolute"],
        Meta(description="Whether the alternative had to be better than the decision, or optimal."),
    ]
    risk: Annotated[str, Meta(description="What is minimised, such as 'expected cost' or 'CVaR at 0.8'.")]
    text: Annotated[str, Meta(description="The explanation in plain sentences; not read again.")]
    initial: Annotated[dict[str, Scalar], Meta(description="The context of the decision, in the user's units.")]
    context: Annotated[dict[str, Scalar] | None, Meta(description="The nearest context, or null where there is none.")]
    changes: Annotated[list[Change], Meta(description="The features that change.")]
    distance: Annotated[Distance, Meta(description="Distance found.")]
    bound: Annotated[Distance, Meta(description="Proved lower bound on the distance of the nearest context.")]
    cost_before: Annotated[CostPair, Meta(description="In the initial context.")]
    cost_after: Annotated[CostPair | None, Meta(description="In the changed context.")]
    plans: Plans
    kinds: Annotated[dict[str, FeatureKind], Meta(description="Kind of every feature.")]
    units: Annotated[dict[str, str], Meta(description="Units of the features that have one.")]
    cost_unit: Annotated[str, Meta(description="Unit of all costs; missing where the problem names none.")] = ""
    room: Annotated[
        dict[str, Interval],
        Meta(description="For continuous features that change: between these values the verdict stays the same."),
    ]
    ranges: Annotated[
        dict[str, Interval], Meta(description="Smallest and largest past value of the numeric features that change.")
    ]
    observations: Observations
    outcomes: Annotated[list[str], Meta(description="Names of the uncertain quantities.")]
    engine: Annotated[str, Meta(description="What found the answer.")]
    seconds: Annotated[Amount, Meta(description="How long it took.")]
    nodes: Annotated[Count, Meta(description="Boxes or solver nodes searched.")]
    cuts: Annotated[Count, Meta(description="Rival plans met, for absolute explanations.")]
    within: Annotated[
        Amount,
        Meta(
            description="For absolute questions: by which share of the best plan's cost the alternative was allowed to "
            "cost more; missing for none."
        ),
    ] = NOT_ASKED
    tolerance: Annotated[Amount, Meta(description="Costs that differ by no more than this count as equal.")]
    separation: Annotated[
        Amount | None,
        Meta(description="Nearest neighbours only: least gap between the last neighbour's distance and the next."),
    ]
    note: Annotated[str, Meta(description="Why there is none, where the reason is known.")]
    blocking: Annotated[list[str], Meta(description="Features whose restrictions rule out every explanation.")]
    unrestricted: Annotated[
        Report | None,
        Meta(description="The explanation without the restrictions, where the restricted question has none."),
    ]
    question: Annotated[
        dict[str, Any],
        Meta(description="What was asked, apart from the context and the plans: every option of the question."),
    ] = {}
    versions: Annotated[dict[str, str], Meta(description="Versions of everything that had a part in the result.")]
    risk_words: Annotated[str, Meta(description="What is minimised, with the meaning of its name.")] = ""
    spread: Annotated[
        Spread | None, Meta(description="How the outcomes spread, where the costs of the observations are known.")
    ] = None
    shown: Shown | None = None
    fingerprints: Fingerprints = Fingerprints()


def scalar(value: Any) -> Any:
    """A feature's value in a document: a number, a truth value, a missing value, or its text as it is shown."""
    plain = to_plain(value)
    return plain if plain is None or isinstance(plain, bool | int | float) else str(value)


def tupled(node: Any) -> Any:
    """A node as it may be looked up: JSON knows tuples as lists only."""
    return tuple(map(tupled, node)) if isinstance(node, list | tuple) else node
