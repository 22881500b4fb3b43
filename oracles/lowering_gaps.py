"""Finds calls of operators that no pass lowers, after LegalizeOps or at any later stage.

The virtual machine's code generator knows five operators. All others must be lowered before: most
by LegalizeOps, some by a pass of their own (`lowered_by`). LegalizeOps silently leaves a call
unchanged if the operator has no legalization, if a shape is unknown, or if the legalization itself
returns the call. The build then fails many passes later.

A call with an unused result counts like any other. The pipeline of `relax.build` removes no dead
code, so the build fails anyway; in the pipeline "cpu_generic", FuseTIR removes the call and hides
the gap.

Functions for a backend (with the attribute Composite or Codegen) are left out: RunCodegen lowers
them.
"""

from __future__ import annotations

import enum
import functools
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax
from tvm.ir import Op

from ..generators.ops import table
from ..generators.ops.roles import ALLOCATES, BY_ATTRIBUTE, BY_SHAPE, EMITTED, WITHOUT_RECORD
from .inspect import attr, has_op_attr, local_functions, nodes, op_name, relax_functions

LOWERED_BY: Mapping[str, tuple[str, ...]] = {
    name: (*ops, *(op.name for op in table.values() if op.lowered_by == name))
    for name, ops in WITHOUT_RECORD.items()
}
"""Operators by the pass of TVM's default pipeline that lowers them by name, except LegalizeOps.

`bucketize` is left out although it is dispatched, because LegalizeOps lowers it as well.
"""

_LOWERED_BY = {f"relax.{op}": name for name, ops in LOWERED_BY.items() for op in ops}


class Reason(enum.StrEnum):
    """The reason why no pass lowers a call."""

    NO_LEGALIZATION = "no legalization"
    UNKNOWN_SHAPE = "unknown shape"
    UNKNOWN_DTYPE = "unknown dtype"
    UNKNOWN_TYPE = "unknown type"
    """A tensor is needed, but the type allows other values."""
    DECLINED = "declined by its legalization"
    FAILED = "its legalization fails"
    NOT_LEGALIZED = "not legalized"
    """LegalizeOps can lower it, but has not run since the call was made."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A call that no pass lowers."""

    op: str
    """The operator's registered name."""
    reason: Reason
    function: str
    """Name of the module's function; a call in a local function belongs to the enclosing one."""
    binding: relax.Binding
    what: str
    """The unknown part of a type, or the message of the legalization."""


def gaps(mod: tvm.IRModule) -> list[Gap]:
    """The calls that keep an already legalized module from being built, in their order."""
    found = []
    for gvar, binding, name in leftovers(mod):
        wrong = _obstacle(binding.value, name)
        if wrong is not None:
            found.append(Gap(name, wrong[0], str(gvar.name_hint), binding, wrong[1]))
    return found


def passed_over(mod: tvm.IRModule) -> list[Gap]:
    """The gaps in a result of LegalizeOps, except for operators that other passes lower.

    Calls that it could have lowered but missed do not count: its post-condition reports them.
    """
    return [
        gap
        for gap in gaps(mod)
        if lowered_by(gap.op) is None and gap.reason is not Reason.NOT_LEGALIZED
    ]


def leftovers(mod: tvm.IRModule) -> Iterator[tuple[tvm.ir.GlobalVar, relax.Binding, str]]:
    """Yields every call of an operator that is not lowered yet: function, binding, operator."""
    for gvar, func in relax_functions(mod):
        if _for_backend(func):
            continue
        taken = {
            hash(binding)
            for local in local_functions(func)
            if _for_backend(local)
            for binding in nodes(local, relax.expr.Binding)
        }
        for binding in nodes(func, relax.expr.Binding):
            name = op_name(binding.value)
            if name is None or name in EMITTED or not name.startswith("relax."):
                continue
            if hash(binding) not in taken:
                yield gvar, binding, name


@functools.cache
def lowered_by(op_name: str) -> str | None:
    """The pass of TVM's default pipeline, except LegalizeOps, that lowers calls of the operator."""
    if op_name in _LOWERED_BY:
        return _LOWERED_BY[op_name]
    lowers = "FLowerBuiltin"
    return BY_ATTRIBUTE[lowers] if has_op_attr(op_name, lowers) else None


