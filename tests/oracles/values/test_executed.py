"""Executed semantics: wrong passes are caught, right ones are left alone, votes are counted."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.generators.ops import table
from relaxfuzz.oracles import vote
from relaxfuzz.oracles.catalogue import contract_of, parts
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.contract import PassContract, Relation
from relaxfuzz.oracles.errors import Undefined
from relaxfuzz.oracles.evaluate import Evaluator
from relaxfuzz.oracles.execute import Failure
from relaxfuzz.oracles.expected.expectations import Expectations
from relaxfuzz.oracles.expected.inputs import InputKind
from relaxfuzz.oracles.identify import identity_of
from relaxfuzz.oracles.inspect import calls_of
from relaxfuzz.oracles.pass_runs import PassRuns
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.structural.inside import parts_alone
from relaxfuzz.oracles.values import pipeline_values
from relaxfuzz.oracles.values.sides import sides
from relaxfuzz.oracles.violation import Case, Violation

from ..snippets import load_faults, run_snippet

FILE = Path(__file__).with_name("value_faults.py")
MEMORY = Path(__file__).with_name("memory_faults.py")

faults, memory = load_faults(FILE), load_faults(MEMORY)


def case(factory: str) -> Case:
    call = PassCall(f"{factory}()", factory=f"{FILE}:{factory}")
    return Case(faults.module(), (call,))


def memory_case(mod: tvm.IRModule, factory: Any, args: str = "") -> Case:
    name = factory if isinstance(factory, str) else factory.__name__
    return Case(mod, (PassCall(f"{name}({args})", factory=f"{MEMORY}:{name}"),))


BOTH = pytest.mark.parametrize("oracle", ["evaluated", "executed"])


EXECUTED = ("swaps_operands", "takes_the_wrong_branch", "casts_to_a_wrong_shape")
"""Faults that are looked for in the VM, too, whose programs take long to build."""

FAULTS = [
    *(("evaluated", factory.__name__, op) for factory, op in faults.FAULTS.items()),
    *(("executed", f.__name__, op) for f, op in faults.FAULTS.items() if f.__name__ in EXECUTED),
]


@pytest.mark.parametrize(("oracle", "factory", "op"), FAULTS)
def test_the_fault_is_caught_and_its_operator_named(
    oracle: str, factory: str, op: str | None
) -> None:
    (violation,) = check(case(factory), oracles=[oracle])
    assert (violation.oracle, violation.pass_name) == (oracle, factory)
    assert violation.key[1:] == ((op,) if op else ())
    with pytest.raises((AssertionError, ValueError, RuntimeError)):
        run_snippet(oracle, case(factory), violation)


def test_a_result_of_a_users_pass_that_builds_no_longer_is_reported() -> None:
    broken = case("brings_what_nothing_lowers")
    (violation,) = check(broken, oracles=["executed"])
    assert violation.key[0] == "the result builds no longer"
    with pytest.raises(tvm.error.InternalError, match="ewise_fma"):
        run_snippet("executed", broken, violation)


def test_one_bug_is_reported_once() -> None:
    (violation,) = check(case("truncates"), oracles=["evaluated", "executed"])
    assert violation.oracle == "evaluated"


@BOTH
@pytest.mark.parametrize("factory", [factory.__name__ for factory in faults.CORRECT])
def test_a_correct_pass_is_left_alone(oracle: str, factory: str) -> None:
    assert check(case(factory), oracles=[oracle]) == []


@BOTH
@pytest.mark.parametrize("name", memory.FAULTS)
def test_memory_and_constants(oracle: str, name: str) -> None:
    module, wrong, right, where = memory.FAULTS[name]
    if (oracle, name) == ("executed", "nan"):
        return  # its arguments are whole numbers, and so is what it compares
    faulty, correct = memory_case(module(), wrong), memory_case(module(), right)
    (violation,) = check(faulty, oracles=[oracle])
    assert violation.key == ("values", where)
    with pytest.raises(AssertionError):
        run_snippet(oracle, faulty, violation)
    assert check(correct, oracles=[oracle]) == []


def test_a_read_past_the_end_is_caught_though_no_value_shows_it() -> None:
    faulty = memory_case(memory.live(), memory.reads_past_the_end)
    (violation,) = check(faulty, oracles=["sanitized"])
    assert violation.key == ("read outside by a new PrimFunc",)
    assert "A[4]" in violation.detail
    with pytest.raises(AssertionError, match="read outside"):
        run_snippet("sanitized", faulty, violation, ours=True)


def test_a_read_up_to_the_end_is_left_alone() -> None:
    correct = memory_case(memory.live(), memory.reads_up_to_the_end)
    assert check(correct, oracles=["sanitized", "evaluated"]) == []


def test_a_constant_that_is_updated_is_caught_though_the_first_call_is_right() -> None:
    faulty = memory_case(memory.counter(), memory.folds_what_is_updated)
    (violation,) = check(faulty, oracles=["evaluated"])
    assert violation.key == ("the result does what has no meaning: a constant is updated in place",)
    with pytest.raises(Undefined, match="a constant is updated in place"):
        run_snippet("evaluated", faulty, violation, ours=True)
    correct = memory_case(memory.counter(), memory.folds_what_is_read)
    assert check(correct, oracles=["evaluated"]) == []


@pytest.mark.parametrize("op", ["add", "multiply"])
def test_passes_that_treat_all_operators_alike_have_one_key(op: str) -> None:
    x, block = relax.Var("x", relax.TensorType((4,), "float32")), relax.BlockBuilder()
    bump = block.add_func(memory.Counter["next_in_place"], "bump")
    with block.function("main", [x]):
        with block.dataflow():
            first = block.emit(getattr(relax.op, op)(x, x))
            updated = block.emit(relax.op.call_tir_inplace(bump, [first], 0, first.ty))
            second = block.emit(getattr(relax.op, op)(x, x))
            out = block.emit_output(relax.Tuple([updated, second]))
        block.emit_func_output(out)
    (violation,) = check(
        Case(block.get(), (PassCall("EliminateCommonSubexpr()"),)), oracles=["evaluated"]
    )
    assert identity_of(violation).site == ("values",)
    assert "starting with a tensor that is updated in place" in violation.title


@pytest.mark.parametrize("op", ["negative", "tanh"])
def test_what_is_updated_in_place_has_one_key(op: str) -> None:
    """A tensor in a tuple is updated: whose result it was does not matter."""
    x, block = relax.Var("x", relax.TensorType((4,), "float32")), relax.BlockBuilder()
    with block.function("main", [x]):
        with block.dataflow():
            first = block.emit(getattr(relax.op, op)(x))
            pair = block.emit(relax.Tuple([first, x]))
            second = block.emit(relax.op.nn.relu(first))
            out = block.emit_output(relax.Tuple([second, relax.TupleGetItem(pair, 0)]))
        block.emit_func_output(out)
    (violation,) = check(
        Case(block.get(), (PassCall("DataflowUseInplaceCalls()"),)), oracles=["evaluated"]
    )
    assert identity_of(violation).site == ("values",)
    assert "starting with a tensor that is updated in place" in violation.title


@I.ir_module
class Overwritten:
    @T.prim_func(private=True, s_tir=True)
    def zero(A: T.Buffer((2,), "float32")):
        with T.sblock("root"):
            T.reads()
            T.writes(A[0])
            A[0] = T.float32(0)

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        cls = Overwritten
        with R.dataflow():
            a = R.add(x, x)
            b = R.multiply(a, a)
            c = R.call_tir_inplace(cls.zero, (a,), 0, R.Tensor((2,), "float32"))
            d = R.add(x, x)
            R.output(b, c, d)
        return (b, c, d)


@pytest.mark.parametrize(
    ("expr", "blamed"),
    [
        ("TopologicalSort('breadth-first', 'from-outputs')", "TopologicalSort"),
        ("LazyGetInput()", "EliminateCommonSubexpr"),
    ],
)
def test_a_pass_inside_is_blamed_only_where_it_runs(expr: str, blamed: str) -> None:
    """EliminateCommonSubexpr takes what was updated for an equal expression."""
    call = PassCall("EliminateCommonSubexpr()")
    (alone,) = check(Case(Overwritten, (call,)), oracles=["evaluated"])
    (found,) = check(Case(Overwritten, (PassCall(expr),)), oracles=["evaluated"])
    assert (found.pass_name, found.key) == (blamed, alone.key)


@pytest.mark.parametrize("thorough", [True, False])
def test_a_pass_inside_is_given_as_many_arguments(thorough: bool) -> None:
    """It would not be blamed for values that go wrong on special arguments only."""
    call = PassCall("LazyGetInput()")
    runs = PassRuns(Overwritten, (call,), contract_of(call), alone=True, thorough=thorough)
    inside = dict(parts_alone(runs, parts(call.name)))
    assert set(inside) == {"EliminateCommonSubexpr", "DeadCodeElimination"}
    assert all(alone.thorough is thorough for alone in inside.values())


def test_nothing_is_promised_where_what_is_updated_is_live() -> None:
    """DeadCodeElimination takes away an update that only its operand shows."""
    x, block = relax.Var("x", relax.TensorType((4,), "float32")), relax.BlockBuilder()
    bump = block.add_func(memory.Counter["next_in_place"], "bump")
    with block.function("main", [x]):
        with block.dataflow():
            first = block.emit(relax.op.add(x, x))
            block.emit(relax.op.call_tir_inplace(bump, [first], 0, first.ty))
            out = block.emit_output(first)
        block.emit_func_output(out)
    case = Case(block.get(), (PassCall("DeadCodeElimination()"),))
    assert check(case, oracles=["evaluated", "executed"]) == []


def adjoint(factory: str) -> tuple[Case, PassContract]:
    case = memory_case(memory.loss(), factory, "'main'")
    contract = PassContract(
        name=factory, variants=lambda choices, mod: case.calls[0], relation=Relation.ADJOINT
    )
    return case, contract


def test_a_lost_function_has_no_gradient() -> None:
    case, contract = adjoint("loses_all_but_the_adjoint")
    assert check(case, oracles=["gradient"], contract=contract) == []
    assert check(case, oracles=["functions"], contract=contract) != []


def test_a_wrong_gradient_is_caught() -> None:
    case, contract = adjoint("doubles_a_gradient")
    (violation,) = check(case, oracles=["gradient"], contract=contract)
    assert "parameter 1" in violation.detail


def taken(indices: list[int], mode: str) -> tvm.IRModule:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 2), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            rows = builder.emit(relax.op.take(x, relax.const(indices, "int32"), 0, mode))
            out = builder.emit_output(relax.op.sum(rows))
        builder.emit_func_output(out)
    return builder.get()


@pytest.mark.parametrize(
    ("indices", "mode", "wrong"),
    [([0, 7], "clip", True), ([0, -1], "wrap", True), ([0, 3], "clip", False), ([0, 3], "", False)],
)
def test_a_gradient_is_defined_where_its_function_is(
    indices: list[int], mode: str, wrong: bool
) -> None:
    """TVM's gradient of take forgets the mode, and gives indices that are outside."""
    case = Case(taken(indices, mode or "fast"), (PassCall("Gradient('main')"),))
    found = check(case, oracles=["gradient"])
    assert [violation.key for violation in found] == [("gradient", "relax.take")] * wrong
    if wrong:
        assert "main_adjoint is undefined" in found[0].detail


