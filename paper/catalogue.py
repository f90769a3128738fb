"""Every table and figure of the paper's experiments, in the paper's order."""

from __future__ import annotations

import importlib

from paper.experiment import Label

#: Labels as they appear in the paper, main text before appendix.
ORDER = (
    "fig:uberPath",
    "tab:expDim",
    "tab:compTimes",
    "fig:featSens",
    "fig:probSensNews",
    "fig:probSensPath",
    "fig:corrExample",
    "fig:newsCorr",
    "tab:uberExp",
    "fig:weightFlow",
    "tab:percSymm",
    "tab:fullCompTimes",
    "tab:depthCompTimes",
    "tab:fullDist",
    "tab:sparsity",
    "fig:cvarFeatSens",
    "fig:dualVsIter",
    "fig:appCorr",
    "fig:appPerc",
)
#: Modules of this package with a tuple LABELS.
MODULES = ("cells", "dimensions", "sparsity", "sensitivity", "correlation", "programs", "city")


def registry() -> tuple[Label, ...]:
    """All labels, in the paper's order."""
    found: dict[str, Label] = {}
    for name in MODULES:
        for label in importlib.import_module(f"paper.{name}").LABELS:
            found[label.label] = label
    return tuple(found[label] for label in ORDER if label in found)
