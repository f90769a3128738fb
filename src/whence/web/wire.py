"""What goes over the wire: the requests and answers of the page's HTTP interface."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictStr

from whence.explain.ask import CONDITIONS, OPTIONS, Judge
from whence.problems.plan_text import PlanEditor
from whence.question import Progress

#: Beyond this size numbers are typing errors, and their squares would overflow.
LARGEST = 1e15

Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False, strict=True)]
Text = Annotated[StrictStr, Field(max_length=1000)]
#: Value of a feature: on or off, a number, or the name of a category.
Value = StrictBool | Number | Text
Context = Annotated[dict[Text, Value], Field(max_length=10_000)]
Seconds = Annotated[float, Field(gt=0, le=LARGEST, allow_inf_nan=False)]
TIME_LIMIT = "Seconds; cut to the server's own limit, which is the default."
State = Literal["queued", "running", "done", "cancelled", "failed"]


def _not_zero(value: Any) -> Any:
    """Refuse what only equals false."""
    if not isinstance(value, bool):
        raise ValueError("must be false")
    return value


#: False, and not 0.
No = Annotated[Literal[False], BeforeValidator(_not_zero)]


def told(description: str, default: Any = None) -> Any:
    """A field that may be left out, and what the interface says of it."""
    return Field(default=default, description=description)


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="null")


class _Request(BaseModel):
    # Nothing is turned into what it is not: true is not 1, and "5" is not 5.
    model_config = ConfigDict(extra="forbid", strict=True)


class SceneEntry(_Answer):
    """One line of the list of scenes."""

    id: str
    title: str
    question: str


class Quality(_Answer):
    """How good the decisions are on past observations that the policy was not fitted to."""

    text: str = told("In a sentence or two; empty where it is not known.", "")
    warning: bool = told("Whether a rule that needs no model may do as well.", False)


class Feature(_Answer):
    """One control of the context panel."""

    name: str
    kind: Literal["continuous", "discrete", "categorical", "binary", "date"]
    unit: str = ""
    low: float | None = told("Smallest value on record (numbers only), widened to hold today's.")
    high: float | None = told("Largest value on record (numbers only), widened to hold today's.")
    step: float | None = told("A handy step of a continuous control; any other value is accepted.")
    values: list[bool | float | str] | None = told("Discrete values or categories, in their order.")
    recorded: list[bool | float | str] | None = told(
        "What the history holds: the smallest and the largest number, the categories, or the first and the last date."
    )
    change: Literal["free", "fixed", "increase", "decrease"] = "free"
    weight: float = 1.0


class Node(_Answer):
    """One node of a network; x to the right, y upwards, in the units of the data."""

    id: Any = Field(description="A string, a number, or a list of them.")
    label: str
    x: float
    y: float


class Edge(_Answer):
    """One directed edge of a network, by the ids of its nodes."""

    tail: Any = Field(alias="from")
    head: Any = Field(alias="to")
    name: str = ""


class PlanShape(_Answer):
    """How a plan looks: a route over `nodes` and `edges`, or one number for each of `parts`.

    The plan itself is a list of node ids, or a list of numbers in the order of `parts`. A table without parts holds
    plans that only the problem can read; show their text.
    """

    type: Literal["route", "quantities", "table"]
    nodes: list[Node] = []
    edges: list[Edge] = []
    source: Any = None
    target: Any = None
    drawn: bool = told("Whether the positions are the data's own, not a layout made up here.", False)
    parts: list[str] = []
    budget: float | None = told("Most that all parts may add up to.")
    lower: list[float | None] = told("Least allowed value of every part; null where there is none.", [])
    upper: list[float | None] = told("Largest allowed value of every part; null where there is none.", [])
    scale: list[float] = told("A sensible end of the axis of every part.", [])
    whole: list[bool] = told("Whether a part must be a whole number.", [])

    @classmethod
    def of(cls, editor: PlanEditor) -> PlanShape:
        """What a problem offers to edit, under the names of the interface."""
        return cls(type=editor.form, **{name: value for name, value in vars(editor).items() if name != "form"})


class ForecastRange(_Answer):
    """An outcome that is forecast."""

    outcome: str
    low: float = Field(description="The smallest forecast for a past context.")
    high: float = Field(description="The largest one.")


class Scene(SceneEntry):
    """Everything the page needs to draw its panels."""

    features: list[Feature]
    context: Context = Field(description="Today.")
    observations: int = Field(description="Past observations; the first is number 1.")
    risk: str = Field(description="What is minimised, as in 'Expected cost'.")
    cost_unit: str = told("Unit of all costs; empty where there is none.", "")
    outcomes: list[str] = Field(description="Names of what is uncertain.")
    plan: PlanShape
    alternative: Any = told("A plan that somebody has in mind, or null.")
    instead: Any = told("The set of plans that a question without a plan is about; null for any plan.")
    holds: float | None = told("The share of such answers that the page asks to be true in the world; null for none.")
    refits: Judge | None = told("What that is a share of, where the project says so.")
    margin: float | str | None = told("By how much a plan must be cheaper, where the project says so.")
    plausible: float | None = told("How usual a context found must be, where the project says so.")
    max_changes: int | None = told("How many features may change at most, where the project says so.")
    time_limit: Seconds | None = told("Seconds for a question, where the project says so.")
    within: float = told("How much more than the best plan counts as best in absolute questions, as a share.", 0.0)
    unknown: str = told("Why it is not known how far answers can be relied on, in a sentence.", "")
    forecasts: list[ForecastRange] = told("What is forecast and may be asked about; none where nothing is.", [])


class Observation(_Answer):
    """One past observation."""

    row: int = Field(description="Its number; the first is 1.")
    label: str = Field(description="What the data calls it: its number, where its rows have no names.")
    context: Context


class Outcomes(_Answer):
    """What a plan would have cost under the past observations, each with its weight in the context.

    At most 200 values, rising; close ones are put together at their weighted mean. The weights add up to 1.
    """

    values: list[float]
    weights: list[float]


class Marks(_Answer):
    """What sums up the outcomes of either plan: expected cost or CVaR."""

    decision: float
    alternative: float | None = None


class Panel(_Answer):
    """The weight in every bin, for either plan in one context."""

    heading: str
    decision: list[float]
    alternative: list[float] | None = None
    marks: Marks


class Spread(_Answer):
    """How the outcomes spread, in the same bins for all that is drawn together; as in the report of an explanation."""

    edges: list[float] = Field(description="Of the bins; the last one also holds rare costs beyond it.")
    highest: float = Field(description="Largest weight in a bin.")
    beyond: bool = Field(description="Whether there are costs beyond the last bin.")
    panels: list[Panel]


class Judged(_Answer):
    """A plan in a context."""

    plan: Any
    text: str
    cost: float = Field(description="Expected cost or CVaR, whichever the policy minimises.")
    outcomes: Outcomes


class Speaker(Observation):
    """A past observation that has a weight in the context."""

    weight: float


class Decision(Judged):
    """What the policy decides in a context."""

    speaking: list[Speaker] = Field(description="The observations that weigh most, at most 8.")
    speakers: int = Field(description="How many have a weight at all.")
    spread: Spread = Field(description="Its outcomes in bins.")
    remarks: list[str] = Field(description="What to know about the context, as where it lies outside the history.")


class Check(_Answer):
    """Whether a plan can be carried out and, if so, what it costs in the context."""

    feasible: bool
    reason: str | None = told("One sentence, where it cannot.")
    text: str | None = None
    cost: float | None = None
    outcomes: Outcomes | None = None
    spread: Spread | None = told("The outcomes of the decision and of the plan in common bins.")


class ContextRequest(_Request):
    """A context: a value for every feature."""

    context: Context

    def conditions(self) -> dict[str, Any]:
        """What an answer has to bear besides, of what is given, as `Policy.explain` takes it."""
        given = {name: getattr(self, name, None) for name in CONDITIONS}
        return {name: OPTIONS[name].read(value) for name, value in given.items() if value is not None}


class PlanRequest(ContextRequest):
    """A context and a plan of one's own."""

    plan: Any = Field(description="A list of node ids, or a list of numbers.")


