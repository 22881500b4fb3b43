"""Each faulty pass of the fourth set shows its mistake on a module on which its twin is right.

On another module both act, and both are right.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax

from relaxfuzz import evaluate
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.oracles.structural.checkers import flaw
from tests.first_drafts import FOURTH
from tests.first_drafts.modules import BY_NAME, X, acted, const, of, pass_of, tensor
from tests.first_drafts.modules_fourth import (
    BYTES,
    CUBE,
    GAIN,
    LARGE,
    NEGATIVE,
    SMALL,
    Batched,
    BranchesWithoutBlocks,
    Branching,
    BranchOfUnknown,
    CallsTwice,
    ComputesTwice,
    DefinesInDataflow,
    EqualBranches,
    GivesConstants,
    GivesOneConstant,
    LongLived,
    NestedTuples,
    OnlyHeavy,
    Prints,
    RowsOfBatch,
    beside,
    cast_to,
    casting,
    clipped,
    from_seven,
    halves,
    heavy,
    legal,
    made,
    masked,
    minus_seven,
    negated,
    normalized,
    permuted,
    placed,
    published,
    reduced,
    taken_name,
    with_copied_kernel,
    with_public_kernel,
)

op = relax.op


def test_the_table() -> None:
    kinds = Counter(specimen.kind for specimen in FOURTH)
    assert kinds == {
        **{"values": 10, "ill-formed": 6, "mutation": 4, "crash": 5, "interface": 5},
        "correct": 30,
    }


def test_each_has_a_case() -> None:
    tests = Path(__file__).read_text()
    faulty = [s.name for s in FOURTH if s.kind != "correct"]
    assert [name for name in faulty if not re.search(rf'"{name}"', tests)] == []


# -- what is wrong with a result -----------------------------------------------------------------


def publics(mod: tvm.IRModule) -> dict[str, tvm.ir.Type]:
    functions = {f.attrs["global_symbol"]: f for f in mod.functions.values() if is_public(f)}
    return {name: getattr(f, "ty", None) for name, f in functions.items()}


def is_public(func: Any) -> bool:
    return func.attrs is not None and "global_symbol" in func.attrs


def effects(mod: tvm.IRModule) -> list[str]:
    """What main prints, or calls from outside, in order."""
    bindings = [binding for block in mod["main"].body.blocks for binding in block.bindings]
    texts = [str(binding.value) for binding in bindings]
    return [text for text in texts if re.search(r"R\.(print|call_packed)", text)]


def inputs(mod: tvm.IRModule) -> list[np.ndarray[Any, Any]]:
    """Values for main; what is symbolic is 3."""
    values = []
    for param in mod["main"].params:
        shape = [getattr(dim, "value", 3) for dim in param.ty.shape or [3] * param.ty.ndim]
        ramp = np.arange(np.prod(shape)).reshape(shape)
        values.append((ramp % 3 + 0.5).astype(str(param.ty.dtype)))
    return values


def problem(name: str, mod: tvm.IRModule, args: tuple[Any, ...] | None) -> str | None:
    """The kind of what is wrong with what the pass makes of the module; None: nothing."""
    mod = load_json(save_json(mod))
    before = load_json(save_json(mod))
    try:
        after = pass_of(name)(mod)
    except Exception:
        return "crash"
    if not tvm_ffi.structural_equal(mod, before, map_free_vars=True):
        return "mutation"
    if tvm_ffi.structural_equal(mod, after, map_free_vars=True):
        return None
    if publics(mod).keys() != publics(after).keys() or effects(mod) != effects(after):
        return "interface"
    if flaw(after) is not None:
        return "ill-formed"
    for symbol, ty in publics(mod).items():
        other = publics(after)[symbol]
        if not tvm_ffi.structural_equal(ty, other, map_free_vars=True):
            return "interface"
    given = inputs(mod) if args is None else args
    a, b = (evaluate(m, "main", [np.copy(arg) for arg in given]) for m in (mod, after))
    return None if same(a, b) else "values"


def same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    return np.allclose(a, b, rtol=1e-4, atol=1e-5)


class Pair(NamedTuple):
    """A module on which the mistake shows, and one on which it does not."""

    name: str
    bad: tvm.IRModule
    good: tvm.IRModule
    args: tuple[Any, ...] | None = None
    """For main of the bad module."""


def valued(
    name: str,
    bad: Callable[..., relax.Expr],
    args: Any,
    good: Callable[..., relax.Expr],
    other: Any,
) -> Pair:
    return Pair(name, made(bad, *args), made(good, *other), args)


def compared(kind: Callable[..., relax.Expr]) -> tvm.IRModule:
    return made(of(kind), X, X)


PAIRS = [
    valued("argmax_of_negative", of(negated), (BYTES,), of(negated), (X,)),
    valued("softmax_before_permute", permuted(1, 2, 0), (CUBE,), permuted(1, 0, 2), (CUBE,)),
    valued("cast_after_reduction", reduced(op.sum), (LARGE,), reduced(op.max), (LARGE,)),
    valued("mod_by_mask", masked(op.mod), (NEGATIVE,), masked(op.floor_mod), (NEGATIVE,)),
    valued("gather_constants", of(from_seven), (NEGATIVE,), of(minus_seven), (NEGATIVE,)),
    valued("merge_clips", clipped(2.0, 3.0, 0.0, 1.0), (X,), clipped(0.0, 2.0, 1.0, 3.0), (X,)),
    valued("lower_rms_norm", normalized(0.1), (SMALL, GAIN), normalized(1e-5), (X, GAIN)),
    Pair("mean_by_sum", Batched, RowsOfBatch, (np.array([[1, 2], [3, 4], [8, 9]], "float32"),)),
    Pair("lower_binary", compared(op.less), compared(op.add)),
    Pair("share_kernels", legal(halves, X), with_copied_kernel()),
    Pair(
        "drop_unused_kernels",
        with_public_kernel(legal(of(op.exp), X), "unused", True),
        with_public_kernel(legal(of(op.exp), X), "unused", False),
    ),
    Pair("unroll_small_loops", legal(of(op.exp), X), published(legal(of(op.exp), X))),
    Pair("isolate_heavy", made(heavy, X, X.T), OnlyHeavy),
    Pair("schedule_by_demand", DefinesInDataflow, LongLived),
    Pair("drop_same_casts", cast_to(False), cast_to(True)),
    Pair("outline_branches", BranchOfUnknown, Branching),
    Pair("note_sizes", beside(made(of(op.exp), X)), LongLived),
    Pair("merge_branches", BranchesWithoutBlocks, EqualBranches),
    Pair("sink_calls", CallsTwice, ComputesTwice),
    Pair("drop_unused_calls", Prints, ComputesTwice),
    Pair("propagate_constants", GivesConstants, GivesOneConstant),
    Pair("wrap_public", taken_name(), casting("float64")),
    Pair("note_result_bytes", NestedTuples, LongLived),
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_the_mistake(pair: Pair) -> None:
    assert flaw(pair.bad) is None
    assert problem(pair.name, pair.bad, pair.args) == BY_NAME[pair.name].kind
    assert problem(f"{pair.name}_fixed", pair.bad, pair.args) is None


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_no_mistake(pair: Pair) -> None:
    assert flaw(pair.good) is None
    for name in (pair.name, f"{pair.name}_fixed"):
        acted(name, pair.good)
        assert problem(name, pair.good, None) is None


# -- what the checks above do not see ------------------------------------------------------------


def test_a_result_on_a_device() -> None:
    device = {}
    for name in ("lower_likes", "lower_likes_fixed"):
        device[name] = pass_of(name)(placed(True))["main"].body.body.ty.vdevice
        acted(name, placed(False))
        assert problem(name, placed(False), None) is None
    assert device["lower_likes"] is None
    assert device["lower_likes_fixed"] is not None


def test_the_type_of_a_callee() -> None:
    declared = {}
    for name in ("hoist_final_cast", "hoist_final_cast_fixed"):
        after = acted(name, casting("float64"))
        declared[name] = str(after.get_global_var("f").ty.ret.dtype)
        assert str(after["f"].body.body.ty.dtype) == "float32"
        assert problem(name, casting("float32"), None) is None
    assert declared == {"hoist_final_cast": "float64", "hoist_final_cast_fixed": "float32"}
    assert problem("hoist_final_cast_fixed", casting("float64"), None) is None


def parallel_loops(mod: tvm.IRModule) -> int:
    return str(mod).count("T.parallel(")


def test_loops_that_are_reductions() -> None:
    whole, rows = legal(of(op.sum), X), legal(of(lambda x: op.sum(x, [1])), X)
    assert parallel_loops(acted("parallel_outer", whole)) == 1
    assert tvm_ffi.structural_equal(pass_of("parallel_outer_fixed")(whole), whole)
    for name in ("parallel_outer", "parallel_outer_fixed"):
        assert parallel_loops(acted(name, rows)) == 1
        assert problem(name, rows, None) is None


# -- state ---------------------------------------------------------------------------------------


def test_kernels_of_older_modules() -> None:
    mod = made(of(op.nn.relu), X)
    for name, wrong in (("relu_kernels", True), ("relu_kernels_fixed", False)):
        call = pass_of(name)
        first, second = call(mod), call(load_json(save_json(mod)))
        assert flaw(first) is None
        assert (flaw(second) is not None) is wrong


def test_identity_of_objects() -> None:
    def body(b: relax.BlockBuilder, *xs: relax.Expr) -> relax.Expr:
        values = [b.emit(op.exp(x)) for x in xs]
        return op.concat([b.emit(op.tanh(value)) for value in values])

    args = tuple(X + i for i in range(6))
    mod = made(body, *args)
    assert problem("share_activations", mod, args) == "values"
    assert problem("share_activations_fixed", mod, args) is None
    again = made(lambda b, x: op.subtract(b.emit(op.exp(x)), b.emit(op.exp(x))), X)
    acted("share_activations_fixed", again)
    assert problem("share_activations_fixed", again, None) is None


def test_a_second_module() -> None:
    mod = made(lambda b, x: op.nn.relu(b.emit(op.nn.relu(b.emit(op.nn.relu(x))))), X)
    for name, wrong in (("collapse_relus", True), ("collapse_relus_fixed", False)):
        call = pass_of(name)
        first, second = call(mod), call(mod)
        assert str(first).count("relu(x0)") == 3
        assert problem(name, mod, None) is None
        assert tvm_ffi.structural_equal(second, mod) is wrong
        assert tvm_ffi.structural_equal(second, first) is not wrong


def test_the_order_of_a_set() -> None:
    builder = relax.BlockBuilder()
    callees = []
    for i in range(12):
        p = relax.Var("p", tensor(2, 3))
        with builder.function(f"f{i}", [p], private=True):
            callees.append(builder.emit_func_output(builder.emit(op.add(p, const(i)))))
    x = relax.Var("x", tensor(2, 3))
    with builder.function("main", [x]):
        value: relax.Expr = x
        for callee in callees:
            value = builder.emit(relax.Call(callee, [value]))
        builder.emit_func_output(value)
    copies = [load_json(save_json(builder.get())) for _ in range(8)]
    orders = {
        name: {tuple(pass_of(name)(mod).attrs["preload"]) for mod in copies}
        for name in ("note_preload", "note_preload_fixed")
    }
    assert len(orders["note_preload"]) > 1
    assert len(orders["note_preload_fixed"]) == 1
