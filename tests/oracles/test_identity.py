"""Identities: which reports are of one bug, which are similar, and which are others."""

from __future__ import annotations

import dataclasses

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.oracles import identity
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.identify import DEVICE, UNSCHEDULED, Circumstances, identity_of
from relaxfuzz.oracles.identity import (
    FailureKind,
    Identity,
    Sameness,
    compare,
    distinction,
    is_alike,
    is_presumed,
)
from relaxfuzz.oracles.ingredients import ingredients, of_family
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.text.frames import LEGALIZATION, Trace
from relaxfuzz.oracles.text.messages import MISTYPED
from relaxfuzz.oracles.violation import Case, Raised, Violation

HERE = "relax/op/nn/nn.cc:404 (0.27.0.post1)"
CRASH = Identity(
    failure=FailureKind.RAISES,
    blamed=("FuseOps",),
    site=("Fuser::Group", "Fuser::Visit"),
    condition="it_group != obj2group_.end()",
    ingredients=frozenset({"attribute Composite", "If"}),
)
VALUES = Identity(
    failure=FailureKind.VALUES,
    blamed=("relax.take",),
    site=("values",),
    ingredients=frozenset({"relax.take", "relax.take mode"}),
)


def with_site(*functions: str, condition: str = CRASH.condition) -> Identity:
    return dataclasses.replace(CRASH, site=functions, condition=condition)


def needing(of: Identity, *what: str) -> Identity:
    return dataclasses.replace(of, ingredients=frozenset(what))


def blaming(of: Identity, *names: str) -> Identity:
    return dataclasses.replace(of, blamed=names)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (CRASH, Sameness.SAME),
        (needing(CRASH, "MatchCast"), Sameness.SAME),  # the way to the throw tells enough
        (blaming(CRASH, "FuseOpsByPattern", "FuseOps"), Sameness.SAME),
        (blaming(CRASH, "MergeCompositeFunctions"), Sameness.SIMILAR),
        (dataclasses.replace(CRASH, failure=FailureKind.ILL_FORMED), Sameness.SIMILAR),
        (with_site(*CRASH.site, condition="depgroup != cur_group"), Sameness.OTHER),
        (with_site("Fuser::Boundary"), Sameness.OTHER),
    ],
)
def test_what_raises(other: Identity, expected: Sameness) -> None:
    assert compare(CRASH, other) is compare(other, CRASH) is expected


def test_a_build_with_symbols_names_more_functions() -> None:
    symbols = with_site(
        "FuseOpsImpl", CRASH.site[0], "Functor::Visit", "GraphCreator::Create", CRASH.site[1]
    )
    assert compare(CRASH, symbols) is Sameness.SAME
    assert compare(CRASH, with_site("FuseOpsImpl", CRASH.site[1])) is Sameness.OTHER


def test_places_of_two_versions_are_compared_by_their_files() -> None:
    here = with_site(*CRASH.site, condition=HERE)
    assert compare(here, with_site(*CRASH.site, condition=HERE.replace("404", "398"))) != 2
    before = with_site(*CRASH.site, condition="relax/op/nn/nn.cc:398 (0.26.0)")
    assert compare(here, before) is Sameness.SAME


@pytest.mark.parametrize(
    "operators", [("conv1d", "conv2d", "conv3d"), ("max_pool2d", "avg_pool3d")], ids=str
)
def test_an_operator_stands_for_its_family(operators: tuple[str, ...]) -> None:
    assert len({of_family(f"relax.nn.{name}") for name in operators}) == 1
    assert of_family("relax.nn.conv2d_transpose") != of_family("relax.nn.conv2d")


def test_a_pass_without_a_case_for_a_kind_of_node_is_one_bug() -> None:
    one = with_site("ExprFunctor::VisitExprDefault_")
    assert compare(needing(one, "If"), needing(one, "ExternFunc")) is Sameness.SAME


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("InferBinaryBroadcastShape", Sameness.SAME),
        ("NormalizeAxes", Sameness.SIMILAR),  # it infers no type
    ],
)
def test_which_check_of_type_inference_refuses_a_call_is_an_accident(
    function: str, expected: Sameness
) -> None:
    one = with_site("RewriteCall", "InferTypeMatmul", condition="relax/op/a.cc:140 (0.27.0)")
    other = with_site("RewriteCall", function, condition="relax/op/b.cc:162 (0.27.0)")
    assert compare(one, other) is expected


