"""The section [problem]: what is decided, from numbers, lists and CSV files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import networkx as nx

from whence.checks import Rule, one_of
from whence.errors import WhenceError
from whence.explain.ask import COUNT, TEXTS
from whence.problems import DecisionProblem, LinearProblem, Newsvendor, Shipment, ShortestPath
from whence.project.csv_files import CsvFormat, CsvTable, number_column, read_csv
from whence.project.findings import NUMBER, NUMBERS, TEXT, Findings, Place, Section, is_number
from whence.util.text import nearest

#: Keys under which a file may be named.
FILE_KEYS = ("network", "nodes", "distances", "A_ub", "A_eq", "cost_map")
KIND = one_of("newsvendor", "shipment", "shortest_path", "linear")
NODE = Rule("the name of a node", lambda value: isinstance(value, str | int) and not isinstance(value, bool))


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(is_number(end) or end == "none" for end in value)


RATE = Rule(
    "a number, a list of numbers, or a table with one number per outcome",
    lambda v: is_number(v) or NUMBERS.fits(list(v.values()) if isinstance(v, dict) else v),
)
MATRIX = Rule(
    "a list of lists of numbers, or the name of a CSV file",
    lambda v: isinstance(v, str) or (isinstance(v, list) and bool(v) and all(map(NUMBERS.fits, v))),
)
BOUNDS = Rule(
    "a pair [low, high], or a list of such pairs, in which 'none' stands for no bound",
    lambda value: _is_pair(value) or (isinstance(value, list) and bool(value) and all(map(_is_pair, value))),
)
FLAGS = Rule(
    "0 or 1, or a list of them",
    lambda value: value in (0, 1) or (NUMBERS.fits(value) and all(entry in (0, 1) for entry in value)),
)


def edge_columns(network: nx.DiGraph) -> list[str]:
    """Return the column of outcomes of every edge, in the order of the graph's edges."""
    return [data["column"] for _, _, data in network.edges(data=True)]


def read_network(problem: Section, form: CsvFormat) -> nx.DiGraph | None:
    """Return the network of a shortest-path problem, from a CSV file of edges and perhaps one of nodes."""
    if problem.table.get("kind") != "shortest_path" or "network" not in problem.table:
        return None
    found, folder = problem.found, problem.source.path.parent
    file, places = problem.take("network", TEXT), problem.take("nodes", TEXT)
    edges = None if file is None else read_csv(folder / file, form, found)
    graph = None if edges is None else _graph(edges, found)
    if places is not None:
        nodes = read_csv(folder / places, form, found)
        if nodes is not None and graph is not None:
            _place(graph, nodes, found)
    return graph


def _graph(edges: CsvTable, found: Findings) -> nx.DiGraph | None:
    cells, columns = edges.cells, list(edges.cells.columns)
    if _lacks(edges, ("from", "to"), found):
        return None
    graph = nx.DiGraph()
    for row, (tail, head) in enumerate(zip(cells["from"], cells["to"], strict=True)):
        if not tail or not head:
            found.error(edges.at(row, "from" if not tail else "to"), "is missing; an edge needs both of its nodes.")
        elif graph.has_edge(tail, head):
            found.error(edges.at(row, "from"), f"the edge {tail} -> {head} must occur only once.")
        else:
            named = {key: cells[key].iloc[row] for key in ("column", "name") if key in columns and cells[key].iloc[row]}
            graph.add_edge(tail, head, **{"column": f"{tail} -> {head}", **named})
    return graph


def _lacks(table: CsvTable, names: Sequence[str], found: Findings) -> bool:
    """Return whether the table has not all of these columns; each that is missing is an error."""
    columns = list(table.cells.columns)
    lacking = [name for name in names if name not in columns]
    for name in lacking:
        found.error(Place(table.path.name, 1), f"needs a column {name!r}.{nearest(name, columns)}")
    return bool(lacking)


def _place(graph: nx.DiGraph, nodes: CsvTable, found: Findings) -> None:
    """Put the nodes where a CSV file with the columns node, x and y says."""
    if _lacks(nodes, ("node", "x", "y"), found):
        return
    xs, ys = number_column(nodes, "x", found), number_column(nodes, "y", found)
    for node, x, y in zip(nodes.cells["node"], xs.tolist(), ys.tolist(), strict=True):
        if node in graph:
            graph.nodes[node]["pos"] = (float(x), float(y))
    lost = [node for node in graph if "pos" not in graph.nodes[node]]
    if lost:
        more = "" if len(lost) == 1 else f" (and {len(lost) - 1} more)"
        found.warning(Place(nodes.path.name), f"does not say where {lost[0]!r} is{more}, so routes are not drawn.")


