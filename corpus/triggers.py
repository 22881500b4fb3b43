"""Triggers of known bugs: predicates that are true for the modules on which a known bug shows.

A campaign runs the pass on these modules only now and then, so that it reaches the bugs behind the
known one, and makes some modules without what triggers it. A trigger has to be fast. It may be true
for modules on which the bug does not show, but should be false for hardly any on which it does.
Most bugs need none: a campaign learns what their modules have in common (`features`). A written one
serves from the first block on, and where several bugs share a key or no feature tells. Where a key
has no message of TVM, it tells which modules of PrimFuncs show the bug (`fuzz.findings.recognize`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax, tirx
from tvm.ir import PrimType

from ..compat import ir
from ..generators.ops import table
from ..generators.traits import Trait
from ..oracles.inspect import (
    attr,
    bindings_of,
    blocks_of,
    calls_of,
    local_functions,
    nodes,
    op_name,
    prim_funcs,
    relax_functions,
)


@dataclass(frozen=True, slots=True)
class Trigger:
    """A predicate on modules, and the traits of modules for which it is false more often."""

    holds: Callable[[tvm.IRModule], bool]
    without: tuple[Trait, ...] = ()
    """Switched off, they leave fewer modules for which it holds."""
    forced: tuple[Trait, ...] = ()
    """The same of traits that all modules are given."""

    def __call__(self, mod: tvm.IRModule) -> bool:
        return self.holds(mod)

    @property
    def name(self) -> str:
        """As a record gives it in its field `trigger`."""
        return self.holds.__name__


def more_than_main(mod: tvm.IRModule) -> bool:
    """A function other than main is not primitive, or there is no main."""
    names = {gvar.name_hint for gvar, func in relax_functions(mod) if not attr(func, "Primitive")}
    return names != {"main"}


def has_branches_or_packed_calls(mod: tvm.IRModule) -> bool:
    """An If, or an external function, called by its name or as an argument of call_dps_packed."""
    return bool(nodes(mod, relax.ExternFunc)) or bool(nodes(mod, relax.If))


def casts_by_match(mod: tvm.IRModule) -> bool:
    """A match_cast is somewhere."""
    return bool(nodes(mod, relax.MatchCast))


def calls_no_operator(mod: tvm.IRModule) -> bool:
    """A function is called that is no operator: of the module, local, or external."""
    return any(op_name(call) is None for call in calls_of(mod))


def computes_with_numbers(mod: tvm.IRModule) -> bool:
    """A number is an operand of elementwise arithmetic."""
    return any(
        isinstance(arg.ty, PrimType)
        for call in calls_of(mod)
        if (op := table.get((op_name(call) or "").removeprefix("relax."))) is not None
        and op.numbers
        for arg in call.args
    )


def calls_a_function(mod: tvm.IRModule) -> bool:
    """A Relax function of the module is called by another."""
    functions = {gvar for gvar, _ in relax_functions(mod)}
    return any(
        isinstance(call.op, relax.GlobalVar) and call.op in functions for call in calls_of(mod)
    )


def has_local_functions(mod: tvm.IRModule) -> bool:
    """A function is bound inside of another."""
    return bool(local_functions(mod))


def has_impure_local_functions(mod: tvm.IRModule) -> bool:
    """A function that is not pure is bound inside of another."""
    return not all(func.is_pure for func in local_functions(mod))


def claims_purity(mod: tvm.IRModule) -> bool:
    """A function has the attribute relax.force_pure."""
    return any(attr(func, "relax.force_pure") for _, func in relax_functions(mod))


def returns_from_dataflow(mod: tvm.IRModule) -> bool:
    """A function returns what a dataflow block computes, by itself or in a tuple."""
    for _, func in relax_functions(mod):
        results = set(_returned(func))
        for block in blocks_of(func):
            if isinstance(block, relax.DataflowBlock) and results.intersection(
                binding.var for binding in block.bindings
            ):
                return True
    return False


def item_leaves_dataflow(mod: tvm.IRModule) -> bool:
    """An output of a dataflow block is an item of a tuple."""
    return any(
        isinstance(binding.value, relax.TupleGetItem)
        and not isinstance(binding.var, relax.DataflowVar)
        for block in blocks_of(mod)
        if isinstance(block, relax.DataflowBlock)
        for binding in block.bindings
        if isinstance(binding, relax.VarBinding)
    )


def returns_a_weight(mod: tvm.IRModule) -> bool:
    """A function with weights returns one of them as it is, or what is computed of them alone."""
    return any(
        not _of_weights(func).isdisjoint(_returned(func)) for _, func in relax_functions(mod)
    )


def returns_what_is_static(mod: tvm.IRModule) -> bool:
    """A function returns what it binds and computes of weights and constants alone."""
    return any(
        not (_of_weights(func, constants=True) - {*func.params}).isdisjoint(_returned(func))
        for _, func in relax_functions(mod)
    )


def has_no_weights(mod: tvm.IRModule) -> bool:
    """A function has `num_input`, and all of its parameters are inputs."""
    return any(
        (inputs := attr(func, "num_input")) is not None and int(inputs) >= len(func.params)
        for _, func in relax_functions(mod)
    )


def calls_kernels_on_symbols(mod: tvm.IRModule) -> bool:
    """A call of a PrimFunc has an argument that is no tensor, or one of a symbolic shape."""
    for call in calls_of(mod):
        if not (op_name(call) or "").startswith("relax.call_tir"):
            continue
        args = call.args[1]
        handed = args.fields if isinstance(args, relax.Tuple) else [args]
        if len(call.args) > 2 or not all(map(_has_fixed_sizes, handed)):
            return True
    return False


def resizes_to_one(mod: tvm.IRModule) -> bool:
    """An image is resized to one pixel in a direction, by a quotient of sizes less one."""
    return any(
        op_name(call) in ("relax.image.resize2d", "relax.image.resize3d")
        and call.attrs.coordinate_transformation_mode in ("align_corners", "tf_crop_and_resize")
        and any(_is_one(size) for size in getattr(call.args[1], "values", ()))
        for call in calls_of(mod)
    )


def _is_one(size: Any) -> bool:
    """It is 1, or not known before the module runs."""
    return not isinstance(size, tirx.IntImm) or int(size.value) == 1


def has_lists_of_other_lengths(mod: tvm.IRModule) -> bool:
    """Strides, sizes or padding of a convolution or pooling do not have a number for each axis, or
    the variances of multibox_transform_loc are not four."""
    for call in calls_of(mod):
        if len(getattr(call.attrs, "variances", _FOUR)) != len(_FOUR):
            return True
        layout = getattr(call.attrs, "data_layout", None) or getattr(call.attrs, "layout", None)
        layout = str(layout or "")
        axes = sum(letter.isupper() for letter in layout) - 2  # without the batch and the channels
        for name, times in _LISTS.items():
            given = getattr(call.attrs, name, None)
            if layout and given is not None and len(given) not in [axes * each for each in times]:
                return True
    return False


_LISTS = {
    **dict.fromkeys(("strides", "dilation", "output_padding", "pool_size", "output_size"), (1,)),
    "pooled_size": (1,),
    "padding": (1, 2),
}
"""Attributes that are lists, and how many numbers they may have for an axis."""

_FOUR = ("x", "y", "width", "height")
"""What the variances of multibox_transform_loc are of."""


def _has_fixed_sizes(value: relax.Expr) -> bool:
    """A tensor whose dimensions are all numbers."""
    dims = getattr(getattr(value.ty, "shape", None), "values", None)
    return dims is not None and all(isinstance(dim, tirx.IntImm) for dim in dims)


def takes_more_than_there_are(mod: tvm.IRModule) -> bool:
    """A topk asks for more elements than the axis has, as far as that is known."""
    for call in calls_of(mod, "relax.topk"):
        shape = getattr(call.args[0].ty, "shape", None)
        if isinstance(shape, relax.ShapeExpr) and len(shape.values):
            extent = shape.values[int(call.attrs.axis)]
            if isinstance(extent, tirx.IntImm) and int(extent) < int(call.attrs.k):
                return True
    return False


def shares_statements(mod: tvm.IRModule) -> bool:
    """A statement stands in two places of a PrimFunc, as UnrollLoop makes it."""
    for _, func in prim_funcs(mod):
        stored = nodes(func, ir.BufferStore, ir.Evaluate)
        if len(set(stored)) < len(stored):
            return True
    return False


def prints_parameters_as_numbers(mod: tvm.IRModule) -> bool:
    """A buffer of one element that is printed by its name alone is a parameter of a PrimFunc."""
    return any(
        isinstance(param.ty, tirx.BufferType) and any(map(param.is_scalar, (True, False)))
        for _, func in prim_funcs(mod)
        for param in func.params
    )


def has_loop_pragmas(mod: tvm.IRModule) -> bool:
    """A loop of a PrimFunc is annotated with a pragma."""
    return any(
        str(key).startswith("pragma_")
        for _, func in prim_funcs(mod)
        for loop in nodes(func, ir.For)
        for key in loop.annotations
    )


def waits_for_copies(mod: tvm.IRModule) -> bool:
    """A kernel waits for asynchronous copies."""
    return any(
        stmt.attr_key == "async_wait_queue_scope"
        for _, func in prim_funcs(mod)
        for stmt in nodes(func, ir.AttrStmt)
    )


def nests_divisions(mod: tvm.IRModule) -> bool:
    """An operand of a division or remainder has another one in it, by what is no constant."""
    return any(
        not isinstance(inner.b, tirx.IntImm)
        for _, func in prim_funcs(mod)
        for outer in nodes(func, *_DIVISIONS)
        for operand in (outer.a, outer.b)
        for inner in nodes(operand, *_DIVISIONS)
    )


_DIVISIONS = (ir.FloorDiv, ir.FloorMod)


def allocates_by_bound_size(mod: tvm.IRModule) -> bool:
    """The shape of an allocation uses a variable that is defined inside of the PrimFunc."""
    for _, func in prim_funcs(mod):
        inner = {node.var for node in nodes(func, ir.Bind, tirx.IterVar)}
        inner.update(loop.loop_var for loop in nodes(func, ir.For))
        for alloc in nodes(func, ir.AllocBuffer):
            used = (var for dim in alloc.buffer.shape for var in nodes(dim, tirx.Var))
            if not inner.isdisjoint(used):
                return True
    return False


def launches_a_number_of_int64(mod: tvm.IRModule) -> bool:
    """A PrimFunc is launched with threads whose number depends on a variable of int64."""
    for _, func in prim_funcs(mod):
        for stmt in nodes(func, ir.AttrStmt):
            if stmt.attr_key == "thread_extent" and any(
                str(var.ty.dtype) == "int64" for var in nodes(stmt.node.dom.extent, tirx.Var)
            ):
                return True
    return False


def stores_by_virtual_thread(mod: tvm.IRModule) -> bool:
    """Whether, or how often, something is stored depends on a virtual thread."""
    return any(
        nodes(control, ir.BufferStore) and _depends(control, _of_virtual_thread(thread))
        for _, func in prim_funcs(mod)
        for thread in nodes(func, ir.AttrStmt)
        if thread.attr_key == "virtual_thread"
        for control in nodes(thread.body, ir.IfThenElse, ir.While, ir.For)
    )


def _of_virtual_thread(thread: Any) -> set[Any]:
    """The variables and buffers in which a virtual thread has values of its own."""
    found, before = {thread.node.var}, 0
    defined = nodes(thread.body, ir.Bind, ir.For, ir.BufferStore)
    while len(found) > before:
        before = len(found)
        for node in defined:
            if isinstance(node, ir.BufferStore):
                name, uses = node.buffer, [node.value, *node.indices]
            elif isinstance(node, ir.For):
                name, uses = node.loop_var, [node.min, node.extent]
            else:
                name, uses = node.var, [node.value]
            if any(var in found for use in uses for var in nodes(use, tirx.Var)):
                found.add(name)
    return found


def _depends(control: Any, variables: set[Any]) -> bool:
    conditions = (
        [control.min, control.extent] if isinstance(control, ir.For) else [control.condition]
    )
    return any(var in variables for each in conditions for var in nodes(each, tirx.Var))


def _of_weights(func: relax.Function, *, constants: bool = False) -> set[Any]:
    """The weights of a function, and what is computed of them alone, or of constants, too."""
    inputs = attr(func, "num_input")
    found = set() if inputs is None else {*func.params[int(inputs) :]}
    for binding in bindings_of(func):
        operands = nodes(binding.value, relax.Var) if hasattr(binding, "value") else []
        if (operands or constants) and all(each in found for each in operands):
            found.add(binding.var)
    return found


def _returned(func: relax.Function) -> Iterator[Any]:
    """The variables in the result of a function, aliases resolved."""
    bound = {b.var: b.value for b in bindings_of(func) if isinstance(b, relax.VarBinding)}
    todo: list[Any] = [func.body.body]
    while todo:
        expr = todo.pop()
        if isinstance(expr, relax.Tuple):
            todo.extend(expr.fields)
        elif isinstance(expr, relax.Var):
            yield expr
            value = bound.get(expr)
            if isinstance(value, relax.Var | relax.Tuple):
                todo.append(value)


_ALL = (
    Trigger(
        more_than_main,
        without=(
            *(Trait.SEVERAL_FUNCTIONS, Trait.NO_MAIN, Trait.HELPERS, Trait.COMPOSITE),
            *(Trait.TRANSFORM_PARAMS, Trait.DIFFERENTIABLE, Trait.CODEGEN),
        ),
    ),
    Trigger(
        has_branches_or_packed_calls,
        without=(
            *(Trait.IF, Trait.RECURSION),
            *(Trait.CALL_PACKED, Trait.CALL_DPS_PACKED, Trait.EXTERN_FUNCS),
        ),
    ),
    Trigger(casts_by_match, without=(Trait.MATCH_CAST, Trait.ANY)),
    Trigger(
        calls_no_operator,
        without=(
            *(Trait.FUNCTION_CALLS, Trait.HELPERS, Trait.RECURSION, Trait.CLOSURES),
            *(Trait.FUNCTION_VALUES, Trait.COMPOSITE, Trait.PRIMITIVE, Trait.CALL_PACKED),
        ),
    ),
    Trigger(computes_with_numbers, without=(Trait.NUMBERS,)),
    Trigger(calls_a_function, without=(Trait.FUNCTION_CALLS, Trait.HELPERS, Trait.RECURSION)),
    Trigger(has_local_functions, without=(Trait.CLOSURES, Trait.CODEGEN)),
    Trigger(has_impure_local_functions, without=(Trait.CLOSURES,)),
    Trigger(claims_purity),
    Trigger(returns_from_dataflow, forced=(Trait.NO_DATAFLOW,)),
    Trigger(item_leaves_dataflow, forced=(Trait.NO_DATAFLOW,)),
    Trigger(returns_a_weight),
    Trigger(returns_what_is_static),
    Trigger(has_no_weights),
    Trigger(
        calls_kernels_on_symbols,
        without=(Trait.SYMBOLIC_SHAPES, Trait.NUMBERS, Trait.SHAPE_VALUES, Trait.INCOMPLETE_TYPES),
    ),
    Trigger(resizes_to_one),
    Trigger(has_lists_of_other_lengths),
    Trigger(takes_more_than_there_are),
    Trigger(shares_statements),
    Trigger(prints_parameters_as_numbers),
    Trigger(has_loop_pragmas),
    Trigger(waits_for_copies),
    Trigger(nests_divisions),
    Trigger(allocates_by_bound_size),
    Trigger(stores_by_virtual_thread),
    Trigger(launches_a_number_of_int64),
)

TRIGGERS: Mapping[str, Trigger] = {trigger.name: trigger for trigger in _ALL}
"""By the name that a record gives in its field `trigger`."""
