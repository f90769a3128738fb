"""The result: the nearest context in which the alternative would have been better, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from whence.aliases import Floats, Kind, Status
from whence.explain.packing import SILENT, packed, unpacked
from whence.problems.base import DecisionProblem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from whence.explain.fingerprints import Origin, Taken
    from whence.policy import Policy
    from whence.report.material import Material
    from whence.report.verifying import Verification

__all__ = ["Costs", "Explanation"]


class Costs(NamedTuple):
    """Cost (or CVaR) of the explained decision and of the alternative in one context."""

    decision: float
    alternative: float


@dataclass(frozen=True, eq=False)
class Explanation:
    """Answer to "why not my plan?".

    Attributes
    ----------
    status : {"optimal", "already", "none", "time_limit", "interrupted"}
        "optimal": the nearest context, proved. "already": the criterion holds in the initial context. "none":
        proved that there is no such context. "time_limit", "interrupted": the best found, if any, and a bound.
    kind : {"relative", "absolute"}
        Whether the alternative had to be better than the decision, or optimal.
    context : Series or None
        The nearest context, in the user's units.
    changes : DataFrame
        One row a feature that changes: feature, from, to, distance.
    distance, bound : float
        Distance found, and proved lower bound on the true optimum.
    cost_before, cost_after : Costs
        Of the decision and the alternative in the initial context and in `context`.
    weights_before, weights_after : ndarray of shape (n,)
        Which past observations speak in either context.
    costs_decision, costs_alternative : ndarray of shape (n,)
        What either plan costs under each past observation. Where the explanation is a light one (see :meth:`light`),
        only under those that have a weight in one of the two contexts, and NaN under the others.

    Examples
    --------
    >>> import whence as wh
    >>> policy = wh.Policy(wh.Newsvendor(1, 1), wh.KNNWeights(k=1)).fit([[0.0], [1.0]], [[10.0], [20.0]])
    >>> why = policy.explain([0.2], instead=[20.0])
    >>> why
    <Explanation relative optimal distance=0.300001 bound=0.300001>
    >>> again = wh.Explanation.from_json(why.to_json())
    >>> str(again) == str(why)
    True
    """

    status: Status
    kind: Kind
    initial: pd.Series
    context: pd.Series | None
    changes: pd.DataFrame
    distance: float
    bound: float
    decision: Any
    alternative: Any
    cost_before: Costs
    cost_after: Costs | None
    weights_before: Floats
    weights_after: Floats | None
    risk: str
    engine: str
    seconds: float
    nodes: int
    cuts: int = 0
    #: For absolute questions: by which share of the best plan's cost the alternative was allowed to cost more.
    within: float = 0.0
    tolerance: float = 0.0
    separation: float | None = None
    #: Readable text of either plan.
    decision_text: str = ""
    alternative_text: str = ""
    #: Units of the features that have one.
    units: dict[str, str] = field(default_factory=dict)
    #: Unit of the costs, "" where the problem names none.
    cost_unit: str = ""
    #: Kind of every feature: "continuous", "discrete", "categorical" or "binary".
    kinds: dict[str, str] = field(default_factory=dict)
    #: For continuous features that change: between these two values (in the user's units) the verdict stays the same.
    room: dict[str, tuple[float, float]] = field(default_factory=dict)
    #: Cost of either plan under each past observation.
    costs_decision: Floats | None = None
    costs_alternative: Floats | None = None
    #: What the report draws from: past contexts, the problem and the names of its outcomes (references, not copies).
    history: pd.DataFrame | None = None
    problem: DecisionProblem | None = None
    outcomes: list[str] = field(default_factory=list)
    #: Restrictions that rule out every explanation, where freeing them would help (status "none").
    blocking: list[str] = field(default_factory=list)
    #: The explanation without the user's restrictions, where the restricted question has none.
    unrestricted: Explanation | None = None
    note: str = ""
    #: What the report draws from where `history` and `problem` are not at hand.
    material: Material | None = None
    #: The question in plain values, apart from context and plans: what may be asked again.
    asked: dict[str, Any] = field(default_factory=dict)
    #: What the fingerprints of model, history and problem are taken from (references, not copies).
    origin: Origin | Taken | None = None

    @property
    def gap(self) -> float:
        """Distance minus bound: 0 where the answer is proved."""
        return 0.0 if self.distance == self.bound else self.distance - self.bound

    @property
    def found(self) -> bool:
        """Whether there is a context to show."""
        return self.context is not None

    def __str__(self) -> str:
        from whence.report.words import sentences, wrapped

        return wrapped(sentences(self))

    def __repr__(self) -> str:
        return f"<Explanation {self.kind} {self.status} distance={self.distance:.6g} bound={self.bound:.6g}>"

    def _repr_html_(self) -> str:
        from whence.report.html import fragment

        return fragment(self)

    def to_html(self, path: Any, *, title: str = "Why not my plan?", question: str = "") -> None:
        """Write a self-contained report to `path`, under `title` and after a sentence that says what was asked."""
        from whence.report.html import write

        write(self, path, title=title, question=question)

    def plot(self) -> Figure:
        """A matplotlib figure with the charts of :mod:`whence.plot`: changes, plans, costs, outcomes and observations.

        It needs matplotlib: ``pip install whence[plot]``.
        """
        from whence.plot import overview

        return overview(self)

    def light(self) -> Explanation:
        """A copy without references to the history and the problem, cheap to keep, to pickle and to send.

        It prints, plots and reports the same, and is what :meth:`from_dict` gives. The costs of observations without
        any weight in either context are left out (NaN).
        """
        from whence.report.material import material_of

        if self.material is not None and self.history is None and self.problem is None and self.origin is None:
            return self
        inner = None if self.unrestricted is None else self.unrestricted.light()
        arrays: dict[str, Any] = unpacked(packed(self))
        gone: dict[str, Any] = {"history": None, "problem": None, "origin": None}
        return replace(self, **arrays, **gone, unrestricted=inner, material=material_of(self))

    def verify(self, policy: Policy, *, prove: bool = False, time_limit: float | None = None) -> Verification:
        """Check the explanation against `policy`: weights, costs, distance and criterion are computed again.

        Parameters
        ----------
        policy : Policy
            Fitted: the one that gave the explanation, or one that should be the same.
        prove : bool
            Whether to ask the same question once more, so that status and bound are found out anew as well.
        time_limit : float, optional
            Seconds for that search.

        Returns
        -------
        Verification
            True where everything agrees; otherwise its `differences` say what does not, in a sentence each.

        Examples
        --------
        >>> import whence as wh
        >>> policy = wh.Policy(wh.Newsvendor(1, 1), wh.KNNWeights(k=1)).fit([[0.0], [1.0]], [[10.0], [20.0]])
        >>> why = wh.Explanation.from_json(policy.explain([0.2], instead=[20.0]).to_json())
        >>> why.verify(policy).agrees
        True
        >>> print(why.verify(policy.fit([[0.0], [2.0]], [[10.0], [20.0]])).differences[0])
        The history is another one than that of the explanation.
        """
        from whence.report.verifying import verify

        return verify(self, policy, prove=prove, time_limit=time_limit)

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain dicts, lists, numbers and texts: strict JSON, by the schema "whence/explanation/1".

        Infinity is the text "Infinity", a missing value None. Everything is in it that it takes to print, plot and
        report the explanation again; see :meth:`from_dict`.
        """
        from whence.report.document import to_dict

        return to_dict(self)

    def to_json(self, path: Any = None, indent: int | None = None) -> str | None:
        """:meth:`to_dict` as JSON text: returned, or written to `path` in one go."""
        from whence.report.document import to_json

        return to_json(self, path, indent)

    @classmethod
    def from_dict(cls, document: Any) -> Explanation:
        """The explanation that :meth:`to_dict` wrote, in its :meth:`light` form; an InputError where it is none."""
        from whence.report.document import from_dict

        return from_dict(document)

    @classmethod
    def from_json(cls, source: Any) -> Explanation:
        """The explanation in a JSON text or in the file of that path; an InputError where there is none."""
        from whence.report.document import from_json

        return from_json(source)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        if self.material is not None:
            state |= dict.fromkeys(SILENT) | {"packed": packed(self)}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        found = state.pop("packed", None)
        self.__dict__.update(state if found is None else state | unpacked(found))
