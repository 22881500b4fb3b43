"""External functions that PrimFuncs call: those of C compute what compiled code does."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from tvm import tirx
from tvm.script import tirx as T

from relaxfuzz.compat import ir
from relaxfuzz.oracles.errors import Unsupported
from relaxfuzz.oracles.tensorir import translate
from relaxfuzz.oracles.tensorir.data import depends_on_data
from relaxfuzz.oracles.tensorir.intrinsics import NAMES, OF_C

from .native import assert_close, copies, run_native

NUMBERS = (-2.5, -1.5, -1, -0.5, -0.0, 0.0, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 8, float("nan"))
TWO = {"pow", "fmod", "atan2", "hypot", "copysign", "nextafter", "fmax", "fmin"}


def operands_of(name: str) -> int:
    function = OF_C[name][0]
    return 3 if function == "fma" else 2 if function in TWO else 1


def calling(name: str, dtype: str, kind: str = "tirx.call_pure_extern") -> tirx.PrimFunc:
    """Stores what the function gives for elements of three buffers."""
    count = len(NUMBERS)
    params = [tirx.decl_buffer((count,), dtype, letter) for letter in "ABCD"]
    i = tirx.Var("i", "int32")
    operands = [buffer[i] for buffer in params[: operands_of(name)]]
    call = tirx.call_intrin(dtype, kind, ir.StringImm(name), *operands)
    loop = tirx.For(i, 0, count, tirx.ForKind.SERIAL, tirx.BufferStore(params[3], call, [i]))
    return tirx.PrimFunc(params, loop)


def arguments(dtype: str) -> list[Any]:
    numbers = np.array(NUMBERS, dtype)
    return [numbers, numbers[::-1].copy(), np.roll(numbers, 5), np.zeros_like(numbers)]


def test_they_compute_what_those_of_the_library_do() -> None:
    funcs = {name: calling(name, dtype) for name, (_, dtype) in OF_C.items()}
    args = {name: arguments(dtype) for name, (_, dtype) in OF_C.items()}
    native = run_native(funcs, {name: copies(values) for name, values in args.items()})
    for name, func in funcs.items():
        translate(func)(*args[name])
        assert_close(native[name], args[name], name)


def test_each_has_a_meaning() -> None:
    assert all(callable(NAMES[function]) for function, _ in OF_C.values())
    assert not any(inspect.isclass(NAMES[function]) for function, _ in OF_C.values())


@pytest.mark.parametrize("kind", ["tirx.call_extern", "tirx.call_pure_extern"])
def test_both_kinds_of_calls_are_evaluated(kind: str) -> None:
    args = arguments("float32")
    func = calling("fabsf", "float32", kind)
    translate(func)(*args)
    np.testing.assert_array_equal(args[3], np.abs(args[0]))
    assert not depends_on_data(func)


@pytest.mark.parametrize(("name", "dtype"), [("fabsf", "float64"), ("mine", "float32")])
def test_others_are_named(name: str, dtype: str) -> None:
    i = tirx.Var("i", "int32")
    a = tirx.decl_buffer((4,), dtype, "A")
    call = tirx.call_intrin(dtype, "tirx.call_pure_extern", ir.StringImm(name), a[i])
    loop = tirx.For(i, 0, 4, tirx.ForKind.SERIAL, tirx.BufferStore(a, call, [i]))
    with pytest.raises(Unsupported, match=f"external function {name}"):
        translate(tirx.PrimFunc([a], loop))


@T.prim_func
def without_a_value(A: T.Buffer((1,), "float32")):
    T.evaluate(T.call_extern("float32", "fabsf", A[0]))


def test_a_call_whose_value_is_not_used_does_nothing() -> None:
    args = [np.ones(1, "float32")]
    translate(without_a_value)(*args)
    assert args[0] == 1


def test_float8_has_the_bits_of_an_integer() -> None:
    @T.prim_func
    def bits(A: T.Buffer((4,), "float8_e4m3fn"), B: T.Buffer((4,), "uint8")):
        for i in range(4):
            B[i] = T.reinterpret("uint8", A[i])

    array = np.array([0, 56, 57, 184], "uint8")  # 0, 1, 1.125, -1
    args = [array.view(NAMES["float8_e4m3fn"]), np.zeros(4, "uint8")]
    translate(bits)(*args)
    np.testing.assert_array_equal(args[1], array)
