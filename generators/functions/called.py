"""Functions made to be called by others: recursive ones, layers, functions of tuples."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tvm import relax

from ...compat.ops import existing, relax_op
from ..bindings.kind import finish
from ..bindings.values import applied
from ..choices import Choices
from ..module_scope import ModuleScope
from ..ops.record import Op
from ..scope import DEFAULT_DTYPE, Scope
from ..traits import Trait

LAST = -2
"""The count at which a recursion ends. Constants are from -3 to 3, so most calls recurse."""


def recursive(c: Choices, module: ModuleScope) -> list[relax.GlobalVar]:
    """Functions that count down: one that calls itself, or two that call one another."""
    dims = (c.pick((2, 3)), c.pick((3, 4)))
    types = [relax.TensorType((), "int64"), relax.TensorType(dims, DEFAULT_DTYPE)]
    gvars = [relax.GlobalVar(module.unique("loop")) for _ in range(1 + c.flag())]
    for gvar in gvars:
        relax.expr._update_type(gvar, relax.FuncType(types, types[1]))
    for gvar, following in zip(gvars, gvars[::-1], strict=True):
        module.functions[gvar] = _countdown(c, module, dims, following)
    return gvars


def _countdown(
    c: Choices, module: ModuleScope, dims: tuple[int, ...], following: relax.GlobalVar
) -> relax.Function:
    """An operator, and a call with the next lower count, until the count is `LAST`."""
    count = relax.Var("count", relax.TensorType((), "int64"))
    x = relax.Var("x", relax.TensorType(dims, DEFAULT_DTYPE))
    s = Scope(module, dims, (DEFAULT_DTYPE,))
    s.params = [count, x]
    last, one = relax.const(LAST, "int64"), relax.const(1, "int64")
    done = s.emit(relax_op.less_equal(count, last))
    with s.nested() as stop:
        stop.bind(relax_op.nn.relu(x))
        base = stop.emit(x)
        stop.close()
    with s.nested() as step:
        y = step.emit(relax_op.add(x, x))
        less = step.emit(relax_op.subtract(count, one))
        again = step.bind(relax.Call(following, [less.expr, y.expr]))
        step.close()
    result = s.emit(
        relax.If(
            done.expr,
            relax.SeqExpr(stop.blocks, base.expr),
            relax.SeqExpr(step.blocks, again),
        )
    )
    return finish(s, result.expr)


ENDING = 0.4
"""The share of layers that end with any operator."""
EMPTY = 0.25
"""The share of modules with a function that only returns one of its parameters."""


def helpers(c: Choices, module: ModuleScope, ops: Sequence[Op]) -> list[relax.GlobalVar]:
    """Two or three functions of one operator and a constant each, as layers of a model are;
    sometimes one without bindings, too.

    Most have one type, so that calls of them form chains; half of the second functions differ from
    the first by the constant alone. Some end with any operator, on the result of the first.
    """
    shape = (c.pick((2, 3)), 3)
    step = c.pick(_STEPS)
    endings = [op for op in ops if op.pure]
    made = []
    kinds: list[tuple[Choices, tuple[int, ...]]] = []
    for number in range(2 + c.below(2)):
        ending, weight_shape = c.part(10), c.pick(((3,), shape, ()))
        if number == 1 and ending.again(1).flag():
            ending, weight_shape = kinds[0]
        kinds.append((ending.again(), weight_shape))
        s = Scope(module, shape, (DEFAULT_DTYPE,))
        x = s.param(relax.TensorType(shape, DEFAULT_DTYPE))
        s.dataflow(True)
        weight = s.constant(c, weight_shape, DEFAULT_DTYPE).expr
        ends = bool(endings) and ending.flag(ENDING)
        y = s.emit((step if number < 2 else c.pick(_STEPS))(x, weight), export=not ends)
        result = y.expr
        if ends:
            last = ending.pick(endings)
            result = s.bind(applied(last, y, ending, s), export=True)
        made.append(finish(s, result))
    if c.flag(EMPTY):
        s = Scope(module, shape, (DEFAULT_DTYPE,))
        params = [s.param(relax.TensorType(shape, DEFAULT_DTYPE)) for _ in range(2)]
        made.append(finish(s, c.pick(params[::-1])))
    return [module.add("layer", func) for func in made]


_STEPS: tuple[Callable[[relax.Expr, relax.Expr], relax.Expr], ...] = existing(
    relax_op.add,
    relax_op.multiply,
    relax_op.subtract,
    relax_op.maximum,
)


def tuple_helpers(c: Choices, module: ModuleScope) -> list[relax.GlobalVar]:
    """A function that returns a tuple of two or three, and mostly another that takes this tuple."""
    if Trait.TUPLES not in module.traits:
        return []
    shape = (c.pick((2, 3)), 3)
    s = Scope(module, shape, (DEFAULT_DTYPE,))
    x = s.param(relax.TensorType(shape, DEFAULT_DTYPE))
    s.dataflow(True)
    fields = [s.emit(c.pick(_RESULTS)(x), export=True).expr for _ in range(2 + c.below(2))]
    result: relax.Expr = relax.Tuple(fields)
    if c.flag(0.15):  # a tuple inside of a tuple
        result = relax.Tuple([fields[0], relax.Tuple(fields)])
    if c.flag(0.3):
        result = s.bind(result, export=True)
    made = [finish(s, result)]
    if c.flag(0.6):
        taker = Scope(module, shape, (DEFAULT_DTYPE,))
        taken = taker.param(relax.TupleType([field.ty for field in fields]))
        first, last = (
            taker.bind(relax.TupleGetItem(taken, at)) for at in (0, c.below(len(fields)))
        )
        made.append(finish(taker, c.pick((last, taken, relax.Tuple([last, first])))))
    return [module.add("results", func) for func in made]


_RESULTS: tuple[Callable[[relax.Expr], relax.Expr], ...] = existing(
    relax_op.nn.relu,
    relax_op.negative,
    lambda x: relax_op.sum(x, [0]),
    lambda x: relax_op.multiply(x, x),
    lambda x: relax_op.max(x, [1], True),
)
