"""The reference of MergeCompositeFunctions: right by itself, and beside TVM's pass."""

from __future__ import annotations

from collections import Counter

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.fuzz.campaign.draw import example
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.check import VALUES, check
from relaxfuzz.oracles.inspect import attr, calls_of, relax_functions
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.reference.merge_composite_functions import merge_composite_functions
from relaxfuzz.oracles.text.standalone import standalone
from relaxfuzz.oracles.violation import Case, Violation

CONTRACT = catalogue["MergeCompositeFunctions"]


def groups_main_only() -> tvm.transform.Pass:
    return merge_composite_functions(groups_main_only=True)


def groups_by_shared_nodes() -> tvm.transform.Pass:
    return merge_composite_functions(groups_by_shared_nodes=True)


def violations(mod: tvm.IRModule, factory: str = "merge_composite_functions") -> list[Violation]:
    call = PassCall(f"{factory}()", factory=f"{__file__}:{factory}", like=CONTRACT.name)
    return check(Case(mod, (call,)), besides=VALUES)


def regions(mod: tvm.IRModule) -> list[tuple[str, list[str]]]:
    """The compiler of each group and the patterns that it is to compute."""
    found = []
    for _, func in relax_functions(mod):
        if (compiler := attr(func, "Codegen")) is not None:
            bound = (b.value for block in func.body.blocks for b in block.bindings)
            patterns = [attr(v, "Composite") for v in bound if isinstance(v, relax.Function)]
            found.append((str(compiler), [str(pattern) for pattern in patterns]))
    return sorted(found)


def merged(mod: tvm.IRModule) -> tvm.IRModule:
    """The reference's result, with which the harness finds nothing wrong."""
    assert violations(mod) == []
    return merge_composite_functions()(mod)


@I.ir_module
class Relus:
    """Two compilers; functions are added by the tests."""

    @R.function(private=True)
    def a_relu(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"Composite": "a.relu", "Primitive": True})
        with R.dataflow():
            gv = R.nn.relu(x)
            R.output(gv)
        return gv

    @R.function(private=True)
    def a_add(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")) -> R.Tensor(
        (2,), "float32"
    ):
        R.func_attr({"Composite": "a.add", "Primitive": True})
        with R.dataflow():
            gv = R.add(x, y)
            R.output(gv)
        return gv

    @R.function(private=True)
    def b_exp(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"Composite": "b.exp", "Primitive": True})
        with R.dataflow():
            gv = R.exp(x)
            R.output(gv)
        return gv


RELU, ADD, EXP = (Relus.get_global_var(name) for name in ("a_relu", "a_add", "b_exp"))
VECTOR = R.Tensor((2,), "float32")


def caller(name: str, *steps: tuple[object, ...], dataflow: bool = True) -> relax.Function:
    """A function of one vector `x`; each step is what is called, and numbers of earlier values."""
    x = relax.Var("x", VECTOR)
    values: list[relax.Var] = [x]
    bindings = []
    for callee, *operands in steps:
        args = [values[number] for number in operands]
        value = relax.Call(callee, args) if isinstance(callee, tvm.ir.GlobalVar) else callee(*args)
        last = len(values) == len(steps)
        kind = relax.Var if last or not dataflow else relax.DataflowVar
        values.append(kind(f"v{len(values)}", VECTOR))
        relax.expr._update_type(value, VECTOR) if isinstance(callee, tvm.ir.GlobalVar) else None
        bindings.append(relax.VarBinding(values[-1], value))
    block = (relax.DataflowBlock if dataflow else relax.BindingBlock)(bindings)
    body = relax.SeqExpr([block], values[-1])
    relax.expr._update_type(body, VECTOR)
    func = relax.Function([x], body, VECTOR)
    return func.with_attr("global_symbol", name)


def module(**functions: relax.Function) -> tvm.IRModule:
    mod = tvm.IRModule(dict(Relus.functions_items()))
    for name, func in functions.items():
        gvar = tvm.ir.GlobalVar(name)
        relax.expr._update_type(gvar, func.ty)
        mod[gvar] = func
    relax.analysis.well_formed(mod)
    return mod


def negated(x: relax.Var) -> relax.Expr:
    """A call that cannot be grouped."""
    value = relax.op.negative(x)
    relax.expr._update_type(value, VECTOR)
    return value


def test_neighbours_are_grouped_and_their_functions_become_local() -> None:
    mod = module(main=caller("main", (RELU, 0), (ADD, 1, 0), (RELU, 2)))
    after = merged(mod)
    assert regions(after) == [("a", ["a.relu", "a.add"])]
    assert sorted(gvar.name_hint for gvar in after.functions) == ["main", "main_a"]
    assert attr(after["main_a"], "global_symbol") == "main_a"


