"""Names of types that many modules share."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
#: What is asked: a context in which the alternative is better than the decision, or the best of all plans.
Kind: TypeAlias = Literal["relative", "absolute"]
#: How a search ended.
Status: TypeAlias = Literal["optimal", "already", "none", "time_limit", "interrupted"]
