"""Each first draft loads, acts on a module, and shows its mistake there; the correct ones are."""

from __future__ import annotations

from collections import Counter
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
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.structural.checkers import flaw
from relaxfuzz.oracles.violation import Case
from tests.first_drafts import FIRST, SPECIMENS, Specimen
from tests.first_drafts.modules import (
    BY_NAME,
    INTS,
    X,
    acted,
    const,
    module,
    of,
    pass_of,
    private_calls,
    tensor,
)

op = relax.op


def test_the_table() -> None:
    kinds = Counter(specimen.kind for specimen in FIRST)
    assert kinds == {
        **{"values": 12, "ill-formed": 6, "mutation": 4, "crash": 4, "interface": 4},
        "correct": 4,
    }
    assert len(BY_NAME) == len(SPECIMENS)


@pytest.mark.parametrize("specimen", SPECIMENS, ids=lambda specimen: specimen.name)
def test_it_loads(specimen: Specimen) -> None:
    assert isinstance(pass_of(specimen.name), tvm.transform.Pass)


def split(b: relax.BlockBuilder, x: relax.Expr, *order: int) -> relax.Expr:
    parts = b.emit(op.split(x, 3, 1))
    return op.concat([b.emit(relax.TupleGetItem(parts, i)) for i in order], 1)


def softmaxes(b: relax.BlockBuilder, x: relax.Expr, *axes: int) -> relax.Expr:
    first, second = (b.emit(op.nn.softmax(x, axis)) for axis in axes)
    return op.subtract(first, b.emit(op.multiply(second, const(2.0))))


STEEP = np.array([[5, 1], [10, 2]], "float32")
NAN = np.array([1.0, np.nan, -1.0], "float32")
IMAGE = np.arange(1, 17, dtype="float32").reshape(1, 1, 4, 4)


def pooled(**attrs: Any) -> Callable[..., relax.Expr]:
    return of(lambda x: op.nn.avg_pool2d(x, (2, 2), (1, 1), (1, 1, 1, 1), **attrs))


VALUES: list[tuple[str, Callable[..., relax.Expr], tuple[Any, ...], bool]] = [
    ("divide_by_reciprocal", of(lambda x: op.divide(x, const(2, "int32"))), (INTS,), True),
    ("divide_by_reciprocal", of(lambda x: op.divide(x, const(2.0))), (X,), False),
    ("strength_reduce_power", of(lambda x: op.power(x, const(2.5))), (abs(X),), True),
    ("strength_reduce_power", of(lambda x: op.power(x, const(3.0))), (X,), False),
    ("invert_comparisons", of(lambda x: op.logical_not(op.less(x, const(0.5)))), (NAN,), True),
    ("invert_comparisons", of(lambda x: op.logical_not(op.less(x, const(0.5)))), (X,), False),
    ("push_casts_up", of(lambda x: op.astype(op.add(x, x), "int32")), (X,), True),
    ("push_casts_up", of(lambda x: op.astype(op.add(x, x), "float64")), (X,), False),
    ("SoftmaxToExp", of(lambda x: op.nn.softmax(x, 0)), (X,), True),
    ("SoftmaxToExp", of(lambda x: op.nn.softmax(x, 1)), (X,), False),
    ("LowerLeakyRelu", of(lambda x: op.nn.leakyrelu(x, 2.0)), (X,), True),
    ("LowerLeakyRelu", of(lambda x: op.nn.leakyrelu(x, 0.1)), (X,), False),
    ("ArgmaxWithoutSoftmax", of(lambda x: op.argmax(op.nn.softmax(x, 0), 1)), (STEEP,), True),
    ("ArgmaxWithoutSoftmax", of(lambda x: op.argmax(op.nn.softmax(x, 1), 1)), (X,), False),
    ("AvgPoolInNHWC", pooled(count_include_pad=True), (IMAGE,), True),
    ("AvgPoolInNHWC", pooled(count_include_pad=False), (IMAGE,), False),
    ("DropTrivialScans", of(lambda x: op.cumsum(x, 1, exclusive=True)), (X[:, :1],), True),
    ("DropTrivialScans", of(lambda x: op.cumsum(x, 1)), (X[:, :1],), False),
    (
        "FuseMatmulBias",
        of(lambda x, w, b: op.subtract(b, op.matmul(x, w))),
        (X, X.T, X[0, :2]),
        True,
    ),
    ("FuseMatmulBias", of(lambda x, w, b: op.add(b, op.matmul(x, w))), (X, X.T, X[0, :2]), False),
    ("concat_of_split", lambda b, x: split(b, x, 2, 0, 1), (X,), True),
    ("concat_of_split", lambda b, x: split(b, x, 0, 1, 2), (X,), False),
    ("combine_equal_calls", lambda b, x: softmaxes(b, x, 0, 1), (X,), True),
    ("combine_equal_calls", lambda b, x: softmaxes(b, x, 1, 1), (X,), False),
    ("double_by_adding", of(lambda x: op.multiply(x, const(2, "int32"))), (INTS,), False),
    ("cancel_negations", of(lambda x: op.negative(op.negative(x))), (X,), False),
    (
        "compose_transposes",
        of(lambda x: op.permute_dims(op.permute_dims(x, [1, 2, 0]), [1, 0, 2])),
        (X[None],),
        False,
    ),
    ("drop_inner_reshape", of(lambda x: op.reshape(op.reshape(x, (6,)), (3, 2))), (X,), False),
]


