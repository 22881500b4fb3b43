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
from .dependence import Plan
from .forms import split
from .lanes import Lanes
from .packed_api import NAMES as ARGUMENTS
from .packed_api import Packed, arguments, is_packed
from .runtime import NAMES
from .statements import Statements
from .threads.grid import NAMES as THREADS
from .threads.launch import is_device_code
from .threads.lockstep import Lockstep

STEPS = 2_000_000
"""Iterations of Python loops that one call may take."""

CACHE = 4096
"""Functions whose programs are kept."""

NOTES = ("global_symbol", "op_pattern", "tirx.noalias")
"""Attributes that many functions differ in that otherwise are equal; programs use none."""


class Program:
    """A PrimFunc as Python over NumPy.

    Attributes:
        writes: positions of the parameters that it stores to; behind the packed API, of all
            tensors.
        text: the Python source.
    """

    def __init__(self, func: tirx.PrimFunc) -> None:
        self._func = func
        self._packed = is_packed(func)
        tensors = arguments(func) if self._packed else []
        self._arity = len(tensors) if self._packed else len(func.params)
        writer: Statements
        if self._packed:
            writer = Packed()
        elif is_device_code(func):
            writer = Lockstep()
        else:
            plan = Plan(func)
            serial = [
                loop.node
                for loop in plan.loops.values()
                if loop.kind == "serial" and not loop.blocked
            ]
            if serial:
                func = split(func, serial)
                plan = Plan(func)
            writer = Lanes(plan) if plan.sound else Statements()
        self.text = writer.function(func)
        written = [param.__chandle__() in writer.writes for param in func.params]
        self.writes: tuple[int, ...] = tuple(
            i for i, each in enumerate(tensors if self._packed else written) if each
        )
        self._run = compiled(self.text)

    @functools.cached_property
    def _one_by_one(self) -> Callable[..., Any]:
        """For arguments that share memory, and for empty ones: lanes need an element to look at."""
        if self._packed or is_device_code(self._func):
            return self._run
        return compiled(Statements().function(self._func))

    def __call__(self, *args: Any) -> Any:
        """Run it: arrays for buffers, which it writes into, Python numbers for scalars.

        Raises:
            Mismatch: an array whose shape or dtype its buffer does not have.
            TooLarge: more than `STEPS` iterations.
            Undefined: the program does what has no meaning.
            Unsupported: lanes meet an empty buffer of the PrimFunc's own.
        """
        self.expect(args)
        with np.errstate(all="ignore"):
            try:
                empty = any(isinstance(arg, np.ndarray) and not arg.size for arg in args)
                run = self._one_by_one if empty or self.shares(args) else self._run
                return run(STEPS, *args)
            except ZeroDivisionError as error:
                raise Undefined(Behaviour.DIVISION) from error
            except OverflowError as error:
                raise Undefined(f"an integer that its dtype cannot hold: {error}") from error
            except MemoryError as error:
                raise TooLarge(f"memory: {error}") from error

    def expect(self, args: Sequence[Any]) -> None:
        """Refuse another number of arguments than it takes.

        Raises:
            Mismatch: there are more, or fewer.
        """
        if len(args) != self._arity:
            raise Mismatch(f"Expected {self._arity} arguments but got {len(args)}")

    def shares(self, args: Sequence[Any]) -> bool:
        """Whether a buffer that is written may lie in the memory of another one."""
        return any(
            np.may_share_memory(args[i], other)
            for i in self.writes
            for j, other in enumerate(args)
            if i != j and isinstance(other, np.ndarray)
        )


def compiled(text: str) -> Callable[..., Any]:
    """The function that the text of a program defines.

    Raises:
        Undefined: it leaves a loop where there is none.
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
    """A PrimFunc as a key that is equal for the same object only: to hash its content is dear."""

    def __init__(self, func: tirx.PrimFunc) -> None:
        self.func = func

    def __hash__(self) -> int:
        return hash(self.func)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.func.same_as(other.func)


@functools.lru_cache(CACHE)
def _of_object(same: _Same) -> Program:
    return _program(tvm_ffi.StructuralKey(same.func))


@functools.lru_cache(CACHE)
def _program(key: tvm_ffi.StructuralKey) -> Program:
    func = key.key
    for name in NOTES:
        func = func.without_attr(name)
    return _program_without_notes(tvm_ffi.StructuralKey(func))


@functools.lru_cache(CACHE)
def _program_without_notes(key: tvm_ffi.StructuralKey) -> Program:
    return Program(key.key)


_SPACE = {**NAMES, **THREADS, **ARGUMENTS}
"""The global names of all programs; none of them defines one."""
