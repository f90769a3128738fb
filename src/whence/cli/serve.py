"""`whence serve`: the what-if page."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from whence.cli.screen import print_text, waiting
from whence.errors import MissingDependencyError

WorkersOption = Annotated[int | None, typer.Option(min=1, help="How many searches may run at once.")]
AllowedHostOption = Annotated[
    list[str] | None, typer.Option(help="A name by which others reach it through a proxy; may be repeated.")
]
TrustedProxyOption = Annotated[
    list[str] | None, typer.Option(help="An address whose X-Forwarded-... headers are trusted; may be repeated.")
]
#: What settings are called whose options may be repeated.
SEVERAL = {"allowed_host": "allowed_hosts", "trusted_proxy": "trusted_proxies"}


def as_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a command was given as settings of a server, without what was not given."""
    found: dict[str, Any] = {}
    for name, value in options.items():
        if value is not False and value != []:
            several = tuple(value) if isinstance(value, list) else value
            found[SEVERAL.get(name, name)] = str(value) if isinstance(value, Path) else several
    return found


def serve(
    project: Annotated[
        list[Path] | None,
        typer.Argument(help="Project files, or folders of them; the built-in examples if left out."),
    ] = None,
    host: Annotated[str | None, typer.Option(help="Where to listen, 127.0.0.1 by default.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port, 8000 by default; 0 for a free one.")] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    workers: WorkersOption = None,
    time_limit: Annotated[float | None, typer.Option(help="Most seconds per search.")] = None,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let other machines in, with a token or a link that works once.")
    ] = False,
    token: Annotated[
        str | None,
        typer.Option(
            help="The token that requests must carry; random by default with --allow-remote.", envvar="WHENCE_TOKEN"
        ),
    ] = None,
    tokens: Annotated[
        Path | None, typer.Option(help="A file of tokens by name (TOML), read again when it changes.")
    ] = None,
    store: Annotated[
        Path | None, typer.Option(help="An SQLite file that keeps questions and answers; made if it is not there.")
    ] = None,
    store_days: Annotated[float | None, typer.Option(help="Days for which it keeps them, 90 by default.")] = None,
    settings: Annotated[
        Path | None,
        typer.Option(help="A file of settings (TOML); variables WHENCE_... count before it.", envvar="WHENCE_SETTINGS"),
    ] = None,
    print_settings: Annotated[
        bool, typer.Option("--print-settings", help="Print all settings and where each is from, and end.")
    ] = False,
    root_path: Annotated[
        str | None,
        typer.Option(help="The sub-path under which a reverse proxy shows the page, such as /whence."),
    ] = None,
    allowed_host: AllowedHostOption = None,
    trusted_proxy: TrustedProxyOption = None,
) -> None:
    """Serve the what-if page on this machine, until Ctrl-C.

    Needs the extra 'web': pip install 'whence\\[web]'.

    [bold]Examples[/bold]

      whence serve
      whence serve whence.toml --port 0
      whence serve projects/ --tokens tokens.toml
    """
    given = as_settings(locals())
    try:
        with waiting("Starting ..."):
            from whence.web.server import serve as serve_page
            from whence.web.server_settings import settings_for
            from whence.web.settings_file import gathered, shown_settings
    except ImportError as error:
        raise MissingDependencyError(
            f"'whence serve' needs {error.name or 'more than is installed'}: pip install 'whence[web]'."
        ) from None
    found, sources = gathered(given, settings, os.environ)
    if print_settings:
        print_text(shown_settings(settings_for(**found), sources))
        return
    serve_page(project, open_browser=browser, busy=waiting, **found)
