"""Charts of explanations on matplotlib.

Every function draws `why`, an :class:`~whence.Explanation`, on the Axes `ax`, or on those of a new figure where it is
left out, and returns them; `front`, `menu`, `contributions` and `rules` draw what `Policy.front`, `menu`, `compare` and
`rules` give, and `strips` a policy in one context.
Matplotlib is loaded at the first chart; it comes with ``pip install whence[plot]``.
"""

from whence.plot.plan_chart import changes, costs, outcomes, plans, routes, weights
from whence.plot.plane import plane
from whence.plot.result_charts import contributions, front, menu, overview, rules
from whence.plot.strip_chart import strips

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
    "rules",
    "strips",
    "weights",
]
