"""Planted faults: each mutation alters a module, oracles report it, a silence has a name."""

from __future__ import annotations

from random import Random

import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from bench.judge.live import live_sites
from bench.judge.measure import MUTATIONS, Fault, faults, judged
from bench.judge.mutation import Changes, drawn
from bench.judge.planted import planted, thorough, usual
from bench.judge.samples import Sample
from bench.judge.truth import UNKNOWN, truth
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.pass_runs import digest
from relaxfuzz.oracles.passcall import PassCall


@I.ir_module
class Model:
    I.module_attrs({"answer": 42})
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})

    @T.prim_func(private=True, s_tir=True)
    def difference(
        a: T.Buffer((2, 3), "float32"),
        b: T.Buffer((2, 3), "float32"),
        c: T.Buffer((2, 3), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(2, 3):
            with T.sblock("block"):
                vi, vj = T.axis.remap("SS", [i, j])
                c[vi, vj] = a[vi, vj] - b[vi, vj]

    @T.prim_func(private=True, s_tir=True)
    def quotient(
        a: T.Buffer((2, 3), "float32"),
        b: T.Buffer((2, 3), "float32"),
        c: T.Buffer((2, 3), "float32"),
    ):
        for i, j in T.grid(2, 3):
            with T.sblock("block"):
                vi, vj = T.axis.remap("SS", [i, j])
                c[vi, vj] = a[vi, vj] / b[vi, vj]

    @R.function
    def main(
        x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32"), flag: R.Tensor((), "bool")
    ):
        R.func_attr({"num_input": 2})
        cls = Model
        with R.dataflow():
            dead = R.subtract(y, x)  # noqa: F841
            a = R.subtract(x, y)
            b = R.multiply(a, R.const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "float32"))
            both = (a, b)
            second = both[1]
            c = R.call_tir(cls.difference, (second, x), out_ty=R.Tensor((2, 3), "float32"))
            d = R.strided_slice(c, (1,), (0,), (2,), assume_inbound=False)
            e = R.sum(R.clip(d, 0, 3), axis=[1], keepdims=True)
            R.output(c, e)
        if flag:  # noqa: SIM108
            f = R.add(c, x)
        else:
            f = R.subtract(c, x)
        return (f, c, e)

    @R.function(pure=False)
    def printing(x: R.Tensor((2, 3), "float32"), unused: R.Tensor((2, 3), "float32")):
        a = R.negative(x)
        _ = R.print(x, format="{}")
        _1 = R.print(a, format="{}")
        return a

    @R.function
    def moved(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32", "llvm:1"):
        return R.to_vdevice(x, "llvm:1")


@I.ir_module
class Kernels:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(4, 8):
            with T.sblock("reduce"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vj]

    @T.prim_func
    def other(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32"), n: T.int32):
        assert n < 100, "n is too large"
        C = T.alloc_buffer((6,), "int32")
        for i in range(6):
            C[i] = A[i] * 2 - n
        for i in range(6):
            if i < 4:
                B[i] = C[i] + 1
            else:
                B[i] = C[5 - i]

    @T.prim_func
    def on_threads(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        thread = T.launch_thread("threadIdx.x", 32)
        S = T.alloc_buffer((32,), "float32", scope="shared")
        S[thread] = A[thread]
        T.evaluate(T.tvm_storage_sync("shared"))
        B[thread] = S[31 - thread]


TO_NON_DATAFLOW = PassCall("ToNonDataflow()")


@pytest.mark.parametrize("kind", MUTATIONS)
def test_each_kind_of_mutation_alters_a_module(kind: str) -> None:
    found = [
        (mod, made)
        for mod in (Model, Kernels)
        if (made := drawn(MUTATIONS[kind], mod, Random(0))) is not None
    ]
    assert found
    for mod, made in found:
        assert digest(made) != digest(mod)
        assert digest(drawn(MUTATIONS[kind], mod, Random(0))) == digest(made)


def judge(kind: str, mod: tvm.IRModule = Model, call: PassCall = TO_NON_DATAFLOW) -> Fault:
    sample = Sample(Stage.RAW, mod, call, call.run(mod))
    altered = drawn(MUTATIONS[kind], sample.result, Random(1))
    assert altered is not None
    return judged(Fault("relax", 0, str(call), kind), sample, altered)


@pytest.mark.parametrize(
    ("kind", "oracle"),
    [
        ("operands swapped", "evaluated"),
        ("effect lost", "effects"),
        ("definition lost", "well-formed"),
        ("function renamed", "functions"),
        ("parameter lost", "signature"),
        ("module's attribute lost", "attributes"),
    ],
)
def test_a_fault_of_each_sort_is_reported(kind: str, oracle: str) -> None:
    assert oracle in judge(kind).usual


@pytest.mark.parametrize("expr", ["LazyGetInput()", "AnnotateTIROpPattern()"])
def test_a_lost_function_is_reported_although_the_post_condition_looks_for_it(expr: str) -> None:
    assert "functions" in judge("function renamed", Model, PassCall(expr)).usual


def test_a_right_result_is_not_reported() -> None:
    call = planted(TO_NON_DATAFLOW, Model, TO_NON_DATAFLOW.run(Model))
    assert usual(call, Model).oracles == ()
    assert thorough(call, Model).oracles == ()


@I.ir_module
class Unknown:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
        z = R.call_pure_packed("some.library", x, ty_args=R.Tensor((2, 3), "float32"))
        return R.subtract(z, y)


def test_a_silence_has_the_name_of_its_rule() -> None:
    """The evaluator knows nothing of the library."""
    fault = judge("operands swapped", Unknown, PassCall("ConvertToDataflow(min_size=1)"))
    assert (fault.reported, fault.truth, fault.rule) == (False, UNKNOWN, "unknown")


def test_an_unused_operand_makes_no_difference() -> None:
    result = TO_NON_DATAFLOW.run(Model)
    call = planted(TO_NON_DATAFLOW, Model, result)
    assert truth(Model, call, result, result) != Changes.VALUE
    names = [str(site.var.name) for site in live_sites(result["main"])]
    assert "dead" not in names
    assert {"a", "b", "second", "c"} <= set(names)


def test_the_same_seed_plants_the_same_faults() -> None:
    def planted_faults() -> list[tuple[str, str]]:
        some = {kind: MUTATIONS[kind] for kind in ("operands swapped", "function lost")}
        found = faults("relax", 3, 4.0, kinds=some)
        return [(fault.call, fault.kind) for fault, _ in zip(found, range(3), strict=False)]

    assert planted_faults() == planted_faults() != []
