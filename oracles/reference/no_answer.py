"""Where a reference pass does not say what is right."""

from __future__ import annotations

import tvm_ffi


class NoAnswer(ValueError):
    """The reference gives no result, and says why: nothing follows for the pass under test.

    It is raised where the pass may refuse, and where no document tells which result is right.
    """


# So that it leaves a pass as what it is. No decorator: a reproducer that runs in this process would
# bring a class of the same name, and register that one instead.
tvm_ffi.register_error(NoAnswer)
