"""Rewrites that keep a tensor as it is, bit by bit: a value goes there and comes back.

Each is exact for every value of its dtypes, NaN and -0.0 among them, so that no rounding explains
a difference.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from tvm import relax, te, tirx

from ...dtypes import dtype_of
from ...inspect import op_name, static

Emit = Callable[[relax.Expr], relax.Var]
"""Binds an expression to a new variable."""


@dataclass(frozen=True, slots=True)
class Site:
    """A tensor that is bound, and the means to write something behind its binding."""

    value: relax.Expr
    """What is bound, where the rewrite binds it itself; see `Rewrite.whole`."""
    ty: relax.TensorType
    dataflow: bool
    emit: Emit
    add_function: Callable[[str, object], relax.Expr]
    """Puts a private function into the module; returns its GlobalVar."""

    @property
    def dims(self) -> list[tirx.Expr]:
        """The shape, which may be symbolic."""
        return list(self.ty.shape.values)

    @property
    def dtype(self) -> str:
        """TVM's name of the element type."""
        return str(self.ty.dtype)

    @property
    def axis(self) -> int | None:
        """The last axis of which the size is known and 2 or more."""
        sizes = [int(d.value) if isinstance(d, tirx.IntImm) else 0 for d in self.dims]
        return max((axis for axis, size in enumerate(sizes) if size >= 2), default=None)

    @property
    def static(self) -> bool:
        """No dimension is symbolic."""
        return all(isinstance(dim, tirx.IntImm) for dim in self.dims)


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One rewrite of a binding `var = value`."""

    name: str
    applies: Callable[[Site], bool]
    rewrite: Callable[[Site, relax.Expr], relax.Expr]
    """From the site and a variable that has the value, an expression that equals it."""
    whole: bool = False
    """It is given `site.value` itself, not a variable that is bound to it."""


def _not_empty(site: Site) -> bool:
    """No dimension is 0, which `reshape` takes for that of its operand."""
    return all(not isinstance(dim, tirx.IntImm) or int(dim.value) for dim in site.dims)


def _has_axis(site: Site) -> bool:
    return site.axis is not None


def _is_call(site: Site) -> bool:
    """An operator on variables and constants; what it is given besides means the same elsewhere."""
    name = op_name(site.value)
    return name is not None and computes(name)


def computes(op: str) -> bool:
    """A pure operator on tensors, none of the runtime's, nor one that calls a function."""
    return op.startswith("relax.") and not op.startswith(_OF_THE_RUNTIME)


_OF_THE_RUNTIME = (
    "relax.call_", "relax.invoke_", "relax.builtin.", "relax.memory.", "relax.vm.",
    "relax.make_closure", "relax.print", "relax.assert_op", "relax.null_value", "relax.grad.",
    "relax.hint_on_device", "relax.to_vdevice", "relax.wrap_param", "relax.ccl.", "relax.dist.",
)  # fmt: skip


def _constant(value: object, dtype: str) -> relax.Expr:
    return relax.const(np.asarray(value, dtype_of(dtype)), dtype)


def _neutral(site: Site, x: relax.Expr) -> relax.Expr:
    if site.dtype == "bool":
        return relax.op.logical_or(x, _constant(False, "bool"))
    if site.dtype.startswith(("float", "bfloat")):
        return relax.op.multiply(x, _constant(1, site.dtype))
    return relax.op.add(x, _constant(0, site.dtype))


def _reshaped(site: Site, x: relax.Expr) -> relax.Expr:
    count = functools.reduce(operator.mul, site.dims, tirx.IntImm("int64", 1))
    flat = site.emit(relax.op.reshape(x, relax.ShapeExpr([count])))
    return relax.op.reshape(flat, relax.ShapeExpr(site.dims))


def _transposed(site: Site, x: relax.Expr) -> relax.Expr:
    """Rotated by one axis, and back: with more than two axes this is not its own inverse."""
    axes = list(range(len(site.dims)))
    there = site.emit(relax.op.permute_dims(x, [*axes[1:], 0]))
    return relax.op.permute_dims(there, [axes[-1], *axes[:-1]])


def _split(site: Site, x: relax.Expr) -> relax.Expr:
    axis = site.axis
    assert axis is not None
    parts = site.emit(relax.op.split(x, [1], axis))
    return relax.op.concat([site.emit(relax.TupleGetItem(parts, i)) for i in range(2)], axis)


def _sliced(site: Site, x: relax.Expr) -> relax.Expr:
    axis = site.axis
    assert axis is not None
    ends = ((0, 1), (1, int(site.dims[axis].value)))
    parts = [site.emit(relax.op.strided_slice(x, [axis], [a], [b])) for a, b in ends]
    return relax.op.concat(parts, axis)


def _expanded(site: Site, x: relax.Expr) -> relax.Expr:
    axis = len(site.dims) // 2
    return relax.op.squeeze(site.emit(relax.op.expand_dims(x, axis)), axis)


def _flipped(site: Site, x: relax.Expr) -> relax.Expr:
    axis = len(site.dims) - 1
    return relax.op.flip(site.emit(relax.op.flip(x, axis)), axis)


