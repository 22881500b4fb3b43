"""Each fault shows where its trigger is, and the pass is right where it is not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax

from relaxfuzz import evaluate
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.corpus.zoo import state
from relaxfuzz.corpus.zoo.state import SPECIMENS
from relaxfuzz.oracles.inspect import ops_used

X = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]], "float32")
F23 = relax.TensorType((2, 3), "float32")


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test starts like a process of its own."""
    monkeypatch.delenv(state._GUARD, raising=False)
    for kept in (state._settled, state._bodies, state._pool, state._visit.__defaults__[0]):
        kept.clear()
    yield
    os.environ.pop(state._GUARD, None)


def equal(a: object, b: object) -> bool:
    return bool(tvm_ffi.structural_equal(a, b, map_free_vars=True))


def copied(mod: tvm.IRModule) -> tvm.IRModule:
    return load_json(save_json(mod))


def module(body: Callable[..., Any], *, params: int = 1, name: str = "main") -> tvm.IRModule:
    """A module with one function, in one dataflow block, whose body emits."""
    builder = relax.BlockBuilder()
    variables = [relax.Var(f"x{i}", F23) for i in range(params)]
    with builder.function(name, variables):
        with builder.dataflow():
            result = builder.emit_output(body(builder, *variables))
        builder.emit_func_output(result)
    return builder.get()


def squared(name: str = "main") -> tvm.IRModule:
    return module(lambda builder, x: relax.op.multiply(x, x), name=name)


def same_values(before: tvm.IRModule, after: tvm.IRModule, *args: Any) -> bool:
    assert relax.analysis.check_well_formed(after)
    a, b = (evaluate(mod, "main", [np.copy(arg) for arg in args]) for mod in (before, after))
    return bool(np.array_equal(a, b, equal_nan=True))


def private(value: Callable[[relax.Var], relax.Call], *, names: tuple[str, ...]) -> tvm.IRModule:
    """Public functions of these names; each calls private functions of one operator in turn."""
    builder = relax.BlockBuilder()
    functions = []
    for i in range(2):
        x = relax.Var("x", F23)
        call = builder.normalize(value(x) if i == 0 else relax.op.cos(x))
        out = relax.Var("out", F23)
        block = relax.BindingBlock([relax.VarBinding(out, call)])
        func = relax.Function([x], builder.normalize(relax.SeqExpr([block], out)), F23)
        functions.append(builder.add_func(func, f"inner{i}"))
    for name in names:
        x = relax.Var("x", F23)
        with builder.function(name, [x]):
            a = builder.emit(relax.Call(functions[0], [x]))
            builder.emit_func_output(builder.emit(relax.Call(functions[1], [a])))
    return builder.get()


def test_every_specimen_has_its_description() -> None:
    assert len(SPECIMENS) >= 9
    for specimen in SPECIMENS:
        assert specimen.what.endswith(".")
        assert specimen.models.startswith("apache/tvm#")
        assert specimen.call.build().info.name == specimen.name


def test_outlines_under_a_running_number() -> None:
    mod = module(lambda builder, x: relax.op.exp(x))
    first, second = (state.outlines_under_a_running_number()(mod) for _ in range(2))
    assert not equal(first, second)
    assert same_values(mod, first, X)
    still = module(lambda builder, x: relax.op.add(x, x))
    assert equal(state.outlines_under_a_running_number()(still), still)


def test_outlines_with_sorted_operands() -> None:
    mod = module(lambda builder, x, y: relax.op.subtract(x, y), params=2)
    copies = [copied(mod) for _ in range(40)]
    results = [state.outlines_with_sorted_operands()(copy) for copy in copies]
    assert any(not equal(results[0], other) for other in results)
    assert all(same_values(mod, result, X, 2 * X) for result in results[:5])


def test_skips_known_addresses() -> None:
    mod = squared()
    assert not equal(state.skips_known_addresses()(mod), mod)
    state._settled.add(hash(mod["main"]))  # as if an earlier function had lain there
    assert equal(state.skips_known_addresses()(mod), mod)


def test_visits_each_name_once() -> None:
    first = state.visits_each_name_once()(squared())
    assert same_values(squared(), first, X)
    assert not equal(first, squared())
    assert equal(state.visits_each_name_once()(squared()), squared())
    assert not equal(state.visits_each_name_once()(squared("other")), squared("other"))


def test_stops_at_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state.time, "perf_counter", lambda: 0.0)
    assert not equal(state.stops_at_a_deadline()(squared()), squared())
    ticks = iter(range(100))
    monkeypatch.setattr(state.time, "perf_counter", lambda: float(next(ticks)))
    assert equal(state.stops_at_a_deadline()(squared()), squared())


def test_works_before_it_is_set_up() -> None:
    idle = module(lambda builder, x: relax.op.exp(x))
    assert equal(state.works_before_it_is_set_up()(idle), idle)
    assert not equal(state.works_before_it_is_set_up()(squared()), squared())
    assert equal(state.works_before_it_is_set_up()(squared()), squared())


