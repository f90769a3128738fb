"""Tree ensembles of other libraries: one module each, imported only for an object of that library."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from whence.models.tree_arrays import FittedTrees

__all__ = ["LIBRARIES", "FittedTrees", "read"]

#: Packages whose fitted objects can be read: the module and the class that read them.
LIBRARIES: dict[str, str] = {
    "xgboost": "whence.models.xgboost:XGBoostTrees",
    "lightgbm": "whence.models.lightgbm:LightGBMTrees",
    "catboost": "whence.models.catboost:CatBoostTrees",
    "quantile_forest": "whence.models.scikit_learn:PlainTrees",
    "econml": "whence.models.econml:HonestTrees",
    "sklearn.ensemble._hist_gradient_boosting": "whence.models.scikit_learn:HistogramTrees",
    "sklearn": "whence.models.scikit_learn:PlainTrees",
}


def read(fitted: Any) -> FittedTrees | None:
    """Return the trees of a fitted object; None where no library that is known has made it."""
    # A class of the user's own is read like the one that it derives from.
    for kind in type(fitted).__mro__:
        for package, path in LIBRARIES.items():
            if kind.__module__ == package or kind.__module__.startswith(f"{package}."):
                module, _, name = path.partition(":")
                found: FittedTrees | None = getattr(import_module(module), name).of(fitted)
                return found
    return None
