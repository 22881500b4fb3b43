"""PrimFuncs that LegalizeOps makes of every operator of the table."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax, tirx

from relaxfuzz.generators.choices import Choices
from relaxfuzz.generators.functions import finish
from relaxfuzz.generators.module_scope import ModuleScope
from relaxfuzz.generators.ops import table
from relaxfuzz.generators.ops.record import Op
from relaxfuzz.generators.scope import Scope
from relaxfuzz.generators.values import Dim
from relaxfuzz.oracles.dtypes import dtype_of
from relaxfuzz.oracles.errors import TooLarge, Undefined, Unsupported
from relaxfuzz.oracles.tensorir import Program, runtime, translate
from relaxfuzz.oracles.tensorir.expressions import Expressions
from relaxfuzz.oracles.tensorir.program import compiled
from relaxfuzz.oracles.tensorir.statements import Statements
from relaxfuzz.oracles.tensorir.values import constant
from tests.faulty_kernels import FAULTY_KERNELS

from .native import assert_close, assert_same_bits, copies, run_native

NUMBERS = (0, 2)
"""Seeds of the calls of each operator: one on known sizes, one on symbolic ones."""

BUDGET = 30_000
"""Iterations of loops one by one; what takes more is left out."""

BATCH = 40
"""PrimFuncs compiled together."""


def module(op: Op, number: int) -> tvm.IRModule:
    """A module that calls the operator once, its choices random but the same every time."""
    n, m = tirx.Var("n", "int64"), tirx.Var("m", "int64")
    dims: list[Dim] = [[2, 3, 4], [4, 1, 3], [n, m, n * 2, 3]][number % 3]
    scope = ModuleScope(frozenset())
    dtype = op.dtypes[number % len(op.dtypes)]
    choices = Choices(np.random.default_rng([len(op.name), number]).bytes(48))
    s = Scope(scope, dims, [dtype, dtype])
    s.dataflow(op.pure)
    s.exporting = True
    result = s.bind(op.build(choices, s))
    s.pure = op.pure
    s.close()
    scope.add("main", finish(s, result).with_attr("global_symbol", "main"))
    infos = {"vdevice": scope.vdevices} if scope.vdevices else None
    return tvm.IRModule(scope.functions, global_infos=infos)


@functools.cache
def prim_funcs() -> dict[str, tirx.PrimFunc]:
    """PrimFuncs, named after their operator; equal ones once."""
    found: dict[Any, tuple[str, tirx.PrimFunc]] = {}
    passes = tvm.transform.Sequential(
        [relax.transform.LegalizeOps(), relax.backend.DispatchSortScan()]
    )
    for op in (op for op in table.values() if op.name not in FAULTY_KERNELS):
        for number in NUMBERS:
            try:
                with tvm.target.Target("llvm"):
                    mod = passes(module(op, number))
            except Exception:  # passes are judged elsewhere
                continue
            for func in mod.functions.values():
                if isinstance(func, tirx.PrimFunc):
                    name = f"{op.name.replace('.', '_')}_{len(found)}"
                    found.setdefault(tvm_ffi.StructuralKey(func), (name, func))
    return dict(found.values())


def arguments(func: tirx.PrimFunc, seed: int) -> list[Any]:
    """Arrays of small values; indices among them mostly lie inside."""
    rng = np.random.default_rng(seed)
    sizes: dict[int, int] = {}
    given: list[Any] = []

    def note(var: tirx.Var) -> None:
        if not isinstance(var.ty, tirx.BufferType):
            sizes.setdefault(var.__chandle__(), 2 + len(sizes) % 3)

    for param in func.params:
        if isinstance(param.ty, tirx.BufferType):
            for dim in param.ty.shape:
                tvm_ffi.structural_walk(dim, (tirx.Var, note))
    for param in func.params:
        if not isinstance(param.ty, tirx.BufferType):
            given.append(sizes.get(param.__chandle__(), 1))
            continue
        shape = [size_of(dim, sizes) for dim in param.ty.shape]
        dtype = dtype_of(str(param.ty.dtype))
        if dtype.kind in "iub":
            given.append(np.asarray(rng.integers(0, (2, 4, 1)[seed % 3], shape)).astype(dtype))
        else:
            values = np.asarray(rng.uniform(0.1, 1.4, shape) if seed else rng.normal(0, 1, shape))
            given.append(values.astype(dtype))
    return given


def size_of(dim: Any, sizes: dict[int, int]) -> int:
    expressions = Expressions()
    expressions.vars = {var: constant(size, "int64") for var, size in sizes.items()}
    size = expressions.value(dim).literal
    assert size is not None, str(dim)
    return size


@functools.cache
def programs() -> list[tuple[str, tirx.PrimFunc, Program]]:
    """All PrimFuncs that can be translated."""
    found = []
    for name, func in prim_funcs().items():
        try:
            found.append((name, func, translate(func)))
        except Unsupported as error:
            if "handle" not in str(error):
                raise
    return found


def outcome(run: Any, args: list[Any]) -> str:
    with np.errstate(all="ignore"):
        try:
            run(*args)
        except (Undefined, TooLarge, Unsupported, ZeroDivisionError) as error:
            return "Undefined" if isinstance(error, ZeroDivisionError) else type(error).__name__
    return ""


def test_lanes_are_like_iterations() -> None:
    compared = 0
    for name, func, program in programs():
        scalar = functools.partial(compiled(Statements().function(func)), BUDGET)
        for seed in (0, 1, 2):
            args = arguments(func, seed)
            lanes, scalars = copies(args), copies(args)
            expected = outcome(scalar, scalars)
            if expected == "TooLarge":
                break
            assert outcome(program, lanes) == expected, name
            if not expected:
                assert_same_bits(scalars, lanes, name)
                compared += 1
    assert compared > 450


def test_sums_of_products_as_a_whole_are_like_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "IN_ORDER", 0)
    compared = set()
    for name, func, program in programs():
        if "fold_product" not in program.text:
            continue
        for seed in (0, 1, 2):
            args = arguments(func, seed)
            whole, scalars = copies(args), copies(args)
            loops = compiled(Statements().function(func))
            expected = outcome(lambda *args, loops=loops: loops(BUDGET, *args), scalars)
            if expected != "TooLarge":
                assert outcome(program, whole) == expected, name
                assert_close(scalars, whole, name)
                compared.add(name.rpartition("_")[0])
    assert len(compared) >= 10, compared


def test_programs_are_like_compiled_code() -> None:
    """One PrimFunc of each operator, on the first arguments for which it is defined."""
    chosen: dict[str, tuple[tirx.PrimFunc, list[Any], list[Any]]] = {}
    for name, func, program in programs():
        operator = name.rpartition("_")[0]
        for seed in (0, 1, 2):
            args = arguments(func, seed)
            mine = copies(args)
            if operator not in chosen and not outcome(program, mine):
                chosen[operator] = (func, args, mine)
    assert len(chosen) > 130
    names = list(chosen)
    for begin in range(0, len(names), BATCH):
        batch = names[begin : begin + BATCH]
        native = run_native({n: chosen[n][0] for n in batch}, {n: chosen[n][1] for n in batch})
        for name in batch:
            assert_close(native[name], chosen[name][2], name)
