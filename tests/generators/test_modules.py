"""The strategy `ir_modules`: valid, varied, the same in every process, and shrinkable."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import hypothesis
import pytest
import tvm
import tvm_ffi
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import InvalidArgument
from tvm import relax, tirx
from tvm.ir import PrimType

from relaxfuzz.compat import ir
from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.generators import idioms
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.stages import Stage
from relaxfuzz.generators.traits import Trait
from tests.generators import digests, values

EXAMPLES = settings(
    max_examples=300,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def relax_functions(mod: tvm.IRModule) -> list[relax.Function]:
    return [f for f in mod.functions.values() if isinstance(f, relax.Function)]


def bindings(mod: tvm.IRModule) -> list[relax.Binding]:
    return [b for f in relax_functions(mod) for block in f.body.blocks for b in block.bindings]


def ops(mod: tvm.IRModule) -> list[str]:
    values = [b.value for b in bindings(mod) if isinstance(b, relax.VarBinding)]
    return [v.op.name for v in values if isinstance(v, tvm.ir.Call) and isinstance(v.op, tvm.ir.Op)]


def prim_funcs(mod: tvm.IRModule) -> dict[tvm.ir.GlobalVar, tirx.PrimFunc]:
    return {g: f for g, f in mod.functions_items() if isinstance(f, tirx.PrimFunc)}


def is_public(func: tvm.ir.BaseFunc) -> bool:
    return "global_symbol" in (func.attrs or {})


def callees(func: tvm.ir.BaseFunc) -> set[tvm.ir.GlobalVar]:
    found: list[tvm.ir.GlobalVar] = []
    tvm_ffi.structural_walk(func, (tvm.ir.GlobalVar, found.append))
    return set(found)


@given(ir_modules())
@settings(EXAMPLES, max_examples=120)
def test_modules_are_well_formed(mod: tvm.IRModule) -> None:
    relax.analysis.well_formed(mod)


@pytest.mark.parametrize("trait", list(Trait))
def test_a_forced_trait_gives_well_formed_modules(trait: Trait) -> None:
    @given(ir_modules(force=[trait]))
    @settings(EXAMPLES, max_examples=8)
    def check(mod: tvm.IRModule) -> None:
        relax.analysis.well_formed(mod)

    check()


OBSERVABLE = {
    Trait.SYSTEM_LIB_PREFIX: lambda m: "system_lib_prefix" in (m.attrs or {}),
    Trait.NUM_INPUT: lambda m: any("num_input" in (f.attrs or {}) for f in relax_functions(m)),
    Trait.BOUNDED_DIMS: lambda m: any(
        "tir_var_upper_bound" in (f.attrs or {}) for f in relax_functions(m)
    ),
    Trait.COMPOSITE: lambda m: any("Composite" in (f.attrs or {}) for f in relax_functions(m)),
    Trait.CODEGEN: lambda m: any("Codegen" in (f.attrs or {}) for f in relax_functions(m)),
    Trait.VDEVICES: lambda m: "vdevice" in m.global_infos,
    Trait.IF: lambda m: any(isinstance(b.value, relax.If) for b in bindings(m)),
    Trait.CALL_TIR: lambda m: "relax.call_tir" in ops(m),
    Trait.CALL_TIR_INPLACE: lambda m: "relax.call_tir_inplace" in ops(m),
    Trait.CALL_DPS_PACKED: lambda m: "relax.call_dps_packed" in ops(m),
    Trait.CLOSURES: lambda m: any(isinstance(b.value, relax.Function) for b in bindings(m)),
    Trait.MATCH_CAST: lambda m: any(isinstance(b, relax.MatchCast) for b in bindings(m)),
    Trait.IMPURE: lambda m: any(not f.is_pure for f in relax_functions(m)),
    Trait.RECURSION: lambda m: any(g.name_hint == "loop" for g in m.functions),
    Trait.HELPERS: lambda m: any(g.name_hint == "layer" for g in m.functions),
    Trait.PUBLIC_PRIM_FUNCS: lambda m: any(map(is_public, prim_funcs(m).values())),
    Trait.SHAPE_VALUES: values.takes_shape_variable("relax.zeros"),
    Trait.FUNCTION_VALUES: values.function_in_variable,
    Trait.NUMBERS: values.parameter_of(PrimType),
    Trait.ANY: values.parameter_of(relax.AnyType),
    Trait.EXTERN_FUNCS: lambda m: any(
        isinstance(f, relax.ExternFunc) for f in m.functions.values()
    ),
    Trait.PASS_NAMES: lambda m: any(g.name_hint == "lifted_func_0" for g in m.functions),
}


@pytest.mark.parametrize("trait", list(OBSERVABLE))
def test_a_trait_can_be_forced_and_left_out(trait: Trait) -> None:
    seen = OBSERVABLE[trait]
    quick = settings(EXAMPLES, max_examples=1_000, phases=[hypothesis.Phase.generate])
    assert hypothesis.find(ir_modules(force=[trait]), seen, settings=quick)
    with pytest.raises(hypothesis.errors.NoSuchExample):
        hypothesis.find(
            ir_modules(without=[trait]), seen, settings=settings(quick, max_examples=20)
        )


def functions_share(mod: tvm.IRModule, kind: type) -> bool:
    """Two functions have one and the same node of this kind."""
    nodes: list[set[int]] = []
    for func in relax_functions(mod):
        found: list[object] = []
        tvm_ffi.structural_walk(func, (kind, found.append))
        nodes.append(set(map(hash, found)))
    return any(a & b for i, a in enumerate(nodes) for b in nodes[:i])


@pytest.mark.parametrize(
    ("trait", "kind", "ops"),
    [
        (Trait.SHARED_SHAPES, relax.ShapeExpr, ["reshape"]),
        (Trait.SHARED_CONSTANTS, ir.GenericConst, ["add"]),
    ],
)
def test_functions_share_nodes(trait: Trait, kind: type, ops: list[str]) -> None:
    strategy = ir_modules(force=[trait, Trait.SEVERAL_FUNCTIONS, Trait.CONSTANTS], ops=ops)
    some = settings(EXAMPLES, max_examples=2_000, phases=[hypothesis.Phase.generate])
    assert hypothesis.find(strategy, lambda mod: functions_share(mod, kind), settings=some)


def uncalled_kernel(mod: tvm.IRModule) -> bool:
    used = set().union(*map(callees, relax_functions(mod)))
    return any(is_public(func) and gvar not in used for gvar, func in prim_funcs(mod).items())


def called_kernel(mod: tvm.IRModule) -> bool:
    used = set().union(*map(callees, relax_functions(mod)))
    return any(is_public(func) and gvar in used for gvar, func in prim_funcs(mod).items())


def mutual_recursion(mod: tvm.IRModule) -> bool:
    calls = {gvar: callees(func) for gvar, func in mod.functions_items()}
    return any(g != h and g in calls[h] for g, used in calls.items() for h in used)


def size_outlives_its_value(mod: tvm.IRModule) -> bool:
    """A match_cast whose variable nobody uses, and whose symbolic variable somebody does."""
    for func in relax_functions(mod):
        seen: list[relax.Var] = []
        tvm_ffi.structural_walk(func.body, (relax.Var, seen.append))
        for binding in (b for block in func.body.blocks for b in block.bindings):
            if isinstance(binding, relax.MatchCast) and isinstance(binding.ty, relax.TensorType):
                unused = sum(binding.var.same_as(var) for var in seen) == 1
                defined = relax.analysis.tir_vars_in_type(binding.ty)
                others = [b for b in bindings(mod) if not b.same_as(binding)]
                types = [relax.analysis.tir_vars_in_type(b.var.ty) for b in others]
                used = any(size.same_as(v) for size in defined for ty in types for v in ty)
                if unused and used and not relax.analysis.tir_vars_in_type(func.ty):
                    return True
    return False


def one_reshape_of_two_is_useless(mod: tvm.IRModule) -> bool:
    """Two reshapes in one function by one ShapeExpr node, which one operand has already."""
    for func in relax_functions(mod):
        calls: list[tvm.ir.Call] = []
        tvm_ffi.structural_walk(func.body, (tvm.ir.Call, calls.append))
        kinds: dict[relax.Expr, set[bool]] = {}
        for call in calls:
            if call.op == tvm.ir.Op.get("relax.reshape"):
                useless = bool(tvm_ffi.structural_equal(call.args[0].ty, call.ty))
                kinds.setdefault(call.args[1], set()).add(useless)
        if any(len(kind) == 2 for kind in kinds.values()):
            return True
    return False


def uses_of_results(mod: tvm.IRModule) -> dict[tvm.ir.GlobalVar, list[set[int | None]]]:
    """For each private function that returns a tuple: which fields each call asks for.

    None stands for the result as a whole.
    """
    uses: dict[tvm.ir.GlobalVar, list[set[int | None]]] = {}
    for func in relax_functions(mod):
        items: list[relax.TupleGetItem] = []
        seen: list[relax.Var] = []
        tvm_ffi.structural_walk(func.body, (relax.TupleGetItem, items.append))
        tvm_ffi.structural_walk(func.body, (relax.Var, seen.append))
        for binding in (b for block in func.body.blocks for b in block.bindings):
            callee = getattr(getattr(binding, "value", None), "op", None)
            if not isinstance(callee, tvm.ir.GlobalVar) or is_public(mod[callee]):
                continue
            if isinstance(binding.var.ty, relax.TupleType):
                asked = [i.index for i in items if i.tuple_value.same_as(binding.var)]
                # Its binding and its fields aside, what is left are uses of the whole.
                whole = sum(var.same_as(binding.var) for var in seen) - 1 > len(asked)
                uses.setdefault(callee, []).append({*asked, *([None] if whole else [])})
    return uses


def results_are_used_whole_and_by_field(mod: tvm.IRModule) -> bool:
    """One call asks for some fields of the result, another one of that function for all of it."""
    return any(
        any(None in use for use in uses)
        and any(use and None not in use and len(use) < len(mod[gvar].ret_ty.fields) for use in uses)
        for gvar, uses in uses_of_results(mod).items()
    )


def returns_a_tuple_of_unknown_shapes(mod: tvm.IRModule) -> bool:
    """A variable of tuple type is returned; of one field the shape is not known."""
    return any(
        isinstance(func.body.body, relax.Var)
        and isinstance(func.body.body.ty, relax.TupleType)
        and any(
            isinstance(field, relax.TensorType) and field.shape is None
            for field in func.body.body.ty.fields
        )
        for func in relax_functions(mod)
    )


def lives_on(kind: type) -> Callable[[tvm.IRModule], bool]:
    """Whether a kernel reads a variable last, of which a holder of this kind is read later."""

    def shown(mod: tvm.IRModule) -> bool:
        for block in (b for func in relax_functions(mod) for b in func.body.blocks):
            read: list[list[relax.Var]] = [[] for _ in block.bindings]
            for binding, found in zip(block.bindings, read, strict=True):
                tvm_ffi.structural_walk(binding.value, (relax.Var, found.append))
            last = {var: at for at, found in enumerate(read) for var in found}
            for at, binding in enumerate(block.bindings):
                if isinstance(binding.value, kind):
                    for var in read[at]:
                        reader = block.bindings[last[var]].value
                        if (
                            at < last[var] < last.get(binding.var, 0)
                            and isinstance(var, relax.DataflowVar)
                            and isinstance(reader, tvm.ir.Call)
                            and reader.op == tvm.ir.Op.get("relax.call_tir")
                        ):
                            return True
        return False

    return shown


def calls(mod: tvm.IRModule) -> list[tvm.ir.Call]:
    values = [b.value for b in bindings(mod) if isinstance(b, relax.VarBinding)]
    return [value for value in values if isinstance(value, tvm.ir.Call)]


def has_unknown_shape(arg: relax.Expr) -> bool:
    return isinstance(arg.ty, relax.TensorType) and arg.ty.shape is None


def gives_a_function_an_unknown_shape(mod: tvm.IRModule) -> bool:
    called = [call for call in calls(mod) if isinstance(call.op, tvm.ir.GlobalVar)]
    return any(has_unknown_shape(arg) for call in called for arg in call.args)


def gives_a_kernel_an_unknown_shape(mod: tvm.IRModule) -> bool:
    called = [call for call in calls(mod) if call.op == tvm.ir.Op.get("relax.call_tir")]
    return any(has_unknown_shape(arg) for call in called for arg in call.args[1])


def gives_any_value(kind: type) -> Callable[[tvm.IRModule], bool]:
    """A call of a function of any value on one of this type."""

    def shown(mod: tvm.IRModule) -> bool:
        called = [call for call in calls(mod) if isinstance(call.op, tvm.ir.GlobalVar)]
        return any(
            isinstance(param.ty, relax.AnyType) and isinstance(arg.ty, kind)
            for call in called
            for param, arg in zip(mod[call.op].params, call.args, strict=True)
        )

    return shown


def says_less_of_its_result(mod: tvm.IRModule) -> bool:
    """A result whose dtype or rank TVM infers, and the annotation does not say."""
    results = [func.body.body for func in relax_functions(mod)]
    return any(
        b.var.same_as(result)
        and isinstance(b.var.ty, relax.AnyType)
        and isinstance(b.value.ty, relax.TensorType)
        for b in bindings(mod)
        for result in results
    )


def returns_a_parameter_of_a_primitive_function(mod: tvm.IRModule) -> bool:
    primitive = [f for f in relax_functions(mod) if f.attrs and "Primitive" in f.attrs]
    returned = [(f, f.body.body) for f in primitive if isinstance(f.body.body, relax.Tuple)]
    return any(field.same_as(p) for f, both in returned for field in both for p in f.params)


def splits_beyond_the_end(mod: tvm.IRModule) -> bool:
    """Sections that begin behind the end of a tensor."""
    for call in calls(mod):
        how = call.attrs.indices_or_sections if call.op == tvm.ir.Op.get("relax.split") else None
        if not hasattr(how, "__len__") or not isinstance(call.args[0].ty.shape, relax.ShapeExpr):
            continue
        size = call.args[0].ty.shape.values[int(call.attrs.axis)]
        if isinstance(size, tirx.IntImm) and any(int(cut) > int(size) for cut in how):
            return True
    return False


@pytest.mark.parametrize(
    ("shown", "traits"),
    [
        (gives_a_function_an_unknown_shape, [Trait.MATCH_CAST, Trait.FUNCTION_CALLS]),
        (gives_a_kernel_an_unknown_shape, [Trait.MATCH_CAST, Trait.CALL_TIR]),
        (gives_any_value(relax.TupleType), [Trait.ANY]),
        (gives_any_value(relax.ShapeType), [Trait.ANY]),
        (says_less_of_its_result, [Trait.INCOMPLETE_TYPES]),
        (returns_a_parameter_of_a_primitive_function, [Trait.PRIMITIVE]),
    ],
)
def test_rare_kinds_are_not_rare_where_their_trait_is(
    shown: Callable[[tvm.IRModule], bool], traits: list[Trait]
) -> None:
    quick = settings(EXAMPLES, phases=[hypothesis.Phase.generate])
    assert hypothesis.find(ir_modules(force=traits, only=()), shown, settings=quick)


def test_primitive_functions_call_kernels_alone() -> None:
    strategy = ir_modules(force=[Trait.PRIMITIVE, Trait.MATCH_CAST], only=(), max_functions=1)
    for index in range(30):
        for func in relax_functions(example(strategy, 0, index)):
            if func.attrs and "Primitive" in func.attrs:
                kinds = {type(b) for block in func.body.blocks for b in block.bindings}
                assert kinds == {relax.VarBinding}


def test_sections_may_be_beyond_the_extent() -> None:
    quick = settings(EXAMPLES, phases=[hypothesis.Phase.generate])
    assert hypothesis.find(
        ir_modules(ops=["split"], only=()), splits_beyond_the_end, settings=quick
    )


@pytest.mark.parametrize(
    ("shown", "traits"),
    [
        (uncalled_kernel, [Trait.PUBLIC_PRIM_FUNCS]),
        (called_kernel, [Trait.PUBLIC_PRIM_FUNCS, Trait.CALL_TIR]),
        (mutual_recursion, [Trait.RECURSION]),
        (size_outlives_its_value, [Trait.MATCH_CAST]),
        (one_reshape_of_two_is_useless, [Trait.IDIOMS]),
        (results_are_used_whole_and_by_field, [Trait.HELPERS, Trait.TUPLES]),
        (returns_a_tuple_of_unknown_shapes, [Trait.TUPLES, Trait.INCOMPLETE_TYPES]),
    ],
)
def test_what_passes_stumble_over_is_generated(
    shown: Callable[[tvm.IRModule], bool], traits: list[Trait]
) -> None:
    quick = settings(EXAMPLES, max_examples=3_000, phases=[hypothesis.Phase.generate])
    assert hypothesis.find(ir_modules(force=traits), shown, settings=quick)


@pytest.mark.parametrize("kind", [relax.Var, relax.Tuple])
def test_another_name_of_a_value_is_read_after_the_value(
    kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An idiom makes it: among all the others, a search for it takes hundreds of modules."""
    usual = set(idioms.usable(frozenset(Trait)))
    (made,) = (each for each in usual if each.name == "read_by_other_names")
    monkeypatch.setattr(idioms, "usable", lambda traits: [made])
    quick = settings(EXAMPLES, phases=[hypothesis.Phase.generate])
    strategy = ir_modules(force=[Trait.IDIOMS, Trait.CALL_TIR])
    assert hypothesis.find(strategy, lives_on(kind), settings=quick)


