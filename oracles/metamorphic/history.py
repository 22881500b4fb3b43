"""History: earlier runs of a pass on other modules do not affect its result."""

from __future__ import annotations

import re

import tvm

from ...compat.serialization import save_json
from .. import keys
from ..identity import FailureKind
from ..oracle import TWINS, About, Breach, Oracle
from ..pass_runs import Outcome, PassRuns, attempt
from ..passcall import PassCall
from ..structural.canonical import difference
from ..violation import Violation
from . import twins

ROUNDS, THOROUGH = 3, 20
"""Number of rounds in a sample, and if the oracle is asked by name. The fault only shows if a new
function gets the address of a freed one. Allocators reuse memory at once, but not always for the
same object. A fault seen once must be seen again."""

SMALL = 200_000
"""Most characters of a module's JSON for which `THOROUGH` rounds take only a second or two."""

STALE = "gives another result after it has worked on another module"
OVERWRITTEN = "work on another module changes an earlier result"
REMEMBERED = "takes a module for an earlier one with the same names"


def check(runs: PassRuns) -> Violation | None:
    """Run the pass on another module with the same names, then on this one again.

    A module that the pass does not change is skipped: it shows little, but costs as much.
    """
    after = runs.changed_result()
    if after is None:
        return None
    text = save_json(keys.comparable(after))
    for _ in range(_rounds(runs.given.text) if runs.thorough else ROUNDS):
        module = twins.other_module(runs.given.copy())
        if module is None or runs.contract.requires(module) is not None:
            return None
        # Free all of it, so that new objects can get its addresses.
        runs.attempt("another module", runs.directly, module)
        del module
        if save_json(keys.comparable(after)) != text:
            return Violation.titled(OVERWRITTEN)
        again = runs.attempt("after another module", runs.directly, runs.given.copy())
        if again.mark != runs.direct.mark and (found := _stale(after, again)) is not None:
            return found
    return _remembered(runs)


def _rounds(text: str) -> int:
    return THOROUGH if len(text) <= SMALL else ROUNDS


def _stale(before: tvm.IRModule, again: Outcome) -> Violation | None:
    if again.error is not None:
        return keys.exception(again.error).under(STALE)
    assert again.mod is not None
    return difference(before, again.mod, STALE)


def _remembered(runs: PassRuns) -> Violation | None:
    """The violation if the pass treats the other module unlike one with new names."""
    call = runs.call
    module = twins.other_module(runs.given.copy())
    assert module is not None
    other = runs.attempt("another module", runs.directly, module)
    unknown = runs.attempt("under new names", runs.directly, _renamed(module, call))
    if _alike(other, unknown):
        return None
    # Names may matter to the pass in any case.
    stranger = _renamed(_renamed(runs.given.copy(), call), call)
    if not _alike(runs.direct, attempt(runs.directly, stranger)):
        return None
    if other.mod is None or unknown.mod is None:
        return Violation.titled(f"{REMEMBERED}: only one of them raises")
    return difference(unknown.mod, other.mod, REMEMBERED)


def _renamed(mod: tvm.IRModule, call: PassCall) -> tvm.IRModule:
    """The module with other names, except for those that the call mentions."""
    names = frozenset(twins.names(mod))
    return twins.renamed(mod, names.intersection(re.findall(r"\w+", call.expr)))


def _alike(a: Outcome, b: Outcome) -> bool:
    if a.mod is None or b.mod is None:
        return (a.mod is None) == (b.mod is None)
    return difference(a.mod, b.mod, REMEMBERED) is None


ORACLE = Oracle(
    name="history",
    breach=Breach(FailureKind.UNSTABLE, explains=TWINS),
    about=About.RUNS,
    tier=2,
    promise="What a pass does with a module does not depend on the modules before it.",
    source="docs/arch/pass_infra.rst: 'All passes are designed in a Module to Module manner'",
    check=check,
)
