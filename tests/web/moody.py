"""A problem of one's own that does in a worker what problems of one's own do: print, fail, crash, never come back."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import numpy as np
import pandas as pd

import whence as wh
from whence.web.scenes import Scene

QUIET, PRINTS, FAILS, CRASHES, HANGS = range(5)
#: Added to a mood that shows only once the question was found to be right, and its search has begun.
LATER = 10


class Moody(wh.DecisionProblem):
    """A quantity, and a mood that shows only where a question is answered."""

    def costs(self, decision: Any, Y: np.ndarray) -> np.ndarray:
        """The distance to the demand, after whatever the plan's second number says."""
        quantity, mood = np.asarray(decision, dtype=np.float64)
        spec = getattr(sys.modules["__main__"], "__spec__", None)
        if spec is not None and spec.name == "whence.web.worker":
            later, mood = divmod(int(mood), LATER)
            if not later or _searching():
                _misbehave(mood)
        return np.abs(Y[:, 0] - quantity)

    def solve(self, Y: np.ndarray, weights: np.ndarray, risk: Any) -> np.ndarray:
        """The demand of the heaviest observation."""
        return np.array([Y[int(np.argmax(weights)), 0], QUIET])


def _searching() -> bool:
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_name != "_explained":
        frame = frame.f_back
    return frame.f_back is not None


def _misbehave(mood: int) -> None:
    if mood == PRINTS:
        print("a line on standard output", flush=True)
    elif mood == FAILS:
        raise RuntimeError("out of sorts")
    elif mood == CRASHES:
        os._exit(3)
    elif mood == HANGS:
        time.sleep(1000.0)


def moody_scene() -> Scene:
    """Ten days."""
    X = pd.DataFrame({"warmth": np.arange(10.0)})
    policy = wh.Policy(Moody(), wh.KNNWeights(k=2)).fit(X, 10 * X.to_numpy())
    return Scene("moody", "Why?", "", policy, X.iloc[0])
