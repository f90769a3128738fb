"""`whence verify`: a certificate checked later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from whence.certificate.verify import Verification
from whence.certificate.verify import verify as verified
from whence.cli.options import SECONDS, JsonOption, PolicyOption, ProjectArgument, open_project, read_limit
from whence.cli.screen import DIFFERS, FOUND, TIME_LIMIT, note, print_json, print_text, searching
from whence.errors import InputError
from whence.evaluation.evaluating import judged
from whence.explain.explanation import Explanation
from whence.questions.answer_documents import answer_from
from whence.questions.result import Result
from whence.report.reading import loaded


def verify(
    explanation: Annotated[
        Path,
        typer.Argument(
            metavar="WHY.json",
            help="What 'whence explain', 'front', 'menu', 'reasons', 'compare', 'prices' or 'rules' print with --json.",
        ),
    ],
    project: ProjectArgument,
    prove: Annotated[
        bool, typer.Option("--prove", help="Search again, so that status and bound are proved anew.")
    ] = False,
    time_limit: Annotated[
        str | None, typer.Option(metavar="SECONDS", help="Seconds for that search, 60 by default; none for no limit.")
    ] = None,
    policy: PolicyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Verify: whether an explanation is still what the project says.

    Weights, costs, distance and criterion are computed again, fingerprints of model, history, problem and question
    are compared, and every difference is listed, one per line. A file that was changed after it was written is noticed.
    How good the policy is said to be is found out again, and compared where as many rows were held out.

    The exit code is 0 where everything agrees, 1 where something differs, 2 where the file or the project cannot be
    used, and 4 where '--prove' did not finish in time.

    [bold]Examples[/bold]

      whence verify why.json whence.toml
      whence verify why.json whence.toml --prove --time-limit 60
    """
    if time_limit is not None and not prove:
        raise InputError(f"'--time-limit' must be a positive number, with '--prove'. Got {time_limit} instead.")
    seconds = read_limit(time_limit or f"{SECONDS:g}") if prove else None
    document = loaded(explanation)
    said = answer_from(document)
    ready = open_project(project, policy)
    with searching(seconds) as search:
        if isinstance(said, Explanation):
            found = verified(
                said,
                ready.fitted(),
                document=document,
                prove=prove,
                time_limit=seconds,
                on_progress=search,
                judge=lambda: judged(ready.fitted()),
            )
        else:
            found = said.verify(ready.fitted(), prove=prove, time_limit=seconds)
    for remark in found.remarks:
        note(remark)
    if as_json:
        print_json(json.dumps({"agrees": found.agrees, **vars(found)}, ensure_ascii=False, indent=2))
    else:
        for difference in found.differences:
            print_text(difference)
        print_text(_verdict(said, found, explanation.name, ready.path.name))
    raise typer.Exit(DIFFERS if found.differences else TIME_LIMIT if found.proved is False else FOUND)


def _verdict(said: Explanation | Result, found: Verification, name: str, project: str) -> str:
    if found.differences:
        count = len(found.differences)
        return f"{name} does not agree with {project}: {count} difference{'s' * (count != 1)}."
    proved = " Its proof was made again." if found.proved else ""
    if not isinstance(said, Explanation):
        return f"{name} agrees with {project}: {type(said).__name__.lower()}.{proved}"
    where = f" at distance {said.distance:g}" if said.context is not None else ""
    return f"{name} agrees with {project}: {said.kind}, {said.status}{where}.{proved}"
