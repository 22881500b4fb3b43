"""The exception of a reference pass that defines no result."""

from __future__ import annotations

import tvm_ffi


class NoAnswer(ValueError):
    """The reference defines no result, for the reason in the message: nothing is compared.

    It is raised where the pass may refuse, and where no document defines which result is right.
    """


# So that it leaves a pass as what it is. No decorator: a reproducer that runs in this process would
# bring a class of the same name, and register that one instead.
tvm_ffi.register_error(NoAnswer)
