"""The questions as tools of the Model Context Protocol, over standard input and output or over HTTP.

Nothing leaves the machine: the server opens the project files that it was given, answers, and calls nobody.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from typing import Annotated, Any, Literal, TypeVar

import anyio
import anyio.to_thread
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from whence import __version__
from whence.assistants import short_answers as short
from whence.assistants.desk import Desk, OnProgress
from whence.errors import WhenceError
from whence.question import Progress
from whence.report.numbers import plain

__all__ = ["DOCS", "Searches", "mcp_server"]

#: Seconds between two reports of progress.
PULSE = 0.5
#: Pages of the documentation that an assistant can read, by name, and what each is about.
DOCS = {
    "asking": "Which tool answers which question, and how contexts and plans are written.",
    "answers": "How to read an answer: its status, its proof, and how far to rely on it.",
}
INSTRUCTIONS = (
    "Whence explains data-driven decisions: what a policy decides in a context, why not another plan, and in which "
    "nearest context that plan would have been better. Ask for every reason instead of making one up; tell the proof "
    "and how far to rely on it together with the answer. Begin with 'projects' and 'features', and read "
    "whence://docs/asking and whence://docs/answers."
)

T = TypeVar("T")
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
READING = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


class Searches:
    """Runs questions in threads: some at once, some waiting, more refused; cancelled when nobody waits any more.

    Parameters
    ----------
    at_once, waiting : int
        How many may run, and how many more may wait.
    """

    def __init__(self, at_once: int = 2, waiting: int = 64) -> None:
        self._at_once, self._most, self._held = at_once, at_once + waiting, 0
        self._limiter: anyio.CapacityLimiter | None = None

    async def run(self, context: Context[Any, Any], work: Callable[[OnProgress], T], seconds: float) -> T:
        """Return what `work` returns, and tell its progress; a ToolError says in a sentence what is wrong with it."""
        if self._held >= self._most:
            raise ToolError(f"{self._most} questions are being answered already; ask again later.")
        # It belongs to the loop that runs, which is not there yet when the server is made.
        self._limiter = self._limiter or anyio.CapacityLimiter(self._at_once)
        line = _Line()
        self._held += 1
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_tell, context, line, seconds)
                # The thread is waited for in any case; it ends soon after it was told to.
                found = await anyio.to_thread.run_sync(partial(_done, work, line), limiter=self._limiter)
                group.cancel_scope.cancel()
        finally:
            self._held -= 1
        if isinstance(found, WhenceError):
            raise ToolError(str(found))
        return found


class _Line:
    """Between a search in its thread and those who wait for it."""

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self.latest: Progress | None = None
        self.began = time.monotonic()

    def __call__(self, progress: Progress) -> bool:
        self.latest = progress
        return not self.stopped.is_set()


def _done(work: Callable[[OnProgress], T], line: _Line) -> T | WhenceError:
    try:
        return work(line)
    except WhenceError as error:
        return error


async def _tell(context: Context[Any, Any], line: _Line, seconds: float) -> None:
    """Tell how far a search has come, until it is cancelled; then the search is, too."""
    try:
        while True:
            await anyio.sleep(PULSE)
            if line.latest is not None:
                await context.report_progress(time.monotonic() - line.began, seconds, _in_words(line.latest))
    finally:
        line.stopped.set()


def _in_words(progress: Progress) -> str:
    """Say how far a search has come."""
    if progress.refit is not None and progress.refits is not None:
        return f"part {progress.refit} of {progress.refits}"
    found = f"found at distance {plain(progress.distance, 3)}" if progress.distance < float("inf") else "nothing yet"
    proved = f"; none nearer than {plain(progress.bound, 3)}" if 0 < progress.bound < float("inf") else ""
    return f"{progress.nodes} steps: {found}{proved}"


def mcp_server(desk: Desk, searches: Searches | None = None) -> MCPServer[Any]:
    """Return the server with its tools and resources, for any transport."""
    server: MCPServer[Any] = MCPServer(
        "whence", title="whence", instructions=INSTRUCTIONS, version=__version__, log_level="ERROR"
    )
    searches = searches or Searches()
    _add_listing(server, desk, searches)
    _add_explaining(server, desk, searches)
    _add_other_questions(server, desk, searches)
    _add_checking(server, desk, searches)
    _add_resources(server, desk)
    return server


def _add_listing(server: MCPServer[Any], desk: Desk, searches: Searches) -> None:
    @server.tool(annotations=READING)
    async def projects() -> short.Projects:
        """List the projects that may be asked about."""
        return desk.projects()

    @server.tool(annotations=READING)
    async def features(ctx: Context[Any, Any], project: Name = None) -> short.Features:
        """List what contexts and plans of a project consist of, and how good its decisions are."""
        return await searches.run(ctx, lambda _: desk.features(project), desk.time_limit)

    @server.tool(annotations=READING)
    async def decide(
        ctx: Context[Any, Any], context: Row, plan: OwnPlan | None = None, project: Name = None
    ) -> short.Decided:
        """Decide in a context, and say what a plan of one's own would cost there, or why it cannot be carried out."""
        return await searches.run(ctx, lambda _: desk.decide(project, context, plan), desk.time_limit)


