"""Correct passes that look as if they had a fault.

Those that make one value out of two leave modules alone that write into operands: there it matters
who shares memory with whom.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax

from relaxfuzz.compat import ir
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.generators.rewrite.nodes import with_functions, with_parts, with_type
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.inspect import (
    bindings_of,
    global_vars,
    is_public,
    nodes,
    op_name,
    prim_funcs,
    relax_functions,
)
from relaxfuzz.oracles.keys import OPAQUE

from ..specimen import Family, Specimen, of
from .tools import (
    Change,
    in_public_functions,
    labelled,
    made,
    on_blocks,
    on_calls,
    on_functions,
    static_tensor,
    writes_in_place,
)


def _on_values(mod: tvm.IRModule, change: Change, *ops: str) -> tvm.IRModule:
    """`on_calls`, but for what belongs to a library, and where memory may be shared."""
    if writes_in_place(mod):
        return mod
    mine = {gvar: func for gvar, func in relax_functions(mod) if not labelled(func)}
    changed = on_calls(with_functions(mod, mine), change, *ops)
    return with_functions(mod, dict(mod.functions_items()) | dict(changed.functions_items()))


def _same_type(a: relax.Expr, b: relax.Expr) -> bool:
    return bool(tvm_ffi.structural_equal(a.ty, b.ty))


def _number(expr: relax.Expr) -> np.generic | None:
    """The scalar that a constant of no dimension holds."""
    data = ir.constant_data(expr) if isinstance(expr, ir.GenericConst) else None
    if not isinstance(data, tvm.runtime.Tensor) or data.shape:
        return None
    value: np.generic = data.numpy()[()]
    return value


def _dtype(expr: relax.Expr) -> str:
    """The dtype of a tensor of known dtype, else the empty text."""
    ty = expr.ty
    return str(ty.dtype) if isinstance(ty, relax.TensorType) and ty.dtype is not None else ""


def _doubled(call: relax.Call) -> relax.Expr | None:
    x, factor = call.args
    if not _same_type(x, call) or _dtype(x) in ("", "bool") or _dtype(factor) != _dtype(x):
        return None
    number = _number(factor)
    return relax.op.add(x, x) if number is not None and number == 2 else None


def doubles_by_addition() -> tvm.transform.Pass:
    """x * 2 becomes x + x, in any dtype."""
    return made("doubles_by_addition", lambda mod: _on_values(mod, _doubled, "relax.multiply"))


def drops_exact_identities() -> tvm.transform.Pass:
    """x * 1, x / 1 and x - 0 of floats become x: NaNs, infinities and both zeros stay."""

    def change(call: relax.Call) -> relax.Expr | None:
        x, number = call.args[0], _number(call.args[1])
        if number is None or _dtype(x) not in ("float32", "float64") or not _same_type(x, call):
            return None
        if _dtype(call.args[1]) != _dtype(x):
            return None
        if op_name(call) == "relax.subtract":
            # x - (-0) is x + 0, which makes 0 of -0.
            return x if number == 0 and not np.signbit(number) else None
        return x if number == 1 else None

    ops = ("relax.multiply", "relax.divide", "relax.subtract")
    return made("drops_exact_identities", lambda mod: _on_values(mod, change, *ops))


Pair = Callable[[relax.Call, relax.Call], relax.Expr | None]


def _on_pairs(mod: tvm.IRModule, op: str, change: Pair, most: int | None = None) -> tvm.IRModule:
    """Calls of an operator on the result of the same operator become the result of `change`.

    Args:
        most: so many of them, at most.
    """
    left = itertools.count() if most is None else iter(range(most))

    @relax.expr_functor.mutator
    class Mutator(relax.PyExprMutator):  # type: ignore[misc]  # TVM has no types
        changed = False

        def visit_call_(self, call: relax.Call) -> relax.Expr:
            call = super().visit_call_(call)
            if op_name(call) != op or not isinstance(call.args[0], relax.Var):
                return call
            inner = self.lookup_binding(call.args[0])
            if op_name(inner) != op:
                return call
            # What is computed inside of a dataflow block may be out of sight behind it.
            hidden = isinstance(inner.args[0], relax.DataflowVar)
            if hidden and not isinstance(call.args[0], relax.DataflowVar):
                return call
            new = change(inner, call)
            if new is None or next(left, None) is None:
                return call
            self.changed = True
            return new

    if writes_in_place(mod):
        return mod
    functions: dict[Any, Any] = dict(mod.functions_items())
    for gvar, func in relax_functions(mod):
        if not labelled(func):
            mutator = Mutator(mod)
            new = mutator.visit_expr(func)
            if mutator.changed:
                functions[gvar] = new
    return with_functions(mod, functions)


def cancels_negations_slowly() -> tvm.transform.Pass:
    """-(-x) becomes x, one in a sweep; a dozen sweeps more make sure that none is left."""

    def change(inner: relax.Call, outer: relax.Call) -> relax.Expr | None:
        x = inner.args[0]
        exact = _dtype(x) not in ("", "bool") and _same_type(x, outer) and _same_type(x, inner)
        return x if exact else None

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        idle = 0
        while idle < 12:
            new = _on_pairs(mod, "relax.negative", change, most=1)
            idle += all(func.same_as(new[gvar]) for gvar, func in mod.functions_items())
            mod = new
        return mod

    return made("cancels_negations_slowly", transform)


def reassociates_integers() -> tvm.transform.Pass:
    """(x + 3) + 4 becomes x + 7, for integers, where no sum overflows that did not before."""

    def change(inner: relax.Call, outer: relax.Call) -> relax.Expr | None:
        x, dtype = inner.args[0], _dtype(outer)
        first, second = _number(inner.args[1]), _number(outer.args[1])
        if dtype not in ("int32", "int64") or first is None or second is None:
            return None
        if not (_same_type(x, outer) and _same_type(x, inner)):
            return None
        if _dtype(inner.args[1]) != dtype or _dtype(outer.args[1]) != dtype:
            return None
        total = int(first) + int(second)
        one_way = (int(first) >= 0) == (int(second) >= 0)
        if not one_way or not np.iinfo(dtype).min <= total <= np.iinfo(dtype).max:
            return None
        return relax.op.add(x, relax.const(total, dtype))

    return made("reassociates_integers", lambda mod: _on_pairs(mod, "relax.add", change))


def outlines_elementwise() -> tvm.transform.Pass:
    """Elementwise operators of public functions become private functions of their own."""
    ops = ("abs", "ceil", "cos", "exp", "floor", "negative", "nn.relu", "sin", "square", "tanh")

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        builder = relax.BlockBuilder(mod)
        names = (f"outlined_{i}" for i in itertools.count())
        return in_public_functions(
            mod,
            builder,
            lambda call: next(names),
            lambda args: args[:1],
            *(f"relax.{op}" for op in ops),
        )

    return made("outlines_elementwise", transform)


def merges_private_functions() -> tvm.transform.Pass:
    """Equal private Relax functions become one, and all of them get new names."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        fixed = {gvar.name_hint for _, func in prim_funcs(mod) for gvar in global_vars(func)}
        new: dict[tvm.ir.GlobalVar, tvm.ir.GlobalVar] = {}
        first: list[tuple[relax.Function, tvm.ir.GlobalVar]] = []
        taken = {gvar.name_hint for gvar in mod.functions}
        names = (name for i in itertools.count() if (name := f"merged_{i}") not in taken)
        for gvar, func in relax_functions(mod):
            if is_public(func) or gvar.name_hint in fixed:
                continue
            twin = next((g for f, g in first if tvm_ffi.structural_equal(f, func)), None)
            if twin is None:
                twin = with_type(tvm.ir.GlobalVar(next(names)), gvar.ty)
                first.append((func, twin))
            new[gvar] = twin
        return _renamed(mod, new) if new else mod

    return made("merges_private_functions", transform)


