"""Faults that one module alone does not show: of passes that keep something between modules, or
depend on the process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, tirx

from relaxfuzz import evaluate
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.generators.stages import Stage, advance
from relaxfuzz.oracles.inspect import calls_of, ops_used
from relaxfuzz.oracles.tensorir.threads.limits import shared_buffers

from .modelled import correct, schedules, state, tensorir
from .table import SPECIMENS
from .witness import Witness, equal, problem, same_values
from .witnesses.building import X, of
from .witnesses.fourth import casting, legal
from .witnesses.schedules import arguments, one_thread_stores, threads_swap, two_buffers
from .witnesses.schedules import module as kernel
from .witnesses.tensorir import LARGE, SMALL, long_quotients, short_quotients

F23 = relax.TensorType((2, 3), "float32")
op = relax.op


def pass_of(name: str) -> tvm.transform.Pass:
    return SPECIMENS[name].call.build()


def copied(mod: tvm.IRModule) -> tvm.IRModule:
    return load_json(save_json(mod))


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test starts like a process of its own."""
    monkeypatch.setattr(tensorir, "_folded", {})
    (visited,) = state._visit.__defaults__ or ()
    for kept in (state._settled, state._bodies, state._pool, visited, correct._known):
        kept.clear()


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


def keeps_values(before: tvm.IRModule, after: tvm.IRModule, *args: Any) -> bool:
    assert relax.analysis.check_well_formed(after)
    return same_values(before, after, args)


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


def test_outlines_under_a_running_number() -> None:
    mod = module(lambda builder, x: relax.op.exp(x))
    first, second = (state.outlines_under_a_running_number()(mod) for _ in range(2))
    assert not equal(first, second)
    assert keeps_values(mod, first, X)
    still = module(lambda builder, x: relax.op.add(x, x))
    assert equal(state.outlines_under_a_running_number()(still), still)


def test_skips_known_addresses() -> None:
    mod = squared()
    assert not equal(state.skips_known_addresses()(mod), mod)
    state._settled.add(hash(mod["main"]))  # as if an earlier function had lain there
    assert equal(state.skips_known_addresses()(mod), mod)


def test_visits_each_name_once() -> None:
    first = state.visits_each_name_once()(squared())
    assert keeps_values(squared(), first, X)
    assert not equal(first, squared())
    assert equal(state.visits_each_name_once()(squared()), squared())
    assert not equal(state.visits_each_name_once()(squared("other")), squared("other"))


def test_stops_at_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state.time, "perf_counter", lambda: 0.0)
    assert not equal(state.stops_at_a_deadline()(squared()), squared())
    ticks = iter(range(100))
    monkeypatch.setattr(state.time, "perf_counter", lambda: float(next(ticks)))
    assert equal(state.stops_at_a_deadline()(squared()), squared())


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
    assert keeps_values(mod, after, X) is (second == 1.0)


def test_inlines_by_name() -> None:
    sines, roots = (private(op, names=("main",)) for op in (relax.op.sin, relax.op.exp))
    first = state.inlines_by_name()(sines)
    assert "relax.sin" in ops_used(first["main"])
    assert keeps_values(sines, first, X)
    assert not equal(first, sines)
    assert not keeps_values(roots, state.inlines_by_name()(roots), X)


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
    assert keeps_values(mod, a, X)
    assert keeps_values(mod, b, X)
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
    assert all(keeps_values(mod, result, X) for result in results[:5])
    chain = module(lambda builder, x: relax.op.exp(builder.emit(relax.op.sin(x))))
    assert equal(state.schedules_by_address()(chain), chain)


def added(constant: Any) -> tvm.IRModule:
    return module(lambda builder, x: relax.op.add(x, relax.const(constant)))


def test_pools_constants_by_bytes() -> None:
    mod = added(np.zeros((2, 3), "float32"))
    assert keeps_values(mod, state.pools_constants_by_bytes()(mod), X)
    other = added(np.zeros((6, 1, 1), "float32"))
    after = state.pools_constants_by_bytes()(other)
    assert not relax.analysis.check_well_formed(after) or not equal(after, other)
    same = added(np.zeros((2, 3), "float32"))
    assert equal(state.pools_constants_by_bytes()(same), same)


