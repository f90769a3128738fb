"""`whence verify`: a certificate checked later."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer

from whence.certificate import Verification
from whence.certificate import verify as verified
from whence.cli.options import SECONDS, JsonOption, PolicyOption, ProjectArgument, open_project, read_limit
from whence.cli.screen import DIFFERS, FOUND, TIME_LIMIT, note, print_json, print_text, searching
from whence.errors import InputError
from whence.evaluation.evaluating import judged
from whence.explain.explanation import Explanation
from whence.project import Project
from whence.questions.answer_documents import answer_from
from whence.questions.result import Result
from whence.report.reading import loaded
from whence.web.store import Store, is_store


def verify(
    explanation: Annotated[
        Path,
        typer.Argument(
            metavar="WHY.json",
            help="What 'whence explain', 'front', 'menu', 'reasons', 'compare', 'prices' or 'rules' print with --json, "
            "or the store of a server, for all of its answers.",
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
    scene: Annotated[
        str | None, typer.Option(help="In a store of several projects: which of them, as it is called in addresses.")
    ] = None,
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
      whence verify questions.sqlite whence.toml
    """
    if time_limit is not None and not prove:
        raise InputError(f"'--time-limit' must be a positive number, with '--prove'. Got {time_limit} instead.")
    seconds = read_limit(time_limit or f"{SECONDS:g}") if prove else None
    if is_store(explanation):
        ready = open_project(project, policy)
        raise typer.Exit(_verify_store(Store(explanation, math.inf), scene, ready, seconds, as_json))
    document = loaded(explanation)
    said = answer_from(document)
    ready = open_project(project, policy)
    found = _checked(document, said, ready, seconds)
    for remark in found.remarks:
        note(remark)
    if as_json:
        print_json(json.dumps({"agrees": found.agrees, **vars(found)}, ensure_ascii=False, indent=2))
    else:
        for difference in found.differences:
            print_text(difference)
        print_text(_verdict(said, found, explanation.name, ready.path.name))
    raise typer.Exit(DIFFERS if found.differences else TIME_LIMIT if found.proved is False else FOUND)


def _checked(document: Any, said: Explanation | Result, ready: Project, seconds: float | None) -> Verification:
    """Check an answer against a project, and prove it again where there are `seconds` for it."""
    prove = seconds is not None
    with searching(seconds) as search:
        if not isinstance(said, Explanation):
            return said.verify(ready.fitted(), prove=prove, time_limit=seconds)
        return verified(
            said,
            ready.fitted(),
            document=document,
            prove=prove,
            time_limit=seconds,
            on_progress=search,
            judge=lambda: judged(ready.fitted()),
        )


def _verify_store(store: Store, scene: str | None, ready: Project, seconds: float | None, as_json: bool) -> int:
    """Check every answer in a store that is about one project: the exit code."""
    entries = [entry for entry in store.entries(scene) if entry.data]
    scenes = sorted({entry.scene for entry in entries})
    if len(scenes) > 1:
        raise InputError(f"'--scene' must be one of {', '.join(scenes)}, which the store holds. Got none.")
    told: list[dict[str, Any]] = []
    late = 0
    for entry in entries:
        document = entry.document()["data"]
        if entry.question == "forecast":
            note(f"{entry.id}: a forecast has no certificate to check.")
            continue
        found = _checked(document, answer_from(document), ready, seconds)
        late += found.proved is False
        told.append({"id": entry.id, "question": entry.question, "agrees": found.agrees, **vars(found)})
        if not as_json:
            for difference in found.differences:
                print_text(f"{entry.id}: {difference}")
    differing = sum(not one["agrees"] for one in told)
    if as_json:
        print_json(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        print_text(f"{len(told) - differing} of {len(told)} stored answers agree with {ready.path.name}.")
    return DIFFERS if differing else TIME_LIMIT if late else FOUND


def _verdict(said: Explanation | Result, found: Verification, name: str, project: str) -> str:
    if found.differences:
        count = len(found.differences)
        return f"{name} does not agree with {project}: {count} difference{'s' * (count != 1)}."
    proved = " Its proof was made again." if found.proved else ""
    if not isinstance(said, Explanation):
        return f"{name} agrees with {project}: {type(said).__name__.lower()}.{proved}"
    where = f" at distance {said.distance:g}" if said.context is not None else ""
    return f"{name} agrees with {project}: {said.kind}, {said.status}{where}.{proved}"
