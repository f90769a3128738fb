"""A courier's route across a small city with a river, three bridges and a ring road."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
import pandas as pd

from whence.examples.example import Example
from whence.features import Categorical, Continuous, Schema
from whence.policy import Policy
from whence.problems.shortest_path import ShortestPath
from whence.risk import CVaR
from whence.weights import ForestWeights

PERIODS = ("night", "morning peak", "midday", "evening peak")
DAYS = ("working day", "Saturday", "Sunday")

# Kilometres from the west and from the south.
PLACES = {
    "Depot": (0.0, 3.3),
    "North Gate": (1.2, 3.6),
    "Station": (2.3, 3.4),
    "Opera": (3.4, 3.5),
    "Fairground": (4.7, 3.4),
    "Tannery": (0.1, 2.4),
    "Market Square": (1.3, 2.7),
    "Town Hall": (2.3, 2.5),
    "Library": (3.4, 2.6),
    "Gasworks": (4.7, 2.5),
    "West Bridge": (0.2, 1.6),
    "Old Bridge": (2.2, 1.7),
    "East Bridge": (4.6, 1.7),
    "Boatyard": (0.3, 0.9),
    "Fish Market": (1.4, 1.1),
    "University": (2.3, 1.0),
    "Park Corner": (3.4, 1.1),
    "Hospital": (4.6, 0.8),
    "Ring South-West": (0.6, 0.2),
    "Ring South": (2.2, 0.1),
    "Ring South-East": (3.8, 0.2),
}

# Street, the places along it, minutes per kilometre without traffic, and what kind of street it is.
STREETS = (
    ("Station Street", ("Depot", "North Gate", "Station", "Opera", "Fairground"), 2.6, "centre"),
    ("Market Street", ("Depot", "Market Square", "Town Hall", "Library", "Gasworks"), 2.0, "centre"),
    ("Bridge Street", ("Station", "Town Hall", "Old Bridge", "University"), 2.0, "centre"),
    ("College Street", ("Fish Market", "University", "Park Corner", "Hospital"), 2.0, "centre"),
    ("Opera Lane", ("Opera", "Library"), 3.0, "centre"),
    ("North Lane", ("North Gate", "Market Square"), 3.0, "centre"),
    ("Quay", ("West Bridge", "Old Bridge", "East Bridge"), 2.35, "riverside"),
    ("Boat Lane", ("Boatyard", "Fish Market"), 2.8, "riverside"),
    ("West Road", ("Depot", "Tannery", "West Bridge", "Boatyard", "Ring South-West"), 2.5, "ring"),
    ("Ring Road", ("Ring South-West", "Ring South", "Ring South-East", "Hospital"), 2.15, "ring"),
    ("East Road", ("Fairground", "Gasworks", "East Bridge", "Hospital"), 2.5, "ring"),
    ("South Road", ("University", "Ring South"), 2.6, "centre"),
    ("Park Road", ("Park Corner", "Ring South-East"), 2.6, "centre"),
)

# How many times longer a street takes on a working day.
TRAFFIC = {
    "night": {"centre": 0.85, "riverside": 0.85, "ring": 0.95},
    "morning peak": {"centre": 1.95, "riverside": 1.08, "ring": 1.15},
    "midday": {"centre": 1.15, "riverside": 1.15, "ring": 1.05},
    "evening peak": {"centre": 1.50, "riverside": 1.60, "ring": 1.50},
}
# On a weekend, this share of what traffic adds remains.
QUIET = {"working day": 1.0, "Saturday": 0.45, "Sunday": 0.1}
# Share of the time that a millimetre of rain per hour adds, and how uneven the times are from day to day.
WET = {"centre": 0.008, "riverside": 0.040, "ring": 0.015}
UNEVEN = {"centre": 0.16, "riverside": 0.08, "ring": 0.07}


def load(n: int = 600, seed: int = 0) -> Example:
    """The courier's last `n` trips, and the question at midday; the same seed gives the same data.

    Examples
    --------
    >>> example = load(n=200)
    >>> example.alternative[:3], example.alternative[-1]
    (['Depot', 'Tannery', 'West Bridge'], 'Hospital')
    """
    graph = streets()
    X = _contexts(n, seed)
    schema = Schema(
        {"period": Categorical(PERIODS), "day": Categorical(DAYS), "rain": Continuous(low=0.0, unit="mm/h")}
    )
    problem = ShortestPath(graph, "Depot", "Hospital", cost_unit="min")
    along = {name: places for name, places, *_ in STREETS}
    weights = ForestWeights(n_trees=100, max_depth=4, max_features="sqrt", min_samples_leaf=1, random_state=seed)
    return Example(
        name="city",
        title="Why not the southern ring road?",
        question=(
            "The policy plans a courier's trip from the depot to the hospital at midday so that the slowest fifth of "
            "trips (CVaR at 0.8) is as fast as can be. The courier would take West Road and the ring in the south."
        ),
        X=X,
        Y=_minutes(X, graph, seed),
        problem=problem,
        policy=Policy(problem, weights=weights, risk=CVaR(0.8), schema=schema),
        today=pd.Series({"period": "midday", "day": "working day", "rain": 0.0}, name="today", dtype=object),
        alternative=[*along["West Road"], *along["Ring Road"][1:]],
    )


def streets() -> nx.DiGraph:
    """The city: places with positions, and streets that can be driven both ways, with their names.

    Examples
    --------
    >>> streets().edges["Depot", "Tannery"]["name"]
    'West Road'
    """
    graph = nx.DiGraph()
    for place, position in PLACES.items():
        graph.add_node(place, pos=position)
    for name, places, pace, kind in STREETS:
        for u, v in pairwise(places):
            length = float(np.hypot(*np.subtract(PLACES[u], PLACES[v])))
            for hop in ((u, v), (v, u)):
                graph.add_edge(*hop, name=name, kind=kind, minutes=pace * length)
    return graph


def _contexts(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    wet = rng.random(n) < 0.4
    return pd.DataFrame(
        {
            "period": pd.Categorical(rng.choice(PERIODS, n, p=[0.15, 0.3, 0.3, 0.25]), categories=list(PERIODS)),
            "day": pd.Categorical(rng.choice(DAYS, n, p=[0.7, 0.18, 0.12]), categories=list(DAYS)),
            "rain": np.where(wet, np.round(np.minimum(rng.gamma(1.6, 2.2, n), 12.0), 1), 0.0),
        }
    )


def _minutes(X: pd.DataFrame, graph: nx.DiGraph, seed: int) -> pd.DataFrame:
    """Driving time of every stretch on every trip: traffic, rain, good and bad days of each kind of street, chance."""
    rng = np.random.default_rng([seed, 1])
    n = len(X)
    quiet = X["day"].astype(str).map(QUIET).to_numpy(dtype=np.float64)
    level = {}
    for kind in ("centre", "riverside", "ring"):
        usual = X["period"].astype(str).map({p: TRAFFIC[p][kind] for p in PERIODS}).to_numpy(dtype=np.float64)
        traffic = 1.0 + (usual - 1.0) * np.where(usual > 1.0, quiet, 1.0)
        rain = 1.0 + WET[kind] * X["rain"].to_numpy(dtype=np.float64)
        level[kind] = traffic * rain * np.exp(rng.normal(0.0, UNEVEN[kind], n))
    columns = {
        f"{u} -> {v}": data["minutes"] * level[data["kind"]] * np.exp(rng.normal(0.0, 0.05, n))
        for u, v, data in graph.edges(data=True)
    }
    return pd.DataFrame(columns, index=X.index).round(2)
