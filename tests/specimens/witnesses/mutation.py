"""Modules that passes change, or share parts of with their results, and others that they do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from tvm import relax

from relaxfuzz.generators.stages import Stage

from ..witness import Witness

op = relax.op
Body = Callable[..., relax.Expr]

X = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]], "float32")
F23 = relax.TensorType((2, 3), "float32")


def function(body: Body, *types: Any) -> tvm.IRModule:
    """A module with the function main, in one dataflow block, whose body emits."""
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", ty) for i, ty in enumerate(types)]
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(body(builder, *params))
        builder.emit_func_output(result)
    return builder.get()


def negated(of_constant: bool) -> tvm.IRModule:
    def body(builder: relax.BlockBuilder, x: relax.Var) -> relax.Expr:
        return op.add(builder.emit(op.negative(relax.const(X) if of_constant else x)), x)

    return function(body, F23)


def reshapes(shared: bool) -> tvm.IRModule:
    """Two operands get one shape, by one node or by two; only one of them has it already."""
    shape = relax.ShapeExpr([2, 3])

    def body(builder: relax.BlockBuilder, x: relax.Var, y: relax.Var) -> relax.Expr:
        reshape = op.reshape(x, shape).op
        a = builder.emit(relax.Call(reshape, [x, shape]))
        other = shape if shared else relax.ShapeExpr([2, 3])
        b = builder.emit(relax.Call(reshape, [y, other]))
        return op.add(a, b)

    return function(body, F23, relax.TensorType((6,), "float32"))


def aliased(alias: bool) -> tvm.IRModule:
    """The operand of exp is also in a tuple, a field of which is used later."""

    def body(builder: relax.BlockBuilder, x: relax.Var) -> relax.Expr:
        a = builder.emit(op.add(x, x))
        kept = builder.emit(relax.Tuple([a, x])) if alias else None
        b = builder.emit(op.exp(a))
        c = x if kept is None else builder.emit(relax.TupleGetItem(kept, 0))
        return op.add(b, c)

    return function(body, F23)


LEGALIZED, ANNOTATED = Stage.LEGALIZED, Stage.ANNOTATED

WITNESSES = (
    Witness("folds_into_its_operand", "mutation", negated(True)),
    Witness("folds_into_its_operand", None, negated(False), (X,)),
    Witness("drops_reshapes_by_shape_node", "crash", reshapes(True)),
    Witness("drops_reshapes_by_shape_node", None, reshapes(False), (X, X.reshape(6))),
    Witness("reuses_buffers_of_operands", "values", aliased(True), (X,), ANNOTATED),
    Witness("reuses_buffers_of_operands", None, aliased(False), (X,), ANNOTATED),
)
