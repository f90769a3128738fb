"""The desk at which assistants ask: opened projects, the questions that may be put to them, and answers given."""

from __future__ import annotations

import copy
import json
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from whence.assistants import short_answers as short
from whence.certificate import verify
from whence.errors import InfeasiblePlanError, InputError
from whence.evaluation.evaluating import evaluate, judged
from whence.explain.explanation import Explanation
from whence.problems.base import cost_unit_of
from whence.problems.plan_sets import PlanSet
from whence.project import Project
from whence.project.typed_questions import read_bounds
from whence.question import Progress
from whence.questions.answer_documents import answer_from
from whence.questions.comparison import Comparison
from whence.questions.menu import Menu
from whence.questions.reasons import Reasons
from whence.questions.result import SINGLE, Result
from whence.questions.rules import Rules
from whence.report.words import quality_in_words
from whence.util.json import finite, quoted, to_plain
from whence.util.linear_program import until

#: Answers that are remembered, so that they can be verified and read whole.
KEPT = 200
#: Names of places, streets or values that are listed.
LISTED = 200
#: Values of a feature that are listed one by one.
FEW = 30
#: What is said of questions whose answers are not asked in simulated worlds.
OF_THE_MODEL = (
    "This is about the policy as it was fitted; how often such answers are true in the world is known for 'explain' "
    "alone."
)

#: Told how far a search has come; returns False where it is to stop.
OnProgress = Callable[[Progress], bool]

Name = Annotated[
    str | None, Field(max_length=200, description="As 'projects' lists it; may be left out where there is one.")
]
Row = Annotated[
    int | str | dict[str, Any] | list[int | str | dict[str, Any]],
    Field(
        description="A context: the number of a past observation (the first is 1), a text 'name=value, name=value', an "
        "object of names and values; or a list of these, each laid over those before it, as in [12, {'rain': true}]."
    ),
]
OwnPlan = Annotated[
    str | list[Any] | dict[str, Any],
    Field(
        description="A plan: quantities as a list in the order of 'plan_parts' or as 'name=value, name=value'; a route "
        "as its stops with '>' between them; 'row:12' for what the policy decides there."
    ),
]
Instead = Annotated[
    str | list[Any] | dict[str, Any] | None,
    Field(
        description="A plan, as for 'decide'; or a set of plans, such as 'any', 'through:Ring Road', "
        "'avoiding:Ring Road' or 'at-least:rye=80'. Left out: what the project asks about, or any other plan."
    ),
]
Kind = Annotated[
    Literal["relative", "absolute"],
    Field(description="Whether the plan must be better than the decision, or the best of all plans."),
]
Fixed = Annotated[list[str], Field(max_length=1000, description="Features that must stay as they are.")]
Bounds = Annotated[
    list[str], Field(max_length=1000, description="Limits of features: 'temperature=0:20', 'weekday=Saturday|Sunday'.")
]
Usual = Annotated[
    float | None,
    Field(gt=0, lt=1, description="The share of past contexts than which the context found must be no less usual."),
]
Seconds = Annotated[
    float | None, Field(gt=0, description="Most seconds for the search; cut to the server's own limit.")
]
UpTo = Annotated[int, Field(ge=1, le=10, description="The largest number of features in a set.")]


def going_on(_: Progress) -> bool:
    """Let a search go on, whoever does not look at it."""
    return True


