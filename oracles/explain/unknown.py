"""The search for a lost shape or dtype: from a use back to the responsible parameter or binding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from ...generators.ops.roles import TYPES_GIVEN
from ..inspect import bindings_of, complete, nodes, op_name
from ..lowering_gaps import Reason
from .spelling import called, spelled
from .traced import Traced


@dataclass(frozen=True, slots=True)
class Loss:
    """The place where something became unknown."""

    what: str
    """The unknown property, such as "the shape of `x`"."""
    identity: tuple[str, str]
    """The function and the variable; equal for equal places."""
    why: str
    help: tuple[str, ...]


def lost(traced: Traced, function: str, call: relax.Call, reason: Reason) -> list[Loss]:
    """The places where the type that the call needs was lost, as far as the module shows."""
    bindings = {binding.var: binding for binding in bindings_of(traced.mod[function])}
    unknown = unknown_operands(call, reason) or [
        binding.var
        for binding in bindings.values()
        if isinstance(binding.value, relax.Call) and binding.value.same_as(call)
    ]
    losses = [_follow(function, var, reason, bindings, call) for var in unknown]
    return list({loss.identity: loss for loss in losses}.values())


def open_types(ty: Any, reason: Reason) -> bool:
    """True if the type leaves open the property named by the reason."""
    if isinstance(ty, relax.TupleType):
        return any(open_types(field, reason) for field in ty.fields)
    if isinstance(ty, relax.TensorType):
        if reason is Reason.UNKNOWN_SHAPE:
            return not isinstance(ty.shape, relax.ShapeExpr)
        return ty.dtype is None if reason is Reason.UNKNOWN_DTYPE else not complete(ty)
    if isinstance(ty, relax.ShapeType):
        return reason is Reason.UNKNOWN_SHAPE and ty.values is None
    return isinstance(ty, relax.AnyType)


def unknown_operands(expr: Any, reason: Reason) -> list[relax.Var]:
    """The variables in an expression whose types lack the property named by the reason."""
    if not isinstance(expr, relax.Call | relax.Tuple | relax.TupleGetItem | relax.Var):
        return []
    parts = expr.args if isinstance(expr, relax.Call) else [expr]
    operands = (var for part in parts for var in nodes(part, relax.Var))
    return [var for var in operands if open_types(var.ty, reason)]


def _follow(
    function: str,
    var: relax.Var,
    reason: Reason,
    bindings: dict[relax.Var, relax.Binding],
    use: relax.Call,
) -> Loss:
    """Follow a variable back to a parameter, or to the first one whose operands are known."""
    aspect = {Reason.UNKNOWN_SHAPE: "shape", Reason.UNKNOWN_DTYPE: "dtype"}.get(reason, "type")
    what = f"the {aspect} of `{var.name}`"
    while (binding := bindings.get(var)) is not None:
        earlier = _earlier(binding, reason)
        if earlier is None:
            why, help = _at_binding(binding, aspect, use)
            return Loss(what, (function, str(binding.var.name)), why, help)
        var = earlier
    why = f"The parameter `{var.name}` is declared as `{spelled(var.ty)}`."
    declare = f"Declare the {aspect} of the parameter `{var.name}`, {_COMPLETE}."
    return Loss(what, (function, str(var.name)), why, (declare, _cast(var)))


_COMPLETE = 'as in `R.Tensor(("n", 4), "float32")`'


def _cast(var: relax.Var) -> str:
    return (
        f'Declare it where it is used: `R.match_cast({var.name}, R.Tensor((n, 4), "float32"))`, '
        "after `n = T.int64()`, with sizes that fit the other operands."
    )


def _earlier(binding: relax.Binding, reason: Reason) -> relax.Var | None:
    """The operand that makes the binding unknown; None if the binding itself loses the property."""
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
    binding: relax.Binding, aspect: str, use: relax.Call
) -> tuple[str, tuple[str, ...]]:
    """The reason why a binding leaves something open, and advice."""
    var, value = binding.var, binding.value
    cast = _cast(var)
    if isinstance(binding, relax.MatchCast):
        why = f"`{var.name}` is cast to `{spelled(var.ty)}`, which leaves the {aspect} open."
        return why, (f"Cast it to more, {_COMPLETE}.",)
    if isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.GlobalVar):
        why = f"`{value.op.name_hint}` is declared to return `{spelled(var.ty)}`."
        return why, (f"Declare more of its result, {_COMPLETE}.", cast)
    if isinstance(value, relax.Call) and _is_typed_by_hand(value):
        why = f"TVM knows of `{var.name}` only the type in the call, `{spelled(var.ty)}`."
        argument = "out_ty" if op_name(value) == "relax.call_dps_packed" else "ty_args"
        return why, (f"Declare more in `{argument}=` of the call, {_COMPLETE}.", cast)
    if isinstance(value, relax.Call) and (more := _more(value)) is not None:
        why = (
            f"`{var.name}` is annotated as `{spelled(var.ty)}`, which is less than TVM infers of "
            f"`{called(value)}`: `{spelled(more)}`."
        )
        return why, (f"Leave the annotation out, or write `{var.name}: {spelled(more)}`.",)
    why = f"TVM infers no {aspect} from known operands: `{var.name}` is `{spelled(var.ty)}`."
    if value.same_as(use):
        cast = "Give its operands sizes that are numbers, if you can: TVM infers more then."
    return why, (cast,)


def _is_typed_by_hand(call: relax.Call) -> bool:
    return op_name(call) in TYPES_GIVEN or isinstance(call.op, relax.ExternFunc)


def _more(call: relax.Call) -> Any:
    """The type that TVM infers, if it is more precise than the module's."""
    builder = relax.BlockBuilder()
    try:
        fresh = relax.Call(call.op, call.args, call.attrs, call.ty_args)
        with builder.testing_scope(def_vars=relax.analysis.free_symbolic_vars(fresh)):
            ty = builder.normalize(fresh).ty
    except Exception:
        return None
    return ty if complete(ty) and not complete(call.ty) else None


def advice(losses: list[Loss]) -> tuple[str, ...]:
    """The advice for all losses together."""
    if len(losses) < 2:
        return losses[0].help if losses else ()
    return (" ".join(dict.fromkeys(loss.help[0] for loss in losses)),)
