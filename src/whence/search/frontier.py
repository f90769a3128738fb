"""A frontier around another one: what it does not do in its own way, the other one does."""

from __future__ import annotations

from whence.search.driver import Frontier
from whence.util.aliases import Floats

__all__ = ["Around"]


class Around:
    """All of a :class:`whence.search.driver.Frontier` but `advance` and `propose`, as the `inner` one has it."""

    def __init__(self, inner: Frontier) -> None:
        self.inner = inner

    @property
    def nodes(self) -> int:
        """Boxes examined so far."""
        return self.inner.nodes

    @property
    def memory(self) -> int:
        """Bytes that boxes and what was learned on the way take, about."""
        return self.inner.memory

    @property
    def bound(self) -> float:
        """No context that satisfies all cuts lies nearer."""
        return self.inner.bound

    def cut(self, rival: Floats) -> None:
        """From now on the plan must cost no more than one with these sample costs."""
        self.inner.cut(rival)

    def exclude(self, point: Floats) -> None:
        """Leave out the contexts that have the same weights as `point`."""
        self.inner.exclude(point)

    def weights(self, point: Floats) -> Floats:
        """Weights of the past observations at `point`."""
        return self.inner.weights(point)

    def cell(self, point: Floats) -> tuple[Floats, Floats] | None:
        """A box around `point` in which the weights stay the same, where the engine knows one."""
        return self.inner.cell(point)
