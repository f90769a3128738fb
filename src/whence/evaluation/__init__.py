"""How good a policy is: what its decisions cost on rows that it has not seen, against simple rules and foresight."""

from whence.evaluation.evaluating import evaluate
from whence.evaluation.evaluation import Evaluation
from whence.evaluation.tuning import Tuning, tune

__all__ = ["Evaluation", "Tuning", "evaluate", "tune"]
