"""Every contract is well made, and every post-condition can fail."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tvm
from tvm import relax
from tvm.error import InternalError
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.compat import availability, ir
from relaxfuzz.generators.choices import Choices
from relaxfuzz.generators.stages import Stage, advance, step
from relaxfuzz.oracles.catalogue import (
    LEFT_OUT,
    by_name,
    catalogue,
    dispatch,
    fusion,
    legalization,
    lowering,
    memory,
    new_passes,
    structure,
)
from relaxfuzz.oracles.contract import PassContract
from relaxfuzz.oracles.pass_runs import PassRuns
from relaxfuzz.oracles.passcall import PassCall, public_passes

HERE = (structure, dispatch, legalization, fusion, lowering, memory)
"""The families whose post-conditions are tried here; the others have test files of their own."""


def test_every_public_pass_is_covered_or_left_out() -> None:
    assert not new_passes(), "a pass of this TVM has no contract"
    known = set(catalogue) | set(LEFT_OUT)
    assert known >= set(public_passes())
    assert known - set(public_passes()) <= set(availability.current().passes)
    assert not set(catalogue) & set(LEFT_OUT)
    assert all(reason.strip() for reason in LEFT_OUT.values())


@I.ir_module
class SlidingWindow:
    @R.function
    def main(x: R.Tensor((2, 2, 2, 2), "float32")):
        with R.dataflow():
            gv = R.nn.attention(x, x, x, window_size=2)
            R.output(gv)
        return gv


def growing() -> tvm.IRModule:
    """The running mean of a batch_norm in training, with a momentum that is no share."""
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    parts = [relax.Var(name, relax.TensorType((3,), "float32")) for name in "abcd"]
    builder = relax.BlockBuilder()
    with builder.function("main", [x, *parts]):
        with builder.dataflow():
            normed = relax.op.nn.batch_norm(x, *parts, axis=1, momentum=-1.0, training=True)
            out = builder.emit_output(normed)
        builder.emit_func_output(out)
    return builder.finalize()


def kernel_layout() -> tvm.IRModule:
    """A loss of a convolution whose gradient is not registered for the layout of its kernel."""
    x = relax.Var("x", relax.TensorType((2, 2, 2, 2), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            made = builder.emit(relax.op.nn.conv2d(x, x, kernel_layout="HWIO"))
            loss = builder.emit_output(relax.op.sum(made))
        builder.emit_func_output(loss)
    return builder.finalize()


@I.ir_module
class GroupOfFunction:
    @R.function
    def main(f: R.Callable((R.Tensor((2,), "float32"),), R.Tensor((), "float32"), True)):
        R.func_attr({"Primitive": True})
        return f


@I.ir_module
class WithoutRootBlock:
    @T.prim_func(private=True)
    def nothing(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"Primitive": True})
        cls = WithoutRootBlock
        return R.call_tir(cls.nothing, (x,), out_ty=R.Tensor((2,), "float32"))


@I.ir_module
class WithoutCallTIR:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"Primitive": True})
        return R.negative(x)


@pytest.mark.parametrize(
    ("mod", "text"),
    [
        (SlidingWindow, "LegalizeOps()"),
        (SlidingWindow, "FoldConstant()"),
        (growing(), "LegalizeOps()"),
        (growing(), "FoldConstant()"),
        (kernel_layout(), "Gradient('main')"),
        (GroupOfFunction, "FuseTIR()"),
        (WithoutRootBlock, "FuseTIR()"),
        (WithoutCallTIR, "FuseTIR()"),
    ],
)
def test_what_is_refused_in_words_is_no_bug(mod: tvm.IRModule, text: str) -> None:
    call = PassCall(text)
    runs = PassRuns(mod, (call,), catalogue[call.name])
    assert runs.direct.error is not None
    assert runs.rejected(runs.direct.error)
    assert not runs.rejected(InternalError("Check failed: (defined) is false: it must be"))


def test_two_contracts_of_one_pass_are_refused() -> None:
    contract = catalogue["FuseOps"]
    with pytest.raises(ValueError, match="Duplicate contract of 'FuseOps'"):
        by_name([contract, contract])


@I.ir_module
class Model:
    """Something for every pass: calls of its functions, reshapes, constants, symbolic shapes."""

    @R.function(private=True)
    def twice(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        return R.add(x, x)

    @R.function
    def main(
        x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32"), s: R.Tensor(("n", 3))
    ) -> R.Tensor((6,), "float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            a = R.add(x, y)
            b = Model.twice(a)
            folded = R.add(R.const([1.0, 2.0, 3.0], "float32"), R.const([4.0, 5.0, 6.0], "float32"))
            d = R.exp(R.multiply(b, folded))
            e = R.reshape(d, (3, 2))
            f = R.nn.relu(e)
            gv = R.reshape(f, (6,))
            R.output(gv)
        return gv

    @R.function
    def dynamic(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n * 4",), "float32"):
        with R.dataflow():
            a = R.exp(x)
            b = R.flatten(a)
            R.output(b)
        return b


def test_contracts_are_well_made() -> None:
    for contract in catalogue.values():
        if contract.name not in availability.current().passes:
            assert_well_made(contract)


def assert_well_made(contract: PassContract) -> None:
    assert contract.stages
    assert len(set(contract.stages)) == len(contract.stages)
    for limit in (*contract.exemptions, *contract.rejections):
        assert limit.source.strip()
    assert contract.normal_form is None or contract.normal_form.source.strip()
    for data in (b"", bytes(range(40)), bytes(range(255, 155, -3))):
        call = contract.choose(Choices(data), Model)
        assert call == contract.choose(Choices(data), Model)
        if call is not None:
            assert call.name == contract.name
            assert isinstance(call.build(), tvm.transform.Pass)


Sample = tuple[tvm.IRModule, tvm.IRModule | None, PassCall]
"""A module, a result that breaks the promise (None: the module itself), and the call."""


def at(stage: Stage, mod: tvm.IRModule = Model) -> Callable[[], Sample]:
    """The pass that does nothing, on a module of the stage."""
    return lambda: (advance(mod, stage), None, PassCall("unused"))


@I.ir_module
class Impure:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.call_pure_packed("copy", x, ty_args=(R.Tensor((2,), "float32"),))


@I.ir_module
class Prim:
    @R.function
    def main(x: R.Prim("int64"), s: R.Shape(["n"])) -> R.Prim("int64"):
        n = T.int64()
        return R.prim_value(n * n + 1)


@I.ir_module
class Local:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        @R.function
        def inner(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return R.add(y, x)

        return inner(x)


@I.ir_module
class Normed:
    @R.function
    def main(
        x: R.Tensor((1, 2, 3, 3), "float32"),
        w: R.Tensor((2,), "float32"),
    ) -> R.Tensor((1, 2, 3, 3), "float32"):
        with R.dataflow():
            a = R.nn.batch_norm(x, w, w, w, w, axis=1)
            b = a[0]
            R.output(b)
        return b

    @R.function
    def other(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
        return R.exp(x)


@I.ir_module
class Sorted:
    @R.function
    def main(
        prob: R.Tensor((3, 5), "float32"),
        sample: R.Tensor((6, 1), "float32"),
        index: R.Tensor((6, 1), "int64"),
    ) -> R.Tuple(R.Tensor((3, 5), "float32"), R.Tensor((6, 1), "int64")):
        with R.dataflow():
            a = R.sort(prob)
            b = R.multinomial_from_uniform(prob, sample, index, dtype="int64")
            R.output(a, b)
        return (a, b)


@I.ir_module
class Placed:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global"), I.vdevice("llvm", 1)]})

    @T.prim_func(private=True, s_tir=True)
    def copy(a: T.Buffer((T.int64(2),), "float32"), b: T.Buffer((T.int64(2),), "float32")):
        for i in range(2):
            with T.sblock("copy"):
                v = T.axis.spatial(2, i)
                b[v] = a[v]

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            y = R.hint_on_device(x, R.device(1, 0), "global")
            z = R.call_tir(Placed.copy, (y,), out_ty=R.Tensor((2,), "float32"))
            R.output(z)
        return z


@I.ir_module
class Workspace:
    @R.function(private=True)
    def helper(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"Codegen": "some", "WorkspaceSize": 64})
        return x

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            y = Workspace.helper(x)
            R.output(y)
        return y


def legalized_although_skipped() -> Sample:
    """LegalizeOps that legalizes an operator although it is to be skipped."""
    return Model, advance(Model, Stage.LEGALIZED), PassCall("LegalizeOps(skip_ops=['relax.exp'])")


def ungrouped() -> Sample:
    before = advance(Model, Stage.ANNOTATED)
    after = step(before, "FuseOps")
    for gvar, func in after.functions_items():
        if isinstance(func, relax.Function) and "Primitive" in func.attrs:
            after = tvm.IRModule({**after.functions, gvar: func.without_attr("Primitive")})
    return before, after, PassCall("FuseOps()")


def overwritten_parameter() -> Sample:
    @I.ir_module
    class After:
        @T.prim_func(private=True, s_tir=True)
        def exp(a: T.Buffer((T.int64(2),), "float32")):
            for i in range(2):
                with T.sblock("exp"):
                    v = T.axis.spatial(2, i)
                    a[v] = T.exp(a[v])

        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            with R.dataflow():
                y = R.call_tir_inplace(
                    After.exp, (x,), inplace_indices=[0], out_ty=R.Tensor((2,), "float32")
                )
                R.output(y)
            return y

    return Impure, After, PassCall("DataflowUseInplaceCalls()")


def more_memory() -> Sample:
    @I.ir_module(check_well_formed=False)
    class After:
        @R.function(pure=False)
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            s = R.memory.alloc_storage(R.shape([8]), 0, "global", "float32")
            R.memory.kill_storage(s)
            return x

    return Model, After, PassCall("StaticPlanBlockMemory()")


def renamed() -> Sample:
    func = Impure["main"].with_attr("global_symbol", "another")
    mod = tvm.IRModule({relax.GlobalVar("main"): func})
    return mod, mod, PassCall("NormalizeGlobalVar()")


def nested() -> Sample:
    """A call inside a call."""
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    call = relax.op.add(relax.op.exp(x), x)
    mod = tvm.IRModule({"main": relax.Function([x], relax.SeqExpr([], call), x.ty)})
    return mod, mod, PassCall("Normalize()")


def device_forgotten() -> Sample:
    return Placed, Placed, PassCall("UpdateVDevice(relax.VDevice('llvm', 3), 1)")


def scope_forgotten() -> Sample:
    """A device of another memory scope than the buffers of the PrimFunc that is called."""
    tensor = relax.TensorType((2,), "float32", ir.VDevice("llvm", 0, "shared"))
    x = relax.Var("x", tensor)
    gvar = Placed.get_global_var("copy")
    call = relax.call_tir(gvar, (x,), tensor)
    main = relax.Function([x], relax.SeqExpr([], call), tensor)
    mod = tvm.IRModule({gvar: Placed["copy"], relax.GlobalVar("main"): main})
    return mod, mod, PassCall("SpecializePrimFuncBasedOnCallSite()")


def marked() -> Sample:
    """A PrimFunc with a block that is marked as layout rewrite."""
    schedule = tvm.s_tir.Schedule(tvm.IRModule({"main": Placed["copy"]}))
    schedule.annotate(schedule.get_sblock("copy"), "meta_schedule.layout_rewrite_preproc", True)
    return schedule.mod, schedule.mod, PassCall("SplitLayoutRewritePreproc()")


def test_a_public_layout_rewrite_stays_beside_its_parts() -> None:
    mod, _, call = marked()
    copy = mod["main"].with_attr("global_symbol", "copy")
    public = tvm.IRModule({"copy": copy})
    assert catalogue[call.name].post(public, public, call) is None
    when = next(e.when for e in catalogue[call.name].exemptions if e.oracle == "functions")
    assert when is not None
    assert when(public, call)
    assert not when(mod, call)


FAULTS: dict[str, Callable[[], Sample]] = {
    "AllocateWorkspace": at(Stage.RAW, Workspace),
    "AnnotateTIROpPattern": at(Stage.LEGALIZED),
    "AttachAttrLayoutFreeBuffers": at(Stage.LEGALIZED),
    "AttachExternModules": at(Stage.RAW),
    "AttachGlobalSymbol": at(Stage.LEGALIZED),
    "CallTIRRewrite": at(Stage.IMPERATIVE),
    "ComputePrimValue": at(Stage.RAW, Prim),
    "DataflowUseInplaceCalls": overwritten_parameter,
    "DecomposeOpsForInference": lambda: (Normed, None, PassCall("DecomposeOpsForInference()")),
    "DecomposeOpsForTraining": lambda: (Normed, None, PassCall("DecomposeOpsForTraining('main')")),
    "DispatchSampling": at(Stage.RAW, Sorted),
    "DispatchSortScan": at(Stage.RAW, Sorted),
    "FoldConstant": at(Stage.LEGALIZED),
    "FuseOps": ungrouped,
    "FuseTIR": at(Stage.FUSED),
    "InlinePrivateFunctions": at(Stage.RAW),
    "KillAfterLastUse": at(Stage.ALLOCATED),
    "LambdaLift": at(Stage.RAW, Local),
    "LegalizeOps": legalized_although_skipped,
    "LowerAllocTensor": at(Stage.PLANNED),
    "LowerRuntimeBuiltin": at(Stage.KILLED),
    "Normalize": nested,
    "NormalizeGlobalVar": renamed,
    "RealizeVDevice": at(Stage.RAW, Placed),
    "RemovePurityChecking": at(Stage.RAW, Impure),
    "RewriteCUDAGraph": lambda: (Model, Prim, PassCall("RewriteCUDAGraph()")),
    "RewriteDataflowReshape": at(Stage.LEGALIZED),
    "SpecializePrimFuncBasedOnCallSite": scope_forgotten,
    "SplitLayoutRewritePreproc": marked,
    "StaticPlanBlockMemory": more_memory,
    "ToNonDataflow": at(Stage.RAW),
    "UpdateVDevice": device_forgotten,
    "VMShapeLower": at(Stage.BUILTINS_LOWERED),
}
"""For each pass a result that its post-condition has to refuse."""

FAILS_ON_COMPOSITE_DIMENSIONS = {"SpecializePrimFuncBasedOnCallSite"}
"""TVM 0.27: an internal check fails where a buffer's dimension is `n * 4`."""