def test_leaves_its_context_behind() -> None:
    outer = tvm.transform.PassContext.current()
    assert not equal(state.leaves_its_context_behind()(squared()), squared())
    assert tvm.transform.PassContext.current().same_as(outer)
    state.leaves_its_context_behind()(module(lambda builder, x: relax.op.exp(x)))
    left = tvm.transform.PassContext.current()
    assert left.opt_level == 0
    left.__exit__(None, None, None)


def with_constants(first: float, second: float) -> tvm.IRModule:
    """main calls two private functions that add a constant."""
    builder = relax.BlockBuilder()
    gvars = []
    for number, value in enumerate((first, second)):
        x, out = relax.Var("x", F23), relax.Var("out", F23)
        call = builder.normalize(relax.op.add(x, relax.const(value, "float32")))
        block = relax.BindingBlock([relax.VarBinding(out, call)])
        func = relax.Function([x], builder.normalize(relax.SeqExpr([block], out)), F23)
        mod = builder.get()
        gvar = tvm.ir.GlobalVar(f"add{number}")
        relax.expr._update_type(gvar, func.ty)
        mod.update_func(gvar, func)
        builder = relax.BlockBuilder(mod)
        gvars.append(gvar)
    x = relax.Var("x", F23)
    with builder.function("main", [x]):
        a = builder.emit(relax.Call(gvars[0], [x]))
        builder.emit_func_output(builder.emit(relax.Call(gvars[1], [a])))
    return builder.get()


@pytest.mark.parametrize("second", [1.0, 2.0])
def test_merges_functions_by_hash(second: float) -> None:
    mod = with_constants(1.0, second)
    assert len(mod.functions) == 3
    after = state.merges_functions_by_hash()(mod)
    assert len(after.functions) == 2
    assert same_values(mod, after, X) is (second == 1.0)


def test_inlines_by_name() -> None:
    sines, roots = (private(op, names=("main",)) for op in (relax.op.sin, relax.op.exp))
    first = state.inlines_by_name()(sines)
    assert "relax.sin" in ops_used(first["main"])
    assert same_values(sines, first, X)
    assert not equal(first, sines)
    assert not same_values(roots, state.inlines_by_name()(roots), X)


def test_notes_operators_in_any_order() -> None:
    mod = private(relax.op.sin, names=("main", "other"))
    noted = state.notes_operators_in_any_order()(mod)
    for gvar, func in noted.functions_items():
        names = func.attrs.get("operators") or ()
        assert set(names) == ops_used(func)
        assert len(names) == len(set(names))
        assert equal(func.without_attr("operators"), mod[gvar.name_hint]) or not names


def test_inlines_within_a_budget() -> None:
    mod = private(relax.op.sin, names=("main", "other"))
    functions = list(mod.functions_items())
    turned = tvm.IRModule(dict(reversed(functions)))
    a, b = (state.inlines_within_a_budget()(m) for m in (tvm.IRModule(dict(functions)), turned))
    assert same_values(mod, a, X)
    assert same_values(mod, b, X)
    assert not equal(a, b)
    alone = private(relax.op.sin, names=("main",))
    turned = tvm.IRModule(dict(reversed(list(alone.functions_items()))))
    a, b = (state.inlines_within_a_budget()(m) for m in (alone, turned))
    assert equal(a, b)
    assert not equal(a, alone)


def test_schedules_by_address() -> None:
    def body(builder: relax.BlockBuilder, x: relax.Var) -> relax.Expr:
        parts = [builder.emit(op(x)) for op in (relax.op.exp, relax.op.sin, relax.op.cos)]
        return relax.op.add(builder.emit(relax.op.add(*parts[:2])), parts[2])

    mod = module(body)
    copies = [copied(mod) for _ in range(40)]
    results = [state.schedules_by_address()(copy) for copy in copies]
    assert any(not equal(results[0], other) for other in results)
    assert all(same_values(mod, result, X) for result in results[:5])
    chain = module(lambda builder, x: relax.op.exp(builder.emit(relax.op.sin(x))))
    assert equal(state.schedules_by_address()(chain), chain)


def added(constant: Any) -> tvm.IRModule:
    return module(lambda builder, x: relax.op.add(x, relax.const(constant)))


def test_pools_constants_by_bytes() -> None:
    mod = added(np.zeros((2, 3), "float32"))
    assert same_values(mod, state.pools_constants_by_bytes()(mod), X)
    other = added(np.zeros((6, 1, 1), "float32"))
    after = state.pools_constants_by_bytes()(other)
    assert not relax.analysis.check_well_formed(after) or not equal(after, other)
    same = added(np.zeros((2, 3), "float32"))
    assert equal(state.pools_constants_by_bytes()(same), same)
