"""The static twin: a module whose symbolic dimensions are bound to sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm
from tvm import relax, tirx

from ....generators.rewrite.rewriter import CannotRewrite, Rewriter
from ...inspect import global_vars, public_functions, relax_functions
from ...values.inputs import ARITHMETIC, SIZES


def static_twin(mod: tvm.IRModule) -> tvm.IRModule | None:
    """The module with sizes for what the parameters of its public functions leave open.

    Private functions stay as they are, and so do public ones that are called inside the module:
    they may be called with several sizes. None where no function has a symbolic dimension that can
    be replaced.
    """
    called = {gvar.name_hint for _, func in relax_functions(mod) for gvar in global_vars(func)}
    twin = mod
    for gvar, func in public_functions(mod):
        sizes = {} if gvar.name_hint in called else _sizes(func)
        if sizes:
            twin = _BindSizes(twin, str(gvar.name_hint), sizes).run() or twin
    return None if twin.same_as(mod) else twin


def _sizes(func: relax.Function) -> dict[tirx.Var, int]:
    """A size for each variable that the parameters define; several of them get several sizes."""
    sizes: dict[tirx.Var, int] = {}
    todo = [param.ty for param in func.params]
    for ty in todo:  # grows on the way
        dims: Any = ()
        if isinstance(ty, relax.TupleType):
            todo.extend(ty.fields)
        elif isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.ShapeExpr):
            dims = ty.shape.values
        elif isinstance(ty, relax.ShapeType):
            dims = ty.values or ()
        for dim in dims:
            if isinstance(dim, tirx.Var):
                sizes.setdefault(dim, SIZES[(len(sizes) + 1) % len(SIZES)])
    return sizes


class _BindSizes(Rewriter):
    def __init__(self, mod: tvm.IRModule, function: str, sizes: Mapping[tirx.Var, int]) -> None:
        super().__init__(mod)
        self._function_name = function
        self._sizes = sizes

    def rewrites(self, name: str) -> bool:
        return name == self._function_name

    def dim(self, expr: tirx.Expr) -> tirx.Expr:
        if isinstance(expr, tirx.IntImm | tirx.FloatImm):
            return expr
        if isinstance(expr, tirx.Var):
            size = self._sizes.get(expr)
            return expr if size is None else tirx.IntImm(str(expr.ty.dtype), size)
        operation = ARITHMETIC.get(type(expr))
        if operation is None:
            raise CannotRewrite(f"a dimension that is a {type(expr).__name__}")
        a, b = self.dim(expr.a), self.dim(expr.b)
        if isinstance(a, tirx.IntImm) and isinstance(b, tirx.IntImm):
            return tirx.IntImm(str(a.ty.dtype), operation(int(a.value), int(b.value)))
        return expr if a.same_as(expr.a) and b.same_as(expr.b) else type(expr)(a, b)
