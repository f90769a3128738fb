"""``python -m paper serve``: the what-if page with the paper's question about a route in Los Angeles."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from paper import los_angeles as la
from paper.forests import paper_forest
from whence import CVaR, Policy
from whence.web.scenes import Scene
from whence.web.server import serve as serve_page


def los_angeles_scene(folder: str | os.PathLike[str] | None = None) -> Scene:
    """Downtown Los Angeles from its data folder: the paper's question about a route.

    Parameters
    ----------
    folder : path, optional
        Folder with the travel times; by default, the one that the environment variable WHENCE_UBER_DATA names.
    """
    data = la.load(folder)
    # The page numbers past observations from 1, as people do.
    numbered = pd.RangeIndex(1, len(data.X) + 1)
    forest = paper_forest(n_trees=100, max_depth=4, random_state=0)
    policy = Policy(data.problem(), forest, CVaR(la.ALPHA), data.schema)
    return Scene(
        id="los-angeles",
        title="Why not the route of the afternoon peak?",
        question=(
            f"The policy plans a trip across downtown Los Angeles, from census tract {la.SOURCE} to {la.TARGET}, so "
            f"that the slowest {1 - la.ALPHA:.0%} of trips (CVaR at {la.ALPHA:g}) are as fast as can be. A driver "
            "would take the way that is usual in the afternoon peak."
        ),
        policy=policy.fit(data.X.set_axis(numbered, axis=0), data.Y.set_axis(numbered, axis=0)),
        today=data.context,
        alternative=list(la.PEAK),
    )


def serve(
    data: Annotated[
        Path | None, typer.Option(help="Folder with the Los Angeles travel times.", envvar=la.VARIABLE)
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes one that is free.")] = 8000,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Serve the what-if page with downtown Los Angeles beside the built-in examples, until Ctrl-C."""
    serve_page(host=host, port=port, open_browser=browser, scenes=[los_angeles_scene(data)])
