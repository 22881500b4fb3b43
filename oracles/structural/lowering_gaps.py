"""Calls of operators that no pass lowers: after LegalizeOps, or at any later stage of a module.

The virtual machine's code generator knows five operators. All others have to be gone by then: most
by LegalizeOps, some by a pass of their own (`lowered_by`). LegalizeOps silently leaves a call as it
is where the operator has no legalization, where a shape is not known, and where the
legalization itself gives the call back. The build then fails many passes later.

A call whose result nothing uses counts like any other. The pipeline of `relax.build` removes no
dead code, so that the build fails all the same; in the pipeline "cpu_generic", FuseTIR removes it
and so hides the gap.

What a backend is to take over (functions with the attribute Composite or Codegen) is left out: that
is RunCodegen's to lower.
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

from ...generators.ops import table
from ..inspect import attr, has_op_attr, local_functions, nodes, op_name, relax_functions

EMITTED = frozenset(
    {
        "relax.call_builtin_with_ctx",
        "relax.null_value",
        "relax.vm.alloc_storage",
        "relax.vm.alloc_tensor",
        "relax.vm.kill_object",
    }
)
"""What the virtual machine's code generator makes instructions of."""

_WITHOUT_RECORD: Mapping[str, tuple[str, ...]] = {
    "DispatchSampling": (),
    "DispatchSortScan": (),
    "RemovePurityChecking": ("call_inplace_packed", "call_pure_packed", "invoke_pure_closure"),
    "CallTIRRewrite": ("call_dps_packed", "call_tir", "call_tir_inplace"),
    "LowerAllocTensor": ("builtin.alloc_tensor",),
    "LowerRuntimeBuiltin": (
        "call_py_func",
        "invoke_closure",
        "make_closure",
        "memory.alloc_storage",
        "memory.alloc_tensor",
        "memory.kill_storage",
        "memory.kill_tensor",
        "vm.call_tir_dyn",
    ),
}
"""The passes of TVM's default pipeline that lower an operator by its name, except LegalizeOps, with
the operators among theirs that have no record."""

LOWERED_BY: Mapping[str, tuple[str, ...]] = {
    name: (*ops, *(op.name for op in table.values() if op.lowered_by == name))
    for name, ops in _WITHOUT_RECORD.items()
}
"""The same passes with all their operators.

That `bucketize` is dispatched, too, is left out: LegalizeOps lowers it as well.
"""

_LOWERED_BY = {f"relax.{op}": name for name, ops in LOWERED_BY.items() for op in ops}

BY_SHAPE = ("DispatchSampling", "DispatchSortScan")
"""Passes that make a PrimFunc of a call, and so must know shape and dtype of its operands."""

ALLOCATES = "CallTIRRewrite"
"""It allocates the result of a call, and so must know its shape and dtype."""


class Reason(enum.StrEnum):
    """Why no pass lowers a call."""

    NO_LEGALIZATION = "no legalization"
    UNKNOWN_SHAPE = "unknown shape"
    UNKNOWN_DTYPE = "unknown dtype"
    UNKNOWN_TYPE = "unknown type"
    """A tensor is needed, and the type may be something else."""
    DECLINED = "declined by its legalization"
    FAILED = "its legalization fails"
    NOT_LEGALIZED = "not legalized"
    """LegalizeOps can lower it, but has not been run, or not since the call is there."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A call that no pass lowers."""

    op: str
    """The operator's registered name."""
    reason: Reason
    function: str
    """Name of the module's function; a call in a local function belongs to the one around it."""
    binding: relax.Binding
    what: str
    """What is not known, or the message of the legalization."""


def gaps(mod: tvm.IRModule) -> list[Gap]:
    """The calls that keep the module, legalized before, from being built; in their order."""
    found = []
    for gvar, binding, name in leftovers(mod):
        wrong = _obstacle(binding.value, name)
        if wrong is not None:
            found.append(Gap(name, wrong[0], str(gvar.name_hint), binding, wrong[1]))
    return found


def passed_over(mod: tvm.IRModule) -> list[Gap]:
    """The gaps of a module that LegalizeOps has made, but those of operators that others lower.

    A call that it could lower and has overlooked is none: its post-condition reports that.
    """
    return [
        gap
        for gap in gaps(mod)
        if lowered_by(gap.op) is None and gap.reason is not Reason.NOT_LEGALIZED
    ]


def leftovers(mod: tvm.IRModule) -> Iterator[tuple[tvm.ir.GlobalVar, relax.Binding, str]]:
    """Every call of an operator that is to be lowered yet: function, binding, operator's name."""
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
    """The pass of TVM's default pipeline, LegalizeOps apart, that lowers calls of the operator."""
    if op_name in _LOWERED_BY:
        return _LOWERED_BY[op_name]
    return "LowerRuntimeBuiltin" if has_op_attr(op_name, "FLowerBuiltin") else None


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
    """What is not known of a call that its legalization must know, if anything."""
    if Op.get(op_name).get_attr("RequiresArgumentShapes") not in (None, True):
        return None
    result = () if has_op_attr(op_name, "FDataDependent") else (("the result", call.ty),)
    return _unknown([*_operands(call), *result])


Named = tuple[str, Any]
"""Whose type, and the type."""


def _operands(call: relax.Call) -> list[Named]:
    return [
        (f"argument {number}{f' ({arg.name})' if isinstance(arg, relax.Var) else ''}", arg.ty)
        for number, arg in enumerate(call.args)
    ]


def _unknown(types: Iterable[Named]) -> tuple[Reason, str] | None:
    """What a PrimFunc needs and types leave open: shapes first, as LegalizeOps asks for these."""
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
    """The result has the type of the call, or a more precise one."""
    answer = relax.analysis.type_base_check(call.ty, result.ty)
    return bool(answer != relax.analysis.BaseCheckResult.FAIL_L0)


@contextmanager
def _logged() -> Iterator[list[str]]:
    """What is logged meanwhile: legalizations log why they decline a call."""
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
