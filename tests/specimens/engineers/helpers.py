"""Code that the passes of several files share; relaxfuzz finds it, since it lies beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

Functions = dict[tvm.ir.GlobalVar, Any]


def made(name: str, transform: Callable[[tvm.IRModule], tvm.IRModule]) -> tvm.transform.Pass:
    """A module pass."""
    return tvm.transform.module_pass(lambda mod, context: transform(mod), opt_level=0, name=name)


def each_function(
    mod: tvm.IRModule, change: Callable[[relax.Function], relax.Function]
) -> tvm.IRModule:
    """Another module, with Relax functions changed."""
    functions = {
        gvar: change(func) if isinstance(func, relax.Function) else func
        for gvar, func in mod.functions_items()
    }
    return with_functions(mod, functions)


def with_functions(mod: tvm.IRModule, functions: Functions) -> tvm.IRModule:
    """Another module of these functions."""
    return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)


def updates_in_place(mod: tvm.IRModule) -> bool:
    """A tensor may change between its definition and its use."""
    found = []

    def visit(node: Any) -> None:
        if isinstance(node, relax.Call) and isinstance(node.op, tvm.ir.Op):
            found.append("inplace" in node.op.name)

    for _, func in mod.functions_items():
        if isinstance(func, relax.Function):
            relax.analysis.post_order_visit(func, visit)
    return any(found)


def same_type(a: relax.Expr, b: relax.Expr) -> bool:
    """They can stand for one another."""
    return bool(tvm_ffi.structural_equal(a.ty, b.ty))


def static_shape(expr: relax.Expr) -> list[int] | None:
    """The extents, if they are known numbers."""
    if not isinstance(expr.ty, relax.TensorType) or not isinstance(expr.ty.shape, relax.ShapeExpr):
        return None
    dims = expr.ty.shape.values
    return [int(dim) for dim in dims] if all(isinstance(d, tirx.IntImm) for d in dims) else None
