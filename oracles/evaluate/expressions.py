"""The evaluation of each class of expression."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from tvm import relax
from tvm.ir import GlobalVar, Op

from ...compat import ir
from ..errors import NoResult, NoValue, TooLarge, Undefined, Unpromised, Unsupported
from ..inspect import is_pure, nodes, op_name
from ..liveness import ends
from .arithmetic import ARITHMETIC, PRIMITIVE, intrinsic
from .calls import CALLS
from .effects import packed_effect
from .frame import Frame, Visit
from .matching import match, settle
from .memory import MEMORY, Lost
from .operators import operator
from .poison import fresh

_SPECIAL: Mapping[str, Callable[[Frame, relax.Call], Any]] = {**CALLS, **MEMORY}
_MISSING = object()


def _sequence(frame: Frame, expr: relax.SeqExpr) -> Any:
    env, watch = frame.env, frame.evaluator.watch
    unused = iter(ends(expr))
    for block in expr.blocks:
        for binding in block.bindings:
            bound, done = binding.value, next(unused, ())
            try:
                value = frame.value(bound)
            except NoResult as error:
                error.calls.append(bound)
                if not _may_be_unused(frame, binding, error):
                    raise
                env[hash(binding.var)] = Lost(error.with_traceback(None))
                frame.evaluator.partial = True
                continue
            if type(binding) is relax.MatchCast:
                match(frame, binding.ty, value)
                if frame.pending:
                    settle(frame)
            var = binding.var
            env[hash(var)] = value
            if watch is not None and not _is_allocation(bound) and not fresh(value):
                watch(var, value)
            for each in done:
                env.pop(each, None)
    return frame.value(expr.body)


def _may_be_unused(frame: Frame, binding: Any, error: NoResult) -> bool:
    """True if the evaluation may continue as long as nothing uses the value.

    Then the value is not promised or not known, but no behaviour is undefined.
    """
    if not isinstance(error, Unsupported) or isinstance(error, NoValue | TooLarge):
        return False
    unknown = not isinstance(error, Unpromised)
    if unknown and (type(binding) is relax.MatchCast or frame.evaluator.updated):
        return False  # a cast may refuse it, or an update be due
    return is_pure(binding.value) and "inplace" not in (op_name(binding.value) or "")


def _is_allocation(expr: Any) -> bool:
    """True for an allocation: unwritten memory has no value to report."""
    return type(expr) is relax.Call and type(expr.op) is Op and "alloc" in expr.op.name


def _variable(frame: Frame, expr: relax.Var) -> Any:
    value = frame.env.get(hash(expr), _MISSING)
    if value is _MISSING:
        raise Unsupported(f"variable {expr.name} without a value")
    if type(value) is Lost:
        raise value.error or Undefined("a variable is used after it was killed")
    evaluator = frame.evaluator
    if evaluator.updated and any(value is array for array in evaluator.updated):
        evaluator.misused = True
    return value


def _call(frame: Frame, expr: relax.Call) -> Any:
    op = expr.op
    if type(op) is Op:
        name = op.name
        evaluator = frame.evaluator
        if evaluator.effects is not None and (function := packed_effect(name)) is not None:
            evaluator.note_effect(function, [frame.value(arg) for arg in expr.args])
        special = _SPECIAL.get(name)
        if special is not None:
            result = special(frame, expr)
        elif name.startswith(PRIMITIVE):
            return intrinsic(frame, expr, name)
        else:
            return operator(frame, expr, name)
    else:
        args = [frame.value(arg) for arg in expr.args]
        result = frame.value(op)(args)
    if frame.evaluator.written:
        _report_written(frame, expr)
    return result


def _report_written(frame: Frame, call: relax.Call) -> None:
    """Report the variables among the operands that a PrimFunc has written to."""
    evaluator = frame.evaluator
    written, evaluator.written = evaluator.written, []
    for var in nodes(call, relax.Var):
        value = frame.env.get(hash(var))
        if evaluator.watch is not None and any(value is array for array in written):
            evaluator.watch(var, value)


def _branch(frame: Frame, expr: relax.If) -> Any:
    condition = frame.value(expr.cond)
    if np.size(condition) != 1:
        shape = np.shape(condition)
        raise Undefined(f"a branch on a tensor that is no scalar: its shape is {shape}")
    return frame.value(expr.true_branch if bool(condition) else expr.false_branch)


def _closure(frame: Frame, expr: relax.Function) -> Callable[[list[Any]], Any]:
    return lambda args: frame.evaluator.call_function(expr, args, frame.env)


def _global(frame: Frame, expr: GlobalVar) -> Callable[[list[Any]], Any]:
    return functools.partial(frame.evaluator.call_global, expr)


def _extern(frame: Frame, expr: relax.ExternFunc) -> Callable[[list[Any]], Any]:
    return functools.partial(frame.evaluator.call_packed, str(expr.global_symbol))


VISIT: Mapping[type, Visit] = {
    **ARITHMETIC,
    relax.SeqExpr: _sequence,
    relax.Var: _variable,
    relax.DataflowVar: _variable,
    relax.Call: _call,
    relax.If: _branch,
    relax.Function: _closure,
    GlobalVar: _global,
    relax.ExternFunc: _extern,
    relax.Tuple: lambda frame, expr: tuple(frame.value(field) for field in expr.fields),
    relax.TupleGetItem: lambda frame, expr: frame.value(expr.tuple_value)[expr.index],
    relax.ShapeExpr: lambda frame, expr: tuple(int(frame.value(dim)) for dim in expr.values),
    **dict.fromkeys(ir.CONSTANTS, lambda frame, expr: frame.evaluator.constant(expr)),
    **dict.fromkeys(ir.STRINGS, lambda frame, expr: str(expr.value)),
}
