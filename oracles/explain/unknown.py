"""Where a shape or dtype was lost: from a use back to the parameter or binding that gave it up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from ..inspect import bindings_of, complete, op_name
from ..structural.lowering_gaps import Reason
from .spelling import called, spelled
from .suggestion import inferred, suggested
from .traced import Traced
from .trouble import Excerpt

TYPES_GIVEN = frozenset(
    {
        "relax.call_pure_packed",
        "relax.call_inplace_packed",
        "relax.call_dps_packed",
        "relax.call_tir",
        "relax.call_tir_inplace",
        "relax.invoke_closure",
        "relax.invoke_pure_closure",
        "relax.call_py_func",
    }
)
"""The type of what these calls give is written by the user, not inferred."""


@dataclass(frozen=True, slots=True)
class Loss:
    """The place where something became unknown."""

    what: str
    """ "the shape of `x`" """
    excerpts: tuple[Excerpt, ...]
    identity: tuple[str, str]
    """Equal for equal places: function and variable."""
    why: str
    """Empty where an excerpt shows it all."""
    help: tuple[str, ...]
    declare: str = ""
    """How to declare it, where it is a parameter."""


def lost(traced: Traced, function: str, call: relax.Call, reason: Reason) -> list[Loss]:
    """Where what the call needs was lost, as far as the user's module shows it."""
    bindings = {binding.var: binding for binding in bindings_of(traced.mod[function])}
    unknown = unknown_operands(call, reason) or [
        binding.var
        for binding in bindings.values()
        if isinstance(binding.value, relax.Call) and binding.value.same_as(call)
    ]
    losses = [_follow(traced, function, var, reason, bindings, call) for var in unknown]
    return list({loss.identity: loss for loss in losses}.values())


def open_types(ty: Any, reason: Reason) -> bool:
    """The type leaves open what the reason is about."""
    if isinstance(ty, relax.TupleType):
        return any(open_types(field, reason) for field in ty.fields)
    if isinstance(ty, relax.TensorType):
        if reason is Reason.UNKNOWN_SHAPE:
            return not isinstance(ty.shape, relax.ShapeExpr)
        return ty.dtype is None if reason is Reason.UNKNOWN_DTYPE else not complete(ty)
    if isinstance(ty, relax.ShapeType):
        return reason is Reason.UNKNOWN_SHAPE and ty.values is None
    return isinstance(ty, relax.AnyType)


def _operands(expr: Any) -> Iterator[relax.Var]:
    if isinstance(expr, relax.Var):
        yield expr
    elif isinstance(expr, relax.Call):
        for arg in expr.args:
            yield from _operands(arg)
    elif isinstance(expr, relax.Tuple):
        for field in expr.fields:
            yield from _operands(field)
    elif isinstance(expr, relax.TupleGetItem):
        yield from _operands(expr.tuple_value)


def unknown_operands(expr: Any, reason: Reason) -> list[relax.Var]:
    """Variables that an expression uses and of which it is not known what the reason is about."""
    if not isinstance(expr, relax.Call | relax.Tuple | relax.TupleGetItem | relax.Var):
        return []
    return [var for var in _operands(expr) if open_types(var.ty, reason)]


def _follow(
    traced: Traced,
    function: str,
    var: relax.Var,
    reason: Reason,
    bindings: dict[relax.Var, relax.Binding],
    use: relax.Call,
) -> Loss:
    """The first variable on the way back whose own operands are known, or a parameter."""
    aspect = {Reason.UNKNOWN_SHAPE: "shape", Reason.UNKNOWN_DTYPE: "dtype"}.get(reason, "type")
    what = f"the {aspect} of `{var.name}`"
    while (binding := bindings.get(var)) is not None:
        earlier = _earlier(binding, reason)
        if earlier is None:
            return _at_binding(traced, function, binding, aspect, what, use)
        var = earlier
    excerpts = traced.parameter(function, var, f"declared without a {aspect}")
    why = f"The parameter `{var.name}` is declared as `{spelled(var.ty)}`."
    suggestion = suggested(var, use)
    sizes = " Sizes may be numbers or symbolic, as here." if suggestion.new else ""
    return Loss(
        what,
        excerpts,
        (function, str(var.name)),
        "" if excerpts else why,
        (
            f"Declare more of the parameter: {suggestion.declared}.{sizes}",
            f"Or declare it where it is used: {suggestion.cast}",
        ),
        suggestion.declared,
    )


