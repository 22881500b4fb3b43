"""Checks as a whole: what they are given, what they leave out, several passes, pipelines."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path

import pytest
import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.compat import ir
from relaxfuzz.compat.drift import Drift
from relaxfuzz.oracles import checkers, composition, pass_runs
from relaxfuzz.oracles.catalogue import contract_of
from relaxfuzz.oracles.check import check, narrow
from relaxfuzz.oracles.consequence import assumed
from relaxfuzz.oracles.contract import Exemption, NormalForm, PassContract, Rejection, Relation
from relaxfuzz.oracles.grades.grade import Grade
from relaxfuzz.oracles.grading import decides
from relaxfuzz.oracles.pace import paced
from relaxfuzz.oracles.pass_runs import PassRuns, given
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.silence.inventory import NO_TIME
from relaxfuzz.oracles.silence.log import answers
from relaxfuzz.oracles.violation import Case, Violation

FILE = Path(__file__).parents[1] / "faults.py"


def user(factory: str) -> PassCall:
    return PassCall(f"{factory}()", factory=f"{FILE}:{factory}")


def module() -> tvm.IRModule:
    return tvm.ir.load_json(_text())


@functools.cache
def _text() -> str:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            with R.dataflow():
                lv = R.add(x, R.const(1.0, "float32"))
                gv = R.multiply(lv, lv)
                R.output(gv)
            return gv

    return str(tvm.ir.save_json(Module))


def with_contract(factory: str, **changes: object) -> tuple[PassCall, PassContract]:
    call = user(factory)
    return call, PassContract(name=factory, variants=lambda choices, mod: call, **changes)  # type: ignore[arg-type]  # fields by name


def test_nothing_is_promised_for_an_ill_formed_module() -> None:
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    stray = relax.Var("stray", relax.TensorType((2,), "float32"))
    func = relax.Function([x], relax.SeqExpr([], stray), ret_ty=x.ty)
    mod = tvm.IRModule({"main": func.with_attr("global_symbol", "main")})
    assert not relax.analysis.check_well_formed(mod)
    assert check(Case(mod, (user("raises"),))) == []


def test_nothing_is_promised_where_a_call_does_not_fit_its_function() -> None:
    """An earlier pass has changed the function and left the type of its GlobalVar."""
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    y = relax.Var("y", x.ty)
    builder = relax.BlockBuilder()
    with builder.function("callee", [x, y], private=True):
        callee = builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    z = relax.Var("z", x.ty)
    with builder.function("main", [z]):
        builder.emit_func_output(builder.emit(relax.Call(callee, [z, z])))
    mod = builder.get()
    assert given(mod).flaw is None
    func = mod[callee]
    func = relax.Function([func.params[0]], func.body, func.ret_ty, attrs=func.attrs)
    stale = tvm.IRModule({callee: func, mod.get_global_var("main"): mod["main"]})
    assert checkers.flaw(stale) is None
    assert given(stale).flaw is not None
    assert check(Case(stale, (PassCall("FuseTIR()"),))) == []


def test_a_pass_that_does_not_apply_is_not_run() -> None:
    call, contract = with_contract("raises", requires=lambda mod: "never applies")
    assert check(Case(module(), (call,)), contract=contract) == []


def test_a_listed_rejection_is_clean_and_another_text_is_not() -> None:
    clean = (Rejection("lv17", "a test"),)
    call, contract = with_contract("raises", rejections=clean)
    assert check(Case(module(), (call,)), contract=contract) == []
    call, contract = with_contract("raises", rejections=(Rejection("unsupported", "a test"),))
    (violation,) = check(Case(module(), (call,)), contract=contract)
    assert violation.oracle == "crash"


def test_an_exempt_oracle_is_silent_where_the_exemption_holds() -> None:
    def exempt(holds: bool) -> tuple[Exemption, ...]:
        return (Exemption("idempotent", "grows", "a test", when=lambda mod, call: holds),)

    call, contract = with_contract("raises_the_second_time", exemptions=exempt(True))
    assert check(Case(module(), (call,)), contract=contract) == []
    call, contract = with_contract("raises_the_second_time", exemptions=exempt(False))
    (violation,) = check(Case(module(), (call,)), contract=contract)
    assert violation.oracle == "idempotent"


def promised(holds: bool) -> NormalForm:
    return NormalForm("a test", when=lambda mod, call: holds)


@pytest.mark.parametrize(
    ("form", "title", "fails"),
    [
        (NormalForm("a test"), "a second run changes the result", True),
        (promised(True), "a second run changes the result", True),
        (promised(False), "no normal form: a second run changes the result", False),
        (None, "no normal form: a second run changes the result", False),
    ],
)
def test_a_second_run_of_a_users_pass_is_a_hint_unless_a_normal_form_is_promised(
    form: NormalForm | None, title: str, fails: bool
) -> None:
    call, contract = with_contract("grows_with_every_run", normal_form=form)
    (violation,) = check(Case(module(), (call,)), contract=contract)
    assert (violation.oracle, violation.key) == ("idempotent", (title,))
    assert decides(violation.full_key) is fails
    assert decides(violation.full_key, named=["idempotent"]), "it is what the user has asked for"
    assert assumed(violation).grade is Grade.C


def test_a_second_run_must_not_raise_whatever_is_promised() -> None:
    (violation,) = check(Case(module(), (user("raises_the_second_time"),)))
    assert (violation.oracle, assumed(violation).grade) == ("idempotent", Grade.B)
    assert decides(violation.full_key)


def rules_of_silence(number: int, *, of_campaign: bool = True, named: bool = False) -> list[str]:
    call = dataclasses.replace(user("grows_with_every_run"), like="AdjustMatmulOrder")
    mod = module().with_attr("number", number)
    if of_campaign:
        given(mod, lambda: module().with_attr("number", number))
    with answers() as found:
        check(Case(mod, (call,)), oracles=["idempotent"] if named else None)
    return [silence.rule for silence in found["idempotent"].silences]


def test_a_campaign_runs_a_pass_without_a_normal_form_a_second_time_in_some_checks() -> None:
    found = []
    for number in range(24):
        found += rules_of_silence(number)
        assert rules_of_silence(number, of_campaign=False) == ["no-normal-form"]
        assert rules_of_silence(number, named=True) == ["no-normal-form"]
    assert 0 < found.count("no-normal-form") < found.count("sampled")


def test_what_changes_how_the_result_is_called_is_run_once() -> None:
    call, contract = with_contract("raises_the_second_time", relation=Relation.BOUND_PARAMS)
    found = check(Case(module(), (call,)), oracles=["idempotent"], contract=contract)
    assert found == []
    contract = dataclasses.replace(contract, normal_form=NormalForm("a test"))
    assert check(Case(module(), (call,)), oracles=["idempotent"], contract=contract) != []


def test_what_a_second_run_undoes_is_a_wrong_value_all_the_same() -> None:
    call = user("swaps_sum_and_difference")
    found = check(Case(module(), (call,)), besides=("evaluated",))
    assert [violation.oracle for violation in found] == ["evaluated", "idempotent"]
    # Where a second result differs first is an accident of the module.
    assert found[1].key == ("no normal form: a second run changes the result",)


def test_a_new_signature_is_the_purpose_of_some_passes() -> None:
    call, contract = with_contract("swaps_parameters", relation=Relation.NEW_SIGNATURE)
    mod = module()
    assert check(Case(mod, (call,)), contract=contract) == []


def test_each_run_is_journaled_before_it_begins() -> None:
    steps: list[str] = []
    check(Case(module(), (PassCall("ToNonDataflow()"),)), journal=steps.append)
    assert sorted(steps) == ["Sequential", "direct", "given", "second run"]


def test_a_pass_that_takes_the_time_for_its_check_is_run_once() -> None:
    steps: list[str] = []
    with answers() as given, paced(0.0):
        check(Case(module(), (user("copies"),)), journal=steps.append)
    assert ("direct" in steps) != ("Sequential" in steps)
    silent = {answer.oracle for answer in given.values() if answer.silent == NO_TIME.excuses}
    assert {"sequential", "deterministic", "repeatable"} <= silent
    # Sequential skips this one, so that neither run stands for the other.
    steps.clear()
    with paced(0.0):
        check(Case(module(), (user("is_skipped_in_sequential"),)), journal=steps.append)
    assert {"direct", "Sequential"} <= set(steps)


def test_both_orders_of_direct_and_sequential_occur() -> None:
    orders = set()
    for size in range(1, 9):
        builder = relax.BlockBuilder()
        x = relax.Var("x", relax.TensorType((size,), "float32"))
        with builder.function("main", [x]):
            builder.emit_func_output(x)
        steps: list[str] = []
        check(Case(builder.finalize(), (PassCall("Normalize()"),)), journal=steps.append)
        orders.add(steps[1])
    assert orders == {"direct", "Sequential"}


def untyped() -> tvm.IRModule:
    loose = tvm.ir.GlobalVar("loose")
    functions = dict(module().functions_items())
    return tvm.IRModule({loose: tirx.PrimFunc([], ir.Evaluate(0)), **functions})


def test_a_change_that_no_hash_covers_is_seen_where_it_is_looked_for() -> None:
    case = Case(untyped(), (user("fills_in_a_type"),))
    (violation,) = check(case, oracles=["mutation"])
    assert violation.title == "the input module is changed in place, in names or annotations"
    assert check(Case(untyped(), (user("copies"),)), oracles=["mutation"]) == []


@pytest.mark.parametrize("all_kinds", [False, True])
def test_it_is_looked_for_in_a_sample_of_a_campaign_and_in_any_other_check(all_kinds: bool) -> None:
    calls = (user("fills_in_a_type"),)
    seen = set()
    for size in range(1, 30):
        mod = untyped()
        x = relax.Var("x", relax.TensorType((size,), "float32"))
        mod["sized"] = relax.Function([x], relax.SeqExpr([], x), x.ty)
        seen.add(PassRuns(mod, calls, contract_of(calls[0]), all_kinds=all_kinds).sampled)
    assert seen == ({True} if all_kinds else {True, False})


def test_only_the_pass_that_makes_such_a_change_is_blamed() -> None:
    def changes(mod: tvm.IRModule, factory: str) -> bool:
        return bool(check(Case(mod, (user(factory),)), oracles=["mutation"]))

    mod = untyped()
    record = given(mod, untyped)
    assert not changes(mod, "copies")
    user("fills_in_a_type").run(mod)  # nobody looks
    assert not changes(mod, "copies")
    assert given(mod) is record
    other = untyped()
    given(other, untyped)
    assert not changes(other, "copies")
    assert changes(other, "fills_in_a_type")
    assert not changes(other, "copies")


def test_the_content_is_taken_down_once_for_all_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[tvm.IRModule] = []
    save = pass_runs.save_json

    def counted(mod: tvm.IRModule) -> str:
        taken.append(mod)
        return save(mod)

    monkeypatch.setattr(pass_runs, "save_json", counted)
    mod = module()
    given(mod, module)
    for factory in ("copies", "marks", "copies"):
        assert check(Case(mod, (user(factory),)), oracles=["mutation"]) == []
    assert len(taken) == 1


def test_what_a_module_shares_with_a_sound_one_is_not_walked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    walked: list[object] = []
    monkeypatch.setattr(checkers, "global_vars", lambda func: walked.append(func) or [])
    sound = untyped()
    added = {tvm.ir.GlobalVar("added"): tirx.PrimFunc([], ir.Evaluate(0))}
    assert checkers.names_flaw(tvm.IRModule({**sound.functions, **added}), sound) is None
    assert len(walked) == 1
    # What a function of it uses may be what is missing.
    rest = [pair for pair in sound.functions_items() if pair[0].name_hint != "loose"]
    assert checkers.names_flaw(tvm.IRModule({**dict(rest), **added}), sound) is None
    assert len(walked) == 3


def test_operands_of_two_types_are_ill_formed() -> None:
    """Only a mutator gives one: who makes it is refused."""
    half, single = tirx.Var("x", "float16"), tirx.Var("x", "float32")
    mixed = tvm_ffi.structural_map(
        tirx.PrimFunc([half, single], ir.Evaluate(tirx.Min(single, tirx.const(1, "float32")))),
        [(tirx.Var, lambda var: half if var.same_as(single) else var)],
    )
    sound = tirx.PrimFunc([single], ir.Evaluate(tirx.Min(single, tirx.const(1, "float32"))))
    assert checkers.operands_flaw(tvm.IRModule({"f": sound})) is None
    found = checkers.operands_flaw(tvm.IRModule({"f": mixed}))
    assert found is not None
    assert "Min of" in found.detail


# Several passes


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_pass_of_a_list_that_fails_is_blamed(place: int) -> None:
    calls = [PassCall("CanonicalizeBindings()"), PassCall("LegalizeOps()")]
    calls.insert(place, user("forgets_a_binding"))
    case = Case(module(), tuple(calls))
    (violation,) = check(case)
    assert (violation.oracle, violation.pass_name) == ("well-formed", "forgets_a_binding")
    small = narrow(case, violation)
    assert small.calls == (user("forgets_a_binding"),)
    assert key(check(small)) == [(violation.oracle, violation.pass_name, violation.key)]


def key(violations: list[Violation]) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(v.oracle, v.pass_name, v.key) for v in violations]


def test_a_list_leaves_out_what_sequential_skips() -> None:
    calls = (PassCall("LegalizeOps()"), user("is_skipped_in_sequential"), PassCall("Normalize()"))
    assert check(Case(module(), calls)) == []


@pytest.mark.parametrize("others", [(), ("Normalize()", "LegalizeOps()")])
def test_a_rarely_random_pass_is_found(others: tuple[str, ...]) -> None:
    """Its result is another one in one run of 23: hardly ever on the first copies."""
    calls = (user("differs_rarely"), *map(PassCall, others))
    found = [violation for _ in range(23) for violation in check(Case(module(), calls))]
    assert {violation.pass_name for violation in found} == {"differs_rarely"}
    assert "deterministic" in {violation.oracle for violation in found}


@I.ir_module
class Folded:
    @T.prim_func(private=True)
    def kernel(out: T.Buffer((T.int64(2),), "float32")):
        for i in range(T.int64(2)):
            out[i] = T.float32(1)

    @R.function
    def main() -> R.Tensor((2,), "float32"):
        cls = Folded
        with R.dataflow():
            gv = R.call_tir(cls.kernel, R.tuple(), out_ty=R.Tensor((2,), "float32"))
            R.output(gv)
        return gv


def test_only_code_without_meaning_may_be_folded_to_anything() -> None:
    random = dataclasses.replace(user("counts_its_runs"), like="FoldConstant")
    mod = Folded.clone()
    for calls in ((random,), (PassCall("Normalize()"), random)):
        (violation,) = check(Case(mod, calls))
        assert violation.oracle == "deterministic"
    mod["kernel"] = mod["kernel"].with_body(ir.Evaluate(0))  # it leaves its output unwritten
    assert check(Case(mod, (random,)), oracles=["deterministic"]) == []
    assert check(Case(mod, (PassCall("Normalize()"), random))) == []


@pytest.mark.parametrize(
    ("oracle", "public"), [("deterministic", True), ("deterministic", False), ("json", True)]
)
def test_no_two_runs_need_agree_on_code_without_meaning(oracle: str, public: bool) -> None:
    random = dataclasses.replace(user("counts_its_runs"), like="FoldConstant")
    mod = Folded.clone()
    if not public:
        mod["main"] = mod["main"].without_attr("global_symbol")
    (violation,) = check(Case(mod, (random,)), oracles=[oracle])
    assert violation.oracle == oracle
    mod["kernel"] = mod["kernel"].with_body(ir.Evaluate(0))
    assert check(Case(mod, (random,)), oracles=[oracle]) == []


@I.ir_module
class FoldedAfterAnother:
    """What is taken of a constant depends on another folded call. Before it is a call of a function
    that nobody knows, so the function as a whole cannot be evaluated."""

    @T.prim_func(private=True)
    def index(out: T.Buffer((T.int64(2),), "int64")):
        for i in range(T.int64(2)):
            out[i] = i

    @T.prim_func(private=True)
    def outside(out: T.Buffer((T.int64(2),), "int64")):
        for i in range(T.int64(2)):
            out[i] = i + T.int64(2)

    @T.prim_func(private=True)
    def taken(
        index: T.Buffer((T.int64(2),), "int64"),
        x: T.Buffer((T.int64(2),), "float32"),
        out: T.Buffer((T.int64(2),), "float32"),
    ):
        for i in range(T.int64(2)):
            out[i] = x[index[i]]

    @R.function
    def main() -> R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")):
        cls = FoldedAfterAnother
        with R.dataflow():
            x = R.const([1.0, 2.0], "float32")
            lv = R.call_dps_packed("unknown", (x,), out_ty=R.Tensor((2,), "float32"))
            lv1 = R.call_tir(cls.index, R.tuple(), out_ty=R.Tensor((2,), "int64"))
            lv2 = R.call_tir(cls.taken, (lv1, x), out_ty=R.Tensor((2,), "float32"))
            gv = (lv, lv2)
            R.output(gv)
        return gv


def test_what_is_folded_may_have_no_meaning_because_of_what_was_folded_before() -> None:
    random = dataclasses.replace(user("counts_its_runs"), like="FoldConstant")
    mod = FoldedAfterAnother.clone()
    (violation,) = check(Case(mod, (random,)), oracles=["deterministic"])
    assert violation.oracle == "deterministic"
    mod["index"] = mod["outside"]
    del mod["outside"]
    assert check(Case(mod, (random,)), oracles=["deterministic"]) == []


def test_what_is_left_to_chance_does_not_depend_on_where_the_passes_are(tmp_path: Path) -> None:
    copy = tmp_path / FILE.name
    copy.write_bytes(FILE.read_bytes())
    here, there = user("copies"), PassCall("copies()", factory=f"{copy}:copies")
    contract = PassContract(name="copies", variants=lambda choices, mod: None)
    one, other = (PassRuns(module(), (call,), contract) for call in (here, there))
    assert one.calls != other.calls
    assert one.entropy == other.entropy
    assert one.entropy != PassRuns(module(), (PassCall("Normalize()"),), contract).entropy


def test_the_step_of_a_pipeline_that_fails_is_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = (PassCall("LegalizeOps()"), user("forgets_a_binding"), PassCall("FuseOps()"))
    monkeypatch.setattr(composition.pipelines, "steps", lambda name: steps)
    case = Case(module(), pipeline="zero")
    (violation,) = check(case)
    assert (violation.oracle, violation.pass_name) == ("well-formed", "forgets_a_binding")
    assert narrow(case, violation).calls == (steps[1],)


def test_what_tvm_lacks_is_no_outcome_of_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(tvm.transform, "Sequential")
    with pytest.raises(Drift, match=r"this TVM has no tvm\.ir\.transform\.Sequential"):
        check(Case(module(), (PassCall("Normalize()"),)), oracles=("sequential",))


def size_outside_of_its_block() -> tvm.IRModule:
    """The type of an output names another output, which nothing else uses."""
    x, block = relax.Var("x", relax.TensorType(dtype="float32")), relax.BlockBuilder()
    with block.function("main", [x]):
        with block.dataflow():
            size = block.emit_output(relax.op.shape_of(x))
            y = block.emit_output(relax.op.reshape(x, size))
        block.emit_func_output(block.emit(relax.op.sum(y)))
    return block.get()


@pytest.mark.parametrize("text", ["ExpandMatmulOfSum()", "ReorderTakeAfterMatmul()"])
def test_what_a_part_does_wrong_by_itself_is_its_own_fault(text: str) -> None:
    """Behind CanonicalizeBindings other parts run, and the checker complains of something else."""
    mod = size_outside_of_its_block()
    (alone,) = check(Case(mod, (PassCall("CanonicalizeBindings()"),)))
    (found,) = check(Case(mod, (PassCall(text),)))
    assert (found.oracle, found.pass_name) == ("well-formed", "CanonicalizeBindings")
    assert found.key == alone.key


def test_what_rewriting_does_in_a_users_pass_is_no_fault_of_a_common_part() -> None:
    """What runs inside of a user's pass is not known; that it does what rewriting does, is."""
    (found,) = check(Case(size_outside_of_its_block(), (user("expands"),)))
    assert (found.oracle, found.pass_name) == ("well-formed", "PatternMatchingRewriter")


