"""`whence mcp`: the questions as tools for assistants."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from whence.cli.screen import waiting
from whence.cli.serve import AllowedHostOption, TrustedProxyOption, WorkersOption, as_settings
from whence.errors import InputError, MissingDependencyError


def mcp(
    projects: Annotated[
        list[Path], typer.Argument(metavar="PROJECT...", help="Project files, or folders with a whence.toml.")
    ],
    http: Annotated[
        bool, typer.Option("--http", help="Over HTTP, for several assistants, in place of standard input and output.")
    ] = False,
    host: Annotated[str | None, typer.Option(help="With --http: where to listen, 127.0.0.1 by default.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="With --http: port, 8000 by default; 0 for any free one.")
    ] = None,
    workers: WorkersOption = None,
    time_limit: Annotated[float | None, typer.Option(help="Most seconds per question, 60 by default.")] = None,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="With --http: let other machines in, with a token.")
    ] = False,
    token: Annotated[
        str | None, typer.Option(help="With --http: the token that requests must carry.", envvar="WHENCE_TOKEN")
    ] = None,
    tokens: Annotated[
        Path | None, typer.Option(help="With --http: a file of tokens by name, read again when it changes.")
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option(help="With --http: a file of settings, as of 'whence serve'.", envvar="WHENCE_SETTINGS"),
    ] = None,
    allowed_host: AllowedHostOption = None,
    trusted_proxy: TrustedProxyOption = None,
) -> None:
    """Let assistants ask: the questions as tools of the Model Context Protocol.

    Over standard input and output, for an assistant that starts this command itself, or with '--http' for others, under
    the guards of the page. Nothing leaves the machine but the answers to the assistant. Needs the extra 'mcp', and with
    '--http' also 'web': pip install 'whence\\[mcp,web]'.

    [bold]Examples[/bold]

      whence mcp whence.toml
      whence mcp bakery/ courier/ --http --port 8123
    """
    given = as_settings(locals())
    if not http and (host or port is not None or allow_remote or tokens or allowed_host or trusted_proxy):
        raise InputError("'--http' must be given with options of a server, such as '--host' and '--port'.")
    try:
        with waiting("Starting ..."):
            from whence.assistants.desk import Desk
            from whence.assistants.mcp_server import mcp_server
            from whence.assistants.searches import Searches

            if http:
                from whence.assistants.over_http import serve_http
                from whence.web.settings_file import gathered
    except ImportError as error:
        extras = "mcp,web" if http else "mcp"
        raise MissingDependencyError(
            f"'whence mcp' needs {error.name or 'more than is installed'}: pip install 'whence[{extras}]'."
        ) from None
    opened = partial(Desk.opened, projects)
    if http:
        found, _ = gathered(given, settings, os.environ)
        serve_http(opened, busy=waiting, **found)
    else:
        desk = opened(time_limit or 60.0)
        mcp_server(desk, Searches(workers or 2)).run("stdio")
