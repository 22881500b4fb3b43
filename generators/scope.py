"""The scope of one Relax function while it is generated: values, dims, bindings."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np
from tvm import relax, tirx
from tvm.ir import PrimType

from ..compat import ir
from ..compat.ops import relax_op
from .choices import Choices
from .module_scope import ModuleScope
from .rewrite.nodes import defining
from .traits import Trait
from .values import (
    Dim,
    OperandRequest,
    Value,
    holds_function,
    uniform,
    value_of,
)

DEFAULT_DTYPE = "float32"
DIVISORS = (1, 1, 1, 2, 2, 10)
"""Constant floats are multiples of 1 / divisor: mostly exact, also in sums and products."""
NARROW = ("int8", "uint8", "int16", "uint16")
"""Integer dtypes with constants of their whole range, so that sums and products wrap."""
_STRIDES = (1, 0, 2, 3)
FORGOTTEN = 0.25
"""The chance that an operand's type for a function or PrimFunc lacks the shape, if the module has
match_casts."""
LARGEST = 4096
"""The most elements of a tensor of more than two axes, before operators enlarge it."""
DTYPES = ("float32", "float16", "float64", "int32", "int64", "int8", "uint8", "bool")


def near(numbers: Sequence[float], which: int) -> float:
    """One of the numbers, a neighbour of it, or twice or half of it."""
    way, at = divmod(which, len(numbers))
    number = numbers[at]
    return number + (0, number, 0.5, -0.5, 1, -1, -number / 2)[way % 7]


def _variables(dims: Sequence[Dim]) -> list[tirx.Var]:
    return _mentioned(relax.ShapeType(list(dims)))


def _mentioned(ty: relax.Type) -> list[tirx.Var]:
    return list(relax.analysis.tir_vars_in_type(ty))


Supplier: TypeAlias = Callable[["Choices", "Scope", OperandRequest], "Value | None"]
"""Gives the requested operand; None: any other that fits."""


State: TypeAlias = tuple[
    list[relax.Binding],
    list[relax.BindingBlock],
    list[Value],
    list[relax.Var],
    tuple[list[relax.Var], list[relax.Var]],
    set[tirx.Var],
    list[relax.Var],
    tuple[int, int],
    tuple[bool, bool, int, bool],
]


class Scope:
    """Values that the function under construction may use; makes fresh ones on demand."""

    def __init__(self, module: ModuleScope, dims: Sequence[Dim], dtypes: Sequence[str]) -> None:
        self.module = module
        self.dims = tuple(dims)
        self.dtypes = tuple(dtypes)
        self.params: list[relax.Var] = []
        self.values: list[Value] = []
        self.tuples: list[relax.Var] = []
        self.shapes: list[relax.Var] = []
        self.numbers: list[relax.Var] = []
        self.blocks: list[relax.BindingBlock] = []
        self.pure = True
        self.exporting = False
        """True if the current bindings outlive their dataflow block."""
        self.device: ir.VDevice | None = None
        """The device of the next binding's operands: each is on it, or on no particular one."""
        self.next_operands: Sequence[Supplier] = ()
        """Suppliers of the next requested operands, one each."""
        self._found: set[tirx.Var] = set()
        """Symbolic variables that bindings define: match_casts, and numbers."""
        self._bindings: list[relax.Binding] = []
        self._dataflow = False
        self._local_from = 0
        self._exports = False

    def has(self, trait: Trait) -> bool:
        """True if the module under construction has the trait."""
        return trait in self.module.traits

    # Operands

    def tensor(
        self,
        c: Choices,
        *,
        dtype: str | Collection[str] | None = None,
        ndim: int | Collection[int] | None = None,
        shape: Sequence[Dim] | None = None,
        static: bool = False,
        complete: bool = True,
        where: Callable[[Value], bool] | None = None,
        fresh_shape: Sequence[Dim] | None = None,
    ) -> Value:
        """A tensor that meets all the conditions: one in scope, or a fresh parameter or constant.

        Args:
            c: the source of the decisions.
            dtype: the dtype, or the allowed ones; None for any.
            ndim: the rank, or the allowed ones; None for any.
            shape: exactly this shape (symbolic dims compared structurally).
            static: every dimension is a known integer.
            complete: shape and dtype are known. False also admits incomplete types (rank only,
                unknown rank, unknown dtype) if the module has the trait; then `Value.shape` or
                `Value.dtype` may be None.
            where: a further condition on candidates in scope.
            fresh_shape: the shape of a fresh tensor if none in scope fits; it must meet the
                conditions. None: a shape of `shape(c, ...)`.
        """
        request = OperandRequest(
            (dtype,) if isinstance(dtype, str) else dtype,
            (ndim,) if isinstance(ndim, int) else ndim,
            shape,
            static,
            complete,
            where,
            fresh_shape,
            self.device,
        )
        if self.next_operands:
            supply, *rest = self.next_operands
            self.next_operands = ()  # the supplier may build calls with other operands
            value = supply(c, self, request)
            self.next_operands = rest
            if value is not None:
                return value
        return self.operand(c, request)

    def operand(self, c: Choices, request: OperandRequest) -> Value:
        """A tensor that meets the request: one in scope, or a fresh parameter or constant."""
        candidates = [value for value in reversed(self.values) if request.fits(value)]
        if candidates and not c.flag(0.12):
            # Mostly the latest, so that operators form chains.
            at = c.below(len(candidates) + len(candidates) // 2)
            return candidates[at if at < len(candidates) else 0]
        dtypes, ndims = request.dtypes, request.ndims
        fresh_dtype = self.dtype(c, dtypes)
        shape = request.fresh_shape if request.shape is None else request.shape
        if shape is None:
            rank = self.rank(c, ndims)
            if (
                not request.complete
                and not request.static
                and request.where is None
                and self.has(Trait.INCOMPLETE_TYPES)
                and c.flag(0.4)
            ):
                return self._incomplete(c, rank, fresh_dtype, ndims is None, dtypes is None)
            shape = self.shape(c, rank, static=request.static)
        return self.fresh(c, shape, fresh_dtype)

    def fresh(self, c: Choices, shape: Sequence[Dim], dtype: str) -> Value:
        """A new parameter of the function, or sometimes a constant if the shape is static.

        With dims that a binding defines, it is filled on the spot instead: a parameter would have
        other sizes than the cast value.
        """
        if self._found and self._found.intersection(_variables(shape)):
            fill = relax_op.zeros if c.flag() else relax_op.ones
            return self.emit(fill(relax.ShapeExpr(list(shape)), dtype))
        bound = bool(self.params) and self.has(Trait.BOUND_PARAMS)  # as BindParams leaves it
        if self.has(Trait.CONSTANTS) and c.flag(0.95 if bound else 0.3 if len(shape) else 0.7):
            static = [d for d in shape if isinstance(d, int)]
            if len(static) == len(shape) and math.prod(static) <= 256:
                return self.constant(c, static, dtype)
        vdevice = self.device if self.device is not None and c.flag() else None
        ty = relax.TensorType(self.shape_expr(c, shape), dtype, vdevice)
        return self._param(ty, tuple(shape))

    def constant(
        self,
        c: Choices,
        shape: Sequence[int],
        dtype: str,
        *,
        low: int | None = None,
        high: int | None = None,
    ) -> Value:
        """A constant with small values: whole numbers, and fractions in floats.

        They are in [low, high], by default from -3 to 3. Without bounds they may be near the
        numbers that the module is to have, or anywhere in the range of a narrow integer dtype.

        Steps are equal; sometimes one number repeats the one before it.

        If the module has the trait, equal constants are one node, as tied weights are. An empty one
        becomes a parameter instead: TVM cannot load an empty constant from JSON.
        """
        size = math.prod(shape)
        if size == 0:
            return self._param(relax.TensorType(list(shape), dtype), tuple(shape))
        free = low is None and high is None
        numbers = self.module.numbers if free and dtype != "bool" else ()
        low, high = -3 if low is None else low, 3 if high is None else high
        if dtype == "bool":
            low, high = 0, 1
        elif dtype.startswith("uint"):
            low, high = max(low, 0), max(high, 0)
        choice = c.below(65_536)  # one decision, since many calls have few bytes left for constants
        if numbers and choice % 2:
            return self._near(choice // 2, shape, dtype, numbers)
        choice, stride = divmod(choice // 2, len(_STRIDES))
        choice, nature = divmod(choice, len(DIVISORS))
        divisor = DIVISORS[nature] if low < high and "float" in dtype else 1
        if free and dtype in NARROW and DIVISORS[nature] == 2:
            low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        choice, first = divmod(choice, (high - low) * divisor + 1)
        repeats = 1 + choice // 3 % (size - 1) if size > 2 and choice % 3 == 2 else None
        stride = _STRIDES[stride]
        key = (tuple(shape), dtype, low, high, divisor, first, stride, repeats)
        expr = self.module.constants.get(key) if self.has(Trait.SHARED_CONSTANTS) else None
        if expr is None:
            steps = (first + stride * np.arange(size)) % ((high - low) * divisor + 1)
            if repeats is not None:
                steps[repeats] = steps[repeats - 1]
            data = (low + steps / divisor).astype(np.dtype(dtype)).reshape(tuple(shape))
            expr = self.module.constants[key] = relax.const(data, dtype)
        return Value(expr, tuple(shape), dtype, len(shape))

    def _near(
        self, which: int, shape: Sequence[int], dtype: str, numbers: Sequence[float]
    ) -> Value:
        """A constant of one value everywhere."""
        value = near(numbers, which)
        if "float" not in dtype:
            bounds = np.iinfo(dtype)
            value = min(max(int(value), int(bounds.min)), int(bounds.max))
        return Value(uniform(shape, value, dtype), tuple(shape), dtype, len(shape))

    def shape(self, c: Choices, ndim: int, *, static: bool = False) -> tuple[Dim, ...]:
        """A shape from the function's palette: small dims, sometimes 1, 0 or symbolic."""
        dims = [d for d in self.dims if isinstance(d, int)] if static else self.dims
        shape = [c.pick(dims) for _ in range(ndim)]
        while len(shape) > 2 and math.prod(d for d in shape if isinstance(d, int)) > LARGEST:
            shape[shape.index(max(d for d in shape if isinstance(d, int)))] = 2
        return tuple(shape)

    def shape_expr(self, c: Choices, dims: Sequence[Dim]) -> relax.ShapeExpr:
        """A ShapeExpr of these dims.

        If the module has the trait, it is sometimes a node that another function uses too.
        """
        static = tuple(d for d in dims if isinstance(d, int))
        if self.has(Trait.SHARED_SHAPES) and len(static) == len(dims) and c.flag(0.7):
            return self.module.shapes.setdefault(static, relax.ShapeExpr(static))
        return relax.ShapeExpr(list(dims))

    def param(self, ty: relax.Type, name: str = "x") -> relax.Var:
        """A new parameter of any type; tensors are better made with `fresh`."""
        var = relax.Var(f"{name}{len(self.params)}", ty)
        self.params.append(var)
        return var

    def adopt(self, variables: Sequence[relax.Var]) -> bool:
        """Make these variables parameters, unless bindings define variables of their types."""
        if any(self._found.intersection(_mentioned(var.ty)) for var in variables):
            return False
        self.params += variables
        self._offer(variables)
        return True

    def _offer(self, params: Sequence[relax.Var]) -> None:
        """Put parameters before the values of the current block, because they outlive the block."""
        for var in params:
            value = value_of(var)
            if value is not None:
                self.values.insert(self._local_from, value)
                self._local_from += 1

    def _param(self, ty: relax.TensorType, shape: tuple[Dim, ...] | None) -> Value:
        dtype = str(ty.dtype) if ty.dtype is not None else None
        value = Value(self.param(ty), shape, dtype, ty.ndim, ty.vdevice)
        self.values.insert(self._local_from, value)
        self._local_from += 1
        return value

    def _incomplete(
        self, c: Choices, ndim: int, dtype: str, any_rank: bool, any_dtype: bool
    ) -> Value:
        unknown_rank = any_rank and c.flag(0.4)
        known_dtype = None if any_dtype and c.flag(0.3) else dtype
        rank = -1 if unknown_rank else ndim
        return self._param(relax.TensorType(dtype=known_dtype or "", ndim=rank), None)

    def dtype(self, c: Choices, allowed: Collection[str] | None) -> str:
        """One of the allowed dtypes, preferably of the function's palette."""
        if allowed is None:
            return c.pick(self.dtypes)
        return c.pick([d for d in self.dtypes if d in allowed] or list(allowed))

    def rank(self, c: Choices, allowed: Collection[int] | None) -> int:
        """One of the allowed ranks."""
        return c.pick((2, 1, 3, 4, 0)) if allowed is None else c.pick(list(allowed))

    # Bindings

    def emit(self, expr: relax.Expr, *, export: bool = False) -> Value:
        """Bind an expression to a variable at the current place; the result must be a tensor.

        Args:
            expr: a call or another expression that may be the value of a binding.
            export: the variable must outlive its dataflow block.
        """
        value = value_of(self.bind(expr, export=export))
        if value is None:
            raise TypeError(f"Expected a tensor expression but got {expr=!s}")
        return value

    def bind(
        self, expr: relax.Expr, *, export: bool = False, var: relax.Var | None = None
    ) -> relax.Var:
        """Bind an expression; tensors and tuples become values. Pass `var` if `expr` uses it."""
        expr = self._normalized(expr)
        var = self._var(expr.ty, export) if var is None else var
        self._bindings.append(relax.VarBinding(var, expr))
        self._register(var)
        return var

    def _normalized(self, expr: relax.Expr) -> relax.Expr:
        builder = self.module.builder
        if not isinstance(expr, relax.If):
            return builder.normalize(expr)
        # A branch may use the symbolic variables of the function around it.
        whole = relax.Function([], relax.SeqExpr([], expr), relax.AnyType())
        builder.begin_scope(defining(relax.analysis.free_symbolic_vars(whole)))
        try:
            return builder.normalize(expr)
        finally:
            builder.end_scope()

    def fresh_dim(self, instead_of: Dim | None = None) -> tirx.Var:
        """A symbolic variable that a match_cast is to define.

        Every second one has the name of the symbolic dim that it replaces, so that types printed
        alike may differ.
        """
        name = self.module.unique("k")
        if isinstance(instead_of, tirx.Var) and len(self._found) % 2 == 0:
            name = instead_of.name
        return tirx.Var(name, "int64")

    def match_cast(self, value: relax.Expr, ty: relax.Type) -> relax.Var:
        """Bind `match_cast(value, ty)`."""
        self._found.update(relax.analysis.tir_vars_in_type(ty))
        self._found.difference_update(_variables(self.dims))
        var = self._var(ty, export=False)
        self._bindings.append(relax.MatchCast(var, value, ty))
        self._register(var)
        return var

    def forgotten(self, c: Choices, x: Value) -> relax.Expr:
        """The tensor, sometimes under a type without its shape, as results of packed calls have."""
        if not self.has(Trait.MATCH_CAST) or x.vdevice is not None or not c.flag(FORGOTTEN):
            return x.expr
        return self.match_cast(x.expr, relax.TensorType(dtype=x.dtype or "", ndim=x.ndim))

    def _var(self, ty: relax.Type, export: bool) -> relax.Var:
        number = "" if self.module.one_name else str(self.module.bindings)
        self.module.bindings += 1
        if not self._dataflow:
            return relax.Var(f"v{number}", ty)
        if export or self.exporting:
            self._exports = True
        elif not (isinstance(ty, PrimType) or (isinstance(ty, relax.ShapeType) and not ty.values)):
            return relax.DataflowVar(f"lv{number}", ty)
        # A type that depends on a shape or a number must not name a DataflowVar.
        return relax.Var(f"gv{number}", ty)

    def _register(self, var: relax.Var) -> None:
        value = value_of(var)
        if value is not None:
            # Type inference computes negative sizes for some slices and sections.
            if value.shape is None or all(not isinstance(d, int) or d >= 0 for d in value.shape):
                self.values.append(value)
        elif isinstance(var.ty, PrimType):
            self._found.add(var)
            self.numbers.append(var)
        elif isinstance(var.ty, relax.ShapeType):
            self.shapes.append(var)
        elif isinstance(var.ty, relax.TupleType) and not holds_function(var.ty):
            self.tuples.append(var)

    # Blocks

    def bound(self) -> Sequence[relax.Binding]:
        """The bindings of the current block so far."""
        return self._bindings

    @property
    def in_dataflow(self) -> bool:
        """True if the next binding is in a dataflow block."""
        return self._dataflow

    def state(self) -> State:
        """The state that `restore` needs to undo everything from here on."""
        return (
            list(self._bindings),
            list(self.blocks),
            list(self.values),
            list(self.tuples),
            (list(self.shapes), list(self.numbers)),
            set(self._found),
            list(self.params),
            (len(self.module.functions), len(self.module.vdevices)),
            (self.pure, self._dataflow, self._local_from, self._exports),
        )

    def restore(self, state: State) -> None:
        """Undo all bindings, and additions to the module, since the state."""
        bindings, blocks, values, tuples, others, found, params, (functions, devices), flags = state
        self._bindings, self.blocks = list(bindings), list(blocks)
        self.values, self.tuples = list(values), list(tuples)
        self.shapes, self.numbers = map(list, others)
        self._found = set(found)
        self.params[:] = params  # a branch adds to the parameters of the function around it
        self.pure, self._dataflow, self._local_from, self._exports = flags
        while len(self.module.functions) > functions:
            self.module.functions.popitem()
        del self.module.vdevices[devices:]

    def dataflow(self, on: bool) -> None:
        """Continue in a dataflow block (or a plain one), closing the current one if necessary."""
        on = on and not self.has(Trait.NO_DATAFLOW)
        if self._dataflow == on and (self._bindings or not on):
            return
        self.close()
        self._dataflow = on
        self._exports = False
        self._local_from = len(self.values)

    def close(self) -> None:
        """End the current block; its DataflowVars leave the scope."""
        if self._bindings:
            if self._dataflow and self.has(Trait.ALL_RETURNED):
                self._export_unused()
            if self._dataflow and not self._exports:
                self.bind(self._bindings[-1].var, export=True)
            kind = relax.DataflowBlock if self._dataflow else relax.BindingBlock
            self.blocks.append(kind(self._bindings))
            self._bindings = []
        if self._dataflow:
            self.values = [v for v in self.values if not isinstance(v.expr, relax.DataflowVar)]
            self.tuples = [t for t in self.tuples if not isinstance(t, relax.DataflowVar)]
            self.shapes = [v for v in self.shapes if not isinstance(v, relax.DataflowVar)]
        self._dataflow = False
        self._exports = False
        self._local_from = len(self.values)

    def _export_unused(self) -> None:
        """Export the values that nothing in the dataflow block uses."""
        used = {var for old in self._bindings for var in relax.analysis.free_vars(old.value)}
        new: dict[relax.Expr, relax.Var] = {}
        for at, old in enumerate(self._bindings):
            if not isinstance(old.var, relax.DataflowVar) or old.var in used:
                continue
            var = new[old.var] = self._var(old.var.ty, export=True)
            is_cast = isinstance(old, relax.MatchCast)
            self._bindings[at] = (
                relax.MatchCast(var, old.value, old.ty)
                if is_cast
                else relax.VarBinding(var, old.value)
            )
        self.values = [
            dataclasses.replace(value, expr=new[value.expr]) if value.expr in new else value
            for value in self.values
        ]
        self.tuples = [new.get(var, var) for var in self.tuples]
        self.shapes = [new.get(var, var) for var in self.shapes]

    @contextmanager
    def nested(self) -> Iterator[Scope]:
        """The scope of a branch or local function: it sees these values and has its own bindings.

        It must be outside dataflow blocks. Its fresh tensors become parameters of the function.
        """
        inner = Scope(self.module, self.dims, self.dtypes)
        inner.params = self.params
        inner.values = list(self.values)
        inner._local_from = self._local_from
        inner._found = set(self._found)
        inner.device = self.device
        inner.tuples = list(self.tuples)
        inner.shapes = list(self.shapes)
        known = len(self.params)
        yield inner
        self.pure = self.pure and inner.pure
        self._offer(self.params[known:])
