"""Buffers whose elements are vectors: the scalars of an element are the last axis of its array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm.script import ir as I
from tvm.script import tirx as T

from relaxfuzz import evaluate
from relaxfuzz.compat import ir
from relaxfuzz.generators.prim_funcs import is_well_formed
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.errors import Mismatch, Unsupported
from relaxfuzz.oracles.execute.device import execute_on
from relaxfuzz.oracles.expected.expectation import Expectation
from relaxfuzz.oracles.expected.inputs import InputKind, drawn
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.snippets.short_value_checks import on_one_device
from relaxfuzz.oracles.tensorir import sanitize
from relaxfuzz.oracles.tensorir.sanitizer.runtime import UNWRITTEN
from relaxfuzz.oracles.tiers import ORACLES
from relaxfuzz.oracles.violation import Case

from .against_llvm import EQUAL, compared


@I.ir_module
class Plain:
    """Vectors of the caller's and of its own, rows of scalars, and a scalar in each lane."""

    @T.prim_func
    def main(
        A: T.Buffer((3, 2), "float32x4"),
        B: T.Buffer((3, 8), "float32"),
        C: T.Buffer((3, 2), "float32x4"),
    ):
        D = T.alloc_buffer((3, 2), "float32x4")
        for i, j in T.grid(3, 2):
            D[i, j] = A[i, 1 - j] * B[i, T.Ramp(j * 4, 1, 4)] + T.Broadcast(B[i, j], 4)
        for i, j in T.grid(3, 2):
            C[i, j] = T.max(D[2 - i, j], T.Broadcast(T.float32(0), 4)) + A[i, j]


@I.ir_module
class Blocks:
    """A sum over vectors, of a size that the caller chooses."""

    @T.prim_func(s_tir=True)
    def main(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 3), "int32x2")
        B = T.match_buffer(b, (n,), "int32x2")
        for i, k in T.grid(n, 3):
            with T.sblock("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.Broadcast(0, 2)
                B[vi] = B[vi] + T.Select(A[vi, vk] < T.Broadcast(1, 2), A[vi, vk], T.Ramp(5, -3, 2))


@I.ir_module
class Halves:
    """Vectors of bfloat16, which are computed in float32 and stored as integers."""

    @T.prim_func
    def main(A: T.Buffer((5,), "bfloat16x4"), B: T.Buffer((5,), "bfloat16x4")):
        for i in range(5):
            B[i] = A[4 - i] * A[i] + T.Broadcast(T.bfloat16(1), 4)


def numbers(*shape: int, dtype: str = "float32") -> Any:
    return (np.arange(np.prod(shape)).reshape(shape) - 7).astype(dtype)


@pytest.mark.parametrize("mod", [Plain, Blocks, Halves])
def test_each_stage_computes_what_compiled_code_does(mod: tvm.IRModule) -> None:
    assert is_well_formed(mod)
    (one,) = compared(mod)
    assert set(one.stages.values()) == {EQUAL}, one


def test_arguments_have_the_scalars_in_their_last_axis() -> None:
    a, b, c = drawn(Plain["main"], InputKind.WHOLE)
    assert (a.shape, b.shape, c.shape) == ((3, 2, 4), (3, 8), (3, 2, 4))
    with pytest.raises(Mismatch):
        evaluate(Plain, "main", [a.reshape(6, 4), b, c])


def test_what_was_loaded_stays_as_it_is() -> None:
    @I.ir_module
    class Swap:
        @T.prim_func
        def main(A: T.Buffer((2,), "int32x4")):
            first: T.let[T.int32x4] = A[0]
            A[0] = A[1]
            A[1] = first

    (made,) = evaluate(Swap, "main", [numbers(2, 4, dtype="int32")])
    np.testing.assert_array_equal(made, [[-3, -2, -1, 0], [-7, -6, -5, -4]])


def test_vectors_of_vectors_are_not_known() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((4,), "float32x2"), B: T.Buffer((8,), "float32")):
            B[T.Ramp(0, 1, 8)] = A[T.Ramp(0, 1, 4)]

    with pytest.raises(Unsupported, match="vectors of elements of dtype float32x2"):
        evaluate(Module, "main", [numbers(4, 2), numbers(8)])


def test_an_output_of_which_an_element_is_left() -> None:
    @T.prim_func
    def most(A: T.Buffer((3,), "float32x4")):
        for i in range(2):
            A[i] = T.Broadcast(T.float32(1), 4)

    fault = sanitize(most, [numbers(3, 4)], outputs=[0])
    assert fault is not None
    assert (fault.kind, fault.buffer, fault.index, fault.shape) == (UNWRITTEN, "A", (2,), (3,))


def test_a_wrong_vector_is_found_and_compiled_code_shows_it() -> None:
    case = Case(Plain, (PassCall("Subtracts()", factory=f"{__name__}:subtracts"),))
    (found,) = check(case, oracles=("evaluated",))
    assert found.key == ("values", "a PrimFunc")
    brief = ORACLES["evaluated"].checks(case, found, brief=True)
    text = next(iter(brief))
    assert "_create_view" in text
    assert "relaxfuzz" not in text
    names = {"np": np, "tvm": tvm, "mod": Plain, "the_pass": subtracts()}
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        exec(compile(text, "<check>", "exec", dont_inherit=True), names)


def subtracts() -> tvm.transform.Pass:
    """It subtracts where the module adds."""

    def changed(add: Any, mutator: Any) -> Any:
        add = mutator.default_mutate(add)
        return ir.Sub(add.a, add.b)

    def transform(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        funcs = {
            gvar: tvm_ffi.structural_mutate(func, [(ir.Add, changed)])
            for gvar, func in mod.functions_items()
        }
        return tvm.IRModule(funcs)

    return tvm.transform.module_pass(transform, opt_level=0, name="Subtracts")


def test_compiled_code_is_given_vectors() -> None:
    args = [numbers(3, 2, 4), numbers(3, 8), numbers(3, 2, 4)]
    result = evaluate(Plain, "main", [each.copy() for each in args])
    (made,) = execute_on("llvm", Plain, "main", [args])
    for one, other in zip(made, result, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_reproducer_gives_vectors_to_compiled_code() -> None:
    args = [numbers(3, 2, 4), numbers(3, 8), numbers(3, 2, 4)]
    call = Expectation(Plain, "main", args, evaluate(Plain, "main", [each.copy() for each in args]))
    (text,) = on_one_device(call, ["main"], "llvm", None, runs=True)
    space = {"np": np, "tvm": tvm, "mod": Plain, "the_pass": lambda mod: mod}
    exec(text, space)
    assert isinstance(space["actual"], list)
