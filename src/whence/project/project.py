"""A project: data, features, weights, problem and risk as one file describes them."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from whence.errors import InputError, WhenceError
from whence.features import Schema
from whence.files import project_file, read_file
from whence.plain_values import quoted
from whence.policy import Policy
from whence.problems.sets import PlanSet
from whence.project.contexts import ContextReader, is_file, json_value, read_json_file
from whence.project.csv_files import CsvFormat, decoded, load_csv
from whence.project.features import built_features, read_declared
from whence.project.findings import Finding, Findings, Place, ProjectError
from whence.project.history import read_format, read_history
from whence.project.plan_sets import is_set, read_plan_set
from whence.project.problems import edge_columns, problem_files, read_network, read_problem
from whence.project.sections import ExplainDefaults, read_explain_defaults, read_risk, read_weights
from whence.project.source import TEXT, TEXTS, Section, Source
from whence.report.outside import outside
from whence.typed_values import number

#: Rows on which a problem is tried out when a project is read.
TRIED_ROWS = 5


@dataclass(eq=False)
class Project:
    """A project file with its data, ready to fit, decide and explain.

    Attributes
    ----------
    path : Path
        The project file.
    title, question : str
        Texts for reports; may be empty.
    X, Y : DataFrame
        Contexts and outcomes of the past, in the user's units.
    policy : Policy
        The policy, not fitted.
    weight : Series, optional
        What each row of the past counts for, where they do not count alike.
    explain_defaults : ExplainDefaults
        How questions are asked by default.
    warnings : list of Finding
        What is worth a look.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "days.csv").write_text("temp,sold\\n" + "\\n".join(f"{t},{2 * t}" for t in range(30)))
    >>> _ = (folder / "whence.toml").write_text('''
    ... [data]
    ... history = "days.csv"
    ... [outcomes]
    ... columns = ["sold"]
    ... [weights]
    ... kind = "knn"
    ... k = 3
    ... [problem]
    ... kind = "newsvendor"
    ... holding = 1
    ... backorder = 3
    ... ''')
    >>> project = Project.load(folder / "whence.toml")
    >>> project.fitted().decide(project.context("temp=10"))
    array([22.])
    """

    path: Path
    title: str
    question: str
    X: pd.DataFrame
    Y: pd.DataFrame
    policy: Policy
    explain_defaults: ExplainDefaults = field(default_factory=ExplainDefaults)
    form: CsvFormat = field(default_factory=CsvFormat)
    decimal: str = "."
    weight: pd.Series | None = None
    warnings: list[Finding] = field(default_factory=list)
    files: tuple[Path, ...] = ()
    #: Of the saved policy that is used, if any.
    policy_digest: str = ""
    _fitted: Policy | None = field(default=None, repr=False)

    @classmethod
    def load(cls, path: str | Path) -> Project:
        """Read a project file and everything it names; a ProjectError lists everything that is wrong.

        A folder stands for the whence.toml in it.
        """
        file = project_file(Path(path))
        project, found = read_project(file)
        if project is None or found.errors:
            raise ProjectError(file, found.errors)
        return project

    def fitted(self) -> Policy:
        """The policy, fitted to the history; it is fitted once."""
        if self._fitted is None:
            self._fitted = clone(self.policy).fit(self.X, self.Y, sample_weight=self.weight)
        return self._fitted

    def use(self, policy: Policy, digest: str = "") -> None:
        """Use a policy that was fitted before, to the same columns."""
        columns, outcomes = list(map(str, self.X.columns)), list(map(str, self.Y.columns))
        if list(policy.schema_.columns) != columns or list(policy.outcome_names_) != outcomes:
            raise InputError(
                f"The saved policy was fitted to columns other than those of {self.path.name}: fit it again. "
                f"Expected {', '.join(columns)}; got {', '.join(policy.schema_.columns)}."
            )
        self._fitted, self.policy_digest = policy, digest

    @cached_property
    def _contexts(self) -> ContextReader:
        schema = (self.policy.schema or Schema()).fit(self.X)
        return ContextReader(schema, self.X, self.form, self.decimal)

    def context(self, value: Any, files: bool = True) -> pd.Series:
        """One context in the user's units, checked.

        Parameters
        ----------
        value : int, str, mapping, or list of str and mappings
            Number of a row of the history (the first is 1) or its name; ``"name=value, name=value"``; JSON; a CSV
            or JSON file. Of a list, every entry is laid over those before it: ``["12", "temp=20"]``.
        files : bool
            Whether a text may be the name of a file.
        """
        return self._contexts.read(value, files)

    def outside(self, context: pd.Series) -> list[str]:
        """What lies outside the history in a context, one sentence per feature; the nearest rows decide there."""
        return outside(self._contexts.schema, context)

    def context_of_cells(
        self, cells: Mapping[str, str], decimal: str, over: str = "", files: bool = False
    ) -> pd.Series:
        """One context from cells of a CSV file with that decimal sign, laid over another one where that is given."""
        values = self._contexts.from_cells(cells, decimal)
        return self._contexts.read([over, values] if over else values, files)

    def plan(self, value: Any, files: bool = True) -> Any:
        """A plan in its natural form, feasible.

        Parameters
        ----------
        value : str, list, mapping or array
            JSON; a CSV or JSON file; ``"part=value, part=value"``; for routes the stops with ``>`` or commas between
            them; ``"row:12"`` or ``"context:temp=20, ..."`` for what the policy decides there; and for a set of plans
            ``"any"``, ``"through:Ring Road"``, ``"at-least:rye=80"`` and so on.
        files : bool
            Whether a text may be the name of a file.
        """
        return self._plan_by(self.fitted(), value, files)

    def plan_asked(self, value: Any = None) -> Any:
        """The plan, or the set of plans, that a question is about: what is given, or else the project's, or any."""
        if value is not None:
            return self.plan(value)
        return self.plan(self.explain_defaults.instead or "any", files=False)

    def _plan_by(self, policy: Policy, value: Any, files: bool) -> Any:
        """The same where `policy` decides."""
        if isinstance(value, str):
            text = value.strip()
            if is_set(text):
                typed = partial(_quantity, decimal=self.decimal)
                return read_plan_set(policy.problem, text, policy.outcome_names_, typed)
            for mark in ("row:", "context:"):
                if text.startswith(mark):
                    return policy.decide(self.context(text.removeprefix(mark).strip(), files))
            value = self._plan_of_text(text, files)
        elif isinstance(value, np.ndarray | pd.Series):
            value = value.tolist()
        return policy.problem.from_plain(value, policy.outcome_names_)

    def _plan_of_text(self, text: str, files: bool) -> Any:
        """What the problem's `from_plain` takes, from JSON, a file, or what the problem reads from a text."""
        problem = self.policy.problem
        if text.startswith(("[", "{")):
            return json_value(text, "The plan")
        if files and (is_file(text) or text.lower().endswith((".json", ".csv"))):
            path = Path(text)
            if path.suffix.lower() == ".json":
                return read_json_file(path)
            table = load_csv(path, self.form)
            return problem.plain_from_cells(table.cells, partial(_quantity, decimal=table.decimal))
        return problem.plain_from_text(text, partial(_quantity, decimal=self.decimal))

    def fingerprint(self) -> str:
        """A short text that changes whenever the project file or its data does."""
        content = b"".join(map(read_file, (self.path, *self.files)))
        return hashlib.sha256(content).hexdigest()[:16]


