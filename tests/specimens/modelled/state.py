"""Passes whose result depends on more than the module."""

from __future__ import annotations

import itertools
import time
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from relaxfuzz.compat import ir
from relaxfuzz.generators.rewrite.nodes import with_functions
from relaxfuzz.oracles.inspect import calls_of, is_public, op_name

from ..specimen import Family, Specimen, of
from .tools import (
    in_public_functions,
    labelled,
    made,
    on_blocks,
    on_calls,
    on_functions,
    simple_body,
    static_tensor,
    writes_in_place,
)

_ELEMENTWISE = tuple(
    f"relax.{name}"
    for name in ("abs", "exp", "negative", "nn.relu", "sigmoid", "sin", "sqrt", "square", "tanh")
)


_number = itertools.count()


def outlines_under_a_running_number() -> tvm.transform.Pass:
    """Elementwise operators become functions of their own, numbered as long as the process runs."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        def name(call: relax.Call) -> str:
            return f"{call.op.name.rpartition('.')[2]}_{next(_number)}"

        builder = relax.BlockBuilder(mod)
        return in_public_functions(mod, builder, name, lambda args: args[:1], *_ELEMENTWISE)

    return made("outlines_under_a_running_number", transform)


def _square(call: relax.Call) -> relax.Expr | None:
    """x * x becomes square(x)."""
    a, b = call.args
    same = a.same_as(b) and bool(tvm_ffi.structural_equal(a.ty, call.ty))
    same = same and str(a.ty.dtype) != "bool"
    return relax.op.square(a) if same else None


def _squares(func: relax.Function) -> relax.Function:
    mod = on_calls(tvm.IRModule({"alone": func}), _square, "relax.multiply")
    return mod["alone"]


_settled: set[int] = set()


def skips_known_addresses() -> tvm.transform.Pass:
    """x * x becomes square(x); functions that had none are known by their address."""

    def change(func: relax.Function) -> relax.Function:
        if hash(func) in _settled:  # the node's address
            return func
        new = _squares(func)
        if new.same_as(func):
            _settled.add(hash(func))
        return new

    return made("skips_known_addresses", lambda mod: on_functions(mod, change))


def visits_each_name_once() -> tvm.transform.Pass:
    """x * x becomes square(x) in each function and the private ones it calls, each done once."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        functions = dict(mod.functions_items())
        for gvar, func in mod.functions_items():
            if isinstance(func, relax.Function) and is_public(func):
                _visit(functions, gvar)
        return with_functions(mod, functions)

    return made("visits_each_name_once", transform)


def _visit(
    functions: dict[tvm.ir.GlobalVar, tvm.ir.BaseFunc],
    gvar: tvm.ir.GlobalVar,
    seen: set[str] = set(),  # noqa: B006  # the fault
) -> None:
    func = functions.get(gvar)
    if gvar.name_hint in seen or not isinstance(func, relax.Function):
        return
    seen.add(gvar.name_hint)
    functions[gvar] = _squares(func)
    for callee in relax.analysis.all_global_vars(func):
        _visit(functions, callee, seen)


def stops_at_a_deadline() -> tvm.transform.Pass:
    """x * x becomes square(x), function by function, for two milliseconds."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        end = time.perf_counter() + 0.002
        return on_functions(mod, lambda func: _squares(func) if time.perf_counter() < end else func)

    return made("stops_at_a_deadline", transform)


def leaves_its_context_behind() -> tvm.transform.Pass:
    """Normalizes and simplifies in a context of its own, which it leaves only if it did some."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        context = tvm.transform.PassContext(opt_level=0)
        context.__enter__()
        normal = relax.transform.Normalize()(mod)
        result = on_calls(normal, _square, "relax.multiply")
        if all(func.same_as(result[gvar]) for gvar, func in normal.functions_items()):
            return mod
        context.__exit__(None, None, None)
        return result

    return made("leaves_its_context_behind", transform, opt_level=1)