def _earlier(binding: relax.Binding, reason: Reason) -> relax.Var | None:
    """The operand from which a binding has the unknown, if it did not lose it itself."""
    value = binding.value
    if isinstance(binding, relax.MatchCast):
        return None
    if isinstance(value, relax.If):
        for branch in (value.true_branch, value.false_branch):
            body = branch.body if isinstance(branch, relax.SeqExpr) else branch
            if isinstance(body, relax.Var) and open_types(body.ty, reason):
                return body
        return None
    if isinstance(value, relax.Call) and (
        op_name(value) in TYPES_GIVEN or not isinstance(value.op, tvm.ir.Op)
    ):
        return None
    return next(iter(unknown_operands(value, reason)), None)


def _at_binding(
    traced: Traced, function: str, binding: relax.Binding, aspect: str, what: str, use: relax.Call
) -> Loss:
    var, value = binding.var, binding.value
    suggestion = suggested(var, use)
    cast = f"Declare it where it is used: {suggestion.cast}"
    help: tuple[str, ...] = (cast,)
    if isinstance(binding, relax.MatchCast):
        why = f"`{var.name}` is cast to `{spelled(var.ty)}`, which leaves the {aspect} open."
        help = (f"Cast it to more: `R.match_cast(..., {suggestion.written()})`.",)
    elif isinstance(value, relax.If):
        why = f"The branches give `{var.name}` types that have no {aspect} in common."
    elif isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.GlobalVar):
        why = (
            f"`{value.op.name_hint}` is declared to return `{spelled(var.ty)}`, so that callers "
            f"know no {aspect}."
        )
        help = (
            f"Declare more: `-> {suggestion.written(quoted=True)}`.",
            f"Or {cast[0].lower()}{cast[1:]}",
        )
    elif isinstance(value, relax.Call) and (
        op_name(value) in TYPES_GIVEN or isinstance(value.op, relax.ExternFunc)
    ):
        why = (
            f"TVM cannot look into the function that is called: it knows of `{var.name}` only the "
            f"type that the call is given, `{spelled(var.ty)}`."
        )
        argument = "out_ty" if op_name(value) == "relax.call_dps_packed" else "ty_args"
        help = (
            f"Declare more in the call: `{argument}={suggestion.written()}`. Nothing checks it "
            "when the module runs.",
            f"Or {cast[0].lower()}{cast[1:]} It is checked when the module runs.",
        )
    elif isinstance(value, relax.Call) and (more := _more(value)) is not None:
        why = (
            f"`{var.name}` is annotated as `{spelled(var.ty)}`, which is less than TVM infers of "
            f"`{called(value)}`: `{spelled(more)}`."
        )
        help = (f"Leave the annotation out, or write `{var.name}: {spelled(more)}`.",)
    elif isinstance(value, relax.Call):
        why = (
            f"`{called(value)}` gives `{spelled(var.ty)}`: its operands are known, but TVM does "
            f"not infer from them the {aspect} of what it gives."
        )
        if value.same_as(use):
            help = ("Give its operands sizes that are numbers, if you can: TVM infers more then.",)
    else:
        why = f"`{var.name}` is `{spelled(var.ty)}` from here on."
    return Loss(
        what,
        traced.binding(binding, f"`{var.name}` has no known {aspect} from here on"),
        (function, str(var.name)),
        why,
        help,
    )


def _more(call: relax.Call) -> Any:
    """The type that TVM infers, where it is more precise than the module's."""
    ty = inferred(call)
    return ty if ty is not None and complete(ty) and not complete(call.ty) else None


def advice(losses: list[Loss]) -> tuple[str, ...]:
    """What to do about all of them."""
    if len(losses) < 2:
        return losses[0].help if losses else ()
    if all(loss.declare for loss in losses):
        declared = ", ".join(loss.declare for loss in losses)
        return (f"Declare more of the parameters: {declared}. Sizes may be numbers or symbolic.",)
    return (" ".join(loss.help[0] for loss in losses),)