WIDER: Mapping[str, str] = {
    "bool": "int32",
    "uint8": "int32",
    "int8": "int16",
    "int16": "int64",
    "int32": "int64",
    "float16": "float32",
    "bfloat16": "float32",
    "float32": "float64",
}
"""For each dtype one that holds all of its values."""


def _widened(site: Site, x: relax.Expr) -> relax.Expr:
    return relax.op.astype(site.emit(relax.op.astype(x, WIDER[site.dtype])), site.dtype)


def _chosen(site: Site, x: relax.Expr) -> relax.Expr:
    return relax.op.where(_constant(True, "bool"), x, _constant(0, site.dtype))


def _extended(site: Site, x: relax.Expr) -> relax.Expr:
    empty = relax.op.zeros(relax.ShapeExpr([tirx.IntImm("int64", 0), *site.dims[1:]]), site.dtype)
    return relax.op.concat([x, site.emit(empty)], 0)


def _taken(site: Site, x: relax.Expr) -> relax.Expr:
    axis = site.axis
    assert axis is not None
    return relax.op.take(x, _constant(np.arange(int(site.dims[axis].value)), "int64"), axis)


def _packed(site: Site, x: relax.Expr) -> relax.Expr:
    return relax.TupleGetItem(site.emit(relax.Tuple([x, x])), 1)


def _branched(site: Site, value: relax.Expr) -> relax.Expr:
    def branch() -> relax.SeqExpr:
        var = relax.Var("branch", site.ty)
        return relax.SeqExpr([relax.BindingBlock([relax.VarBinding(var, value)])], var)

    return relax.If(_constant(True, "bool"), branch(), branch())


def _outlined(site: Site, value: relax.Expr) -> relax.Expr:
    params: dict[relax.Var, relax.Var] = {}

    def operand(expr: relax.Expr) -> relax.Expr:
        if isinstance(expr, relax.Tuple):
            return relax.Tuple([operand(field) for field in expr.fields])
        if isinstance(expr, relax.Var):
            return params.setdefault(expr, relax.Var(f"p{len(params)}", expr.ty))
        return expr

    call = relax.Call(value.op, [operand(arg) for arg in value.args], value.attrs, value.ty_args)
    result = relax.Var("result", site.ty)
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(result, call)])], result)
    outlined = relax.Function(list(params.values()), body, site.ty)
    return relax.Call(site.add_function("outlined", outlined), list(params))


def _can_be_outlined(site: Site) -> bool:
    """No symbolic variables, whose meaning a function does not take along."""
    if not _is_call(site) or not site.static:
        return False
    return not relax.analysis.free_symbolic_vars(
        relax.Function([], relax.SeqExpr([], site.value), site.ty)
    ) and all(_closed(arg) for arg in site.value.args)


def _closed(expr: relax.Expr) -> bool:
    if isinstance(expr, relax.Tuple):
        return all(map(_closed, expr.fields))
    if not isinstance(expr, relax.Var):
        return True
    return isinstance(expr.ty, relax.TensorType) and static(expr.ty)


def _copied(site: Site, x: relax.Expr) -> relax.Expr:
    # Dimensions of 64 bits, as those of operators: FuseTIR takes no others beside them.
    shape = [tirx.IntImm("int64", int(dim.value)) for dim in site.dims]
    source = te.placeholder(shape, site.dtype, "source")
    copy = te.compute(shape, lambda *index: source(*index), "copy")
    func = te.create_prim_func([source, copy]).without_attr("global_symbol")
    return relax.op.call_tir(site.add_function("copy", func), [x], site.ty)


REWRITES: tuple[Rewrite, ...] = (
    Rewrite("a neutral element", lambda site: True, _neutral),
    Rewrite("reshape there and back", _not_empty, _reshaped),
    Rewrite("permute_dims there and back", lambda site: len(site.dims) >= 2, _transposed),
    Rewrite("split, then concat", _has_axis, _split),
    Rewrite("slices, then concat", _has_axis, _sliced),
    Rewrite("expand_dims, then squeeze", lambda site: True, _expanded),
    Rewrite("flip twice", lambda site: bool(site.dims), _flipped),
    Rewrite("a wider dtype and back", lambda site: site.dtype in WIDER, _widened),
    Rewrite("where the condition is true", lambda site: True, _chosen),
    Rewrite("concat with nothing", lambda site: bool(site.dims), _extended),
    Rewrite("take all in order", _has_axis, _taken),
    Rewrite("a tuple packed and unpacked", lambda site: True, _packed),
    Rewrite(
        "a true branch",
        lambda site: not site.dataflow and _is_call(site),
        _branched,
        whole=True,
    ),
    Rewrite("a private function", _can_be_outlined, _outlined, whole=True),
    Rewrite("a copying PrimFunc", lambda site: site.static and bool(site.dims), _copied),
)

assert len({rewrite.name for rewrite in REWRITES}) == len(REWRITES), "two rewrites of one name"