def test_the_same_seed_gives_the_same_modules_in_any_process(
    capsys: pytest.CaptureFixture[str],
) -> None:
    digests.main(30)
    here = capsys.readouterr().out
    there = subprocess.run(
        [sys.executable, "-m", digests.__name__, "30"],
        env={**os.environ, "PYTHONHASHSEED": other_hash_seed()},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert there == here
    assert len(set(here.split())) == 60  # of 30 modules, all different


def other_hash_seed() -> str:
    """A seed under which sets are in another order than in this process."""
    return "0" if os.environ.get("PYTHONHASHSEED") != "0" else "1"


@pytest.mark.session
def test_shrinking_ends_at_a_small_module() -> None:
    calls = 0

    def wanted(mod: tvm.IRModule) -> bool:
        nonlocal calls
        calls += 1
        return len(relax_functions(mod)) >= 2 and "relax.nn.conv2d" in ops(mod)

    found = hypothesis.find(ir_modules(), wanted, settings=settings(EXAMPLES, max_examples=2_000))
    assert len(bindings(found)) <= 5
    assert calls <= 2_000


@pytest.mark.parametrize("stage", [s for s in Stage if s is not Stage.RAW])
def test_modules_of_later_stages(stage: Stage) -> None:
    # VMShapeLower of TVM 0.27 dies of parameters without a shape.
    strategy = ir_modules(stage=stage, without=[Trait.INCOMPLETE_TYPES])
    some = settings(EXAMPLES, max_examples=20, phases=[hypothesis.Phase.generate])
    mod = hypothesis.find(strategy, lambda m: True, settings=some)
    assert isinstance(mod, tvm.IRModule)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"force": ["symbolic-shape"]}, "symbolic-shapes"),
        ({"stage": "legalised"}, "legalized"),
        ({"ops": ["nn.conv2"]}, "nn.conv2d"),
        ({"force": ["if"], "without": ["if"]}, "in both"),
        ({"max_functions": 0}, "max_functions=0"),
    ],
)
def test_bad_arguments_name_the_near_alternatives(arguments: dict, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        ir_modules(**arguments)
