"""What a binding may be: operators of the table, calls, branches, tuples, aliases, TensorIR."""

from __future__ import annotations

import functools
import operator as operators
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import PrimType

from ..compat import ir
from ..compat.ops import existing, relax_op
from . import idioms, tensorir
from .choices import Choices
from .ops.record import Op
from .scope import Dim, Scope, Value
from .traits import Trait

ARITHMETIC = ("float32", "float16", "float64", "int32", "int64")


@dataclass(frozen=True, slots=True)
class Callee:
    """A Relax function of the module that later ones may call."""

    gvar: relax.GlobalVar
    func: relax.Function
    symbolic: tuple[tirx.Var, ...]

    @classmethod
    def of(cls, gvar: relax.GlobalVar, func: relax.Function) -> Callee:
        """The function under this GlobalVar."""
        return cls(gvar, func, tuple(relax.analysis.defined_symbolic_vars(func)))


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of binding: emits one or more bindings into the scope."""

    emit: Callable[[Choices, Scope, Sequence[Op], Sequence[Callee]], None]
    trait: Trait | None = None
    """Only in modules with this trait; None: always."""
    dataflow: bool = True
    """May stand in a dataflow block."""
    weight: int = 1


Ops = Sequence[Op]
Callees = Sequence[Callee]


def operator(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """One operator of the table."""
    op = c.pick(ops)
    if not op.pure:
        s.dataflow(False)
        s.pure = False
    s.bind(op.call(c, s))


def alias(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """`y = x`, as frontends leave behind."""
    s.bind(s.tensor(c, complete=False).expr)


def make_tuple(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A tuple of tensors, sometimes with a tuple inside."""
    fields: list[relax.Expr] = [s.tensor(c, complete=False).expr for _ in range(1 + c.below(3))]
    if s.tuples and c.flag(0.3):
        fields.append(c.pick(s.tuples))
    s.bind(relax.Tuple(fields))