@pytest.mark.parametrize(
    "helper",
    [
        "IntImm::IntImm",
        "ffi::Optional::value",
        "ObjectMutator::DispatchNode",
        "CanonicalSimplifier::operator_call",
        "floordiv",
    ],
)
def test_behind_helpers_the_ingredients_decide(helper: str) -> None:
    assert not identity.is_telling(helper)
    one = with_site(helper)
    assert compare(one, needing(one, "If", "attribute Composite", "MatchCast")) is Sameness.SAME
    assert compare(one, needing(one, "MatchCast")) is Sameness.OTHER


REFUSED = Identity(
    failure=FailureKind.RAISES,
    blamed=(LEGALIZATION,),
    site=("relax/utils.py:gen_call_tir_inputs", "mine::pool_impl"),
    condition="stride_size.size() == k_size",
    ingredients=frozenset({"relax.nn.max_pool2d"}),
)
PADDING = dataclasses.replace(REFUSED, condition="padding_size.size() == k_size * 2")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (REFUSED, PADDING, Sameness.SAME),
        (REFUSED, needing(PADDING, "relax.nn.conv2d"), Sameness.OTHER),  # not of one operator
        (REFUSED, dataclasses.replace(PADDING, site=("mine::conv_impl",)), Sameness.OTHER),
        # another function, in Python, throws behind it
        (REFUSED, dataclasses.replace(PADDING, site=(*PADDING.site, "a.py:cast")), Sameness.OTHER),
        # a pass of its own checks more than the operands of one call
        (blaming(REFUSED, "FuseOps"), blaming(PADDING, "FuseOps"), Sameness.OTHER),
    ],
)
def test_which_condition_of_a_function_refuses_a_call_is_an_accident(
    one: Identity, other: Identity, expected: Sameness
) -> None:
    assert compare(one, other) is compare(other, one) is expected


def test_functions_that_several_records_share_point_to_no_cause() -> None:
    shared = identity.shared_functions()
    assert "relax/block_builder.py:call_te" in shared
    assert all(not identity.is_telling(name) for name in shared)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (needing(VALUES, "relax.take", "relax.take mode", "relax.reshape"), Sameness.SAME),
        (needing(VALUES, "relax.take", "relax.take mode", "relax.take axis"), Sameness.SAME),
        (needing(VALUES, "relax.take"), Sameness.OTHER),  # without the attribute
        (needing(VALUES, "relax.take", "relax.take mode", "open shape"), Sameness.OTHER),
        (needing(VALUES), Sameness.OTHER),
        (dataclasses.replace(VALUES, ingredients=None), Sameness.OTHER),
        (dataclasses.replace(VALUES, site=("dtype",)), Sameness.SIMILAR),
        (blaming(VALUES, "relax.gather_nd"), Sameness.OTHER),
    ],
)
def test_wrong_values(other: Identity, expected: Sameness) -> None:
    assert min(compare(VALUES, other), compare(other, VALUES)) is expected


def test_the_distinction_names_what_differs() -> None:
    said = distinction(CRASH, blaming(needing(CRASH, "If", "MatchCast"), "MergeComposite"))
    assert "MergeComposite is blamed" in said
    assert "with MatchCast" in said
    assert "segfault instead of raises" in distinction(
        CRASH, dataclasses.replace(CRASH, failure=FailureKind.DIES, how="segfault")
    )


def test_a_report_is_presumed_the_bug_whose_ingredients_its_module_has() -> None:
    report = dataclasses.replace(VALUES, ingredients=None)
    assert is_presumed(VALUES, report, ("If", "relax.take", "relax.take mode"))
    assert not is_presumed(VALUES, report, ("If", "relax.take"))
    assert not is_presumed(VALUES, blaming(report, "relax.add"), VALUES.ingredients or ())
    assert not is_presumed(dataclasses.replace(VALUES, ingredients=None), report, ("relax.take",))
    assert is_presumed(needing(VALUES), report, ("relax.take",))


