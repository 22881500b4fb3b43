"""PrimFuncs behind the packed API are evaluated with the arguments of the PrimFunc before."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from relaxfuzz import evaluate, sanitize
from relaxfuzz.generators.stages import Stage, advance
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.errors import Mismatch, Unsupported
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.silence.log import answers
from relaxfuzz.oracles.tensorir.packed_api import parameters
from relaxfuzz.oracles.values.inputs import Kind, drawn
from relaxfuzz.oracles.violation import Case
from tests.oracles import packed_faults
from tests.oracles.packed_faults import FAULTS, Plain, bound


def arguments() -> list[Any]:
    a = np.arange(12).reshape(3, 4).astype(ml_dtypes.bfloat16) / 8
    return [a, 3, np.zeros((3, 4), "float32"), 1.5, np.ones((3, 4), "float32"), True]


@pytest.mark.parametrize("stage", [Stage.PACKED, Stage.HOST_LOWERED])
def test_it_computes_what_compiled_code_does(stage: Stage) -> None:
    args = arguments()
    results = evaluate(advance(Plain, stage), "main", args)
    given = [tvm.runtime.tensor(x) if isinstance(x, np.ndarray) else x for x in args]
    tirx.build(Plain, target="llvm")["main"](*given)
    compiled = [x.numpy() for x in given if isinstance(x, tvm.runtime.Tensor)]
    for one, other in zip(results, compiled, strict=True):
        np.testing.assert_allclose(one.astype("float32"), other.astype("float32"), rtol=1e-6)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, np.zeros((3, 4), "float16"), "Mismatched A.dtype on argument #0"),
        (1, 1.5, "Mismatched type on argument #1"),
        (1, np.zeros((3, 4), "float32"), "Mismatched type on argument #1"),
        (2, 1, "Mismatched type on argument #2"),
        (2, np.zeros((4, 3), "float32"), r"Invalid B.shape\[0\] on argument #2"),
        (4, np.zeros((3, 4, 1), "float32"), "Mismatched C.ndim on argument #4"),
    ],
)
def test_assertions_are_evaluated(place: int, value: Any, message: str) -> None:
    args = arguments()
    args[place] = value
    with pytest.raises(Mismatch, match=message):
        evaluate(advance(Plain, Stage.PACKED), "main", args)


def test_the_number_of_arguments_is_one_of_them() -> None:
    packed = advance(Plain, Stage.PACKED)
    for args in (arguments()[:-1], [*arguments(), 1]):
        with pytest.raises(Mismatch, match=r"[Ee]xpected 6 arguments"):
            evaluate(packed, "main", args)


def test_a_size_is_one_of_its_tensors() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(a: T.handle, b: T.handle):
            n = T.int64()
            A = T.match_buffer(a, (n,), "int32")
            B = T.match_buffer(b, (n + 1,), "int32")
            for i in range(n):
                B[i + 1] = A[i] * 2

    packed = advance(Module, Stage.PACKED)
    a, b = np.arange(3, dtype="int32"), np.zeros(4, "int32")
    np.testing.assert_array_equal(evaluate(packed, "main", [a, b])[1], [0, 0, 2, 4])
    with pytest.raises(Mismatch, match="shape"):
        evaluate(packed, "main", [a, b[:3]])


def test_memory_of_its_own_comes_from_the_runtime() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((300,), "float32"), B: T.Buffer((300,), "float32")):
            C = T.alloc_buffer((300,), "float32")
            for i in range(299):
                C[i] = A[i] * T.float32(2)
            for i in range(300):
                B[i] = C[299 - i]

    lowered = advance(Module, Stage.HOST_LOWERED)
    assert "TVMBackendAllocWorkspace" in str(lowered["main"])
    given = np.arange(300, dtype="float32")
    _, made = evaluate(lowered, "main", [given, np.zeros(300, "float32")])
    np.testing.assert_array_equal(made[1:], given[:299][::-1] * 2)
    assert abs(made[0]) > 1e12


def test_an_empty_tensor_has_the_strides_of_the_runtime() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((2, 0, 3), "float32"), B: T.Buffer((1,), "float32")):
            B[0] = T.float32(1)

    empty = np.zeros((2, 0, 3), "float32")
    assert tvm.runtime.tensor(empty).strides == (0, 3, 1)
    _, made = evaluate(advance(Module, Stage.PACKED), "main", [empty, np.zeros(1, "float32")])
    assert made == 1


def test_what_is_not_known_is_named() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "int32")):
            T.evaluate(T.call_packed("user.function", A.data, B.data))

    packed = tirx.transform.MakePackedAPI()(bound(Module))
    args = [np.zeros(4, "float32"), np.zeros(4, "int32")]
    for mod in (packed, tirx.transform.LowerTVMBuiltin()(packed)):
        with pytest.raises(Unsupported, match=r"function user\.function"):
            evaluate(mod, "main", args)


@I.ir_module
class Sorted:
    """The numbers of each row but the first, sorted, by a function of the runtime."""

    @T.prim_func
    def main(A: T.Buffer((3, 4), "float32"), B: T.Buffer((2, 4), "int32")):
        T.evaluate(
            T.tvm_call_packed(
                "tvm.contrib.sort.argsort",
                T.tvm_stack_make_array(
                    A.data, T.tvm_stack_make_shape(2, 4), 0, 2, T.float32(0), T.int64(4)
                ),
                T.tvm_stack_make_array(
                    B.data, T.tvm_stack_make_shape(2, 4), 0, 2, T.int32(0), T.int64(0)
                ),
                1,
                T.bool(False),
            )
        )


def test_calls_whose_arguments_are_on_the_stack() -> None:
    lowered = advance(Sorted, Stage.HOST_LOWERED)
    assert "call_packed_lowered" in str(lowered["main"])
    numbers = np.random.default_rng(0).permutation(12).reshape(3, 4).astype("float32")
    _, order = evaluate(lowered, "main", [numbers, np.zeros((2, 4), "int32")])
    np.testing.assert_array_equal(order, np.argsort(-numbers[1:], axis=1))


@pytest.mark.parametrize(("name", "wrong"), [("calls", 0), ("forgets_where_arrays_begin", 1)])
def test_values_of_such_calls_are_compared(name: str, wrong: int) -> None:
    packed = advance(Sorted, Stage.PACKED)
    call = packing(name, "tirx.LowerTVMBuiltin")
    with answers() as given:
        found = check(Case(packed, (call,)), oracles=("evaluated",))
    assert len(found) == wrong
    assert wrong or given["evaluated"].silent is None


def test_other_parameters_than_those_of_the_packed_api_are_named() -> None:
    func = advance(Plain, Stage.PACKED)["main"]
    fewer = tirx.PrimFunc(func.params[:1], tirx.Evaluate(0), attrs=func.attrs)
    for what in (parameters, lambda func: evaluate(tvm.IRModule({"main": func}), "main", [])):
        with pytest.raises(Unsupported, match="1 parameters of a function of the packed API"):
            what(fewer)


def test_kernels_are_not_read() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((4,), "float32")):
            tx = T.launch_thread("threadIdx.x", 4)
            A[tx] = T.float32(1)

    target = tvm.target.Target({"kind": "vulkan"}, host="llvm")
    mod = tirx.transform.BindTarget(target)(Module)
    for each in (tirx.transform.SplitHostDevice(), tirx.transform.MakePackedAPI()):
        mod = each(mod)
    with pytest.raises(Unsupported, match="__tvm_set_device"):
        evaluate(mod, "main", [np.zeros(4, "float32")])


def packing(name: str, like: str = "tirx.MakePackedAPI") -> PassCall:
    factory = f"{packed_faults.__file__}:{name}"
    return PassCall(f"{name}()", factory=factory, like=like)


# Arguments are drawn behind it, too


def described(mod: tvm.IRModule) -> list[tuple[str, ...]]:
    return [
        (str(param.ty.dtype), *map(str, getattr(param.ty, "shape", ())))
        for param in parameters(mod["main"])
    ]


@pytest.mark.parametrize("stage", [Stage.PACKED, Stage.HOST_LOWERED])
def test_parameters_are_those_of_before(stage: Stage) -> None:
    floats = ("float32", "3", "4")
    expected = [("bfloat16", "3", "4"), ("int32",), floats, ("float32",), floats, ("bool",)]
    assert described(advance(Plain, stage)) == expected


@I.ir_module
class Sized:
    """Its sizes are those of a tensor and a number."""

    @T.prim_func
    def main(a: T.handle, b: T.handle, k: T.int64):
        n = T.int64()
        A = T.match_buffer(a, (n,), "int32")
        B = T.match_buffer(b, (n + 1, k), "int32")
        for i, j in T.grid(n, k):
            B[i + 1, j] = A[i] * 2 + T.Cast("int32", j)


def test_sizes_are_the_same_wherever_they_appear() -> None:
    packed = advance(Sized, Stage.PACKED)
    assert described(packed) == [("int32", "n"), ("int32", "n + T.int64(1)", "k"), ("int64",)]
    for seed in range(5):
        a, b, k = drawn(packed["main"], Kind.WHOLE, seed)
        assert b.shape == (a.shape[0] + 1, k)
        evaluate(packed, "main", [a, b, k])


def test_an_argument_that_is_read_in_another_way_is_named() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((4,), "float32"), p: T.handle):
            A[0] = T.if_then_else(T.isnullptr(p), T.float32(0), T.float32(1))

    with pytest.raises(Unsupported, match=r"arguments \[1\] behind the packed API"):
        drawn(advance(Module, Stage.PACKED)["main"], Kind.WHOLE)


@pytest.mark.parametrize(("name", "wrong"), [("lowers", 0), ("lowers_to_another_intrinsic", 1)])
def test_values_of_passes_behind_it_are_compared(name: str, wrong: int) -> None:
    mod = advance(Plain, Stage.PACKED)
    with answers() as given:
        found = check(Case(mod, (packing(name, "tirx.LowerIntrin"),)), oracles=("evaluated",))
    assert len(found) == wrong
    assert wrong or given["evaluated"].silent is None


def test_what_an_intrinsic_of_llvm_gives_is_a_vector_where_its_operands_are() -> None:
    """Of a vector that goes to one element the last scalar stays."""

    @I.ir_module
    class Module:
        @T.prim_func
        def main(
            A: T.Buffer((3,), "float32", layout=None), B: T.Buffer((2,), "float32", layout=None)
        ):
            B[T.Broadcast(0, 3)] = T.floor(A[T.Ramp(0, 1, 3)])
            B[T.Broadcast(1, 3)] = A[T.Ramp(0, 1, 3)] * A[T.Ramp(0, 1, 3)] + A[T.Ramp(0, 1, 3)]

    lowered = advance(Module, Stage.HOST_LOWERED)
    assert "llvm.floor" in lowered.script()
    a, b = np.array([1.5, 2.5, 3.5], "float32"), np.zeros(2, "float32")
    np.testing.assert_array_equal(evaluate(lowered, "main", [a, b])[1], [3, 15.75])


def test_bfloat16_is_stored_as_integers() -> None:
    legal = PassCall("tirx.transform.BF16StorageLegalize()")
    mod = tirx.transform.MakePackedAPI()(bound(Plain))
    with answers() as given:
        assert check(Case(mod, (legal,)), oracles=("evaluated", "signature")) == []
    assert given["evaluated"].silent is None


def test_the_sanitizer_does_not_know_it() -> None:
    packed = advance(Plain, Stage.PACKED)["main"]
    with pytest.raises(Unsupported, match="behind the packed API"):
        sanitize(packed, arguments())


@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_pass_is_caught(name: str) -> None:
    (found,) = check(Case(bound(Plain), (packing(name),)), oracles=("evaluated",))
    assert found.oracle == "evaluated"


@pytest.mark.parametrize("oracle", ["evaluated", "well-formed", "functions", "sanitized"])
def test_a_right_pass_is_not_blamed(oracle: str) -> None:
    own = check(Case(bound(Plain), (packing("packs"),)), oracles=(oracle,))
    tvms = PassCall("tirx.transform.MakePackedAPI()")
    assert (own, check(Case(bound(Plain), (tvms,)), oracles=(oracle,))) == ([], [])


@I.ir_module
class OfElements:
    @T.prim_func(private=True)
    def kernel(data: T.handle("int32", "global")):
        T.func_attr({"target": T.target("llvm")})
        one = T.decl_buffer((1,), "int32", data=data, layout=None)
        one[0] = 5

    @T.prim_func
    def main(out: T.Buffer((3,), "int32")):
        T.func_attr({"target": T.target("llvm", host="llvm")})
        for i in range(1, 3):
            OfElements.kernel(T.address_of(out[i]))


def test_a_view_of_an_element_begins_there_once() -> None:
    args = [np.zeros(3, "int32")]
    for mod in (OfElements, tirx.transform.MakePackedAPI()(OfElements)):
        (result,) = evaluate(mod, "main", args)
        assert result.tolist() == [0, 5, 5]
