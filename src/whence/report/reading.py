"""Reading a document that somebody else may have written; a sentence names the entry that does not fit."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct, structs

from whence.errors import InputError
from whence.report.document import LARGEST, Map, Report
from whence.risk import CVaR
from whence.util.files import read_file
from whence.util.json import quoted, to_plain

T = TypeVar("T", bound=Struct)

#: Limits of numbers and lists that a type may set.
LIMITS = ("ge", "le", "max_length")


def loaded(source: Any, what: str = "explanation") -> Any:
    """Return what a JSON text holds, or the file of that path; errors call it `what`."""
    text = source if isinstance(source, str) and source.lstrip()[:1] in ("{", "[", "") else _content(source, what)
    try:
        # The standard reader, since it can be told to refuse what other readers understand differently.
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        reason = "too deeply nested" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"The {what} must be JSON. It cannot be read: {reason}.") from None


def document_from(document: Any, kind: type[T], what: str) -> T:
    """Return what a document of that kind, called `what`, holds; an InputError names the entry that does not fit.

    Examples
    --------
    >>> class Note(Struct):
    ...     text: str
    >>> document_from({"text": 5}, Note, "note")
    Traceback (most recent call last):
    whence.errors.InputError: The entry 'text' of the note must be a text. Got 5 instead.
    """
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError:
        raise _fault(kind, document, "", what) from None
    except RecursionError:
        raise InputError(f"The {what} must not be nested so deeply.") from None


def report_from(document: Any) -> Report:
    """Return the report that a document holds; an InputError names the entry that does not fit.

    Examples
    --------
    >>> report_from({"schema": "whence/explanation/2"})
    Traceback (most recent call last):
    whence.errors.InputError: The entry 'schema' of the explanation must be 'whence/explanation/1'. Got ... instead.
    """
    try:
        given = _without_nulls(document)
        report = msgspec.convert(given, Report)
        _check(report)
        if report.nearest is not None:
            _check(report.nearest, "nearest.")
        inner = report.unrestricted
        if inner is None:
            return _completed(report)
        _check(inner, "unrestricted.")
    except msgspec.ValidationError:
        raise _fault(Report, given, "") from None
    except RecursionError:
        raise InputError("The explanation must not be nested so deeply.") from None
    return _completed(structs.replace(report, unrestricted=_completed(structs.replace(inner, question={}))))


def _without_nulls(document: Any, nested: bool = False) -> Any:
    """Return a document without entries that may be missing and are null; the one inside may hold no other."""
    if not isinstance(document, dict):
        return document
    inner = document.get("unrestricted")
    if nested and inner is not None:
        raise _refused("unrestricted.unrestricted", "null inside another one", "a further explanation")
    found = {name: value for name, value in document.items() if value is not None or name not in _optional()}
    return found if inner is None else {**found, "unrestricted": _without_nulls(inner, nested=True)}


@cache
def _optional() -> frozenset[str]:
    """Return the names of entries that may be missing; to ask for them evaluates every annotation anew."""
    return frozenset(one.encode_name for one in structs.fields(Report) if not one.required)


def _completed(report: Report) -> Report:
    """Return a report with the words for its risk, which documents did not carry at first."""
    if report.risk_words:
        return report
    known = CVaR.named(report.risk)
    words = known.words if known else report.risk[:1].upper() + report.risk[1:]
    return structs.replace(report, risk_words=words)


def _content(source: Any, what: str) -> str:
    try:
        return read_file(Path(source)).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"The {what}'s file must be UTF-8 text. Got {quoted(str(source))}, which is not.") from None
    except (TypeError, ValueError, OverflowError) as error:
        reason = str(error).rstrip(".") if isinstance(error, InputError) else "no such path"
        given = str(source) if isinstance(source, Path) else source
        raise InputError(
            f"An {what} must be a JSON text or the path of a file. Got {quoted(given)}: {reason}."
        ) from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object whose names occur once each: of two entries with one name, readers differ in which they take."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} occurs twice")
    return found


# ---- what types can say --------------------------------------------------------------------------------------------


def _refused(path: str, wanted: str, got: Any, what: str = "explanation") -> InputError:
    entry = f"The entry {path!r} of the {what}" if path else f"The {what}"
    return InputError(f"{entry} must be {wanted}. Got {quoted(got)} instead.")


def _fault(kind: Any, value: Any, path: str, what: str = "explanation") -> InputError:
    """Return the error that names the innermost entry which does not fit its type."""
    kind, meta = _stripped(kind)
    if get_origin(kind) in (Union, UnionType):
        options = [option for option in get_args(kind) if option is not type(None)]
        if len(options) == 1 and value is not None:
            return _fault(options[0], value, path, what)
    # What a document is comes before what it says.
    for name, inner, entry in sorted(_entries(kind, value), key=lambda one: one[0] != "schema"):
        try:
            msgspec.convert(entry, inner)
        except msgspec.ValidationError:
            inside = f"{path}.{name}".lstrip(".") if isinstance(name, str) else f"{path}[{name}]"
            return _fault(inner, entry, inside, what)
        if isinstance(name, str) and name not in value:
            return _refused(f"{path}.{name}".lstrip("."), "given, even if as null", None, what)
    return _refused(path, _wanted(kind, meta), value, what)


def _stripped(kind: Any) -> tuple[Any, dict[str, Any]]:
    """Return a type without its annotations, and the limits that these set."""
    limits: dict[str, Any] = {}
    while get_origin(kind) is Annotated:
        kind, *metas = get_args(kind)
        for meta in metas:
            limits |= {name: getattr(meta, name) for name in LIMITS if getattr(meta, name) is not None}
    return kind, limits


def _entries(kind: Any, value: Any) -> list[tuple[str | int, Any, Any]]:
    """Return the entries of an object or a list: name or position, type, and value; one that is missing is None."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        if not isinstance(value, dict):
            return []
        hints = get_type_hints(kind, include_extras=True)
        return [
            (one.encode_name, hints[one.name], value.get(one.encode_name))
            for one in structs.fields(kind)
            if one.required or one.encode_name in value
        ]
    if get_origin(kind) is list and isinstance(value, list | tuple):
        return [(i, get_args(kind)[0], entry) for i, entry in enumerate(value)]
    if get_origin(kind) is dict and isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return [(name, get_args(kind)[1], entry) for name, entry in value.items()]
    return []


