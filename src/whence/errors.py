"""The errors of whence: one sentence each, naming the argument, what was expected and what came."""

from __future__ import annotations

import re
from functools import partial

from sklearn.exceptions import NotFittedError as _SklearnNotFittedError

#: The argument with which a sentence begins.
_NAMED = re.compile(r"(?:The )?'(\w+)' (?:(?:parameter|argument) (?:of [\w.]+ )?)?(?:must|needs)\b")


class WhenceError(Exception):
    """Base class of every error that whence raises on purpose.

    Parameters
    ----------
    *message : str
        One sentence.
    parameter : str, optional
        The name of the argument that the error is about, for whoever has to point at it: by default the one with which
        the sentence begins.

    Examples
    --------
    >>> InputError("'k' must be positive. Got 0 instead.").parameter
    'k'
    """

    parameter: str | None = None

    def __init__(self, *message: object, parameter: str | None = None) -> None:
        super().__init__(*message)
        if parameter is None and message:
            named = _NAMED.match(str(message[0]))
            parameter = named and named[1]
        if parameter is not None:
            self.parameter = parameter


class InputError(WhenceError, ValueError):
    """An argument has the right type but a value that cannot be used."""


class InfeasiblePlanError(InputError):
    """A plan that cannot be carried out.

    Examples
    --------
    >>> error = InfeasiblePlanError("The route is empty.")
    >>> print(error, error.reason, sep="\\n")
    The plan is not feasible: The route is empty.
    The route is empty.
    """

    @property
    def reason(self) -> str:
        """Why not, in the problem's own sentence."""
        return str(self.args[0])

    def __str__(self) -> str:
        return f"The plan is not feasible: {self.reason}"


class ServerError(WhenceError):
    """A server that cannot be reached, or that refuses for another reason than what was asked.

    Attributes
    ----------
    status : int
        Of HTTP, such as 401 without the right token and 429 where too many ask; 0 where there was no answer at all.
    """

    def __init__(self, *message: object, status: int = 0) -> None:
        super().__init__(*message)
        self.status = status


class UnknownCategoryError(InputError):
    """A category that the history has not seen."""


class InputTypeError(WhenceError, TypeError):
    """An argument is of a type that cannot be used."""


class NotFittedError(WhenceError, _SklearnNotFittedError):  # type: ignore[misc]
    """A method that needs a fitted object was called before ``fit``."""


class MissingDataError(WhenceError, FileNotFoundError):
    """Data that is not shipped with whence is not where it was looked for; the message says what is missing."""


class MissingDependencyError(WhenceError, ImportError):
    """An optional component is not installed; the message says how to install it."""


class SolverError(WhenceError, RuntimeError):
    """A solver ended without the optimum it was asked for."""


class RowError(WhenceError, RuntimeError):
    """One row of a batch failed outside of whence, such as in a problem of the user's own; the message says how."""


class UnansweredError(RowError):
    """A row of a batch that nobody has answered, because the cluster was lost; it can be asked again."""


class InternalError(WhenceError, RuntimeError):
    """A result failed its re-check: a defect of whence, never of the input."""


def parameter_error(
    owner: str, name: str, must: str, got: object, kind: type[WhenceError] = InputError, what: str = "parameter"
) -> WhenceError:
    """The error for a parameter of the class `owner` that cannot be used; it carries the parameter's name.

    A text as `got` is printed as it is, so that it may describe a large value.

    Examples
    --------
    >>> error = parameter_error("KNNWeights", "k", "be an int in [1, n)", 0)
    >>> error, error.parameter
    (InputError("The 'k' parameter of KNNWeights must be an int in [1, n). Got 0 instead."), 'k')
    """
    return kind(f"The {name!r} {what} of {owner} must {must}. Got {got} instead.", parameter=name)


#: As :func:`parameter_error`, for an argument of a method.
argument_error = partial(parameter_error, what="argument")
