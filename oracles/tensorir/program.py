"""PrimFuncs as Python functions, translated once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm_ffi
from tvm import tirx

from ...generators.ops.undefined import Behaviour
from ..errors import Mismatch, TooLarge, Undefined
from ..pace import NO_TIME, iterations
from .dependence import LoopPlan
from .lanes import Lanes
from .runtime import NAMES
from .statements import Statements
from .threads.grid import NAMES as THREADS
from .threads.launch import is_device_code
from .threads.lockstep import Lockstep

STEPS = 2_000_000
"""Limit on the iterations of Python loops in one call."""

CACHE = 4096
"""Number of functions whose programs are kept."""

NOTES = ("global_symbol", "op_pattern", "tirx.noalias")
"""Attributes in which many otherwise equal functions differ; programs do not use them."""


class Program:
    """A PrimFunc as Python over NumPy.

    Attributes:
        writes: positions of the parameters that it stores to.
        text: the Python source.
    """

    def __init__(self, func: tirx.PrimFunc) -> None:
        self._func = func
        self._arity = len(func.params)
        writer: Statements
        if is_device_code(func):
            writer = Lockstep()
        else:
            plan = LoopPlan(func)
            writer = Lanes(plan) if plan.sound else Statements()
        self.text = writer.function(func)
        written = [param.__chandle__() in writer.writes for param in func.params]
        self.writes: tuple[int, ...] = tuple(i for i, each in enumerate(written) if each)
        self._run = compiled(self.text)

    @functools.cached_property
    def _one_by_one(self) -> Callable[..., Any]:
        """The program for arguments that share memory or are empty, since lanes need an element."""
        if is_device_code(self._func):
            return self._run
        return compiled(Statements().function(self._func))

    def __call__(self, *args: Any) -> Any:
        """Run the program on arrays for buffers, which it writes to, and numbers for scalars.

        Raises:
            Mismatch: an array whose shape or dtype its buffer does not have.
            TooLarge: more than `STEPS` iterations, or than the time for the check allows.
            Undefined: the program has undefined behaviour.
            Unsupported: lanes meet an empty buffer of the PrimFunc's own.
        """
        self.expect(args)
        if not (steps := iterations(STEPS)):
            raise TooLarge(NO_TIME)
        with np.errstate(all="ignore"):
            try:
                empty = any(isinstance(arg, np.ndarray) and not arg.size for arg in args)
                run = self._one_by_one if empty or self.shares(args) else self._run
                return run(steps, *args)
            except ZeroDivisionError as error:
                raise Undefined(Behaviour.DIVISION) from error
            except OverflowError as error:
                raise Undefined(f"an integer that its dtype cannot hold: {error}") from error
            except MemoryError as error:
                raise TooLarge(f"memory: {error}") from error

    def expect(self, args: Sequence[Any]) -> None:
        """Refuse a wrong number of arguments.

        Raises:
            Mismatch: there are more or fewer than the program takes.
        """
        if len(args) != self._arity:
            raise Mismatch(f"Expected {self._arity} arguments but got {len(args)}")

    def shares(self, args: Sequence[Any]) -> bool:
        """True if a written buffer may share memory with another one."""
        return any(
            np.may_share_memory(args[i], other)
            for i in self.writes
            for j, other in enumerate(args)
            if i != j and isinstance(other, np.ndarray)
        )


def compiled(text: str) -> Callable[..., Any]:
    """The function that the text of a program defines.

    Raises:
        Undefined: it has a break or continue outside of a loop.
    """
    defined: dict[str, Any] = {}
    try:
        code = compile(text, "<TensorIR>", "exec")
    except SyntaxError as error:
        if "loop" not in str(error):
            raise
        raise Undefined(f"a jump out of no loop: {error.msg}") from None
    exec(code, _SPACE, defined)
    program: Callable[..., Any] = defined["program"]
    return program


def translate(func: tirx.PrimFunc) -> Program:
    """The program of a PrimFunc; equal PrimFuncs share it.

    Raises:
        Unsupported: something in it is not known.
    """
    return _of_object(_Same(func))


class _Same:
    """A PrimFunc as a key by identity, since hashing its content is expensive."""

    def __init__(self, func: tirx.PrimFunc) -> None:
        self.func = func

    def __hash__(self) -> int:
        return hash(self.func)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.func.same_as(other.func)


@functools.lru_cache(CACHE)
def _of_object(same: _Same) -> Program:
    func = same.func
    for name in NOTES:
        func = func.without_attr(name)
    return _program(tvm_ffi.StructuralKey(func))


@functools.lru_cache(CACHE)
def _program(key: tvm_ffi.StructuralKey) -> Program:
    return Program(key.key)


_SPACE = {**NAMES, **THREADS}
"""The global names of all programs, none of which defines one."""
