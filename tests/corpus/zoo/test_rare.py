"""Each fault shows with its rare attribute, or where its features meet; else the pass is right."""
# ruff: noqa: F841, RET504  (TVMScript reads statements, it does not execute them)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz import evaluate
from relaxfuzz.compat.ir import GenericConst, constant_data
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.corpus.zoo import rare_forms as F
from relaxfuzz.corpus.zoo import rare_values as V
from relaxfuzz.generators.stages import Stage, advance
from relaxfuzz.oracles.inspect import bindings_of
from relaxfuzz.oracles.structural.checkers import flaw

op = relax.op
Body = Callable[..., relax.Expr]
Make = Callable[[], tvm.transform.Pass]

X = np.array([[0.5, -2.0, 3.0], [1.5, 5.0, -0.25]], "float32")
SQUARE = np.array([[1, 2], [3, 4]], "int32")
OTHER = np.array([[0, 1], [2, 5]], "int32")
BYTES = np.array([[100, 90], [3, 4]], "int8")
IMAGE = np.arange(1, 26, dtype="float32").reshape(1, 1, 5, 5)


def type_of(arg: Any) -> relax.TensorType:
    return relax.TensorType(arg.shape, str(arg.dtype))


def const(value: Any, dtype: str = "float32") -> relax.Expr:
    return relax.const(np.array(value, dtype), dtype)


def module(body: Body, *types: relax.Type, extra: Body | None = None) -> tvm.IRModule:
    """A module with the function main. `extra` is bound, too, but not used."""
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", ty) for i, ty in enumerate(types)]
    with builder.function("main", params):
        with builder.dataflow():
            if extra is not None:
                builder.emit(extra(*params))
            result = builder.emit_output(body(*params))
        builder.emit_func_output(result)
    return builder.get()


def applied(make: Make, mod: tvm.IRModule) -> tvm.IRModule:
    """The result, which is a changed module; applied again, it stays."""
    before = load_json(save_json(mod))
    after = make()(mod)
    assert tvm_ffi.structural_equal(before, mod, map_free_vars=True), "the input is mutated"
    assert not tvm_ffi.structural_equal(after, mod, map_free_vars=True), "nothing happened"
    return after


def both(x: relax.Expr, y: relax.Expr, dtype: str | None) -> relax.Expr:
    first, second = op.matmul(x, x), op.matmul(x, y, out_dtype=dtype)
    return relax.Tuple([first, second])


def concat(x: relax.Expr, axis: int) -> relax.Expr:
    return op.concat([op.permute_dims(x, [1, 0]), op.permute_dims(x, [1, 0])], axis)


def sliced(x: relax.Expr, stride: int) -> relax.Expr:
    return op.strided_slice(op.strided_slice(x, [1], [1], [5], [stride]), [1], [1], [2])


def pooled(x: relax.Expr, **attrs: Any) -> relax.Expr:
    return op.nn.avg_pool2d(x, (2, 2), (2, 2), (1, 1, 1, 1), **attrs)


def chain(a: relax.Expr, b: relax.Expr, axes: list[int]) -> relax.Expr:
    return op.matmul(a, op.permute_dims(op.matmul(b, a), axes))


LARGE = 2**60 + 1

VALUES: list[tuple[Make, Body, tuple[Any, ...], bool]] = [
    (
        V.reassociates_identity_transposes,
        lambda a, b: chain(a, b, [0, 1]),
        (SQUARE, OTHER),
        True,
    ),
    (
        V.reassociates_identity_transposes,
        lambda a, b: chain(a, b, [1, 0]),
        (SQUARE, OTHER),
        False,
    ),
    (V.combines_mixed_matmuls, lambda x, y: both(x, y, "int32"), (BYTES, BYTES), True),
    (V.combines_mixed_matmuls, lambda x, y: both(x, y, None), (BYTES, BYTES), False),
    (V.merges_strided_slices, lambda x: sliced(x, 2), (IMAGE[0, 0],), True),
    (V.merges_strided_slices, lambda x: sliced(x, 1), (IMAGE[0, 0],), False),
    (
        V.sinks_transposes_past_scalars,
        lambda x, y: op.add(op.permute_dims(x), y),
        (X[:, :2], X[0, :2]),
        True,
    ),
    (
        V.sinks_transposes_past_scalars,
        lambda x, y: op.add(op.permute_dims(x), y),
        (X[:, :2], X[0, 0]),
        False,
    ),
    (
        V.sinks_transposes_past_scalars,
        lambda x, y: op.add(op.permute_dims(x), y),
        (X, X.T),
        False,
    ),
    (V.merges_disjoint_clips, lambda x: op.clip(op.clip(x, 2.0, 3.0), 0.0, 1.0), (X,), True),
    (V.merges_disjoint_clips, lambda x: op.clip(op.clip(x, 0.0, 3.0), 1.0, 4.0), (X,), False),
    (V.pads_pools_explicitly, lambda x: pooled(x, count_include_pad=True), (IMAGE,), False),
]


