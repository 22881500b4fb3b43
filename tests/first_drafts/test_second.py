"""Each pass of the second set acts on a module, and shows its mistake there; the correct do not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz import evaluate
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.oracles.structural.checkers import flaw
from tests.first_drafts import FIRST, SECOND
from tests.first_drafts.modules import INTS, X, acted, const, module, of, pass_of, tensor

op = relax.op


def test_the_table() -> None:
    kinds = Counter(specimen.kind for specimen in SECOND)
    assert kinds == {
        **{"values": 13, "ill-formed": 7, "mutation": 3, "crash": 4, "interface": 3},
        "correct": 4,
    }
    assert not {specimen.name for specimen in FIRST} & {specimen.name for specimen in SECOND}


def test_each_has_a_case() -> None:
    tests = Path(__file__).read_text()
    assert [s.name for s in SECOND if not re.search(rf'"{s.name}"', tests)] == []


# -- wrong values --------------------------------------------------------------------------------

ROWS = np.arange(24, dtype="float32").reshape(6, 4)
IMAGE = np.arange(-16, 0, dtype="float32").reshape(1, 1, 4, 4)
HEADS = np.linspace(-1, 2, 24, dtype="float32").reshape(1, 3, 2, 4)
BYTES = np.array([-128, -3, 0, 100, 127], "int8")
MASK = np.array([[True, False, True], [False, True, True]])
FAR = np.where(MASK, X, np.float32(np.inf))
PARTS = [np.array(v, "float32") for v in ([2, 3, 1], [0, 1, -1], [0.5, 2, 0], [1, 4, 9])]


def slices(stride: int) -> Callable[..., relax.Expr]:
    def body(b: relax.BlockBuilder, x: relax.Expr) -> relax.Expr:
        inner = b.emit(op.strided_slice(x, [0], [1], [6], [stride]))
        return op.strided_slice(inner, [0], [1], [3])

    return body


def triangles(build: Callable[..., relax.Expr], *diagonals: int) -> Callable[..., relax.Expr]:
    return lambda b, x: build(b.emit(build(x, diagonals[0])), diagonals[1])


def scaled_maximum(factor: float) -> Callable[..., relax.Expr]:
    return lambda b, x: op.max(b.emit(op.multiply(x, const(factor))), [1])


def padded_pool(b: relax.BlockBuilder, x: relax.Expr) -> relax.Expr:
    return op.nn.max_pool2d(b.emit(op.nn.pad(x, [0, 0, 0, 0, 1, 0, 1, 1])), (2, 2))


def resized(mode: str, size: tuple[int, int] = (8, 12)) -> Callable[..., relax.Expr]:
    return of(
        lambda x: op.image.resize2d(
            x, size, method="nearest_neighbor", coordinate_transformation_mode=mode
        )
    )


def scaled_attention(*heads: relax.Expr) -> relax.Expr:
    return op.nn.attention(*heads, scale=tvm.tirx.FloatImm("float32", 0.25))


def dequantized(zero: int) -> Callable[..., relax.Expr]:
    return of(lambda x: op.dequantize(x, const(0.5), const(zero, "int8"), out_dtype="float32"))


def normalized(training: bool) -> Callable[..., relax.Expr]:
    def body(b: relax.BlockBuilder, *xs: relax.Expr) -> relax.Expr:
        result = b.emit(op.nn.batch_norm(*xs, axis=1, training=training))
        return relax.TupleGetItem(result, 0)

    return body


def taken(*indices: int) -> Callable[..., relax.Expr]:
    return of(lambda x: op.take(x, const(indices, "int64"), 0))


def largest(largest: bool) -> Callable[..., relax.Expr]:
    return of(lambda x: op.topk(x, 1, 1, ret_type="values", largest=largest))


def casts(*dtypes: str) -> Callable[..., relax.Expr]:
    return lambda b, x: op.astype(b.emit(op.astype(x, dtypes[0])), dtypes[1])


def field(b: relax.BlockBuilder, x: relax.Expr, y: relax.Expr) -> relax.Expr:
    pair = b.emit(relax.Tuple([x, b.emit(op.exp(y))]))
    return op.add(b.emit(relax.TupleGetItem(pair, 0)), b.emit(relax.TupleGetItem(pair, 1)))


VALUES: list[tuple[str, Callable[..., relax.Expr], tuple[Any, ...], bool]] = [
    ("merge_slices", slices(2), (ROWS,), True),
    ("merge_slices", slices(1), (ROWS,), False),
    ("take_range", taken(0, 2, 1, 3), (ROWS,), True),
    ("take_range", taken(2, 3, 4), (ROWS,), False),
    ("topk_one_to_max", largest(False), (X,), True),
    ("topk_one_to_max", largest(True), (X,), False),
    ("merge_triangles", triangles(op.tril, 1, -1), (ROWS,), True),
    ("merge_triangles", triangles(op.triu, 1, -1), (ROWS,), False),
    ("where_by_mask", of(op.where), (MASK, FAR, -X), True),
    ("where_by_mask", of(op.where), (MASK, X, -X), False),
    ("divide_by_shift", of(lambda x: op.divide(x, const(4, "int32"))), (INTS,), True),
    ("divide_by_shift", of(lambda x: op.divide(x, const(4, "int32"))), (abs(INTS),), False),
    ("scale_after_reduction", scaled_maximum(-2.0), (X,), True),
    ("scale_after_reduction", scaled_maximum(2.0), (X,), False),
    ("PadIntoMaxPool", padded_pool, (IMAGE,), True),
    ("PadIntoMaxPool", padded_pool, (IMAGE + 16,), False),
    ("LowerAttention", of(op.nn.attention), (HEADS, HEADS, HEADS + 1), True),
    ("LowerAttention", of(scaled_attention), (HEADS, HEADS, HEADS + 1), False),
    ("ResizeByRepeat", resized("align_corners"), (IMAGE,), True),
    ("ResizeByRepeat", resized("half_pixel"), (IMAGE,), False),
    ("LowerDequantize", dequantized(-10), (BYTES,), True),
    ("LowerDequantize", dequantized(0), (BYTES,), False),
    ("BatchNormToScale", normalized(True), (X, *PARTS), True),
    ("BatchNormToScale", normalized(False), (X, *PARTS), False),
    ("constants_right", of(lambda x: op.multiply(const(3.0), x)), (X,), False),
    ("merge_widening_casts", casts("float32", "float64"), (X.astype("float16"),), False),
    ("merge_widening_casts", casts("float64", "float16"), (X,), False),
    ("forward_tuple_fields", field, (X, X), False),
]


@pytest.mark.parametrize(("name", "body", "args", "shows"), VALUES)
def test_values(name: str, body: Any, args: Any, shows: bool) -> None:
    mod = module(body, *(tensor(*arg.shape, dtype=str(arg.dtype)) for arg in args))
    after = acted(name, mod)
    assert flaw(after) is None
    assert tvm_ffi.structural_equal(mod["main"].ty, after["main"].ty)
    a, b = (evaluate(m, "main", [np.copy(arg) for arg in args]) for m in (mod, after))
    assert np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True) is not shows


@pytest.mark.parametrize("shows", [True, False])
def test_kernels_of_one_signature(shows: bool) -> None:
    def body(b: relax.BlockBuilder, x: relax.Expr) -> relax.Expr:
        return op.add(b.emit(op.add(x, const(1.0))), const(2.0))

    mod = relax.transform.LegalizeOps()(module(body, tensor(2, 3)))
    if not shows:
        names = [g for g in mod.get_global_vars() if g.name_hint != "main"]
        mod[names[1]] = mod[names[0]]
    after = acted("merge_kernels", mod)
    assert flaw(after) is None
    a, b = (evaluate(m, "main", [X]) for m in (mod, after))
    assert np.allclose(a, b) is not shows


# -- ill-formed results --------------------------------------------------------------------------


def summed(first: int, second: int, keepdims: bool) -> Callable[..., relax.Expr]:
    return lambda b, x: op.sum(
        b.emit(op.sum(x, [first], keepdims=keepdims)), [second], keepdims=keepdims
    )


def einsum(subscripts: str) -> tvm.IRModule:
    body = of(lambda x, y: op.einsum((x, y), subscripts))
    return module(body, tensor(2, 3), tensor(3, 4))


def batched(*shape: Any) -> tvm.IRModule:
    n = tvm.tirx.Var("n", "int64")
    shape = tuple(n if dim == "n" else dim for dim in shape)
    builder = relax.BlockBuilder()
    x, y = relax.Var("x", tensor(1, 3)), relax.Var("y", relax.TensorType([n, 3], "float32"))
    with builder.function("main", [x, y]):
        with builder.dataflow():
            wide = builder.emit(op.broadcast_to(x, shape))
            result = builder.emit_output(op.subtract(y, wide))
        builder.emit_func_output(result)
    return builder.get()


@I.ir_module
class Branching:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.exp(x)
        if c:
            a = R.add(y, y)
            z = R.tanh(a)
        else:
            z = R.multiply(y, x)
        return z


@I.ir_module
class TwoBlocks:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.exp(x)
        with R.dataflow():
            z = R.add(y, y)
            R.output(z)
        return z


@I.ir_module
class DefinesDimensions:
    @R.function
    def main(x: R.Tensor("float32", ndim=2)) -> R.Tensor("float32", ndim=1):
        m, n = T.int64(), T.int64()
        y = R.match_cast(x, R.Tensor((m, n), "float32"))
        return R.reshape(y, (m * n,))


@I.ir_module
class DefinesNothing:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.match_cast(x, R.Tensor((2, 3), "float32"))
        return R.exp(y)


@I.ir_module
class Prints:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.nn.relu(x)
        _ = R.print(y, format="{}")
        return y


ONES = np.ones((4, 1, 3), "float32")


@pytest.mark.parametrize(
    ("name", "mod", "shows"),
    [
        ("drop_unit_factor", module(of(lambda x: op.multiply(x, const(ONES))), tensor(2, 3)), True),
        ("drop_unit_factor", module(of(lambda x: op.multiply(const(1.0), x)), tensor(2, 3)), False),
        ("merge_sums", module(summed(0, 1, False), tensor(2, 3, 4)), True),
        ("merge_sums", module(summed(0, 1, True), tensor(2, 3, 4)), False),
        ("EinsumToMatmul", einsum("ij,jk->ki"), True),
        ("EinsumToMatmul", einsum("ij,jk->ik"), False),
        ("widen_dataflow", Branching, True),
        ("widen_dataflow", TwoBlocks, False),
        ("drop_match_casts", DefinesDimensions, True),
        ("drop_match_casts", DefinesNothing, False),
        ("OutlineForAccelerator", batched("n", 3), True),
        ("OutlineForAccelerator", batched(1, 3), False),
        ("relu_as_maximum", Prints, True),
        ("relu_as_maximum", module(of(op.nn.relu), tensor(2, 3)), False),
    ],
)
def test_ill_formed(name: str, mod: tvm.IRModule, shows: bool) -> None:
    assert flaw(mod) is None
    after = acted(name, mod)
    kept = tvm_ffi.structural_equal(mod["main"].ty, after["main"].ty)
    assert (flaw(after) is not None or not kept) is shows


# -- exceptions ----------------------------------------------------------------------------------


@I.ir_module
class ResultsInTuples:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")):
        if c:
            a = R.exp(x)
            z = (a, x)
        else:
            b = R.tanh(x)
            z = (x, b)
        return z


@I.ir_module
class ReturnsItsParameter:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return x


@I.ir_module
class ReturnsAnAlias:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.exp(x)
        z = y
        return z  # noqa: RET504


def named(name: str) -> tvm.IRModule:
    func = module(of(lambda x: op.power(x, const(2.0))), tensor(2, 3))["main"]
    return tvm.IRModule({name: func.with_attr("global_symbol", name)})


@pytest.mark.parametrize(
    ("name", "bad", "error", "good"),
    [
        (
            "UpcastHalf",
            module(
                lambda b, x: relax.TupleGetItem(b.emit(op.split(x, 2, 0)), 1),
                tensor(2, 3, dtype="float16"),
            ),
            AttributeError,
            module(of(op.exp), tensor(2, 3, dtype="float16")),
        ),
        ("FlattenIf", ResultsInTuples, Exception, Branching),
        ("return_directly", ReturnsItsParameter, (IndexError, ValueError), ReturnsAnAlias),
        ("power_two_to_square", named("forward"), Exception, named("main")),
    ],
)
def test_crashes(name: str, bad: tvm.IRModule, error: type, good: tvm.IRModule) -> None:
    assert flaw(bad) is None
    with pytest.raises(error):
        pass_of(name)(bad)
    after = acted(name, good)
    assert flaw(after) is None
    shapes = [[int(d) for d in p.ty.shape] for p in good["main"].params]
    types = [str(p.ty.dtype) for p in good["main"].params]
    args = [np.full(shape, 0.5, dtype) for shape, dtype in zip(shapes, types, strict=True)]
    values = [np.asarray(evaluate(m, "main", args)) for m in (good, after)]
    assert np.allclose(*values, rtol=1e-2)


# -- changed inputs ------------------------------------------------------------------------------


@I.ir_module
class PassesConstants:
    @R.function(private=True)
    def scaled(x: R.Tensor((2, 3), "float32"), c: R.Tensor((), "float32")) -> R.Tensor(
        (2, 3), "float32"
    ):
        return R.multiply(x, c)

    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        cls = PassesConstants
        y = cls.scaled(x, R.const(3.0, "float32"))
        return cls.scaled(y, R.const(3.0, "float32"))


def test_global_infos() -> None:
    mod = module(of(op.exp), tensor(2, 3))
    after = acted("declare_device", mod)
    assert flaw(after) is None
    before = load_json(save_json(mod))
    pass_of("declare_device")(mod)
    assert not before.global_infos
    assert mod.global_infos
    assert not mod.attrs


def test_a_constant_that_is_shared() -> None:
    mod = module(of(lambda x: op.subtract(x, const([1.0, 2.0, 3.0]))), tensor(2, 3))
    before = load_json(save_json(mod))
    after = pass_of("add_negated_constants")(mod)
    assert flaw(after) is None
    values = [evaluate(m, "main", [X]) for m in (before, after, mod)]
    assert np.allclose(values[0], values[1])
    assert not np.allclose(values[0], values[2])


def test_counts_of_older_modules() -> None:
    mod = module(of(op.tanh), tensor(5, 7))
    call = pass_of("outline_repeated")
    first, second = call(mod), call(mod)
    assert tvm_ffi.structural_equal(first, mod)
    assert flaw(second) is None
    assert len(second.get_global_vars()) == 2


# -- interfaces ----------------------------------------------------------------------------------


def test_a_tuple_of_one() -> None:
    mod = module(lambda b, x: relax.Tuple([b.emit(op.exp(x))]), tensor(2, 3))
    after = acted("unwrap_single_tuples", mod)
    assert flaw(after) is None
    assert isinstance(mod["main"].ret_ty, relax.TupleType)
    assert isinstance(after["main"].ret_ty, relax.TensorType)


@pytest.mark.parametrize("public", [True, False])
def test_names_of_kernels(public: bool) -> None:
    mod = relax.transform.LegalizeOps()(module(of(op.exp), tensor(2, 3)))
    (name,) = {g.name_hint for g in mod.get_global_vars()} - {"main"}
    if public:
        mod[name] = mod[name].with_attr("global_symbol", name)
    after = acted("prefix_kernels", mod)
    assert flaw(after) is None
    assert {g.name_hint for g in after.get_global_vars()} == {f"kernel_{name}", "main"}
    assert np.allclose(evaluate(after, "main", [X]), np.exp(X))
    symbols = [f.attrs.get("global_symbol") for f in after.functions.values()]
    assert (f"kernel_{name}" in symbols) is public


def test_attributes_of_the_module() -> None:
    mod = module(of(op.subtract), tensor(2, 3), tensor(2, 3)).with_attr("version", 3)
    mod.update_global_info("vdevice", [relax.VDevice("llvm")])
    after = acted("subtract_as_add", mod)
    assert flaw(after) is None
    assert np.allclose(evaluate(after, "main", [X, 2 * X]), -X)
    assert "version" in mod.attrs
    assert not after.attrs
    assert not after.global_infos


# -- a correct one -------------------------------------------------------------------------------


def test_dead_private_functions() -> None:
    mod = load_json(save_json(PassesConstants))
    unused = mod["scaled"]
    mod["unused"] = relax.utils.copy_with_new_vars(unused)
    after = acted("drop_dead_private", mod)
    assert flaw(after) is None
    assert {g.name_hint for g in after.get_global_vars()} == {"main", "scaled"}
    assert np.allclose(evaluate(after, "main", [X]), 9 * X)
    legal = relax.transform.LegalizeOps()(after)
    assert tvm_ffi.structural_equal(pass_of("drop_dead_private")(legal), legal)
