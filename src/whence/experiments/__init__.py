"""The experiments of Forel, Parmentier and Vidal (ICML 2023) as data: histories, contexts and questions."""

from whence.experiments.histories import PROBLEMS, History
from whence.experiments.instances import Instance, Study, instance, study

__all__ = ["PROBLEMS", "History", "Instance", "Study", "instance", "study"]
