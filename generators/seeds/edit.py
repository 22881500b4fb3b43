"""The kinds of edits that pieces of real modules get."""

from __future__ import annotations

import enum


class PieceEdit(enum.StrEnum):
    """One kind of edit; a campaign omits some from each block."""

    NEAR_OPERAND = "near operand"
    """A parameter takes a value that fits after a cast, a reshape or a broadcast."""
    CALLED = "called"
    """The piece stays a function, and is called."""
    INLINED = "inlined"
    """A call of a function of the piece is inlined."""
    OPERATOR = "operator"
    """Another operator of its family."""
    OPERANDS = "operands"
    """Other values of the same type as operands."""
    VARIATION = "variation"
    """Any change of a call that type inference accepts: a dtype, an attribute, a known type."""
    KERNEL = "kernel"
    """Another PrimFunc of the same type."""
