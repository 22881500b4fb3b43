"""The evaluation of one module: calls of its functions, its constants, the values on the way."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import GlobalVar

from ...compat import ir
from ..errors import Mismatch, NoResult, TooLarge, Undefined, Unsupported
from ..inspect import attr, calls_of, relax_functions
from ..tensorir import Program, has_callees, linked, translate
from ..tensorir.runtime import PATTERN
from .effects import PackedCall
from .expressions import VISIT
from .frame import Evaluation, Frame
from .matching import bind_params
from .memo import constants, copied, memo
from .packed import packed
from .poison import fresh, limited, touch

MAX_CALLS = 200
MAX_DEPTH = 20
"""Bounds on calls of Relax functions beyond those written in the module, and on nested calls; they
end recursion."""

ENDLESS = "recursion without end"


def evaluate(
    mod: tvm.IRModule,
    name: str,
    args: Sequence[Any],
    functions: Mapping[str, Callable[..., Any]] = MappingProxyType({}),
    *,
    effects: list[PackedCall] | None = None,
) -> Any:
    """Evaluate a function of a module in NumPy, without a compiler.

    The evaluator handles modules at every stage of lowering, and shows faults that compiled code
    hides: unwritten memory holds huge numbers, and an access outside a buffer raises.

    Args:
        mod: the module.
        name: the name of a function in it.
        args: ndarrays, numbers, tuples of these, shapes as tuples of int, functions for callbacks.
            They are not changed.
        functions: packed functions that the module may call, by their names.
        effects: receives the calls of packed functions that may have an effect, in order.

    Returns:
        The same kinds of values; () if the function returns nothing. For a PrimFunc, the final
        arrays of all its buffers.

    Raises:
        Unsupported: an operator or expression that the evaluator does not know; it never guesses.
        TooLarge: the evaluation takes too much time or memory.
        Mismatch: an argument that does not meet its parameter's type, or another check of the
            module that fails.
        Undefined: the module has undefined behaviour.
    """
    return Evaluator(mod, effects=effects).run(name, args, functions)


@dataclass(eq=False)
class Evaluator(Evaluation):
    """Evaluates the functions of one module at any stage of lowering.

    Tensors share memory as at run time: every reader sees in-place updates, views and tensors that
    overlap in one storage. Unwritten memory holds huge numbers.
    """

    mod: tvm.IRModule
    prim: Callable[[tirx.PrimFunc, list[Any], list[int], tirx.PrimFunc], Any] | None = None
    """Runs a PrimFunc on arguments, instead of its translation. It also receives the positions of
    the arguments with unwritten memory, and the module's own PrimFunc if SplitHostDevice has taken
    kernels out of it."""

    def __post_init__(self) -> None:
        self.writes = any(type(func) is tirx.PrimFunc for func in self.mod.functions.values())
        if (watch := self.watch) is not None and self.writes:
            self.watch = lambda var, value: watch(var, copied(value))
        self._claimed = False
        self._functions: Mapping[str, Callable[..., Any]] = {}
        self._calls = 0
        self._stack: list[tuple[relax.Function, Sequence[Any]]] = []
        """The functions that are being evaluated, and their arguments."""
        self._constants: dict[int, Any] = {}

    def run(
        self,
        name: str,
        args: Sequence[Any],
        functions: Mapping[str, Callable[..., Any]] = MappingProxyType({}),
        /,
    ) -> Any:
        """The result of a function of the module; see `evaluate`."""
        func = self.mod[name]
        self._functions = functions
        with np.errstate(all="ignore"), limited():
            try:
                own = copied(args) if self.writes else args
                if isinstance(func, tirx.PrimFunc):
                    return self._entered(func, list(own))
                if not isinstance(func, relax.Function):
                    raise Unsupported(f"{name} is a {type(func).__name__}")
                return _exposed(self.call_function(func, [_callback(arg) for arg in own], {}))
            except MemoryError as error:
                raise TooLarge(f"memory: {error}") from error

    def _entered(self, func: tirx.PrimFunc, args: list[Any]) -> Any:
        """Call a PrimFunc from outside; the result is the final state of its buffers."""
        self._watch_all(func, args)
        self._call_prim(func, args)
        self._watch_all(func, args)
        return tuple(arg for arg in args if isinstance(arg, np.ndarray))

    def _watch_all(self, func: tirx.PrimFunc, args: Sequence[Any]) -> None:
        if self.watch is not None:
            for param, arg in zip(func.params, args, strict=False):
                self.watch(param, arg)

    def call_global(self, gvar: GlobalVar, args: Sequence[Any]) -> Any:
        """The result of a function of the module, whatever its kind."""
        func = self.mod.functions.get(gvar)
        if isinstance(func, relax.Function):
            return self.call_function(func, args, {})
        if isinstance(func, tirx.PrimFunc):
            return self._call_prim(func, list(args))
        if isinstance(func, relax.ExternFunc):
            return self.call_packed(str(func.global_symbol), args)
        raise Unsupported(f"call of {gvar.name_hint}, a {type(func).__name__}")

    def named(self, callee: Any) -> Any:
        """The function of the module that a GlobalVar names; any other expression unchanged."""
        return self.mod.functions.get(callee, callee) if type(callee) is GlobalVar else callee

    def call_packed(self, name: str, args: Sequence[Any]) -> Any:
        """The result of a packed function: the caller's own, or a known one."""
        self.note_effect(name, args)
        function = self._functions.get(name)
        return packed(name, args) if function is None else function(*args)

    def note_effect(self, function: str, args: Sequence[Any]) -> None:
        """Note a call of a packed function, before it is made."""
        if self.effects is not None:
            effect = PackedCall(function, copied(tuple(args)), self.asserted, self._claimed)
            self.effects.append(effect)

    def call_function(
        self, func: relax.Function, args: Sequence[Any], env: Mapping[int, Any]
    ) -> Any:
        """The result of a Relax function, given the variables in scope at its definition."""
        self._calls += 1
        if len(self._stack) >= MAX_DEPTH:
            if not env and self._returns_to_itself(func, args):
                raise Undefined(ENDLESS)
            raise Unsupported(f"more than {MAX_DEPTH} calls inside one another")
        if self._calls > MAX_CALLS and self._calls > MAX_CALLS + self._spelled_out:
            raise TooLarge(f"more than {MAX_CALLS} calls besides those of the module's text")
        if len(args) != len(func.params):
            raise Mismatch(f"Expected {len(func.params)} arguments but got {len(args)}")
        frame = Frame(self, env, VISIT)
        bind_params(frame, func, args)
        self._stack.append((func, args))
        around = self.asserted, self._claimed
        if self.effects is not None:
            self.asserted |= bool(attr(func, "relax.force_pure"))
            self._claimed |= bool(func.is_pure)
        try:
            return frame.value(func.body)
        finally:
            self._stack.pop()
            self.asserted, self._claimed = around

    def _returns_to_itself(self, func: relax.Function, args: Sequence[Any]) -> bool:
        """True if a pure function is called with the arguments of a call of it that is in progress.

        If memory changes, the next call may behave differently.
        """
        if not func.is_pure or self.writes:
            return False
        return any(func.same_as(other) and _equal(args, given) for other, given in self._stack)

    @functools.cached_property
    def _spelled_out(self) -> int:
        """The number of calls in the module, to anything: a large module has many functions."""
        return sum(1 for _, func in relax_functions(self.mod) for _ in calls_of(func))

    @functools.cached_property
    def _has_callees(self) -> bool:
        return has_callees(self.mod)

    def _call_prim(self, own: tirx.PrimFunc, args: list[Any]) -> Any:
        func = linked(own, self.mod) if self._has_callees else own
        program = translate(func)
        program.expect(args)
        for position in program.writes:
            self._refuse_constant(args[position])
        whole = [_contiguous(arg) for arg in args]
        try:
            if self.prim is None:
                result = program(*whole) if self.perturb else _called(program, whole)
            else:
                unwritten = [i for i, arg in enumerate(args) if fresh(arg)]
                result = self.prim(func, whole, unwritten, own)
        except NoResult as error:
            error.operands = args
            raise
        for position in program.writes:
            array = whole[position]
            touch(args[position])
            if self.perturb is not None:
                array[...] = self.perturb(array)
            if array is not args[position]:
                args[position][...] = array
        if self.watch is not None:
            self.written = [args[position] for position in program.writes]
        return () if result is None else result

    def _refuse_constant(self, value: Any) -> None:
        """Raise Undefined for a write to (a view of) a constant: it would change later calls."""
        for constant in self._constants.values():
            if isinstance(constant, np.ndarray) and np.may_share_memory(value, constant):
                raise Undefined("a constant is updated in place")

    def constant(self, expr: ir.GenericConst) -> Any:
        """A constant's value: the same array each time.

        Raises:
            Unsupported: a constant that is neither a tensor nor a dtype.
        """
        address = hash(expr)
        if address not in self._constants:
            self._constants[address] = _constant(ir.constant_data(expr))
        return self._constants[address]


