"""Settings of a server from where they come: the command, the environment (`WHENCE_...`), a file, or the default."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from whence.errors import InputError
from whence.web.server_settings import ServerSettings

#: What a setting is called, and what it is, as its annotation says.
KINDS = {field.name: str(field.type) for field in fields(ServerSettings)}
#: What is not shown.
SECRET = {"token"}
#: Settings that are not those of `ServerSettings`.
MORE = {"allow_remote": "bool"}


def gathered(
    given: Mapping[str, Any], file: Path | None = None, environ: Mapping[str, str] | None = None
) -> tuple[dict[str, Any], dict[str, str]]:
    """Gather settings: what was given counts before the environment, and that before the file; and where each is from.

    Examples
    --------
    >>> gathered({"workers": None, "port": 0}, environ={"WHENCE_WORKERS": "3", "WHENCE_PORT": "9"})
    ({'port': 0, 'workers': 3}, {'port': 'the command', 'workers': 'WHENCE_WORKERS'})
    """
    found: dict[str, Any] = {}
    sources: dict[str, str] = {}
    told = {} if file is None else _read(file)
    for name, kind in {**KINDS, **MORE}.items():
        variable = f"WHENCE_{name.upper()}"
        text = (environ or {}).get(variable)
        if given.get(name) is not None:
            found[name], sources[name] = given[name], "the command"
        elif text:
            found[name], sources[name] = _from_text(name, kind, text, variable), variable
        elif name in told:
            found[name], sources[name] = _of_kind(name, kind, told[name]), str(file)
    return found, sources


def _read(file: Path) -> dict[str, Any]:
    try:
        told = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"'settings' must be a file that can be read. Got {str(file)!r}: {error}.") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"'settings' must be TOML. Got {str(file)!r}: {error}.") from None
    unknown = [name for name in told if name not in KINDS and name not in MORE]
    if unknown:
        raise InputError(f"'settings' holds {unknown[0]!r}, which is no setting; --print-settings shows all.")
    return told


def _from_text(name: str, kind: str, text: str, variable: str) -> Any:
    if kind.startswith("tuple"):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if kind == "bool":
        if text.lower() not in ("true", "false", "1", "0"):
            raise InputError(f"{variable!r} must be true or false. Got {text!r} instead.")
        return text.lower() in ("true", "1")
    number = {"int": int, "float": float}.get(kind)
    if kind.startswith("Mapping"):
        raise InputError(f"{variable!r} cannot be set by a variable; give {name!r} in the file of settings.")
    try:
        return text if number is None else number(text)
    except ValueError:
        raise InputError(f"{variable!r} must be a number. Got {text!r} instead.") from None


def _of_kind(name: str, kind: str, value: Any) -> Any:
    """A value of the file as the setting takes it."""
    if kind.startswith("Mapping") and isinstance(value, dict):
        return {scene: tuple(_of_kind(name, "tuple", who)) for scene, who in value.items()}
    if kind.startswith("tuple") and isinstance(value, list) and all(isinstance(part, str) for part in value):
        return tuple(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    right = {
        "int": isinstance(value, int) and number,
        "float": number,
        "bool": isinstance(value, bool),
        "str": isinstance(value, str),
        "str | None": isinstance(value, str),
    }
    if not right.get(kind, False):
        raise InputError(f"The setting {name!r} must be {kind.removesuffix(' | None')}. Got {value!r} instead.")
    return value


def shown_settings(settings: ServerSettings, sources: Mapping[str, str]) -> str:
    """Every setting in TOML, each with where it is from; tokens are not shown."""
    lines = []
    for field in fields(ServerSettings):
        value = getattr(settings, field.name)
        source = sources.get(field.name, "default")
        if field.name in SECRET and value is not None:
            lines.append(f"# {field.name} is set and not shown ({source})")
        elif value is None:
            lines.append(f"# {field.name} is not set")
        elif isinstance(value, Mapping):
            held = ", ".join(f"{json.dumps(name)} = {json.dumps(list(who))}" for name, who in value.items())
            lines.append(f"{field.name} = {{{' ' + held + ' ' if held else ''}}}  # {source}")
        else:
            plain = list(value) if isinstance(value, tuple) else value
            lines.append(f"{field.name} = {json.dumps(plain)}  # {source}")
    return "\n".join(lines)