def _renamed(mod: tvm.IRModule, new: dict[tvm.ir.GlobalVar, tvm.ir.GlobalVar]) -> tvm.IRModule:
    @relax.expr_functor.mutator
    class Rename(relax.PyExprMutator):  # type: ignore[misc]  # TVM has no types
        def visit_global_var_(self, gvar: tvm.ir.GlobalVar) -> relax.Expr:
            return new.get(gvar, gvar)

    functions: dict[Any, Any] = {}
    for gvar, func in mod.functions_items():
        mentions = isinstance(func, relax.Function) and any(g in new for g in global_vars(func))
        functions.setdefault(new.get(gvar, gvar), Rename().visit_expr(func) if mentions else func)
    return with_functions(mod, functions)


def rebuilds_every_node() -> tvm.transform.Pass:
    """The result shares no node with the input."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        # Compiled modules cannot be saved.
        compiled = mod.get_attr(OPAQUE)
        plain = mod if compiled is None else mod.without_attr(OPAQUE)
        copy = load_json(save_json(plain))
        return copy if compiled is None else copy.with_attr(OPAQUE, compiled)

    return made("rebuilds_every_node", transform)


def _variables(binding: relax.Binding) -> list[relax.Var]:
    """What the value uses, and the type: a shape may be a variable."""
    return nodes(binding.value, relax.Var) + nodes(binding.var.ty, relax.Var)


def _by_depth(block: relax.BindingBlock, bindings: list[relax.Binding]) -> list[relax.Binding]:
    """Those first that need none of the others; where it makes no difference, the order stays."""
    plain = all(isinstance(binding, relax.VarBinding) for binding in bindings)
    if not isinstance(block, relax.DataflowBlock) or not plain:
        return bindings
    depth: dict[relax.Var, int] = {}
    for binding in bindings:
        used = [var for var in _variables(binding) if var in depth]
        depth[binding.var] = 1 + max((depth[var] for var in used), default=0)
    return sorted(bindings, key=lambda binding: depth[binding.var])


def orders_by_depth() -> tvm.transform.Pass:
    """The bindings of dataflow blocks are sorted by what they need."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        if writes_in_place(mod):
            return mod
        return on_functions(
            mod, lambda func: func if labelled(func) else on_blocks(func, _by_depth)
        )

    return made("orders_by_depth", transform)


