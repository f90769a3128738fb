"""`whence decide`: the plan for one context."""

from __future__ import annotations

import json

from rich.markup import escape

from whence.cli.opening import ContextOption, JsonOption, PolicyOption, ProjectArgument, opened
from whence.cli.screen import console, note
from whence.plain_values import to_plain
from whence.problems.base import cost_unit_of
from whence.report.numbers import plain, value, with_unit

__all__ = ["decide"]


def decide(
    project: ProjectArgument, context: ContextOption, policy: PolicyOption = None, as_json: JsonOption = False
) -> None:
    """Decide: the plan for one context, and what it costs.

    [bold]Examples[/bold]

      whence decide whence.toml --context 12
      whence decide whence.toml -c "temperature=7, rain=no, ..."
      whence decide whence.toml -c 12 -c temperature=20 --json
    """
    opened_project = opened(project, policy)
    given = opened_project.context(context)
    for sentence in opened_project.outside(given):
        note(sentence)
    fitted = opened_project.fitted()
    weights = fitted.weights_at(given)
    plan = fitted.problem.solve(fitted.Y_, weights, fitted.risk_)
    cost = fitted.risk_.of(fitted.problem.costs(plan, fitted.Y_), weights)
    unit = cost_unit_of(fitted.problem)
    text = fitted.problem.describe(plan, fitted.outcome_names_)
    risk = str(getattr(fitted.risk_, "name", fitted.risk_))
    if as_json:
        parts = fitted.problem.parts(fitted.outcome_names_)
        answer = {
            "context": to_plain(given),
            "plan": fitted.problem.to_plain(plan),
            "parts": parts,
            "text": text,
            "risk": risk,
            "cost": to_plain(cost),
            **({"cost_unit": unit} if unit else {}),
        }
        print(json.dumps(answer, ensure_ascii=False, indent=2))
        return
    screen = console()
    schema = fitted.schema_
    kinds = {name: type(schema.kind(name)).__name__.lower() for name in schema.names}
    where = ", ".join(
        f"{name} {value(raw, kinds[name], schema.unit(name))}" for name, raw in schema.feature_values(given).items()
    )
    screen.print(f"[bold]Context[/bold]   {escape(where)}")
    screen.print(f"[bold]Decision[/bold]  {escape(text)}")
    screen.print(f"[bold]Cost[/bold]      {escape(with_unit(plain(cost), unit))} ({escape(risk)})")