def test_groups_have_one_compiler() -> None:
    mod = module(main=caller("main", (RELU, 0), (EXP, 1), (RELU, 2)))
    assert regions(merged(mod)) == [("a", ["a.relu"]), ("a", ["a.relu"]), ("b", ["b.exp"])]


def test_a_group_never_depends_on_itself_through_another() -> None:
    """The sum could not stand with the others: exp, which it needs, needs one of them."""
    mod = module(main=caller("main", (RELU, 0), (EXP, 1), (RELU, 1), (ADD, 2, 3)))
    assert regions(merged(mod)) == [("a", ["a.add"]), ("a", ["a.relu"]), ("b", ["b.exp"])]


def test_what_cannot_be_grouped_stays_between() -> None:
    mod = module(main=caller("main", (RELU, 0), (negated, 1), (ADD, 1, 2)))
    after = merged(mod)
    assert len(regions(after)) == 2
    assert len(calls_of(after["main"], "relax.negative")) == 1


def test_several_results_of_a_group() -> None:
    mod = module(main=caller("main", (RELU, 0), (RELU, 1), (negated, 1), (negated, 2), (EXP, 3)))
    assert regions(merged(mod)) == [("a", ["a.relu"]), ("b", ["b.exp"])]


def test_each_call_by_itself_outside_of_dataflow() -> None:
    mod = module(main=caller("main", (RELU, 0), (RELU, 1), dataflow=False))
    assert regions(merged(mod)) == [("a", ["a.relu"]), ("a", ["a.relu"])]


def test_several_functions_and_none_called_main() -> None:
    mod = module(one=caller("one", (RELU, 0)), two=caller("two", (RELU, 0), (RELU, 1)))
    assert regions(merged(mod)) == [("a", ["a.relu"]), ("a", ["a.relu"])]


@I.ir_module
class Corners:
    """A branch, a local function, a symbolic shape, an unpacked tuple, and a match_cast."""

    @R.function(private=True)
    def halves(
        x: R.Tensor(("n", 4), "float32"),
    ) -> R.Tuple(R.Tensor(("n", 2), "float32"), R.Tensor(("n", 2), "float32")):
        R.func_attr({"Composite": "a.split", "Primitive": True})
        with R.dataflow():
            gv = R.split(x, 2, axis=1)
            R.output(gv)
        return gv

    @R.function(private=True)
    def difference(x: R.Tensor(("n", 2), "float32"), y: R.Tensor(("n", 2), "float32")) -> R.Tensor(
        ("n", 2), "float32"
    ):
        R.func_attr({"Composite": "a.subtract", "Primitive": True})
        with R.dataflow():
            gv = R.subtract(x, y)
            R.output(gv)
        return gv

    @R.function(private=True)
    def reshape(x: R.Tensor(dtype="float32", ndim=2), s: R.Shape(["n", "m"])) -> R.Tensor(
        ("n", "m"), "float32"
    ):
        R.func_attr({"Composite": "a.reshape", "Primitive": True})
        n, m = T.int64(), T.int64()
        with R.dataflow():
            gv = R.reshape(x, R.shape([n, m]))
            R.output(gv)
        return gv

    @R.function
    def tuples(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 2), "float32"):
        with R.dataflow():
            parts = Corners.halves(x)
            left = parts[0]
            right = parts[1]
            gv = Corners.difference(right, left)
            R.output(gv)
        return gv

    @R.function
    def shapes(x: R.Tensor(("n", 2), "float32")) -> R.Tensor((2, "n"), "float32"):
        n = T.int64()
        with R.dataflow():
            y = R.negative(x)
            gv = Corners.reshape(y, R.shape([2, n]))
            R.output(gv)
        return gv

    @R.function
    def casts(x: R.Tensor(ndim=2, dtype="float32")) -> R.Tensor(ndim=2, dtype="float32"):
        k = T.int64()
        with R.dataflow():
            y = R.match_cast(x, R.Tensor((k, 4), "float32"))
            parts = Corners.halves(y)
            left = parts[0]
            gv = Corners.difference(left, left)
            R.output(gv)
        return gv

    @R.function
    def branches(c: R.Tensor((), "bool"), x: R.Tensor((3, 2), "float32")) -> R.Tensor(
        (3, 2), "float32"
    ):
        if c:  # noqa: SIM108 - TVMScript
            y = Corners.difference(x, x)
        else:
            y = x
        return y

    @R.function
    def local(x: R.Tensor((3, 2), "float32")) -> R.Tensor((3, 2), "float32"):
        @R.function
        def inner(y: R.Tensor((3, 2), "float32")) -> R.Tensor((3, 2), "float32"):
            with R.dataflow():
                gv = Corners.difference(y, y)
                R.output(gv)
            return gv

        return inner(x)


