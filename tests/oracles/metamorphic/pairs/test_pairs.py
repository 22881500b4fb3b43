"""The twins and the permuted batches: they mean the same, and are what they are made to be."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax, tirx

from relaxfuzz.fuzz.campaign.draw import example
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.rewrite.rewriter import CannotRewrite, Rewriter
from relaxfuzz.oracles.dtypes import dtype_of
from relaxfuzz.oracles.evaluate import Evaluator
from relaxfuzz.oracles.execute import execute
from relaxfuzz.oracles.inspect import relax_functions
from relaxfuzz.oracles.metamorphic.pairs import oracles as pairs
from relaxfuzz.oracles.metamorphic.pairs import rewritten_twin as rewriting
from relaxfuzz.oracles.metamorphic.pairs.batch import batched, followed, order_of, permuted
from relaxfuzz.oracles.metamorphic.pairs.oracles import static_twin
from relaxfuzz.oracles.metamorphic.pairs.pair import verify
from relaxfuzz.oracles.metamorphic.pairs.rewrites import REWRITES, Rewrite
from relaxfuzz.oracles.metamorphic.pairs.rewritten_twin import Place, rewritten_twin
from relaxfuzz.oracles.structural import checkers

INDICES = range(20)

DTYPES = ("float32", "float16", "float64", "bfloat16", "int8", "int32", "int64", "uint8", "bool")


def module(index: int) -> tvm.IRModule:
    return example(ir_modules(), 31, index)


@pytest.mark.parametrize("index", INDICES)
def test_a_module_whose_types_are_all_inferred_anew_is_the_same(index: int) -> None:
    class InferringAll(Rewriter):
        infers_all = True

    mod = module(index)
    try:
        made = InferringAll(mod).rewritten()
    except CannotRewrite as error:  # type inference gives some slices negative sizes
        pytest.skip(str(error))
    assert not made.same_as(mod)
    assert tvm_ffi.structural_equal(made, mod)


@pytest.mark.parametrize("index", INDICES)
def test_the_evaluator_agrees_with_every_pair(index: int) -> None:
    mod = module(index)
    for make in pairs._PAIRS.values():
        pair = make(mod)
        if pair is not None:
            verify(pair)
            assert checkers.flaw(pair.twin) is None


def one_op(*dtypes: str, shape: tuple[Any, ...] = (2, 3)) -> tvm.IRModule:
    """For each dtype a function with one call, outside of dataflow blocks."""
    builder = relax.BlockBuilder()
    for dtype in dtypes:
        x = relax.Var("x", relax.TensorType(shape, dtype))
        with builder.function(dtype, [x]):
            builder.emit_func_output(builder.emit(relax.op.flip(x, 0), "value"))
    return builder.finalize()


def special(dtype: str) -> np.ndarray[Any, Any]:
    if dtype == "bool":
        return np.array([[True, False, True], [False, False, True]])
    numpy = dtype_of(dtype)
    if numpy.kind in "iu":
        low, high = np.iinfo(numpy).min, np.iinfo(numpy).max
        return np.array([[low, 0, high], [1, high - 1, 3]], numpy)
    tiny = ml_dtypes.finfo(numpy).smallest_normal
    return np.array([[np.nan, -0.0, np.inf], [-np.inf, tiny, 1.5]]).astype(numpy)


def bits(value: np.ndarray[Any, Any]) -> bytes:
    """NaN is NaN, whichever; zeros have signs."""
    nan = np.isnan(value.astype("float64")) if value.dtype.kind not in "iub" else None
    return (value if nan is None else np.where(nan, 0, value).astype(value.dtype)).tobytes() + (
        b"" if nan is None else nan.tobytes()
    )


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda rewrite: rewrite.name)
def test_a_rewrite_is_exact_in_numpy_and_in_the_vm(
    monkeypatch: pytest.MonkeyPatch, rewrite: Rewrite
) -> None:
    monkeypatch.setattr(rewriting, "REWRITES", (rewrite,))
    monkeypatch.setattr(rewriting, "ONE_IN", 1)
    dtypes = [d for d in DTYPES if d != "float64" or rewrite.name != "a wider dtype and back"]
    dtypes = [d for d in dtypes if d != "int64" or rewrite.name != "a wider dtype and back"]
    made = rewritten_twin(one_op(*dtypes))
    assert made is not None
    twin, places = made
    assert {place.function for place in places} == set(dtypes)
    assert checkers.flaw(twin) is None
    plans = [lambda run, d=d: run(d, [special(d)]) for d in dtypes]
    ran = execute(twin, plans)
    assert isinstance(ran, list), ran
    for dtype, value in zip(dtypes, ran, strict=True):
        want = np.flip(special(dtype), 0)
        assert bits(value) == bits(want), (dtype, value)
        # With a `perturb` the evaluator does not ask whether anything is promised.
        got = Evaluator(twin, perturb=lambda value: value).run(dtype, [special(dtype)])
        assert bits(got) == bits(want), (dtype, got)


def test_rewrites_are_chosen_by_what_is_at_hand() -> None:
    """The same binding gets the same rewrite when the rest of the module is gone."""
    mod = next(m for m in map(module, INDICES) if len(rewritten(m)) > 3)
    whole = rewritten(mod)
    for gvar, _ in relax_functions(mod):
        name = str(gvar.name_hint)
        rest = mod.clone()
        made = rewritten_twin(rest, lambda place, name=name: place.function == name)
        places = () if made is None else made[1]
        assert list(places) == [place for place in whole if place.function == name]


def rewritten(mod: tvm.IRModule) -> tuple[Place, ...]:
    made = rewritten_twin(mod)
    return () if made is None else made[1]


def test_the_static_twin_has_sizes_everywhere() -> None:
    n = tirx.Var("n", "int64")
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((n, 4), "float32"))
    y = relax.Var("y", relax.TensorType((n * 4 + 1,), "float32"))
    with builder.function("main", [x, y]):
        flat = builder.emit(relax.op.reshape(x, relax.ShapeExpr([n * 4])))
        builder.emit_func_output(builder.emit(relax.op.concat([flat, y])))
    twin = static_twin(builder.finalize())
    assert twin is not None
    assert checkers.flaw(twin) is None
    size = int(twin["main"].params[0].ty.shape[0].value)
    assert str(twin["main"].ret_ty.shape) == str(relax.ShapeExpr([8 * size + 1]))
    assert "n" not in {var.name for var in relax.analysis.all_vars(twin["main"])}
    assert static_twin(twin) is None


def test_functions_that_are_called_stay_symbolic() -> None:
    n = tirx.Var("n", "int64")
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((n,), "float32"))
    with builder.function("callee", [x]):
        builder.emit_func_output(builder.emit(relax.op.abs(x)))
    callee = builder.get().get_global_var("callee")
    m = tirx.Var("m", "int64")
    y = relax.Var("y", relax.TensorType((m,), "float32"))
    with builder.function("main", [y]):
        builder.emit_func_output(builder.emit(relax.Call(callee, [y])))
    mod = builder.finalize()
    twin = static_twin(mod)
    assert twin is not None
    assert checkers.flaw(twin) is None
    assert twin["callee"].same_as(mod["callee"])
    assert not twin["main"].same_as(mod["main"])


# Batches


def along(build: Any, *shapes: tuple[int, ...], dtype: str = "float32") -> Any:
    """What is known of the result when all parameters of the first one's size are permuted."""
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", relax.TensorType(shape, dtype)) for i, shape in enumerate(shapes)]
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(build(*params)))
    mod = builder.finalize()
    rng = np.random.default_rng(0)
    args = [rng.integers(-3, 4, shape).astype(dtype) for shape in shapes]
    found = batched(mod, mod["main"], args)
    if found is None:
        return None
    chosen, result = found
    order = order_of(args[min(chosen)].shape[0])
    plain = Evaluator(mod).run("main", args)
    moved = Evaluator(mod).run("main", permuted(args, chosen, order))
    for want, have in zip(followed(plain, result, order), followed(moved, result), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-5)
    return result