def orders_in_much_memory() -> tvm.transform.Pass:
    """The same with a table of 64 MB, of which nothing is left."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        table = np.zeros((8192, 8192), bool)
        table.fill(True)
        result: tvm.IRModule = orders_by_depth()(mod)
        assert table.all()
        return result

    return made("orders_in_much_memory", transform)


def checks_its_parameters() -> tvm.transform.Pass:
    """Parameters of known type are cast to that very type at the beginning of a function."""

    def change(func: relax.Function) -> relax.Function:
        if labelled(func):
            return func
        cast = {
            binding.value
            for binding in bindings_of(func)
            if isinstance(binding, relax.MatchCast) and isinstance(binding.value, relax.Var)
        }
        casts = [
            relax.MatchCast(relax.Var(f"{param.name}_checked", param.ty), param, param.ty)
            for param in func.params
            if param not in cast and _dtype(param) and isinstance(param.ty.shape, relax.ShapeExpr)
        ]
        if not casts:
            return func
        blocks = list(func.body.blocks)
        if blocks and not isinstance(blocks[0], relax.DataflowBlock):
            casts += blocks.pop(0).bindings  # such blocks side by side are one in TVMScript
        body = relax.SeqExpr([relax.BindingBlock(casts), *blocks], func.body.body)
        return with_parts(func, body=with_type(body, func.body.ty))

    return made("checks_its_parameters", lambda mod: on_functions(mod, change))


def _alive(block: relax.BindingBlock, bindings: list[relax.Binding]) -> list[relax.Binding]:
    """The bindings of a dataflow block that something needs."""
    if not isinstance(block, relax.DataflowBlock):
        return bindings
    used: set[relax.Var] = set()
    alive: list[relax.Binding] = []
    for binding in reversed(bindings):
        local = isinstance(binding, relax.VarBinding) and isinstance(binding.var, relax.DataflowVar)
        if not local or binding.var in used:
            alive.append(binding)
            used.update(_variables(binding))
    return alive[::-1]


def drops_dead_dataflow() -> tvm.transform.Pass:
    """Variables of dataflow blocks that nothing uses are not computed."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        if writes_in_place(mod):
            return mod
        return on_functions(mod, lambda func: func if labelled(func) else on_blocks(func, _alive))

    return made("drops_dead_dataflow", transform)


