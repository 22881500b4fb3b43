"""Arguments of every kind: deterministic, in range, as small or as odd as they are meant to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.oracles.errors import TooLarge, Unsupported
from relaxfuzz.oracles.expected import inputs
from relaxfuzz.oracles.expected.inputs import InputKind, drawn
from relaxfuzz.oracles.expected.recipes import MOST


@I.ir_module
class Module:
    @R.function
    def floats(x: R.Tensor((64,), "float32")) -> R.Tensor((64,), "float32"):
        return x

    @R.function
    def whole(
        x: R.Tensor((64,), "int64"), y: R.Tensor((64,), "int8"), z: R.Tensor((64,), "uint8")
    ) -> R.Tensor((64,), "int64"):
        return x

    @R.function
    def symbolic(
        x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("n * 4 + 1",), "bool"), s: R.Shape(["m"])
    ) -> R.Tensor(("n", "m"), "float32"):
        return x

    @R.function
    def indexed(
        x: R.Tensor((2, 5), "float32"), i: R.Tensor((64,), "int32"), p: R.Prim("int64")
    ) -> R.Tensor((2, 64), "float32"):
        return R.take(x, i, axis=1)

    @R.function
    def untyped(x: R.Tensor) -> R.Tensor:
        return R.add(x, R.const(1, "int32"))

    @R.function
    def callback(f: R.Callable((R.Any,), R.Any)) -> R.Tuple():
        return R.tuple()


def draw(name: str, kind: InputKind, seed: int = 0, **sizes: int) -> list[Any]:
    return drawn(Module[name], kind, seed, sizes)


@pytest.mark.parametrize("kind", InputKind)
def test_the_same_draw_gives_the_same(kind: InputKind) -> None:
    for one, other in zip(draw("whole", kind), draw("whole", kind), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        (InputKind.WHOLE, -3, 3),
        (InputKind.POSITIVE, 1, 3),
        (InputKind.NEGATIVE, -3, -1),
        (InputKind.FRACTION, -0.875, 0.875),
    ],
)
def test_floats_are_small_multiples_of_an_eighth(kind: InputKind, low: float, high: float) -> None:
    (x,) = draw("floats", kind)
    assert (x.min(), x.max()) == (low, high)
    assert (x * 8 == np.round(x * 8)).all()


def test_special_values_are_there() -> None:
    (x,) = draw("floats", InputKind.SPECIAL)
    assert np.isnan(x).any()
    assert np.isposinf(x).any()
    assert np.isneginf(x).any()
    assert (np.signbit(x) & (x == 0)).any()


def test_extremes_of_short_integers_only() -> None:
    x, y, z = draw("whole", InputKind.BOUNDARY)
    assert set(x) == {-1, 0, 1}
    assert set(y) == {-128, -1, 0, 1, 127}
    assert set(z) == {0, 1, 255}


def test_long_integers_that_are_equal_as_float32() -> None:
    x = draw("whole", InputKind.FRACTION)[0]
    assert (x.astype("float32").astype("int64") != x).any()


def test_whole_tensors_of_ends() -> None:
    x, y, z = draw("whole", InputKind.ENDS)
    assert set(x) == {-(2**63), 2**63 - 1}
    assert set(y) == {-128, 127}
    assert set(z) == {0, 255}
    (f,) = draw("floats", InputKind.ENDS)
    assert 0 < np.abs(f[f != 0]).min() < np.finfo("float32").tiny


def test_then_all_are_at_one_end() -> None:
    """Their sums overflow, and their differences do not."""
    x, y, z = draw("whole", InputKind.ENDS, len(InputKind))
    assert set(x) == {2**63 - 1, 2**63 - 2}
    assert set(y) == {126, 127}
    assert set(z) == {254, 255}


def test_in_turn_one_tensor_is_extreme() -> None:
    x, y, z = draw("whole", InputKind.ENDS, 2 * len(InputKind))
    assert set(x) == {2**63 - 1, 2**63 - 2}
    assert set(y) == {0, 1}
    assert set(z) == {254, 255}
    x, y, _ = draw("whole", InputKind.ENDS, 3 * len(InputKind))
    assert set(x) == {0, 1}
    assert set(y) == {126, 127}


def test_integers_that_floats_round() -> None:
    x, y, _ = draw("whole", InputKind.PRECISION)
    for dtype in ("float16", "float32", "float64"):
        with np.errstate(all="ignore"):
            assert (x.astype(dtype).astype("float64").astype("int64") != x).any()
    assert 2**53 < np.abs(x).max() < 2**54
    assert set(y) == {127}
    (f,) = draw("floats", InputKind.PRECISION)
    assert set(np.abs(f)) == {2.0**24, 2.0**24 - 1}


def test_sizes_vary_and_fit_together() -> None:
    sizes = set()
    for seed in range(8):
        x, y, s = draw("symbolic", InputKind.WHOLE, seed)
        assert y.shape == (4 * x.shape[0] + 1,)
        assert s == (x.shape[1],)
        sizes.add(x.shape)
    assert len(sizes) > 3
    assert draw("symbolic", InputKind.BOUNDARY)[0].shape == (1, 1)
    assert draw("symbolic", InputKind.EMPTY)[0].shape[0] == 0
    assert draw("symbolic", InputKind.WHOLE, n=7)[0].shape[0] == 7


@pytest.mark.parametrize("kind", [kind for kind in InputKind if kind is not InputKind.OUTSIDE])
def test_indices_are_in_range(kind: InputKind) -> None:
    _, indices, number = draw("indexed", kind)
    assert 0 <= indices.min() <= indices.max() < 5
    assert isinstance(number, int)


def test_small_differences_of_large_numbers() -> None:
    (x,) = draw("floats", InputKind.DISTANT)
    assert abs(x.mean(dtype="float64") - 1024) < 0.1
    assert 0 < x.std(dtype="float64") < 0.1
    in_one_go = (x * x).mean(dtype="float32") - x.mean(dtype="float32") ** 2
    assert abs(in_one_go / x.var(dtype="float64") - 1) > 0.5
    _, y, z = draw("whole", InputKind.DISTANT)
    assert set(y) == set(z) == {100, 101, 102, 103}


@I.ir_module
class Numbers:
    @T.prim_func
    def counts(n: T.int32, A: T.Buffer((8,), "float32")):
        for i in range(n):
            A[i % 8] = T.float32(0)

    @T.prim_func
    def values(n: T.int32, A: T.Buffer((1,), "int32")):
        A[0] = n

    @T.prim_func
    def sizes(n: T.int32, A: T.handle):
        B = T.match_buffer(A, (n,), "float32")
        B[0] = T.float32(0)


def numbers(name: str, kind: InputKind) -> set[int]:
    return {drawn(Numbers[name], kind, draw * 2 * len(InputKind))[0] for draw in range(30)}


def test_numbers_that_are_parameters_are_of_all_kinds() -> None:
    assert (
        numbers("values", InputKind.BOUNDARY) == numbers("counts", InputKind.BOUNDARY) == {0, 1, -1}
    )
    assert numbers("values", InputKind.EMPTY) == {0}
    assert max(numbers("values", InputKind.NEGATIVE)) < 0
    assert numbers("values", InputKind.ENDS) == {-(2**31), -(2**31) + 1, 2**31 - 2, 2**31 - 1}
    near = numbers("values", InputKind.PRECISION)
    assert {2**16 - 1, 2**16 + 1, -(2**24)} & near


def test_numbers_of_iterations_and_sizes_stay_small() -> None:
    for kind in InputKind:
        assert max(numbers("counts", kind)) <= 33
        assert {0, 1, 2, 3, 4} >= numbers("sizes", kind)


def test_every_second_draw_suits_as_a_size() -> None:
    for kind in InputKind:
        assert 0 <= drawn(Numbers["values"], kind, len(InputKind))[0] <= 4


def test_an_unknown_dtype_is_that_of_the_other_tensors() -> None:
    """Operators on two dtypes are not defined."""
    (x,) = draw("untyped", InputKind.WHOLE)
    assert x.dtype == "int32"


def test_what_cannot_be_drawn_is_named() -> None:
    with pytest.raises(Unsupported, match="FuncType"):
        draw("callback", InputKind.WHOLE)


def test_functions_of_the_module_are_well_formed() -> None:
    assert tvm.relax.analysis.check_well_formed(Module)


def test_no_tensor_has_a_negative_extent() -> None:
    x = relax.Var("x", relax.TensorType((-1, 2), "float32"))
    func = relax.Function([x], relax.SeqExpr([], x), x.ty)
    with pytest.raises(Unsupported, match=r"dimension .* is negative"):
        drawn(func, InputKind.WHOLE, 0, {})


def test_too_many_elements_are_refused_before_any_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "random", lambda *args: pytest.fail("numbers are drawn"))
    one, other = (relax.Var(name, relax.TensorType((MOST,), "int8")) for name in "xy")
    func = relax.Function([one, other], relax.SeqExpr([], one), one.ty)
    with pytest.raises(TooLarge, match=str(MOST)):
        drawn(func, InputKind.WHOLE)


def test_an_axis_that_is_not_there_bounds_nothing() -> None:
    data, indices = (
        relax.Var(name, relax.TensorType((2, 3), dtype))
        for name, dtype in (("data", "float32"), ("indices", "int64"))
    )
    builder = relax.BlockBuilder()
    with builder.function("main", [data, indices]):
        scattered = relax.op.scatter_elements(data, indices, data, axis=5)
        builder.emit_func_output(builder.emit(scattered))
    assert drawn(builder.get()["main"], InputKind.WHOLE)[1].shape == (2, 3)


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_only_one_integer_of_less_than_a_byte_is_drawn(dtype: str) -> None:
    one, more = (relax.Var("x", relax.TensorType((size,), dtype)) for size in (1, 3))
    for kind in InputKind:
        (array,) = drawn(relax.Function([one], relax.SeqExpr([], one), one.ty), kind)
        assert array.dtype.name == dtype
    with pytest.raises(Unsupported, match=f"a parameter of {dtype}"):
        drawn(relax.Function([more], relax.SeqExpr([], more), more.ty), InputKind.WHOLE)
