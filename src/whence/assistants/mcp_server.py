"""The questions as tools of the Model Context Protocol, over standard input and output or over HTTP.

Nothing leaves the machine: the server opens the project files that it was given, answers, and calls nobody.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from typing import Any

import anyio.to_thread
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp_types import ListResourcesResult, ToolAnnotations
from pydantic import AnyUrl

from whence import __version__
from whence.assistants import short_answers as short
from whence.assistants.desk import Desk
from whence.assistants.searches import Searches, asking_client
from whence.errors import WhenceError
from whence.web.clients import Client

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

READING = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


#: What is searched for, in the order in which tools are listed.
SEARCHED = (
    Desk.explain, Desk.menu, Desk.reasons, Desk.compare, Desk.prices, Desk.rules, Desk.evaluate, Desk.verify,
)  # fmt: skip

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
    _add_questions(server, searches)
    _add_resources(server)
    return server


def _add_questions(server: _Server, searches: Searches) -> None:
    """Make each question of the desk a tool, with the parameters and the description that it has there."""

    @server.tool(annotations=READING)
    async def projects(ctx: Context[Any, Any]) -> short.Projects:
        """List the projects that may be asked about."""
        return server.desk_of(ctx).projects()

    for quick, questions in ((True, (Desk.features, Desk.decide)), (False, SEARCHED)):
        for question in questions:
            server.tool(annotations=READING)(_tool(server, searches, question, quick))


def _tool(server: _Server, searches: Searches, question: Callable[..., Any], quick: bool) -> Callable[..., Any]:
    """Return a question of the desk as a tool takes it: about the projects that whoever asks may ask about."""
    signature = inspect.signature(question, eval_str=True)
    own = [one for one in signature.parameters.values() if one.name not in ("self", "on_progress")]

    async def tool(ctx: Context[Any, Any], **given: Any) -> Any:
        work = partial(question, server.desk_of(ctx), **given)
        seconds = server.desk.time_limit if quick else server.desk.seconds(given["time_limit"])
        told = "on_progress" in signature.parameters
        return await searches.run(ctx, lambda on: work(on_progress=on) if told else work(), seconds, quick=quick)

    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Context[Any, Any])
    tool.__name__, tool.__doc__ = question.__name__, question.__doc__
    tool.__signature__ = signature.replace(parameters=[context, *own])  # type: ignore[attr-defined]
    return tool


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