def test_where_the_function_is_undefined_nothing_is_asked_of_its_gradient() -> None:
    case = Case(taken([0, 7], "fast"), (PassCall("Gradient('main')"),))
    assert check(case, oracles=["gradient"]) == []


def test_a_right_gradient_is_left_alone() -> None:
    case, contract = adjoint("differentiates")
    assert check(case, oracles=["gradient"], contract=contract) == []


@BOTH
@pytest.mark.parametrize(
    "expr",
    [
        "LiftTransformParams()",
        "LiftTransformParams(shared_transform=['main'])",
        "BundleModelParams()",
        "BindParams('main', {'y': np.resize(np.arange(3), (3, 3)).astype('float32')})",
        "BindSymbolicVars({'k': 5}, 'whole')",
        "LazyGetInput()",
        "LazySetOutput()",
    ],
)
def test_results_that_are_called_differently(oracle: str, expr: str) -> None:
    whole = Case(faults.module(), (PassCall(expr),))
    runs = PassRuns(whole.mod, whole.calls, contract_of(whole.calls[0]), thorough=True)
    compared = [(e, side.evaluate()) for e, side in sides(runs)]
    assert len(compared) > 1
    assert all(e.differs(value) is None for e, value in compared)
    assert check(whole, oracles=[oracle]) == []


