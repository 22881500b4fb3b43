"""What a user's pass does only because TVM's rewriting by patterns does it is not its fault."""

from __future__ import annotations

from pathlib import Path

import pytest
import tvm
from tvm import relax, te, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.oracles.catalogue import contract_of
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.pass_runs import PassRuns
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.structural.inside import same_part
from relaxfuzz.oracles.violation import Case
from tests.specimens.table import SPECIMENS

REWRITING = Path(__file__).with_name("rewriting_passes.py")

POOLING = SPECIMENS["GlobalPoolAsMean"]
"""It makes the mean of adaptive_avg_pool2d by `rewrite_call`, and leaves all else as it is."""


@I.ir_module
class ReadBranch:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor(("n", "n"), "float32")):
        if c:
            lv = R.nn.relu(x)
            y = lv
        else:
            y = x
        return R.eye_like(y, 0)


@I.ir_module
class Doubled:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        return R.add(x, x)


def shaped() -> tvm.IRModule:
    """A type outside of a dataflow block names one of its outputs; and a sum to be rewritten."""
    x = relax.Var("x", relax.TensorType((), "int64"))
    y = relax.Var("y", relax.TensorType((2,), "int64"))
    shape = relax.Var("shape", relax.ShapeType(ndim=2))
    wide = relax.Var("wide", relax.TensorType(shape, "int64"))
    total = relax.Var("total", relax.TensorType(dtype="int64", ndim=2))
    inside = relax.DataflowBlock(
        [
            relax.VarBinding(shape, typed(relax.op.tensor_to_shape(y), shape.ty)),
            relax.VarBinding(wide, typed(relax.op.broadcast_to(x, shape), wide.ty)),
        ]
    )
    outside = relax.BindingBlock([relax.VarBinding(total, typed(relax.op.add(wide, x), total.ty))])
    body = typed(relax.SeqExpr([inside, outside], total), total.ty)
    main = relax.Function([x, y], body, total.ty).with_attr("global_symbol", "f")
    return tvm.IRModule({**Doubled.functions, tvm.ir.GlobalVar("f"): main})


def typed(expr: relax.Expr, ty: relax.Type) -> relax.Expr:
    relax.expr._update_type(expr, ty)
    return expr


def branch() -> tvm.IRModule:
    """The result is an If of symbolic shape, beside a field of which less is declared."""
    n = tvm.tirx.Var("n", "int64")
    symbolic, static = relax.TensorType([n, 2], "float32"), relax.TensorType([2, 2], "float32")
    declared = relax.TupleType([relax.TensorType(dtype="float32", ndim=2), symbolic])
    x, y, z = relax.Var("x", symbolic), relax.Var("y", symbolic), relax.Var("z", static)
    lv = relax.Var("lv", symbolic)
    relu = relax.VarBinding(lv, typed(relax.op.nn.relu(x), symbolic))
    then = typed(relax.SeqExpr([relax.BindingBlock([relu])], lv), symbolic)
    other = typed(relax.SeqExpr([], x), symbolic)
    chosen = typed(relax.If(relax.const(False), then, other), symbolic)
    block = relax.BindingBlock([relax.VarBinding(y, chosen)])
    body = typed(relax.SeqExpr([block], relax.Tuple([z, y])), declared)
    main = relax.Function([x, z], body, declared)
    return tvm.IRModule({"main": main.with_attr("global_symbol", "main")})


def pooled(out_layout: str) -> tvm.IRModule:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3, 4, 4), "float32"))
    with builder.function("main", [x]):
        result = builder.emit(relax.op.nn.adaptive_avg_pool2d(x, 1, "NCHW", out_layout))
        builder.emit_func_output(result)
    return builder.get()


@pytest.mark.parametrize(
    ("mod", "oracle", "culprit"),
    [
        pytest.param(branch(), "signature", "PatternMatchingRewriter", id="types"),
        pytest.param(ReadBranch, "crash", "PatternMatchingRewriter", id="exception"),
        pytest.param(pooled("NHWC"), "well-formed", POOLING.name, id="own"),
    ],
)
def test_who_is_to_blame(mod: tvm.IRModule, oracle: str, culprit: str) -> None:
    call = POOLING.call
    found = check(Case(mod, (call,)), oracles=(oracle,))
    assert [each.pass_name for each in found] == [culprit]


def test_the_rewriter_is_to_blame_although_the_pass_does_more() -> None:
    call = PassCall("doubles()", factory=f"{REWRITING}:doubles")
    found = check(Case(shaped(), (call,)), oracles=("well-formed",))
    assert [each.pass_name for each in found] == ["PatternMatchingRewriter"]
    assert check(Case(Doubled, (call,)), oracles=("well-formed", "evaluated")) == []


