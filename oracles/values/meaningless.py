"""Modules with undefined behaviour: what they compute is up to chance."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import tirx

from ..errors import Mismatch, Undefined, Unsupported
from ..evaluate import Evaluator
from ..inspect import public_functions
from ..tensorir import SMALL, sanitize, translate
from .inputs import Kind, drawn


def meaningless(mod: tvm.IRModule) -> bool:
    """A public function, or a PrimFunc that it calls, is `Undefined` or faulty for usual arguments.

    False, too, where the evaluator does not know.
    """
    for gvar, func in public_functions(mod):
        try:
            Evaluator(mod, prim=_sanitized).run(str(gvar.name_hint), drawn(func, Kind.WHOLE))
        except Undefined:
            return True
        except (Unsupported, Mismatch):
            continue
    return False


def _sanitized(func: tirx.PrimFunc, args: list[Any], outputs: list[int]) -> Any:
    fault = sanitize(func, args, SMALL, outputs)
    if fault is not None:
        raise Undefined(fault.statement)
    return translate(func)(*args)
