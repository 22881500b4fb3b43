"""The static twin: a module whose symbolic dimensions are bound to sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tvm
from tvm import relax, tirx

from ...errors import Unsupported
from ...inspect import global_vars, public_functions, relax_functions
from .rebuild import Rebuild

SIZES = (2, 3, 4)

OPERATIONS: Mapping[type, Callable[[int, int], int]] = {
    tirx.Add: lambda a, b: a + b,
    tirx.Sub: lambda a, b: a - b,
    tirx.Mul: lambda a, b: a * b,
    tirx.FloorDiv: lambda a, b: a // b,
    tirx.FloorMod: lambda a, b: a % b,
    tirx.Max: max,
    tirx.Min: min,
}


def static_twin(mod: tvm.IRModule) -> tvm.IRModule | None:
    """The module with sizes for what the parameters of its public functions leave open.

    Private functions stay as they are, and so do public ones that are called inside the module:
    they may be called with several sizes. None where there is nothing to bind, or something that
    cannot be built again.
    """
    called = {gvar.name_hint for _, func in relax_functions(mod) for gvar in global_vars(func)}
    twin = mod.clone()
    changed = False
    for gvar, func in public_functions(mod):
        sizes = {} if gvar.name_hint in called else _sizes(func)
        if not sizes:
            continue
        try:
            twin[gvar] = _Bind(mod, sizes).function(func)
        except Unsupported:
            continue
        changed = True
    return twin if changed else None


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


class _Bind(Rebuild):
    def __init__(self, mod: tvm.IRModule, sizes: Mapping[tirx.Var, int]) -> None:
        super().__init__(mod)
        self._sizes = sizes

    def dim(self, dim: tirx.Expr) -> tirx.Expr:
        if isinstance(dim, tirx.IntImm):
            return dim
        if isinstance(dim, tirx.Var):
            size = self._sizes.get(dim)
            return dim if size is None else tirx.IntImm(str(dim.ty.dtype), size)
        operation = OPERATIONS.get(type(dim))
        if operation is None:
            raise Unsupported(f"dimension {type(dim).__name__}")
        a, b = self.dim(dim.a), self.dim(dim.b)
        if isinstance(a, tirx.IntImm) and isinstance(b, tirx.IntImm):
            return tirx.IntImm(str(a.ty.dtype), operation(int(a.value), int(b.value)))
        return dim if a.same_as(dim.a) and b.same_as(dim.b) else type(dim)(a, b)