def test_a_minimizer_keeps_failure_blamed_and_site() -> None:
    assert is_alike(VALUES, needing(VALUES, "MatchCast"))
    assert not is_alike(VALUES, dataclasses.replace(VALUES, site=("shape",)))


# Of violations


def raised(*functions: str, within: str = "", own: str = "", oracle: str = "crash") -> Violation:
    return Violation(
        "ValueError: no",
        "",
        ("ValueError", "condition"),
        trace=Trace(functions, "condition"),
        raised=Raised("ValueError", within, own),
        oracle=oracle,
        pass_name="FuseOps",
    )


def test_what_a_second_run_raises_is_what_a_first_run_raises() -> None:
    first = identity_of(raised("Fuser::Run"))
    again = dataclasses.replace(
        raised("Fuser::Run", oracle="idempotent").under("a second run raises")
    )
    assert compare(first, identity_of(again)) is Sameness.SAME


def test_shared_code_is_blamed_for_what_it_raises() -> None:
    one = identity_of(raised("relax/transform/legalize_ops/nn.py:_pad", within="legalization"))
    other = dataclasses.replace(
        raised("relax/transform/legalize_ops/nn.py:_pad", within="legalization"),
        pass_name="FoldConstant",
    )
    assert one.blamed == ("legalization",)
    assert compare(one, identity_of(other)) is Sameness.SAME
    assert identity_of(raised("A")).blamed == ("FuseOps",)


def test_the_lowering_of_an_operator_is_wrong_whichever_oracle_sees_it() -> None:
    known = Circumstances(ingredients=frozenset({"relax.take"}))
    in_numpy = Violation(
        "", "", ("values", "relax.take"), oracle="evaluated", pass_name="LegalizeOps"
    )
    built = Violation("", "", ("values",), oracle="executed-by-pipeline", pass_name="relax.take")
    one, other = (identity_of(each, known=known) for each in (in_numpy, built))
    assert compare(one, other) is Sameness.SAME
    assert one.blamed == ("relax.take",)


def test_an_operator_that_gives_another_type_is_blamed_whichever_pass_shows_it() -> None:
    what = "the result refuses arguments that the module takes"
    mistyped = f"{what}, since relax.topk {MISTYPED}"
    identities = [
        identity_of(Violation.titled(text).blame("evaluated", "FuseOpsByPattern"), ())
        for text in (mistyped, what)
    ]
    assert [each.blamed for each in identities] == [("relax.topk",), ("FuseOpsByPattern",)]


def test_the_operator_that_differs_first_is_no_part_of_other_passes_identities() -> None:
    mine = Violation("", "", ("values", "relax.add"), oracle="evaluated", pass_name="FuseTIR")
    its = Violation("", "", ("values", "relax.exp"), oracle="executed", pass_name="FuseTIR")
    assert is_alike(identity_of(mine), identity_of(its))


def test_what_depends_on_addresses_is_one_bug_whichever_oracle_sees_it() -> None:
    known = Circumstances(ingredients=frozenset({"If"}))
    every = [
        identity_of(
            Violation("", "", ("another result",), oracle=oracle, pass_name="FuseOps"), known=known
        )
        for oracle in ("deterministic", "json", "history", "fresh-process")
    ]
    assert all(compare(every[0], each) is Sameness.SAME for each in every)


def test_operators_that_infer_their_types_by_one_code_are_one() -> None:
    wrong = Violation("", "", ("dtype",), oracle="signature", pass_name="LegalizeOps")
    needs = frozenset({"relax.add", "relax.matmul", "relax.matmul out_dtype", "Tuple"})

    def blamed(operator: str) -> tuple[str, frozenset[str] | None]:
        known = Circumstances(ingredients=needs, retyped=(operator, "dtype"))
        found = identity_of(wrong, known=known)
        return found.blamed[0], found.ingredients

    assert blamed("relax.add") == blamed("relax.floor_mod") == ("elementwise operators", set())
    assert blamed("relax.nn.conv1d")[0] == blamed("relax.nn.conv3d")[0] != "elementwise operators"
    assert blamed("relax.matmul") == ("relax.matmul", {"relax.matmul out_dtype"})


