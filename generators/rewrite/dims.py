"""The dimensions of a module, and the replacement of all dimensions of one size by another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import Op, PrimType

from ...compat import ir
from ...compat.structural import structural_map
from .nodes import all_same, rebuilt
from .rewriter import Rewriter

_LEAST = 2
"""Lower limit of sizes: smaller numbers in a PrimFunc mean many things besides dimensions."""


def dims(mod: tvm.IRModule) -> Iterator[Any]:
    """The dimensions in all types and shapes of Relax functions."""
    for func in mod.functions.values():
        if not isinstance(func, relax.Function):
            continue
        found: list[Any] = []
        calls: list[relax.Call] = []
        tvm_ffi.structural_walk(func, ((relax.ShapeExpr, relax.ShapeType), found.append))
        tvm_ffi.structural_walk(func, (relax.Call, calls.append))
        for var in [*func.params, *relax.analysis.all_vars(func)]:
            tvm_ffi.structural_walk(var.ty, ((relax.ShapeExpr, relax.ShapeType), found.append))
        numbers = [arg for call in calls if _allocates(call) for arg in call.args]
        for shape in found:
            if not any(shape.same_as(number) for number in numbers):
                yield from shape.values or ()


def _allocates(call: relax.Call) -> bool:
    """True if the call allocates a storage: its shape is a number of bytes, not of elements."""
    return isinstance(call.op, Op) and str(call.op.name).endswith(".alloc_storage")


def sizes_of(mod: tvm.IRModule) -> Counter[int]:
    """The static dimensions, with the number of occurrences of each size."""
    return Counter(int(dim.value) for dim in dims(mod) if isinstance(dim, tirx.IntImm))


def does_nothing(func: tirx.PrimFunc) -> bool:
    """True if the body is `T.evaluate(0)`: only the callers know the sizes of its buffers."""
    return isinstance(func.body, ir.Evaluate) and isinstance(func.body.value, tirx.IntImm)


def symbols(mod: tvm.IRModule) -> list[str]:
    """The names of the symbolic dimensions of Relax functions, in the order of their first uses."""
    names: dict[str, None] = {}
    for dim in dims(mod):
        tvm_ffi.structural_walk(dim, (tvm.ir.Var, lambda var: names.setdefault(str(var.name))))
    return list(names)


class Resized(Rewriter):
    """The module with other dimensions, everywhere at once, so that types stay consistent."""

    def __init__(
        self,
        mod: tvm.IRModule,
        *,
        sizes: Mapping[int, int] | None = None,
        symbols: Mapping[str, int] | None = None,
    ) -> None:
        """
        Args:
            sizes: new numbers, by the numbers that they replace.
            symbols: numbers for symbolic dimensions, by name.
        """
        super().__init__(mod)
        self._sizes = sizes or {}
        self._symbols = symbols or {}
        self._analyzer = ir.Analyzer()

    def dim(self, expr: Any) -> Any:
        if isinstance(expr, tirx.IntImm):
            return self._size(expr)
        if not self._symbols:
            return expr
        if isinstance(expr, tvm.ir.Var):
            return self._number(expr)
        new = structural_map(expr, (tvm.ir.Var, self._number))
        return expr if new.same_as(expr) else self._analyzer.simplify(new)

    def call(self, call: relax.Call, args: list[Any]) -> Any:
        # Numbers that are not dimensions.
        plain = [isinstance(old.ty, PrimType) or _allocates(call) for old in call.args]
        if any(plain) and not self._symbols:
            args = [
                old if keep else new for old, new, keep in zip(call.args, args, plain, strict=True)
            ]
        return super().call(call, args)

    def constant(self, const: ir.GenericConst) -> Any:
        shape = [int(dim) for dim in ir.constant_data(const).shape]
        new = [self._sizes.get(dim, dim) for dim in shape]
        if new == shape:
            return const
        data = ir.constant_data(const).numpy()
        # The first elements along each axis, padded with the last one, or with zeros.
        for axis, size in enumerate(new):
            if data.shape[axis]:
                data = np.take(data, np.minimum(np.arange(size), data.shape[axis] - 1), axis)
            else:
                data = np.zeros((*data.shape[:axis], size, *data.shape[axis + 1 :]), data.dtype)
        data = np.ascontiguousarray(data)
        ty = relax.TensorType(new, const.ty.dtype, const.ty.vdevice)
        return ir.GenericConst(tvm.runtime.tensor(data), ty)

    def prim_func(self, func: tirx.PrimFunc) -> tirx.PrimFunc:
        if does_nothing(func):
            params = [self._buffer(param) for param in func.params]
            return func if all_same(params, func.params) else rebuilt(func, params=params)
        # Numbers below 2 mean many things besides dimensions.
        if not any(size >= _LEAST for size in self._sizes):
            return func
        new = structural_map(func, (tirx.IntImm, self._size_in_prim_func))
        return rebuilt(new)  # by its constructor, which derives its type

    def _buffer(self, param: Any) -> Any:
        ty = param.ty
        if not isinstance(ty, tirx.BufferType):
            return param
        shape = [self._size(dim) if isinstance(dim, tirx.IntImm) else dim for dim in ty.shape]
        if all_same(shape, ty.shape):
            return param
        layout = None if ty.layout is None else "default"
        scope = str(ty.storage_scope)
        return tirx.decl_buffer(shape, ty.dtype.dtype, str(param.name), scope=scope, layout=layout)

    def _size(self, dim: Any) -> Any:
        new = self._sizes.get(int(dim.value))
        same = new is None or str(dim.ty.dtype) not in ("int64", "int32")
        return dim if same else tirx.IntImm(dim.ty, new)

    def _size_in_prim_func(self, dim: Any) -> Any:
        return self._size(dim) if dim.value >= _LEAST else dim

    def _number(self, var: Any) -> Any:
        size = self._symbols.get(str(var.name))
        return var if size is None else tirx.IntImm(var.ty, size)