def _called(program: Program, args: list[Any]) -> Any:
    """Call a program, or reuse its effect on equal arguments.

    The contents of the arguments decide its results, unless they share memory.
    """
    if not memo.keeps(args) or program.shares(args):
        return program(*args)

    def run() -> Any:
        result = program(*args)
        return result, tuple(args[position].copy() for position in program.writes)

    result, written = memo.value((program, PATTERN.get()), args, run)
    for position, array in zip(program.writes, written, strict=True):
        args[position][...] = array
    return result


def _equal(one: Any, other: Any) -> bool:
    """True if the values are the same, bit by bit; functions must be the same objects."""
    if isinstance(one, tuple | list):
        same = isinstance(other, tuple | list) and len(one) == len(other)
        return same and all(map(_equal, one, other))
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        alike = one.dtype == other.dtype and one.shape == other.shape
        return alike and one.tobytes() == other.tobytes()
    return one is other or (isinstance(one, int | float) and one == other)


def _callback(value: Any) -> Any:
    """The value with functions in the form that the evaluator calls: all arguments in one list."""
    return _wrapped(value, lambda function: lambda args: function(*args))


def _exposed(value: Any) -> Any:
    """The value with functions in the form that others call, perhaps from another evaluation."""
    return _wrapped(value, lambda function: lambda *args: function(list(args)))


def _wrapped(value: Any, wrap: Callable[[Any], Any]) -> Any:
    """The value with its functions replaced, also inside tuples."""
    if isinstance(value, tuple | list):
        return type(value)(_wrapped(each, wrap) for each in value)
    return wrap(value) if callable(value) else value


def _contiguous(value: Any) -> Any:
    if isinstance(value, np.ndarray) and not value.flags.c_contiguous:
        return value.copy()
    return value


def _constant(value: Any) -> Any:
    if isinstance(value, tvm.runtime.Tensor):
        return constants.array(value)
    if isinstance(value, tvm_ffi.dtype):
        return str(value)
    raise Unsupported(f"a constant of {type(value).__name__}")
