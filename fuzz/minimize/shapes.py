"""Reductions over dimensions: symbolic ones, composite ones, large and special ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import PrimType

from ...compat import ir
from ...compat.structural import structural_map
from ...generators.rewrite.nodes import references
from ...generators.rewrite.rewriter import Rewriter
from ...oracles.inspect import relax_functions
from .kernels import buffer_types, rebuilt
from .reduction import Edit

PLAIN = 2
"""What a dimension is where it does not matter: no broadcasting, nothing empty, little to print."""


def static_dims(mod: tvm.IRModule) -> Iterator[Edit]:
    """Symbolic dimensions become numbers: all of them, then each. Fewer symbols each time."""
    names = symbols(mod)
    for size in (PLAIN, PLAIN + 1):
        if len(names) > 1:
            yield _Resized(mod, symbols=dict.fromkeys(names, size)).run
    for name in names:
        for size in (PLAIN, PLAIN + 1, 1, 0):
            yield _Resized(mod, symbols={name: size}).run


def plain_dims(mod: tvm.IRModule) -> Iterator[Edit]:
    """Composite dimensions such as `n * 4 + 1` become one of their variables, or a number.

    Fewer composite dimensions each time: all of them, then each.
    """
    if any(not isinstance(dim, tirx.IntImm | tvm.ir.Var) for dim in _dims_of_kernels(mod)):
        return  # numbers in place of variables are simpler there
    composite = _composite(mod)
    for chosen in [composite, *([dim] for dim in composite)] if len(composite) > 1 else [composite]:
        if chosen:
            yield _Resized(mod, composite=[(dim, _first_var(dim)) for dim in chosen]).run
            yield _Resized(mod, composite=[(dim, _int(PLAIN)) for dim in chosen]).run


def shrink_dims(mod: tvm.IRModule) -> Iterator[Edit]:
    """Dimensions of one size become another, everywhere at once, so that types stay consistent.

    Sizes come nearer to 2, then to 3, 4 and so on; 1 and 0, which operators treat in a way of their
    own, come after all sizes that people write. `_weight` of some size falls, and of none it rises.
    """
    sizes = sorted(_sizes(mod), key=lambda size: (-_weight(size), size))
    large = [size for size in sizes if size > PLAIN]
    if len(large) > 1:
        yield _Resized(mod, sizes=dict.fromkeys(large, PLAIN)).run
        ranks = {size: PLAIN + i for i, size in enumerate(sorted(large))}
        for lift in (0, 1):  # whether or not there is a 2 already that must stay apart
            new = {size: rank + lift for size, rank in ranks.items() if size > rank + lift}
            if new:
                yield _Resized(mod, sizes=new).run
        halves = {size: size // 2 for size in large if size % 2 == 0}
        if len(halves) > 1:
            yield _Resized(mod, sizes=halves).run
    in_kernels = {int(dim.value) for dim in _dims_of_kernels(mod) if isinstance(dim, tirx.IntImm)}
    for size in sizes:
        if size < PLAIN and size in in_kernels:
            continue  # all over the loops and indices of its PrimFuncs
        for new_size in dict.fromkeys((2, 3, 4, size // 2, 1, 0)):
            if _weight(new_size) < _weight(size):
                yield _Resized(mod, sizes={size: new_size}).run


def plain_params(mod: tvm.IRModule) -> Iterator[Edit]:
    """Dimensions of one parameter become plain whatever the others are: all of them, then each.

    Fewer dimensions of parameters are others than 2.
    """
    if any(True for _ in _dims_of_kernels(mod)):
        return  # the sizes of their buffers are fixed
    called = {name for _, func in mod.functions_items() for name in references(func)}
    for gvar, func in relax_functions(mod):
        if gvar.name_hint in called:
            continue  # what is passed is known
        for place, param in enumerate(func.params):
            if isinstance(param.ty, relax.TensorType) and isinstance(
                param.ty.shape, relax.ShapeExpr
            ):
                axes = [axis for axis, dim in enumerate(param.ty.shape.values) if _is_special(dim)]
                for run in [axes, *([axis] for axis in axes)] if len(axes) > 1 else [axes]:
                    if run:
                        yield _Plain(mod, str(gvar.name_hint), place, run).run


def _is_special(dim: Any) -> bool:
    return isinstance(dim, tirx.IntImm) and dim.value != PLAIN


def _weight(size: int) -> int:
    """How far a dimension is from a plain one: 2, 3, ... 8, then 1 and 0, then the larger ones."""
    return {2: 0, 3: 1, 1: 9, 0: 10}.get(size, size if size <= 8 else size + 2)


class _Resized(Rewriter):
    def __init__(
        self,
        mod: tvm.IRModule,
        *,
        sizes: Mapping[int, int] | None = None,
        symbols: Mapping[str, int] | None = None,
        composite: Sequence[tuple[Any, Any]] = (),
    ) -> None:
        super().__init__(mod)
        self._sizes = sizes or {}
        self._symbols = symbols or {}
        self._composite = composite
        self._analyzer = ir.Analyzer()

    def dim(self, expr: Any) -> Any:
        if isinstance(expr, tirx.IntImm):
            return self._size(expr)
        for old, new in self._composite:
            if tvm_ffi.structural_equal(old, expr):
                return new
        if not self._symbols:
            return expr
        if isinstance(expr, tvm.ir.Var):
            return self._number(expr)
        new = structural_map(expr, (tvm.ir.Var, self._number))
        return expr if new.same_as(expr) else self._analyzer.simplify(new)

    def call(self, call: relax.Call, args: list[Any]) -> Any:
        # Numbers that are no dimensions.
        plain = [isinstance(old.ty, PrimType) for old in call.args]
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
        # The first elements along each axis; where there are too few, the last again, or zeros.
        for axis, size in enumerate(new):
            if data.shape[axis]:
                data = np.take(data, np.minimum(np.arange(size), data.shape[axis] - 1), axis)
            else:
                data = np.zeros((*data.shape[:axis], size, *data.shape[axis + 1 :]), data.dtype)
        data = np.ascontiguousarray(data)
        ty = relax.TensorType(new, const.ty.dtype, const.ty.vdevice)
        return ir.GenericConst(tvm.runtime.tensor(data), ty)

    def prim_func(self, func: tirx.PrimFunc) -> tirx.PrimFunc:
        # Numbers below 2 mean many things besides dimensions.
        if not any(size >= PLAIN for size in self._sizes):
            return func
        new = structural_map(func, (tirx.IntImm, self._size_in_prim_func))
        return rebuilt(new)  # by its constructor, which derives its type

    def _size(self, dim: Any) -> Any:
        new = self._sizes.get(int(dim.value))
        same = new is None or str(dim.ty.dtype) not in ("int64", "int32")
        return dim if same else tirx.IntImm(dim.ty, new)

    def _size_in_prim_func(self, dim: Any) -> Any:
        return self._size(dim) if dim.value >= PLAIN else dim

    def _number(self, var: Any) -> Any:
        size = self._symbols.get(str(var.name))
        return var if size is None else tirx.IntImm(var.ty, size)


class _Plain(Rewriter):
    def __init__(self, mod: tvm.IRModule, name: str, place: int, axes: Sequence[int]) -> None:
        super().__init__(mod)
        self._function_name = name
        self._place = place
        self._axes = axes

    def params(self, func: relax.Function) -> list[Any]:
        at = self._place if self.name == self._function_name else None
        return [
            self.defined(param, self._plain(param.ty) if place == at else None)
            for place, param in enumerate(func.params)
        ]

    def _plain(self, ty: relax.TensorType) -> relax.TensorType:
        dims = [
            _int(PLAIN) if axis in self._axes else dim for axis, dim in enumerate(ty.shape.values)
        ]
        return relax.TensorType(dims, ty.dtype, ty.vdevice)


def _int(value: int) -> Any:
    return tirx.IntImm("int64", value)


def _first_var(dim: Any) -> Any:
    found: list[Any] = []
    tvm_ffi.structural_walk(dim, (tvm.ir.Var, found.append))
    return found[0] if found else _int(PLAIN)


# What dimensions there are


def _dims(mod: tvm.IRModule) -> Iterator[Any]:
    for _, func in relax_functions(mod):
        found: list[Any] = []
        tvm_ffi.structural_walk(func, ((relax.ShapeExpr, relax.ShapeType), found.append))
        for var in [*func.params, *relax.analysis.all_vars(func)]:
            tvm_ffi.structural_walk(var.ty, ((relax.ShapeExpr, relax.ShapeType), found.append))
        for shape in found:
            yield from shape.values or ()


def symbols(mod: tvm.IRModule) -> list[str]:
    """The names of the symbolic dimensions of Relax functions, in the order of their first uses."""
    names: dict[str, None] = {}
    for dim in _dims(mod):
        tvm_ffi.structural_walk(dim, (tvm.ir.Var, lambda var: names.setdefault(str(var.name))))
    return list(names)


def _sizes(mod: tvm.IRModule) -> Counter[int]:
    return Counter(int(dim.value) for dim in _dims(mod) if isinstance(dim, tirx.IntImm))


def _dims_of_kernels(mod: tvm.IRModule) -> Iterator[Any]:
    for tensor in buffer_types(mod):
        if isinstance(tensor.shape, relax.ShapeExpr):
            yield from tensor.shape.values


def _composite(mod: tvm.IRModule) -> list[Any]:
    found: list[Any] = []
    for dim in _dims(mod):
        if not isinstance(dim, tirx.IntImm | tvm.ir.Var) and not any(
            tvm_ffi.structural_equal(dim, other) for other in found
        ):
            found.append(dim)
    return found