def _for_backend(func: relax.Function) -> bool:
    return attr(func, "Composite") is not None or attr(func, "Codegen") is not None


def _obstacle(call: relax.Call, name: str) -> tuple[Reason, str] | None:
    by = lowered_by(name)
    if by == ALLOCATES:
        return _unknown([("the result", call.ty)])
    if by is not None:
        return _unknown(_operands(call)) if by in BY_SHAPE else None
    if not has_op_attr(name, "FLegalize"):
        if has_op_attr(name, "FCallPacked"):
            return Reason.NOT_LEGALIZED, f"LegalizeOps makes a packed call of {name}"
        return Reason.NO_LEGALIZATION, f"{name} has no legalization"
    return unknown(call, name) or _asked(call, name)


def unknown(call: relax.Call, op_name: str) -> tuple[Reason, str] | None:
    """The unknown part of a call's types that its legalization must know, or None."""
    if Op.get(op_name).get_attr("RequiresArgumentShapes") not in (None, True):
        return None
    result = () if has_op_attr(op_name, "FDataDependent") else (("the result", call.ty),)
    return _unknown([*_operands(call), *result])


Named = tuple[str, Any]
"""A description of an expression, and its type."""


def _operands(call: relax.Call) -> list[Named]:
    return [
        (f"argument {number}{f' ({arg.name})' if isinstance(arg, relax.Var) else ''}", arg.ty)
        for number, arg in enumerate(call.args)
    ]


def _unknown(types: Iterable[Named]) -> tuple[Reason, str] | None:
    """The first unknown part of types that a PrimFunc needs; shapes first, as in LegalizeOps."""
    parts = [part for named in types for part in _taken_apart(*named)]
    for whose, ty in parts:
        if isinstance(ty, relax.TensorType) and not isinstance(ty.shape, relax.ShapeExpr):
            return Reason.UNKNOWN_SHAPE, f"the shape of {whose}"
        if isinstance(ty, relax.ShapeType) and ty.values is None:
            return Reason.UNKNOWN_SHAPE, f"the values of {whose}"
    for whose, ty in parts:
        if not isinstance(ty, relax.TensorType | relax.ShapeType | tvm.ir.PrimType):
            return Reason.UNKNOWN_TYPE, f"the type of {whose}"
        if isinstance(ty, relax.TensorType) and ty.dtype is None:
            return Reason.UNKNOWN_DTYPE, f"the dtype of {whose}"
    return None


def _taken_apart(whose: str, ty: Any) -> Iterator[Named]:
    if not isinstance(ty, relax.TupleType):
        yield whose, ty
        return
    for number, field in enumerate(ty.fields):
        yield from _taken_apart(f"field {number} of {whose}", field)


def _asked(call: relax.Call, name: str) -> tuple[Reason, str]:
    """Run the operator's legalization on the call once more."""
    builder = relax.BlockBuilder()
    builder._begin_binding_block()
    with _logged() as logged:
        try:
            result = builder.normalize(Op.get(name).get_attr("FLegalize")(builder, call))
        except Exception as error:
            last = (str(error).strip().splitlines() or [""])[-1]
            return Reason.FAILED, f"{type(error).__name__}: {last}"
        finally:
            builder._end_block()
    if call.same_as(result):
        return Reason.DECLINED, " ".join(logged) or "it returns the call unchanged and logs nothing"
    if not keeps_type(call, result):
        return Reason.FAILED, f"it gives {result.ty} where {call.ty} is declared"
    return Reason.NOT_LEGALIZED, f"LegalizeOps lowers {name}"


def keeps_type(call: relax.Call, result: relax.Expr) -> bool:
    """True if the result has the type of the call, or a more precise one."""
    answer = relax.analysis.type_base_check(call.ty, result.ty)
    return bool(answer != relax.analysis.BaseCheckResult.FAIL_L0)


@contextmanager
def _logged() -> Iterator[list[str]]:
    """Collects log messages: legalizations log their reason for declining a call."""
    logged: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            logged.append(record.getMessage())

    root, handler = logging.getLogger(), Handler()
    before, root.handlers = root.handlers, [handler]
    level = root.level
    root.setLevel(logging.INFO)
    try:
        yield logged
    finally:
        root.setLevel(level)
        root.handlers = before