def merges_functions_by_hash() -> tvm.transform.Pass:
    """Private functions of one structural hash are one; the hash passes over tensors' data."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        first: dict[int, tvm.ir.GlobalVar] = {}
        twins: dict[tvm.ir.GlobalVar, tvm.ir.GlobalVar] = {}
        for gvar, func in mod.functions_items():
            if isinstance(func, relax.Function) and not is_public(func):
                kept = first.setdefault(_outline(func), gvar)
                if not kept.same_as(gvar):
                    twins[gvar] = kept
        if not twins:
            return mod

        @relax.expr_functor.mutator
        class Redirect(relax.PyExprMutator):  # type: ignore[misc]  # TVM has no types
            def visit_global_var_(self, gvar: tvm.ir.GlobalVar) -> relax.Expr:
                return twins.get(gvar, gvar)

        merged = on_functions(mod, Redirect().visit_expr)
        return with_functions(
            mod, {gvar: func for gvar, func in merged.functions_items() if gvar not in twins}
        )

    return made("merges_functions_by_hash", transform)


def _outline(func: relax.Function) -> int:
    return int(tvm_ffi.structural_hash(func, skip_tensor_content=True))


_Body = tuple[list[relax.Var], relax.Call]
_bodies: dict[str, _Body] = {}


def inlines_by_name() -> tvm.transform.Pass:
    """Calls of private functions of one operator are inlined; what they do is kept by name."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        def body(callee: Any) -> _Body | None:
            found = simple_body(mod, callee)
            if found is None:
                return None
            return _bodies.setdefault(callee.name_hint, (list(mod[callee].params), found))

        return _inlined(mod, list(mod.functions), body)

    return made("inlines_by_name", transform)


def inlines_within_a_budget() -> tvm.transform.Pass:
    """Calls of private functions of one operator are inlined, up to two in a module."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        budget = iter(range(2))

        def body(callee: Any) -> _Body | None:
            found = simple_body(mod, callee)
            if found is None or next(budget, None) is None:
                return None
            return list(mod[callee].params), found

        return _inlined(mod, [gvar for gvar, _ in mod.functions.items()], body)

    return made("inlines_within_a_budget", transform)


def notes_operators_in_any_order() -> tvm.transform.Pass:
    """Each function gets the names of its operators, each of them once, as an attribute."""

    def noted(func: relax.Function) -> relax.Function:
        names = {name for call in calls_of(func) if (name := op_name(call)) is not None}
        return func.with_attr("operators", list(names)) if names else func

    return made("notes_operators_in_any_order", lambda mod: on_functions(mod, noted))


def _inlined(mod: tvm.IRModule, order: list[tvm.ir.GlobalVar], body: Any) -> tvm.IRModule:
    """The module with calls inlined in this order of its functions, where `body` gives some."""
    functions: dict[Any, Any] = dict(mod.functions_items())

    @relax.expr_functor.mutator
    class Inline(relax.PyExprMutator):  # type: ignore[misc]  # TVM has no types
        changed = False

        def visit_call_(self, call: relax.Call) -> relax.Expr:
            call = super().visit_call_(call)
            found = body(call.op)
            if found is None:
                return call
            self.changed = True
            params, inner = found
            values = dict(zip(params, call.args, strict=False))
            args = [values.get(arg, arg) for arg in inner.args]
            return relax.Call(inner.op, args, inner.attrs, inner.ty_args)

    for gvar in order:
        func = functions[gvar]
        if isinstance(func, relax.Function) and not labelled(func):
            mutator = Inline(mod)
            new = mutator.visit_expr(func)
            if mutator.changed:
                functions[gvar] = new
    return with_functions(mod, functions)


def schedules_by_address() -> tvm.transform.Pass:
    """The pure bindings of a dataflow block are put in an order in which each is ready."""

    def rewrite(block: relax.BindingBlock, bindings: list[relax.Binding]) -> list[relax.Binding]:
        plain = all(isinstance(binding, relax.VarBinding) for binding in bindings)
        if not isinstance(block, relax.DataflowBlock) or not plain:
            return bindings
        waiting = {binding.var: binding for binding in bindings}
        needs = {
            var: {used for used in relax.analysis.free_vars(binding.value) if used in waiting}
            for var, binding in waiting.items()
        }
        done: list[relax.Binding] = []
        while waiting:
            ready = {var for var in waiting if not needs[var] & waiting.keys()}
            done.extend(waiting.pop(var) for var in ready)
        return done

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        if writes_in_place(mod):
            return mod
        return on_functions(mod, lambda func: on_blocks(func, rewrite))

    return made("schedules_by_address", transform)


_pool: dict[bytes, ir.GenericConst] = {}


def pools_constants_by_bytes() -> tvm.transform.Pass:
    """Constants of the same bytes become one node, which the next modules get, too."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        def pooled(constant: ir.GenericConst) -> ir.GenericConst:
            if not static_tensor(constant):
                return constant
            return _pool.setdefault(ir.constant_data(constant).numpy().tobytes(), constant)

        def change(call: relax.Call) -> relax.Expr | None:
            args = [pooled(a) if isinstance(a, ir.GenericConst) else a for a in call.args]
            if all(new.same_as(old) for new, old in zip(args, call.args, strict=True)):
                return None
            return relax.Call(call.op, args, call.attrs, call.ty_args)

        return mod if writes_in_place(mod) else on_calls(mod, change)

    return made("pools_constants_by_bytes", transform)