@pytest.mark.parametrize("listed", [True, False])
def test_nothing_is_promised_for_a_device_that_the_module_does_not_list(listed: bool) -> None:
    device = ir.VDevice("llvm", 0, "global")
    ty = relax.TensorType((2,), "float32", vdevice=device)
    gvar, gv = tvm.ir.GlobalVar("kernel"), relax.Var("gv", ty)
    call = relax.op.call_tir(gvar, [], ty)
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(gv, call)])], gv)
    main = relax.Function([], body, ty).with_attr("global_symbol", "main")
    infos = {"vdevice": [device]} if listed else {}
    mod = tvm.IRModule({"main": main, gvar: Folded["kernel"]}, global_infos=infos)
    assert (checkers.devices_flaw(mod) is None) == listed
    assert check(Case(mod, (PassCall("CallTIRRewrite()"),)), oracles=["crash"]) == []


def test_nothing_is_promised_for_a_call_of_another_type_than_its_function_gives() -> None:
    """An earlier pass has given the function another type, and its callers not."""

    @I.ir_module
    class Module:
        @R.function(private=True)
        def halved(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float16"):
            return R.astype(x, "float16")

        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float16"):
            return Module.halved(x)

    assert checkers.calls_flaw(Module) is None
    changed = Module["halved"]
    body = relax.SeqExpr([], changed.params[0])
    kept = relax.Function(changed.params, body, changed.params[0].ty)
    stale = tvm.IRModule({**dict(Module.functions_items()), Module.get_global_var("halved"): kept})
    found = checkers.calls_flaw(stale)
    assert found is not None
    assert found.title.startswith("ill-formed: the type of a call contradicts")


def test_nothing_is_promised_for_a_function_that_returns_another_type_than_it_says() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(x)
    mod = builder.get()
    assert checkers.calls_flaw(mod) is None
    mod["main"] = relax.Function([x], mod["main"].body, relax.ShapeType([2]), is_pure=True)
    found = checkers.calls_flaw(mod)
    assert found is not None
    assert found.title.startswith("ill-formed: the type of a function's result contradicts")


def branching(branch_size: str, size: str) -> tvm.IRModule:
    """A parameter of two elements goes through the branches of an If; they and it claim others."""
    n = relax.Var("n", tvm.ir.PrimType("int64"))
    condition = relax.Var("condition", relax.TensorType((), "bool"))
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    of_size = {"n": n, "2": 2}
    branches = [relax.SeqExpr([], x) for _ in range(2)]
    for branch in branches:
        relax.expr._update_type(branch, relax.TensorType((of_size[branch_size],), "float32"))
    conditional = relax.If(condition, *branches)
    gv = relax.Var("gv", relax.TensorType((of_size[size],), "float32"))
    relax.expr._update_type(conditional, gv.ty)
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(gv, conditional)])], gv)
    relax.expr._update_type(body, gv.ty)
    return tvm.IRModule({"main": relax.Function([n, condition, x], body, gv.ty)})