def _quantity(text: str, decimal: str) -> float:
    found = number(text, decimal)
    if found is None:
        found = number(text)
    if found is None or not np.isfinite(found):
        raise InputError(f"A quantity of the plan must be a finite number. Got {quoted(text)} instead.")
    return found


def findings(path: str | Path) -> list[Finding]:
    """Everything that is wrong with a project, or worth a look.

    Parameters
    ----------
    path : path
        The project file, or the folder with its whence.toml.

    Examples
    --------
    >>> [str(finding) for finding in findings("absent.toml")]
    ["absent.toml: The file 'absent.toml' does not exist."]
    """
    return list(read_project(project_file(Path(path)))[1])


def read_project(path: Path) -> tuple[Project | None, Findings]:
    """The project, as far as it can be read, and what was found on the way."""
    found = Findings()
    parsed = _parsed(path, found)
    if parsed is None:
        return None, found
    source, tables = parsed
    top = Section(source, (), tables, found)
    title, question = top.take("title", TEXT, ""), top.take("question", TEXT, "")
    relations = top.take("relations", TEXTS, [])
    data, outcomes, problem_section = (top.table_of(key) for key in ("data", "outcomes", "problem"))
    form = read_format(data)
    declared = read_declared(top.table_of("features"))
    network = read_network(problem_section, form)
    history = read_history(data, outcomes, declared, None if network is None else edge_columns(network), form)
    X = None if history is None else history.X
    features = built_features(declared, X, found)
    problem = read_problem(problem_section, network, [] if history is None else list(history.Y.columns), form)
    weights_section = top.table_of("weights")
    weights, risk = read_weights(weights_section), read_risk(top.table_of("risk"))
    parts = {column for one in declared.values() for column in one.columns or ()}
    names = [] if X is None else [*features, *(name for name in X.columns if name not in parts)]
    explain_section = top.table_of("explain")
    defaults = read_explain_defaults(explain_section, names)
    for section in (data, outcomes, top):
        section.close()
    if history is None or problem is None or found.errors:
        return None, found.sorted(path.name)
    try:
        schema = Schema(features, relations)
        schema.fit(history.X)
    except WhenceError as error:
        top.error("relations" if error.parameter == "relations" else None, str(error))
        return None, found.sorted(path.name)
    policy = Policy(problem, weights=weights, risk=risk, schema=schema)
    project = Project(
        path,
        title,
        question,
        history.X,
        history.Y,
        policy,
        explain_defaults=defaults,
        form=form,
        decimal=history.decimal,
        weight=history.weight,
        files=(*history.files, *problem_files(problem_section)),
    )
    _try_out(project, weights_section, problem_section, data, explain_section)
    project.warnings = [finding for finding in found if finding.severity == "warning"]
    return project, found.sorted(path.name)


