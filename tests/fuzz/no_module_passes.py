"""Passes of users that return no module, or one that lacks a function."""

from __future__ import annotations

import tvm
from tvm import relax, tirx


@relax.transform.function_pass(opt_level=0)
def forgets_function(func, mod, context):  # type: ignore[no-untyped-def]  # as users write it
    func.with_attr("seen", 1)


@relax.transform.dataflowblock_pass(opt_level=0)
def forgets_block(block, mod, context):  # type: ignore[no-untyped-def]
    relax.DataflowBlock(block.bindings)


@tirx.transform.prim_func_pass(opt_level=0)
def forgets_kernel(func, mod, context):  # type: ignore[no-untyped-def]
    func.with_attr("seen", 1)


@tvm.transform.module_pass(opt_level=0)
def forgets_module(mod, context):  # type: ignore[no-untyped-def]
    mod.with_attr("seen", 1)


@tvm.transform.module_pass(opt_level=0)
def gives_a_function(mod, context):  # type: ignore[no-untyped-def]
    return mod["main"]