class StripsRequest(ContextRequest):
    """A context, and a plan of one's own where there is one."""

    plan: Any = told("A list of node ids, or a list of numbers; without it, only other plans are compared.")
    decision: Any = told("The plan that counts as the decision, where that is not the one for this context.")
    patient: bool = told("Whether to take up to 2 s, where 0.1 s do not settle everything.", False)


class StripStretch(_Answer):
    """Neighbouring values of a feature with one verdict."""

    begin: Any = Field(description="A number, or the first value.")
    end: Any = Field(description="A number, or the last value.")
    verdict: Literal["decision", "alternative", "another"] = Field(description="The plan that is best there.")
    ahead: Literal["decision", "alternative"] = Field(description="Which of the two is cheaper there.")
    settled: bool = Field(description="Whether it is known that no other plan is better than that.")
    first: float | None = Field(None, description="The smallest number in it that the feature takes, if not any.")
    last: float | None = Field(None, description="The largest such number.")


class FeatureStrip(_Answer):
    """Which plan is best along one feature, the others as they are."""

    feature: str
    ordered: bool = Field(description="Whether stretches lie side by side, on numbers or days; else one per value.")
    exact: bool = Field(description="Whether the verdict was found out everywhere, not only at some values.")
    stretches: list[StripStretch]


