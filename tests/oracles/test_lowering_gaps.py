"""Calls that no pass lowers, against TVM itself: builds fail exactly where one is reported."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.ir import Op
from tvm.relax import vm_build
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.generators.choices import Choices
from relaxfuzz.generators.functions import finish
from relaxfuzz.generators.module_scope import ModuleScope
from relaxfuzz.generators.ops import table
from relaxfuzz.generators.ops.roles import EMITTED
from relaxfuzz.generators.scope import Scope
from relaxfuzz.oracles import pipelines
from relaxfuzz.oracles.execute.lowering import remaining
from relaxfuzz.oracles.inspect import attr, has_op_attr, nodes, ops_used
from relaxfuzz.oracles.lowering_gaps import LOWERED_BY, Gap, Reason, gaps, lowered_by

from .values.test_upstream_values import modules as upstream_modules

OPERATORS = sorted(name for name in Op.list_op_names() if name.startswith("relax."))


def code_generation(mod: tvm.IRModule) -> str | None:
    """The error of the virtual machine's code generator for a lowered module, or None."""
    try:
        vm_build._vmcodegen(relax.ExecBuilder(), mod)
    except tvm.error.InternalError as error:
        return str(error)
    return None


def cannot_emit(refusal: str | None) -> bool:
    return refusal is not None and (
        "cannot emit" in refusal or "cannot handle this intrinsic" in refusal
    )


class Fails(Exception):
    """A pass raises."""


def stages(mod: tvm.IRModule) -> Iterator[tuple[str, tvm.IRModule]]:
    """The module after each pass of the pipeline that `relax.build` runs.

    Raises:
        Fails: a pass raises.
    """
    for step in pipelines.steps("default"):
        try:
            mod = step.run(mod)
        except Exception as error:
            raise Fails(step.name) from error
        yield step.name, mod


def build(mod: tvm.IRModule) -> tuple[list[Gap], bool] | None:
    """The gaps after LegalizeOps, and whether the build fails for one; None where a pass raises."""
    found: list[Gap] = []
    try:
        for name, after in stages(mod):
            if name == "LegalizeOps":
                found = gaps(after)
    except Fails:
        return None
    refusal = code_generation(after)
    assert refusal is None or cannot_emit(refusal), refusal
    return found, refusal is not None


def legalized(mod: tvm.IRModule) -> tvm.IRModule:
    with tvm.target.Target("llvm"):
        return relax.transform.LegalizeOps()(mod)


def reported(mod: tvm.IRModule) -> list[tuple[str, Reason, str, str]]:
    return [(gap.op, gap.reason, gap.function, gap.what) for gap in gaps(legalized(mod))]


# The tables, against TVM


def is_emitted(name: str) -> bool:
    result = relax.Var("result", relax.AnyType())
    block = relax.BindingBlock([relax.VarBinding(result, relax.Call(Op.get(name), []))])
    func = relax.Function([], relax.SeqExpr([block], result), result.ty, is_pure=False)
    mod = tvm.IRModule({"main": func.with_attr("global_symbol", "main")})
    try:
        refusal = code_generation(mod)
    except IndexError:
        refusal = None  # it looks for operands
    return not cannot_emit(refusal)


def test_what_the_code_generator_emits() -> None:
    assert {name for name in OPERATORS if is_emitted(name)} == EMITTED.intersection(OPERATORS)