def _parsed(path: Path, found: Findings) -> tuple[Source, dict[str, Any]] | None:
    try:
        text = decoded(read_file(path), "utf-8")
        return Source(path, text), tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found.error(Place(path.name), f"is not valid TOML: {error}.")
    except WhenceError as error:
        found.error(Place(path.name), str(error))
    except (ValueError, RecursionError):
        found.error(Place(path.name), "is not TOML that can be read: too deep, or a number too long.")
    return None


def _try_out(project: Project, weights: Section, problem: Section, data: Section, explain: Section) -> None:
    """Fit a small policy, solve one small problem, and read the plan, so that what does not fit is found now."""
    policy, few = project.policy, min(TRIED_ROWS, len(project.X))
    trial = clone(policy)
    if trial.weights is not None:
        trial.weights = trial.weights.for_trial()
    try:
        trial.fit(project.X, project.Y, sample_weight=project.weight)
    except WhenceError as error:
        if error.parameter == "sample_weight":
            data.error("weight", str(error))
        elif trial.weights is not None and error.parameter in trial.weights.get_params():
            weights.refused(error)
        else:
            data.found.error(Place(project.path.name), str(error))
        return
    sample = trial.Y_[:few]
    try:
        plan = trial.problem.solve(sample, np.full(few, 1.0 / few), trial.risk_)
        trial.problem.costs(plan, sample)
    except WhenceError as error:
        problem.refused(error)
        return
    if (text := project.explain_defaults.instead) is not None:
        try:
            plan = project._plan_by(trial, text, files=False)
            if not isinstance(plan, PlanSet) and (reason := trial.problem.check(plan)) is not None:
                raise InputError(reason)
        except WhenceError as error:
            explain.error("instead", f"cannot be used: {error}")
