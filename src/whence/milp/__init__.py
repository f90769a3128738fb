"""The paper's integer programs: a second engine that shares no code with the native search."""

from whence.milp.ceilings import w_max
from whence.milp.plausibility import Plausibility

__all__ = ["Plausibility", "w_max"]
