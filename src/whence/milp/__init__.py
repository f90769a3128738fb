"""The paper's integer programs: a second engine that shares no code with the native search."""

from whence.milp.ceilings import w_max
from whence.milp.engine import explain

__all__ = ["explain", "w_max"]