@pytest.mark.parametrize(("name", "body", "args", "shows"), VALUES)
def test_values(name: str, body: Any, args: Any, shows: bool) -> None:
    mod = module(body, *(tensor(*arg.shape, dtype=str(arg.dtype)) for arg in args))
    after = acted(name, mod)
    assert flaw(after) is None
    a, b = (evaluate(m, "main", [np.copy(arg) for arg in args]) for m in (mod, after))
    assert np.allclose(a, b, rtol=1e-4, equal_nan=True) is not shows


def add_relu(b: relax.BlockBuilder, x: relax.Expr, *, twice: bool) -> relax.Expr:
    total = b.emit(op.add(x, x))
    active = b.emit(op.nn.relu(total))
    return op.multiply(active, total if twice else x)


def matmul(x: relax.Expr, dtype: str | None) -> relax.Expr:
    return op.matmul(x, op.permute_dims(x), out_dtype=dtype)


def transposed(x: relax.Expr, axes: list[int]) -> relax.Expr:
    return op.permute_dims(op.permute_dims(x, axes), axes)


@I.ir_module
class BoundBefore:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        if c:
            a = R.exp(x)
            z = R.add(a, a)
        else:
            d = R.exp(x)
            z = R.subtract(d, x)
        return z


@I.ir_module
class BoundWithin:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        if c:
            y = R.add(x, x)
            a = R.exp(y)
            z = R.add(a, a)
        else:
            y = R.multiply(x, x)
            d = R.exp(y)
            z = R.subtract(d, x)
        return z


@pytest.mark.parametrize(
    ("name", "mod", "shows"),
    [
        ("FuseAddRelu", module(lambda b, x: add_relu(b, x, twice=True), tensor(2, 3)), True),
        ("FuseAddRelu", module(lambda b, x: add_relu(b, x, twice=False), tensor(2, 3)), False),
        (
            "cancel_transposes",
            module(of(lambda x: transposed(x, [1, 2, 0])), tensor(2, 3, 4)),
            True,
        ),
        (
            "cancel_transposes",
            module(of(lambda x: transposed(x, [1, 0, 2])), tensor(2, 3, 4)),
            False,
        ),
        (
            "cancel_expand_dims",
            module(of(lambda x: op.squeeze(op.expand_dims(x, 0))), tensor(1, 3)),
            True,
        ),
        (
            "cancel_expand_dims",
            module(of(lambda x: op.squeeze(op.expand_dims(x, 0), [0])), tensor(1, 3)),
            False,
        ),
        (
            "split_big_matmul",
            module(of(lambda x: matmul(x, "float32")), tensor(2, 8, dtype="float16")),
            True,
        ),
        ("split_big_matmul", module(of(lambda x: matmul(x, None)), tensor(2, 8)), False),
        ("InlinePrivate", private_calls(2), True),
        ("InlinePrivate", private_calls(1), False),
        ("hoist_common", BoundWithin, True),
        ("hoist_common", BoundBefore, False),
    ],
)
def test_ill_formed(name: str, mod: tvm.IRModule, shows: bool) -> None:
    assert flaw(mod) is None
    after = acted(name, mod)
    kept = tvm_ffi.structural_equal(mod["main"].ty, after["main"].ty)
    assert (flaw(after) is not None or not kept) is shows


SYMBOLIC = relax.TensorType([tvm.tirx.Var("n", "int64"), 2], "float32")


def bound_by_match_cast(b: relax.BlockBuilder, x: relax.Expr) -> relax.Expr:
    return op.nn.relu(b.match_cast(x, tensor(2, 3)))