op = relax.op


@pytest.mark.parametrize(
    ("build", "shapes", "expected"),
    [
        (lambda x: op.nn.relu(x), [(4, 3)], 0),
        (lambda x, w: op.add(x, w), [(4, 3), (1, 3)], 0),
        (lambda x, w: op.add(x, w), [(4, 3), (3,)], 0),
        (lambda x, w: op.add(x, w), [(4,), (3, 4)], 0),  # of the matrix, whose rows meet one vector
        (lambda x, w: op.matmul(x, w), [(4, 3), (3, 5)], 0),
        (lambda x, w: op.matmul(x, w), [(4, 2, 3), (3, 5)], 0),
        (lambda x, w: op.matmul(x, w), [(4, 2, 3), (4, 3, 5)], 0),
        (lambda x: op.permute_dims(x), [(4, 2, 3)], 2),
        (lambda x: op.permute_dims(x, [1, 2, 0]), [(4, 2, 3)], 2),
        (lambda x: op.reshape(x, (4, 6)), [(4, 2, 3)], 0),
        (lambda x: op.reshape(x, (2, 2, 3)), [(4, 3)], None),
        (lambda x: op.sum(x, 1), [(4, 3)], 0),
        (lambda x: op.sum(x, 0), [(4, 3)], None),
        (lambda x: op.sum(x), [(4, 3)], None),
        (lambda x: op.nn.softmax(x, 1), [(4, 3)], 0),
        (lambda x: op.nn.softmax(x, 0), [(4, 3)], None),
        (lambda x: op.cumsum(x, -2), [(4, 3)], None),
        (lambda x: op.expand_dims(x, [0, -1]), [(4, 3)], 1),
        (lambda x: op.squeeze(x), [(4, 1, 3)], 0),
        (lambda x, y: op.concat([x, y], 1), [(4, 3), (4, 2)], 0),
        (lambda x, y: op.concat([x, y], 0), [(4, 3), (4, 3)], None),
        (lambda x, y: op.stack([x, y], 0), [(4, 3), (4, 3)], 1),
        (lambda x: op.split(x, 3, 1), [(4, 3)], (0, 0, 0)),
        (lambda x: op.strided_slice(x, [1], [0], [2]), [(4, 3)], 0),
        (lambda x: op.strided_slice(x, [0], [0], [2]), [(4, 3)], None),
        (lambda x: op.broadcast_to(x, (2, 4, 3)), [(4, 3)], 1),
        (lambda x: op.nn.pad(x, [0, 0, 1, 1]), [(4, 3)], 0),
        (lambda x: op.nn.pad(x, [1, 0, 1, 1]), [(4, 3)], None),
        (lambda x: op.triu(x), [(4, 3)], None),
        (lambda x: op.triu(x), [(4, 3, 3)], 0),
        (lambda x: op.flip(x, 0), [(4, 3)], None),
        (lambda x: op.argmax(x, 1), [(4, 3)], 0),
        (lambda x, w: op.nn.conv2d(x, w), [(4, 2, 5, 5), (3, 2, 3, 3)], 0),
        (
            lambda x, w: op.nn.conv2d(x, w, data_layout="HWNC", out_layout="NCHW"),
            [(5, 5, 4, 2), (3, 2, 3, 3)],
            None,
        ),
        (lambda x: op.nn.max_pool2d(x, 2), [(4, 2, 5, 5)], 0),
        (lambda x, g, b: op.nn.layer_norm(x, g, b, [-1]), [(4, 3), (3,), (3,)], 0),
        (lambda x, g, b: op.nn.layer_norm(x, g, b, [0, 1]), [(4, 5), (4, 5), (4, 5)], None),
        (lambda x: op.einsum([x], "ij->ji"), [(4, 3)], None),  # no rule
    ],
)
def test_rules_of_batches(build: Any, shapes: list[tuple[int, ...]], expected: Any) -> None:
    assert along(build, *shapes) == expected


@pytest.mark.parametrize("size", [2, 3, 7])
def test_no_element_stays_where_it_was(size: int) -> None:
    assert not (order_of(size) == np.arange(size)).any()