def test_a_device_that_legalizations_lose_is_one_bug_of_theirs() -> None:
    lost = Violation("", "", ("lost",), oracle="devices", pass_name="LegalizeOps")
    identities = [
        identity_of(lost, known=Circumstances(ingredients=frozenset({op}), retyped=(op, DEVICE)))
        for op in ("relax.nn.conv2d", "relax.image.grid_sample")
    ]
    assert compare(*identities) is Sameness.SAME
    assert identities[0].blamed == (LEGALIZATION,)


def test_another_type_than_inferred_is_one_bug_whether_it_is_read_or_run() -> None:
    known = Circumstances(ingredients=frozenset(), retyped=("relax.meshgrid", "shape"))
    text = f"the result refuses arguments, since relax.meshgrid {MISTYPED}"
    run = Violation.titled(text).blame("evaluated", "FuseOpsByPattern")
    read = Violation("", "", ("shape",), oracle="signature", pass_name="LegalizeOps")
    one, other = (identity_of(each, known=known) for each in (run, read))
    assert compare(one, other) is Sameness.SAME


def test_a_users_pass_is_its_file_and_its_name() -> None:
    mine, its = (
        PassCall("double()", factory=f"/passes/{name}.py:double") for name in ("double", "fixed")
    )
    violation = Violation("", "", ("values", "relax.add"), oracle="evaluated", pass_name="double")
    known = Circumstances(ingredients=frozenset({"relax.sum"}))
    one, other = (identity_of(violation, (call,), known) for call in (mine, its))
    assert one.blamed == ("/passes/double.py:double",)
    assert compare(one, other) is Sameness.OTHER


def test_a_wrong_result_of_a_users_pass_is_one_bug_however_it_shows() -> None:
    call = PassCall("mine()", factory="/passes/mine.py:mine")
    known = Circumstances(ingredients=frozenset({"relax.sum"}))
    symptoms = [
        Violation("", "", ("values", "relax.sum"), oracle="evaluated", pass_name="mine"),
        Violation("", "", ("ill-formed", "Checker"), oracle="well-formed", pass_name="mine"),
        dataclasses.replace(
            raised("mine.py:visit", "InferTypeSum", own="mine.py:visit"), pass_name="mine"
        ),
    ]
    first, *others = (identity_of(each, (call,), known) for each in symptoms)
    assert all(compare(first, each) is Sameness.SAME for each in others)
    own_line = dataclasses.replace(raised("mine.py:visit", own="mine.py:visit"), pass_name="mine")
    assert compare(first, identity_of(own_line, (call,), known)) is not Sameness.SAME


def test_the_refusal_of_a_schedule_is_no_other_failure_of_a_users_pass() -> None:
    """An empty module is refused by every schedule, so findings must not be reduced to one."""
    call = PassCall("mine()", factory="/passes/mine.py:mine")
    fault = dataclasses.replace(
        raised("mine.py:run", "s_tir::CacheIndex", own="mine.py:run"), pass_name="mine"
    )
    refusals = [
        dataclasses.replace(
            raised("mine.py:run", f"s_tir::{primitive}", own="mine.py:run"),
            pass_name="mine",
            raised=Raised(UNSCHEDULED, own="mine.py:run"),
        )
        for primitive in ("GetSBlock", "ComputeAt")
    ]
    first, *others = (identity_of(each, (call,)) for each in (fault, *refusals))
    assert not any(is_alike(first, each) for each in others)
    assert is_alike(*others)


# Of real passes


@I.ir_module
class NoSize:
    @R.function
    def main(x: R.Tensor((1, 2, 3), "float32")):
        with R.dataflow():
            y = R.nn.adaptive_avg_pool1d(x, output_size=[0], layout="NCW")
            R.output(y)
        return y


def test_the_site_of_a_legalization_names_its_functions() -> None:
    call = PassCall("LegalizeOps()")
    (violation,) = check(Case(NoSize, (call,)))
    found = identity_of(violation, (call,))
    assert found.failure is FailureKind.RAISES
    assert found.blamed == ("legalization",)
    assert "relax/transform/legalize_ops/nn.py:_nn_adaptive_avg_pool1d" in found.site
    assert found.condition == "pb->value != 0"