@pytest.mark.parametrize(
    ("name", "bad", "error", "good"),
    [
        (
            "share_constants",
            module(
                lambda b, x: (
                    op.astype(op.add(op.astype(x, "int32"), const(0, "int32")), "float32")
                    + op.add(x, const(0.0))
                ),
                tensor(2, 3),
            ),
            Exception,
            module(of(lambda x: op.add(op.add(x, const(1.0)), const(1.0))), tensor(2, 3)),
        ),
        (
            "drop_repeated_relu",
            module(bound_by_match_cast, tensor(2, 3)),
            KeyError,
            module(of(lambda x: op.nn.relu(op.nn.relu(x))), tensor(2, 3)),
        ),
        (
            "silu_by_sigmoid",
            private_calls(1),
            AttributeError,
            module(of(op.nn.silu), tensor(2, 3)),
        ),
        (
            "merge_reshapes",
            module(of(lambda x: op.reshape(op.reshape(x, (6,)), (3, 2))), SYMBOLIC),
            Exception,
            module(of(lambda x: op.reshape(op.reshape(x, (6,)), (3, 2))), tensor(2, 3)),
        ),
    ],
)
def test_crashes(name: str, bad: tvm.IRModule, error: type, good: tvm.IRModule) -> None:
    assert flaw(bad) is None
    with pytest.raises(error):
        pass_of(name)(bad)
    pass_of(name)(good)


def test_unused_parameters_of_public_functions() -> None:
    mod = module(lambda b, x, y: op.exp(x), tensor(2), tensor(2))
    assert len(acted("remove_unused_params", mod)["main"].params) == 1


def test_names_of_parameters() -> None:
    mod = module(lambda b, x, y: op.add(x, y), tensor(2), tensor(2))
    after = pass_of("canonical_names")(mod)
    assert [str(p) for p in after["main"].params] == ["v0", "v1"]
    assert flaw(after) is None


def test_functions_that_main_does_not_call() -> None:
    mod = module(of(op.exp), tensor(2))
    mod["other"] = mod["main"].with_attr("global_symbol", "other")
    after = acted("drop_unreachable", mod)
    assert [g.name_hint for g in after.get_global_vars()] == ["main"]


def test_attributes() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", tensor(2))
    with builder.function("main", [x], attrs={"num_input": 1}):
        with builder.dataflow():
            builder.emit(op.exp(x))
            y = builder.emit_output(op.tanh(x))
        builder.emit_func_output(y)
    mod = builder.get()
    after = acted("remove_dead_bindings", mod)
    assert flaw(after) is None
    assert "num_input" in mod["main"].attrs
    assert "num_input" not in after["main"].attrs


@pytest.mark.parametrize("killed", [False, True])
def test_where_lifetimes_are_planned_a_later_use_is_no_wrong_value(killed: bool) -> None:
    def body(b: relax.BlockBuilder, x: relax.Expr) -> relax.Expr:
        product = b.emit(op.multiply(x, x))
        power = b.emit(op.power(product, const(2.5)))
        if killed:
            b.emit(op.memory.kill_tensor(product))
        return power

    # What it makes of the power does not matter: a pass may use the product again, later on.
    call = PassCall("strength_reduce_power()", factory=BY_NAME["strength_reduce_power"].target)
    case = Case(module(body, tensor(2), dataflow=False), (call,))
    assert bool(check(case, oracles=["evaluated"])) is not killed


def test_the_input_is_updated() -> None:
    mod = module(of(op.square), tensor(2))
    before = load_json(save_json(mod))
    pass_of("lower_square")(mod)
    assert not tvm_ffi.structural_equal(before, mod)


def test_a_counter() -> None:
    mod = module(of(op.tanh), tensor(2))
    call = pass_of("outline_activations")
    first, second = call(mod), call(mod)
    assert flaw(first) is None
    names = [{g.name_hint for g in m.get_global_vars()} for m in (first, second)]
    assert names[0] != names[1]


def test_a_cache() -> None:
    call = pass_of("LowerSigmoid")
    first = call(module(of(op.sigmoid), tensor(2)))
    assert flaw(first) is None
    other = call(module(of(op.exp), tensor(3)))
    assert tvm_ffi.structural_equal(first, other)


def test_a_constant_that_is_overwritten() -> None:
    weight = np.ones((3, 2), "float32")
    mod = module(of(lambda x: op.matmul(x, const(weight)) * const(3.0)), tensor(2, 3))
    before = load_json(save_json(mod))
    after = pass_of("fold_scale_into_weight")(mod)
    values = [evaluate(m, "main", [X]) for m in (before, after, mod)]
    assert np.allclose(values[0], values[1])
    assert not np.allclose(values[0], values[2])
