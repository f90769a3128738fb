"""A client for the interface of ``whence serve``: decisions and answers of another machine, in whence's own types.

It needs nothing but the standard library beside whence itself.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from whence.errors import InputError, ServerError
from whence.explain.explanation import Explanation
from whence.forecasts.crossing import Crossing
from whence.question import Progress
from whence.questions.answer_documents import answer_from
from whence.questions.comparison import Comparison
from whence.questions.menu import Front, Menu
from whence.questions.prices import Prices
from whence.questions.reasons import Reasons
from whence.questions.rules import Rules
from whence.util.json import to_plain

#: What the reference shows of it.

#: Where the interface is, below the address of the page.
API = "/api/v1"
#: Seconds for which an answer is waited for at a time; the server holds it back no longer than 30.
WAIT = 20.0
#: How a job ends.
FINISHED = ("done", "cancelled", "failed")

T = TypeVar("T")
OnProgress = Callable[[Progress], Any]


@dataclass(frozen=True)
class SceneEntry:
    """One thing to ask about."""

    id: str
    title: str
    question: str


@dataclass(frozen=True)
class DecidedPlan:
    """A plan, what it costs in a context, and what to know about that."""

    plan: Any
    text: str
    cost: float
    remarks: list[str] = field(default_factory=list)


class Client:
    """Asks a server, and waits for its answers.

    Parameters
    ----------
    address : str
        Where the page is, such as ``http://127.0.0.1:8000`` or ``https://planning.example.org/whence``.
    token : str, optional
        What the server lets in.
    scene : str, optional
        What is asked about, by its id; may be left out where the server has one only.
    timeout : float
        Seconds after which a server that does not answer at all is given up.

    Examples
    --------
    >>> Client("ftp://example.org")
    Traceback (most recent call last):
    whence.errors.InputError: 'address' must begin with http:// or https://. Got 'ftp://example.org' instead.
    """

    def __init__(
        self, address: str, *, token: str | None = None, scene: str | None = None, timeout: float = 60.0
    ) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"'address' must begin with http:// or https://. Got {address!r} instead.")
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, parts.port
        self._root = parts.path.rstrip("/") + API
        self._token, self._scene, self._timeout = token, scene, timeout

    # ---- what there is ---------------------------------------------------------------------------------

    def scenes(self) -> list[SceneEntry]:
        """Return what may be asked about."""
        return [SceneEntry(one["id"], one["title"], one["question"]) for one in self._json("GET", "/scenes")]

    def scene(self) -> dict[str, Any]:
        """Return features, today's context and the shape of a plan, as the interface describes them."""
        found: dict[str, Any] = self._json("GET", self._there())
        return found

    def quality(self) -> str:
        """Return how good the decisions are on rows not seen, in a sentence or two; empty where it is not known."""
        return str(self._json("GET", f"{self._there()}/quality")["text"])

    # ---- decisions -------------------------------------------------------------------------------------

    def decide(self, context: Mapping[str, Any]) -> DecidedPlan:
        """Return what the policy decides in a context."""
        found = self._json("POST", f"{self._there()}/decide", {"context": context})
        return DecidedPlan(found["plan"], found["text"], found["cost"], found["remarks"])

    def check(self, context: Mapping[str, Any], plan: Any) -> DecidedPlan:
        """Return what a plan of one's own costs in a context; an InputError says why it cannot be carried out."""
        found = self._json("POST", f"{self._there()}/check", {"context": context, "plan": plan})
        if not found["feasible"]:
            raise InputError(str(found["reason"]), parameter="plan")
        return DecidedPlan(plan, found["text"], found["cost"])

    # ---- questions ---------------------------------------------------------------------------------------

    def explain(
        self, context: Mapping[str, Any], plan: Any = None, *, on_progress: OnProgress | None = None, **options: Any
    ) -> Explanation:
        """Return the nearest context in which `plan` would have been better, as `Policy.explain` does.

        Parameters
        ----------
        context : mapping
            One value per feature.
        plan : plan, optional
            In plain values. Without one: what would change today's plan, or a set of plans with `instead`.
        on_progress : callable, optional
            Called with a `Progress` when there is news; returning False stops the search with what was found.
        **options
            What the interface takes of the options of `Policy.explain`, such as ``kind``, ``holds`` and ``fixed``.
        """
        return self._answer("explanations", {"context": context, "plan": plan, **options}, Explanation, on_progress)

    def front(
        self, context: Mapping[str, Any], plan: Any = None, *, on_progress: OnProgress | None = None, **options: Any
    ) -> Front:
        """Return the nearest context with one change, with at most two, and so on."""
        return self._answer("fronts", {"context": context, "plan": plan, **options}, Front, on_progress)

    def menu(
        self, context: Mapping[str, Any], plan: Any = None, *, on_progress: OnProgress | None = None, **options: Any
    ) -> Menu:
        """Return the nearest context for every smallest set of features that suffices (``up_to``, ``apart``)."""
        return self._answer("menus", {"context": context, "plan": plan, **options}, Menu, on_progress)

    def reasons(
        self, context: Mapping[str, Any], plan: Any = None, *, on_progress: OnProgress | None = None, **options: Any
    ) -> Reasons:
        """Return the facts that settle that the plan is not better."""
        return self._answer("reasons", {"context": context, "plan": plan, **options}, Reasons, on_progress)

    def compare(self, before: Mapping[str, Any], after: Mapping[str, Any], **options: Any) -> Comparison:
        """Return why it is another plan in one context than in another."""
        return self._answer("comparisons", {"before": before, "after": after, **options}, Comparison, None)

    def prices(self, context: Mapping[str, Any], plan: Any, **options: Any) -> Prices:
        """Return the nearest prices at which a plan would be right (``kind``, ``fixed``, ``common``)."""
        return self._answer("prices", {"context": context, "plan": plan, **options}, Prices, None)

    def rules(self, up_to: int = 6, *, on_progress: OnProgress | None = None, **options: Any) -> Rules:
        """Return what the policy does in general."""
        return self._answer("rules", {"up_to": up_to, **options}, Rules, on_progress)

    def forecast(
        self, context: Mapping[str, Any], *, on_progress: OnProgress | None = None, **options: Any
    ) -> Crossing:
        """Return the nearest context in which a forecast crosses a value (``at_most``, ``at_least``, ``between``)."""
        return self._answer("forecasts", {"context": context, **options}, Crossing, on_progress)

    def _answer(self, question: str, asked: Mapping[str, Any], kind: type[T], on_progress: OnProgress | None) -> T:
        """Ask, wait, and return the whole answer; the search is stopped where somebody stops waiting."""
        given = {name: value for name, value in asked.items() if value is not None}
        place = "explanations" if kind is Explanation else "answers"
        job = self._json("POST", f"{self._there()}/{question}", given)
        address = f"/{place}/{quote(job['job'], safe='')}"
        try:
            while job["state"] not in FINISHED:
                told = job.get("progress")
                if told is not None and on_progress is not None and on_progress(_progress(told)) is False:
                    self._json("DELETE", address)
                    on_progress = None
                more = {"brief": "true"} if kind is Explanation else {}
                job = self._json("GET", f"{address}?{urlencode({'wait': WAIT, **more})}")
        except BaseException:
            # Nobody waits for it any more.
            self._send("POST", f"{address}/cancel")
            raise
        if job["state"] == "failed" or job.get("result") is None:
            raise ServerError(job.get("error") or "The question was stopped before anything was found.", status=200)
        document = self._json("GET", f"{address}/{'explanation' if kind is Explanation else 'answer'}.json")
        found = Crossing.from_dict(document) if kind is Crossing else answer_from(document)
        assert isinstance(found, kind)
        return found

    # ---- the line ----------------------------------------------------------------------------------------

    def _there(self) -> str:
        """Return the address of the scene that is asked about."""
        if self._scene is None:
            known = [one.id for one in self.scenes()]
            if len(known) != 1:
                raise InputError(f"'scene' must be one of {', '.join(map(repr, known))}. Got None instead.")
            self._scene = known[0]
        return f"/scenes/{quote(self._scene, safe='')}"

    def _json(self, method: str, address: str, asked: Any = None) -> Any:
        status, body = self._send(method, address, asked)
        try:
            found = json.loads(body)
        except ValueError:
            raise ServerError(f"The server answered with status {status} and no JSON.", status=status) from None
        if status < 400:
            return found
        said = str(found.get("detail") or f"The server answered with status {status}.")
        if status == 422:
            raise InputError(said)
        raise ServerError(said, status=status)

    def _send(self, method: str, address: str, asked: Any = None) -> tuple[int, bytes]:
        """Return status and body of one request, over a connection of its own, so that threads may share the client."""
        body = None if asked is None else json.dumps(to_plain(asked), allow_nan=False).encode()
        headers = {"accept": "application/json"}
        headers |= {} if body is None else {"content-type": "application/json"}
        headers |= {} if self._token is None else {"authorization": f"Bearer {self._token}"}
        kind = HTTPSConnection if self._secure else HTTPConnection
        line = kind(self._host, self._port, timeout=self._timeout)
        try:
            line.request(method, self._root + address, body, headers)
            answer = line.getresponse()
            return answer.status, answer.read()
        except (OSError, HTTPException) as error:
            where = f"{self._host}:{self._port}" if self._port else self._host
            raise ServerError(f"The server at {where} cannot be reached: {error}.", status=0) from None
        finally:
            line.close()


def _progress(told: Mapping[str, Any]) -> Progress:
    """Return how far a search has come, as searches here say it."""
    distance = math.inf if told["distance"] is None else told["distance"]
    bound = 0.0 if told["bound"] is None else told["bound"]
    return Progress(told["nodes"], distance, bound, told["seconds"], told.get("refit"), told.get("refits"))