def test_without_a_vote_of_the_vm_only_certain_violations_are_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unbuilt = Failure("build", "InternalError", "no code", Violation.titled("no code"))
    monkeypatch.setattr(vote, "execute", lambda mod, plans, **_: unbuilt)
    (violation,) = check(case("truncates"), oracles=["evaluated"])
    assert "The VM cannot confirm it: it cannot build the result" in violation.detail
    with pytest.raises(AssertionError):
        run_snippet("evaluated", case("truncates"), violation, ours=True)
    assert check(case("commutes"), oracles=["evaluated"]) == []


def test_what_the_vm_computes_otherwise_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    zero = (np.zeros((3, 3), "float32"),) * 2
    monkeypatch.setattr(vote, "execute", lambda mod, plans, **_: [zero])
    assert check(case("truncates"), oracles=["evaluated"]) == []


def test_a_loose_relation_allows_less_precision() -> None:
    call = PassCall("ToMixedPrecision()")
    assert check(Case(faults.module(), (call,)), oracles=["executed"]) == []


def test_numbers_too_large_for_float16_are_left_alone() -> None:
    @I.ir_module
    class Large:
        @R.function
        def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
            with R.dataflow():
                a = R.matmul(R.const([[3, 3], [3, 3]], "float32"), x)
                gv = R.exp(a)
                R.output(gv)
            return gv

    call = PassCall("ToMixedPrecision(out_dtype='float16')")
    for oracle in ("evaluated", "executed"):
        assert check(Case(Large, (call,)), oracles=[oracle]) == []


