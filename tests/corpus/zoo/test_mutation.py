"""Each fault shows where its trigger is, and the pass is right where it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz import evaluate
from relaxfuzz.compat import ir
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.corpus.zoo import mutation
from relaxfuzz.corpus.zoo.mutation import SPECIMENS
from relaxfuzz.generators.stages import Stage, advance

X = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]], "float32")


def equal(a: object, b: object) -> bool:
    return bool(tvm_ffi.structural_equal(a, b, map_free_vars=True))


def function(body: Callable[..., Any], *types: Any, **options: Any) -> tvm.IRModule:
    """A module with the function main, in one dataflow block, whose body emits."""
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", ty) for i, ty in enumerate(types)]
    with builder.function("main", params, **options):
        with builder.dataflow():
            result = builder.emit_output(body(builder, *params))
        builder.emit_func_output(result)
    return builder.get()


F23 = relax.TensorType((2, 3), "float32")


def run(make: Callable[[], tvm.transform.Pass], mod: tvm.IRModule) -> tuple[bool, tvm.IRModule]:
    """Whether the input is left as it was, and the result."""
    before = load_json(save_json(mod))
    after = make()(mod)
    return equal(before, mod), after


def same_values(before: tvm.IRModule, after: tvm.IRModule, *args: Any) -> bool:
    assert relax.analysis.check_well_formed(after)
    a, b = (evaluate(mod, "main", [np.copy(arg) for arg in args]) for mod in (before, after))
    return bool(np.array_equal(a, b, equal_nan=True))


def test_every_specimen_has_its_description() -> None:
    assert len(SPECIMENS) >= 9
    assert sum(len(specimen.needs) > 1 for specimen in SPECIMENS) >= 2
    for specimen in SPECIMENS:
        assert specimen.what.endswith(".")
        assert specimen.models.startswith("apache/tvm#")
        assert specimen.call.build().info.name == specimen.name


@pytest.mark.parametrize("dead", [True, False])
def test_drops_unused_bindings_in_place(dead: bool) -> None:
    def body(builder: relax.BlockBuilder, x: relax.Var) -> relax.Expr:
        if dead:
            builder.emit(relax.op.exp(x))
        return relax.op.sin(x)

    mod = function(body, F23)
    intact, after = run(mutation.drops_unused_bindings_in_place, mod)
    assert intact is not dead
    assert len(after["main"].body.blocks[0].bindings) == 1


@pytest.mark.parametrize("operand", ["constant", "parameter"])
def test_folds_into_its_operand(operand: str) -> None:
    def body(builder: relax.BlockBuilder, x: relax.Var) -> relax.Expr:
        part = relax.op.negative(relax.const(X)) if operand == "constant" else relax.op.negative(x)
        return relax.op.add(builder.emit(part), x)

    mod = function(body, F23)
    before = load_json(save_json(mod))
    intact, after = run(mutation.folds_into_its_operand, mod)
    assert intact is (operand == "parameter")
    assert same_values(before, after, X)


@pytest.mark.parametrize("dead", [True, False])
def test_counts_buffers_in_place(dead: bool) -> None:
    def body(builder: relax.BlockBuilder, x: relax.Var) -> relax.Expr:
        if dead:
            builder.emit(relax.op.exp(x))
        return relax.op.reshape(x, (3, 2))

    mod = advance(function(body, F23), Stage.LEGALIZED)
    intact, after = run(mutation.counts_buffers_in_place, mod)
    assert intact is dead
    assert same_values(mod, after, X)
    assert after["reshape"].attrs["num_buffers"] == 2


@pytest.mark.parametrize("unused", [True, False])
def test_drops_unused_vdevices_in_place(unused: bool) -> None:
    used = ir.VDevice("llvm", 0, "global")
    ty = relax.TensorType((2, 3), "float32", used)
    mod = function(lambda builder, x: relax.op.sin(x), ty)
    mod.update_global_info("vdevice", [used, *([ir.VDevice("llvm", 1, "global")] * unused)])
    intact, after = run(mutation.drops_unused_vdevices_in_place, mod)
    assert intact is not unused
    assert list(after.global_infos["vdevice"]) == [used]


@pytest.mark.parametrize("shared", [True, False])
def test_drops_reshapes_by_shape_node(shared: bool) -> None:
    shape = relax.ShapeExpr([2, 3])

    def body(builder: relax.BlockBuilder, x: relax.Var, y: relax.Var) -> relax.Expr:
        reshape = relax.op.reshape(x, shape).op
        a = builder.emit(relax.Call(reshape, [x, shape]))
        other = shape if shared else relax.ShapeExpr([2, 3])
        b = builder.emit(relax.Call(reshape, [y, other]))
        return relax.op.add(a, b)

    mod = function(body, F23, relax.TensorType((6,), "float32"))
    if shared:
        # The other operand keeps its six elements in a row, which do not add up with two rows.
        with pytest.raises(ValueError, match=r"relax\.add"):
            run(mutation.drops_reshapes_by_shape_node, mod)
    else:
        _, after = run(mutation.drops_reshapes_by_shape_node, mod)
        assert not equal(mod, after)
        assert same_values(mod, after, X, X.reshape(6))


@I.ir_module
class BothBranches:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), flag: R.Tensor((), "bool")):
        if flag:
            a = R.exp(x)
            r = R.sin(a)
        else:
            a = R.exp(x)
            r = R.cos(a)
        return r


@I.ir_module
class Straight:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), flag: R.Tensor((), "bool")):
        e = R.exp(x)
        if flag:
            a = R.exp(x)
            r = R.sin(a)
        else:
            b = R.cos(x)
            r = R.cos(b)
        return R.add(r, e)


def test_remembers_across_branches() -> None:
    _, after = run(mutation.remembers_across_branches, BothBranches)
    assert not relax.analysis.check_well_formed(after)
    intact, after = run(mutation.remembers_across_branches, Straight)
    assert intact
    assert not equal(after, Straight)
    for flag in (True, False):
        assert same_values(Straight, after, X, np.array(flag))


@pytest.mark.parametrize("repeated", [True, False])
def test_types_a_shared_sum(repeated: bool) -> None:
    def body(builder: relax.BlockBuilder, x: relax.Var) -> relax.Expr:
        two = relax.const(2, "float32")
        a = builder.emit(relax.op.multiply(x, two))
        return relax.op.multiply(x if repeated else a, two)

    mod = function(body, F23)
    if repeated:
        with pytest.raises(tvm.error.InternalError, match="ensure idempotency"):
            run(mutation.types_a_shared_sum, mod)
    else:
        _, after = run(mutation.types_a_shared_sum, mod)
        assert not equal(after, mod)
        assert same_values(mod, after, X)


@pytest.mark.parametrize("shape", [(2, 3), (1, 3)])
def test_shares_one_scratch_array(shape: tuple[int, ...]) -> None:
    def body(builder: relax.BlockBuilder, x: relax.Var) -> relax.Expr:
        ones = builder.emit(relax.op.ones((2, 3), "float32"))
        zeros = builder.emit(relax.op.zeros(shape, "float32"))
        return relax.op.add(builder.emit(relax.op.add(x, ones)), zeros)

    mod = function(body, F23)
    intact, after = run(mutation.shares_one_scratch_array, mod)
    assert intact
    assert same_values(mod, after, X) is (shape == (1, 3))


@pytest.mark.parametrize("alias", [True, False])
def test_reuses_buffers_of_operands(alias: bool) -> None:
    def body(builder: relax.BlockBuilder, x: relax.Var) -> relax.Expr:
        a = builder.emit(relax.op.add(x, x))
        kept = builder.emit(relax.Tuple([a, x])) if alias else None
        b = builder.emit(relax.op.exp(a))
        c = x if kept is None else builder.emit(relax.TupleGetItem(kept, 0))
        return relax.op.add(b, c)

    mod = advance(function(body, F23), Stage.ANNOTATED)
    intact, after = run(mutation.reuses_buffers_of_operands, mod)
    assert intact
    assert "call_tir_inplace" in after.script()
    assert same_values(mod, after, X) is not alias


@pytest.mark.parametrize("kept", [True, False])
def test_reuses_allocations(kept: bool) -> None:
    def body(builder: relax.BlockBuilder, x: relax.Var) -> relax.Expr:
        a = builder.emit(relax.op.exp(x))
        pair = builder.emit(relax.Tuple([a, x])) if kept else None
        b = builder.emit(relax.op.sin(a))
        c = builder.emit(relax.op.cos(b))
        d = x if pair is None else builder.emit(relax.TupleGetItem(pair, 0))
        return relax.op.add(c, d)

    mod = advance(function(body, F23), Stage.LEGALIZED)
    for name in ("ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite"):
        mod = getattr(relax.transform, name)()(mod)
    intact, after = run(mutation.reuses_allocations, mod)
    assert intact
    assert not equal(mod, after)
    assert same_values(mod, after, X) is not kept