def _wanted(kind: Any, limits: dict[str, Any]) -> str:
    """Return what a type asks for, in words."""
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        return f"one of {', '.join(map(repr, choices))}" if len(choices) > 1 else repr(choices[0])
    if get_origin(kind) in (Union, UnionType):
        # A scalar, or a distance, which may be infinite.
        return (
            "a text, a number, true, false or null" if str in get_args(kind) else _wanted(*_stripped(get_args(kind)[0]))
        )
    if kind is int:
        return f"a whole number from {limits['ge']} to {limits['le']}"
    if kind is float:
        return f"a number of at least {limits['ge']:g}" if limits.get("ge") == 0 else "a number"
    if get_origin(kind) is list:
        size = limits.get("max_length")
        return "a list" if size is None else f"a list of {size}"
    return {str: "a text", bool: "true or false"}.get(kind, "a JSON object")


# ---- what types cannot say -----------------------------------------------------------------------------------------


def _check(report: Report, path: str = "") -> None:
    """Refuse what fits the types and is still impossible."""
    _check_context(report, path)
    seen, plans = report.observations, report.plans
    if len(set(seen.rows)) != len(seen.rows) or max(seen.rows, default=0) >= seen.count:
        raise _refused(f"{path}observations.rows", "a list of different row numbers below 'count'", seen.rows)
    for name in ("weights_before", "weights_after", "costs_decision", "costs_alternative"):
        numbers = getattr(seen, name)
        if numbers is None:
            continue
        if len(numbers) != len(seen.rows):
            raise _refused(f"{path}observations.{name}", f"a list of {len(seen.rows)}", numbers)
        if name.startswith("weights") and abs(sum(numbers) - 1.0) > 1e-6:
            raise _refused(f"{path}observations.{name}", "a list of weights that sum to 1", numbers)
    for name in ("decision", "alternative", *(("after",) if plans.after is not None else ())):
        plan = getattr(plans, name)
        if plans.form == "quantities" and not (
            isinstance(plan, list | tuple) and len(plan) == len(plans.parts) and all(map(_is_ordinary, plan))
        ):
            raise _refused(f"{path}plans.{name}", f"a list of {len(plans.parts)} numbers", plan)
        if plans.form == "route" and not (isinstance(plan, list | tuple) and all(map(_is_node, plan))):
            raise _refused(f"{path}plans.{name}", "a list of nodes", plan)
    if plans.map is not None:
        _check_map(plans.map, f"{path}plans.map")
    for name, value in report.question.items():
        if to_plain(value) != value:
            raise _refused(f"{path}question.{name}", "plain JSON", value)


def _check_context(report: Report, path: str) -> None:
    """A context, its costs and its weights are given together or not at all, as the status says."""
    given = [entry is not None for entry in (report.context, report.cost_after, report.observations.weights_after)]
    wanted = ""
    if any(given) != all(given):
        wanted = "given together with 'cost_after' and 'observations.weights_after', or not at all"
    elif (report.status in ("optimal", "already") and not all(given)) or (report.status == "none" and any(given)):
        wanted = f"{'null' if all(given) else 'given'} where the status is {report.status!r}"
    if wanted:
        raise _refused(f"{path}context", wanted, report.context)


def _check_map(city: Map, path: str) -> None:
    names = [repr(node) for node in city.nodes]
    if not all(map(_is_node, city.nodes)) or len(set(names)) != len(names):
        raise _refused(f"{path}.nodes", "a list of different nodes", city.nodes)
    sizes = {"x": len(names), "y": len(names), "streets": len(city.edges)}
    for name, size in sizes.items():
        if len(getattr(city, name)) != size:
            raise _refused(f"{path}.{name}", f"a list of {size}", getattr(city, name))
    referring = {
        "edges": ([end for edge in city.edges for end in edge], len(names)),
        "decision": (city.decision, len(city.edges)),
        "alternative": (city.alternative, len(city.edges)),
        "source": ([city.source], len(names)),
        "target": ([city.target], len(names)),
    }
    for name, (places, size) in referring.items():
        if max(places, default=-1) >= size:
            raise _refused(f"{path}.{name}", f"positions below {size}", getattr(city, name))


def _is_ordinary(number: Any) -> bool:
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    return is_number and not math.isnan(number) and abs(number) <= LARGEST


def _is_node(node: Any) -> bool:
    """Return a node: a scalar, or a tuple of nodes written as a list."""
    if isinstance(node, list | tuple):
        return all(map(_is_node, node))
    return node is None or isinstance(node, str | bool) or _is_ordinary(node)
