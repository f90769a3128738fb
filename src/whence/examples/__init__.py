"""Built-in examples on generated data: a bakery's order and a delivery route across a small city."""

from whence.examples import bakery, city
from whence.examples.example import Example

__all__ = ["Example", "bakery", "city"]