def test_less_precision_is_no_excuse_for_other_values() -> None:
    wrong = case("swaps_operands")
    call = wrong.calls[0]
    loose = PassContract(
        name=call.name, variants=lambda choices, mod: call, relation=Relation.LOOSE
    )
    for oracle in ("evaluated", "executed"):
        (violation,) = check(wrong, oracles=[oracle], contract=loose)
        assert violation.key[0] == "values"


def test_the_pass_is_not_blamed_for_what_the_evaluator_gets_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrong = dataclasses.replace(table["subtract"], reference=lambda args, attrs: args[0])
    broken = MappingProxyType({**table, "subtract": wrong})
    for name, module in list(sys.modules.items()):
        if name.startswith("relaxfuzz.oracles.") and getattr(module, "table", None) is table:
            monkeypatch.setattr(module, "table", broken)
    for oracle in ("evaluated", "executed"):
        assert check(case("commutes"), oracles=[oracle]) == []
        assert check(case("swaps_operands"), oracles=[oracle]) == []
    # The pipeline is asked instead, and the operator is blamed.
    whole = Case(faults.module(), pipeline="default")
    (violation,) = check(whole, oracles=["executed-by-pipeline"])
    assert (violation.oracle, violation.pass_name) == ("executed-by-pipeline", "relax.subtract")
    assert identity_of(violation).site == ("values",)
    with pytest.raises(AssertionError):
        run_snippet("executed-by-pipeline", whole, violation)


@I.ir_module
class OnDevice:
    @T.prim_func(private=True, s_tir=True)
    def fill(out: T.Buffer((T.int64(2),), "float32")):
        shared = T.sblock_alloc_buffer((T.int64(1),), scope="shared")
        for i in T.thread_binding(T.int64(2), thread="blockIdx.x"):
            shared[T.int64(0)] = T.float32(1.0)
            out[i] = shared[T.int64(0)]

    @R.function
    def main() -> R.Tensor((2,), "float32"):
        cls = OnDevice
        return R.call_tir(cls.fill, R.tuple(), out_ty=R.Tensor((2,), "float32"))


def test_code_for_the_threads_of_a_device_is_not_built_for_the_cpu() -> None:
    assert check(Case(OnDevice, pipeline="default"), oracles=["executed-by-pipeline"]) == []


SPECIAL = ("values", "special values")


def over(op: Any, dtype: str = "float32") -> tvm.IRModule:
    ty = relax.TensorType((2, tvm.tirx.Var("n", "int64")), dtype)
    x, block = relax.Var("x", ty), relax.BlockBuilder()
    with block.function("main", [x]):
        block.emit_func_output(block.emit(op(x)))
    return block.get()


