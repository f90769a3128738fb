"""Weights whose refits take their time in a worker, so that a test can look at what happens meanwhile."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import numpy as np
import pandas as pd

import whence as wh
from whence.web.scenes import Scene

#: Seconds that a refit takes; a variable that the workers inherit.
SECONDS = "WHENCE_TEST_REFIT_SECONDS"


class SlowForest(wh.ForestWeights):
    """A forest that is slow to fit where questions are answered, and nowhere else."""

    def fit(self, X: Any, Y: Any, **more: Any) -> SlowForest:
        """Wait, then fit."""
        spec = getattr(sys.modules["__main__"], "__spec__", None)
        if spec is not None and spec.name == "whence.web.worker":
            time.sleep(float(os.environ.get(SECONDS, "0")))
        super().fit(X, Y, **more)
        return self


def slow_scene() -> Scene:
    """Demand that grows with the warmth, up to noise: the nearest context turns it by a hair."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"warmth": rng.uniform(0, 30, 150).round(1), "day": rng.choice(["week", "weekend"], 150)})
    demand = 20 + 2 * X["warmth"] + 15 * (X["day"] == "weekend") + rng.normal(0, 4, 150)
    Y = pd.DataFrame({"ice": demand.round(1)})
    schema = wh.Schema({"warmth": wh.Continuous(unit="°C"), "day": wh.Categorical()})
    forest = SlowForest(n_trees=30, max_depth=4, max_features="sqrt", min_samples_leaf=1, random_state=0)
    policy = wh.Policy(wh.Newsvendor(holding=1, backorder=2), forest, schema=schema).fit(X, Y)
    today = pd.Series({"warmth": 8.0, "day": "week"})
    return Scene("slow", "Why not more ice?", "", policy, today, [70.0])
