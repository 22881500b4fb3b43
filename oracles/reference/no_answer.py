"""Where a reference pass does not say what is right."""

from __future__ import annotations


class NoAnswer(ValueError):
    """The reference gives no result, and says why: nothing follows for the pass under test.

    It is raised where the pass may refuse, and where no document tells which result is right.
    """
