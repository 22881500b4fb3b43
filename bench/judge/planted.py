"""A pass of TVM whose result on one module is altered, and the answers of the oracles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tvm

from relaxfuzz.fuzz.jobs.jobs import Check, violations_of
from relaxfuzz.fuzz.process.journal import Journal
from relaxfuzz.oracles.check import OF_PIPELINES
from relaxfuzz.oracles.pass_runs import digest
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.silence.log import Answer, answers
from relaxfuzz.oracles.structural import idempotence
from relaxfuzz.oracles.tiers import ORACLES, USUAL


@dataclass(frozen=True, slots=True)
class Planted(PassCall):
    """The call of a pass that returns a given module for one particular input.

    It keeps the text of the original call, and thus its contract. A second run leaves the altered
    result unchanged, and any other input gets the original pass's result.
    """

    given: tvm.IRModule | None = None
    result: tvm.IRModule | None = None

    def build(self) -> tvm.transform.Pass:
        """The original pass, except on that one input."""
        original: Any = PassCall.build(self)
        given, result = digest(self.given), digest(self.result)

        def transform(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
            match digest(mod):
                case mark if mark == given:
                    return self.result
                case mark if mark == result:
                    return mod
            return original(mod)

        info = original.info
        return tvm.transform.module_pass(transform, opt_level=info.opt_level, name=info.name)


def planted(call: PassCall, mod: tvm.IRModule, result: tvm.IRModule) -> Planted:
    """The call that gives this result for this module."""
    return Planted(call.expr, call.config, call.imports, given=mod, result=result)


BY_ACCIDENT = frozenset({idempotence.ORACLE.name})
"""Oracles that would notice a planted result by comparing it with an unaltered one."""

THOROUGH = tuple(
    name
    for name, oracle in ORACLES.items()
    if oracle.tier != 2 and name in USUAL and name not in OF_PIPELINES and name not in BY_ACCIDENT
)
"""The oracles of single results. Twins of a module get the original's result, so metamorphic
oracles would notice any fault."""


@dataclass(frozen=True, slots=True)
class Said:
    """The answer of a check to a planted result."""

    oracles: tuple[str, ...]
    """The oracles that report it."""
    titles: tuple[str, ...]
    answers: dict[str, Answer]


def usual(call: PassCall, mod: tvm.IRModule) -> Said:
    """The answer of `relaxfuzz check`."""
    return _said(Check(module="", calls=(call,)), mod)


def thorough(call: PassCall, mod: tvm.IRModule) -> Said:
    """The answer of the oracles with all kinds of arguments."""
    return _said(Check(module="", calls=(call,), oracles=THOROUGH), mod)


def _said(job: Check, mod: tvm.IRModule) -> Said:
    journal = Journal(0)
    journal.adopt(0)
    try:
        with answers(curious=True) as given:
            found = violations_of(job, mod, journal)
    finally:
        journal.close()
    oracles = tuple(dict.fromkeys(each.oracle for each in found))
    return Said(oracles, tuple(each.title for each in found), dict(given))
