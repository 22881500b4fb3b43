"""The words of the oracle layer: a case, an oracle, a violation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import tvm

from .passcall import PassCall


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to check: a module with one pass, a list of passes, or a named pipeline."""

    mod: tvm.IRModule
    calls: tuple[PassCall, ...] = ()
    """One call: an ordinary check. Two to five: the Sequential of them. None: see `pipeline`."""
    pipeline: str | None = None
    """"zero", "default" or "cpu_generic": checked after each step, blame on the step."""


@dataclass(frozen=True, slots=True)
class Violation:
    """What an oracle found wrong; the value that becomes a finding once it is confirmed."""

    oracle: str
    pass_name: str
    """The pass that is blamed."""
    title: str
    """One line for people: what went wrong, without addresses, indices or paths."""
    detail: str
    """The whole story: exception text, first mismatch, offending node."""
    key: tuple[str, ...]
    """What identifies the bug within one TVM build, besides oracle and pass."""
    fingerprint: tuple[str, ...]
    """The same across TVM versions: no line numbers, no file paths."""


Journal = Callable[[str], None]
"""Told the name of each step before it is taken, so that a dead process leaves its last words."""


def silent(step: str) -> None:
    """A journal that nobody reads."""