@pytest.mark.parametrize("sizes", [("n", "n"), ("2", "n")])
def test_nothing_is_promised_for_a_branch_of_a_type_that_its_value_need_not_have(
    sizes: tuple[str, str],
) -> None:
    assert checkers.input_flaw(branching("2", "2")) is None
    mod = branching(*sizes)
    assert checkers.flaw(mod) is None
    found = checkers.input_flaw(mod)
    assert found is not None
    assert found.title.startswith("ill-formed: the type of a branch says more")


def casting(value: relax.Type, ty: relax.Type) -> tvm.IRModule:
    """The parameter of this type is cast to the other one, with no builder that may refuse it."""
    x, cast = relax.Var("x", value), relax.Var("cast", ty)
    body = relax.SeqExpr([relax.BindingBlock([relax.MatchCast(cast, x, ty)])], cast)
    relax.expr._update_type(body, ty)
    return tvm.IRModule({"main": relax.Function([x], body, ty)})


FLOATS = relax.TensorType((2,), "float32")


@pytest.mark.parametrize(
    ("value", "ty", "possible"),
    [
        (FLOATS, relax.TensorType((2,), "int64"), False),
        (FLOATS, relax.TensorType((3,), "float32"), False),
        (FLOATS, relax.ShapeType([2]), False),
        (FLOATS, relax.TensorType(None, "float32", ndim=1), True),
        (relax.TensorType(None, None, ndim=1), FLOATS, True),
        (relax.TensorType((tirx.Var("n", "int64"),), "float32"), FLOATS, True),
        (relax.AnyType(), FLOATS, True),
    ],
)
def test_nothing_is_promised_for_a_match_cast_to_a_type_that_its_value_cannot_have(
    value: relax.Type, ty: relax.Type, possible: bool
) -> None:
    """It is what `BlockBuilder.match_cast` refuses."""
    mod = casting(value, ty)
    assert checkers.flaw(mod) is None
    found = checkers.input_flaw(mod)
    assert (found is None) == possible
    assert found is None or found.title.startswith("ill-formed: a match_cast is to a type")
    builder, x = relax.BlockBuilder(), relax.Var("x", value)
    with builder.function("main", [x]):
        if possible:
            builder.match_cast(x, ty)
        else:
            with pytest.raises(tvm.error.InternalError, match="impossible to match cast"):
                builder.match_cast(x, ty)
        builder.emit_func_output(x)
