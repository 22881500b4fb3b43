"""Rules that rewrite calls into equal-valued ones, as users of `tvm.relax.dpl` write them.

Each function stands by itself: its source goes into reproducers, below the statements of `IMPORTS`.
Every rule removes the matches of its pattern, so that rewriting terminates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import tvm
from tvm import relax
from tvm.relax import dpl

IMPORTS = ("import tvm", "from tvm import relax", "from tvm.relax import dpl")

Make: TypeAlias = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class RewriteRule:
    """A function that makes a rule, and the operators of modules that it applies to."""

    make: Make
    """Makes a pattern and its replacement function, a module with both, or a context."""
    chain: tuple[str, ...]
    """A chain of operators, each applied to the result of the previous one."""
    typed: bool = False
    """True if the rule is made for operands of one type: `make` takes shape and dtype."""

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.make.__name__


# A pattern, and a function that gives the replacement of a match


def doubling() -> tuple[object, object]:
    """The operand that occurs twice must be the same."""
    x = dpl.wildcard()

    def rewritten(call: relax.Expr, found: dict[relax.Expr, relax.Expr]) -> relax.Expr:
        dtype = str(found[x].ty.dtype)
        if dtype not in ("float16", "float32", "float64", "int32", "int64"):
            return call
        return relax.op.multiply(found[x], relax.const(2, dtype))

    return dpl.is_op("relax.add")(x, x), rewritten


def twice_negated() -> tuple[object, object]:
    """What is left is no call of an operator."""
    x = dpl.wildcard()
    pattern = dpl.is_op("relax.negative")(dpl.is_op("relax.negative")(x))
    return pattern, lambda call, found: found[x]


def idempotent() -> tuple[object, object]:
    """One of several patterns, each with a part of its own."""
    inner = [dpl.is_op(f"relax.{op}")(dpl.wildcard()) for op in ("abs", "ceil", "floor", "nn.relu")]
    outer = [each.op(each) for each in inner]

    def rewritten(call: relax.Expr, found: dict[relax.Expr, relax.Expr]) -> relax.Expr:
        return next(found[each] for each in inner if each in found)

    return outer[0] | outer[1] | (outer[2] | outer[3]), rewritten


def constant_subtracted() -> tuple[object, object]:
    """Operands that are constants, and operands that are none."""
    x, constant = ~dpl.is_const(), dpl.is_const()

    def rewritten(call: relax.Expr, found: dict[relax.Expr, relax.Expr]) -> relax.Expr:
        return relax.op.add(found[x], relax.op.negative(found[constant]))

    return dpl.is_op("relax.subtract")(x, constant).has_dtype("float32"), rewritten


def kept_dims() -> tuple[object, object]:
    """A call with this attribute."""
    x = dpl.wildcard()

    def rewritten(call: relax.Expr, found: dict[relax.Expr, relax.Expr]) -> relax.Expr:
        axes = call.attrs.axis
        if axes is None and found[x].ty.ndim < 1:
            return call
        if axes is None:
            axes = range(found[x].ty.ndim)
        axes = [int(axis) for axis in axes]
        return relax.op.squeeze(relax.op.sum(found[x], axes, True), axes)

    return dpl.is_op("relax.sum")(x).has_attr({"keepdims": False}), rewritten


def square_of(shape: tuple[int, ...], dtype: str) -> tuple[object, object]:
    """An operand of this shape, and a result of this dtype."""
    x = dpl.wildcard().has_shape(list(shape))
    pattern = dpl.is_op("relax.square")(x) & dpl.wildcard().has_dtype(dtype)
    return pattern, lambda call, found: relax.op.multiply(found[x], found[x])


def cube_of_typed(shape: tuple[int, ...], dtype: str) -> tuple[object, object]:
    """An operand of this type, in a call of a variable."""
    x = dpl.wildcard().has_ty(relax.TensorType(shape, dtype))
    pattern = dpl.is_op("relax.multiply")(dpl.is_op("relax.square")(x), dpl.is_var())
    return pattern, lambda call, found: call


def square_of_square() -> tuple[object, object]:
    """An operand whose type has variables: as many rows as columns."""
    n = tvm.tirx.Var("n", "int64")
    x = dpl.wildcard().has_ty(relax.TensorType([n, n], "float32"))
    pattern = dpl.is_op("relax.square")(x)
    return pattern, lambda call, found: relax.op.multiply(found[x], found[x])


def same_shape(shape: tuple[int, ...], dtype: str) -> tuple[object, object]:
    """An operand that is this shape itself."""
    x = dpl.wildcard().has_shape(list(shape)) & dpl.wildcard().has_dtype(dtype)
    pattern = dpl.is_op("relax.reshape")(x, dpl.is_shape(list(shape)))
    return pattern, lambda call, found: found[x]


def sum_of_kernels() -> tuple[object, object]:
    """Calls of functions of the module, and of others; what it finds stays as it is."""
    call = dpl.is_call_tir("") | dpl.is_call_dps_packed("") | dpl.is_call_packed("")
    return call | dpl.is_op("relax.add")(dpl.is_dfv(), dpl.is_call_tir("")), (
        lambda call, found: call
    )


def field_of_tuple() -> tuple[object, object]:
    """A field of a tuple of two."""
    x = dpl.wildcard()
    pattern = dpl.is_tuple_get_item(dpl.is_tuple([x, dpl.wildcard()]), 0)
    return pattern, lambda call, found: found[x]


def concatenated_constant() -> tuple[object, object]:
    """A constant and something else in either order; what it finds stays as it is."""
    fields = dpl.is_tuple([dpl.is_const(), dpl.wildcard()], unordered=True)
    return dpl.is_op("relax.concat")(fields), lambda call, found: call


def product_over() -> tuple[object, object]:
    """Multiplication and division in either order; what it finds stays as it is."""
    product = dpl.is_op("relax.multiply")(dpl.wildcard(), dpl.wildcard())
    return dpl.is_op("relax.divide")(product, dpl.wildcard()), lambda call, found: call


def sum_and_difference() -> tuple[object, object]:
    """Two calls of the same operands, which nothing else binds together."""
    x, y = dpl.wildcard(), dpl.wildcard().has_dtype("float32")
    pattern = dpl.is_tuple([dpl.is_op("relax.add")(x, y), dpl.is_op("relax.subtract")(x, y)])

    def rewritten(call: relax.Expr, found: dict[relax.Expr, relax.Expr]) -> relax.Expr:
        negative = relax.op.negative(found[y])
        return relax.Tuple([call.fields[0], relax.op.add(found[x], negative)])

    return pattern, rewritten


def exponentials() -> tuple[object, object]:
    """Two calls of operands of their own become one, whose result is taken apart."""
    x, y = dpl.wildcard(), dpl.wildcard()
    pattern = dpl.is_tuple([dpl.is_op("relax.exp")(x), dpl.is_op("relax.exp")(y)])

    def rewritten(call: relax.Expr, found: dict[relax.Expr, relax.Expr]) -> relax.Expr:
        types = [found[x].ty, found[y].ty]
        shapes = [
            tuple(ty.shape) if isinstance(ty.shape, relax.ShapeExpr) and ty.ndim > 0 else None
            for ty in types
        ]
        integers = all(isinstance(d, tvm.tirx.IntImm) for shape in shapes for d in shape or [None])
        if not integers or shapes[0] != shapes[1] or types[0].dtype != types[1].dtype:
            return call
        together = relax.op.exp(relax.op.concat([found[x], found[y]], 0))
        return relax.op.split(together, 2, 0)

    return pattern, rewritten


# A module with the functions `pattern` and `replacement`


def difference_module(shape: tuple[int, ...], dtype: str) -> tvm.IRModule:
    """No dataflow blocks, as in the docstring of `from_module`."""
    builder = relax.BlockBuilder()
    for name in ("pattern", "replacement"):
        x, y = (relax.Var(each, relax.TensorType(shape, dtype)) for each in "xy")
        with builder.function(name, [x, y]):
            if name == "pattern":
                result = relax.op.subtract(x, y)
            else:
                result = relax.op.add(x, builder.emit(relax.op.negative(y)))
            builder.emit_func_output(builder.emit(result))
    return builder.finalize()


def square_module(shape: tuple[int, ...], dtype: str) -> tvm.IRModule:
    """The replacement calls a function, which comes with it."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(shape, dtype))
    with builder.function("squared", [x], private=True):
        builder.emit_func_output(builder.emit(relax.op.multiply(x, x)))
    squared = builder.get().get_global_var("squared")
    for name in ("pattern", "replacement"):
        x = relax.Var("x", relax.TensorType(shape, dtype))
        with builder.function(name, [x]):
            with builder.dataflow():
                result = relax.op.square(x) if name == "pattern" else relax.Call(squared, [x])
                output = builder.emit_output(result)
            builder.emit_func_output(output)
    return builder.finalize()


