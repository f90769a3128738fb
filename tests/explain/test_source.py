"""Fingerprints of what an explanation was computed from."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

from sklearn.base import clone
from tests.forests import paper_forest

import whence as wh
from whence.batch import _with_source
from whence.examples import bakery
from whence.explain.recheck import Source


def small(seed: int = 0, n: int = 30, **parts: Any) -> wh.Policy:
    """A small fitted policy of the bakery."""
    example = bakery.load(n=n)
    chosen = {"weights": paper_forest(n_trees=5, random_state=seed), **parts}
    return clone(example.policy).set_params(**chosen).fit(example.X, example.Y)


def test_model_history_and_problem_apart() -> None:
    """What changes in a policy changes its own fingerprint and no other."""
    base = Source.of(small()).fingerprints()
    assert Source.of(small()).fingerprints() == base

    def changed(policy: wh.Policy) -> set[str]:
        found = Source.of(policy).fingerprints()
        return {name for name in base if found[name] != base[name]}

    assert changed(small(seed=1)) == {"model"}
    assert changed(small(problem=wh.Newsvendor(1, 2))) == {"problem"}
    assert changed(small(n=31)) == {"model", "history"}
    fitted = small()
    fitted.Y_ = fitted.Y_.copy()
    fitted.Y_[0, 0] += 1
    assert Source.of(fitted).fingerprints(afresh=True)["history"] != base["history"]
    knn = [Source.of(small(weights=wh.KNNWeights(k=k))).fingerprints()["model"] for k in (3, 3, 4)]
    assert knn[0] == knn[1] != knn[2]


def test_pickled_explanations_travel_light() -> None:
    """An explanation that is pickled takes its fingerprints along, not the forest and not the history."""
    policy, example = small(), bakery.load(n=30)
    why = policy.explain(example.today, example.alternative)
    back = pickle.loads(pickle.dumps(why))
    assert back.source is None
    assert back.to_dict() == why.to_dict()
    assert len(pickle.dumps(why)) < 20_000
    assert _with_source(why, None).source is None


CHILD = """
from tests.explain.test_source import small
from whence.explain.recheck import Source
print(sorted(Source.of(small()).fingerprints().items()))
"""


def test_another_process_says_the_same() -> None:
    """With another hash seed, in another process, fingerprints are the same."""
    here = str(sorted(Source.of(small()).fingerprints().items()))
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": other, "PYTHONPATH": os.pathsep.join([".", *sys.path])}
    ran = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, env=environment, check=True)
    assert ran.stdout.strip() == here