def _add_explaining(server: MCPServer[Any], desk: Desk, searches: Searches) -> None:
    @server.tool(annotations=READING)
    async def explain(
        ctx: Context[Any, Any],
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
    ) -> short.Explained:
        """Explain why not another plan: the nearest context in which it would have been better, with a proof.

        Ask about one plan ("why not my plan?"), a set of plans ("why no route through the Ring Road?"), or none ("what
        would change the plan?").
        """
        asked: dict[str, Any] = {"kind": kind, "fixed": fixed, "bounds": bounds, "max_changes": max_changes}
        asked |= {"plausible": plausible, "holds": holds, "time_limit": time_limit}
        work = partial(desk.explain, project, context, instead, asked)
        return await searches.run(ctx, work, desk.seconds(time_limit))

    @server.tool(annotations=READING)
    async def menu(
        ctx: Context[Any, Any],
        context: Row,
        instead: Instead = None,
        up_to: Annotated[int, Field(ge=1, le=10, description="The largest number of features in a set.")] = 3,
        kind: Kind = "relative",
        fixed: Fixed = [],  # noqa: B006
        bounds: Bounds = [],  # noqa: B006
        plausible: Usual = None,
        time_limit: Seconds = None,
        project: Name = None,
    ) -> short.Answered:
        """List what else would do: the nearest context for every smallest set of features that suffices, proved."""
        asked = {"kind": kind, "fixed": fixed, "bounds": bounds, "plausible": plausible, "time_limit": time_limit}
        work = partial(desk.several, "menu", project, context, instead, {**asked, "up_to": up_to})
        return await searches.run(ctx, work, desk.seconds(time_limit))

    @server.tool(annotations=READING)
    async def reasons(
        ctx: Context[Any, Any],
        context: Row,
        instead: Instead = None,
        kind: Kind = "relative",
        fixed: Fixed = [],  # noqa: B006
        bounds: Bounds = [],  # noqa: B006
        plausible: Usual = None,
        time_limit: Seconds = None,
        project: Name = None,
    ) -> short.Answered:
        """Find the facts of the context that settle that the plan is not better, whatever else changes; proved."""
        asked = {"kind": kind, "fixed": fixed, "bounds": bounds, "plausible": plausible, "time_limit": time_limit}
        work = partial(desk.several, "reasons", project, context, instead, asked)
        return await searches.run(ctx, work, desk.seconds(time_limit))


