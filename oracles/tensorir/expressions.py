"""Expressions of TensorIR as Python text over NumPy.

The same text serves scalars and lanes, since NumPy broadcasts. A value that differs between the
iterations of a vectorised loop is an array with one axis for each such loop; other values are
scalars of Python or NumPy. A vector is an array whose last axis has its scalars. Dtypes stay exact:
integers of loops and shapes (int32 and int64) are Python integers, which take the dtype of the
other operand; everything else has exactly NumPy's type for its dtype.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tvm
from tvm import tirx
from tvm.target.codegen import llvm_get_intrinsic_name

from ...compat import ir
from ..errors import Unsupported
from .intrinsics import BINARY, BITS_OF, EXTERNAL, OF_C, UNARY
from .values import (
    INDEX,
    NATIVE,
    BufferArray,
    PyExpr,
    bits_of,
    constant,
    dtype_of,
    either_bounds,
    fits,
    is_float,
    limits,
    remainder_limits,
    subscript,
    width_of,
)

Operation = Callable[[int, int], int]


class Expressions:
    """Translates expressions; `vars` and `buffers` hold the translated variables and buffers.

    `load` and `call` may be overridden.
    """

    def __init__(self) -> None:
        self.vars: dict[int, PyExpr] = {}
        self.buffers: dict[int, BufferArray] = {}
        self.mask: str | None = None
        """Name of the mask of iterations that evaluate the expression; None for all of them."""
        self._count = 0

    def fresh(self, letter: str) -> str:
        """A new name that is not a prefix of any other."""
        self._count += 1
        return f"{letter}{self._count}_"

    def value(self, expr: Any) -> PyExpr:
        """Translate an expression.

        Raises:
            Unsupported: its kind, dtype or operator is not known.
        """
        visit = VISIT.get(type(expr))
        if visit is None:
            raise Unsupported(f"TensorIR expression {type(expr).__name__}")
        return visit(self, expr)

    def load(self, expr: Any) -> PyExpr:
        """An element of a buffer."""
        storage = self.storage(ir.tensor_of(expr))
        return self.element(storage, self.indices(storage, expr.indices))

    def element(self, storage: BufferArray, indices: Sequence[PyExpr]) -> PyExpr:
        """An element at indices that are known to be in bounds."""
        text = f"{storage.name}[{subscript(indices)}]"
        return PyExpr(text, storage.dtype, lanes=any(index.lanes for index in indices))

    def storage(self, buffer: Any) -> BufferArray:
        handle = buffer.__chandle__()
        if handle not in self.buffers:
            raise Unsupported(f"buffer {getattr(buffer, 'name', buffer)!s} that is not declared")
        return self.buffers[handle]

    def indices(self, storage: BufferArray, exprs: Sequence[Any]) -> list[PyExpr]:
        """Indices, checked at run time unless they are known to be in bounds."""
        if len(exprs) != len(storage.shape):
            raise Unsupported(f"{len(exprs)} indices of {storage.node.name}")
        values = [self.value(expr) for expr in exprs]
        return [
            self._checked(value, size, self.active(expr.ty))
            for expr, value, size in zip(exprs, values, storage.shape, strict=True)
        ]

    def active(self, ty: Any) -> str | None:
        """The mask of iterations that evaluate an expression of this type, shaped as its values."""
        if self.mask is None or width_of(ty) == 1:
            return self.mask
        return f"{self.mask}[..., None]"

    def _checked(self, index: PyExpr, size: PyExpr, active: str | None) -> PyExpr:
        if index.dtype not in INDEX and not index.dtype.startswith(("uint", "int")):
            raise Unsupported(f"index of dtype {index.dtype}")
        if index.below is not None and index.below == size.text:
            return index
        low, high, extent = index.low, index.high, size.literal
        if (
            low is not None
            and high is not None
            and extent is not None
            and 0 <= low <= high < extent
        ):
            return index
        where = "" if active is None else f", {active}"
        return PyExpr(f"at({index.text}, {size.text}{where})", index.dtype, lanes=index.lanes)

    def masked(self, mask: str | None, expr: Any) -> PyExpr:
        """An expression that only the iterations of the mask evaluate."""
        before, self.mask = self.mask, mask
        try:
            return self.value(expr)
        finally:
            self.mask = before

    # Kinds of expressions

    def variable(self, expr: Any) -> PyExpr:
        known = self.vars.get(expr.__chandle__())
        if known is None:
            raise Unsupported(f"variable {expr.name} without a value")
        return known

    def int_imm(self, expr: Any) -> PyExpr:
        dtype, number = dtype_of(expr.ty), int(expr.value)
        if dtype == "bool":
            return PyExpr(str(bool(number)), dtype, weak=True)
        if dtype in INDEX:
            return constant(number, dtype)
        if dtype.startswith(("int", "uint")):
            return PyExpr(str(number), dtype, weak=True)
        raise Unsupported(f"literal of dtype {dtype}")

    def float_imm(self, expr: Any) -> PyExpr:
        dtype, text = dtype_of(expr.ty), repr(float(expr.value))
        if dtype not in NATIVE:
            return PyExpr(f"{dtype}({text})", dtype)
        return PyExpr(text, dtype, weak=True)

    def exact(self, value: PyExpr) -> str:
        """Text of the value as a NumPy scalar or an array."""
        if not value.weak:
            return value.text
        name = "bool_" if value.dtype == "bool" else value.dtype
        return f"{name}({self.held(value)})"

    def held(self, value: PyExpr) -> str:
        """Text of the value as memory holds it, where Python's integers wrap around."""
        if value.weak and value.dtype in INDEX and not fits(value, value.dtype):
            return f"wrapped({value.text}, {bits_of(value.dtype)})"
        return value.text

    def pair(self, a: PyExpr, b: PyExpr) -> tuple[str, str, bool, bool]:
        """Two operands; at least one has the exact dtype, or both are Python integers.

        Returns:
            Their texts, whether the result is a Python number, and whether it has lanes.
        """
        if a.dtype != b.dtype:
            raise Unsupported(f"operands of dtypes {a.dtype} and {b.dtype}")
        if a.weak and b.weak and a.dtype not in INDEX:
            return self.exact(a), b.text, False, False
        return a.text, b.text, a.weak and b.weak, a.lanes or b.lanes

    def arithmetic(self, expr: Any, symbol: str, operation: Operation) -> PyExpr:
        a, b = self.value(expr.a), self.value(expr.b)
        left, right, weak, lanes = self.pair(a, b)
        if a.dtype == "bool":
            raise Unsupported(f"{symbol} of dtype bool")
        if a.dtype not in INDEX:
            return PyExpr(f"({left} {symbol} {right})", a.dtype, weak, lanes)
        low, high = limits(operation, a, b)
        if weak and low is not None and low == high:
            return constant(low, a.dtype)
        return PyExpr(f"({left} {symbol} {right})", a.dtype, weak, lanes, low, high)

    def division(self, expr: Any, *, floor: bool, rest: bool) -> PyExpr:
        a, b = self.value(expr.a), self.value(expr.b)
        left, right, weak, lanes = self.pair(a, b)
        dtype = a.dtype
        if is_float(dtype):
            if floor:
                name = "floor_mod" if rest else "floor_div"
                return PyExpr(f"{name}({left}, {right})", dtype, weak, lanes)
            text = f"fmod({left}, {right})" if rest else f"({left} / {right})"
            return PyExpr(text, dtype, weak, lanes)
        if b.literal == 0 or dtype == "bool":
            raise Unsupported(f"division of {dtype} by {b.text}")
        if b.literal is None and not (b.low is not None and b.low > 0):
            right = self._guarded("divisor", expr.ty, right)
        natural = a.low is not None and a.low >= 0 and b.low is not None and b.low >= 0
        if floor or natural or dtype.startswith("uint"):
            text = f"({left} {'%' if rest else '//'} {right})"
        else:
            text = f"{'truncmod' if rest else 'truncdiv'}({left}, {right})"
        low = high = None
        if (floor or natural) and dtype in INDEX and b.low is not None and b.low > 0:
            low, high = remainder_limits(a, b) if rest else limits(operator.floordiv, a, b)
            if weak and low is not None and low == high:
                return constant(low, dtype)
        return PyExpr(text, dtype, weak, lanes, low, high)

    def _guarded(self, function: str, ty: Any, *args: str) -> str:
        mask = self.active(ty)
        return f"{function}({', '.join(args if mask is None else (*args, mask))})"

    def extreme(self, expr: Any, symbol: str) -> PyExpr:
        a, b = self.value(expr.a), self.value(expr.b)
        left, right, weak, lanes = self.pair(a, b)
        if is_float(a.dtype):
            name = "lesser" if symbol == "<" else "greater"
        elif weak:
            name = "min" if symbol == "<" else "max"
        else:
            name = "minimum" if symbol == "<" else "maximum"
        low, high = limits(min if symbol == "<" else max, a, b)
        return PyExpr(f"{name}({left}, {right})", a.dtype, weak, lanes, low, high)

    def comparison(self, expr: Any, symbol: str) -> PyExpr:
        a, b = self.value(expr.a), self.value(expr.b)
        left, right, _, lanes = self.pair(a, b)
        if symbol == "!=" and is_float(a.dtype):
            return PyExpr(f"differs({left}, {right})", "bool", lanes=lanes)
        return PyExpr(f"({left} {symbol} {right})", "bool", lanes=lanes)

    def logical(self, expr: Any, *, both: bool) -> PyExpr:
        a = self.value(expr.a)
        if width_of(expr.ty) > 1:
            b = self.value(expr.b)
            return PyExpr(f"({a.text} {'&' if both else '|'} {b.text})", "bool", lanes=True)
        if not a.lanes:
            b = self.value(expr.b)
            return PyExpr(f"({a.text} {'and' if both else 'or'} {b.text})", "bool", lanes=b.lanes)
        decided, name = self.named_mask(a.text if both else f"logical_not({a.text})")
        b = self.masked(name, expr.b)
        if name not in b.text:
            return PyExpr(f"({a.text} {'&' if both else '|'} {b.text})", "bool", lanes=True)
        text = f"({decided} & {b.text})" if both else f"({a.text} | ({decided} & {b.text}))"
        return PyExpr(text, "bool", lanes=True)

    def named_mask(self, condition: str) -> tuple[str, str]:
        """Text that defines a mask of the iterations for which a condition holds, and its name."""
        name = self.fresh("m")
        outer = "" if self.mask is None else f" & {self.mask}"
        return f"({name} := {condition}{outer})", name

    def negation(self, expr: Any) -> PyExpr:
        a = self.value(expr.a)
        return PyExpr(
            f"logical_not({a.text})" if a.lanes else f"(not {a.text})", "bool", lanes=a.lanes
        )

    def choice(self, condition: Any, first: Any, second: Any) -> PyExpr:
        """One of two values; only the chosen one is evaluated."""
        cond = self.value(condition)
        if width_of(condition.ty) > 1:
            # Both values are computed: a condition for each scalar cannot guard a vector access.
            a, b = self.value(first), self.value(second)
            left, right, *_ = self.both_exact(a, b)
            return PyExpr(f"where({cond.text}, {left}, {right})", a.dtype, False, True)
        if not cond.lanes:
            a, b = self.value(first), self.value(second)
            left, right, weak, lanes = self.both_exact(a, b)
            return PyExpr(
                f"({left} if {cond.text} else {right})", a.dtype, weak, lanes, *either_bounds(a, b)
            )
        mask, name = self.named_mask(cond.text)
        other_mask, other = self.named_mask(f"logical_not({cond.text})")
        a, b = self.masked(name, first), self.masked(other, second)
        left, right, *_ = self.pair(a, b)
        if a.weak and b.weak:
            left = self.exact(a)
        text = cond.text
        wide = "[..., None]" if width_of(first.ty) > 1 else ""
        if name in left or other in right:
            whole = self.fresh("c")
            text = f"({whole} := {text})"
            if name in left:
                left = f"({mask.replace(cond.text, whole, 1)}, {left})[1]"
            if other in right:
                right = f"({other_mask.replace(cond.text, whole, 1)}, {right})[1]"
        return PyExpr(
            f"where({text}{wide}, {left}, {right})", a.dtype, False, True, *either_bounds(a, b)
        )

    def both_exact(self, a: PyExpr, b: PyExpr) -> tuple[str, str, bool, bool]:
        """Texts of two values, either of which may become the result."""
        if a.dtype != b.dtype:
            raise Unsupported(f"operands of dtypes {a.dtype} and {b.dtype}")
        lanes = a.lanes or b.lanes
        if a.dtype in INDEX or a.dtype == "bool":
            return a.text, b.text, a.weak and b.weak, lanes
        return self.exact(a), self.exact(b), False, lanes

    def ramp(self, expr: Any) -> PyExpr:
        """A vector of numbers that grow by a stride."""
        base, stride, width = self.value(expr.base), self.value(expr.stride), width_of(expr.ty)
        texts = [f"{part.text}[..., None]" if part.lanes else part.text for part in (base, stride)]
        steps = self.numbers(width, base.dtype)
        text = steps if texts[1] == "1" else f"{texts[1]} * {steps}"
        high = None
        if base.high is not None and stride.literal is not None and stride.literal >= 0:
            high = base.high + stride.literal * (width - 1)
        low = None if high is None else base.low
        return PyExpr(f"({texts[0]} + {text})", base.dtype, False, True, low, high)

    def numbers(self, width: int, dtype: str) -> str:
        """Text of the vector of the numbers from zero to `width - 1`."""
        return f"steps({width}, {dtype})"

    def broadcast(self, expr: Any) -> PyExpr:
        """A vector of one value: NumPy repeats it."""
        value = self.value(expr.value)
        if not value.lanes:
            return value
        text = f"{value.text}[..., None]"
        return PyExpr(text, value.dtype, False, True, value.low, value.high)

    def select(self, expr: Any) -> PyExpr:
        """Both values may be computed, but compilers guard the accesses of each."""
        return self.choice(expr.condition, expr.true_value, expr.false_value)

    def let(self, expr: Any) -> PyExpr:
        value = self.value(expr.value)
        name = self.fresh("v")
        self.vars[expr.var.__chandle__()] = dataclasses.replace(value, text=name, below=None)
        body = self.value(expr.body)
        text = f"(({name} := {value.text}), {body.text})[1]"
        return dataclasses.replace(body, text=text, below=None)

    def cast(self, expr: Any) -> PyExpr:
        return self.converted(self.value(expr.value), dtype_of(expr.ty))

    def converted(self, value: PyExpr, dtype: str) -> PyExpr:
        source = value.dtype
        if source == dtype:
            return value
        if source in INDEX and dtype in INDEX:
            low, high = value.low, value.high
            if dtype == "int32" and not fits(value, dtype):
                text = f"wrapped({value.text}, 32)" if value.weak else f"cast({value.text}, int32)"
                return PyExpr(text, dtype, value.weak, value.lanes)
            if value.weak:
                return PyExpr(value.text, dtype, True, value.lanes, low, high, value.below)
            return PyExpr(f"cast({value.text}, {dtype})", dtype, False, value.lanes, low, high)
        name = "bool_" if dtype == "bool" else dtype
        return PyExpr(f"cast({self.exact(value)}, {name})", dtype, lanes=value.lanes)

    def bitwise(self, expr: Any, symbol: str) -> PyExpr:
        left, right, weak, lanes = self.pair(a := self.value(expr.a), self.value(expr.b))
        return PyExpr(f"({left} {symbol} {right})", a.dtype, weak, lanes)

    def inverted(self, expr: Any) -> PyExpr:
        a = self.value(expr.a)
        if a.dtype == "bool":
            return self.negation(expr)
        return PyExpr(
            f"(~{a.text if a.dtype in INDEX else self.exact(a)})", a.dtype, a.weak, a.lanes
        )

    def shifted(self, expr: Any, symbol: str) -> PyExpr:
        a, b = self.value(expr.a), self.value(expr.b)
        left, right, weak, lanes = self.pair(a, b)
        bits = BITS_OF.get(a.dtype)
        if bits is None:
            raise Unsupported(f"shift of dtype {a.dtype}")
        if b.literal is None or not 0 <= b.literal < bits:
            right = self._guarded("shift", expr.ty, right, str(bits))
        low = high = None
        if weak and symbol == ">>" and b.literal is not None and a.low is not None:
            low, high = a.low >> b.literal, None if a.high is None else a.high >> b.literal
        text = f"({left} {symbol} {right})"
        value = PyExpr(text, a.dtype, weak, lanes, low, high)
        return self.shifted_out(expr, value) if weak and symbol == "<<" else value

    def shifted_out(self, expr: Any, value: PyExpr) -> PyExpr:
        """A Python integer truncated to the bits that its dtype holds."""
        return dataclasses.replace(value, text=self.held(value))

    def call(self, expr: Any) -> PyExpr:
        """A call of an intrinsic."""
        name = getattr(expr.op, "name", None)
        if name is None:
            raise Unsupported(f"call of a {type(expr.op).__name__}")
        short = name.rpartition(".")[2]
        args = expr.args
        if short == "if_then_else":
            return self.choice(*args)
        if short in ir.BITWISE:
            operands = ir.Operands(args[0], args[-1], expr.ty)
            return VISIT[ir.BITWISE[short]](self, operands)
        if short in ("likely", "tvm_thread_invariant"):
            return self.value(args[0])
        if short == "reinterpret":
            value, dtype = self.value(args[0]), dtype_of(expr.ty)
            if BITS_OF.get(value.dtype) != BITS_OF.get(dtype) or dtype == "bool":
                raise Unsupported(f"reinterpret of {value.dtype} as {dtype}")
            return PyExpr(f"reinterpret({self.exact(value)}, {dtype})", dtype, lanes=value.lanes)
        if short in UNARY and len(args) == 1:
            a = self.value(args[0])
            if short in ("isnan", "isinf", "isfinite"):
                return PyExpr(f"{short}({self.exact(a)})", "bool", lanes=a.lanes)
            dtype = dtype_of(expr.ty)
            if short in _INTEGER or (short in ("abs", "fabs") and a.dtype in BITS_OF):
                return PyExpr(f"{short}({self.exact(a)})", dtype, lanes=a.lanes)
            self._float(short, a)
            return PyExpr(f"{short}({self.exact(a)})", dtype, lanes=a.lanes)
        if short in BINARY and len(args) == 2:
            a, b = self.value(args[0]), self.value(args[1])
            self._float(short, a)
            return PyExpr(
                f"{short}({self.exact(a)}, {self.exact(b)})", a.dtype, lanes=a.lanes or b.lanes
            )
        if short == "fma":
            a, b, c = map(self.value, args)
            text = f"({self.exact(a)} * {self.exact(b)} + {self.exact(c)})"
            return PyExpr(text, a.dtype, lanes=a.lanes or b.lanes or c.lanes)
        if short == "q_multiply_shift":
            return self._fixed_point(*map(self.value, args))
        if short == "call_llvm_pure_intrin":
            return self._llvm(*args)
        if short in EXTERNAL:
            return self._external(str(args[0].value), list(args)[1:], dtype_of(expr.ty))
        if short == "undef":
            dtype = dtype_of(expr.ty)
            return PyExpr(f"undefined({dtype})", dtype, weak=dtype in INDEX)
        if short == "large_uint_imm":
            number = int(args[0].value) | int(args[1].value) << 32
            return PyExpr(str(number), dtype_of(expr.ty), weak=True)
        raise Unsupported(f"TensorIR operator {name}")

    def _fixed_point(self, x: PyExpr, y: PyExpr, bits: PyExpr, shift: PyExpr) -> PyExpr:
        """The product of fixed-point numbers.

        The docstring divides by `2**shift`, the code of all targets multiplies with it.
        """
        if shift.literal != 0 or bits.literal is None or bits.literal <= 0:
            raise Unsupported("q_multiply_shift with a shift, or with bits that are no constant")
        text = f"fixed_point({self.exact(x)}, {self.exact(y)}, {bits.literal})"
        return PyExpr(text, "int32", lanes=x.lanes or y.lanes)

    def _external(self, name: str, operands: Sequence[Any], dtype: str) -> PyExpr:
        """A call of a function linked to the compiled code."""
        if name not in OF_C:
            raise Unsupported(f"external function {name}")
        function, expected = OF_C[name]
        values = [self.value(operand) for operand in operands]
        if {dtype, *(value.dtype for value in values)} != {expected}:
            raise Unsupported(f"external function {name} of dtype {dtype}")
        texts = ", ".join(map(self.exact, values))
        return PyExpr(f"{function}({texts})", dtype, lanes=any(value.lanes for value in values))

    def _llvm(self, name: Any, *operands: Any) -> PyExpr:
        """An intrinsic of LLVM that computes the same as TensorIR's intrinsic of that name."""
        long = str(llvm_get_intrinsic_name(int(name.value)))
        short = long.removeprefix("llvm.")
        values = [self.value(operand) for operand in operands]
        lanes = any(value.lanes for value in values)
        if short == "fmuladd":
            a, b, c = map(self.exact, values)
            return PyExpr(f"({a} * {b} + {c})", values[0].dtype, lanes=lanes)
        if short not in (UNARY if len(values) == 1 else BINARY) or short in _OTHERWISE:
            raise Unsupported(f"intrinsic {long}")
        texts = ", ".join(map(self.exact, values))
        return PyExpr(f"{short}({texts})", values[0].dtype, lanes=lanes)

    def _float(self, name: str, operand: PyExpr) -> None:
        if not is_float(operand.dtype):
            raise Unsupported(f"{name} of dtype {operand.dtype}")


