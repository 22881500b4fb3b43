"""The strategy `arithmetic`: valid, defined, varied, the same for the same seed, and shrinkable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import hypothesis
import pytest
import tvm
import tvm_ffi
from hypothesis import HealthCheck, settings
from tvm import tirx

from relaxfuzz.compat import ir
from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.generators.prim_funcs.arithmetic import arithmetic
from relaxfuzz.generators.prim_funcs.terms import fitting
from relaxfuzz.oracles.expected.expectations import Expectations
from relaxfuzz.oracles.inspect import entries, nodes

Modules = Sequence[tvm.IRModule]
Functions = Sequence[tirx.PrimFunc]


@pytest.fixture(scope="module")
def modules() -> Modules:
    return [example(arithmetic(), 0, index) for index in range(150)]


@pytest.fixture(scope="module")
def functions(modules: Modules) -> Functions:
    return [func for mod in modules for _, func in entries(mod)]


def test_values_are_defined_and_few_overflow(modules: Modules) -> None:
    """Of what overflows, and of what divides by zero, the oracles say nothing."""
    expected = [list(Expectations(mod).of("main")) for mod in modules[:60]]
    assert sum(len(each) > 2 for each in expected) >= 58
    overflows = [e.overflows for each in expected for e in each]
    assert sum(overflows) < 0.1 * len(overflows)


@pytest.mark.parametrize(
    ("kind", "which"),
    [
        (ir.For, lambda loop: loop.min.value < 0),
        (ir.For, lambda loop: loop.min.value > 0),
        (ir.For, lambda loop: not isinstance(loop.extent, tirx.IntImm)),
        (ir.For, lambda loop: str(loop.loop_var.ty.dtype) == "int64"),
        (ir.IfThenElse, lambda node: True),
        *(
            (kind, lambda node: "int" in str(node.ty.dtype))
            for kind in (ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Mod, ir.FloorDiv, ir.FloorMod)
        ),
        (ir.FloorMod, lambda node: "uint" in str(node.ty.dtype)),
        (ir.Add, lambda node: "float" in str(node.ty.dtype)),
        (ir.FloorDiv, lambda node: not isinstance(node.b, tirx.IntImm)),
        (ir.FloorDiv, lambda node: isinstance(node.b, tirx.IntImm) and node.b.value < 0),
        *((kind, lambda node: True) for kind in (ir.Min, ir.Max, ir.Select, ir.Let, ir.Cast)),
        *((kind, lambda node: True) for kind in (ir.EQ, ir.NE, ir.LT, ir.LE, ir.GT, ir.GE)),
        *((kind, lambda node: True) for kind in (ir.And, ir.Or, ir.Not, ir.TensorLoad)),
    ],
)
def test_expressions_are_varied(
    functions: Functions, kind: type[Any], which: Callable[[Any], bool]
) -> None:
    assert any(which(node) for func in functions for node in nodes(func, kind))


def test_terms_come_again(functions: Functions) -> None:
    """The rules that cancel or join terms look for equal ones."""

    def again(store: Any) -> bool:
        sums = nodes(store.value, ir.Add, ir.Sub, ir.Min, ir.Max)
        parts = [tvm_ffi.structural_hash(part) for each in sums for part in (each.a, each.b)]
        return len(parts) > len(set(parts))

    stores = [store for func in functions for store in nodes(func, ir.BufferStore)]
    assert sum(map(again, stores)) > 0.1 * len(stores)


def test_constants_fit_their_dtype() -> None:
    assert [fitting(1024, "int8"), fitting(-1024, "int8")] == [24, -24]
    assert [fitting(-100, "uint8"), fitting(-1024, "int32"), fitting(0, "uint8")] == [1, -1024, 0]


def test_modules_shrink() -> None:
    def divides(mod: tvm.IRModule) -> bool:
        return any(nodes(func, ir.FloorMod) for _, func in entries(mod))

    small = hypothesis.find(
        arithmetic(),
        divides,
        settings=settings(
            max_examples=1000,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    (func,) = small.functions.values()
    assert len(nodes(func, ir.BufferStore)) == 1
    assert len(nodes(func, ir.Add, ir.Sub, ir.Mul, ir.FloorDiv, ir.FloorMod)) <= 8