@I.ir_module
class Recursive:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        gv = R.add(x, x)

        @R.function
        def inner(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return inner(y)

        return inner(gv)


def test_rewriting_is_blamed_for_what_it_raises_on_any_change() -> None:
    """Nothing raises where no pattern matches: the rewriting sorts only a changed function."""
    call = PassCall("doubles()", factory=f"{REWRITING}:doubles")
    (found,) = check(Case(Recursive, (call,)), oracles=["crash"])
    assert found.pass_name == "PatternMatchingRewriter"
    assert "circular" in found.title


def cast_to_number() -> tvm.IRModule:
    """CanonicalizeBindings raises on it."""
    x, number = relax.Var("x", relax.AnyType()), relax.Var("number", tvm.ir.PrimType("int64"))
    cast = relax.BindingBlock([relax.MatchCast(number, x, number.ty)])
    body = typed(relax.SeqExpr([cast], number), number.ty)
    main = relax.Function([x], body, number.ty).with_attr("global_symbol", "main")
    return tvm.IRModule({"main": main})


def test_the_part_that_does_the_same_is_found() -> None:
    call = PassCall("cleans()", factory=f"{REWRITING}:cleans")
    runs = PassRuns(cast_to_number(), (call,), contract_of(call))
    assert same_part(runs, runs.mod, runs.direct, lambda runs: True) == "CanonicalizeBindings"
    assert same_part(runs, runs.mod, runs.direct, lambda runs: False) is None
    other = PassCall("doubles()", factory=f"{REWRITING}:doubles")
    runs = PassRuns(Doubled, (other,), contract_of(other))
    assert same_part(runs, runs.mod, runs.direct, lambda runs: True) is None


def test_a_pass_of_tvm_that_does_the_same_by_itself_is_blamed() -> None:
    call = PassCall("cleans()", factory=f"{REWRITING}:cleans")
    (found,) = check(Case(cast_to_number(), (call,)), oracles=["crash"])
    # Both do the same here, since both infer types anew.
    assert found.pass_name in ("CanonicalizeBindings", "PatternMatchingRewriter")
    assert check(Case(Doubled, (call,)), oracles=["crash", "well-formed", "idempotent"]) == []


@I.ir_module
class Conditional:
    """A dimension with a condition in it, which copy_with_new_vars refuses."""

    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        return R.zeros(R.shape([T.if_then_else(n > 2, 2, n)]), "float32")


@I.ir_module
class Plain:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        return R.nn.relu(x)


def test_a_function_of_tvm_that_raises_alike_on_the_module_is_blamed() -> None:
    call = PassCall("copies()", factory=f"{REWRITING}:copies")
    (found,) = check(Case(Conditional, (call,)), oracles=["crash"])
    assert found.pass_name == "copy_with_new_vars"
    assert check(Case(Plain, (call,)), oracles=["crash"]) == []


def test_a_pass_is_blamed_for_an_error_on_what_it_has_made() -> None:
    call = PassCall("shortens()", factory=f"{REWRITING}:shortens")
    (found,) = check(Case(Plain, (call,)), oracles=["crash"])
    assert (found.pass_name, found.raised and found.raised.kind) == ("shortens", "InternalError")


def test_a_function_of_tvm_that_gives_something_ill_formed_is_blamed() -> None:
    """It leaves the calls of a local function that calls itself to the variable of before."""
    call = PassCall("copies()", factory=f"{REWRITING}:copies")
    (found,) = check(Case(Recursive, (call,)), oracles=["well-formed"])
    assert found.pass_name == "copy_with_new_vars"


def test_a_function_of_tvm_that_needs_more_arguments_is_not_tried() -> None:
    call = PassCall("compares()", factory=f"{REWRITING}:compares")
    (found,) = check(Case(Plain, (call,)), oracles=["well-formed"])
    assert found.pass_name == "compares"


SCHEDULED = "tests.specimens.modelled.correct_tensorir:copies_on_every_thread"


def kernel(reduced: int) -> tvm.IRModule:
    """The exponentials of sums, on a GPU."""
    a = te.placeholder((4, reduced), "float32", name="a")
    axis = te.reduce_axis((0, reduced))
    total = te.compute((4,), lambda i: te.sum(a[i, axis], axis=axis), name="total")
    mod = tvm.IRModule(
        {"main": te.create_prim_func([a, te.compute((4,), lambda i: te.exp(total[i]))])}
    )
    return tirx.transform.BindTarget(tvm.target.Target({"kind": "cuda"}, host="llvm"))(mod)


def test_a_function_of_tvm_that_schedules_wrongly_is_blamed() -> None:
    """try_inline computes what follows a sum of one element twice."""
    call = PassCall("copies_on_every_thread()", factory=SCHEDULED)
    (found,) = check(Case(kernel(1), (call,)), oracles=["evaluated"])
    assert found.pass_name == "try_inline"
    assert check(Case(kernel(2), (call,)), oracles=["evaluated"]) == []


def test_the_class_of_tvm_is_blamed_for_changing_its_input_and_the_rule_for_its_values() -> None:
    """`ApplyDefaultSchedule` puts what rules make into the module that it is given."""
    call = PassCall("schedules()", factory=f"{REWRITING}:schedules")
    found = check(Case(kernel(4), (call,)), besides=("evaluated",))
    assert {each.oracle: each.pass_name for each in found} == {
        "mutation": "dlight.ApplyDefaultSchedule",
        "evaluated": "schedules",
    }
    (alone,) = check(Case(kernel(4), (call,)), oracles=["evaluated"])
    assert alone.pass_name == "schedules"
    assert check(Case(kernel(2), (call,))) == []
