"""Operators in a row, each on the result of the one before: what patterns of backends look for."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tvm import relax

from .choices import Choices
from .ops.record import Op
from .scope import Scope

EARLY = 0.15
"""How often a chain ends before each operator: what only begins like a pattern matters, too."""


def chain(ops: Sequence[Op]) -> Op:
    """The last of the operators, on the results of the others.

    An operator that cannot take the result before it, because of its dtype or rank, takes others.
    """

    def build(c: Choices, s: Scope) -> relax.Expr:
        expr = ops[0].build(c, s)
        exporting = s.exporting
        for op in ops[1:]:
            if c.flag(EARLY):
                break
            s.exporting = False  # who needs what comes on the way does not match a pattern
            s.bind(expr)
            s.next_operand = s.values[-1]
            expr = op.build(c, s)
            s.next_operand = None
        s.exporting = exporting
        return expr

    return dataclasses.replace(
        ops[-1],
        name=" > ".join(op.name for op in ops),
        build=build,
        legalizes=all(op.legalizes for op in ops),
        pure=all(op.pure for op in ops),
        needs=next((op.needs for op in ops if op.needs is not None), None),
    )