@I.ir_module
class Calls:
    @T.prim_func(private=True, s_tir=True)
    def double(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("double"):
                v = T.axis.spatial(4, i)
                y[v] = x[v] * T.float32(2)

    @T.prim_func(private=True, s_tir=True)
    def again(x: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("again"):
                v = T.axis.spatial(4, i)
                x[v] = x[v] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Calls
        with R.dataflow():
            a = R.call_tir(cls.double, (x,), out_ty=R.Tensor((4,), "float32"))
            b = R.call_tir_inplace(cls.again, (a,), [0], out_ty=R.Tensor((4,), "float32"))
            c = R.call_dps_packed("c", (b,), out_ty=R.Tensor((4,), "float32"))
            d = R.call_pure_packed("d", c, ty_args=(R.Tensor((4,), "float32"),))
            e = R.call_inplace_packed(
                "e", d, inplace_indices=0, ty_args=(R.Tensor((4,), "float32"),)
            )
            f = R.call_py_func("f", (e,), out_ty=R.Tensor((4,), "float32"))
            R.output(f)
        return f


@I.ir_module
class Closure:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        @R.function
        def inner(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return R.add(x, y)

        return inner(x)


def of_builder(make: Callable[[relax.Var], list[relax.Expr]]) -> tvm.IRModule:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 6), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output([builder.emit(each) for each in make(x)])
    return builder.finalize()


def searches(x: relax.Var) -> list[relax.Expr]:
    return [
        relax.op.sort(x),
        relax.op.argsort(x),
        relax.op.topk(x, 2, ret_type="values"),
        relax.op.cumsum(x, axis=1),
        relax.op.cumprod(x, axis=1),
    ]


def shapes(x: relax.Var) -> list[relax.Expr]:
    whole = relax.const(np.array([3, 4], "int64"), "int64")
    return [
        relax.op.shape_of(x),
        relax.op.tensor_to_shape(whole),
        relax.op.memory.view(x, (3, 4)),
        relax.op.memory.ensure_zero_offset(x),
    ]


def dynamic_call() -> tvm.IRModule:
    """A call that no pass makes, and that users can."""
    gvar = Calls.get_global_var("again")
    x = relax.Var("x", relax.TensorType((4,), "float32"))
    call = relax.Call(Op.get("relax.vm.call_tir_dyn"), [gvar, relax.Tuple([x])])
    builder = relax.BlockBuilder(tvm.IRModule({gvar: Calls["again"]}))
    with builder.function("main", [x], pure=False):
        builder.emit(call)
        builder.emit_func_output(x)
    return builder.get()


def of_table(name: str) -> tvm.IRModule:
    """A module of one call, as the generator makes it."""
    op = table[name]
    module = ModuleScope(frozenset())
    scope = Scope(module, [2, 4, 3], [op.dtypes[0]] * 2)
    scope.dataflow(op.pure)
    scope.exporting = True
    result = scope.bind(op.build(Choices(b""), scope))
    scope.pure = op.pure
    scope.close()
    func = finish(scope, result).with_attr("global_symbol", "main")
    infos = {"vdevice": module.vdevices} if module.vdevices else None
    return tvm.IRModule({**module.functions, tvm.ir.GlobalVar("main"): func}, global_infos=infos)


def reshaped() -> tvm.IRModule:
    x = relax.Var("x", relax.TensorType(ndim=2, dtype="float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.reshape(x, (3, 4))))
    return builder.finalize()


def test_the_passes_that_lower_operators() -> None:
    """Each operator of the table is gone after the pass that is named, and after no other."""
    gone: dict[str, set[str]] = {}
    for mod in (
        Calls,
        relax.transform.LambdaLift()(Closure),
        of_table("to_vdevice"),
        of_builder(searches),
        of_builder(shapes),
        of_table("multinomial_from_uniform"),
        dynamic_call(),
        reshaped(),
    ):
        had = ops_used(mod)
        for step, after in stages(mod):
            has = ops_used(after)
            for op in had - has:
                gone.setdefault(op, set()).add(step)
            had = has
        assert code_generation(after) is None
    named = {f"relax.{op}" for ops in LOWERED_BY.values() for op in ops}
    for op in named | {op for op in OPERATORS if has_op_attr(op, "FLowerBuiltin")}:
        # Memory that can be planned is allocated by the planner.
        assert gone[op] - {"StaticPlanBlockMemory"} == {lowered_by(op)}
    for op in gone:
        assert lowered_by(op) is not None or has_op_attr(op, "FLegalize")


# Builds of real modules


def check_upstream(every: int, start: int) -> int:
    count = 0
    for label, mod in upstream_modules(every, start):
        if mod.attrs is not None and "system_lib_prefix" in mod.attrs:
            continue
        functions = nodes(mod, relax.Function)
        if any(attr(f, name) is not None for f in functions for name in ("Composite", "Codegen")):
            continue  # a backend's
        with tvm.target.Target("llvm"):
            try:
                dispatched = relax.backend.DispatchSampling()(mod)
                ready = relax.transform.LegalizeOps()(relax.backend.DispatchSortScan()(dispatched))
                lowered = remaining(ready, "default")(ready)
            except Exception:
                continue
        refusal = code_generation(lowered)
        assert bool(gaps(ready)) == (refusal is not None), (label, refusal)
        assert refusal is None or cannot_emit(refusal)
        count += refusal is not None
    return count


def test_a_real_module_has_gaps_where_its_build_fails() -> None:
    assert check_upstream(16, 0) > 0


# What is reported of a call


@I.ir_module
class Everywhere:
    @R.function(private=True)
    def helper(x: R.Tensor(ndim=1, dtype="float32")) -> R.Tensor(ndim=1, dtype="float32"):
        return R.exp(x)

    @R.function
    def branches(c: R.Tensor((), "bool"), x: R.Tensor(ndim=1, dtype="float32")) -> R.Tensor(
        ndim=1, dtype="float32"
    ):
        if c:  # noqa: SIM108  TVMScript
            y = R.negative(x)
        else:
            y = R.abs(x)
        return y

    @R.function
    def dead(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            _unused = R.ewise_fma(x, x, x)
            y = R.add(x, x)
            R.output(y)
        return y

    @R.function
    def local(x: R.Tensor(ndim=1, dtype="float32")) -> R.Tensor(ndim=1, dtype="float32"):
        @R.function
        def inner(y: R.Tensor(ndim=1, dtype="float32")) -> R.Tensor(ndim=1, dtype="float32"):
            return R.cos(y)

        return inner(x)


def test_a_call_is_found_wherever_it_stands() -> None:
    """In branches, private functions, local ones, and where no result depends on it."""
    shape, none = Reason.UNKNOWN_SHAPE, Reason.NO_LEGALIZATION
    assert sorted(reported(Everywhere)) == [
        ("relax.abs", shape, "branches", "the shape of argument 0 (x)"),
        ("relax.cos", shape, "local", "the shape of argument 0 (y)"),
        ("relax.ewise_fma", none, "dead", "relax.ewise_fma has no legalization"),
        ("relax.exp", shape, "helper", "the shape of argument 0 (x)"),
        ("relax.negative", shape, "branches", "the shape of argument 0 (x)"),
    ]


@pytest.mark.parametrize("function", ["helper", "branches", "dead"])
def test_each_of_them_fails_a_build(function: str) -> None:
    """LambdaLift is no part of the pipeline: local functions fail for themselves."""
    alone = tvm.IRModule({function: Everywhere[function].with_attr("global_symbol", function)})
    found, failed = build(alone) or ([], False)
    assert failed
    assert {gap.function for gap in found} == {function}


def test_what_fusion_removes_is_a_gap_of_the_pipeline_without_fusion() -> None:
    mod = tvm.IRModule({"dead": Everywhere["dead"]})
    assert code_generation(pipelines.run("cpu_generic", mod)) is None
    assert cannot_emit(code_generation(pipelines.run("default", mod)))


def call_of(make: Callable[..., relax.Expr], *types: relax.Type) -> tvm.IRModule:
    params = [relax.Var(f"x{number}", ty) for number, ty in enumerate(types)]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(make(*params)))
    return builder.finalize()


SQUARE = relax.TensorType((2, 3), "float32")
RANKED = relax.TensorType(ndim=2, dtype="float32")
UNTYPED = relax.TensorType((2, 3), dtype="")
IMAGE = relax.TensorType((1, 2, 4, 4), "float32")


def dilated(x: relax.Var) -> relax.Expr:
    return relax.op.grad.max_pool2d_backward(x, x, (1, 1), dilation=(2, 2))


def packed(x: relax.Var) -> relax.Expr:
    return relax.op.call_dps_packed("f", (x,), out_ty=UNTYPED)


@pytest.mark.parametrize(
    ("mod", "op", "reason", "what"),
    [
        pytest.param(
            call_of(relax.op.add, SQUARE, RANKED),
            "relax.add",
            Reason.UNKNOWN_SHAPE,
            "the shape of argument 1 (x1)",
            id="shape",
        ),
        pytest.param(
            call_of(relax.op.add, UNTYPED, RANKED),
            "relax.add",
            Reason.UNKNOWN_SHAPE,
            "the shape of argument 1 (x1)",
            id="shape-before-dtype",
        ),
        pytest.param(
            call_of(lambda x, y: relax.op.concat([x, y]), SQUARE, RANKED),
            "relax.concat",
            Reason.UNKNOWN_SHAPE,
            "the shape of field 1 of argument 0",
            id="field",
        ),
        pytest.param(
            call_of(relax.op.broadcast_to, SQUARE, relax.ShapeType(ndim=2)),
            "relax.broadcast_to",
            Reason.UNKNOWN_SHAPE,
            "the values of argument 1 (x1)",
            id="values",
        ),
        pytest.param(
            call_of(dilated, IMAGE),
            "relax.grad.max_pool2d_backward",
            Reason.DECLINED,
            "Dilation is not supported in TOPI pool_grad and is not legalized.",
            id="declined",
        ),
    ],
)
def test_the_reason(mod: tvm.IRModule, op: str, reason: Reason, what: str) -> None:
    assert reported(mod) == [(op, reason, "main", what)]
    found, failed = build(mod) or ([], False)
    assert failed
    assert found[0].op == op


def test_what_a_later_pass_cannot_lower_is_a_gap_of_that_operator() -> None:
    """LegalizeOps leaves them, and the pass whose they are raises."""
    sorts, allocates = call_of(relax.op.sort, RANKED), call_of(packed, SQUARE)
    assert reported(sorts)[0][:2] == ("relax.sort", Reason.UNKNOWN_SHAPE)
    assert reported(allocates)[0][:2] == ("relax.call_dps_packed", Reason.UNKNOWN_DTYPE)
    assert build(sorts) is None
    assert build(allocates) is None


def test_the_dtype_that_stops_a_legalization() -> None:
    """LegalizeOps raises; the call in a module that nobody legalized shows why."""
    mod = call_of(relax.op.exp, UNTYPED)
    (gap,) = gaps(mod)
    assert (gap.reason, gap.what) == (Reason.UNKNOWN_DTYPE, "the dtype of argument 0 (x0)")
    with pytest.raises(Exception, match=r"(?s)."):
        legalized(mod)


def test_a_call_that_could_be_legalized_is_reported_as_such() -> None:
    (gap,) = gaps(call_of(relax.op.exp, SQUARE))
    assert gap.reason is Reason.NOT_LEGALIZED
    (gap,) = gaps(call_of(relax.op.nonzero, SQUARE))
    assert gap.reason is Reason.NOT_LEGALIZED


def test_a_legalization_that_raises() -> None:
    image = relax.TensorType((1, 4, 2, 2), "float32")
    (gap,) = gaps(call_of(lambda x: relax.op.nn.pixel_shuffle(x, 2), image))
    assert gap.reason is Reason.FAILED
    assert "pixel_shuffle" in gap.what


@pytest.mark.parametrize("attribute", ["Composite", "Codegen"])
def test_what_a_backend_takes_is_left_to_it(attribute: str) -> None:
    func = Everywhere["helper"]
    assert gaps(tvm.IRModule({"helper": func})) != []
    assert gaps(tvm.IRModule({"helper": func.with_attr(attribute, "some.backend")})) == []


def test_the_analysis_leaves_logging_as_it_was(caplog: pytest.LogCaptureFixture) -> None:
    reported(call_of(dilated, IMAGE))
    caplog.clear()
    root = logging.getLogger()
    before = (root.level, list(root.handlers))
    gaps(legalized(call_of(dilated, IMAGE)))
    assert (root.level, list(root.handlers)) == before