@pytest.mark.parametrize(("make", "body", "args", "shows"), VALUES)
def test_values(make: Make, body: Body, args: Any, shows: bool) -> None:
    mod = module(body, *map(type_of, args))
    after = applied(make, mod)
    assert flaw(after) is None
    assert tvm_ffi.structural_equal(mod["main"].ty, after["main"].ty, map_free_vars=True)
    a, b = (evaluate(each, "main", [np.copy(arg) for arg in args]) for each in (mod, after))
    pairs = zip(a, b, strict=True) if isinstance(a, tuple) else [(a, b)]
    assert all(np.allclose(x, y, rtol=1e-4) for x, y in pairs) is not shows
    assert tvm_ffi.structural_equal(make()(after), after, map_free_vars=True), "not idempotent"


@pytest.mark.parametrize(("number", "shows"), [(LARGE, True), (99, False)])
def test_divisions_of_int64(number: int, shows: bool) -> None:
    mod = module(
        lambda x: op.add(x, op.divide(const(number, "int64"), const(1, "int64"))),
        relax.TensorType((), "int64"),
    )
    after = applied(V.folds_int64_division, mod)
    assert flaw(after) is None
    (folded,) = [
        constant_data(binding.value).numpy().item()
        for binding in bindings_of(after["main"])
        if isinstance(binding.value, GenericConst)
    ]
    assert (folded != number) is shows


def test_ceiled_pools() -> None:
    odd = np.arange(1, 17, dtype="float32").reshape(1, 1, 4, 4)
    mod = module(
        lambda x: op.nn.avg_pool2d(
            x, (3, 3), (2, 2), (1, 1, 1, 1), ceil_mode=True, count_include_pad=True
        ),
        type_of(odd),
    )
    after = applied(V.pads_pools_explicitly, mod)
    assert flaw(after) is None
    a, b = (evaluate(each, "main", [odd]) for each in (mod, after))
    assert a.shape == b.shape
    assert not np.allclose(a, b)


def cast() -> tvm.IRModule:
    """A value that is used under the name that a match_cast gives it."""
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType([2, 3], "float32"))
    with builder.function("main", [x]):
        y = builder.emit(op.add(x, x))
        unknown = builder.match_cast(y, relax.TensorType(dtype="float32", ndim=2))
        z = builder.match_cast(unknown, relax.TensorType([2, 3], "float32"))
        w = builder.emit(op.exp(x))
        u = builder.emit(op.add(z, z))
        builder.emit_func_output(builder.emit(relax.Tuple([w, u])))
    return builder.get()


@I.ir_module
class Aliased:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.add(x, x)
        z = y
        w = R.exp(x)
        v = R.multiply(z, w)
        u = R.add(v, x)
        t = R.add(u, x)
        return t


def test_memory() -> None:
    mod = advance(cast(), Stage.REWRITTEN)
    after = applied(V.reuses_cast_tensors, mod)
    a, b = (evaluate(each, "main", [X]) for each in (mod, after))
    assert np.allclose(a[0], b[0])
    assert not np.allclose(a[1], b[1])
    mod = advance(Aliased, Stage.REWRITTEN)
    a, b = (evaluate(each, "main", [X]) for each in (mod, V.reuses_cast_tensors()(mod)))
    assert np.allclose(a, b)


MATRIX = relax.TensorType((2, 2), "int32")
FLOAT = relax.TensorType((2, 2), "float32")
BATCH = relax.TensorType((2, 2, 2), "int32")
COLUMN = relax.TensorType((2, 1), "int32")
NARROW = relax.TensorType((2,), "float32")


def transposed(x: relax.Expr, weight: relax.Expr) -> relax.Expr:
    return op.matmul(x, op.permute_dims(weight))


def alias(outside: bool) -> tvm.IRModule:
    """A dataflow block whose output is a second name of its own value, or of a parameter."""
    x, y = relax.Var("x", NARROW), relax.DataflowVar("y", NARROW)
    out, builder = relax.Var("out", NARROW), relax.BlockBuilder()
    block = relax.DataflowBlock(
        [relax.VarBinding(y, op.exp(x)), relax.VarBinding(out, x if outside else y)]
    )
    body = builder.normalize(relax.SeqExpr([block], out))
    return tvm.IRModule(
        {"main": relax.Function([x], body, NARROW).with_attr("global_symbol", "main")}
    )


