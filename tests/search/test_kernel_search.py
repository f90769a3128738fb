"""Explanations of kernel weights against a fine grid of contexts, by weights that are written out here once more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.asking import searching
from tests.cases import OneOf
from tests.timing import at_most

from whence.errors import InputError, WhenceError
from whence.policy import Policy
from whence.risk import CVaR
from whence.weights import KernelWeights


def _policy(kernel: str = "gaussian", scaled: bool = True, width: float = 0.2, n: int = 200, d: int = 3) -> Policy:
    rng = np.random.default_rng(1)
    X = rng.random((n, d)) * np.array([1.0, 50.0, 1e-3, 9.0])[:d]
    Z = X / np.array([1.0, 50.0, 1e-3, 9.0])[:d]
    Y = np.column_stack([Z[:, 0] + 0.1 * rng.normal(size=n), Z[:, 1] + 0.1 * rng.normal(size=n)])
    return Policy(OneOf(), KernelWeights(width, kernel, scaled=scaled), None, None).fit(X, Y)


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "biweight", "tricube"])
def test_policies_are_explained_and_verified(kernel: str) -> None:
    """From a policy: proved up to the gap, said so in words, and found the same when it is verified."""
    policy = _policy(kernel)
    for kind in ("relative", "absolute"):
        why = policy.explain([0.1, 45.0, 5e-4], 1, kind=kind, time_limit=20)
        assert why.status == "optimal"
        assert 0.0 <= why.distance - why.bound <= 0.01 * why.distance + 1e-9
        assert why.cost_after.alternative <= why.cost_after.decision + why.tolerance
        assert "Near enough for the gap that was allowed" in why.report.text
        assert why.verify(policy, prove=True)


def test_own_units_are_those_of_the_columns() -> None:
    """Unscaled, the column with the largest numbers decides who is near."""
    policy = _policy(scaled=False, width=5.0)
    why = policy.explain([0.1, 45.0, 5e-4], 1, time_limit=20)
    assert why.status == "optimal"
    assert why.changes["feature"].tolist() == ["x1"]


def test_the_answer_does_not_depend_on_the_clock() -> None:
    """Long and short slices of the search lead to the same boxes, the same bound and the same context."""
    policy = _policy(n=500, d=4, width=0.1)
    answers = set()
    for seconds in (0.0, 0.001, 10.0):
        with searching(slice_seconds=seconds):
            why = policy.explain(policy.X_.iloc[1], 1 - policy.decide(policy.X_.iloc[1]), node_limit=3000)
        answers.add((why.status, why.nodes, why.bound, why.distance, tuple(why.context)))
    assert len(answers) == 1, answers


def test_a_time_limit_holds() -> None:
    """However hard the question, the search ends in time, with a bound."""
    policy = _policy(n=1500, d=4, width=0.05)
    with at_most(1.5):
        why = policy.explain(policy.X_.iloc[0], 1 - policy.decide(policy.X_.iloc[0]), time_limit=0.3)
    assert why.bound <= why.distance


def test_far_from_the_history_a_compact_kernel_has_no_weights() -> None:
    """A context beyond the reach of a kernel is refused, and a Gaussian one still has weights there."""
    with pytest.raises(InputError, match="must lie near enough to the history"):
        _policy("tricube").decide([9.0, 500.0, 0.0])
    assert _policy().weights_at([9.0, 500.0, 0.0]).sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"confidence": 1.0}, "'confidence' needs weights made of trees or of neighbours"),
        ({"plausible": 0.1}, "'plausible' needs weights made of trees"),
        ({"engine": "milp"}, r"'weights' must be TreeWeights, .* for engine='milp'. Got KernelWeights"),
    ],
)
def test_what_no_bound_is_made_for_is_refused(how: dict[str, Any], words: str) -> None:
    """In one sentence, before any search, also where the answer would need none."""
    policy = _policy()
    for plan in (1, policy.decide([0.1, 45.0, 5e-4])):
        with pytest.raises(WhenceError, match=words):
            policy.explain([0.1, 45.0, 5e-4], plan, **how)


def test_a_tail_few_changes_and_relations() -> None:
    """From a policy under CVaR: what is asked for is kept, and verified."""
    policy = _policy().set_params(risk=CVaR(0.6))
    policy.fit(policy.X_, policy.Y_)
    asked = {"few": {"max_changes": 1}, "related": {"relations": ["x1 >= 40 * x0"]}}
    for name, how in asked.items():
        why = policy.explain([0.1, 45.0, 5e-4], 1, time_limit=30, **how)
        assert why.status == "optimal", name
        assert why.verify(policy, prove=True)
        assert len(why.changes) == 1 or name == "related"
        assert why.context["x1"] >= 40 * why.context["x0"] - 1e-6 or name == "few"