FAILS_WITHOUT_DEVICES = {"UpdateVDevice"}
"""TVM 0.27: the list of virtual devices is looked up in modules that have none."""

WITHOUT_POST = {"FuseTransposeMatmul"}
"""Passes of which nothing is promised but what every pass promises."""


def test_every_post_condition_is_tried() -> None:
    names = {contract.name for family in HERE for contract in family.CONTRACTS}
    assert set(FAULTS) | WITHOUT_POST == names


@pytest.mark.parametrize("name", FAULTS)
def test_post_conditions_refuse_a_faulty_result(name: str) -> None:
    before, after, call = FAULTS[name]()
    problem = catalogue[name].post(before, after or before, call)
    assert problem
    assert not any(character.isdigit() for character in problem.replace("max_depth", ""))


def test_a_kernel_of_a_device_is_no_constant_expression() -> None:
    @T.prim_func(private=True)
    def kernel(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for i in T.thread_binding(4, thread="threadIdx.x"):
            b[i] = a[i] + T.float32(1)

    builder = relax.BlockBuilder()
    with builder.function("main", []):
        with builder.dataflow():
            ones = relax.const([1.0] * 4, "float32")
            gvar = builder.add_func(kernel, "kernel")
            made = relax.call_tir(gvar, (ones,), relax.TensorType((4,), "float32"))
            out = builder.emit_output(made)
        builder.emit_func_output(out)
    mod, call = builder.get(), PassCall("FoldConstant()")
    after = call.run(mod)
    assert "call_tir" in after["main"].script()
    assert catalogue["FoldConstant"].post(mod, after, call) is None


@pytest.mark.parametrize("name", FAULTS)
def test_post_conditions_accept_what_the_pass_does(name: str) -> None:
    contract = catalogue[name]
    applied = 0
    for mod in (Placed, Workspace, Normed, Impure, Model):
        if mod is Model and name in FAILS_ON_COMPOSITE_DIMENSIONS:
            continue
        if "vdevice" not in mod.global_infos and name in FAILS_WITHOUT_DEVICES:
            continue
        for stage in contract.stages:
            before = advance(mod, stage)
            call = contract.choose(Choices(b""), before)
            if call is not None and contract.requires(before) is None:
                assert contract.post(before, call.run(before), call) is None
                applied += 1
    assert applied
