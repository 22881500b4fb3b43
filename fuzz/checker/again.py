"""The module that a pass was given, after the pass has changed it: the build is run again."""

from __future__ import annotations

from typing import Any

import tvm
from tvm.ir.instrument import pass_instrument

from ...generators.tvm_api import load_json
from .running import Running
from .state import mark


class _Enough(Exception):
    """The pass is about to run."""


@pass_instrument
class _Catcher:
    def __init__(self, ordinal: int, expected: int) -> None:
        self.text: str | None = None
        self._left = ordinal
        self._expected = expected

    def run_before_pass(self, mod: tvm.IRModule, info: Any) -> None:
        if self._left == 0:
            if mark(mod) == self._expected:
                self.text = str(tvm.ir.save_json(mod))
            raise _Enough
        self._left -= 1


def given(running: Running) -> str | None:
    """The text of what the pass was given; None where it does not come again.

    The outermost pass is run once more on a copy of what it was given, up to this place.
    """
    outermost = running.outermost
    start, pass_ = outermost.state, outermost.made
    if running is outermost or pass_ is None or not (start.noted or start.intact):
        return None
    now = tvm.transform.PassContext.current()
    catcher = _Catcher(running.ordinal, running.state.mark)
    context = tvm.transform.PassContext(
        opt_level=now.opt_level,
        required_pass=list(now.required_pass),
        disabled_pass=list(now.disabled_pass),
        config=outermost.config,
        instruments=[catcher],
    )
    try:
        with context:
            pass_(load_json(start.written()))
    except Exception:  # `_Enough`, by the name that TVM gives it; or it does not come so far
        pass
    return catcher.text
