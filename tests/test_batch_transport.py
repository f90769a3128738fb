"""What travels between the caller of a batch and its workers."""

from __future__ import annotations

import cloudpickle
from tests.forests import paper_forest

import whence as wh
from whence.batch import Answered, Parcel, Shipped, _with_source
from whence.examples import bakery

EXAMPLE = bakery.load()


def test_answers_travel_without_the_policy() -> None:
    """What a worker hands back is small, speaks of the caller's policy on arrival, and can still tell its rule."""
    forest = paper_forest(n_trees=100, max_depth=4, max_features="sqrt", random_state=0)
    policy = wh.Policy(EXAMPLE.problem, forest).fit(EXAMPLE.X, EXAMPLE.Y)
    parcel = cloudpickle.loads(cloudpickle.dumps(Shipped(policy)))
    assert isinstance(parcel, Parcel)
    assert parcel.policy is not policy
    asked = {"instead": EXAMPLE.alternative, "holds": 0.9, "refits": "bootstrap"}
    why = parcel.policy.explain(EXAMPLE.today, **asked)
    answered = cloudpickle.dumps(parcel.answered([_with_source(why, None)]))
    assert len(answered) < len(cloudpickle.dumps(policy)) / 5

    received: Answered = cloudpickle.loads(answered)
    (entry,) = received.entries(policy)
    assert isinstance(entry, wh.Explanation)
    assert entry.question is not None
    assert entry.question.weights is policy.weights_
    there = _with_source(entry, why.source)
    assert isinstance(there, wh.Explanation)
    assert there.distance == why.distance
    assert str(there.region()) == str(why.region())


def test_answers_about_every_kind_of_set_travel() -> None:
    """An absolute question about a set knows the plans outside it, which come back with the answer."""
    policy = wh.Policy(EXAMPLE.problem, wh.KNNWeights(5)).fit(EXAMPLE.X, EXAMPLE.Y)
    part = EXAMPLE.problem.parts(policy.outcome_names_)[0]
    plans = EXAMPLE.problem.at_least(part, float(policy.Y_[:, 0].max()))
    parcel = cloudpickle.loads(cloudpickle.dumps(Shipped(policy)))
    why = parcel.policy.explain(EXAMPLE.today, plans, kind="absolute")
    received: Answered = cloudpickle.loads(cloudpickle.dumps(parcel.answered([_with_source(why, None)])))
    (entry,) = received.entries(policy)
    assert isinstance(entry, wh.Explanation)
    assert entry.status == why.status
