"""ExternFuncs as functions of a module: what stands for code outside of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import Call, GlobalVar, Op

from relaxfuzz.compat.ops import relax_op
from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.source import from_source, same_graph, to_source
from relaxfuzz.generators.stages import Stage
from relaxfuzz.generators.traits import CHANCE, Trait
from relaxfuzz.oracles.errors import Unsupported
from relaxfuzz.oracles.evaluate.evaluator import evaluate
from relaxfuzz.oracles.inspect import nodes

MODULES = 60
X = relax.TensorType((2, 3), "float32")


def outside(mod: tvm.IRModule) -> dict[GlobalVar, relax.ExternFunc]:
    return {g: f for g, f in mod.functions_items() if isinstance(f, relax.ExternFunc)}


def uses(mod: tvm.IRModule) -> list[str]:
    """In what way functions of the module use an ExternFunc of it."""
    known, found = outside(mod), []
    for func in mod.functions.values():
        for call in nodes(func, Call):
            if call.op in known:
                found.append("typed" if known[call.op].ty.params is not None else "opaque")
            elif isinstance(call.op, Op) and call.args and call.args[0] in known:
                found.append(str(call.op.name))
    return found


def made(
    stage: Stage = Stage.RAW, count: int = MODULES, traits: Sequence[Trait] = ()
) -> list[tvm.IRModule]:
    strategy = ir_modules(force=[Trait.EXTERN_FUNCS, *traits], stage=stage)
    return [example(strategy, 3, index) for index in range(count)]


def test_modules_have_them_called_and_not_called() -> None:
    found: Counter[str] = Counter()
    for mod in made(traits=[Trait.IMPURE]):
        relax.analysis.well_formed(mod)
        assert 1 <= len(outside(mod)) <= 2
        found.update(set(uses(mod)) or {"unused"})
    expected = {"typed", "opaque", "relax.call_dps_packed", "relax.call_pure_packed", "unused"}
    assert expected <= set(found)
    assert 0.04 <= CHANCE[Trait.EXTERN_FUNCS] <= 0.08


def test_what_is_called_by_its_type_is_as_pure_as_that() -> None:
    for mod in made(traits=[Trait.IMPURE]):
        for func in (f for f in mod.functions.values() if isinstance(f, relax.Function)):
            impure = [c for c in nodes(func, Call) if c.op in outside(mod) and not c.op.ty.purity]
            assert not (impure and func.is_pure)


def test_json_and_source_keep_them() -> None:
    for mod in made(count=20):
        loaded = tvm.ir.load_json(tvm.ir.save_json(mod))
        assert tvm_ffi.structural_equal(loaded, mod)
        assert tvm_ffi.structural_equal(from_source(to_source(mod)), mod)


def test_source_keeps_types_that_not_all_functions_give() -> None:
    functions = dict(made(count=1)[0].functions_items())
    ty = relax.FuncType([X, X, X], X, True)
    for name in ("first", "second"):
        gvar = GlobalVar(name)
        functions[gvar] = relax.ExternFunc("mine", ty)
        relax.expr._update_type(gvar, functions[gvar].ty)
    functions[GlobalVar("untyped")] = relax.ExternFunc("mine", ty)
    mod = tvm.IRModule(functions)
    assert same_graph(from_source(to_source(mod)), mod) is None


def calling(symbol: str, *, writes: bool) -> tvm.IRModule:
    """A module whose main calls an ExternFunc by its GlobalVar."""
    extern = relax.ExternFunc(symbol)
    gvar = GlobalVar("outside")
    relax.expr._update_type(gvar, extern.ty)
    builder = relax.BlockBuilder()
    x = relax.Var("x", X)
    with builder.function("main", [x], pure=False):
        call = (
            relax_op.call_dps_packed(gvar, (x,), X) if writes else relax.Call(gvar, [x], None, [X])
        )
        builder.emit_func_output(builder.emit(call))
    mod = builder.get()
    mod[gvar] = extern
    return mod


def test_they_are_evaluated_as_an_expression_is() -> None:
    x = np.arange(6, dtype="float32").reshape(2, 3)
    assert (evaluate(calling("vm.builtin.copy", writes=False), "main", [x]) == x).all()
    doubled = evaluate(calling("mine", writes=False), "main", [x], {"mine": lambda x: 2 * x})
    assert (doubled == 2 * x).all()
    with pytest.raises(Unsupported, match=r"packed function external\.copy_to"):
        evaluate(calling("external.copy_to", writes=True), "main", [x])
