"""Two routes and the network that they run through; the geometry is that of the problem."""

from whence.problems.route_map import Point, RouteMap, positions

__all__ = ["Point", "RouteMap", "positions"]
