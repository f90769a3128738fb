"""Downtown Los Angeles: two years of travel times between census tracts, and the paper's question about a route.

The travel times come from Uber Movement (CC BY-NC) and are not shipped with whence; this module reads them from a
folder with four files, re-shaped from the data folder of the paper's public code
(github.com/alexforel/Explainable-CSO):

- ``contexts.csv``: a row a period of a day, with ``period`` (EarlyMorning, AM, Midday, PM or Evening), ``temperature``,
  ``wind_speed``, ``rain``, ``visibility``, ``day`` (1-7) and ``month`` (1-12);
- ``travel_times.csv``: in the same order of rows, the seconds on every edge, a column an edge;
- ``edges.csv``: ``edge`` (the column's name), ``tail`` and ``head``;
- ``nodes.csv``: ``node``, ``lon`` and ``lat``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from paper.forests import paper_forest
from paper.los_angeles_files import COLUMNS, VARIABLE, once, read
from whence import Categorical, Continuous, CVaR, Discrete, Policy, Schema, ShortestPath
from whence.errors import InputError

__all__ = [
    "ALPHA",
    "COLUMNS",
    "CONTEXT_ROW",
    "MENDED",
    "MISSING_HOP",
    "NORTH",
    "NORTHERN_GATE",
    "PEAK",
    "PUBLISHED",
    "SOURCE",
    "SOUTH",
    "TARGET",
    "VARIABLE",
    "LosAngeles",
    "load",
]

#: From the east to the west of downtown.
SOURCE, TARGET = 1221, 1256
#: Row of the paper's initial context, counted from 0.
CONTEXT_ROW = 1603
#: Level of the CVaR.
ALPHA = 0.7
#: What the policy decides there, and what it decides in the afternoon peak.
NORTH = (1221, 1220, 1230, 1235, 1254, 1255, 1258, 1257, 1256)
PEAK = (1221, 1220, 1230, 1235, 1237, 1236, 1238, 1241, 1247, 1256)
#: A route farther south, which is best in few contexts.
SOUTH = (1221, 1220, 1223, 1229, 1228, 1233, 1255, 1258, 1257, 1256)
#: The alternative in the paper's public code, which ends with a hop that is no edge of the network and so is no plan,
#: and the shortest route that shares as many edges with it as any.
PUBLISHED = (1221, 1220, 1390, 1234, 1233, 1263, 1260, 1256)
MENDED = (1221, 1220, 1390, 1234, 1233, 1255, 1258, 1257, 1256)

#: The hop of the published route that is no edge.
MISSING_HOP = (1260, 1256)
#: Every route through the north goes up to this tract first; those that avoid it go through the south.
NORTHERN_GATE = 1230

PERIODS = ("EarlyMorning", "AM", "Midday", "PM", "Evening")


@dataclass(frozen=True, eq=False)
class LosAngeles:
    """The network with its travel times.

    Attributes
    ----------
    X : DataFrame
        Contexts: period of the day (categorical), weather (continuous), day 1-7 and month 1-12 (discrete).
    Y : DataFrame
        Seconds on every edge, columns in the order of ``graph.edges``.
    graph : networkx.DiGraph
        Census tracts, with longitude and latitude as the attribute ``pos``, and the ways between them.
    schema : Schema
        Of the contexts.
    """

    X: pd.DataFrame
    Y: pd.DataFrame
    graph: nx.DiGraph
    schema: Schema

    @property
    def context(self) -> pd.Series:
        """The paper's initial context."""
        if len(self.X) <= CONTEXT_ROW:
            raise InputError(
                f"contexts.csv must have at least {CONTEXT_ROW + 1} rows for the paper's initial context. "
                f"Got {len(self.X)} instead."
            )
        return self.X.iloc[CONTEXT_ROW]

    def problem(self, source: int = SOURCE, target: int = TARGET) -> ShortestPath:
        """The routes from `source` to `target`."""
        return ShortestPath(self.graph, source, target, cost_unit="s")

    def sample(self, n: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
        """`n` observations without repetition, contexts and travel times."""
        if not 1 <= n <= len(self.X):
            raise InputError(f"'n' must lie in [1, {len(self.X)}]. Got {n!r} instead.")
        rows = np.random.default_rng(seed).choice(len(self.X), n, replace=False)
        return self.X.iloc[rows], self.Y.iloc[rows]

    def policy(self, n: int, seed: int, weights: Any = None) -> Policy:
        """The paper's policy, fitted to a sample: a forest of 100 trees of depth 4, CVaR 0.7, the paper's node pair.

        Parameters
        ----------
        n, seed : int
            Size and seed of the sample.
        weights : ForestWeights or KNNWeights, optional
            Another predictor.
        """
        chosen = paper_forest(n_trees=100, max_depth=4, random_state=seed) if weights is None else weights
        return Policy(self.problem(), chosen, CVaR(ALPHA), self.schema).fit(*self.sample(n, seed))


def load(folder: str | os.PathLike[str] | None = None) -> LosAngeles:
    """Read the network and its travel times from four CSV files.

    Parameters
    ----------
    folder : path, optional
        Where ``contexts.csv``, ``travel_times.csv``, ``edges.csv`` and ``nodes.csv`` are; by default the folder that
        the environment variable WHENCE_UBER_DATA names.

    Examples
    --------
    >>> load("no/such/folder")
    Traceback (most recent call last):
    whence.errors.MissingDataError: There is no folder 'no/such/folder', and the Los Angeles travel times are not...
    """
    tables = read(folder)
    contexts, edges, nodes = tables["contexts.csv"], tables["edges.csv"], tables["nodes.csv"]
    times = tables["travel_times.csv"]
    if len(times) != len(contexts):
        raise InputError(
            f"travel_times.csv must have a row for each of the {len(contexts)} rows of contexts.csv. "
            f"Got {len(times)} instead."
        )
    graph = nx.DiGraph()
    once("nodes.csv", "node", nodes["node"])
    for node, longitude, latitude in zip(nodes["node"], nodes["lon"], nodes["lat"], strict=True):
        graph.add_node(int(node), pos=(float(longitude), float(latitude)))
    ways = [(int(tail), int(head)) for tail, head in zip(edges["tail"], edges["head"], strict=True)]
    once("edges.csv", "edge", edges["edge"])
    once("edges.csv", "pair of tail and head", ways)
    column = dict(zip(ways, edges["edge"], strict=True))
    unknown = [node for edge in column for node in edge if node not in graph]
    if unknown:
        raise InputError(f"nodes.csv must hold every node of edges.csv. There is none of number {unknown[0]}.")
    graph.add_edges_from(column)
    # The network groups its edges by their tail; the file does not.
    Y = times[[column[edge] for edge in graph.edges]].astype(np.float64)
    Y.columns = pd.Index([f"{u} -> {v}" for u, v in graph.edges])
    return LosAngeles(_contexts(contexts), Y, graph, _schema())


def _contexts(table: pd.DataFrame) -> pd.DataFrame:
    strange = sorted(set(table["period"].astype(str)) - set(PERIODS))
    if strange:
        raise InputError(f"The periods of contexts.csv must be {', '.join(PERIODS)}. Got {strange[0]!r} instead.")
    X = table[list(COLUMNS["contexts.csv"])].copy()
    X["period"] = pd.Categorical(X["period"], categories=list(PERIODS))
    return X


def _schema() -> Schema:
    # The data name no units; only that of the temperature is plain from its values.
    weather = {"temperature": Continuous(unit="°F")} | {n: Continuous() for n in ("wind_speed", "rain", "visibility")}
    calendar = {"day": Discrete(range(1, 8)), "month": Discrete(range(1, 13))}
    return Schema({"period": Categorical(PERIODS), **weather, **calendar})
