"""The pipeline: history to weights, weights to a plan, and back again to the context."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib

from whence.checks import Rule
from whence.deciding import Decider, tell_outside
from whence.errors import InputError, UnknownCategoryError
from whence.explain.ask import LEAST_GAIN, OPTIONS, Judge, Request
from whence.explain.explanation import Explanation
from whence.explain.pipeline import explain
from whence.features import Observed
from whence.question import Progress
from whence.util.aliases import Kind
from whence.util.files import complete, read_file

if TYPE_CHECKING:
    from whence.batch import Explanations
    from whence.questions.comparison import Comparison
    from whence.questions.implied import Implied
    from whence.questions.menu import Front, Menu
    from whence.questions.prices import Prices
    from whence.questions.reasons import Reasons
    from whence.questions.rules import Rules


class Policy(Decider):
    """A data-driven policy: learns from history which plan is best in a context, and explains it.

    Parameters
    ----------
    problem : DecisionProblem
        What is decided and what it costs.
    weights : Weights, optional
        How a context weighs past observations: `ForestWeights` (the default), `KNNWeights`, or weights of your own.
    risk : Risk, optional
        What is minimised: `Expectation` (the default), `CVaR`, or a risk of your own.
    schema : Schema, optional
        The features of a context; whatever it leaves out is inferred from the training data.
    unknown : {"error", "ignore"}
        What `decide`, `predict`, `score` and `weights_at` do with a category that the training data does not hold:
        refuse it, or treat it as none of the known ones (all its 0/1 columns are 0, as with scikit-learn's
        ``OneHotEncoder(handle_unknown="ignore")``). No explanation starts from such a context.

    Attributes
    ----------
    schema_ : Schema
        The features with their training ranges.
    weights_ : Weights
        The fitted weights.
    X_, Y_ : DataFrame, ndarray
        The history.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((60, 2))
    >>> Y = 10 + 20 * X[:, :1] + rng.random((60, 1))
    >>> policy = wh.Policy(wh.Newsvendor(holding=1, backorder=3), wh.KNNWeights(k=5)).fit(X, Y)
    >>> plan = policy.decide([0.2, 0.5])
    >>> why = policy.explain([0.2, 0.5], instead=plan + 5)
    >>> why.status
    'optimal'
    """

    def explain(
        self,
        context: Any,
        instead: Any = None,
        *,
        kind: Kind = "relative",
        within: float | tuple[float, str] = 0.0,
        margin: float | tuple[float, str] | None = None,
        confidence: float = 0.0,
        holds: float | None = None,
        refits: Judge | None = None,
        least_gain: float = LEAST_GAIN,
        world: Any = None,
        own_worlds: bool = False,
        plausible: float | None = None,
        max_changes: int | None = None,
        decision: Any = None,
        known: Any = None,
        fixed: Collection[str] = (),
        bounds: Mapping[str, Any] | None = None,
        fill: Collection[str] = (),
        relations: Sequence[str | Observed] = (),
        engine: str = "auto",
        time_limit: float | None = None,
        node_limit: int | None = None,
        memory_limit: int | None = None,
        tolerance: float = 1e-6,
        separation: float = 1e-6,
        threads: int | None = None,
        on_progress: Callable[[Progress], Any] | None = None,
        on_nearest: Callable[[Explanation], Any] | None = None,
        rule: bool = False,
        **engine_options: Any,
    ) -> Explanation:
        """Return the nearest context in which `instead`, a plan or a set of plans, would have been better, or optimal.

        Without `instead`: the nearest context in which the decision is more than `margin` (by default 1 %) above the
        best plan, whichever that is.

        Parameters
        ----------
        context : Series, mapping, one-row table or 1-D array
            The context of the decision. A warning tells of numbers that lie outside the history.
        instead : plan or set of plans, optional
            The alternative that the planner has in mind; or a set of plans of the problem, such as
            ``problem.through("Ring Road")`` or ``problem.at_least("croissants", 80)``, at least one of
            which must be better. The explanation's `alternative` is then the plan of the set that takes over.
        kind : {"relative", "absolute"}
            Whether `instead` must cost no more than the decision, or be optimal.
        within : float or (float, "cost")
            For ``kind="absolute"``: by which share of the best plan's cost `instead` may cost more and still count as
            good enough; 0.02 asks for the nearest context in which it is within 2 % of the best. Or an amount, such as
            ``(10, "cost")``.
        margin : float or (float, "cost"), optional
            By how much `instead` must cost less than the decision: a share of the decision's cost, such as 0.05, or an
            amount, such as ``(10, "cost")``. Without `instead`: how far above the best plan's cost the decision may be
            and still stand. Where a cost is negative, a share, here and in `within`, is one of the mean absolute cost
            of the decision over the history: an amount that is the same in every context, and that the answer names.
        confidence : float
            By how many standard errors, over the trees of a forest or over the nearest neighbours, `instead` must be
            better; for neighbours under expected cost only.
        holds : float, optional
            What share of such answers must be true in the world, such as 0.9. How many standard errors that takes is
            learnt once for the policy and the kind of question, in simulated worlds whose truth is known, and kept with
            it; the answer is the nearest one by as many (see `Explanation.reliance` and `Explanation.reliable`).
        refits : {"worlds", "seed", "bootstrap"}, optional
            What `holds` is a share of: true answers in simulated worlds (default), or refits of the weights with other
            random numbers, or on data drawn anew. For refits a ladder of confidence is climbed until the explanation
            holds in ten of them; ten others judge it.
        least_gain : float
            By which share of the decision's cost `instead` must be cheaper in the context found for the answer to be
            called reliable.
        world : estimator, optional
            A model of the outcomes, with ``fit`` and ``predict``, that simulated worlds may be made with. The
            predictors that predict unseen rows best are joined; see "How far can I rely on it?" in the documentation.
        own_worlds : bool
            With `holds`: ask this very question in simulated worlds of its own as well, as far as `time_limit` allows;
            `Explanation.reliance.own` tells how many of the answers are true there.
        plausible : float, optional
            The context must be at least as usual as this share of the history, such as 0.1: judged by an isolation
            forest, or for neighbours by the distance of the k-th one.
        max_changes : int, optional
            How many features may change at most; a category counts as one.
        decision : plan, optional
            The plan to be explained where it is not what the policy decides.
        known : context, table or list of contexts, optional
            Contexts in which `instead` is known to be good enough, such as the one whose plan it was: the nearest of
            those in which that is so is an answer from the start, and the search looks for nearer ones. Others are
            ignored; a warning tells where nothing was found beside them.
        fixed : collection of str
            Features that must stay as they are.
        bounds : mapping, optional
            Feature name to (low, high), or to the categories allowed.
        fill : collection of str
            Features that an explanation may fill in where they are missing, which counts 1 like another category;
            otherwise what is missing stays so.
        relations : list of str or observed
            What must hold between features besides the schema's relations (see `Schema`), such as
            ``"dew_point <= temperature"``.
        engine : {"auto", "search", "milp"}
            The native search (auto), or the integer program of the paper.
        time_limit, node_limit : float, int, optional
            When to stop with the best found so far and a bound.
        memory_limit : int, optional
            Bytes that the search may take before it stops in the same way; half of the machine's memory, at most 4 GB,
            where left out.
        tolerance : float
            Costs count as equal within this share of the alternative's largest sample cost.
        separation : float
            Neighbours only: least gap between the k-th and the next distance.
        threads : int, optional
            Threads for one question, by default one (with ``engine="milp"`` what the solver takes). The proved distance
            does not depend on it. An absolute question about a forest goes on in one thread once it asks for the best
            plan in every box.
        on_progress : callable, optional
            Called with a `Progress` (nodes, distance, bound, seconds); returning False stops the search.
        on_nearest : callable, optional
            With `holds`: called with the nearest explanation as soon as it is found, before the search for one that
            holds in refits.
        rule : bool
            Whether to find the rule as well (see `Explanation.region`), so that reports and documents tell it;
            weights without trees have none.
        **engine_options
            For ``engine="milp"``: solver, method, mip_gap, log, confirm, w_max, valid_inequality,
            plausibility.

        Returns
        -------
        Explanation
        """
        given = {name: value for name, value in locals().items() if name in OPTIONS}
        self.check_start(context)
        request = Request(context, instead, **given, options=engine_options)
        why = explain(self, request)
        tell_outside(self.schema_, why.initial)
        if known is not None and why.context is None and why.status != "none":
            told = "Nothing was found in time, and 'instead' does in none of the contexts given as 'known'."
            warnings.warn(told, UserWarning, stacklevel=2)
        return why

    def explain_many(
        self,
        contexts: Any,
        instead: Any = None,
        n_jobs: int | None = None,
        *,
        decision: Any = None,
        plan_per_row: bool | None = None,
        batch_size: int | None = None,
        on_progress: Callable[[int, int], Any] | None = None,
        resume: Explanations | None = None,
        **options: Any,
    ) -> Explanations:
        """Return one explanation for each of many contexts, on any number of workers, in the order of the contexts.

        A row that cannot be explained does not stop the others: its entry is the error. The result does not depend
        on the number of workers (unless a `time_limit` does; a `node_limit` is the same everywhere).

        Parameters
        ----------
        contexts : DataFrame, 2-D array or list of contexts
            One context per row.
        instead : plan, set of plans, or one plan per row, optional
            Left out: any other plan, as in :meth:`explain`, which tells how stable each decision is. The alternative
            for all contexts, or a list, 2-D array or DataFrame with one alternative per row. What the
            problem accepts as a plan is taken as one plan; a DataFrame is always one plan per row.
        n_jobs : int, optional
            Worker processes, -1 for all cores; by default one, or what ``joblib.parallel_config`` says. Under
            ``joblib.parallel_config(backend="dask")`` the rows go to the cluster.
        decision : plan, or one plan per row, optional
            The plans to be explained where they are not what the policy decides.
        plan_per_row : bool, optional
            Whether `instead` and `decision` hold one plan per row, where that cannot be found out.
        batch_size : int, optional
            Rows that travel to a worker together; by default chosen from the number of rows and workers.
        on_progress : callable, optional
            Called with the number of rows done and of all rows. What it raises ends the batch.
        resume : Explanations, optional
            What an earlier call about the same contexts returned. Its explanations are kept, and only the rows that
            have an error are asked again: those that were left when a cluster was lost, or whose worker died.
        **options
            As in :meth:`explain`, for all rows: kind, within, fixed, bounds, engine, time_limit, node_limit,
            memory_limit, tolerance, separation, and the options of the engine. Limits are for each row.

        Returns
        -------
        Explanations
            A sequence of explanations and errors with a ``frame`` of all of them.

        Examples
        --------
        >>> import numpy as np, whence as wh
        >>> X = np.linspace(0, 1, 50)[:, None]
        >>> policy = wh.Policy(wh.Newsvendor(holding=1, backorder=3), wh.KNNWeights(k=5)).fit(X, 10 + 20 * X)
        >>> whys = policy.explain_many(X[:3], instead=[20.0])
        >>> whys.frame["status"].tolist()
        ['optimal', 'optimal', 'optimal']
        """
        from whence.batch import Batch, explain_many

        self._history()
        return explain_many(
            self, Batch(contexts, instead, decision, plan_per_row, n_jobs, batch_size, on_progress, resume, options)
        )

    # ---- other questions -------------------------------------------------------------------------

    def front(self, context: Any, instead: Any = None, **options: Any) -> Front:
        """Return the nearest explanation with at most one change, with at most two, and so on, each proved.

        Parameters
        ----------
        context, instead : context, plan or set of plans
            As in :meth:`explain`.
        **options
            As in :meth:`explain`: kind, within, margin, confidence, plausible, decision, fixed, bounds, engine, threads
            and others; `time_limit` is for all answers together.

        Returns
        -------
        Front
            A sequence of explanations, fewest changes first; the last one is the nearest of all.
        """
        from whence.questions.menu import front

        found = front(self, context, instead, options)
        tell_outside(self.schema_, self.schema_.row(context))
        return found

    def menu(self, context: Any, instead: Any = None, up_to: int = 3, *, apart: float = 0.0, **options: Any) -> Menu:
        """Return the nearest explanation for every smallest set of features that suffices, nearest first.

        Parameters
        ----------
        context, instead : context, plan or set of plans
            As in :meth:`explain`.
        up_to : int
            The largest number of features in a set.
        apart : float
            The least distance between any two answers: one that is nearer to an answer listed before it is left out and
            counted.
        **options
            As in :meth:`front`.

        Returns
        -------
        Menu
            A sequence of explanations.
        """
        from whence.questions.menu import menu

        found = menu(self, context, instead, up_to, apart, options)
        tell_outside(self.schema_, self.schema_.row(context))
        return found

    def reasons(self, context: Any, instead: Any = None, **options: Any) -> Reasons:
        """Return a smallest set of the facts of a context under which `instead` is never better, or never best.

        Parameters
        ----------
        context, instead : context, plan or set of plans
            As in :meth:`explain`.
        **options
            As in :meth:`front`.

        Returns
        -------
        Reasons
        """
        from whence.questions.reasons import reasons

        found = reasons(self, context, instead, options)
        tell_outside(self.schema_, self.schema_.row(context))
        return found

    def compare(
        self,
        before: Any,
        after: Any,
        *,
        tolerance: float = 1e-6,
        time_limit: float | None = None,
        on_progress: Callable[[Progress], Any] | None = None,
    ) -> Comparison:
        """Compare two contexts: the plans decided in them, and what turned the one into the other.

        Parameters
        ----------
        before, after : context
            Two contexts, such as yesterday's and today's.
        tolerance : float
            Costs count as equal within this share of the largest sample cost of the plan after.
        time_limit : float, optional
            Seconds after which to stop with what is known.
        on_progress : callable, optional
            Called with a `Progress` while combinations are looked at; returning False stops with what is known.

        Returns
        -------
        Comparison
        """
        from whence.questions.comparison import compare

        self._history()
        return compare(self, before, after, tolerance, time_limit, on_progress)

    def prices(
        self,
        context: Any,
        instead: Any,
        *,
        kind: Kind = "absolute",
        fixed: Collection[str] = (),
        bounds: Mapping[str, Any] | None = None,
        weights: Mapping[str, float] | None = None,
        common: bool = True,
        time_limit: float | None = None,
    ) -> Prices:
        """Return the nearest prices at which `instead` would be the best plan in the context as it is, proved.

        Nearest is the least sum of relative changes, such as 0.5 for one price that rises by half. Prices are looked
        for between a hundredth and a hundred times today's.

        Parameters
        ----------
        context, instead : context, plan
            As in :meth:`explain`. The plan may break limits that are parameters, such as a budget.
        kind : {"absolute", "relative"}
            Whether `instead` must be the best plan at the other prices, or cost no more than today's decision.
        fixed : collection of str
            Parameters that stay, or kinds of them: "holding", "backorder" and "budget" of a newsvendor,
            "production_cost", "spot_cost" and "shipping_cost" of a shipment, the names of edges or streets, "cost" and
            "limit" of a linear problem, or what a problem of your own declares.
        bounds : mapping, optional
            Parameter, or kind of parameter, to (low, high).
        weights : mapping, optional
            Parameter, or kind, to what its relative change counts; 1 where left out.
        common : bool
            Whether prices of a kind change by one factor for all products, and edges of a named street together.
        time_limit : float, optional
            Seconds after which to stop with the best found so far and a bound.

        Returns
        -------
        Prices

        Examples
        --------
        >>> import numpy as np, whence as wh
        >>> X = np.random.default_rng(0).random((80, 3))
        >>> policy = wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(20)).fit(X, 10 + 20 * X[:, :1])
        >>> policy.prices([0.5, 0.5, 0.5], instead=[21.0], fixed=["holding"]).status
        'optimal'
        """
        self.check_start(context)
        from whence.questions.prices import ask_prices

        found = ask_prices(
            self,
            context,
            instead,
            kind=kind,
            fixed=fixed,
            bounds=bounds,
            weights=weights,
            common=common,
            time_limit=time_limit,
        )
        tell_outside(self.schema_, self.schema_.row(context))
        return found

    def implied(
        self,
        contexts: Any,
        plans: Any,
        *,
        fixed: Collection[str] = (),
        bounds: Mapping[str, Any] | None = None,
        common: bool = True,
        time_limit: float | None = None,
    ) -> Implied:
        """Return the prices that explain plans of the past best: at which they cost least above the best plans.

        Parameters
        ----------
        contexts : DataFrame, 2-D array or list of contexts
            One context per row.
        plans : list of plans, 2-D array or DataFrame
            What was planned in each of them, such as by people.
        fixed, bounds, common
            As in :meth:`prices`. Plans tell no more than the ratios of prices: unless one is fixed, these are prices at
            which the plans cost in all what they cost today.
        time_limit : float, optional
            Seconds after which to stop with the best found so far.

        Returns
        -------
        Implied

        Examples
        --------
        >>> import numpy as np, whence as wh
        >>> X = np.random.default_rng(0).random((80, 3))
        >>> policy = wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(20)).fit(X, 10 + 20 * X[:, :1])
        >>> policy.implied(X[:9], policy.predict(X[:9])).regret_today
        0.0
        """
        from whence.questions.implied import ask_implied

        self._history()
        return ask_implied(self, contexts, plans, fixed=fixed, bounds=bounds, common=common, time_limit=time_limit)

    def rules(
        self,
        up_to: int = 6,
        *,
        min_share: float = 0.02,
        time_limit: float | None = 60,
        on_progress: Callable[[Progress], Any] | None = None,
    ) -> Rules:
        """Return the policy as a few rules: a small tree over contexts with one plan a leaf, and what simplicity costs.

        Parameters
        ----------
        up_to : int
            The largest number of rules.
        min_share : float
            The least share of the history that a rule is about.
        time_limit : float, optional
            Seconds for growing, for the rows not seen and for the proofs of the worst case of every rule.
        on_progress : callable, optional
            Called with a `Progress` now and then; returning False stops with what is known.

        Returns
        -------
        Rules
            A sequence of rules with a ``frame`` of all of them and the ``curve`` of extra cost by their number.

        Examples
        --------
        >>> import numpy as np, whence as wh
        >>> X = np.random.default_rng(0).random((80, 2))
        >>> policy = wh.Policy(wh.Newsvendor(1, 3), wh.ForestWeights(10)).fit(X, 10 + 20 * (X[:, :1] > 0.5))
        >>> rules = policy.rules(up_to=2, time_limit=10)
        >>> [rule.plan.tolist() for rule in rules]
        [[10.0], [30.0]]
        """
        from whence.questions.rules import ask_rules

        self._history()
        return ask_rules(self, up_to, min_share, time_limit, on_progress)

    # ---- in files --------------------------------------------------------------------------------

    def save(self, path: Any) -> None:
        """Write the fitted policy to a file, complete or not at all; :func:`whence.load` reads it again.

        The file is a pickle, and opening a pickle runs the code in it: open only files of people you trust.

        Parameters
        ----------
        path : str or path
            The file, in a folder that exists.

        Examples
        --------
        >>> import tempfile, pathlib, numpy as np, whence as wh
        >>> X = np.linspace(0, 1, 40)[:, None]
        >>> policy = wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(k=5)).fit(X, 10 + 20 * X)
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "policy.whence"
        >>> policy.save(file)
        >>> wh.load(file).decide([0.5]) == policy.decide([0.5])
        array([ True])
        """
        self._history()
        write_saved(path, self)

    def check_start(self, context: Any) -> None:
        """Refuse to explain before `fit`, or from a category that the history does not hold.

        That is so where decisions ignore such categories, too.
        """
        self._history()
        if self.unknown == "ignore":
            try:
                self.inputs_of(self.schema_.row(context))
            except UnknownCategoryError as error:
                raise UnknownCategoryError(f"No explanation starts from an unknown category. {error}") from None


def load(path: Any) -> Policy:
    """Return the policy that :meth:`Policy.save`, or ``whence fit --save``, has written to a file, by the same version.

    The file is a pickle, and opening a pickle runs the code in it: **open only files of people you trust.**

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    Policy
        Fitted.
    """
    found: Policy = read_saved(path, Policy)["policy"]
    return found


MARK = "whence policy"
#: Who writes such files.
WRITERS = "'whence fit --save' has written, or 'Policy.save'"
PATH = Rule("a path", lambda value: isinstance(value, str | PathLike) and "\0" not in str(value))


def write_saved(path: Any, policy: Any, **more: Any) -> None:
    """Write a policy, and what else is to be known of it, to `path`: complete, or not at all."""
    from whence import __version__

    target = Path(PATH.check("path", path))
    if not target.parent.is_dir() or target.is_dir():
        raise InputError(f"The policy must be saved in a folder that exists. Got {str(target)!r} instead.")
    content = {"mark": MARK, "version": __version__, **more, "policy": policy}
    try:
        with complete(target) as partial:
            joblib.dump(content, partial, compress=3)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            f"The policy must be made of what a pickle can hold, such as classes and functions of a module. {error}."
        ) from error


def read_saved(path: Any, kind: type) -> Mapping[str, Any]:
    """Return what :func:`write_saved` wrote about a policy of this `kind`; opening a file runs the code in it."""
    from whence import __version__

    source = Path(PATH.check("path", path))
    read_file(source)  # which says what is wrong with a file that cannot be read
    try:
        content: Any = joblib.load(source)
    except Exception:  # whatever a damaged or foreign pickle does, it is no policy
        content = None
    if not isinstance(content, dict) or content.get("mark") != MARK:
        raise InputError(f"{str(source)!r} is not a policy that {WRITERS}.")
    saved = content.get("version")
    if saved != __version__:
        raise InputError(f"{str(source)!r} was saved by whence {saved}, this is {__version__}: fit the policy again.")
    if not isinstance(content.get("policy"), kind):
        raise InputError(f"{str(source)!r} is not a policy that {WRITERS}.")
    return content
