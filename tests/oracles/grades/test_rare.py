"""Each thing that is rare in a module is seen in one that has it, and not in a plain one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tvm
from tvm import relax
from tvm.ir import PrimType
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.generators.stages import Stage, advance
from relaxfuzz.oracles.grades.rare import READ, is_contrived, rare
from relaxfuzz.oracles.inspect import relax_functions

FLOATS = relax.TensorType((2, 3), "float32")


@I.ir_module
class Plain:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32"), y: R.Tensor((3,), "float32")):
        with R.dataflow():
            z = R.add(x, y)
            w = R.nn.relu(z)
            R.output(w)
        return w


@I.ir_module
class Recursive:
    @R.function
    def main(x: R.Tensor((), "bool")) -> R.Tensor((), "bool"):
        cls = Recursive
        if x:
            y: R.Tensor((), "bool") = cls.main(x)
        else:
            y: R.Tensor((), "bool") = R.logical_not(x)
        return y


@I.ir_module
class RecursiveClosure:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        @R.function
        def inner(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return inner(y)

        return inner(x)


@I.ir_module
class Closure:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        @R.function
        def inner(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return R.add(x, y)

        return inner(x)


@I.ir_module
class Calls:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        cls = Calls
        return cls.helper(x)

    @R.function(private=True)
    def helper(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.exp(x)


def of(*types: relax.Type) -> tvm.IRModule:
    """A function of such parameters, the first of which are not used."""
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", ty) for i, ty in enumerate((*types, FLOATS))]
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(relax.op.exp(params[-1])))
    return builder.get()


def with_grad() -> tvm.IRModule:
    mod = tvm.relax.transform.LegalizeOps()(of())
    (call,) = (b.value for b in mod["main"].body.blocks[0].bindings)
    builder = relax.BlockBuilder(mod)
    x = relax.Var("x", FLOATS)
    with builder.function("other", [x]):
        made = relax.op.call_tir_with_grad(call.args[0], [x], FLOATS, te_grad_name="g")
        builder.emit_func_output(builder.emit(made))
    return builder.get()


n = tvm.tirx.Var("n", "int64")
CASES: dict[str, Callable[[], tvm.IRModule]] = {
    "recursion": lambda: Recursive,
    "closures": lambda: Closure,
    "function-values": lambda: of(relax.FuncType([FLOATS], FLOATS)),
    "function-calls": lambda: Calls,
    "incomplete-types": lambda: of(relax.TensorType(dtype="float32", ndim=2)),
    "unknown-rank": lambda: of(relax.TensorType(dtype="float32")),
    "any": lambda: of(relax.TupleType([relax.AnyType()])),
    "numbers": lambda: of(PrimType("int64")),
    "zero-size": lambda: of(relax.TensorType((0, 2), "float32")),
    "composite-dims": lambda: of(relax.ShapeType([n]), relax.TensorType((n + 1,), "float32")),
    "dtypes": lambda: of(relax.TensorType((2,), "uint16")),
    "call-tir-with-grad": with_grad,
}


def test_every_predicate_has_a_case() -> None:
    assert set(CASES) == set(map(str, READ))


@pytest.mark.parametrize("name", CASES)
def test_what_is_rare_is_seen(name: str) -> None:
    assert name in rare(CASES[name]())


def test_a_local_function_that_calls_itself_recurses() -> None:
    assert rare(RecursiveClosure) == ("recursion", "closures")
    assert rare(Closure) == ("closures",)


def test_a_plain_module_has_nothing_rare() -> None:
    assert rare(Plain) == ()


@pytest.mark.parametrize("stage", [s for s in Stage if s <= Stage.KILLED and s is not Stage.RAW])
def test_the_pipeline_makes_nothing_rare(stage: Stage) -> None:
    mod = advance(Plain, stage)
    assert list(relax_functions(mod))
    assert rare(mod) == ()


@pytest.mark.parametrize("name", CASES)
def test_frontends_give_calls_dtypes_and_dimensions_of_any_kind(name: str) -> None:
    given = {"function-calls", "composite-dims", "dtypes", "call-tir-with-grad", "any"}
    assert is_contrived(CASES[name]()) is (name not in given)
    assert not is_contrived(Plain)


def test_a_negative_size_is_contrived_as_well() -> None:
    assert is_contrived(of(relax.TensorType((-1, 2), "float32")))
