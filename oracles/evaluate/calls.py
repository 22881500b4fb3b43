"""Calls of PrimFuncs and packed functions by operators: the call_tir family and its relatives."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tvm import relax
from tvm.ir import Call, GlobalVar

from ..dtypes import dtype_of
from ..errors import Unsupported
from .frame import Frame
from .packed import packed
from .poison import poisoned


def _outputs(frame: Frame, call: Call) -> list[Any]:
    """New tensors of the types that the call declares."""
    (ty,) = call.ty_args
    fields = ty.fields if isinstance(ty, relax.TupleType) else [ty]
    return [_output(frame, field) for field in fields]


def _output(frame: Frame, ty: Any) -> Any:
    if not isinstance(ty, relax.TensorType) or ty.shape is None or ty.dtype is None:
        raise Unsupported(f"an output of type {ty}")
    return poisoned(frame.value(ty.shape), dtype_of(str(ty.dtype)))


def _packed(call: Call, outputs: list[Any]) -> Any:
    """One tensor, or a tuple of them, according to the type."""
    return tuple(outputs) if isinstance(call.ty_args[0], relax.TupleType) else outputs[0]


def _operands(frame: Frame, call: Call) -> list[Any]:
    """The operands: tensors, and numbers for the PrimFunc's scalar parameters."""
    value = frame.value(call.args[1])
    return list(value) if isinstance(value, tuple) else [value]


def _call_tir(frame: Frame, call: Call) -> Any:
    inputs, outputs = _operands(frame, call), _outputs(frame, call)
    frame.evaluator.call_global(_callee(call), [*inputs, *outputs])
    return _packed(call, outputs)


def _call_tir_inplace(frame: Frame, call: Call) -> Any:
    inputs = _operands(frame, call)
    places = [int(place) for place in call.attrs.inplace_indices]
    outputs = [
        inputs[place] if place >= 0 else output
        for place, output in zip(places, _outputs(frame, call), strict=True)
    ]
    new = [output for place, output in zip(places, outputs, strict=True) if place < 0]
    updated = [inputs[place] for place in places if place >= 0]
    evaluator = frame.evaluator
    evaluator.misused |= any(a is b for a, b in itertools.combinations(updated, 2))
    evaluator.call_global(_callee(call), [*inputs, *new])
    evaluator.updated += updated
    # A result is the same memory under another name, so a use of it is not a use of the operand.
    return _packed(call, [output[...] for output in outputs])


def _callee(call: Call) -> GlobalVar:
    callee = call.args[0]
    if not isinstance(callee, GlobalVar):
        raise Unsupported(f"{call.op.name} of {_name(callee)}")
    return callee


def _name(callee: Any) -> str:
    if isinstance(callee, relax.ExternFunc):
        return f"packed function {callee.global_symbol}"
    return f"a {type(callee).__name__}"


def _call_tir_dyn(frame: Frame, call: Call) -> Any:
    *args, shape = frame.value(call.args[1])
    return frame.evaluator.call_global(_callee(call), [*args, *shape])


def _write_packed(frame: Frame, call: Call) -> Any:
    """Refuse the call: no packed function is known that writes to its operands."""
    raise Unsupported(_name(frame.evaluator.named(call.args[0])))


def _assert(frame: Frame, call: Call) -> Any:
    return packed("relax.run.assert_op", [frame.value(arg) for arg in call.args])


def _call_packed(frame: Frame, call: Call) -> Any:
    """`call_pure_packed`: the function comes first among the operands."""
    function, *args = (frame.value(arg) for arg in call.args)
    with _asserted(frame):
        return function(args)


def _call_builtin(frame: Frame, call: Call) -> Any:
    return frame.value(call.args[0])(list(frame.value(call.args[1])))


def _make_closure(frame: Frame, call: Call) -> Callable[[list[Any]], Any]:
    function, captured = (frame.value(arg) for arg in call.args)
    return lambda args: function([*args, *captured])


def _invoke_pure_closure(frame: Frame, call: Call) -> Any:
    with _asserted(frame):
        return _invoke_closure(frame, call)


@contextlib.contextmanager
def _asserted(frame: Frame) -> Iterator[None]:
    """Mark calls made meanwhile as pure by declaration of the module."""
    evaluator = frame.evaluator
    around, evaluator.asserted = evaluator.asserted, True
    try:
        yield
    finally:
        evaluator.asserted = around


def _invoke_closure(frame: Frame, call: Call) -> Any:
    closure, args = (frame.value(arg) for arg in call.args)
    return closure(list(args))


CALLS: Mapping[str, Callable[[Frame, Call], Any]] = {
    "relax.call_tir": _call_tir,
    "relax.call_tir_with_grad": _call_tir,
    "relax.call_tir_inplace": _call_tir_inplace,
    "relax.vm.call_tir_dyn": _call_tir_dyn,
    "relax.call_dps_packed": _write_packed,
    "relax.call_inplace_packed": _write_packed,
    "relax.call_pure_packed": _call_packed,
    "relax.call_builtin_with_ctx": _call_builtin,
    "relax.assert_op": _assert,
    "relax.make_closure": _make_closure,
    "relax.invoke_closure": _invoke_closure,
    "relax.invoke_pure_closure": _invoke_pure_closure,
}
