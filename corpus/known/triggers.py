"""Signs of known bugs: for which modules will a pass fail again in the way that is known?

A campaign leaves a pass alone on half of these modules, so that bugs behind the known one are
reached. So a trigger is fast, and errs on the side of true: it may well hold for modules on which
the bug does not show, but is false for hardly any on which it does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import tvm

Trigger = Callable[[tvm.IRModule], bool]

TRIGGERS: Mapping[str, Trigger] = {}
"""By name, as `trigger` in the file of a known says it."""