def test_what_the_minimizer_puts_anywhere_is_no_ingredient() -> None:
    x = relax.Var("x", R.Tensor((2,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit(relax.op.exp(relax.op.add(x, x)))
            packed = relax.op.call_pure_packed("f", y, ty_args=[x.ty])
            out = builder.emit_output(relax.op.sum(builder.emit(packed), keepdims=True))
        builder.emit_func_output(out)
    found = ingredients(builder.get())
    assert found == {"relax.exp", "relax.sum", "relax.sum keepdims"}
    wrong = Violation("", "", ("values",), oracle="evaluated", pass_name="FuseTIR")
    known = Circumstances(ingredients=found)
    assert identity_of(wrong, known=known).ingredients == frozenset()  # it treats operators alike
    wrong = dataclasses.replace(wrong, pass_name="ToMixedPrecision")
    assert identity_of(wrong, known=known).ingredients == found - {"relax.exp"}
    own = PassCall("mine()", factory="/passes/mine.py:mine")
    wrong = dataclasses.replace(wrong, pass_name="mine")
    assert identity_of(wrong, (own,), known).ingredients == found


def test_ways_to_a_device_and_functions_outside_are_ingredients() -> None:
    x = relax.Var("x", R.Tensor((2,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        placed = builder.emit(relax.op.hint_on_device(x, tvm.cpu(0), "global"))
        builder.emit_func_output(builder.emit(relax.op.argsort(placed, dtype="int64")))
    builder.add_func(relax.ExternFunc("f"), "f")
    found = ingredients(builder.get())
    assert found == {"relax.hint_on_device", "tensor on a device", "relax.argsort", "ExternFunc"}
    outside = relax.BlockBuilder()
    outside.add_func(relax.ExternFunc("f"), "f")
    assert ingredients(outside.get()) == {"ExternFunc"}


def test_statements_are_ingredients_of_modules_of_prim_funcs_alone() -> None:
    from tvm.script import tirx as T

    @I.ir_module
    class Kernel:
        @T.prim_func
        def main(a: T.Buffer((4,), "float32")):
            for i in T.unroll(4):
                if i < 2:
                    a[i] = a[i] + T.float32(1)

    found = ingredients(Kernel)
    assert {"loop unrolled", "IfThenElse", "LT", "Add"} <= found
    assert found.isdisjoint({"Var", "BufferLoad", "TensorLoad"})
    assert isinstance(Kernel, tvm.IRModule)


@I.ir_module
class Recursive:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        @R.function
        def loop(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            z: R.Tensor((2,), "float32") = loop(y)
            return z

        return loop(x)


def test_a_local_function_that_calls_itself_is_an_ingredient() -> None:
    assert "recursive local function" in ingredients(Recursive)


def test_another_dtype_is_one_bug_whether_it_is_computed_or_inferred() -> None:
    known = Circumstances(retyped=("relax.nn.attention", "dtype"))
    inferred = Violation("", "", ("dtype",), oracle="signature", pass_name="LegalizeOps")
    computed = Violation(
        "", "", ("dtype",), oracle="executed-by-pipeline", pass_name="relax.nn.attention"
    )
    one, other = identity_of(inferred, known=known), identity_of(computed)
    assert one == other
    assert one.failure is FailureKind.ILL_FORMED


def test_operators_that_a_pass_tells_apart_by_one_attribute_stand_for_each_other() -> None:
    raised = Violation("fails", "", ("InternalError", "(tensor)"), raised=Raised("InternalError"))
    raised = raised.blame("crash", "ToMixedPrecision")

    def of(*needed: str, violation: Violation = raised) -> Identity:
        return identity_of(violation, (), Circumstances(ingredients=frozenset(needed)))

    always_then_never = of("relax.matmul", "relax.tril")
    assert compare(of("relax.nn.conv2d", "relax.clip"), always_then_never) is Sameness.SAME
    assert compare(of("relax.nn.conv2d", "relax.concat"), always_then_never) is not Sameness.SAME
    # Each operator has code of its own that computes its values.
    other = Violation("values differ", "", ("values",)).blame("evaluated", "ToMixedPrecision")
    values = [of(name, violation=other) for name in ("relax.matmul", "relax.nn.conv2d")]
    assert compare(*values) is not Sameness.SAME
