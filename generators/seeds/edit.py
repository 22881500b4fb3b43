"""The kinds of edits that pieces of real modules get."""

from __future__ import annotations

import enum


class Edit(enum.StrEnum):
    """One kind; a campaign leaves some out of each block, and learns which are worth more."""

    SIZE = "size"
    """A size becomes symbolic, one or zero, everywhere."""
    NEAR_OPERAND = "near operand"
    """A parameter takes a value that fits after a cast, a reshape or a broadcast."""
    CALLED = "called"
    """The piece stays a function, and is called."""
    HELD = "held"
    """Some bindings go into branches or a function."""
    INLINED = "inlined"
    """A call of a function of the piece becomes what the function does."""
    LINK = "link"
    """Something stands behind a value, such as a cast or the end of a dataflow block."""
    TWICE = "twice"
    """A value is computed twice."""
    OPERATOR = "operator"
    """Another operator of its family."""
    OPERANDS = "operands"
    """Other values of the same type as operands."""
    VARIATION = "variation"
    """Anything about a call that type inference accepts: a dtype, an attribute, what is known."""
    KERNEL = "kernel"
    """Another PrimFunc of the same type."""
