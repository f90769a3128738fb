"""The paper's integer programs: a second engine that shares no code with the native search."""

from whence.milp.tree_program import Plausibility
from whence.milp.weighting import w_max

__all__ = ["Plausibility", "w_max"]