SPECIMENS: tuple[Specimen, ...] = (
    Specimen(
        factory=of(outlines_under_a_running_number),
        family=Family.STATE,
        fault="Numbers the functions that it makes by a counter of the process.",
        source="apache/tvm#14507: [Unity][Refactor] Use NameSupply for unique symbol generation "
        "and remove NameTable",
    ),
    Specimen(
        factory=of(skips_known_addresses),
        family=Family.STATE,
        fault="Leaves a function alone that lies where an earlier one lay that needed nothing.",
        source="apache/tvm#20097: [Fix][Arith] Isolate Z3 contexts and make memoization "
        "deterministic",
        needs=("a function without x * x that is freed", "one with x * x at the same address"),
    ),
    Specimen(
        factory=of(visits_each_name_once),
        family=Family.STATE,
        fault="Which functions were visited is kept in a mutable default argument, by name, beyond "
        "the run.",
        source="apache/tvm#12546: Remove mutable defaults in mlp_model",
    ),
    Specimen(
        factory=of(stops_at_a_deadline),
        family=Family.STATE,
        fault="How many functions it changes depends on how long the first ones took.",
        source="apache/tvm#20097: [Fix][Arith] Isolate Z3 contexts and make memoization "
        "deterministic",
        needs=("x * x in a function", "functions before it that take two milliseconds"),
    ),
    Specimen(
        factory=of(leaves_its_context_behind),
        family=Family.STATE,
        fault="Enters a PassContext of opt_level 0 and stays in it where there was nothing to do.",
        source="apache/tvm#9774: [Bugfix] fix the bug that occurs when the "
        "test_pass_ctx_exception() is tested separately",
    ),
    Specimen(
        factory=of(merges_functions_by_hash),
        family=Family.STATE,
        fault="Takes private functions for equal whose hash is, which leaves out the constants' "
        "data.",
        source="apache/tvm#19801: [Relax] Fix FuseOpsByPattern dropping bound constants on "
        "duplicate-structure functions",
        needs=("two private functions of the same structure", "different constants in them"),
    ),
    Specimen(
        factory=of(inlines_by_name),
        family=Family.STATE,
        fault="Inlines what a function of this name did in an earlier module.",
        source="apache/tvm#18962: [BugFix][Relax] Add structural_equal verification to subroutine "
        "cache lookup",
        needs=("a call of a private function of one operator", "an earlier one of the same name"),
    ),
    Specimen(
        factory=of(inlines_within_a_budget),
        family=Family.STATE,
        fault="The two calls that it inlines are the first in the order in which the functions "
        "stand in the module's map.",
        source="apache/tvm#16020: [Unity] Deterministic Ordering when Iterating "
        "IRModule::functions",
        needs=("three calls of private functions of one operator", "in two functions at least"),
    ),
    Specimen(
        factory=of(notes_operators_in_any_order),
        family=Family.STATE,
        fault="The order of the names is that of a set, and so of the hashes of the process.",
        source="apache/tvm#16020: [Unity] Deterministic Ordering when Iterating "
        "IRModule::functions",
        needs=("a function with two operators",),
    ),
    Specimen(
        factory=of(schedules_by_address),
        family=Family.STATE,
        fault="Orders the bindings that are ready by the addresses of their variables.",
        source="apache/tvm#14417: [Unity] Remove non-deterministic behavior from graph pattern "
        "matching",
    ),
    Specimen(
        factory=of(pools_constants_by_bytes),
        family=Family.STATE,
        fault="Replaces a constant by any earlier one of the same bytes, of whatever shape and "
        "dtype, be it another module's.",
        source="apache/tvm#14675: [Unity] Use custom hash in `BlockBuilder` to avoid hashing large "
        "constants",
        needs=("two constants of the same bytes", "of different shape or dtype"),
    ),
)
