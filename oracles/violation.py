"""The basic values of the oracle layer: the checked case, and the violation found in it."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import tvm

from .passcall import PassCall
from .text.frames import Trace


@dataclass(frozen=True, slots=True)
class Case:
    """The subject of a check: a module with one pass, a list of passes, or a named pipeline."""

    mod: tvm.IRModule
    calls: tuple[PassCall, ...] = ()
    """One call: an ordinary check. Several: the Sequential of them. None: see `pipeline`."""
    pipeline: str | None = None
    """"zero", "default" or "cpu_generic"; checked after each step, which is blamed."""


@dataclass(frozen=True, slots=True)
class Raised:
    """The exception behind a violation."""

    kind: str
    """The name of the exception's class."""
    within: str = ""
    """The code of TVM that raised, if many passes share it, e.g. `LEGALIZATION`; else empty."""
    own: str = ""
    """`file:function` of the innermost frame in a user's file; empty if TVM raised outside any."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken promise of a pass, as an oracle reports it; a finding once it is confirmed."""

    title: str
    """One line for people that describes the error, without addresses, indices or paths."""
    detail: str
    """Exception text, first mismatch, offending node."""
    key: tuple[str, ...]
    """The fault that the oracle names, from the whole to the part, without names or TVM's texts."""
    place: str = ""
    """`file:line` of TVM's source that raised, for people."""
    trace: Trace = field(default_factory=Trace)
    """The functions from the pass to the fault, if TVM or Python reported them."""
    raised: Raised | None = None
    reason: str = ""
    """The broken rule, if it identifies the cause by itself for all modules."""
    oracle: str = ""
    """The oracle's name; empty until the violation is blamed, like `pass_name`."""
    pass_name: str = ""
    """The culprit's name: the pass, unless the oracle knows better (an operator, the parser)."""

    @property
    def full_key(self) -> tuple[str, ...]:
        """Oracle, pass and key: they identify the bug on every version of TVM."""
        return self.oracle, self.pass_name, *self.key

    @classmethod
    def titled(cls, title: str, detail: str = "") -> Violation:
        """A violation identified by its title."""
        return cls(title, detail or title, (title,))

    def under(self, what: str, title: str | None = None, detail: str | None = None) -> Violation:
        """The same violation under another promise, e.g. that a second run does not raise.

        Args:
            what: prefix of the key and, unless `title` is given, of the title.
        """
        return dataclasses.replace(
            self,
            title=f"{what}: {self.title}" if title is None else title,
            detail=self.detail if detail is None else detail,
            key=(what, *self.key),
        )

    def blame(self, oracle: str, pass_name: str) -> Violation:
        """The violation of this promise, by this pass unless the oracle has blamed another one."""
        return dataclasses.replace(self, oracle=oracle, pass_name=self.pass_name or pass_name)


Mark: TypeAlias = tuple[str, ...]
"""Oracle, pass, key and trace of a violation; reports with the same mark look alike."""


def mark_of(violation: Violation) -> Mark:
    """The mark of a violation."""
    trace = violation.trace
    own = (*trace.functions, trace.condition) if trace.functions else ()
    return violation.oracle, violation.pass_name, *violation.key, *own


@functools.lru_cache(10_000)
def short_mark(mark: Mark) -> str:
    """A short text that represents a mark."""
    return hashlib.sha256(repr(mark).encode("utf-8", "surrogatepass")).hexdigest()[:16]


StepJournal = Callable[[str], None]
"""Receives the name of each step before the step begins, so that a dead process leaves a trace."""


def silent(step: str) -> None:
    """A journal that records nothing."""
