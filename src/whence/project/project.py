"""A project: data, features, weights, problem and risk as one file describes them."""

from __future__ import annotations

import hashlib
import os
import time
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import parallel_config
from sklearn.base import clone

from whence.errors import InputError, WhenceError
from whence.explain.ask import TEXTS
from whence.features import Schema
from whence.features.kinds import Feature
from whence.policy import Policy, read_saved, write_saved
from whence.problems import DecisionProblem
from whence.problems.plan_sets import PlanSet
from whence.project.csv_files import CsvFormat, decoded, load_csv
from whence.project.findings import TEXT, Finding, Findings, Place, ProjectError, Section, Source
from whence.project.history import read_format, read_history
from whence.project.leaks import find_leaks
from whence.project.problems import edge_columns, problem_files, read_network, read_problem
from whence.project.sections import (
    ExplainDefaults,
    built_features,
    known_fault,
    read_declared,
    read_explain_defaults,
    read_risk,
    read_weights,
)
from whence.project.typed_questions import ContextReader, is_file, is_set, json_value, read_json_file, read_plan_set
from whence.report.reliance import outside
from whence.risk import Expectation, Risk
from whence.util.files import digest_of, project_file, read_file
from whence.util.json import quoted
from whence.util.linear_program import OutOfTime, until
from whence.util.text import number

#: Rows on which a problem is tried out when a project is read, and the seconds that this may take.
TRIED_ROWS = 5
TRIED_SECONDS = 10.0
#: How a text begins that stands for what the policy decides there.
DECIDED = ("row:", "context:")


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
        """Return the policy, fitted to the history; it is fitted once."""
        if self._fitted is None:
            # A forest is the same however many threads grow it.
            with parallel_config(n_jobs=min(2, os.cpu_count() or 1)):
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
        """Return one context in the user's units, checked.

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
        """Return a plan in its natural form, feasible.

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

    def contexts_of(self, *values: Any) -> pd.DataFrame | None:
        """The contexts in which the policy decides plans that are told by them, such as "row:12"; None for none."""
        named = {v.strip() for v in values if isinstance(v, str) and v.strip().startswith(DECIDED)}
        found = [
            self.context(text.removeprefix(mark).strip())
            for text in sorted(named)
            for mark in DECIDED
            if text.startswith(mark)
        ]
        return pd.DataFrame(found) if found else None

    def plan_asked(self, value: Any = None) -> Any:
        """The plan, or the set of plans, that a question is about: what is given, or else the project's, or any."""
        if value is not None:
            return self.plan(value)
        return self.plan(self.explain_defaults.instead or "any", files=False)

    def _plan_by(self, policy: Policy, value: Any, files: bool) -> Any:
        """Return the same where `policy` decides."""
        if isinstance(value, str):
            for mark in DECIDED:
                if value.strip().startswith(mark):
                    return policy.decide(self.context(value.strip().removeprefix(mark).strip(), files))
        return _plan_given(policy.problem, policy.outcome_names_, value, self.form, self.decimal, files)

    def fingerprint(self) -> str:
        """Return a short text that changes whenever the project file or its data does."""
        return digest_of(self.path, *self.files)[:16]


def _plan_given(
    problem: DecisionProblem, outcomes: Sequence[str], value: Any, form: CsvFormat, decimal: str, files: bool
) -> Any:
    """Return a plan, or a set of plans, that is written out: what needs no policy."""
    typed = partial(_quantity, decimal=decimal)
    if isinstance(value, np.ndarray | pd.Series):
        value = value.tolist()
    elif isinstance(value, str):
        text = value.strip()
        if is_set(text):
            return read_plan_set(problem, text, outcomes, typed)
        if text.startswith(("[", "{")):
            value = json_value(text, "The plan")
        elif files and (is_file(text) or text.lower().endswith((".json", ".csv"))):
            path = Path(text)
            if path.suffix.lower() == ".json":
                value = read_json_file(path)
            else:
                table = load_csv(path, form)
                value = problem.plain_from_cells(table.cells, partial(_quantity, decimal=table.decimal))
        else:
            value = problem.plain_from_text(text, typed)
    return problem.from_plain(value, outcomes)


def _quantity(text: str, decimal: str) -> float:
    found = number(text, decimal)
    if found is None:
        found = number(text)
    if found is None or not np.isfinite(found):
        raise InputError(f"A quantity of the plan must be a finite number. Got {quoted(text)} instead.")
    return found


