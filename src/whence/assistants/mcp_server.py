"""The questions as tools of the Model Context Protocol, over standard input and output or over HTTP.

Nothing leaves the machine: the server opens the project files that it was given, answers, and calls nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.resources import files
from typing import Annotated, Any, Literal

import anyio.to_thread
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp_types import ListResourcesResult, ToolAnnotations
from pydantic import AnyUrl, Field

from whence import __version__
from whence.assistants import short_answers as short
from whence.assistants.desk import Desk
from whence.assistants.searches import Searches, asking_client
from whence.errors import WhenceError
from whence.web.clients import Client

__all__ = ["DOCS", "mcp_server"]

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


MayAsk = Callable[[Client, str], bool]


class _Server(MCPServer[Any]):
    """A server whose projects are there for those who may ask about them."""

    def __init__(self, desk: Desk, may_ask: MayAsk) -> None:
        super().__init__("whence", title="whence", instructions=INSTRUCTIONS, version=__version__, log_level="ERROR")
        self.desk, self._may_ask = desk, may_ask

    def desk_of(self, context: Context[Any, Any]) -> Desk:
        """Return the desk with the projects that whoever asks may ask about."""
        client = asking_client(context)
        return self.desk.restricted(lambda name: self._may_ask(client, name))

    def _is_there(self, uri: str, context: Context[Any, Any]) -> bool:
        kind, _, rest = uri.removeprefix("whence://").partition("/")
        return kind != "projects" or rest.partition("/")[0] in self.desk_of(context).names

    async def read_resource(self, uri: AnyUrl | str, context: Context[Any, Any] | None = None) -> Any:
        """Read a resource, unless it is of a project that is not for whoever asks."""
        if context is not None and not self._is_there(str(uri), context):
            raise ResourceNotFoundError(f"Unknown resource: {uri}")
        return await super().read_resource(uri, context)

    async def _handle_list_resources(self, ctx: Any, params: Any) -> ListResourcesResult:
        found = await super()._handle_list_resources(ctx, params)
        asking: Context[Any, Any] = Context(request_context=ctx)
        return ListResourcesResult(resources=[one for one in found.resources if self._is_there(str(one.uri), asking)])


def mcp_server(desk: Desk, searches: Searches | None = None, may_ask: MayAsk = lambda *_: True) -> MCPServer[Any]:
    """Return the server with its tools and resources, for any transport."""
    server = _Server(desk, may_ask)
    searches = searches or Searches()
    _add_listing(server, searches)
    _add_explaining(server, searches)
    _add_other_questions(server, searches)
    _add_checking(server, searches)
    _add_resources(server)
    return server


def _add_listing(server: _Server, searches: Searches) -> None:
    desk, of = server.desk, server.desk_of

    @server.tool(annotations=READING)
    async def projects(ctx: Context[Any, Any]) -> short.Projects:
        """List the projects that may be asked about."""
        return of(ctx).projects()

    @server.tool(annotations=READING)
    async def features(ctx: Context[Any, Any], project: Name = None) -> short.Features:
        """List what contexts and plans of a project consist of, and how good its decisions are."""
        work = partial(of(ctx).features, project)
        return await searches.run(ctx, lambda _: work(), desk.time_limit, quick=True)

    @server.tool(annotations=READING)
    async def decide(
        ctx: Context[Any, Any], context: Row, plan: OwnPlan | None = None, project: Name = None
    ) -> short.Decided:
        """Decide in a context, and say what a plan of one's own would cost there, or why it cannot be carried out."""
        work = partial(of(ctx).decide, project, context, plan)
        return await searches.run(ctx, lambda _: work(), desk.time_limit, quick=True)


def _add_explaining(server: _Server, searches: Searches) -> None:
    desk, of = server.desk, server.desk_of

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
        work = partial(of(ctx).explain, project, context, instead, asked)
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
        work = partial(of(ctx).several, "menu", project, context, instead, {**asked, "up_to": up_to})
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
        work = partial(of(ctx).several, "reasons", project, context, instead, asked)
        return await searches.run(ctx, work, desk.seconds(time_limit))


def _add_other_questions(server: _Server, searches: Searches) -> None:
    desk, of = server.desk, server.desk_of

    @server.tool(annotations=READING)
    async def compare(
        ctx: Context[Any, Any], before: Row, after: Row, time_limit: Seconds = None, project: Name = None
    ) -> short.Answered:
        """Compare two contexts: why it is another plan in the one than in the other, in contributions that add up."""
        work = partial(of(ctx).compare, project, before, after, time_limit)
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
        work = partial(of(ctx).prices, project, context, plan, kind, fixed, time_limit)
        return await searches.run(ctx, lambda _: work(), desk.seconds(time_limit))

    @server.tool(annotations=READING)
    async def rules(
        ctx: Context[Any, Any],
        up_to: Annotated[int, Field(ge=1, le=20, description="The largest number of rules.")] = 6,
        time_limit: Seconds = None,
        project: Name = None,
    ) -> short.Answered:
        """Say what the policy does in general, as a few rules, what they cost more, and where they fail."""
        work = partial(of(ctx).rules, project, up_to, time_limit)
        return await searches.run(ctx, work, desk.seconds(time_limit))


def _add_checking(server: _Server, searches: Searches) -> None:
    desk, of = server.desk, server.desk_of

    @server.tool(annotations=READING)
    async def evaluate(ctx: Context[Any, Any], time_limit: Seconds = None, project: Name = None) -> short.Evaluated:
        """Evaluate how good the decisions are on rows that the policy has not seen, against simple rules."""
        work = partial(of(ctx).evaluate, project, time_limit)
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
        work = partial(of(ctx).verify, project, answer, prove, time_limit)
        return await searches.run(ctx, work, desk.seconds(time_limit))


def _add_resources(server: _Server) -> None:
    desk = server.desk
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
    def answer(answer: str, ctx: Context[Any, Any]) -> str:
        """Read an answer that was given here, whole, with its certificate."""
        try:
            return server.desk_of(ctx).document(answer)
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
