"""Versions of everything that plays a part in a result."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

__all__ = ["versions"]

NUMERIC = ("numpy", "scipy", "scikit-learn", "pandas", "highspy", "networkx", "joblib")
REQUIRED = (*NUMERIC, "msgspec", "jinja2", "typer", "rich")
OPTIONAL = ("matplotlib", "fastapi", "gurobipy", "pyscipopt", "dask")


def versions() -> dict[str, str]:
    """Name to version: whence, Python, the system, what whence needs, and what else of use is installed.

    Examples
    --------
    >>> list(versions())[:2]
    ['whence', 'python']
    """
    return dict(_found())


@cache
def _found() -> dict[str, str]:
    from whence import __version__

    found = {
        "whence": __version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }
    for name in REQUIRED + OPTIONAL:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            if name in REQUIRED:
                found[name] = "not found"
    return found