class Strips(_Answer):
    """Which plan is best along every feature."""

    near: float = Field(description="The share of the cost from which on another plan counts as better.")
    strips: list[FeatureStrip]


class _SearchRequest(ContextRequest):
    """Where a search looks, and when it stops: the same for a plan and for a forecast."""

    plausible: Annotated[float, Field(gt=0, lt=1)] | None = told(
        "The share of past contexts than which the context found must be no less usual."
    )
    fixed: list[Text] = Field(default=[], max_length=10_000, description="Features that cannot change.")
    bounds: dict[Text, Annotated[list[Value | None], Field(max_length=10_000)]] = Field(
        default={},
        max_length=10_000,
        description="Feature to [low, high] (null for open), or to the categories allowed.",
    )
    time_limit: Seconds | None = told(TIME_LIMIT)


class QuestionRequest(_SearchRequest):
    """A question about a plan, a set of plans, or any other plan than today's."""

    plan: Any = told("A list of node ids, or a list of numbers; without it, the question is about `instead`.")
    instead: Text | Annotated[dict[Text, Any], Field(max_length=100)] | None = told(
        "In place of a plan, a set of plans: 'any', or lists of places under 'through', 'using' and 'avoiding', "
        "quantities by name under 'at_least' and 'at_most', pairs under 'between', or plans under 'only'. Without "
        "either, what the project asks about, or any plan."
    )
    known: Context | None = told(
        "A context in which the plan is known to be good enough, such as the one whose plan it is."
    )
    kind: Literal["relative", "absolute"] = "relative"
    within: Annotated[float, Field(ge=0, le=LARGEST, allow_inf_nan=False)] | None = told(
        "For absolute questions: how much more than the best plan the plan may cost, as a share of it. Without it, "
        "what the project says, or 0.01 where plans are quantities that may take any value."
    )
    margin: Annotated[float, Field(ge=0, lt=1)] | Annotated[StrictStr, Field(max_length=100)] | None = told(
        "By how much the plan must be cheaper: a share of the decision's cost, or a text such as '10 cost'."
    )
    confidence: Annotated[float, Field(ge=0, le=LARGEST, allow_inf_nan=False)] | None = told(
        "Standard errors over the trees by which the plan must be better; not together with `holds`."
    )


class ExplainRequest(QuestionRequest):
    """The question "why not my plan?", or "why none of these plans?", or "what would change the plan?"."""

    holds: Annotated[float, Field(gt=0, le=1)] | No | None = told(
        "The share of such answers that must be true in the world; the nearest comes first, as `nearest` of the job. "
        "False for none, whatever the project says."
    )
    refits: Judge | None = told(
        "What that is a share of: true answers in simulated worlds, or refits with other random numbers or data."
    )
    max_changes: Annotated[int, Field(ge=1, le=10_000)] | None = told("How many features may change at most.")
    rule: bool = told("Whether to find out where else the answer stays true.", False)


class MenuRequest(QuestionRequest):
    """The question "what else would do?"."""

    up_to: int = Field(default=3, ge=1, le=10_000, description="The largest number of features in a set.")
    apart: Annotated[float, Field(ge=0, le=LARGEST, allow_inf_nan=False)] = told(
        "The least distance between any two answers.", 0.0
    )


class ForecastRequest(_SearchRequest):
    """The question "when would the forecast reach this value?"."""

    outcome: Text | None = told("Which outcome; may be left out where there is one.")
    at_most: Number | None = told("The forecast must be at most this; give one of the three.")
    at_least: Number | None = told("The forecast must be at least this.")
    between: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = told(
        "The forecast must lie between these two."
    )
    max_changes: Annotated[int, Field(ge=1, le=10_000)] | None = told("How many features may change at most.")


class CompareRequest(_Request):
    """The question "why is it another plan than before?"."""

    before: Context
    after: Context
    time_limit: Seconds | None = told(TIME_LIMIT)