def test_tuples_shapes_casts_branches_and_local_functions() -> None:
    relax.analysis.well_formed(Corners)
    found = Counter(tuple(patterns) for _, patterns in regions(merged(Corners)))
    together = ("a.split", "a.subtract")
    assert found == {together: 2, ("a.reshape",): 1, ("a.subtract",): 2}


def test_a_tuple_that_is_needed_elsewhere_is_unpacked_outside() -> None:
    x = relax.Var("x", R.Tensor((3, 4), "float32"))
    halves, difference = (Corners.get_global_var(name) for name in ("halves", "difference"))
    builder = relax.BlockBuilder(tvm.IRModule({g: Corners[g] for g in (halves, difference)}))
    with builder.function("main", [x]):
        with builder.dataflow():
            parts = builder.emit(relax.Call(halves, [x]))
            left = builder.emit(relax.TupleGetItem(parts, 0))
            gap = builder.emit(relax.Call(difference, [left, left]))
            out = builder.emit_output(relax.Tuple([parts, gap]))
        builder.emit_func_output(out)
    assert len(regions(merged(builder.get()))) == 2


SHAPE = relax.ShapeExpr([2])


def shared_shape() -> tvm.IRModule:
    """Two functions, in which one ShapeExpr is the operand of a call."""

    def reshaped(x: relax.Var) -> relax.Expr:
        value = relax.Call(tvm.ir.Op.get("relax.reshape"), [x, SHAPE])
        relax.expr._update_type(value, VECTOR)
        return value

    return module(
        main=caller("main", (reshaped, 0), (RELU, 1)),
        other=caller("other", (reshaped, 0), (RELU, 1)),
    )


def test_a_shape_that_two_functions_share() -> None:
    assert regions(merged(shared_shape())) == [("a", ["a.relu"]), ("a", ["a.relu"])]


def test_historic_fault_groups_in_main_only() -> None:
    mod = module(main=caller("main", (RELU, 0)), other=caller("other", (RELU, 0)))
    with pytest.raises(tvm.error.InternalError, match="could not be found in any group"):
        groups_main_only()(mod)
    with pytest.raises(ValueError, match='Cannot find global var "main"'):
        groups_main_only()(module(other=caller("other", (RELU, 0))))
    assert [v.oracle for v in violations(mod, "groups_main_only")] == ["crash"]
    assert violations(module(main=caller("main", (RELU, 0))), "groups_main_only") == []


def test_historic_fault_groups_by_shared_nodes() -> None:
    with pytest.raises(tvm.error.InternalError, match=r"!group_map.count\(obj\)"):
        groups_by_shared_nodes()(shared_shape())
    assert [v.oracle for v in violations(shared_shape(), "groups_by_shared_nodes")] == ["crash"]
    separate = module(main=caller("main", (RELU, 0)), other=caller("other", (RELU, 0)))
    assert violations(separate, "groups_by_shared_nodes") == []


def test_tvm_has_the_fault() -> None:
    mod = module(main=caller("main", (RELU, 0)), other=caller("other", (RELU, 0)))
    with pytest.raises(tvm.error.InternalError, match="could not be found in any group"):
        relax.transform.MergeCompositeFunctions()(mod)


def test_generated_modules() -> None:
    """Nothing is wrong with the reference; where TVM's pass works, both keep what is promised."""
    call = PassCall("MergeCompositeFunctions()")
    applied = 0
    theirs_too = 0
    for index in range(60):
        stage = CONTRACT.stages[index % len(CONTRACT.stages)]
        mod = example(ir_modules(force=["composite"], stage=stage), 4, index)
        if CONTRACT.requires(mod) is not None:
            continue
        applied += 1
        assert CONTRACT.post(mod, merged(mod), call) is None
        if not check(Case(mod, (call,))):
            theirs_too += 1
            assert CONTRACT.post(mod, call.run(mod), call) is None
    assert applied >= 20
    assert theirs_too


def test_it_can_be_copied_into_a_reproducer() -> None:
    names: dict[str, object] = {}
    exec(standalone(merge_composite_functions), names)
    mod = module(main=caller("main", (RELU, 0)))
    after = names["merge_composite_functions"]()(mod)  # type: ignore[operator]
    tvm.ir.assert_structural_equal(after, merge_composite_functions()(mod))