class Desk:
    """Answers questions about projects, each within a time limit, whatever it asks for itself."""

    def __init__(self, projects: Mapping[str, Project], time_limit: float = 60.0) -> None:
        self._projects, self.time_limit = dict(projects), time_limit
        self._answers: OrderedDict[str, tuple[str, Explanation | Result]] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def opened(cls, paths: Sequence[str | Path], time_limit: float = 60.0) -> Desk:
        """Return a desk for the project files at `paths`, fitted; a folder stands for the whence.toml in it."""
        projects: dict[str, Project] = {}
        for path in paths:
            project = Project.load(path)
            project.fitted()
            stem = project.path.stem
            name = project.path.resolve().parent.name if stem == "whence" else stem
            projects[_unused(_in_addresses(name), projects)] = project
        return cls(projects, time_limit)

    def restricted(self, may_ask: Callable[[str], bool]) -> Desk:
        """Return the same desk with those of its projects only whose name `may_ask` is true of."""
        own = copy.copy(self)
        own._projects = {name: project for name, project in self._projects.items() if may_ask(name)}
        return own

    @property
    def names(self) -> list[str]:
        """What the projects are called."""
        return list(self._projects)

    def seconds(self, asked: float | None, project: Project | None = None) -> float:
        """Return the seconds for a question: as asked, or as its project says, and never more than the limit."""
        own = None if project is None else project.explain_defaults["time_limit"]
        return min(asked or own or self.time_limit, self.time_limit)

    def find(self, name: str | None) -> tuple[str, Project]:
        """Return the project of this name; where there is one only, it need not be named."""
        if name is None and len(self._projects) == 1:
            return next(iter(self._projects.items()))
        if name not in self._projects:
            raise InputError(f"'project' must be one of {', '.join(map(repr, self.names))}. Got {name!r} instead.")
        return name, self._projects[name]

    # ---- what there is -------------------------------------------------------------------------------

    def projects(self) -> short.Projects:
        """Return the projects that may be asked about."""
        return short.Projects(
            projects=[
                short.ProjectEntry(project=name, title=one.title, question=one.question, observations=len(one.X))
                for name, one in self._projects.items()
            ]
        )

    def features(self, project: Name = None) -> short.Features:
        """List what contexts and plans of a project consist of, and how good its decisions are."""
        name, found = self.find(project)
        policy = found.fitted()
        schema, last = policy.schema_, policy.schema_.row(policy.X_.iloc[[-1]])
        decision = policy.decide(last)
        editor = policy.problem.editor(policy.Y_, policy.outcome_names_, [decision])
        quality, unit = judged(policy), cost_unit_of(policy.problem)
        streets = dict.fromkeys(str(edge["name"]) for edge in editor.edges if edge.get("name"))
        words = policy.risk_.words
        return short.Features(
            project=name,
            features=[_feature(found, feature) for feature in schema.names],
            last=to_plain(last),
            plan_form=editor.form,
            plan_parts=editor.parts[:LISTED],
            plan_places=[str(node["label"]) for node in editor.nodes[:LISTED]],
            plan_streets=list(streets)[:LISTED],
            plan_example=policy.problem.to_plain(decision),
            minimised=words,
            cost_unit=unit,
            quality="It is not known." if quality is None else quality_in_words(quality, words, unit),
        )

    def history(self, name: str | None) -> str:
        """Return a summary of a project's history: its columns, and of each the range or the commonest values."""
        name, project = self.find(name)
        X, Y = project.X, project.Y
        lines = [f"# History of {name}", "", f"{len(X)} past observations.", "", "## Contexts", ""]
        lines += [f"- {column}: {_summary(X[column])}" for column in X.columns]
        lines += ["", "## Outcomes", ""]
        lines += [f"- {column}: {_summary(Y[column])}" for column in list(Y.columns)[:LISTED]]
        if len(Y.columns) > LISTED:
            lines.append(f"- and {len(Y.columns) - LISTED} more")
        return "\n".join(lines) + "\n"

    # ---- questions -----------------------------------------------------------------------------------

    def decide(self, context: Row, plan: OwnPlan | None = None, project: Name = None) -> short.Decided:
        """Decide in a context, and say what a plan of one's own would cost there, or why it cannot be carried out."""
        name, asked = self.find(project)
        policy, row = asked.fitted(), asked.context(context, files=False)
        with until(time.perf_counter() + self.time_limit):
            made = policy.decision(row)
        found = short.Decided(
            project=name,
            context=to_plain(row),
            decision=self._planned(asked, made.plan, made.cost),
            minimised=policy.risk_.words,
            cost_unit=cost_unit_of(policy.problem),
            remarks=asked.outside(row),
        )
        if plan is not None:
            try:
                own = self._plan(asked, plan)
                costs = np.asarray(policy.problem.costs(own, policy.outcomes_in(policy.schema_.row(row))))
                found.own = self._planned(asked, own, policy.risk_.of(costs, made.weights))
            except InfeasiblePlanError as error:
                found.own_refused = error.reason
        return found

    def _planned(self, project: Project, plan: Any, cost: float) -> short.Planned:
        policy = project.fitted()
        text = policy.problem.describe(plan, policy.outcome_names_)
        return short.Planned(plan=policy.problem.to_plain(plan), text=text, cost=float(cost))

    def _plan(self, project: Project, value: Any) -> Any:
        """Return one plan, where a set of them would be of no use."""
        plan = project.plan(value, files=False)
        if isinstance(plan, PlanSet):
            raise InputError(f"'plan' must be one plan here, not a set of plans. Got {quoted(value)} instead.")
        return plan

    def evaluate(
        self, time_limit: Seconds = None, project: Name = None, *, on_progress: OnProgress = going_on
    ) -> short.Evaluated:
        """Evaluate how good the decisions are on rows that the policy has not seen, against simple rules."""
        name, asked = self.find(project)

        def told(done: int, of: int) -> None:
            if not on_progress(Progress(done, float("inf"), 0.0, time.perf_counter() - began, done, of)):
                raise InputError("The evaluation was stopped.")

        began = time.perf_counter()
        found = evaluate(asked.fitted(), time_limit=self.seconds(time_limit), on_progress=told)
        return short.Evaluated(
            project=name,
            text=found.sentence,
            rows=len(found.costs),
            table=[
                short.EvaluatedEntry(
                    name=str(label), cost=row["cost"], saves=finite(row["saves"]), verdict=row["verdict"]
                )
                for label, row in found.frame.iterrows()
            ],
            cost_unit=found.cost_unit,
            remarks=list(found.remarks),
        )

    def explain(
        self,
        context: Row,
        instead: Instead = None,
        kind: Kind = "relative",
        fixed: Fixed = [],  # noqa: B006
        bounds: Bounds = [],  # noqa: B006
        max_changes: Annotated[int | None, Field(ge=1, description="How many features may change at most.")] = None,
        plausible: Usual = None,
        holds: Annotated[
            float | None,
            Field(gt=0, le=1, description="The share of such answers that must be true in the world; 0.9 if left out."),
        ] = None,
        time_limit: Seconds = None,
        project: Name = None,
        *,
        on_progress: OnProgress = going_on,
    ) -> short.Explained:
        """Explain why not another plan: the nearest context in which it would have been better, with a proof.

        Ask about one plan ("why not my plan?"), a set of plans ("why no route through the Ring Road?"), or none ("what
        would change the plan?").
        """
        name, found = self.find(project)
        policy, row = found.fitted(), found.context(context, files=False)
        given = {"kind": kind, "max_changes": max_changes, "plausible": plausible, "holds": holds}
        asked = self._options(found, fixed, bounds, time_limit, **given)
        if asked["holds"] is None:
            asked["holds"] = found.explain_defaults.share(policy)
        why = policy.explain(row, self._asked(found, instead), on_progress=on_progress, **asked)
        unknown = found.explain_defaults.unknown(policy)
        return short.explained(self._keep(name, why), name, why, unknown, found.outside(row))

    def menu(
        self,
        context: Row,
        instead: Instead = None,
        up_to: UpTo = 3,
        kind: Kind = "relative",
        fixed: Fixed = [],  # noqa: B006
        bounds: Bounds = [],  # noqa: B006
        plausible: Usual = None,
        time_limit: Seconds = None,
        project: Name = None,
        *,
        on_progress: OnProgress = going_on,
    ) -> short.Answered:
        """List what else would do: the nearest context for every smallest set of features that suffices, proved."""
        given = {"fixed": fixed, "bounds": bounds, "time_limit": time_limit, "kind": kind, "plausible": plausible}
        return self._several("menu", context, instead, project, given, up_to=up_to, on_progress=on_progress)

    def reasons(
        self,
        context: Row,
        instead: Instead = None,
        kind: Kind = "relative",
        fixed: Fixed = [],  # noqa: B006
        bounds: Bounds = [],  # noqa: B006
        plausible: Usual = None,
        time_limit: Seconds = None,
        project: Name = None,
        *,
        on_progress: OnProgress = going_on,
    ) -> short.Answered:
        """Find the facts of the context that settle that the plan is not better, whatever else changes; proved."""
        given = {"fixed": fixed, "bounds": bounds, "time_limit": time_limit, "kind": kind, "plausible": plausible}
        return self._several("reasons", context, instead, project, given, on_progress=on_progress)

    def _several(
        self, question: str, context: Any, instead: Any, project: str | None, given: Mapping[str, Any], **own: Any
    ) -> short.Answered:
        """Return the answer to a question that has several explanations."""
        name, found = self.find(project)
        row = found.context(context, files=False)
        asked = {key: value for key, value in self._options(found, **given).items() if key not in SINGLE}
        answer = getattr(found.fitted(), question)(row, self._asked(found, instead), **own, **asked)
        return self._answered(name, answer, found.outside(row))

    def compare(
        self,
        before: Row,
        after: Row,
        time_limit: Seconds = None,
        project: Name = None,
        *,
        on_progress: OnProgress = going_on,
    ) -> short.Answered:
        """Compare two contexts: why it is another plan in the one than in the other, in contributions that add up."""
        name, asked = self.find(project)
        rows = [asked.context(one, files=False) for one in (before, after)]
        found = asked.fitted().compare(*rows, time_limit=self.seconds(time_limit, asked), on_progress=on_progress)
        return self._answered(name, found, [text for row in rows for text in asked.outside(row)])

    def prices(
        self,
        context: Row,
        plan: OwnPlan,
        kind: Kind = "absolute",
        fixed: Annotated[list[str], Field(max_length=1000, description="Prices that stay, or kinds of them.")] = [],  # noqa: B006
        time_limit: Seconds = None,
        project: Name = None,
    ) -> short.Answered:
        """Find the nearest prices at which the plan would be right in the context as it is, proved."""
        name, asked = self.find(project)
        row, seconds = asked.context(context, files=False), self.seconds(time_limit, asked)
        found = asked.fitted().prices(row, self._plan(asked, plan), kind=kind, fixed=fixed, time_limit=seconds)
        return self._answered(name, found, asked.outside(row))

    def rules(
        self,
        up_to: Annotated[int, Field(ge=1, le=20, description="The largest number of rules.")] = 6,
        time_limit: Seconds = None,
        project: Name = None,
        *,
        on_progress: OnProgress = going_on,
    ) -> short.Answered:
        """Say what the policy does in general, as a few rules, what they cost more, and where they fail."""
        name, asked = self.find(project)
        found = asked.fitted().rules(up_to, time_limit=self.seconds(time_limit, asked), on_progress=on_progress)
        return self._answered(name, found, [])

    def verify(
        self,
        answer: Annotated[
            str, Field(description="The 'answer' of an answer given before, or the JSON text of a saved one.")
        ],
        prove: Annotated[bool, Field(description="Whether to search again, so that the proof is made anew.")] = False,
        time_limit: Seconds = None,
        project: Name = None,
        *,
        on_progress: OnProgress = going_on,
    ) -> short.Verified:
        """Verify an answer: whether it is what the project says today, computed again from the data."""
        if answer.lstrip().startswith("{"):
            try:
                document = json.loads(answer)
            except ValueError as error:
                raise InputError(f"'answer' must be JSON that can be read: {error}.") from None
            said = answer_from(document)
        else:
            kept, said = self._kept(answer)
            project, document = project or kept, said.to_dict()
        name, asked = self.find(project)
        policy, seconds = asked.fitted(), self.seconds(time_limit, asked) if prove else None
        if isinstance(said, Explanation):
            judge = lambda: judged(policy)  # noqa: E731
            found = verify(
                said, policy, document=document, prove=prove, time_limit=seconds, on_progress=on_progress, judge=judge
            )
        else:
            found = said.verify(policy, prove=prove, time_limit=seconds)
        return short.Verified(project=name, agrees=found.agrees, **vars(found))

    def document(self, answer: str) -> str:
        """Return an answer that was given here, whole, as JSON."""
        return str(self._kept(answer)[1].to_json())

    # ---- how questions are asked -----------------------------------------------------------------------

    def _asked(self, project: Project, plan: Any) -> Any:
        """Return the plan or set of plans that is asked about; what the project says, or any plan, where none is."""
        return project.plan_asked() if plan is None else project.plan(plan, files=False)

    def _options(
        self, project: Project, fixed: Sequence[str], bounds: Sequence[str], time_limit: float | None, **given: Any
    ) -> dict[str, Any]:
        """Return arguments of `Policy.explain`: what is given, and otherwise what the project says."""
        defaults = project.explain_defaults
        return defaults.options(
            fixed=(*defaults["fixed"], *fixed),
            bounds=read_bounds(bounds, project.fitted().schema_) or None,
            time_limit=self.seconds(time_limit, project),
            **given,
        )

    def _answered(self, name: str, found: Result, remarks: list[str]) -> short.Answered:
        status, proved = _settled(found)
        return short.Answered(
            answer=self._keep(name, found),
            project=name,
            text=found.text,
            status=status,
            proved=proved,
            ways=short.ways_of(_held(found)),
            reliance=OF_THE_MODEL,
            remarks=remarks,
        )

    def _keep(self, project: str, answer: Explanation | Result) -> str:
        name = secrets.token_urlsafe(9)
        with self._lock:
            self._answers[name] = project, answer
            while len(self._answers) > KEPT:
                self._answers.popitem(last=False)
        return name

    def _kept(self, answer: str) -> tuple[str, Explanation | Result]:
        with self._lock:
            found = self._answers.get(answer)
        if found is None or found[0] not in self._projects:
            raise InputError(
                f"'answer' must be that of an answer given here, of which the last {KEPT} are kept. "
                f"Got {quoted(answer)} instead."
            )
        return found


