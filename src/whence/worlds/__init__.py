"""Simulated worlds, in which the truth is known: how often answers of a policy are true, and what that takes."""

from whence.worlds.calibration import WORLDS, Calibration, Kind, Worlds, node_limit
from whence.worlds.curve import Curve
from whence.worlds.world_model import WorldModel

__all__ = ["WORLDS", "Calibration", "Curve", "Kind", "WorldModel", "Worlds", "node_limit"]
