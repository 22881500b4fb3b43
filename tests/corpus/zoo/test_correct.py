"""Each of these does something, and nothing that it must not do."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz import evaluate, ir_modules
from relaxfuzz.compat import ir
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.corpus.zoo import correct
from relaxfuzz.corpus.zoo.correct import SPECIMENS
from relaxfuzz.fuzz.campaign.draw import example
from relaxfuzz.generators.stages import Stage, advance
from relaxfuzz.oracles.inspect import calls_of, nodes, ops_used
from relaxfuzz.oracles.structural import checkers
from relaxfuzz.oracles.structural.canonical import equivalent

X = np.array([[1.0, -0.0, np.nan], [np.inf, 5.0, -6.5]], "float32")
N = np.array([[1, -2, 3], [4, 1000, -7000]], "int32")


@I.ir_module
class Floats:
    @R.function(private=True)
    def one(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        return R.multiply(x, R.const(0.5, "float32"))

    @R.function(private=True)
    def two(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        return R.multiply(x, R.const(0.5, "float32"))

    @R.function
    def main(x: R.Tensor((2, 3), "float32"), n: R.Tensor((2, 3), "int32")):
        cls = Floats
        with R.dataflow():
            a = R.multiply(x, R.const(1, "float32"))
            b = R.negative(a)
            c = R.negative(b)
            dead = R.exp(c)  # noqa: F841  # TVMScript is no Python
            d = R.multiply(c, R.const(2, "float32"))
            e = R.reshape(R.sin(x), R.shape([3, 2]))
            f = R.subtract(d, R.const(0, "float32"))
            g = R.reshape(e, R.shape([2, 3]))
            h = R.add(n, R.const(3, "int32"))
            i = R.add(h, R.const(4, "int32"))
            j = R.multiply(i, R.const(2, "int32"))
            k = R.multiply(R.abs(g), R.const(2, "float32"))
            R.output(f, k, j)
        u = cls.one(f)
        v = cls.two(k)
        return (u, v, j)


def equal(a: object, b: object) -> bool:
    return bool(tvm_ffi.structural_equal(a, b, map_free_vars=True))


def main_of(mod: tvm.IRModule) -> set[str]:
    return ops_used(mod["main"])


def fresh_nodes(before: tvm.IRModule, after: tvm.IRModule) -> bool:
    """Equal functions, of other variables."""
    old, new = (nodes(mod["main"], relax.Var) for mod in (before, after))
    return equal(before, after) and not any(var in set(old) for var in new)


def ops_named(mod: tvm.IRModule, name: str) -> int:
    return len(calls_of(mod, f"relax.{name}"))


def order(mod: tvm.IRModule) -> list[str]:
    return [binding.var.name for binding in mod["main"].body.blocks[0].bindings]


def distinct_constants(mod: tvm.IRModule) -> int:
    return len({hash(node) for node in nodes(mod, ir.GenericConst)})


def kernel_variables(mod: tvm.IRModule) -> set[int]:
    return {hash(param) for name in ("sin", "tir_sin") if name in mod for param in mod[name].params}


DOES: dict[str, Callable[[tvm.IRModule, tvm.IRModule], bool]] = {
    "doubles_by_addition": lambda a, b: ops_named(b, "add") == ops_named(a, "add") + 3,
    "drops_exact_identities": lambda a, b: "relax.subtract" not in main_of(b),
    "cancels_negations_slowly": lambda a, b: ops_named(b, "negative") == 1,
    "reassociates_integers": lambda a, b: (
        {int(ir.constant_data(c).numpy()) for c in nodes(b["main"], ir.GenericConst)} >= {7}
    ),
    "outlines_elementwise": lambda a, b: len(b.functions) > len(a.functions) + 3,
    "merges_private_functions": lambda a, b: len(b.functions) == len(a.functions) - 1,
    "rebuilds_every_node": fresh_nodes,
    "orders_by_depth": lambda a, b: order(a) != order(b),
    "orders_in_much_memory": lambda a, b: order(a) != order(b),
    "checks_its_parameters": lambda a, b: len(nodes(b["main"], relax.MatchCast)) == 2,
    "drops_dead_dataflow": lambda a, b: "relax.exp" in main_of(a) - main_of(b),
    "shares_equal_constants": lambda a, b: distinct_constants(b) < distinct_constants(a),
    "copies_shape_nodes": lambda a, b: (
        equal(a, b)
        and not {hash(c.args[1]) for c in calls_of(a, "relax.reshape")}
        & {hash(c.args[1]) for c in calls_of(b, "relax.reshape")}
    ),
    "remembers_equal_functions": lambda a, b: True,  # see below: main calls other functions
    "renews_kernels": lambda a, b: equal(a, b) and not kernel_variables(a) & kernel_variables(b),
    "renews_variables": fresh_nodes,
}


def same_values(before: tvm.IRModule, after: tvm.IRModule, *args: Any) -> bool:
    results = [evaluate(mod, "main", [np.copy(arg) for arg in args]) for mod in (before, after)]
    return all(
        np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        and np.array_equal(np.signbit(a[~np.isnan(a)]), np.signbit(b[~np.isnan(b)]))
        for a, b in zip(*results, strict=True)
    )


@pytest.mark.parametrize("specimen", SPECIMENS, ids=lambda specimen: specimen.name)
def test_it_works_and_does_no_harm(specimen: Any) -> None:
    mod = advance(Floats, specimen.stages[0])
    before = load_json(save_json(mod))
    after = specimen.call.build()(mod)
    assert DOES[specimen.name](mod, after)
    assert equal(mod, before)
    assert checkers.flaw(after) is None
    assert same_values(mod, after, X, N)


@functools.cache
def generated(stage: Stage, count: int) -> tuple[tvm.IRModule, ...]:
    return tuple(example(ir_modules(stage=stage), 4, i) for i in range(count))


@pytest.mark.parametrize("specimen", SPECIMENS, ids=lambda specimen: specimen.name)
def test_on_generated_modules(specimen: Any) -> None:
    for stage in specimen.stages:
        for mod in generated(stage, 16 if stage is Stage.RAW else 4):
            after = specimen.call.build()(mod)
            assert checkers.flaw(after) is None
            assert equivalent(after, specimen.call.build()(after))


def test_every_specimen_has_its_description() -> None:
    assert len(SPECIMENS) >= 12
    assert {specimen.name for specimen in SPECIMENS} == DOES.keys()
    for specimen in SPECIMENS:
        assert specimen.what.endswith(".")
        assert not specimen.needs


def test_remembers_equal_functions() -> None:
    correct._known.clear()

    def doubling(constant: float) -> tvm.IRModule:
        builder = relax.BlockBuilder()
        x = relax.Var("x", R.Tensor((2, 3), "float32"))
        with builder.function("main", [x]):
            y = builder.emit(relax.op.multiply(x, relax.const(2, "float32")))
            builder.emit_func_output(relax.op.add(y, relax.const(constant, "float32")))
        return builder.get()

    for constant in (1.0, 1.0, 3.0):  # anew, from the cache, and almost from the cache
        mod = doubling(constant)
        after = correct.remembers_equal_functions()(mod)
        assert ops_named(after, "multiply") == 0
        (before,), (result,) = ([evaluate(m, "main", [X])] for m in (mod, after))
        assert np.array_equal(before, result, equal_nan=True)
    assert sum(map(len, correct._known.values())) == 2


@I.ir_module
class Hidden:
    """The operand of the first negation is out of sight where the second one stands."""

    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            a = R.sin(x)
            b = R.negative(a)
            R.output(b)
        return R.negative(b)


def test_what_is_out_of_sight_stays() -> None:
    assert equal(correct.cancels_negations_slowly()(Hidden), Hidden)


@pytest.mark.parametrize(
    ("first", "second", "fits"), [(2**31 - 1, 1, False), (5, -7, False), (5, 7, True)]
)
def test_no_new_overflow(first: int, second: int, fits: bool) -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((2, 3), "int32"))
    with builder.function("main", [x]):
        y = builder.emit(relax.op.add(x, relax.const(first, "int32")))
        builder.emit_func_output(relax.op.add(y, relax.const(second, "int32")))
    mod = builder.get()
    assert equal(correct.reassociates_integers()(mod), mod) is not fits


def test_zero_has_a_sign() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((2, 3), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(relax.op.subtract(x, relax.const(-0.0, "float32")))
    mod = builder.get()
    assert equal(correct.drops_exact_identities()(mod), mod)