def _in_addresses(name: str) -> str:
    """Return a name that needs no escaping in an address."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "project"


def _unused(name: str, taken: Mapping[str, Any]) -> str:
    """Return a name that is not taken: with a number behind it where it is."""
    return name if name not in taken else next(f"{name}-{n}" for n in range(2, 10**6) if f"{name}-{n}" not in taken)


def _feature(project: Project, name: str) -> short.FeatureEntry:
    schema = project.fitted().schema_
    kind, values = schema.kind(name), list(getattr(schema.kind(name), "categories", None) or schema.levels(name))
    low, high = schema.dates(name) or ((None, None) if values else schema.training_range(name))
    fixed = name in project.explain_defaults["fixed"]
    return short.FeatureEntry(
        name=name,
        kind=schema.kinds()[name],
        unit=schema.unit(name),
        values=to_plain(values) if len(values) <= FEW else [],
        low=to_plain(values[0] if len(values) > FEW else low),
        high=to_plain(values[-1] if len(values) > FEW else high),
        change="fixed" if fixed else kind.change,
    )


def _summary(column: pd.Series) -> str:
    """Say what a column holds: least, middle and largest of numbers, otherwise the commonest values."""
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        low, middle, high = (f"{value:.4g}" for value in column.quantile([0.0, 0.5, 1.0]))
        return f"{low} to {high}, half of them at most {middle}"
    counts = column.value_counts()
    listed = ", ".join(f"{value} ({count})" for value, count in counts.head(8).items())
    return listed + (f" and {len(counts) - 8} more" if len(counts) > 8 else "")


def _held(found: Result) -> list[tuple[str, Explanation]]:
    """Return the explanations in an answer, each with what it is the answer for."""
    if isinstance(found, Reasons):
        return [(f"without {name}", why) for name, why in found.needed.items()]
    return [("", why) for why in found.answers] if isinstance(found, Menu) else []


def _settled(found: Result) -> tuple[str, bool]:
    """Return how an answer ended, and whether that is proved."""
    if isinstance(found, Comparison):
        return ("proved", True) if found.proved else ("open", False)
    if isinstance(found, Rules):
        return "bounded", True
    status = str(getattr(found, "status", ""))
    return status, status in ("complete", "already", "proved", "none", "optimal")
