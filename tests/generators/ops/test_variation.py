"""Rare calls: how rare they are, that they are whole, and that what is defined is compared."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import pytest
import tvm
from hypothesis import HealthCheck, Phase, given, settings
from tvm import relax, tirx

from relaxfuzz.generators.choices import Choices
from relaxfuzz.generators.functions import finish
from relaxfuzz.generators.module_scope import ModuleScope
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.ops import table, variation
from relaxfuzz.generators.ops.record import Op
from relaxfuzz.generators.ops.variation import BYTES, KINDS, Variation, accepted, varied
from relaxfuzz.generators.scope import Scope
from relaxfuzz.generators.traits import Trait
from relaxfuzz.oracles.errors import Mismatch, Undefined, Unsupported
from relaxfuzz.oracles.evaluate import Evaluator
from relaxfuzz.oracles.execute import execute
from relaxfuzz.oracles.expected.comparison import difference
from relaxfuzz.oracles.expected.inputs import InputKind, drawn
from tests.generators.accepted import sample


def variants(op: Op, number: int) -> Iterator[tvm.IRModule]:
    """Modules around one variation of each kind, as far as type inference accepts it."""
    for place, kind in enumerate(KINDS):
        base = sample(op, number)
        choices = [] if kind in op.deadly else list(kind(base.scope, base.call))
        first = 7 * (number + place)
        for each in (choices[at % len(choices)] for at in range(first, first + 3) if choices):
            found = accepted(base.scope, base.call, each)
            if found is not None:
                yield module(op, base.scope, *found)
                break


def module(
    op: Op, scope: Scope, call: relax.Call, variables: Sequence[relax.Var] = ()
) -> tvm.IRModule:
    """A function of one call; the variables are parameters."""
    scope.adopt(variables)
    scope.exporting = True
    result = scope.bind(call)
    scope.pure = op.pure
    func = finish(scope, result).with_attr("global_symbol", "main")
    infos = {"vdevice": scope.module.vdevices} if scope.module.vdevices else None
    return tvm.IRModule({relax.GlobalVar("main"): func}, global_infos=infos)


@pytest.mark.parametrize("op", table.values(), ids=table.keys())
def test_the_simplest_decisions_vary_nothing(op: Op) -> None:
    base = sample(op, 0)
    assert varied(Choices(bytes(BYTES)), base.scope, base.call) is base.call


@pytest.mark.parametrize("op", table.values(), ids=table.keys())
def test_a_variation_is_a_whole_function(op: Op) -> None:
    """It is well-formed, and has a result or none: the evaluator never fails."""
    for mod in variants(op, 0):
        assert relax.analysis.check_well_formed(mod), str(mod)
        args = drawn(mod["main"], InputKind.WHOLE)
        with contextlib.suppress(Unsupported, Undefined, Mismatch):
            Evaluator(mod).run("main", args)


@pytest.mark.parametrize(
    ("attrs", "expected"), [({"dilation": [1, 1]}, False), ({"dilation": [2]}, True)], ids=str
)
def test_nobody_writes_a_call_that_the_function_of_the_operator_refuses(
    attrs: dict[str, list[int]], expected: bool
) -> None:
    """Type inference takes two dilations of one axis."""
    base = sample(table["nn.conv1d"], 0)
    found = accepted(base.scope, base.call, Variation(attrs=attrs))
    assert (found is not None) is expected


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("add", ["(3, 2)uint16", "(2,)uint16"]),
        ("bitwise_xor", ["()uint32", "(2, 3)uint32"]),
        ("sum", ["(2, 1, 2, 1, 2, 3)float32"]),
        ("max", ["(2, 1, 2, 1, 3)int16"]),
        ("exp", ["(2, 1, 1, 1, 2, 3)float32"]),
        ("matmul", ["(2, 1, 2, 3)float32", "(1, 2, 3, 2)float32"]),
        ("abs", ["()uint64"]),
    ],
    ids=lambda each: each if isinstance(each, str) else None,
)
def test_what_is_defined_is_compared(name: str, types: list[str]) -> None:
    """Other dtypes and ranks than the record chooses, but of a known kind: the VM agrees."""
    scope = Scope(ModuleScope(frozenset()), (2,), ("float32",))
    scope.dataflow(True)
    operands = [relax.Var(f"x{at}", tensor_type(text)) for at, text in enumerate(types)]
    mod = module(table[name], scope, getattr(relax.op, name)(*operands), operands)
    args = drawn(mod["main"], InputKind.WHOLE)
    expected = Evaluator(mod).run("main", args)
    (actual,) = execute(mod, [lambda run: run("main", args)])
    assert difference(expected, actual) is None


def tensor_type(text: str) -> relax.TensorType:
    shape, dtype = text[1:].split(")")
    return relax.TensorType([int(dim) for dim in shape.split(",") if dim], dtype)


@pytest.mark.parametrize(("name", "arity"), [("add", 2), ("power", 2), ("mean", 1), ("sign", 1)])
def test_other_kinds_of_numbers_have_no_result(name: str, arity: int) -> None:
    """Type inference accepts them of bool, but no document says what they give."""
    scope = Scope(ModuleScope(frozenset()), (2,), ("float32",))
    scope.dataflow(True)
    operands = [relax.Var(f"x{at}", tensor_type("(2,)bool")) for at in range(arity)]
    mod = module(table[name], scope, getattr(relax.op, name)(*operands), operands)
    with pytest.raises(Unsupported, match="not defined for"):
        Evaluator(mod).run("main", drawn(mod["main"], InputKind.WHOLE))


def test_modules_of_many_variations_are_well_formed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is rare elsewhere is in more than half of the calls; functions with it are called."""
    monkeypatch.setattr(variation, "OFTEN", 0.6)
    seen: set[type] = set()
    forced = [Trait.INCOMPLETE_TYPES, Trait.FUNCTION_CALLS, Trait.DTYPES]

    @given(ir_modules(force=forced) | ir_modules(force=forced, ops=["reshape", "broadcast_to"]))
    @settings(
        max_examples=60,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def check(mod: tvm.IRModule) -> None:
        relax.analysis.well_formed(mod)
        functions = [f for f in mod.functions.values() if isinstance(f, relax.Function)]
        seen.update(type(param.ty) for func in functions for param in func.params)

    check()
    assert relax.ShapeType in seen


def test_type_inference_is_asked_as_within_a_function() -> None:
    """Symbolic extents are not negative there, so that no shape with a -1 has as many elements."""
    scope = Scope(ModuleScope(frozenset()), (2,), ("float32",))
    x = relax.Var("x", relax.TensorType((tirx.Var("n", "int64"), 3, 8), "float32"))
    call = relax.op.reshape(x, (12, 2, 1))
    shapes = {first: relax.ShapeExpr([first, 12, 2]) for first in (-1, x.ty.shape[0])}
    found = [accepted(scope, call, Variation({(1,): shape})) for shape in shapes.values()]
    assert found[0] is None
    assert found[1] is not None


def test_another_dtype_comes_without_a_shape_that_a_binding_defines() -> None:
    """What has it may be a parameter, which comes before all bindings."""
    shape = relax.Var("shape", relax.ShapeType(ndim=2))
    ty = variation._typed(relax.TensorType(shape, "float32"), "int8")
    assert ty.shape is None
    assert (ty.ndim, str(ty.dtype)) == (2, "int8")
