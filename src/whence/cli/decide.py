"""`whence decide`: the plan for one context."""

from __future__ import annotations

import json

from rich.markup import escape

from whence.cli.options import ContextOption, JsonOption, PolicyOption, ProjectArgument, open_project
from whence.cli.screen import console, note, print_json
from whence.problems.base import cost_unit_of
from whence.report.numbers import plain, value, with_unit
from whence.util.json import to_plain


def decide(
    project: ProjectArgument, context: ContextOption, policy: PolicyOption = None, as_json: JsonOption = False
) -> None:
    """Decide: the plan for one context, and what it costs.

    [bold]Examples[/bold]

      whence decide whence.toml --context 12
      whence decide whence.toml -c "temperature=7, rain=no, ..."
      whence decide whence.toml -c 12 -c temperature=20 --json
    """
    ready = open_project(project, policy)
    given = ready.context(context)
    for sentence in ready.outside(given):
        note(sentence)
    fitted = ready.fitted()
    made = fitted.decision(given)
    unit = cost_unit_of(fitted.problem)
    text = fitted.problem.describe(made.plan, fitted.outcome_names_)
    risk = fitted.risk_.name
    if as_json:
        answer = {
            "context": to_plain(given),
            "plan": fitted.problem.to_plain(made.plan),
            "parts": fitted.problem.parts(fitted.outcome_names_),
            "text": text,
            "risk": risk,
            "cost": to_plain(made.cost),
            **({"cost_unit": unit} if unit else {}),
        }
        print_json(json.dumps(answer, ensure_ascii=False, indent=2))
        return
    screen, schema = console(), fitted.schema_
    kinds, values = schema.kinds(), schema.feature_values(given)
    where = ", ".join(f"{name} {value(values[name], kinds[name], schema.unit(name))}" for name in values)
    screen.print(f"[bold]Context[/bold]   {escape(where)}")
    screen.print(f"[bold]Decision[/bold]  {escape(text)}")
    screen.print(f"[bold]Cost[/bold]      {escape(with_unit(plain(made.cost), unit))} ({escape(risk)})")