_INTEGER = frozenset({"clz", "popcount"})

_OTHERWISE = ("round",)
"""Intrinsics that LLVM and TensorIR define differently: LLVM rounds halves away from zero."""


VISIT: Mapping[type, Callable[[Any, Any], PyExpr]] = {
    tirx.Var: lambda t, e: t.variable(e),
    tirx.IntImm: lambda t, e: t.int_imm(e),
    tirx.FloatImm: lambda t, e: t.float_imm(e),
    ir.TensorLoad: lambda t, e: t.load(e),
    tvm.ir.Call: lambda t, e: t.call(e),
    ir.Cast: lambda t, e: t.cast(e),
    ir.Add: lambda t, e: t.arithmetic(e, "+", operator.add),
    ir.Sub: lambda t, e: t.arithmetic(e, "-", operator.sub),
    ir.Mul: lambda t, e: t.arithmetic(e, "*", operator.mul),
    ir.Div: lambda t, e: t.division(e, floor=False, rest=False),
    ir.Mod: lambda t, e: t.division(e, floor=False, rest=True),
    ir.FloorDiv: lambda t, e: t.division(e, floor=True, rest=False),
    ir.FloorMod: lambda t, e: t.division(e, floor=True, rest=True),
    ir.Min: lambda t, e: t.extreme(e, "<"),
    ir.Max: lambda t, e: t.extreme(e, ">"),
    ir.EQ: lambda t, e: t.comparison(e, "=="),
    ir.NE: lambda t, e: t.comparison(e, "!="),
    ir.LT: lambda t, e: t.comparison(e, "<"),
    ir.LE: lambda t, e: t.comparison(e, "<="),
    ir.GT: lambda t, e: t.comparison(e, ">"),
    ir.GE: lambda t, e: t.comparison(e, ">="),
    ir.And: lambda t, e: t.logical(e, both=True),
    ir.Or: lambda t, e: t.logical(e, both=False),
    ir.Not: lambda t, e: t.negation(e),
    ir.Select: lambda t, e: t.select(e),
    ir.Ramp: lambda t, e: t.ramp(e),
    ir.Broadcast: lambda t, e: t.broadcast(e),
    ir.Let: lambda t, e: t.let(e),
    ir.BitwiseAnd: lambda t, e: t.bitwise(e, "&"),
    ir.BitwiseOr: lambda t, e: t.bitwise(e, "|"),
    ir.BitwiseXor: lambda t, e: t.bitwise(e, "^"),
    ir.BitwiseNot: lambda t, e: t.inverted(e),
    ir.LShift: lambda t, e: t.shifted(e, "<<"),
    ir.RShift: lambda t, e: t.shifted(e, ">>"),
}
"""The method that translates each kind of expression."""