@pytest.mark.parametrize(
    ("op", "kind"),
    [
        (lambda x: relax.op.sum(x, axis=1), "output left unwritten by a reduction over nothing"),
        (lambda x: relax.op.zeros((2,), "float32"), "values"),
    ],
    ids=["left to chance", "wrong"],
)
def test_what_nobody_wrote_is_no_wrong_value(
    monkeypatch: pytest.MonkeyPatch, op: Any, kind: str
) -> None:
    """A sum over nothing has no initial value: what the VM gives is left to chance."""
    mod = over(op)
    asked = [e.args for e in Expectations(mod).all(kinds=tuple(InputKind))]
    assert any(0 in args[0].shape for args in asked)

    def execute(mod: tvm.IRModule, plans: Any, *more: Any) -> list[Any]:
        results = [plan(Evaluator(mod).run) for plan in plans]
        pairs = zip(results, asked, strict=False)  # one where an operator is tried alone
        return [value + 1 if 0 in args[0].shape else value for value, args in pairs]

    monkeypatch.setattr(pipeline_values, "execute", execute)
    found = check(Case(mod, pipeline="default"), oracles=["executed-by-pipeline"])
    assert [each.key[0] for each in found] == [kind]


def test_a_step_that_gives_what_has_no_meaning_is_blamed_for_the_pipeline() -> None:
    """FoldConstant makes a constant of what is updated: the first call of the build is right."""
    counting = Case(memory.counter(), pipeline="cpu_generic")
    (violation,) = check(counting, oracles=["executed-by-pipeline"])
    assert violation.pass_name == "FoldConstant"
    assert violation.key == ("the result does what has no meaning: a constant is updated in place",)


@pytest.mark.parametrize(("dtype", "keys"), [("float32", []), ("int32", [SPECIAL])])
def test_special_values_have_a_key_of_their_own(
    monkeypatch: pytest.MonkeyPatch, dtype: str, keys: list[tuple[str, ...]]
) -> None:
    """What several operators make of NaN and infinity is nobody's promise: TVM cancels x - x."""
    mod = over(lambda x: relax.op.subtract(x, x), dtype)
    asked = [e.kind for e in Expectations(mod).all(kinds=tuple(InputKind))]

    def execute(mod: tvm.IRModule, plans: Any, *more: Any) -> list[Any]:
        results = [plan(Evaluator(mod).run) for plan in plans]
        if len(results) == 1:
            return results
        pairs = zip(results, asked, strict=True)
        return [value + 1 if kind is InputKind.SPECIAL else value for value, kind in pairs]

    monkeypatch.setattr(pipeline_values, "execute", execute)
    found = check(Case(mod, pipeline="cpu_generic"), oracles=["executed-by-pipeline"])
    assert [violation.key for violation in found] == keys
    assert all("a combination of operators" in violation.pass_name for violation in found)


@pytest.mark.parametrize(("nothing", "reported"), [(0.0, False), (2.0, True)])
def test_an_operator_alone_has_constants_as_parameters(
    monkeypatch: pytest.MonkeyPatch, nothing: float, reported: bool
) -> None:
    """TVM makes x * 0 to 0, for NaN as well; a wrong product by itself is reported."""
    mod = over(lambda x: relax.op.multiply(x, relax.const(nothing, "float32")), "float32")
    if reported:

        def execute(mod: tvm.IRModule, plans: Any, *more: Any) -> list[Any]:
            return [np.nan_to_num(plan(Evaluator(mod).run)) for plan in plans]

        monkeypatch.setattr(pipeline_values, "execute", execute)
    case = Case(mod, pipeline="zero")
    found = check(case, oracles=["executed-by-pipeline"])
    assert [violation.pass_name for violation in found] == ["relax.multiply"] * reported


@I.ir_module
class Cancelled:
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        with R.dataflow():
            root = R.log(x)
            y = R.exp(root)
            nothing = R.subtract(y, y)
            gv = R.log(nothing)
            R.output(gv)
        return gv


def test_nan_that_comes_up_on_the_way_may_be_cancelled() -> None:
    """The logarithm of a negative number: what is computed with it in one kernel may lose it."""
    assert check(Case(Cancelled, pipeline="zero"), oracles=["executed-by-pipeline"]) == []


