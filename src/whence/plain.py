"""The former name of :mod:`whence.plain_values`, until nothing imports it any more."""

from whence.plain_values import number_from_plain, quoted, to_plain

__all__ = ["number_from_plain", "quoted", "to_plain"]