def findings(path: str | Path) -> list[Finding]:
    """Return everything that is wrong with a project, or worth a look.

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
    """Return the project, as far as it can be read, and what was found on the way."""
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
    X, Y = (None, None) if history is None else (history.X, history.Y)
    features = built_features(declared, X, found)
    problem = read_problem(problem_section, network, [] if Y is None else list(Y.columns), form)
    weights_section = top.table_of("weights")
    weights = read_weights(weights_section)
    faults = len(found.errors)
    risk: Risk | None = read_risk(top.table_of("risk"))
    if len(found.errors) > faults:
        risk = None
    parts = {column for one in declared.values() for column in one.columns or ()}
    names = [] if X is None else [*features, *(name for name in X.columns if name not in parts)]
    explain_section = top.table_of("explain")
    defaults = read_explain_defaults(explain_section, names)
    for section in (data, outcomes, top):
        section.close()
    # Whatever can be tried by itself is, so that one fault does not hide another one.
    faulty = [name for name, one in declared.items() if known_fault(one, found)]
    schema = None if X is None else _related(top, features, faulty, relations, X)
    if problem is not None and Y is not None:
        _try_problem(problem, Y, risk, problem_section, outcomes)
    whole = history is not None and X is not None and Y is not None and problem is not None and schema is not None
    if not whole or found.errors:
        text = defaults.instead
        if problem is not None and Y is not None and text is not None and not text.strip().startswith(DECIDED):
            decimal, outcome_names = history.decimal if history else ".", list(map(str, Y.columns))
            read = partial(_plan_given, problem, outcome_names, text, form, decimal, False)
            _try_plan(read, problem, explain_section)
        return None, found.sorted(path.name)
    assert history is not None and X is not None and Y is not None and problem is not None  # noqa: PT018
    policy = Policy(problem, weights=weights, risk=risk, schema=schema)
    project = Project(
        path,
        title,
        question,
        X,
        Y,
        policy,
        explain_defaults=defaults,
        form=form,
        decimal=history.decimal,
        weight=history.weight,
        files=(*history.files, *problem_files(problem_section)),
    )
    _try_out(project, weights_section, data, explain_section)
    for leak in find_leaks(X, Y, history.after):
        found.warning(
            Place(history.files[0].name, None, f"column {leak.column!r}"),
            f"{leak.reason}: is it known when the decision is made? Otherwise the policy sees the future; leave it out "
            f"with [data] ignore = [{leak.column!r}].",
        )
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


def _related(
    top: Section, features: Mapping[str, Feature], faulty: Collection[str], relations: list[str], X: pd.DataFrame
) -> Schema | None:
    """The schema, or None with an error for each relation that it refuses, apart from those about `faulty` features."""
    # Cells that are no numbers are errors already.
    whole = X.dropna()
    sound = {name: feature for name, feature in features.items() if name not in faulty}
    known = [text for text in relations if not any(name in text for name in faulty)]
    try:
        schema = Schema(sound, known)
        schema.fit(whole)
    except WhenceError as error:
        refused = error
    else:
        return schema
    for text in known:
        try:
            Schema(sound, [text]).fit(whole)
        except WhenceError as error:
            if error.parameter == "relations":
                top.error("relations", str(error))
    if not top.found.errors:
        top.error("relations" if refused.parameter == "relations" else None, str(refused))
    return None


def _try_problem(
    problem: DecisionProblem, Y: pd.DataFrame, risk: Risk | None, section: Section, outcomes: Section
) -> None:
    """Solve one small problem, so that what does not fit the outcomes is found now."""
    columns = problem.outcome_columns()
    if columns is not None and columns != Y.shape[1]:
        kind = section.table.get("kind")
        said = f"must be {columns} column{'s' * (columns != 1)}, as [problem] kind = {kind!r} asks. Got {Y.shape[1]}."
        outcomes.error("columns" if "columns" in outcomes.table else None, said)
        return
    sample = Y.dropna().to_numpy(dtype=np.float64)[:TRIED_ROWS]
    if not len(sample):
        return
    try:
        with until(time.perf_counter() + TRIED_SECONDS):
            plan = problem.solve(
                sample, np.full(len(sample), 1.0 / len(sample)), Expectation() if risk is None else risk
            )
        problem.costs(plan, sample)
    except OutOfTime:
        section.found.warning(
            section.at(),
            f"was not solved within {TRIED_SECONDS:g} s for {len(sample)} rows. Decisions may take long, and what "
            "does not fit may show only then.",
        )
    except WhenceError as error:
        section.refused(error)


def _try_plan(plan: Callable[[], Any], problem: DecisionProblem, explain: Section) -> None:
    """Read the plan that is asked about by default."""
    try:
        found = plan()
        if not isinstance(found, PlanSet) and (reason := problem.check(found)) is not None:
            raise InputError(reason)
    except OutOfTime:
        pass  # which is said of the problem
    except WhenceError as error:
        explain.error("instead", f"cannot be used: {error}")


def _try_out(project: Project, weights: Section, data: Section, explain: Section) -> None:
    """Fit a small policy and read the plan, so that what does not fit is found now."""
    trial = clone(project.policy)
    if trial.weights is not None:
        trial.weights = trial.weights.for_trial()
    with until(time.perf_counter() + TRIED_SECONDS):
        try:
            trial.fit(project.X, project.Y, sample_weight=project.weight)
        except OutOfTime:
            return
        except WhenceError as error:
            if error.parameter == "sample_weight":
                data.error("weight", str(error))
            elif trial.weights is not None and error.parameter in trial.weights.get_params():
                weights.refused(error)
            else:
                data.found.error(Place(project.path.name), str(error))
            return
        if (text := project.explain_defaults.instead) is not None:
            _try_plan(lambda: project._plan_by(trial, text, files=False), trial.problem, explain)


def save_policy(project: Project, path: Path) -> None:
    """Write the project's fitted policy to `path`, complete or not at all."""
    write_saved(path, project.fitted(), of=project.fingerprint())


def load_policy(project: Project, path: Path) -> list[str]:
    """Let `project` use the policy saved at `path`; returns remarks on it.

    Opening the file runs whatever code it holds: open only what you have saved yourself.
    """
    digest = hashlib.sha256(read_file(path)).hexdigest()
    content = read_saved(path, Policy)
    project.use(content["policy"], digest)
    if content.get("of") != project.fingerprint():
        return [f"{path.name} was fitted before {project.path.name} or its data changed; it is used as it is."]
    return []