class PricesRequest(PlanRequest):
    """The question "at which prices would my plan be right?"."""

    kind: Literal["relative", "absolute"] | None = told(
        "The best plan at the other prices, or as good as the decision; null for the best plan, and where there are no "
        "such prices, as good as the decision."
    )
    fixed: Annotated[list[Text], Field(max_length=1_000)] = told("Prices that stay, or kinds of them.", [])
    common: bool = told("One factor for prices of a kind, or a price for every product or edge by itself.", True)
    time_limit: Seconds | None = told(TIME_LIMIT)


class RulesRequest(_Request):
    """The question "what does the policy do in general?"."""

    up_to: int = Field(default=6, ge=1, le=50, description="The largest number of rules.")
    time_limit: Seconds | None = told(TIME_LIMIT)


class JobProgress(_Answer):
    """How far a search has come; null where there is nothing yet."""

    nodes: int
    distance: float | None
    bound: float | None
    seconds: float
    refit: int | None = told("Which of the simulated worlds (0: the model of them), or refits, is being made.")
    refits: int | None = told("Of how many.")

    @classmethod
    def of(cls, progress: Progress) -> JobProgress:
        """What a search has told."""
        return cls(**{name: getattr(progress, name) for name in cls.model_fields})


class Then(Decision):
    """The context that was found: what the policy decides there, and both plans of the question there."""

    context: Context
    decision: Judged = Field(description="Today's decision, in that context.")
    alternative: Judged = Field(description="The alternative, or the plan of the set that takes over, there.")


class Result(_Answer):
    """The answer to a question."""

    explanation: dict[str, Any] = Field(description="Its report, without the lists of all past observations.")
    sentence: str = Field(description="The explanation in words, one paragraph per line.")
    then: Then | None = told("Null where there is no context to show.")


class _Job(_Answer):
    """What is said of every question on its way."""

    job: str
    scene: str
    state: State
    ahead: int = told("Questions that come before it, while it is queued.", 0)
    time_limit: float
    progress: JobProgress | None = None
    error: str | None = told("One sentence, where it failed.")
    remarks: list[str] = told("What to know about the context asked about, as where it lies outside the history.", [])


class Job(_Job):
    """A question on its way."""

    kind: Literal["relative", "absolute"]
    nearest: Result | None = told(
        "Where an answer must be true, or hold in refits: the nearest one, while the search goes on; and in the end, "
        "unless it is the result itself."
    )
    result: Result | None = None


class Listed(Result):
    """One explanation of several."""

    name: str = told("What it is the answer for: the number of changes allowed, or the fact that it undoes.", "")
    changes: str = told("What changes, in words; empty where there is no context.", "")


class Found(_Answer):
    """The answer to another question."""

    sentence: str = Field(description="The answer in words, one paragraph per line.")
    answer: dict[str, Any] = Field(description="Its document, without the explanations in it.")
    explanations: list[Listed] = Field(description="These, in their order, at most 12.")
    left_off: int = told("How many more the document holds.", 0)


class QuestionJob(_Job):
    """Another question on its way."""

    question: Literal["front", "menu", "reasons", "compare", "forecast", "prices", "rules"]
    kind: Literal["relative", "absolute"] | None = told("Null for a comparison, a forecast, and rules.")
    result: Found | None = None
    remarks: list[str] = told("What to know about the contexts asked about.", [])


class StoredQuestion(_Answer):
    """One question of those that were asked about a project."""

    job: str
    question: str = Field(description="What was asked: `explain`, or one of the other questions.")
    who: str = Field(description="Whom a proxy has named, or the token's name; empty where neither is known.")
    asked_at: str = Field(description="When, in UTC (ISO 8601).")
    seconds: float | None = told("How long the answer took; null while there is none.")
    state: str


class Link(_Answer):
    """A way into the page for somebody who has no token."""

    path: str = Field(description="To be added to the address of the page.")
    seconds: float = Field(description="How long it can be opened, once.")


class Problem(_Answer):
    """Why a request was refused: problem details (RFC 9457)."""

    type: str = Field(description="Always `about:blank`: the status says what kind it is.")
    title: str = Field(description="The status in words.")
    status: int
    detail: str = Field(description="What is wrong, in one sentence.")


class Health(_Answer):
    """How the server is."""

    version: str
    workers: int
    ready: int = Field(description="Workers that have loaded everything.")
    queued: int
    running: int
    time_limit: float = Field(description="Most seconds that a search may take.")
