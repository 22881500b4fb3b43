"""The faulty passes by which `relaxfuzz doctor` tests an environment.

Both are found and minimized in seconds. One needs isolation, the other the evaluator.
"""

from __future__ import annotations

import ctypes

import tvm
from tvm import relax
from tvm.relax.dpl import is_op, rewrite_call, wildcard

from ...oracles.inspect import calls_of


def dereferences_null(mod: tvm.IRModule) -> tvm.IRModule:
    """Dies of a segmentation fault where a module has an addition."""
    if calls_of(mod, "relax.add"):
        ctypes.string_at(0)
    return mod


x, y = wildcard(), wildcard()


@relax.transform.function_pass(opt_level=0)
def subtracts(func, mod, context):  # type: ignore[no-untyped-def]  # as TVM calls it
    """Subtracts where a function adds."""
    return rewrite_call(
        is_op("relax.add")(x, y),
        lambda call, matched: relax.op.subtract(matched[x], matched[y]),
        func,
    )
