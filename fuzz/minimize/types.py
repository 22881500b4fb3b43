"""Reductions over types: their unknown parts, their dtypes, their devices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import PrimType

from ...compat import ir
from ...compat.structural import structural_map
from ...generators.ops import table
from ...generators.rewrite.nodes import rebuilt
from ...generators.rewrite.rewriter import CannotRewrite, Rewriter
from ...oracles.grades.rare import USUAL_DTYPES
from ...oracles.inspect import calls_of, nodes, op_name, relax_functions
from .kernels import buffer_types
from .reduction import Edit, runs

PLAIN = "float32"
"""The dtype of a tensor if it does not matter."""

ORDER = (PLAIN, "int64", "int32", "bool")
"""Dtypes from plain to special; all others come after these, rare ones last."""


INDICES = ("int64", "int32", "bool")
"""Dtypes of numbers in PrimFuncs that are not elements of tensors."""


def drop_devices(mod: tvm.IRModule) -> Iterator[Edit]:
    """Drop virtual devices from types, and unused ones from the module.

    Types then name fewer devices, or the module lists fewer. A named device stays listed, because
    operators and passes look it up there.
    """
    named = _distinct(t.vdevice for t in _tensors(mod) if t.vdevice is not None)
    if named:
        yield _WithoutDevices(mod, None).run
        for device in named if len(named) > 1 else ():
            yield _WithoutDevices(mod, device).run
    if mod.global_infos:
        used = _distinct(nodes(mod, ir.VDevice))
        if not used:
            yield partial(_listing, mod, {})
        for kind, infos in mod.global_infos.items():
            for run in runs([i for i, info in enumerate(infos) if not _among(info, used)]):
                rest = [info for i, info in enumerate(infos) if i not in run]
                yield partial(_listing, mod, {**dict(mod.global_infos), kind: rest})


def known_types(mod: tvm.IRModule) -> Iterator[Edit]:
    """Complete tensors of unknown shape or dtype, and shapes of unknown rank: all, then shapes,
    dtypes, functions, parameters, and the declared results of calls.

    Fewer types are then incomplete. The first shape has axes of different sizes. The second one
    equals its own transpose, which an operand added to it may require.
    """
    params = {
        str(gvar.name_hint): [hash(param) for param in func.params if _has_open(param.ty)]
        for gvar, func in relax_functions(mod)
    }
    every = [param for some in params.values() for param in some]
    calls = [hash(call) for call in calls_of(mod) if any(map(_has_open, call.ty_args))]
    for sizes in ((2, 3, 2, 2, 2, 2), (2,) * 6):
        owners = [every, *(params.values() if len(params) > 1 else ())]
        owners += [[one] for one in (*(every if len(every) > 1 else ()), *calls)]
        for chosen in owners:
            if chosen:
                yield _Complete(mod, chosen, sizes, True).run
        if every:
            yield _Complete(mod, every, sizes, False).run
    if every:
        yield _Complete(mod, every, None, True).run


def plain_dtypes(mod: tvm.IRModule) -> Iterator[Edit]:
    """Replace one dtype of tensors by a plainer one, everywhere at once.

    The dtype moves towards the beginning of `ORDER`; other dtypes stay.
    """
    found = {str(t.dtype.dtype) for t in _tensors(mod) if t.dtype is not None}
    dtypes = sorted(found - {PLAIN}, key=lambda dtype: (-_rank(dtype), dtype))
    in_kernels = {str(t.dtype.dtype) for t in buffer_types(mod) if t.dtype is not None}
    targets = {dtype: _plainer(dtype, dtype in in_kernels) for dtype in dtypes}
    if len(dtypes) > 1:
        yield _Cast(mod, {dtype: to[0] for dtype, to in targets.items() if to}).run
    for dtype, plainer in targets.items():
        for new in plainer:
            yield _Cast(mod, {dtype: new}).run


def _plainer(dtype: str, in_kernels: bool) -> list[str]:
    usual = sorted(new for new in USUAL_DTYPES.difference(ORDER) if _kind(new) == _kind(dtype))
    plainer = [new for new in (*ORDER[:3], *usual) if _rank(new) < _rank(dtype)]
    if not in_kernels:
        return plainer
    # Their arithmetic is not inferred again, and their indices have some of these types, too.
    if dtype in INDICES:
        return []
    return [new for new in plainer if ("float" in new) == ("float" in dtype)]


def _rank(dtype: str) -> int:
    if dtype in ORDER:
        return ORDER.index(dtype)
    return len(ORDER) + (dtype not in USUAL_DTYPES)


def _kind(dtype: str) -> str:
    """The name of the dtype up to the number of bits."""
    return "".join(takewhile(str.isalpha, dtype))


class _WithoutDevices(Rewriter):
    def __init__(self, mod: tvm.IRModule, device: Any) -> None:
        super().__init__(mod)
        self._device = device

    def tensor(self, ty: relax.TensorType) -> relax.TensorType:
        goes = ty.vdevice is not None and (
            self._device is None or _among(self._device, [ty.vdevice])
        )
        return _tensor(ty, ty.shape, ty.dtype) if goes else ty

    def constant(self, const: ir.GenericConst) -> Any:
        return ir.GenericConst(ir.constant_data(const), self.type(const.ty))

    def annotation(self, owner: Any, old: Any, before: Any, now: Any) -> Any:
        # A value that is moved to a device lives there; a weaker annotation would be inferred
        # again.
        if isinstance(now, relax.TensorType) and now.vdevice is not None:
            return now
        return super().annotation(owner, old, before, now)


class _Complete(Rewriter):
    infers_all = True

    def __init__(
        self, mod: tvm.IRModule, owners: Iterable[int], sizes: Sequence[int] | None, dtypes: bool
    ) -> None:
        """
        Args:
            owners: parameters, and calls whose declared results are completed.
            sizes: sizes of the axes, first to last; None: shapes stay unknown.
        """
        super().__init__(mod)
        self._owners = frozenset(owners)
        self._sizes = sizes
        self._dtypes = dtypes

    def params(self, func: relax.Function) -> list[Any]:
        return [
            self.defined(param, self._completed(param.ty) if hash(param) in self._owners else None)
            for param in func.params
        ]

    def call(self, call: relax.Call, args: list[Any]) -> Any:
        if hash(call) in self._owners:
            types = [self._completed(ty) for ty in call.ty_args]
            call = relax.Call(call.op, call.args, call.attrs, types)
        return super().call(call, args)

    def _completed(self, ty: Any) -> Any:
        if isinstance(ty, tvm.ir.TupleType):
            return tvm.ir.TupleType([self._completed(field) for field in ty.fields])
        if isinstance(ty, relax.ShapeType) and ty.ndim < 0 and self._sizes is not None:
            return relax.ShapeType(self._sizes[:2])
        if not isinstance(ty, relax.TensorType):
            return ty
        shape, dtype = ty.shape, ty.dtype
        if self._sizes is not None and shape is None:
            shape = relax.ShapeExpr(self._sizes[: ty.ndim if ty.ndim >= 0 else 2])
        if self._dtypes and dtype is None:
            dtype = PrimType(PLAIN)
        return ty if shape is ty.shape and dtype is ty.dtype else _tensor(ty, shape, dtype)

    def annotation(self, owner: Any, old: Any, before: Any, now: Any) -> Any:
        kept = super().annotation(owner, old, before, now)
        return now if any(map(_open, nodes(kept, relax.TensorType))) else kept


class _Cast(Rewriter):
    def __init__(self, mod: tvm.IRModule, dtypes: Mapping[str, str]) -> None:
        super().__init__(mod)
        self._dtypes = dtypes

    def tensor(self, ty: relax.TensorType) -> relax.TensorType:
        new = None if ty.dtype is None else self._dtypes.get(str(ty.dtype.dtype))
        return ty if new is None else _tensor(ty, ty.shape, PrimType(new), ty.vdevice)

    def constant(self, const: ir.GenericConst) -> Any:
        ty = self.type(const.ty)
        if ty.same_as(const.ty):
            return const
        data = ir.constant_data(const).numpy().astype(str(ty.dtype.dtype))
        return ir.GenericConst(tvm.runtime.tensor(data), ty)

    def dtype(self, const: ir.GenericConst) -> Any:
        if not isinstance(ir.constant_data(const), tvm_ffi.dtype):
            return const
        new = self._of(ir.constant_data(const))
        return const if new is ir.constant_data(const) else ir.dtype_constant(new)

    def call(self, call: relax.Call, args: list[Any]) -> Any:
        for old, new in zip(call.args, args, strict=True):
            self._check(call, old.ty, new.ty)
        attrs = call.attrs and structural_map(call.attrs, (tvm_ffi.dtype, self._of))
        return super().call(relax.Call(call.op, call.args, attrs, call.ty_args), args)

    def _check(self, call: relax.Call, old: Any, new: Any) -> None:
        """Refuse dtypes that only type inference accepts, e.g. floats for bits."""
        record = table.get((op_name(call) or "").removeprefix("relax."))
        if record is None or not isinstance(new, relax.TensorType) or new.dtype is None:
            return
        dtype = str(new.dtype.dtype)
        known = isinstance(old, relax.TensorType) and old.dtype is not None
        if known and str(old.dtype.dtype) in record.dtypes and dtype not in record.dtypes:
            raise CannotRewrite(f"{record.name} of {dtype}")

    def prim_func(self, func: tirx.PrimFunc) -> tirx.PrimFunc:
        numbers = (tirx.FloatImm, tirx.IntImm)
        new = structural_map(func, [(PrimType, self._prim_type), (numbers, self._number)])
        # Built by the constructor, which derives the type.
        return func if new.same_as(func) else rebuilt(new)

    def _of(self, dtype: Any) -> Any:
        new = self._dtypes.get(str(dtype))
        return dtype if new is None else tvm_ffi.dtype(new)

    def _prim_type(self, ty: PrimType) -> PrimType:
        new = self._dtypes.get(str(ty.dtype))
        return ty if new is None or str(ty.dtype) in INDICES else PrimType(new)

    def _number(self, value: Any) -> Any:
        ty = self._prim_type(value.ty)
        if ty.same_as(value.ty):
            return value
        dtype = str(ty.dtype)
        limits = np.finfo(dtype) if "float" in dtype else np.iinfo(dtype)
        return tirx.const(min(max(value.value, limits.min), limits.max), dtype)


def _listing(mod: tvm.IRModule, infos: Mapping[str, Any]) -> tvm.IRModule:
    kept = {kind: some for kind, some in infos.items() if some}
    return tvm.IRModule(dict(mod.functions_items()), attrs=mod.attrs, global_infos=kept)


def _distinct(infos: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for info in infos:
        if not _among(info, found):
            found.append(info)
    return found


def _among(info: Any, some: Sequence[Any]) -> bool:
    # `same_as` never returns.
    return any(tvm_ffi.structural_equal(info, other) for other in some)


def _tensor(ty: relax.TensorType, shape: Any, dtype: Any, vdevice: Any = None) -> relax.TensorType:
    return relax.TensorType(shape, dtype, vdevice, ndim=-1 if shape is not None else ty.ndim)


def _has_open(ty: Any) -> bool:
    """Return whether a tensor in the type has no shape or no dtype, or a shape has no rank."""
    return any(map(_open, nodes(ty, relax.TensorType))) or any(
        shape.ndim < 0 for shape in nodes(ty, relax.ShapeType)
    )


def _open(ty: relax.TensorType) -> bool:
    return ty.shape is None or ty.dtype is None


def _tensors(mod: tvm.IRModule) -> Iterator[relax.TensorType]:
    for _, func in relax_functions(mod):
        for var in [*func.params, *relax.analysis.all_vars(func)]:
            yield from nodes(var.ty, relax.TensorType)
