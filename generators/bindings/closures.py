"""Functions as values: local ones, and any function in a variable, a tuple, a branch, a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import tvm_ffi
from tvm import relax

from ...compat.ops import relax_op
from ..choices import Choices
from ..scope import DEFAULT_DTYPE, Scope
from ..traits import Trait
from .calls import arguments
from .kind import ARITHMETIC, SAME_TYPE, Callees, Ops, finish


@dataclass(frozen=True, slots=True)
class FunctionValue:
    """A function as a value, and operands to call it with."""

    func: relax.Expr
    args: Sequence[relax.Expr]
    params: Sequence[relax.Type]

    @property
    def pure(self) -> bool:
        """True if the function's type is pure."""
        return bool(self.func.ty.purity)


def local_function(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A function inside the function, capturing a value or not, and a call of it."""
    target = _recursive(c, s) if c.flag(0.2) and s.has(Trait.IF) else _local(c, s)
    s.bind(relax.Call(target.func, target.args))


def _local(c: Choices, s: Scope) -> FunctionValue:
    s.dataflow(False)
    x = s.tensor(c, dtype=ARITHMETIC)
    captured = s.tensor(c, dtype=x.dtype or "float32", shape=x.shape) if c.flag() else None
    param = relax.Var("z", x.expr.ty)
    effect = s.has(Trait.IMPURE) and c.flag(0.6)
    with s.nested() as inner:
        y = inner.emit(c.pick(SAME_TYPE)(param))
        if captured is not None:
            y = inner.emit(relax_op.add(y.expr, captured.expr))
        if effect:
            inner.bind(relax_op.print(y.expr, format="{}"))
        inner.close()
        body = s.module.builder.normalize(relax.SeqExpr(inner.blocks, y.expr))
    func = relax.Function([param], body, body.ty, is_pure=not effect)
    s.pure = s.pure and not effect
    return FunctionValue(s.bind(func), [x.expr], [x.expr.ty])


def _recursive(c: Choices, s: Scope) -> FunctionValue:
    """A local function that counts down to 0 by calling itself, capturing a value or not."""
    s.dataflow(False)
    x = s.tensor(c, dtype=DEFAULT_DTYPE)
    captured = s.tensor(c, dtype=DEFAULT_DTYPE, shape=x.shape) if c.flag() else None
    types = [relax.TensorType((), "int64"), x.expr.ty]
    count, z = (relax.Var(name, ty) for name, ty in zip(("count", "z"), types, strict=True))
    loop = relax.Var(s.module.unique("loop"), relax.FuncType(types, x.expr.ty))
    with s.nested() as inner:
        done = inner.emit(relax_op.less_equal(count, relax.const(0, "int64")))
        with inner.nested() as step:
            y = step.emit(c.pick(SAME_TYPE)(z))
            if captured is not None:
                y = step.emit(relax_op.add(y.expr, captured.expr))
            less = step.emit(relax_op.subtract(count, relax.const(1, "int64")))
            again = step.bind(relax.Call(loop, [less.expr, y.expr]))
            step.close()
        branches = relax.SeqExpr([], z), relax.SeqExpr(step.blocks, again)
        result = inner.bind(relax.If(done.expr, *branches))
        inner.close()
        body = s.module.builder.normalize(relax.SeqExpr(inner.blocks, result))
    s.bind(relax.Function([count, z], body, x.expr.ty), var=loop)
    return FunctionValue(loop, [relax.const(2, "int64"), x.expr], types)


def function_value(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """A function in a variable that takes a detour, and a call of the resulting value."""
    way = c.pick(_WAYS)
    if way is _through_branch:
        if s.has(Trait.IF):
            s.dataflow(False)
        else:
            way = _in_variable
    known = [each for each in callees if not each.symbolic]
    if s.has(Trait.CLOSURES) and (not known or c.flag(0.4)):
        target = _local(c, s)
    elif known:
        callee = known[-1 - c.below(len(known))]
        if not callee.func.is_pure:
            s.dataflow(False)
            s.pure = False
        target = FunctionValue(callee.gvar, arguments(c, s, callee, {}), callee.gvar.ty.params)
    else:
        target = _new(c, s)
    s.bind(way(c, s, target))


def _new(c: Choices, s: Scope) -> FunctionValue:
    """A function of one tensor of known shape."""
    x = s.tensor(c, dtype=DEFAULT_DTYPE, ndim=(2, 1, 3), static=True)
    step = c.pick(SAME_TYPE)
    gvar = _added(s, "step", [x.expr.ty], lambda f, params: f.bind(step(params[0])))
    return FunctionValue(gvar, [x.expr], [x.expr.ty])


def _added(
    s: Scope,
    name: str,
    types: Sequence[relax.Type],
    body: Callable[[Scope, list[relax.Var]], relax.Expr],
    *,
    pure: bool = True,
) -> relax.GlobalVar:
    """A private function of these parameters, which use no symbolic variable."""
    f = Scope(s.module, s.dims, s.dtypes)
    f.pure = pure
    return s.module.add(name, finish(f, body(f, [f.param(ty) for ty in types])))


# Ways from a function to a call of it


def _in_variable(c: Choices, s: Scope, target: FunctionValue) -> relax.Call:
    return relax.Call(s.bind(target.func), target.args)


def _renamed(c: Choices, s: Scope, target: FunctionValue) -> relax.Call:
    return relax.Call(s.bind(s.bind(target.func)), target.args)


def _through_tuple(c: Choices, s: Scope, target: FunctionValue) -> relax.Call:
    """A call of a field of a tuple, which is sometimes nested."""
    func = s.bind(target.func) if c.flag() else target.func
    other = target.args[0] if target.args else s.tensor(c).expr
    inner = relax.Tuple([func, other])
    if c.flag(0.3):
        outer = s.bind(relax.Tuple([other, s.bind(inner)]))
        pair = s.bind(relax.TupleGetItem(outer, 1))
    else:
        pair = s.bind(inner)
    return relax.Call(s.bind(relax.TupleGetItem(pair, 0)), target.args)


def _through_branch(c: Choices, s: Scope, target: FunctionValue) -> relax.Call:
    """A call of one of two functions, of one type if possible, that is chosen at run time."""
    functions = s.module.functions.items()
    alike = [
        gvar
        for gvar, func in functions
        if isinstance(func, relax.Function)
        and tvm_ffi.structural_equal(gvar.ty, target.func.ty, map_free_vars=True)
    ]
    cond = s.tensor(c, dtype="bool", ndim=0, fresh_shape=()).expr
    other = c.pick([*alike, target.func])
    branches = [relax.SeqExpr([], func) for func in (target.func, other)]
    return relax.Call(s.bind(relax.If(cond, *branches)), target.args)


def _returned(c: Choices, s: Scope, target: FunctionValue) -> relax.Call:
    """A call of the result of another function: a function of the module, or a closure."""
    x = s.tensor(c, dtype=DEFAULT_DTYPE, ndim=(2, 1), static=True)
    nested = c.flag(0.4)

    def give(f: Scope, params: list[relax.Var]) -> relax.Expr:
        func = target.func
        if not isinstance(func, relax.GlobalVar):
            with f.nested() as inner:
                z = relax.Var("z", x.expr.ty)
                y = inner.emit(relax_op.add(z, params[0]))
                inner.close()
                body = s.module.builder.normalize(relax.SeqExpr(inner.blocks, y.expr))
            func = f.bind(relax.Function([z], body, body.ty))
        return relax.Tuple([params[0], relax.Tuple([func, params[0]])]) if nested else func

    giver = _added(s, "giver", [x.expr.ty], give)
    given = s.bind(relax.Call(giver, [x.expr]))
    if nested:
        given = s.bind(relax.TupleGetItem(s.bind(relax.TupleGetItem(given, 1)), 0))
    captures = not isinstance(target.func, relax.GlobalVar)
    return relax.Call(given, [x.expr] if captures else target.args)


def _handed_on(c: Choices, s: Scope, target: FunctionValue) -> relax.Call:
    """A call of a function that takes the target as its argument and calls it."""
    if any(map(relax.analysis.tir_vars_in_type, target.params)):
        return _in_variable(c, s, target)  # another function has other symbolic variables
    apply = _added(
        s,
        "apply",
        [target.func.ty, *target.params],
        lambda f, params: f.bind(relax.Call(params[0], params[1:])),
        pure=target.pure,
    )
    func = s.bind(target.func) if c.flag() else target.func
    return relax.Call(apply, [func, *target.args])


_WAYS: tuple[Callable[[Choices, Scope, FunctionValue], relax.Call], ...] = (
    _in_variable,
    _renamed,
    _through_tuple,
    _through_branch,
    _returned,
    _handed_on,
)