def relu_module(shape: tuple[int, ...], dtype: str) -> tvm.IRModule:
    """The function that comes with it bears the name of the one that comes with another rule."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(shape, dtype))
    with builder.function("squared", [x], private=True):
        builder.emit_func_output(builder.emit(relax.op.maximum(x, relax.const(0, dtype))))
    squared = builder.get().get_global_var("squared")
    for name in ("pattern", "replacement"):
        x = relax.Var("x", relax.TensorType(shape, dtype))
        with builder.function(name, [x]):
            with builder.dataflow():
                result = relax.op.nn.relu(x) if name == "pattern" else relax.Call(squared, [x])
                output = builder.emit_output(result)
            builder.emit_func_output(output)
    return builder.finalize()


def pair_module(shape: tuple[int, ...], dtype: str) -> tvm.IRModule:
    """Two results."""
    builder = relax.BlockBuilder()
    for name in ("pattern", "replacement"):
        x, y = (relax.Var(each, relax.TensorType(shape, dtype)) for each in "xy")
        with builder.function(name, [x, y]):
            with builder.dataflow():
                first = builder.emit_output(relax.op.add(x, y))
                if name == "pattern":
                    second = relax.op.subtract(x, y)
                else:
                    second = relax.op.add(x, builder.emit(relax.op.negative(y)))
                output = builder.emit_output(second)
            builder.emit_func_output(relax.Tuple([first, output]))
    return builder.finalize()


# A context of patterns, and a function that gives new values of the matched variables


def negations() -> tuple[object, object]:
    """One call whose result only the other one uses."""
    with dpl.PatternContext() as context:
        first, second = (
            dpl.is_op("relax.negative")(dpl.wildcard(), add_constraint=False) for _ in range(2)
        )
        first >> second

    def rewritten(
        found: dict[relax.Expr, relax.Expr], bound: dict[relax.Expr, relax.Expr]
    ) -> dict[relax.Expr, relax.Expr]:
        return {found[second]: bound[found[first]].args[0]}

    return context, rewritten


def parallel_matmuls() -> tuple[object, object]:
    """Three calls of one operand, as in the docstring of `rewrite_bindings`."""
    with dpl.PatternContext() as context:
        x, weights = dpl.wildcard(), [dpl.wildcard() for _ in range(2)]
        products = [dpl.is_op("relax.matmul")(x, weight) for weight in weights]

    def rewritten(
        found: dict[relax.Expr, relax.Expr], bound: dict[relax.Expr, relax.Expr]
    ) -> dict[relax.Expr, relax.Expr]:
        given = [found[weight] for weight in weights]
        types = [found[x].ty, *(each.ty for each in given), *(found[p].ty for p in products)]
        if any(ty.ndim != 2 or ty.dtype is None or ty.shape is None for ty in types):
            return {}
        if len({str(ty.dtype) for ty in types}) > 1:
            return {}
        inner, width = types[1].shape
        if not all(isinstance(ty.shape[1], tvm.tirx.IntImm) for ty in types[1:3]):
            return {}
        if str(inner) != str(types[2].shape[0]):
            return {}  # the result of `concat` would have an unknown shape
        product = relax.op.matmul(found[x], relax.op.concat(given, 1))
        parts = relax.op.split(product, [int(width)], 1)
        return {found[each]: relax.TupleGetItem(parts, i) for i, each in enumerate(products)}

    return context, rewritten


def fork() -> tuple[object, object]:
    """Two users of one value."""
    with dpl.PatternContext() as context:
        x, *users = (
            dpl.is_op(f"relax.{op}")(dpl.wildcard(), add_constraint=False)
            for op in ("exp", "negative", "square")
        )
        x.fork_to(*users)

    def rewritten(
        found: dict[relax.Expr, relax.Expr], bound: dict[relax.Expr, relax.Expr]
    ) -> dict[relax.Expr, relax.Expr]:
        return {found[users[1]]: relax.op.multiply(found[x], found[x])}

    return context, rewritten


def alike() -> tuple[object, object]:
    """Operands of the same shape, the second of which is at this place."""
    with dpl.PatternContext() as context:
        x, y = dpl.wildcard(), dpl.wildcard().has_dtype("float32")
        difference = dpl.is_op("relax.subtract")(x, y, add_constraint=False)
        x.used_by(difference, 0)
        y.used_by(difference, 1)
        x.same_shape_as(y)

    def rewritten(
        found: dict[relax.Expr, relax.Expr], bound: dict[relax.Expr, relax.Expr]
    ) -> dict[relax.Expr, relax.Expr]:
        return {found[difference]: relax.op.add(found[x], relax.op.negative(found[y]))}

    return context, rewritten


def again() -> tuple[object, object]:
    """The same patterns twice; TVM 0.27 asks of the copy that nothing else uses the first call."""
    with dpl.PatternContext() as context:
        first, second = (
            dpl.is_op(f"relax.{op}")(dpl.wildcard(), add_constraint=False)
            for op in ("exp", "square")
        )
        chain = first ^ second
        copy = chain.dup()

    def rewritten(
        found: dict[relax.Expr, relax.Expr], bound: dict[relax.Expr, relax.Expr]
    ) -> dict[relax.Expr, relax.Expr]:
        values = {found[each[1]]: found[each[0]] for each in (chain, copy)}
        return {var: relax.op.multiply(value, value) for var, value in values.items()}

    return context, rewritten


PATTERNS = (
    RewriteRule(doubling, ("add",)),
    RewriteRule(twice_negated, ("negative", "negative")),
    RewriteRule(idempotent, ("abs", "abs")),
    RewriteRule(constant_subtracted, ("subtract",)),
    RewriteRule(kept_dims, ("sum",)),
    RewriteRule(square_of, ("square",), typed=True),
    RewriteRule(cube_of_typed, ("square", "multiply"), typed=True),
    RewriteRule(square_of_square, ("square",)),
    RewriteRule(same_shape, ("reshape",), typed=True),
    RewriteRule(sum_of_kernels, ()),
    RewriteRule(field_of_tuple, ()),
    RewriteRule(concatenated_constant, ("concat",)),
    RewriteRule(product_over, ("multiply", "divide")),
    RewriteRule(sum_and_difference, ("add", "subtract")),
    RewriteRule(exponentials, ("exp",)),
)
MODULES = (
    RewriteRule(difference_module, ("subtract",), typed=True),
    RewriteRule(square_module, ("square",), typed=True),
    RewriteRule(relu_module, ("nn.relu",), typed=True),
    RewriteRule(pair_module, ("add", "subtract"), typed=True),
)
CONTEXTS = (
    RewriteRule(negations, ("negative", "negative")),
    RewriteRule(parallel_matmuls, ("matmul",)),
    RewriteRule(fork, ("exp", "square")),
    RewriteRule(alike, ("subtract",)),
    RewriteRule(again, ("exp", "square")),
)
