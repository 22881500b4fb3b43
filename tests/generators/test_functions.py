"""Functions of special form have what the passes look for that they are made for."""

from __future__ import annotations

from collections.abc import Iterator

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.relax.analysis import tir_vars_in_type
from tvm.relax.transform import MergeCompositeFunctions

from relaxfuzz.compat.ir import GenericConst, constant_data
from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.generators.choices import Choices
from relaxfuzz.generators.functions.attributed import BOUNDS, bounded
from relaxfuzz.generators.functions.called import LAST
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.stages import Stage, advance
from relaxfuzz.oracles.catalogue.memory import STORAGE, WORKSPACE
from relaxfuzz.oracles.catalogue.training import _targets
from relaxfuzz.oracles.inspect import attr, bindings_of, calls_of, relax_functions
from relaxfuzz.oracles.passcall import PassCall

MODULES = 40


def made(
    *traits: str, ops: tuple[str, ...] | None = None, count: int = MODULES
) -> Iterator[tvm.IRModule]:
    strategy = ir_modules(force=traits, only=[], ops=ops)
    return (example(strategy, 3, index) for index in range(count))


def test_losses_are_differentiable_and_of_many_forms() -> None:
    losses = [mod["loss"] for mod in made("differentiable", "tuples")]
    assert sum(bool(_targets(loss)) for loss in losses) > 0.9 * MODULES
    kinds = [type(binding.value) for loss in losses for binding in bindings_of(loss)]
    assert kinds.count(relax.Tuple) >= 5
    assert kinds.count(relax.TupleGetItem) >= 10
    results = [loss.body.body for loss in losses]
    assert any(isinstance(result, relax.Tuple) for result in results)
    params = [param.ty for loss in losses for param in loss.params]
    assert any(isinstance(ty, relax.TupleType) for ty in params)


def test_functions_return_all_that_nothing_else_uses() -> None:
    local = 0
    for mod in made("all-returned", "match-cast", "tuples", ops=("add", "split", "exp")):
        for _, func in relax_functions(mod):
            bound = [binding.var for binding in bindings_of(func)]
            used = {v for b in bindings_of(func) for v in relax.analysis.free_vars(b.value)}
            unused = [v for v in bound if isinstance(v, relax.DataflowVar) and v not in used]
            assert not unused, mod
            local += sum(isinstance(var, relax.DataflowVar) for var in bound)
    assert local > MODULES  # what is used stays within its block


def test_calls_of_composite_functions_are_merged() -> None:
    sizes: list[int] = []
    for mod in made("composite", count=4 * MODULES):
        try:
            merged = MergeCompositeFunctions()(mod)
        except tvm.error.InternalError:  # a known bug, of other functions than main
            continue
        sizes += [
            sum(isinstance(b.value, relax.Function) for b in bindings_of(func))
            for _, func in relax_functions(merged)
            if attr(func, "Codegen")
        ]
    assert 1 in sizes
    assert max(sizes) >= 3


def test_bounds_are_of_variables_in_the_signature_and_plan_memory() -> None:
    planned = 0
    for mod in made("bounded-dims", ops=("add", "matmul", "nn.relu")):
        for _, func in relax_functions(mod):
            names = {var.name for p in func.params for var in tir_vars_in_type(p.ty)}
            bounds = attr(func, "tir_var_upper_bound")
            assert names.issuperset(bounds or ())
        static = advance(mod, Stage.PLANNED)
        sizes = [dim for call in calls_of(static, STORAGE) for dim in call.args[0].values]
        planned += any(isinstance(dim, tirx.IntImm) and int(dim) >= BOUNDS[-1] for dim in sizes)
    assert planned > 5


def test_bounds_keep_tensors_small_that_have_many_symbolic_dimensions() -> None:
    n = tirx.Var("n", "int64")
    for rank, bound in ((1, 128), (6, 8)):
        x = relax.Var("x", relax.TensorType([n] * rank, "float32"))
        func = relax.Function([x], relax.SeqExpr([], x), x.ty)
        made = [bounded(Choices(bytes([byte])), func) for byte in range(64)]
        bounds = {int(found["n"]) for f in made if (found := attr(f, "tir_var_upper_bound"))}
        assert bounds == {bound}


def test_calls_of_a_function_agree_on_constants_or_not() -> None:
    """Somewhere in the module: in another function, in a branch, in the function itself."""
    agree = differ = 0
    for mod in made("function-calls", "helpers", "recursion", "constants", "if", count=150):
        given: dict[str, list[relax.Expr]] = {}
        for _, func in relax_functions(mod):
            for call in calls_of(func):
                if isinstance(call.op, tvm.ir.GlobalVar) and call.args:
                    given.setdefault(call.op.name_hint, []).append(call.args[-1])
        for args in given.values():
            if len(args) > 1 and isinstance(args[0], GenericConst):
                equal = [bool(tvm_ffi.structural_equal(args[0], arg)) for arg in args]
                agree += all(equal)
                differ += not all(equal)
    assert agree >= 5
    assert differ >= 5


def test_most_recursion_with_constants_recurs() -> None:
    counts = [
        int(constant_data(call.args[0]).numpy())
        for mod in made("function-calls", "recursion", "constants", count=150)
        for call in calls_of(mod)
        if isinstance(call.op, tvm.ir.GlobalVar) and call.op.name_hint.startswith("loop")
        if isinstance(call.args[0], GenericConst)
    ]
    assert sum(count > LAST for count in counts) > 0.6 * len(counts) > 0


def test_functions_of_backends_may_need_a_workspace() -> None:
    modules = list(made("codegen", "function-calls"))
    asking = [
        mod
        for mod in modules
        if any(attr(func, WORKSPACE) is not None for _, func in relax_functions(mod))
    ]
    assert MODULES / 5 < len(asking) < MODULES * 4 / 5
    changed = [PassCall("AllocateWorkspace()").run(mod) for mod in called(asking)]
    assert changed
    assert any(
        isinstance(param.ty, relax.TensorType) and param.name == "workspace"
        for mod in changed
        for _, func in relax_functions(mod)
        for param in func.params
    )


def called(modules: list[tvm.IRModule]) -> Iterator[tvm.IRModule]:
    """Those that AllocateWorkspace takes: with a dataflow block around every call."""
    for mod in modules:
        try:
            PassCall("AllocateWorkspace()").run(mod)
        except tvm.error.InternalError:
            continue
        yield mod


def test_casts_are_often_to_dtypes_that_a_pass_names() -> None:
    strategy = ir_modules(only=[], ops=["astype"], dtypes=["int8", "int64"])
    mods = [example(strategy, 3, index) for index in range(MODULES)]
    to = [str(call.ty.dtype) for mod in mods for call in calls_of(mod, "relax.astype")]
    assert sum(dtype in ("int8", "int64") for dtype in to) > 0.5 * len(to) > 20
