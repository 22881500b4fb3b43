"""What evaluators and reference passes raise where they give no result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tvm_ffi


class NoResult(Exception):
    """The evaluator gives no result.

    Attributes:
        calls: the bound expressions that were being evaluated, the innermost first.
        operands: of the innermost call.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.calls: list[Any] = []
        self.operands: Sequence[Any] = ()


class Unsupported(NoResult):
    """The evaluator does not know a construct; it never guesses."""


class TooLarge(Unsupported):
    """More work than the budget allows; smaller sizes may do."""


class Unpromised(Unsupported):
    """Operands for which the record of an operator promises no result."""


class RefusedOperands(Unpromised):
    """Operands that the reference of an operator refuses: an axis that is not there, a class
    outside of a tensor."""


class NoValue(RefusedOperands):
    """An operator has no value for its operands; what it does to memory is promised all the same.

    The maximum of no elements is an example.
    """


class Mismatch(NoResult):
    """Values do not fit a match_cast or the type of a parameter."""


class Undefined(NoResult):
    """The program has undefined behaviour, which compiled code would hide.

    An access outside a buffer, a read of uninitialized or freed memory, two parallel iterations
    that write one element, and what `generators.ops.undefined.Behaviour` names. The message says
    what is undefined first; what may follow behind a colon is where, and on which values.

    Attributes:
        size: of the dimension that an index is outside of; None: it is something else.
    """

    def __init__(self, text: str, size: int | None = None) -> None:
        super().__init__(text)
        self.size = size


class NoAnswer(ValueError):
    """A reference pass defines no result, for the reason in the message: nothing is compared.

    It is raised where the pass may refuse, and where no document defines which result is right.
    """


# So that it leaves a pass as what it is. No decorator: a reproducer that runs in this process would
# bring a class of the same name, and register that one instead.
tvm_ffi.register_error(NoAnswer)
