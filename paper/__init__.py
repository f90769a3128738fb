"""The experiments of Forel, Parmentier and Vidal (ICML 2023), made again with whence beside the published numbers.

Run from the root of the repository, as in ``python -m paper reproduce tab:fullDist --runs 20``. None of this is part of
the package that users install.
"""

from paper.histories import PROBLEMS, History
from paper.instances import Instance, Study, instance, study

__all__ = ["PROBLEMS", "History", "Instance", "Study", "instance", "study"]
