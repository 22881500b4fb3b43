"""What an evaluator says instead of a value."""

from __future__ import annotations


class Unsupported(Exception):
    """Something that the evaluator does not know; it never guesses."""


class TooLarge(Unsupported):
    """More work than the budget allows; smaller sizes may do."""


class Mismatch(Exception):
    """A match_cast or a parameter type that the values do not meet."""


class Undefined(Exception):
    """The program does what has no meaning, and compiled code would hide it.

    An access outside a buffer, a read of what nobody wrote or of storage that is given up, two
    parallel iterations that write one element.
    """


class Unloadable(Exception):
    """TVM saves the module but does not load it, so no other form of it can be made.

    The oracle "json" tells of that; whatever else needs another form has nothing to say.
    """