def read_problem(
    problem: Section, network: nx.DiGraph | None, outcomes: Sequence[str], form: CsvFormat
) -> DecisionProblem | None:
    """Return the decision problem, or None where the section does not make one."""
    kind = problem.need("kind", KIND)
    if kind is None:
        return None
    makers: Mapping[str, Callable[[], DecisionProblem | None]] = {
        "newsvendor": lambda: _newsvendor(problem, outcomes),
        "shipment": lambda: _shipment(problem, form),
        "shortest_path": lambda: _shortest_path(problem, network),
        "linear": lambda: _linear(problem, form),
    }
    faults = len(problem.found.errors)
    unit = problem.take("cost_unit", TEXT, "")
    try:
        made = makers[kind]()
        if made is not None:
            made.cost_unit = unit
    except WhenceError as error:
        made = None
        if len(problem.found.errors) == faults:
            problem.refused(error)
    problem.close()
    return made


def problem_files(problem: Section) -> tuple[Path, ...]:
    """Return the files that the section names."""
    named = (problem.table.get(key) for key in FILE_KEYS)
    return tuple(problem.source.path.parent / name for name in named if isinstance(name, str))


def _newsvendor(problem: Section, outcomes: Sequence[str]) -> DecisionProblem:
    rates = {key: _rate(problem, key, outcomes) for key in ("holding", "backorder")}
    budget, names = problem.take("budget", NUMBER), problem.take("names", TEXTS)
    for key, rate in rates.items():
        # Each by itself: what is wrong with one says nothing about the others.
        alone: dict[str, Any] = {**dict.fromkeys(rates, 1.0), key: 1.0 if rate is None else rate}
        try:
            Newsvendor(**alone)
        except WhenceError as error:
            problem.refused(error)
    made = Newsvendor(**rates, budget=budget, names=names)
    if names is None and outcomes:
        # Sentences about a plan then call its parts by their names; what does not match is said later on.
        with suppress(WhenceError):
            return Newsvendor(**rates, budget=budget, names=list(outcomes))
    return made


def _rate(problem: Section, key: str, outcomes: Sequence[str]) -> Any:
    """Return a rate for all outcomes, one each, or one per outcome by its name."""
    rate = problem.need(key, RATE)
    if not isinstance(rate, dict):
        return rate
    for name in rate:
        if outcomes and name not in outcomes:
            problem.error(key, f"names {name!r}, which is not an outcome.{nearest(name, outcomes)}")
    for name in outcomes:
        if name not in rate:
            problem.error(key, f"needs a number for the outcome {name!r}.")
    return [rate.get(name, 1.0) for name in outcomes] or 1.0


def _shipment(problem: Section, form: CsvFormat) -> DecisionProblem:
    keys = ("production_cost", "spot_cost", "shipping_cost")
    costs = {key: given for key in keys if (given := problem.take(key, NUMBER)) is not None}
    return Shipment(**costs, distances=_matrix(problem, "distances", form))


def _shortest_path(problem: Section, network: nx.DiGraph | None) -> DecisionProblem | None:
    width = problem.take("grid", COUNT)
    file, _ = problem.take("network", TEXT), problem.take("nodes", TEXT)
    source, target = problem.take("source", NODE), problem.take("target", NODE)
    if width is not None and file is None and source is None and target is None:
        return ShortestPath.grid(width)
    if width is not None or file is None or source is None or target is None:
        problem.error(None, "needs 'network', 'source' and 'target', or 'grid' alone.")
    if network is None or source is None or target is None:
        return None
    nodes = list(map(str, network))
    for key, name in (("source", str(source)), ("target", str(target))):
        if name not in nodes:
            problem.error(key, f"names {name!r}, which is not a node of {file}.{nearest(name, nodes)}")
    if not {str(source), str(target)} <= {*nodes}:
        return None
    return ShortestPath(network, str(source), str(target))


def _linear(problem: Section, form: CsvFormat) -> DecisionProblem:
    bounds = problem.take("bounds", BOUNDS, [0, "none"])
    pairs = [bounds] if _is_pair(bounds) else bounds
    ends = [tuple(None if end == "none" else end for end in pair) for pair in pairs]
    return LinearProblem(
        A_ub=_matrix(problem, "A_ub", form),
        b_ub=problem.take("b_ub", NUMBERS),
        A_eq=_matrix(problem, "A_eq", form),
        b_eq=problem.take("b_eq", NUMBERS),
        bounds=ends[0] if _is_pair(bounds) else ends,
        integrality=problem.take("integrality", FLAGS),
        cost_map=_matrix(problem, "cost_map", form),
    )


def _matrix(problem: Section, key: str, form: CsvFormat) -> list[list[float]] | None:
    """Return a matrix that is written out, or in a CSV file of numbers without column names."""
    given = problem.take(key, MATRIX)
    if isinstance(given, str):
        faults = len(problem.found.errors)
        table = read_csv(problem.source.path.parent / given, form, problem.found, header=False)
        if table is None:
            return None
        columns = [number_column(table, name, problem.found).tolist() for name in table.cells.columns]
        return None if len(problem.found.errors) > faults else [list(row) for row in zip(*columns, strict=True)]
    if given is not None and len({len(row) for row in given}) > 1:
        problem.error(key, "must have rows of the same length.")
        return None
    return None if given is None else [list(map(float, row)) for row in given]
