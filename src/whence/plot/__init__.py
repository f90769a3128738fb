"""Charts of explanations on matplotlib.

Every function draws `why`, an :class:`~whence.Explanation`, on the Axes `ax`, or on those of a new figure where it is
left out, and returns them; `front`, `menu` and `contributions` draw what `Policy.front`, `menu` and `compare` give.
Matplotlib is loaded at the first chart; it comes with ``pip install whence[plot]``.
"""

from whence.plot.change_chart import changes
from whence.plot.costs import costs, outcomes
from whence.plot.overview import overview
from whence.plot.plan_chart import plans, routes
from whence.plot.plane import plane
from whence.plot.result_charts import contributions, front, menu
from whence.plot.weights import weights

__all__ = [
    "changes",
    "contributions",
    "costs",
    "front",
    "menu",
    "outcomes",
    "overview",
    "plane",
    "plans",
    "routes",
    "weights",
]