def shares_equal_constants() -> tvm.transform.Pass:
    """Operands of the same type and bytes become one node in the module."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        known: dict[tuple[int, bytes], list[ir.GenericConst]] = {}

        def shared(arg: relax.Expr) -> relax.Expr:
            if not isinstance(arg, ir.GenericConst) or not static_tensor(arg):
                return arg
            key = tvm_ffi.structural_hash(arg.ty), ir.constant_data(arg).numpy().tobytes()
            alike = known.setdefault(key, [])
            for other in alike:
                if _same_type(arg, other):
                    return other
            alike.append(arg)
            return arg

        def change(call: relax.Call) -> relax.Expr | None:
            args = list(map(shared, call.args))
            if all(new.same_as(old) for new, old in zip(args, call.args, strict=True)):
                return None
            return relax.Call(call.op, args, call.attrs, call.ty_args)

        return _on_values(mod, change)

    return made("shares_equal_constants", transform)


def copies_shape_nodes() -> tvm.transform.Pass:
    """No two calls have the same ShapeExpr node for an operand."""

    def change(call: relax.Call) -> relax.Expr | None:
        if not any(isinstance(arg, relax.ShapeExpr) for arg in call.args):
            return None
        args = [
            relax.ShapeExpr(list(arg.values)) if isinstance(arg, relax.ShapeExpr) else arg
            for arg in call.args
        ]
        return relax.Call(call.op, args, call.attrs, call.ty_args)

    return made("copies_shape_nodes", lambda mod: _on_values(mod, change))


_MOST = 64
_known: dict[int, list[tuple[relax.Function, relax.Function]]] = {}


def remembers_equal_functions() -> tvm.transform.Pass:
    """x * 2 becomes x + x; what became of a function is kept for equal ones in later modules."""

    def change(func: relax.Function) -> relax.Function:
        if labelled(func) or global_vars(func) or relax.analysis.defined_symbolic_vars(func):
            return func
        key = int(tvm_ffi.structural_hash(func))
        for before, after in _known.get(key, ()):
            if tvm_ffi.structural_equal(before, func):
                # Each variable is bound once, in whatever modules the function comes to stand.
                return relax.utils.copy_with_new_vars(after)
        new = _on_values(tvm.IRModule({"alone": func}), _doubled, "relax.multiply")["alone"]
        if new.same_as(func):
            return func
        if len(_known) >= _MOST:
            _known.clear()
        _known.setdefault(key, []).append((func, new))
        return relax.utils.copy_with_new_vars(new)

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        # Types name the virtual devices of one module.
        return mod if "vdevice" in mod.global_infos else on_functions(mod, change)

    return made("remembers_equal_functions", transform)


_EARLY = (Stage.RAW, Stage.LEGALIZED)

SPECIMENS: tuple[Specimen, ...] = (
    Specimen(
        factory=of(doubles_by_addition),
        family=Family.CORRECT,
        fault="Replaces an operator by another; both are exact and wrap or overflow alike.",
        source="strength reduction, as tirx.transform.StmtSimplify does it in kernels",
    ),
    Specimen(
        factory=of(drops_exact_identities),
        family=Family.CORRECT,
        fault="Removes arithmetic of floats, so that a result may be a parameter itself.",
        source="relax.transform.RemoveRedundantReshape: what changes nothing becomes an alias",
    ),
    Specimen(
        factory=of(cancels_negations_slowly),
        family=Family.CORRECT,
        fault="Sweeps over the module more than a dozen times, like one that does not end.",
        source="relax.dpl.rewrite_call: a pattern is applied until it matches nothing",
    ),
    Specimen(
        factory=of(reassociates_integers),
        family=Family.CORRECT,
        fault="Reassociates additions, which is wrong for floats and right for integers.",
        source="relax.transform.AdjustMatmulOrder: products are reassociated",
    ),
    Specimen(
        factory=of(outlines_elementwise),
        family=Family.CORRECT,
        fault="Adds private functions, whose names follow from the order of the calls.",
        source="relax.transform.FuseOps: groups of operators become private functions",
    ),
    Specimen(
        factory=of(merges_private_functions),
        family=Family.CORRECT,
        fault="Renames private functions, and equal ones disappear.",
        source="relax.BlockBuilder.add_func: an equal function is not added again",
        stages=(*_EARLY, Stage.FUSED),
    ),
    Specimen(
        factory=of(rebuilds_every_node),
        family=Family.CORRECT,
        fault="Gives back a copy of which no node is the input's, nodes without change included.",
        source="tvm.ir.load_json(tvm.ir.save_json(mod))",
        stages=(*_EARLY, Stage.FUSED, Stage.REWRITTEN, Stage.LOWERED),
    ),
    Specimen(
        factory=of(orders_by_depth),
        family=Family.CORRECT,
        fault="Puts independent bindings into another order.",
        source="relax.transform.TopologicalSort",
        stages=_EARLY,
    ),
    Specimen(
        factory=of(orders_in_much_memory),
        family=Family.CORRECT,
        fault="Takes 64 MB while it runs, like one that leaks.",
        source="relax.transform.StaticPlanBlockMemory: tables that live as long as the pass runs",
    ),
    Specimen(
        factory=of(checks_its_parameters),
        family=Family.CORRECT,
        fault="Adds a match_cast for each parameter, which always holds.",
        source="relax.transform.VMShapeLower: parameters are checked at the entry of a function",
        stages=_EARLY,
    ),
    Specimen(
        factory=of(drops_dead_dataflow),
        family=Family.CORRECT,
        fault="Removes calls of operators.",
        source="relax.transform.DeadCodeElimination",
        stages=_EARLY,
    ),
    Specimen(
        factory=of(shares_equal_constants),
        family=Family.CORRECT,
        fault="Lets calls share a constant, as one does that confuses constants.",
        source="relax.BlockBuilder.add_func: equality of functions comprises constants' data",
    ),
    Specimen(
        factory=of(copies_shape_nodes),
        family=Family.CORRECT,
        fault="Unshares ShapeExpr nodes: the result is equal and made of other nodes.",
        source="relax.transform.Normalize: operands may be built again",
        stages=_EARLY,
    ),
    Specimen(
        factory=of(remembers_equal_functions),
        family=Family.CORRECT,
        fault="Keeps results from module to module, in a cache that compares whole functions.",
        source="relax.BlockBuilder: a map of functions by structural hash and equality",
    ),
)
