"""Contracts of the passes that tidy a module up without changing what it computes."""

from __future__ import annotations

import itertools

import tvm
import tvm_ffi
from tvm import relax, tirx

from ...generators.choices import Choices
from ...generators.rewrite.dims import Resized
from ...generators.rewrite.nodes import reachable, references
from ...generators.rewrite.rewriter import CannotRewrite
from ..contract import PassContract, Rejection
from ..inspect import bindings_of, blocks_of, calls_of, is_public, nodes, relax_functions
from ..pass_arguments import argument
from ..passcall import PassCall
from ..text import messages
from .common import (
    PURE,
    for_all_operators,
    kind,
    named_functions,
    one_of,
    spelled,
    without_dataflow,
)


def _canonical(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: uses of an alias are replaced; redundant checks and tuple indices are removed."""
    for _, func in relax_functions(after):
        bindings = bindings_of(func)
        values = {binding.var: binding.value for binding in bindings}
        for binding in bindings:
            var, value = binding.var, binding.value
            if isinstance(binding, relax.MatchCast):
                if isinstance(value, relax.Var) and tvm_ffi.structural_equal(var.ty, value.ty):
                    return "a match_cast of a variable to the type that it has anyway is left"
            elif isinstance(value, relax.Var):
                exported = isinstance(value, relax.DataflowVar) and not isinstance(
                    var, relax.DataflowVar
                )
                if not exported and _used(func, var):
                    return "a use of an alias of a variable is left"
            elif (
                isinstance(value, relax.TupleGetItem)
                and isinstance(known := values.get(value.tuple_value), relax.Tuple)
                # Only a variable may replace uses of the binding, whatever the binding binds.
                and isinstance(known.fields[value.index], relax.Var)
                and _used(func, var)
            ):
                return "a use of a TupleGetItem of a Tuple bound in the same function is left"
    return None


def _used(func: relax.Function, var: relax.Var) -> bool:
    return any(
        var in relax.analysis.free_vars(expr)
        for seq in nodes(func, relax.SeqExpr)
        for expr in (seq.body, *(b.value for block in seq.blocks for b in block.bindings))
    )


def _dead_code_elimination(c: Choices, mod: tvm.IRModule) -> PassCall:
    entries = c.subset([name for name, _ in named_functions(mod)], 0.25)
    return PassCall(spelled("DeadCodeElimination", entry_functions=entries or None))


def _no_dead_code(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: unused VarBindings without impure operation and unreached functions go."""
    for _, func in relax_functions(after):
        if any(map(_has_unused, nodes(func, relax.SeqExpr))):
            return "an unused pure binding is left"
    functions = {gvar.name_hint: func for gvar, func in after.functions_items()}
    entries = argument(call, "entry_functions", 0) or []
    if not functions.keys() >= set(entries):
        return "an entry function was removed"
    roots = (n for n, f in functions.items() if is_public(f) or isinstance(f, relax.ExternFunc))
    used = {name: references(func) for name, func in functions.items()}
    dead = sorted(functions.keys() - reachable(used, [*entries, *roots]))
    return f"an unreachable {type(functions[dead[0]]).__name__} is left" if dead else None


def _has_unused(seq: relax.SeqExpr) -> bool:
    bindings = [binding for block in seq.blocks for binding in block.bindings]
    used = set(relax.analysis.free_vars(seq.body))
    for binding in bindings:
        used.update(relax.analysis.free_vars(binding.value))
    return any(
        isinstance(binding, relax.VarBinding)
        and binding.var not in used
        # A primitive value may be used in a type.
        and not isinstance(binding.var.ty, tvm.ir.PrimType)
        and not relax.analysis.contains_impure_call(binding.value)
        for binding in bindings
    )


def _no_common_calls(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: common subexpressions within functions are eliminated (looked at by block)."""
    for block in (block for _, func in relax_functions(after) for block in blocks_of(func)):
        seen: dict[int, list[relax.Expr]] = {}
        for binding in block.bindings:
            value = binding.value
            if isinstance(binding, relax.VarBinding) and _may_be_common(value):
                twins = seen.setdefault(tvm_ffi.structural_hash(value), [])
                if any(tvm_ffi.structural_equal(value, twin) for twin in twins):
                    return f"two equal bindings of {kind(value)} are left in one block"
                twins.append(value)
    return None


def _may_be_common(value: relax.Expr) -> bool:
    """True for a pure call; two allocations are two buffers, however equal they look."""
    return (
        isinstance(value, relax.Call)
        and not (isinstance(value.op, tvm.ir.Op) and value.op.get_attr("TAllocator"))
        and not relax.analysis.contains_impure_call(value)
    )


def _converted(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: min_size consecutive dataflow bindings of a binding block become a new block."""
    limit = argument(call, "min_size", 0) or 2
    for block in (block for _, func in relax_functions(after) for block in blocks_of(func)):
        if not isinstance(block, relax.DataflowBlock) and _longest_run(block) >= limit:
            return "consecutive dataflow bindings are left outside a dataflow block"
    return None


def _longest_run(block: relax.BindingBlock) -> int:
    longest = run = 0
    for binding in block.bindings:
        value = binding.value
        pure = not isinstance(value, relax.If) and not relax.analysis.contains_impure_call(value)
        run = run + 1 if pure else 0
        longest = max(longest, run)
    return longest


def _topological_sort(c: Choices, mod: tvm.IRModule) -> PassCall:
    order = c.pick(["depth-first", "breadth-first"])
    direction = c.pick(["from-inputs", "from-outputs"])
    return PassCall(spelled("TopologicalSort", order=order, direction=direction))


def _only_sorted(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: bindings of dataflow blocks are sorted, so none appears, vanishes or moves out."""
    results = dict(named_functions(after))
    for name, func in named_functions(before):
        old, new = _blocks(func), _blocks(results[name])
        if [block for block, _ in old] != [block for block, _ in new]:
            return "the blocks of a function changed"
        for (block, a), (_, b) in zip(old, new, strict=True):
            if a != b:
                return f"a {block.__name__} has not the bindings it had"
    return None


def _blocks(func: relax.Function) -> list[tuple[type, list[str]]]:
    """The kind of each block and of its bindings, sorted.

    Neighbours of one kind count as one block: any pass that rewrites a function joins them, as
    the BlockBuilder normalizes a SeqExpr.
    """
    return [
        (block, sorted(kind(each.value) for one in blocks for each in one.bindings))
        for body in nodes(func, relax.SeqExpr)
        for block, blocks in itertools.groupby(body.blocks, type)
    ]


def _casts_contradict(error: Exception, mod: tvm.IRModule) -> bool:
    """True if type inference still fails in the same way once match_casts fix the dimensions.

    Then the module fails with any arguments.
    """
    numbers: dict[str, int] = {}
    for cast in bindings_of(mod):
        if isinstance(cast, relax.MatchCast):
            shapes = [getattr(ty, "shape", None) for ty in (cast.ty, cast.value.ty)]
            dims = [getattr(shape, "values", ()) for shape in shapes]
            for dim, number in zip(*dims, strict=False):
                if isinstance(dim, tvm.ir.Var) and isinstance(number, tirx.IntImm):
                    numbers.setdefault(str(dim.name), int(number))
    try:
        Resized(mod, symbols=numbers).rewritten()
    except CannotRewrite as found:
        return messages.headline(str(found)) == messages.headline(messages.text_of(error))
    return False


def _views_by_variables(error: Exception, mod: tvm.IRModule) -> bool:
    """True if a variable gives the dtype, the shape or the offset of a view.

    Type inference has compared all other views with their tensors.
    """
    views = calls_of(mod, "relax.memory.view")
    return any(isinstance(arg, relax.Var) for view in views for arg in view.args[1:])


CONTRACTS: tuple[PassContract, ...] = (
    for_all_operators(
        name="CanonicalizeBindings",
        stages=PURE,
        post=_canonical,
        rejections=(
            Rejection(
                r"\A(?!Check failed)",
                "type inference says which operands of an operator do not fit, and docstring: "
                "match casts are simplified",
                function=r"relax::Infer",
                when=_casts_contradict,
                outside=True,
            ),
            Rejection(
                r"Views into an array must not exceed the bounds",
                "type inference names the view and both sizes; while its dtype was a variable, it "
                "could not compare them",
                function=r"relax::InferTypeView",
                when=_views_by_variables,
                outside=True,
            ),
        ),
    ),
    for_all_operators(
        name="DeadCodeElimination",
        variants=_dead_code_elimination,
        stages=PURE,
        post=_no_dead_code,
    ),
    for_all_operators(
        name="EliminateCommonSubexpr",
        variants=one_of("EliminateCommonSubexpr()", "EliminateCommonSubexpr(call_only=True)"),
        stages=PURE,
        post=_no_common_calls,
    ),
    for_all_operators(
        name="ConvertToDataflow",
        variants=one_of(
            "ConvertToDataflow()",
            "ConvertToDataflow(min_size=1)",
            "ConvertToDataflow(min_size=3)",
        ),
        stages=PURE,
        post=_converted,
        inside=("CanonicalizeBindings",),
    ),
    for_all_operators(
        name="TopologicalSort",
        variants=_topological_sort,
        stages=PURE,
        requires=without_dataflow,
        post=_only_sorted,
    ),
)