def get_item(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A field of a tuple in scope."""
    if not s.tuples:
        make_tuple(c, s, ops, callees)
    source = s.tuples[-1 - c.below(len(s.tuples))]
    if len(source.ty.fields):
        s.bind(relax.TupleGetItem(source, c.below(len(source.ty.fields))))


def match_cast(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A match_cast to the type at hand, to a less known one, or to fresh symbolic dims."""
    x = s.tensor(c, ndim=(2, 1, 3))
    kind = c.below(3)
    dtype = x.dtype or ""
    if kind == 0 or x.shape is None:
        ty = x.expr.ty
    elif kind == 1:
        ty = relax.TensorType(dtype=dtype, ndim=x.ndim)
    else:
        dims = [tirx.Var(s.module.unique("k"), "int64"), *x.shape[1:]]
        ty = relax.TensorType(relax.ShapeExpr(dims), dtype)
    cast = s.match_cast(x.expr, ty)
    if kind == 2 and c.flag():
        _use_of_size(c, s, cast)


def _use_of_size(c: Choices, s: Scope, cast: relax.Var) -> None:
    """Something of the size that a match_cast found out; mostly, its value is not used itself."""
    size, *rest = cast.ty.shape.values
    dtype = str(cast.ty.dtype)
    kind = c.below(4)
    # A 0 in the new shape would stand for the dim of the old one.
    if kind == 3 and not any(isinstance(dim, tirx.IntImm) and dim.value == 0 for dim in rest):
        product = functools.reduce(operators.mul, rest, size)
        s.emit(relax_op.reshape(cast, relax.ShapeExpr([product])))
        return
    s.values.pop()
    if kind == 2:
        s.emit(relax_op.full(relax.ShapeExpr([size, 2]), relax.const(1, dtype)))
    else:
        make = relax_op.ones if kind == 1 else relax_op.zeros
        s.emit(make(relax.ShapeExpr([size, *rest]), dtype))


def branch(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """An If whose branches compute different things of one type."""
    cond = s.tensor(c, dtype="bool", ndim=0, fresh_shape=())
    x = s.tensor(c, dtype=ARITHMETIC)
    s.bind(relax.If(cond.expr, *[_branch_body(c, s, x, ops, callees) for _ in range(2)]))


_SAME_TYPE: tuple[Callable[[relax.Expr], relax.Expr], ...] = existing(
    relax_op.nn.relu,
    relax_op.negative,
    relax_op.abs,
    lambda x: relax_op.add(x, x),
    lambda x: relax_op.multiply(x, x),
    lambda x: relax_op.maximum(x, x),
)
"""Operators whose result has the type of the operand."""


def _branch_body(c: Choices, s: Scope, x: Value, ops: Ops, callees: Callees) -> relax.SeqExpr:
    with s.nested() as inner:
        pure = [op for op in ops if op.pure]
        if pure and c.flag(0.3):
            inner.bind(c.pick(pure).call(c, inner))
        if callees and s.has(Trait.FUNCTION_CALLS) and c.flag(0.2):
            call_function(c, inner, ops, callees)
        y = inner.emit(c.pick(_SAME_TYPE)(x.expr))
        if c.flag(0.15) and y.complete:
            branch(c, inner, ops, ())
            y = inner.emit(c.pick(_SAME_TYPE)(y.expr))
        inner.close()
        return relax.SeqExpr(inner.blocks, y.expr)


def call_function(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A call of an earlier function of the module, sometimes a second one on top of it."""
    if not callees:
        operator(c, s, ops, callees)
        return
    for _ in range(1 + c.flag(0.3)):
        _call(c, s, callees[-1 - c.below(len(callees))])


def _call(c: Choices, s: Scope, callee: Callee, *, export: bool = False) -> relax.Var:
    if not callee.func.is_pure:
        s.dataflow(False)
        s.pure = False
    dims = {var: c.pick(s.dims) for var in callee.symbolic}
    args = [_argument(c, s, param.ty, dims) for param in callee.func.params]
    return s.bind(relax.Call(callee.gvar, args), export=export)


def results(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """One to three calls of a function that returns a tuple; each result is used in its own way."""
    giving = [each for each in callees if len(_fields(each.func.ret_ty)) > 1]
    if not giving:
        call_function(c, s, ops, callees)
        return
    callee = giving[-1 - c.below(len(giving))]
    for use, at in [(c.below(5), c.below(3)) for _ in range(1 + c.below(3))]:
        result = _call(c, s, callee, export=use == 4)
        size = len(_fields(result.ty))
        if use == 1:
            result = s.bind(relax.TupleGetItem(s.bind(relax.Tuple([result, s.tensor(c).expr])), 0))
        elif use == 2:
            _pass_on(s, result, callees)
        elif use == 3:
            for field in range(size):
                s.bind(relax.TupleGetItem(result, field))
        if use <= 1:
            s.bind(relax.TupleGetItem(result, at % size))


def _fields(ty: relax.Type) -> list[relax.Type]:
    return list(ty.fields) if isinstance(ty, relax.TupleType) else []


def _pass_on(s: Scope, result: relax.Var, callees: Callees) -> None:
    """A function that takes such a tuple gets it; without one, it has one more name."""
    for callee in reversed(callees):
        types = [param.ty for param in callee.func.params]
        if (
            callee.func.is_pure
            and not callee.symbolic
            and len(types) == 1
            and tvm_ffi.structural_equal(types[0], result.ty)
        ):
            s.bind(relax.Call(callee.gvar, [result]))
            return
    s.bind(result)


def _argument(c: Choices, s: Scope, ty: relax.Type, dims: dict[tirx.Var, Dim]) -> relax.Expr:
    if isinstance(ty, relax.TupleType):
        return relax.Tuple([_argument(c, s, field, dims) for field in ty.fields])
    if isinstance(ty, relax.ShapeType):
        if ty.values is None:
            return relax.ShapeExpr(list(s.shape(c, ty.ndim if ty.ndim >= 0 else 2)))
        return relax.ShapeExpr(_substitute(ty.values, dims))
    if isinstance(ty, PrimType):
        return relax.prim_value(tirx.const(1, str(ty.dtype)))
    s.device = ty.vdevice
    shape = _substitute(ty.shape.values, dims) if isinstance(ty.shape, relax.ShapeExpr) else None
    dtype = str(ty.dtype) if ty.dtype is not None else None
    known = shape is not None and all(isinstance(dim, int) for dim in shape)
    if known and dtype and ty.vdevice is None and s.has(Trait.CONSTANTS) and c.flag(0.2):
        return s.constant(c, [d for d in shape or () if isinstance(d, int)], dtype).expr
    x = s.tensor(c, dtype=dtype, ndim=ty.ndim if ty.ndim >= 0 else None, shape=shape)
    if ty.vdevice is not None and x.vdevice is None:
        return s.emit(relax_op.to_vdevice(x.expr, ty.vdevice)).expr
    return x.expr


def _substitute(values: Sequence[tvm.ir.Expr], dims: dict[tirx.Var, Dim]) -> list[Dim]:
    """The dims of a parameter (expressions over variables) with the variables replaced."""
    analyzer = ir.Analyzer()
    for var, dim in dims.items():
        analyzer.bind(var, tirx.const(dim, "int64") if isinstance(dim, int) else dim)
    out = [analyzer.simplify(value) for value in values]
    return [int(dim) if isinstance(dim, tirx.IntImm) else dim for dim in out]


def local_function(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A function inside the function, capturing a value or not, and a call of it."""
    x = s.tensor(c, dtype=ARITHMETIC)
    captured = s.tensor(c, dtype=x.dtype or "float32", shape=x.shape) if c.flag() else None
    param = relax.Var("z", x.expr.ty)
    with s.nested() as inner:
        y = inner.emit(c.pick(_SAME_TYPE)(param))
        if captured is not None:
            y = inner.emit(relax_op.add(y.expr, captured.expr))
        inner.close()
        body = s.module.builder.normalize(relax.SeqExpr(inner.blocks, y.expr))
    s.bind(relax.Call(s.bind(relax.Function([param], body, body.ty)), [x.expr]))


def call_tir(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A call of a TensorIR function."""
    if c.flag(0.25):
        x = s.tensor(c, dtype=ARITHMETIC, ndim=(2, 1, 3))
        y = s.tensor(c, dtype=x.dtype, shape=x.shape)
        gvar = _kernel(c, s, "tir_sum", tensorir.binary(x.shape or (), x.dtype or ""))
        s.bind(relax.call_tir(gvar, (x.expr, y.expr), x.expr.ty))
        return
    template = c.pick(tensorir.TEMPLATES)
    gvar, x, outputs = _call_template(c, s, template)
    s.bind(relax.call_tir(gvar, (x.expr,), outputs))


def _kernel(c: Choices, s: Scope, name: str, func: tirx.PrimFunc) -> relax.GlobalVar:
    """Add a PrimFunc to call, a public one sometimes where the trait is on."""
    return s.module.add(name, func, public=s.has(Trait.PUBLIC_PRIM_FUNCS) and c.flag(0.6))


def _call_template(
    c: Choices, s: Scope, template: tensorir.Template
) -> tuple[relax.GlobalVar, Value, list[relax.TensorType]]:
    x = s.tensor(c, dtype=ARITHMETIC, ndim=template.ranks, static=template.static)
    assert x.shape is not None
    func = tensorir.prim_func(template, x.shape, x.dtype or "")
    if c.flag(0.4):
        func = func.with_attr("operator_name", f"relax.{template.name}")
    gvar = _kernel(c, s, template.name, func)
    device = x.vdevice if x.vdevice is not None and c.flag(0.7) else None
    outputs = [
        relax.TensorType(s.shape_expr(c, shape), x.dtype, device)
        for shape in template.output_shapes(x.shape)
    ]
    return gvar, x, outputs


def call_tir_inplace(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """An in-place call on a value without other uses, as its documentation demands."""
    x = s.tensor(c, dtype=ARITHMETIC, ndim=(2, 1, 3), static=True)
    fresh = s.emit(relax_op.add(x.expr, x.expr))
    s.values.remove(fresh)
    if c.flag(0.4):  # read before the update
        s.emit(relax_op.multiply(fresh.expr, fresh.expr))
    shape = [d for d in x.shape or () if isinstance(d, int)]
    gvar = _kernel(c, s, "tir_inplace", tensorir.inplace(shape, x.dtype or ""))
    s.bind(relax_op.call_tir_inplace(gvar, (fresh.expr,), [0], fresh.expr.ty))


def call_tir_with_grad(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A TensorIR call that names its gradient function."""
    template = c.pick(tensorir.TEMPLATES[:2])
    gvar, x, outputs = _call_template(c, s, template)
    s.bind(relax_op.call_tir_with_grad(gvar, (x.expr,), outputs, te_grad_name="te_grad"))


def call_dps_packed(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A call of an external function that writes into its last argument."""
    x = s.tensor(c)
    s.bind(relax_op.call_dps_packed("external.copy_to", (x.expr,), x.expr.ty))


def call_packed(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A pure call of a packed function of TVM's runtime."""
    x = s.tensor(c)
    s.bind(relax_op.call_pure_packed("vm.builtin.copy", x.expr, ty_args=[_less_known(c, s, x)]))


def _less_known(c: Choices, s: Scope, x: Value) -> relax.Type:
    """The tensor's type, or what an external function may be known to return of it."""
    if s.has(Trait.INCOMPLETE_TYPES) and c.flag(0.3):
        ndim, dtype = c.pick(((x.ndim, x.dtype), (-1, x.dtype), (x.ndim, ""), (-1, "")))
        return relax.TensorType(dtype=dtype or "", ndim=ndim)
    return x.expr.ty


def impure_call(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A call with a visible effect; the function around it becomes impure."""
    x = s.tensor(c, complete=False)
    s.pure = False
    if c.flag():
        ty = _less_known(c, s, x)
        s.bind(relax.Call(relax.ExternFunc("vm.builtin.copy"), [x.expr], None, [ty]))
    else:
        s.bind(relax_op.print(x.expr, format="{}"))


def device_hint(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """`hint_on_device` or `to_vdevice`."""
    x = s.tensor(c)
    if c.flag(0.4):
        s.bind(relax_op.to_vdevice(x.expr, c.pick(s.module.vdevices)))
    else:
        s.bind(relax_op.hint_on_device(x.expr, tvm.cpu(c.below(2)), "global"))


def idiom(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A few bindings in the pattern that some pass looks for."""
    c.pick(idioms.usable())(c, s)


KINDS = (
    Kind(operator, weight=10),
    Kind(idiom, Trait.IDIOMS, weight=6),
    Kind(alias, Trait.ALIASES),
    Kind(make_tuple, Trait.TUPLES),
    Kind(get_item, Trait.TUPLES, weight=2),
    Kind(match_cast, Trait.MATCH_CAST),
    Kind(branch, Trait.IF, dataflow=False, weight=2),
    Kind(call_function, Trait.FUNCTION_CALLS, weight=3),
    Kind(results, Trait.FUNCTION_CALLS, weight=2),
    Kind(local_function, Trait.CLOSURES, dataflow=False, weight=2),
    Kind(call_tir, Trait.CALL_TIR, weight=3),
    Kind(call_tir_inplace, Trait.CALL_TIR_INPLACE, weight=2),
    Kind(call_tir_with_grad, Trait.CALL_TIR_WITH_GRAD),
    Kind(call_dps_packed, Trait.CALL_DPS_PACKED),
    Kind(call_packed, Trait.CALL_PACKED),
    Kind(impure_call, Trait.IMPURE, dataflow=False),
    Kind(device_hint, Trait.VDEVICES, weight=2),
)
"""All kinds of bindings, the simplest first."""


def kinds(s: Scope) -> list[Kind]:
    """The kinds that this module's traits allow, each as often as it weighs."""
    return [
        kind
        for kind in KINDS
        if kind.trait is None or s.has(kind.trait)
        for _ in range(kind.weight)
    ]