# Drafts


def acted(name: str, mod: tvm.IRModule) -> tvm.IRModule:
    """The result, which is another module."""
    after = pass_of(name)(copied(mod))
    assert not equal(mod, after), "nothing happened"
    return after


def wrong_with(name: str, mod: tvm.IRModule) -> str | None:
    return problem(Witness(name, None, mod))


def test_the_type_of_a_callee() -> None:
    declared = {}
    for name in ("hoist_final_cast", "hoist_final_cast_fixed"):
        after = acted(name, casting("float64"))
        declared[name] = str(after.get_global_var("f").ty.ret.dtype)
        assert str(after["f"].body.body.ty.dtype) == "float32"
        assert wrong_with(name, casting("float32")) is None
    assert declared == {"hoist_final_cast": "float64", "hoist_final_cast_fixed": "float32"}
    assert wrong_with("hoist_final_cast_fixed", casting("float64")) is None


def parallel_loops(mod: tvm.IRModule) -> int:
    return str(mod).count("T.parallel(")


def test_loops_that_are_reductions() -> None:
    whole, rows = legal(of(op.sum), X), legal(of(lambda x: op.sum(x, [1])), X)
    assert parallel_loops(acted("parallel_outer", whole)) == 1
    assert equal(pass_of("parallel_outer_fixed")(whole), whole)
    for name in ("parallel_outer", "parallel_outer_fixed"):
        assert parallel_loops(acted(name, rows)) == 1
        assert wrong_with(name, rows) is None


# Below Relax


def test_what_one_function_leaves_behind_is_used_for_the_next() -> None:
    name = "remembers_simplified"

    def simplified(func: tirx.PrimFunc, numbers: Any) -> str | None:
        args = (numbers, np.zeros(6, "int32"))
        return problem(Witness(name, None, kernel(func), args, SPECIMENS[name].stages[0]))

    assert simplified(short_quotients, SMALL) is None
    assert simplified(long_quotients, LARGE) == "values"


def test_shared_buffers_are_merged_where_the_pass_of_tvm_runs() -> None:
    """StorageRewrite has moved allocations out of the statements that bind threads."""
    target = tvm.target.Target("cuda", host="llvm")
    scheduled = two_buffers(again=True)["main"].with_attr("tirx.is_scheduled", True)
    bound = tirx.transform.BindTarget(target)(kernel(scheduled))
    mod = advance(bound, Stage.ALLREDUCED)
    after = schedules.merges_shared_buffers()(mod)
    assert [len(shared_buffers(each["main"])) for each in (mod, after)] == [2, 1]
    args = arguments(mod)
    witness = Witness("merges_shared_buffers", "values", mod, args, synchronised=True)
    assert problem(witness) == "values"


@pytest.mark.parametrize("make", [schedules.synchronizes_threads, schedules.merges_shared_buffers])
@pytest.mark.parametrize("func", [threads_swap, one_thread_stores])
def test_a_second_run_changes_nothing(make: Any, func: tirx.PrimFunc) -> None:
    once = make()(kernel(func))
    assert equal(once, make()(once))


# Correct ones


def test_remembers_equal_functions() -> None:
    def doubling(constant: float) -> tvm.IRModule:
        builder = relax.BlockBuilder()
        x = relax.Var("x", F23)
        with builder.function("main", [x]):
            y = builder.emit(relax.op.multiply(x, relax.const(2, "float32")))
            builder.emit_func_output(relax.op.add(y, relax.const(constant, "float32")))
        return builder.get()

    for constant in (1.0, 1.0, 3.0):  # anew, from the cache, and almost from the cache
        mod = doubling(constant)
        after = correct.remembers_equal_functions()(mod)
        assert not calls_of(after, "relax.multiply")
        (before,), (result,) = ([evaluate(m, "main", [X])] for m in (mod, after))
        assert np.array_equal(before, result)
    assert sum(map(len, correct._known.values())) == 2
