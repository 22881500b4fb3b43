"""NumPy evaluation of Relax functions before lowering: what a module means, no compiler used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx

from ..generators.ops import table
from .dtypes import dtype_of
from .errors import Mismatch, Unsupported
from .undefined import undefined

MAX_CALLS = 200
MAX_DEPTH = 20
"""Bounds on all calls of functions, and on calls inside calls, so that recursion ends."""


class Evaluator:
    """Evaluates the functions of one module.

    Args:
        mod: the module; operators of the op table, calls of Relax functions, branches, tuples,
            match_cast and symbolic shapes are known.
        watch: told every parameter and bound variable, and its value, in order of evaluation.
        perturb: changes the result of every operator; tells how far a result depends on rounding.
    """

    def __init__(
        self,
        mod: tvm.IRModule,
        watch: Callable[[relax.Var, Any], None] | None = None,
        perturb: Callable[[Any], Any] | None = None,
    ) -> None:
        self._mod = mod
        self._watch = watch
        self._perturb = perturb
        self._calls = 0
        self._depth = 0

    def run(self, name: str, args: Sequence[Any]) -> Any:
        """The result of a function: ndarrays, tuples of results, shapes as tuples of int.

        Raises:
            Unsupported: an operator or expression that the evaluator does not know.
            Mismatch: an argument that does not meet its parameter's type.
        """
        func = self._mod[name]
        if not isinstance(func, relax.Function):
            raise Unsupported(f"{name} is a {type(func).__name__}")
        with np.errstate(all="ignore"):
            return self._call(func, args, {}, {})

    def _call(
        self,
        func: relax.Function,
        args: Sequence[Any],
        env: Mapping[relax.Var, Any],
        dims: Mapping[tirx.Var, int],
    ) -> Any:
        self._calls += 1
        if self._calls > MAX_CALLS or self._depth >= MAX_DEPTH:
            raise Unsupported(f"more than {MAX_CALLS} calls, or {MAX_DEPTH} inside one another")
        if len(args) != len(func.params):
            raise Mismatch(f"Expected {len(func.params)} arguments but got {len(args)}")
        frame = _Frame(self, {**env}, {**dims})
        for param, arg in zip(func.params, args, strict=True):
            frame.match(param.ty, arg)
            frame.env[param] = arg
            if self._watch is not None:
                self._watch(param, arg)
        self._depth += 1
        try:
            return frame.value(func.body)
        finally:
            self._depth -= 1


class _Frame:
    """Variables of one activation of a function."""

    def __init__(
        self, evaluator: Evaluator, env: dict[relax.Var, Any], dims: dict[tirx.Var, int]
    ) -> None:
        self._evaluator = evaluator
        self.env = env
        self.dims = dims

    def value(self, expr: Any) -> Any:
        visit = _VISIT.get(type(expr))
        if visit is None:
            raise Unsupported(f"expression {type(expr).__name__}")
        return visit(self, expr)

    def seq(self, expr: relax.SeqExpr) -> Any:
        for block in expr.blocks:
            for binding in block.bindings:
                value = self.value(binding.value)
                if isinstance(binding, relax.MatchCast):
                    self.match(binding.ty, value)
                self.env[binding.var] = value
                if self._evaluator._watch is not None:
                    self._evaluator._watch(binding.var, value)
        return self.value(expr.body)

    def variable(self, expr: relax.Var) -> Any:
        if expr in self.env:
            return self.env[expr]
        return self.dim(expr)

    def call(self, expr: relax.Call) -> Any:
        op = expr.op
        if isinstance(op, relax.GlobalVar):
            func = self._evaluator._mod[op]
            if not isinstance(func, relax.Function):
                raise Unsupported(f"call of a {type(func).__name__}")
            return self._evaluator._call(func, [self.value(a) for a in expr.args], {}, {})
        if isinstance(op, relax.Var):
            closure = self.env[op]
            return closure([self.value(a) for a in expr.args])
        if isinstance(op, tvm.ir.Op):
            record = table.get(op.name.removeprefix("relax."))
            if record is None:
                raise Unsupported(f"operator {op.name}")
            args = [self.value(a) for a in expr.args]
            try:
                result = _arrays(record.reference(args, expr.attrs))
            except Exception as error:
                raise Unsupported(f"operands that {op.name} is not defined for: {error}") from error
            perturb = self._evaluator._perturb
            if perturb is None and undefined(record, args, result):
                raise Unsupported(f"operands that {op.name} is not defined for")
            return result if perturb is None else perturb(result)
        raise Unsupported(f"call of a {type(op).__name__}")

    def branch(self, expr: relax.If) -> Any:
        return self.value(expr.true_branch if bool(self.value(expr.cond)) else expr.false_branch)

    def closure(self, expr: relax.Function) -> Any:
        return lambda args: self._evaluator._call(expr, args, self.env, self.dims)

    def dim(self, expr: Any) -> int:
        """The value of a symbolic dimension."""
        if isinstance(expr, tirx.IntImm):
            return int(expr.value)
        if isinstance(expr, tirx.Var):
            if expr not in self.dims:
                raise Unsupported(f"symbolic variable {expr.name} without a value")
            return self.dims[expr]
        operation = _ARITHMETIC.get(type(expr).__name__)
        if operation is None:
            raise Unsupported(f"dimension {type(expr).__name__}")
        return int(operation(self.dim(expr.a), self.dim(expr.b)))

    def match(self, ty: relax.Type, value: Any) -> None:
        """Define the symbolic variables of a type by a value, and check the rest of it."""
        if isinstance(ty, relax.TensorType):
            if not isinstance(value, np.ndarray):
                raise Mismatch(f"Expected {ty} but got {value!r}")
            if ty.dtype is not None and value.dtype != dtype_of(str(ty.dtype)):
                raise Mismatch(f"Expected {ty} but got dtype {value.dtype}")
            if isinstance(ty.shape, relax.ShapeExpr):
                self._match_dims(ty.shape.values, value.shape)
        elif isinstance(ty, relax.ShapeType) and ty.values is not None:
            self._match_dims(ty.values, value)
        elif isinstance(ty, relax.TupleType):
            if not isinstance(value, tuple | list) or len(value) != len(ty.fields):
                raise Mismatch(f"Expected {ty} but got {value!r}")
            for field, item in zip(ty.fields, value, strict=True):
                self.match(field, item)

    def _match_dims(self, dims: Sequence[Any], values: Sequence[int]) -> None:
        if len(dims) != len(values):
            raise Mismatch(f"Expected rank {len(dims)} but got {tuple(values)}")
        for dim, value in zip(dims, values, strict=True):
            if isinstance(dim, tirx.Var):
                known = self.dims.setdefault(dim, int(value))
                if known != value:
                    raise Mismatch(f"Expected {dim.name} == {known} but got {value}")
        for dim, value in zip(dims, values, strict=True):
            if not isinstance(dim, tirx.Var) and self._known(dim) not in (None, value):
                raise Mismatch(f"Expected {dim} but got {value}")

    def _known(self, dim: Any) -> int | None:
        """None where a variable gets its value from a later parameter."""
        try:
            return self.dim(dim)
        except Unsupported:
            return None


def _arrays(result: Any) -> Any:
    """NumPy's scalars, which it gives for operands of rank 0, as arrays of rank 0."""
    if isinstance(result, tuple | list):
        return tuple(map(_arrays, result))
    return np.asarray(result) if isinstance(result, np.generic) else result


_VISIT: Mapping[type, Callable[[_Frame, Any], Any]] = {
    relax.SeqExpr: _Frame.seq,
    relax.Var: _Frame.variable,
    relax.DataflowVar: _Frame.variable,
    relax.Call: _Frame.call,
    relax.If: _Frame.branch,
    relax.Function: _Frame.closure,
    relax.Tuple: lambda f, e: tuple(f.value(field) for field in e.fields),
    relax.TupleGetItem: lambda f, e: f.value(e.tuple_value)[e.index],
    relax.ShapeExpr: lambda f, e: tuple(f.dim(d) for d in e.values),
    tvm.ir.GenericConst: lambda f, e: e.value.numpy(),
    tirx.IntImm: lambda f, e: int(e.value),
    tirx.FloatImm: lambda f, e: float(e.value),
    tvm.ir.StringImm: lambda f, e: str(e.value),
}

_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "FloorDiv": lambda a, b: a // b,
    "FloorMod": lambda a, b: a % b,
    "Max": max,
    "Min": min,
}