def _add_other_questions(server: MCPServer[Any], desk: Desk, searches: Searches) -> None:
    @server.tool(annotations=READING)
    async def compare(
        ctx: Context[Any, Any], before: Row, after: Row, time_limit: Seconds = None, project: Name = None
    ) -> short.Answered:
        """Compare two contexts: why it is another plan in the one than in the other, in contributions that add up."""
        work = partial(desk.compare, project, before, after, time_limit)
        return await searches.run(ctx, work, desk.seconds(time_limit))

    @server.tool(annotations=READING)
    async def prices(
        ctx: Context[Any, Any],
        context: Row,
        plan: OwnPlan,
        kind: Kind = "absolute",
        fixed: Annotated[list[str], Field(max_length=1000, description="Prices that stay, or kinds of them.")] = [],  # noqa: B006
        time_limit: Seconds = None,
        project: Name = None,
    ) -> short.Answered:
        """Find the nearest prices at which the plan would be right in the context as it is, proved."""
        return await searches.run(
            ctx, lambda _: desk.prices(project, context, plan, kind, fixed, time_limit), desk.seconds(time_limit)
        )

    @server.tool(annotations=READING)
    async def rules(
        ctx: Context[Any, Any],
        up_to: Annotated[int, Field(ge=1, le=20, description="The largest number of rules.")] = 6,
        time_limit: Seconds = None,
        project: Name = None,
    ) -> short.Answered:
        """Say what the policy does in general, as a few rules, what they cost more, and where they fail."""
        work = partial(desk.rules, project, up_to, time_limit)
        return await searches.run(ctx, work, desk.seconds(time_limit))


def _add_checking(server: MCPServer[Any], desk: Desk, searches: Searches) -> None:
    @server.tool(annotations=READING)
    async def evaluate(ctx: Context[Any, Any], time_limit: Seconds = None, project: Name = None) -> short.Evaluated:
        """Evaluate how good the decisions are on rows that the policy has not seen, against simple rules."""
        work = partial(desk.evaluate, project, time_limit)
        return await searches.run(ctx, work, desk.seconds(time_limit))

    @server.tool(annotations=READING)
    async def verify(
        ctx: Context[Any, Any],
        answer: Annotated[
            str, Field(description="The 'answer' of an answer given before, or the JSON text of a saved one.")
        ],
        prove: Annotated[bool, Field(description="Whether to search again, so that the proof is made anew.")] = False,
        time_limit: Seconds = None,
        project: Name = None,
    ) -> short.Verified:
        """Verify an answer: whether it is what the project says today, computed again from the data."""
        work = partial(desk.verify, project, answer, prove, time_limit)
        return await searches.run(ctx, work, desk.seconds(time_limit))


def _add_resources(server: MCPServer[Any], desk: Desk) -> None:
    for name in desk.names:
        _add_text(
            server,
            f"projects/{name}",
            "What contexts and plans consist of.",
            "application/json",
            partial(_read, desk, name),
        )
        _add_text(
            server,
            f"projects/{name}/history",
            "A summary of the history.",
            "text/markdown",
            partial(desk.history, name),
        )
    for page, about in DOCS.items():
        _add_text(server, f"docs/{page}", about, "text/markdown", partial(_page, page))

    @server.resource("whence://answers/{answer}", name="answer", mime_type="application/json")
    def answer(answer: str) -> str:
        """Read an answer that was given here, whole, with its certificate."""
        try:
            return desk.document(answer)
        except WhenceError as error:
            raise ResourceNotFoundError(str(error)) from None


def _add_text(server: MCPServer[Any], name: str, about: str, kind: str, read: Callable[[], str]) -> None:
    async def text() -> str:
        return await anyio.to_thread.run_sync(read)

    server.resource(f"whence://{name}", name=name, description=about, mime_type=kind)(text)


def _read(desk: Desk, name: str) -> str:
    return desk.features(name).model_dump_json(indent=2)


def _page(name: str) -> str:
    return (files("whence.assistants") / "docs" / f"{name}.md").read_text("utf-8")
