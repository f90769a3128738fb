"""The command `whence`."""

from whence.cli.root import app, main

__all__ = ["app", "main"]
