"""Exceptions that evaluators and reference passes raise instead of giving a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tvm_ffi


class NoResult(Exception):
    """The evaluator has no result.

    Attributes:
        calls: the bound expressions that were being evaluated, the innermost first.
        operands: the operands of the innermost call.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.calls: list[Any] = []
        self.operands: Sequence[Any] = ()


class Unsupported(NoResult):
    """The evaluator does not know a construct, and never guesses."""


class TooLarge(Unsupported):
    """The work exceeds the budget; smaller sizes may fit."""


class Unpromised(Unsupported):
    """The record of an operator promises no result for these operands."""


class OtherKind(Unpromised):
    """The record of an operator does not cover this kind of operand numbers: floats, signed or
    unsigned integers, bool."""


class RefusedOperands(Unpromised):
    """The reference of an operator refuses the operands, e.g. a missing axis or a class outside a
    tensor."""


class NoValue(RefusedOperands):
    """An operator has no value for its operands; its memory accesses are promised all the same.

    The maximum of no elements is an example.
    """


class Mismatch(NoResult):
    """A value does not fit a match_cast or the type of a parameter."""


class Undefined(NoResult):
    """The program has undefined behaviour, which compiled code would hide.

    Examples are an access outside a buffer, a read of uninitialized or freed memory, two parallel
    iterations that write one element, and the kinds of `generators.ops.undefined.Behaviour`. The
    message first names the undefined behaviour; the place and the values may follow after a colon.

    Attributes:
        size: the size of the dimension that an index is outside of; None for other behaviour.
    """

    def __init__(self, text: str, size: int | None = None) -> None:
        super().__init__(text)
        self.size = size


class NoModule(TypeError):
    """A pass returns something other than a module with all its functions."""


class NoAnswer(ValueError):
    """A reference pass has no result, for the reason in the message, so nothing is compared.

    It is raised if the pass may refuse, or if no document defines the right result.
    """


# Registered, so that the exception keeps its class when it leaves a pass. Not as a decorator: a
# reproducer in this process would define a class of the same name and register that one instead.
tvm_ffi.register_error(NoAnswer)
