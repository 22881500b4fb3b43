"""What a finding shows of its cause: where it raised, what its module calls, what it looks like."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax
from tvm.ir import Op
from tvm.relax.analysis import BaseCheckResult, type_base_check

from ...generators.tvm_api import load_json
from ...oracles import keys
from ...oracles.inspect import bindings_of, has_op_attr, op_name
from ...oracles.oracle import Violation
from ...oracles.passcall import PassCall
from ...oracles.structural.lowering_gaps import unknown
from ..process.executor import Executor, check
from ..process.jobs import Check
from .confirm import DEATHS
from .finding import Finding
from .pattern import pattern

_FRAME = re.compile(r'File "(?P<file>[^"\n]+)", line (?P<line>\d+), in (?P<function>.+)')

_PLACE = re.compile(r"[\w./+-]+\.(?:cc|h|py|pxi):\d+")
"""How the key of an exception ends; it is empty where no frame says anything."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a traceback."""

    file: str
    function: str


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception, as a key has it."""

    kind: str
    text: str
    place: str
    """`file:line` of the innermost frame that says something, or nothing."""


class Evidence:
    """A finding, and what is read from it when a rule asks."""

    def __init__(self, finding: Finding, executor: Executor | None = None) -> None:
        """
        Args:
            executor: where other passes are tried on the module; None: none are.
        """
        self.finding = finding
        self._executor = executor

    @functools.cached_property
    def mod(self) -> tvm.IRModule:
        """The finding's module."""
        return load_json(self.finding.module)

    @functools.cached_property
    def pattern(self) -> str:
        """The module up to names, dtypes, dimensions and the values of constants."""
        return pattern(self.mod)

    @functools.cached_property
    def raised(self) -> Raised | None:
        """The exception that its key names, whatever oracle it came through."""
        key = self.finding.key
        if len(key) < 3 or not re.fullmatch(r"\w+", key[-3]):
            return None
        if key[-1] and not _PLACE.fullmatch(key[-1]):
            return None
        # An ill-formed module has a key of three parts, too, none of which is an exception's name.
        return Raised(*key[-3:]) if key[-3] in _exceptions(self.finding.detail) else None

    @functools.cached_property
    def frames(self) -> tuple[Frame, ...]:
        """The traceback in its detail, outermost frame first."""
        return tuple(
            Frame(found["file"], found["function"].strip())
            for found in _FRAME.finditer(self.finding.detail)
        )

    @functools.cached_property
    def ops(self) -> frozenset[str]:
        """The operators of the model (add, conv2d) that its module calls."""
        return frozenset(
            name
            for binding in bindings_of(self.mod)
            if (name := op_name(binding.value)) is not None and keys.computes(name)
        )

    def unknowns(self) -> Iterator[str]:
        """What is not known of calls of operators, which a legalization must know."""
        for call, name in self._calls():
            found = unknown(call, name)
            if found is not None:
                yield str(found[0])

    def of_other_type(self) -> Iterator[tuple[str, str]]:
        """The operators whose legalization gives another type than their calls have; in what."""
        for call, name in self._calls():
            if has_op_attr(name, "FLegalize"):
                given = _legalized(call, name)
                if given is not None and type_base_check(call.ty, given) != BaseCheckResult.PASS:
                    yield name, _difference(call.ty, given)

    def said_of(self, pass_name: str) -> list[Violation]:
        """What the finding's oracle says of another pass on the same module.

        Raises:
            ExecutorError: the harness failed.
        """
        if self._executor is None:
            return []
        oracle = self.finding.oracle
        job = Check(
            module=self.finding.module,
            calls=(PassCall(f"{pass_name}()"),),
            oracles=None if oracle in DEATHS else (oracle,),
        )
        return [found for found in check(self._executor, job) if found.oracle == oracle]

    def _calls(self) -> Iterator[tuple[relax.Call, str]]:
        for binding in bindings_of(self.mod):
            name = op_name(binding.value)
            if name is not None and (keys.computes(name)):
                yield binding.value, name


def _legalized(call: relax.Call, name: str) -> Any:
    """The type of what the legalization gives; None where it fails, which the finding tells."""
    builder = relax.BlockBuilder()
    builder._begin_binding_block()
    try:
        return builder.normalize(Op.get(name).get_attr("FLegalize")(builder, call)).ty
    except Exception:
        return None
    finally:
        builder._end_block()


def _difference(old: Any, new: Any) -> str:
    """In what two types differ first: an operator may be wrong in each of them."""
    if type(old) is not type(new):
        return f"{type(old).__name__} / {type(new).__name__}"
    if isinstance(old, relax.TensorType):
        if old.ndim != new.ndim:
            return "rank"
        return "shape" if old.dtype == new.dtype else "dtype"
    if isinstance(old, relax.TupleType) and len(old.fields) == len(new.fields):
        differing = (
            _difference(*pair)
            for pair in zip(old.fields, new.fields, strict=True)
            if type_base_check(*pair) != BaseCheckResult.PASS
        )
        return next(differing, "fields")
    return type(old).__name__


def _exceptions(detail: str) -> set[str]:
    """The bare names of the exceptions whose text is in a detail."""
    return set(re.findall(r"^(?:[\w.]+\.)?(\w+)(?::|$)", detail, re.M))