CRASHES: list[tuple[Make, tvm.IRModule, tvm.IRModule]] = [
    (
        F.slices_takes,
        module(lambda x: op.take(x, relax.prim_value(1), 0), FLOAT),
        module(lambda x: op.take(x, const([1], "int64"), 0), FLOAT),
    ),
    (
        F.broadcasts_operands,
        module(lambda x: op.add(x, relax.prim_value(tvm.tirx.const(1.0, "float32"))), FLOAT),
        module(lambda x: op.add(x, const(1.0)), FLOAT),
    ),
    (
        F.outlines_dead_chains,
        module(op.tanh, FLOAT, extra=lambda x: op.exp(op.negative(x))),
        module(lambda x: op.exp(op.negative(x)), FLOAT),
    ),
    (F.renames_output_aliases, alias(True), alias(False)),
    (
        F.reorders_matmul_chains,
        module(lambda a, b, c: op.matmul(op.matmul(a, b), c), BATCH, MATRIX, COLUMN),
        module(lambda a, b, c: op.matmul(op.matmul(a, b), c), MATRIX, MATRIX, COLUMN),
    ),
    (
        F.decomposes_layer_norm,
        module(lambda x: op.nn.layer_norm(x, x, x, [0, 1]), FLOAT),
        module(lambda x, y: op.nn.layer_norm(x, y, y, [1]), FLOAT, NARROW),
    ),
    (
        F.fuses_transposed_weights,
        module(lambda x: transposed(x, const(X[:, :2])), FLOAT),
        module(transposed, FLOAT, FLOAT),
    ),
]


@pytest.mark.parametrize(("make", "bad", "good"), CRASHES)
def test_crashes(make: Make, bad: tvm.IRModule, good: tvm.IRModule) -> None:
    assert flaw(bad) is None
    with pytest.raises((AttributeError, IndexError, KeyError, ValueError)):
        make()(bad)
    after = applied(make, good)
    assert flaw(after) is None
    assert tvm_ffi.structural_equal(make()(after), after, map_free_vars=True), "not idempotent"
    shapes = [param.ty.shape.values for param in good["main"].params]
    args = [
        np.arange(1, 1 + np.prod([int(d.value) for d in shape]), dtype=str(param.ty.dtype)).reshape(
            [int(d.value) for d in shape]
        )
        for param, shape in zip(good["main"].params, shapes, strict=True)
    ]
    a, b = (evaluate(each, "main", [np.copy(arg) for arg in args]) for each in (good, after))
    assert np.allclose(a, b, rtol=1e-4)


def joined(x: relax.Expr, w: relax.Expr) -> relax.Expr:
    return op.matmul(x, op.concat([w, w], 1))


@I.ir_module
class Checked:
    @R.function(pure=False)
    def main(x: R.Tensor((), "bool"), y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        ok = R.logical_not(x)
        dead = R.exp(y)
        _ = R.assert_op(ok, format="no")
        z = R.tanh(y)
        return z


@I.ir_module
class Unchecked:
    @R.function(pure=False)
    def main(x: R.Tensor((), "bool"), y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        dead = R.exp(y)
        _ = R.assert_op(x, format="no")
        z = R.tanh(y)
        return z


def private(equal: bool) -> tvm.IRModule:
    """Two private functions, and main, which calls both."""
    builder = relax.BlockBuilder()
    callees = []
    for name in "fg":
        x = relax.Var("x", NARROW)
        with builder.function(name, [x], private=True):
            y = builder.emit(op.exp(op.multiply(x, x)) if name == "f" else op.tanh(x))
            callees.append(builder.emit_func_output(y))
    x = relax.Var("x", NARROW)
    with builder.function("main", [x]):
        first = builder.emit(relax.Call(callees[0], [x]))
        builder.emit_func_output(builder.emit(relax.Call(callees[1], [first])))
    functions = dict(builder.get().functions_items())
    if equal:
        functions[callees[1]] = functions[callees[0]]
    return tvm.IRModule(functions)


FORMS: list[tuple[Make, tvm.IRModule, bool]] = [
    (F.permutes_after_concat, module(lambda x: concat(x, -1), FLOAT), True),
    (F.permutes_after_concat, module(lambda x: concat(x, 1), FLOAT), False),
    (F.splits_combined_rows, module(joined, BATCH, MATRIX), True),
    (F.splits_combined_rows, module(joined, MATRIX, MATRIX), False),
    (F.removes_arguments_of_impure_calls, Checked, True),
    (F.removes_arguments_of_impure_calls, Unchecked, False),
    (F.dissolves_small_dataflow, module(lambda x: op.exp(op.tanh(x)), FLOAT), True),
    (F.dissolves_small_dataflow, module(op.exp, FLOAT), False),
    (F.updates_equal_functions, private(True), True),
    (F.updates_equal_functions, private(False), False),
]


@pytest.mark.parametrize(("make", "mod", "shows"), FORMS)
def test_forms(make: Make, mod: tvm.IRModule, shows: bool) -> None:
    assert flaw(mod) is None
    after = applied(make, mod)
    kept = tvm_ffi.structural_equal(mod["main"].ty, after["main"].ty, map_free_vars=True)
    assert (flaw(after) is not None or not kept) is shows
    if not shows:
        assert tvm_ffi.structural_equal(make()(after), after, map_free_vars=True), "not idempotent"


def test_all_are_here() -> None:
    assert len(V.SPECIMENS) + len(F.SPECIMENS) == 20
    tested = {row[0] for rows in (VALUES, CRASHES, FORMS) for row in rows}
    tested |= {V.folds_int64_division, V.reuses_cast_tensors}
    assert tested == {specimen.make for specimen in (*V.SPECIMENS, *F.SPECIMENS)}
