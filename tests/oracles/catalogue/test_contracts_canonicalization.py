"""Post-conditions of the tidying passes: each can fail, and a right result passes it."""

from __future__ import annotations

import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.compat import ir
from relaxfuzz.generators.choices import Choices
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case


@I.ir_module
class Untidy:
    """Aliases, dead code, common subexpressions, bindings outside of dataflow blocks."""

    @R.function(private=True)
    def unused(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.exp(x)

    @R.function
    def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((2,), "float32"):
        alias = x
        same = R.match_cast(alias, R.Tensor((2,), "float32"))
        a = R.add(same, x)
        b = R.add(same, x)
        _dead = R.exp(b)
        pair = (a, b)
        first = pair[0]
        if c:
            p = R.multiply(first, b)
            out = p
        else:
            q = R.subtract(first, b)
            out = q
        return out


@I.ir_module
class Chains:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            a = R.exp(x)
            b = R.negative(x)
            c = R.tanh(a)
            d = R.add(c, b)
            R.output(d)
        return d


@I.ir_module
class OtherChains:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            a = R.exp(x)
            c = R.tanh(a)
            d = R.add(c, x)
            R.output(d)
        return d


CALLS = {
    "CanonicalizeBindings()": (Untidy, "a use of an alias of a variable is left"),
    "DeadCodeElimination()": (Untidy, "an unused pure binding is left"),
    "EliminateCommonSubexpr()": (Untidy, "two equal bindings of relax.add are left in one block"),
    "EliminateCommonSubexpr(call_only=True)": (Untidy, "two equal bindings of relax.add"),
    "ConvertToDataflow()": (Untidy, "consecutive dataflow bindings are left"),
    "ConvertToDataflow(min_size=3)": (Untidy, "consecutive dataflow bindings are left"),
}


@pytest.mark.parametrize("text", CALLS)
def test_a_pass_that_does_nothing_is_noticed(text: str) -> None:
    call = PassCall(text)
    mod, problem = CALLS[text]
    found = catalogue[call.name].post(mod, mod, call)
    assert found is not None
    assert problem in found


@pytest.mark.parametrize("text", [*CALLS, "ConvertToDataflow(min_size=1)"])
def test_the_pass_keeps_its_promise(text: str) -> None:
    call = PassCall(text)
    after = call.run(Untidy)
    assert catalogue[call.name].post(Untidy, after, call) is None


def test_dead_functions_and_kept_entries_are_distinguished() -> None:
    post = catalogue["DeadCodeElimination"].post
    entry = PassCall("DeadCodeElimination(entry_functions=['unused'])")
    assert post(Untidy, entry.run(Untidy), entry) is None
    plain = PassCall("DeadCodeElimination()")
    assert post(Untidy, entry.run(Untidy), plain) == "an unreachable Function is left"
    assert post(Untidy, plain.run(Untidy), entry) == "an entry function was removed"


def test_sorting_keeps_the_bindings() -> None:
    contract = catalogue["TopologicalSort"]
    for data in (b"", b"\1\1", b"\1\0", b"\0\1"):
        call = contract.choose(Choices(data), Chains)
        assert call is not None
        assert contract.post(Chains, call.run(Chains), call) is None
        message = contract.post(Chains, OtherChains, call)
        assert message == "a DataflowBlock has not the bindings it had"
        assert contract.post(Chains, PassCall("ToNonDataflow()").run(Chains), call) is not None
    assert contract.requires(Untidy) == "no dataflow block"


@I.ir_module
class FunctionInTuple:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return x

    @R.function(private=True)
    def given() -> R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32"), True):
        alone = (FunctionInTuple.main,)
        return alone[0]


def test_a_function_that_is_an_element_of_a_tuple_may_stay_one() -> None:
    """Like a constant, it is put into uses of dataflow variables only."""
    call = PassCall("CanonicalizeBindings()")
    assert catalogue[call.name].post(FunctionInTuple, call.run(FunctionInTuple), call) is None


@I.ir_module
class Impossible:
    """The match_cast needs n = 3, the product n = 2."""

    @R.function(private=True)
    def f(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return x

    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor("float32", ndim=2):
        n = T.int64()
        _cast: R.Tensor((n,), "float32") = R.match_cast(x, R.Tensor((n,), "float32"))
        y: R.Tensor((n, 2), "float32") = R.zeros(R.shape([n, 2]), "float32")
        z: R.Tensor((n, 2), "float32") = R.matmul(y, y)
        return z


@pytest.mark.parametrize(
    "text", ["CanonicalizeBindings()", "RemoveRedundantReshape()", "ExpandTupleArguments()"]
)
def test_a_module_that_contradicts_itself_may_be_refused(text: str) -> None:
    """By all passes that put the number for n."""
    relax.analysis.well_formed(Impossible)
    call = PassCall(text)
    with pytest.raises(ValueError, match="Matmul requires the reduction length"):
        call.run(Impossible)
    assert check(Case(Impossible, (call,)), oracles=["crash"]) == []


def viewed(dtype: str, *, bound: bool) -> tvm.IRModule:
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    view, builder = tvm.ir.Op.get("relax.memory.view"), relax.BlockBuilder()
    with builder.function("main", [x]):
        constant = ir.dtype_constant(tvm_ffi.dtype(dtype))
        given = builder.emit(constant) if bound else constant
        operands = [x, relax.ShapeExpr([2]), given, relax.Tuple([])]
        builder.emit_func_output(builder.emit(relax.Call(view, operands)))
    return builder.get()


@pytest.mark.parametrize(("bound", "refused"), [(True, True), (False, False)])
def test_only_a_view_that_type_inference_could_not_compare_may_be_refused(
    bound: bool, refused: bool
) -> None:
    """A pass that makes a view of another one is to blame for that."""
    with pytest.raises(ValueError, match="must not exceed the bounds") as raised:
        viewed("float64", bound=False)
    contract = catalogue["CanonicalizeBindings"]
    assert contract.rejects(raised.value, viewed("float32", bound=bound)) is refused


@I.ir_module
class Vector:
    """AdjustMatmulOrder makes a product of matrices that do not fit; the match_cast is right."""

    @R.function
    def main(x: R.Tensor((3, 2, 2, 2), "float32"), y: R.Tensor((2,), "float32")) -> R.Tensor(
        (3, 2, 2), "float32"
    ):
        n = T.int64()
        cast: R.Tensor((n,), "float32") = R.match_cast(y, R.Tensor((n,), "float32"))
        product = R.matmul(x, x)
        return R.matmul(product, cast)


def test_what_a_pass_makes_of_a_possible_module_is_no_contradiction() -> None:
    (violation,) = check(Case(Vector, (PassCall("AdjustMatmulOrder()"),)), oracles=["crash"])
    assert "not broadcastable" in violation.title