def test_of_many_operators_the_last_is_blamed_and_one_that_is_refused_hides_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The operators are built several at a time; where that fails, each by itself."""
    count = pipeline_values.TOGETHER + 1

    def many(x: relax.Expr) -> relax.Expr:
        for _ in range(count):
            x = relax.op.negative(x)
        return relax.op.abs(x)

    mod = over(many)
    builds: list[int] = []

    def execute(mod: tvm.IRModule, plans: Any, *more: Any) -> Any:
        def run(name: str, args: list[Any]) -> Any:
            result = Evaluator(mod).run(name, args)
            return result + 1 if calls_of(mod[name], "relax.abs") else result

        builds.append(len(plans))
        if refused and len(mod.functions) > 1:
            return Failure("build", "InternalError", "", Violation("", "", ("",)))
        return [plan(run) for plan in plans]

    monkeypatch.setattr(pipeline_values, "execute", execute)
    for refused in (False, True):
        builds.clear()
        case = Case(mod.clone(), pipeline="cpu_generic")
        (violation,) = check(case, oracles=["executed-by-pipeline"])
        assert violation.pass_name == "relax.abs"
        assert (1 in builds) == refused


@pytest.mark.parametrize(("group", "count"), [(True, 0), (False, 1)])
def test_a_group_may_become_private(
    monkeypatch: pytest.MonkeyPatch, *, group: bool, count: int
) -> None:
    """FuseTIR makes a private PrimFunc of a group; any other public function has to stay."""
    mod = over(relax.op.negative)
    (gvar,) = mod.get_global_vars()
    if group:
        mod[gvar] = mod[gvar].with_attr("Primitive", True)
    else:

        def execute(mod: tvm.IRModule, plans: Any, *more: Any) -> Any:
            error = AttributeError("Module has no function 'main'")
            lost = Violation(str(error), "", (str(error),))
            return [Failure("run", "AttributeError", str(error), lost) for _ in plans]

        monkeypatch.setattr(pipeline_values, "execute", execute)
    found = check(Case(mod, pipeline="cpu_generic"), oracles=["executed-by-pipeline"])
    assert len(found) == count


@pytest.mark.parametrize("retained", [True, False])
def test_a_pipeline_promises_no_values_where_a_step_does_not(
    monkeypatch: pytest.MonkeyPatch, *, retained: bool
) -> None:
    """StaticPlanBlockMemory: "external function calls via 'call_packed' do not retain memory"."""

    def pair(x: relax.Expr) -> relax.Expr:
        name, ty = "vm.builtin.make_tuple", relax.TupleType([x.ty, x.ty])
        twice = relax.op.abs(x)
        return relax.op.call_pure_packed(name, twice, twice, ty_args=[ty]) if retained else twice

    def execute(mod: tvm.IRModule, plans: Any, *more: Any, **options: Any) -> Any:
        def run(name: str, args: list[Any]) -> Any:
            result = Evaluator(mod).run(name, args)
            if isinstance(result, tuple):
                return 0 * result[0], result[1]
            return result if retained else 0 * result

        return [plan(run) for plan in plans]

    monkeypatch.setattr(pipeline_values, "execute", execute)
    found = check(Case(over(pair), pipeline="default"), oracles=["executed-by-pipeline"])
    assert bool(found) != retained


def test_named_inputs_of_mixed_precision_are_cast() -> None:
    call = PassCall("ToMixedPrecision(fp16_input_names=['y'])")
    whole = Case(faults.module(), (call,))
    assert check(whole, oracles=["executed"]) == []


def test_less_precision_on_the_way_is_not_where_values_part() -> None:
    @I.ir_module
    class Causal:
        @R.function
        def main(x: R.Tensor((2, 2, 2, 2), "float32")):
            with R.dataflow():
                a = R.log(R.const(3.0, "float32"))
                b = R.nn.attention(x, x, x, causal_mask="TopLeft")
                R.output(a, b)
            return (a, b)

    (violation,) = check(Case(Causal, (PassCall("ToMixedPrecision()"),)), oracles=["evaluated"])
    assert violation.key == ("values", "relax.nn.attention")
