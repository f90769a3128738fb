"""An explanation as a JSON document, and back; the schema is ``explanation.schema.json`` beside this file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, cast

import pandas as pd

from whence.aliases import Kind, Status
from whence.errors import InputError
from whence.explain.explanation import Costs, Explanation
from whence.explain.fingerprints import digest
from whence.explain.packing import SILENT, packed, unpacked
from whence.files import read_file, write_text
from whence.plain_values import quoted, to_plain
from whence.report.material import Material, material_of
from whence.report.observations import Observation
from whence.report.plan_document import plans_from, plans_to_plain, scalar
from whence.report.reader import Entry

__all__ = ["SCHEMA", "from_dict", "from_json", "to_dict", "to_json"]

#: Name and version of the schema; a change that a reader of this version would get wrong gets a new number.
SCHEMA = "whence/explanation/1"

STATUSES = ("optimal", "already", "none", "time_limit", "interrupted")
KINDS = ("relative", "absolute")
FEATURE_KINDS = ("continuous", "discrete", "categorical", "binary")
COLUMNS = ["feature", "from", "to", "distance"]
#: Most observations that a document may claim to be about.
MOST_OBSERVATIONS = 10_000_000


#: What of a question says how hard to try, not what is asked.
EFFORT = ("engine", "time_limit", "node_limit", "threads")


def to_dict(explanation: Explanation) -> dict[str, Any]:
    """`explanation` as plain dicts, lists, numbers and texts."""
    material = material_of(explanation)
    document = body(explanation, material)
    if material.intact is False:
        # What was changed must not become sound by being read and written once more.
        return {**document, "fingerprints": dict(material.fingerprints)}
    known = dict(material.fingerprints)
    if explanation.asked:
        known["question"] = question_digest(document)
    document["fingerprints"] = known
    known["document"] = document_digest(document)
    return document


def fingerprints(explanation: Explanation) -> dict[str, Any]:
    """Fingerprints of model, history, problem, question and document; empty where the first three are not known."""
    return dict(to_dict(explanation)["fingerprints"]) if "model" in material_of(explanation).fingerprints else {}


def document_digest(document: Mapping[str, Any]) -> str:
    """The fingerprint of a whole document, apart from the entry that holds it."""
    known = document.get("fingerprints")
    others = {name: value for name, value in known.items() if name != "document"} if isinstance(known, Mapping) else {}
    return digest({**document, "fingerprints": others})


def question_digest(document: Mapping[str, Any]) -> str:
    """The fingerprint of the question of a document: context, plans, risk, kind, restrictions and all other options."""
    asked = {name: value for name, value in document["question"].items() if name not in EFFORT}
    plans = {name: document["plans"][name] for name in ("decision", "alternative")}
    return digest({"context": document["initial"], "plans": plans, "risk": document["risk"], "asked": asked})


def body(explanation: Explanation, material: Material) -> dict[str, Any]:
    """The document without its fingerprints."""
    after, inner = explanation.cost_after, explanation.unrestricted
    return {
        "schema": SCHEMA,
        "status": explanation.status,
        "kind": explanation.kind,
        "risk": explanation.risk,
        "text": str(explanation),
        "initial": _values(explanation.initial),
        "context": None if explanation.context is None else _values(explanation.context),
        "changes": [
            {"feature": str(row["feature"]), "from": scalar(row["from"]), "to": scalar(row["to"])}
            | {"distance": float(row["distance"])}
            for row in explanation.changes.to_dict("records")
        ],
        "distance": to_plain(float(explanation.distance)),
        "bound": to_plain(float(explanation.bound)),
        "cost_before": _costs(explanation.cost_before),
        "cost_after": None if after is None else _costs(after),
        "plans": {
            **plans_to_plain(material.plans),
            "decision_text": explanation.decision_text,
            "alternative_text": explanation.alternative_text,
        },
        "kinds": dict(explanation.kinds),
        "units": dict(explanation.units),
        **({"cost_unit": explanation.cost_unit} if explanation.cost_unit else {}),
        "room": {name: [float(low), float(high)] for name, (low, high) in explanation.room.items()},
        "ranges": {name: [low, high] for name, (low, high) in material.ranges.items()},
        "observations": {
            **to_plain(packed(explanation)),
            "gaining": [_observation(o) for o in material.gaining],
            "losing": [_observation(o) for o in material.losing],
        },
        "outcomes": list(explanation.outcomes),
        "engine": explanation.engine,
        "seconds": float(explanation.seconds),
        "nodes": int(explanation.nodes),
        "cuts": int(explanation.cuts),
        **({"within": float(explanation.within)} if explanation.within else {}),
        "tolerance": float(explanation.tolerance),
        "separation": None if explanation.separation is None else float(explanation.separation),
        "note": explanation.note,
        "blocking": list(explanation.blocking),
        "unrestricted": None if inner is None else body(inner, material_of(inner)),
        **({"question": dict(explanation.asked)} if explanation.asked else {}),
        "versions": dict(material.versions),
    }


def to_json(explanation: Explanation, path: Any = None, indent: int | None = None) -> str | None:
    """`explanation` as JSON text, or written to `path`."""
    text = json.dumps(to_dict(explanation), ensure_ascii=False, allow_nan=False, indent=indent)
    if path is None:
        return text
    write_text(path, f"{text}\n", "an explanation")
    return None


def from_json(source: Any) -> Explanation:
    """The explanation in a JSON text, or in the file of that path."""
    return from_dict(loaded(source))


def loaded(source: Any) -> Any:
    """What a JSON text holds, or the file of that path."""
    text = source if isinstance(source, str) and source.lstrip()[:1] in ("{", "[", "") else _content(source)
    try:
        document = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        reason = "too deeply nested" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"The explanation must be JSON. It cannot be read: {reason}.") from None
    return document


def from_dict(document: Any) -> Explanation:
    """The explanation that :func:`to_dict` wrote."""
    try:
        explanation = _explanation(Entry(document))
        claimed = document["fingerprints"].get("document") if document.get("fingerprints") else None
        intact = None if claimed is None else claimed == document_digest(document)
    except RecursionError:
        raise InputError("The explanation must not be nested without end.") from None
    assert explanation.material is not None
    return replace(explanation, material=replace(explanation.material, intact=intact))


def _content(source: Any) -> str:
    try:
        return read_file(Path(source)).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(
            f"The explanation's file must be UTF-8 text. Got {quoted(str(source))}, which is not."
        ) from None
    except (TypeError, ValueError) as error:
        reason = str(error).rstrip(".") if isinstance(error, InputError) else "no such path"
        given = str(source) if isinstance(source, Path) else source
        raise InputError(
            f"An explanation must be a JSON text or the path of a file. Got {quoted(given)}: {reason}."
        ) from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names occur once each: of two entries with one name, every reader takes another."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} occurs twice")
    return found


# ---- writing ---------------------------------------------------------------------------------------------


def _values(row: pd.Series) -> dict[str, Any]:
    return {str(name): scalar(value) for name, value in row.items()}


def _costs(costs: Costs) -> dict[str, float]:
    return {"decision": float(costs.decision), "alternative": float(costs.alternative)}


def _observation(observation: Observation) -> dict[str, Any]:
    values = {name: scalar(value) for name, value in observation.values.items()}
    return to_plain({**vars(observation), "values": values})  # type: ignore[no-any-return]


# ---- reading ---------------------------------------------------------------------------------------------


def _explanation(entry: Entry, nested: bool = False) -> Explanation:
    if entry["schema"].value != SCHEMA:
        raise entry["schema"].error(repr(SCHEMA))
    if nested and entry["unrestricted"].value is not None:
        raise entry["unrestricted"].error("null inside another one")
    plans = plans_from(entry["plans"])
    arrays = _arrays(entry["observations"])
    status = cast(Status, entry["status"].choice(STATUSES))
    cost_after = entry["cost_after"].optional(_read_costs)
    context = entry["context"].optional(_series)
    _check_context(entry, status, [context is not None, cost_after is not None, arrays["weights_after"] is not None])
    return Explanation(
        status=status,
        kind=cast(Kind, entry["kind"].choice(KINDS)),
        initial=_series(entry["initial"]),
        context=context,
        changes=_changes(entry["changes"]),
        distance=entry["distance"].number(0.0, infinite=True),
        bound=entry["bound"].number(0.0, infinite=True),
        decision=plans.decision,
        alternative=plans.alternative,
        cost_before=_read_costs(entry["cost_before"]),
        cost_after=cost_after,
        risk=entry["risk"].text(),
        engine=entry["engine"].text(),
        seconds=entry["seconds"].number(0.0),
        nodes=entry["nodes"].whole(),
        cuts=entry["cuts"].whole(),
        within=entry["within"].optional(lambda e: e.number(0.0)) or 0.0,
        tolerance=entry["tolerance"].number(0.0),
        separation=entry["separation"].optional(lambda e: e.number(0.0)),
        decision_text=entry["plans"]["decision_text"].text(),
        alternative_text=entry["plans"]["alternative_text"].text(),
        units={name: e.text() for name, e in entry["units"].members().items()},
        cost_unit=entry["cost_unit"].optional(Entry.text) or "",
        kinds={name: e.choice(FEATURE_KINDS) for name, e in entry["kinds"].members().items()},
        room=_intervals(entry["room"]),
        outcomes=entry["outcomes"].texts(),
        blocking=entry["blocking"].texts(),
        unrestricted=entry["unrestricted"].optional(lambda e: _explanation(e, nested=True)),
        note=entry["note"].text(),
        material=Material(
            plans=plans,
            gaining=[_read_observation(e) for e in entry["observations"]["gaining"].items()],
            losing=[_read_observation(e) for e in entry["observations"]["losing"].items()],
            ranges=_intervals(entry["ranges"]),
            versions={name: e.text() for name, e in entry["versions"].members().items()},
            fingerprints={} if nested else entry["fingerprints"].optional(_fingerprints) or {},
        ),
        asked={} if nested else entry["question"].optional(_question) or {},
        **arrays,
    )


def _check_context(entry: Entry, status: str, given: list[bool]) -> None:
    """A context, its costs and its weights are given together or not at all, as the status says."""
    if any(given) != all(given):
        raise entry["context"].error("given together with 'cost_after' and 'observations.weights_after', or not at all")
    if (status in ("optimal", "already") and not all(given)) or (status == "none" and any(given)):
        raise entry["context"].error(f"{'null' if all(given) else 'given'} where the status is {status!r}")


def _series(entry: Entry) -> pd.Series:
    values = {name: e.scalar() for name, e in entry.members().items()}
    return pd.Series(list(values.values()), index=list(values), dtype=object)


def _changes(entry: Entry) -> pd.DataFrame:
    rows = [
        (e["feature"].text(), e["from"].scalar(), e["to"].scalar(), e["distance"].number(0.0)) for e in entry.items()
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _read_costs(entry: Entry) -> Costs:
    return Costs(entry["decision"].number(), entry["alternative"].number())


def _intervals(entry: Entry) -> dict[str, tuple[float, float]]:
    pairs = {name: e.numbers(2) for name, e in entry.members().items()}
    return {name: (low, high) for name, (low, high) in pairs.items()}


def _arrays(entry: Entry) -> dict[str, Any]:
    count = entry["count"].whole(1, MOST_OBSERVATIONS)
    rows = [e.whole(0, count - 1) for e in entry["rows"].items()]
    if len(set(rows)) != len(rows):
        raise entry["rows"].error("a list of different row numbers")
    found: dict[str, Any] = {"count": count, "rows": rows}
    for name in SILENT:
        weights = name.startswith("weights")
        least = 0.0 if weights else -float("inf")
        numbers = entry[name].optional(lambda e, least=least: e.numbers(len(rows), least))  # type: ignore[misc]
        if weights and numbers is not None and abs(sum(numbers) - 1.0) > 1e-6:
            raise entry[name].error("a list of weights that sum to 1")
        found[name] = numbers
    if found["weights_before"] is None:
        raise entry["weights_before"].error("a list of weights that sum to 1")
    return unpacked(found)


def _question(entry: Entry) -> dict[str, Any]:
    return {name: e.plain() for name, e in entry.members().items()}


def _fingerprints(entry: Entry) -> dict[str, Any]:
    return {name: e.texts() if name == "not_covered" else e.text() for name, e in entry.members().items()}


def _read_observation(entry: Entry) -> Observation:
    return Observation(
        label=entry["label"].text(),
        values={name: e.scalar() for name, e in entry["values"].members().items()},
        before=entry["before"].number(0.0),
        after=entry["after"].number(0.0),
        decision=entry["decision"].optional(Entry.number),
        alternative=entry["alternative"].optional(Entry.number),
        part=entry["part"].optional(Entry.number),
    )
