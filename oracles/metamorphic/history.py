"""History: what a pass did with other modules before makes no difference to what it does now."""

from __future__ import annotations

import tvm

from ...compat.serialization import load_json, save_json
from .. import keys
from ..grades.grade import Grade
from ..identity import FailureKind
from ..oracle import Half, Halves, Oracle
from ..pass_runs import Outcome, PassRuns, attempt
from ..structural.canonical import canonical, equivalent
from ..text.halves import both
from ..text.standalone import nested_module, standalone
from ..violation import Case, Violation
from . import twins
from .oracles import renamed

ROUNDS, THOROUGH = 3, 20
"""A function must lie where an earlier one lay that is freed: allocators reuse memory at once, but
not for the same thing each time. In a sample, and where the oracle is asked by name: what was seen
once is to be seen again."""

SMALL = 200_000
"""Characters of a module's JSON with which so many rounds take a second or two."""

STALE = "gives another result after it has worked on another module"
OVERWRITTEN = "work on another module changes an earlier result"
REMEMBERED = "takes a module for an earlier one with the same names"


def check(runs: PassRuns) -> Violation | None:
    """Let the pass work on another module with the same names, then on this one again.

    A module on which it does nothing is skipped: it shows little, and costs as much.
    """
    after = runs.changed_result()
    if after is None:
        return None
    text = save_json(keys.comparable(after))
    for _ in range(_rounds(runs.given.text) if runs.thorough else ROUNDS):
        module = twins.other_module(runs.given.copy())
        if module is None or runs.contract.requires(module) is not None:
            return None
        # Nothing of it may live on, or nothing new can lie where it lay.
        runs.attempt("another module", runs.directly, module)
        del module
        if save_json(keys.comparable(after)) != text:
            return Violation.titled(OVERWRITTEN)
        again = runs.attempt("after another module", runs.directly, runs.given.copy())
        if again.mark != runs.direct.mark and (found := _stale(after, again)) is not None:
            return found
    return None if runs.exempt("renaming") else _remembered(runs)


def _rounds(text: str) -> int:
    return THOROUGH if len(text) <= SMALL else ROUNDS


def _stale(before: tvm.IRModule, again: Outcome) -> Violation | None:
    if again.error is not None:
        return keys.exception(again.error).under(STALE)
    assert again.mod is not None
    expected, actual = keys.comparable(before), keys.comparable(again.mod)
    if equivalent(expected, actual):
        return None
    return keys.mismatch(canonical(expected), canonical(actual), STALE)


def _remembered(runs: PassRuns) -> Violation | None:
    """The other module is treated as one with names that the pass has never met."""
    call = runs.call
    module = twins.other_module(runs.given.copy())
    assert module is not None
    other = runs.attempt("another module", runs.directly, module)
    unknown = runs.attempt("under new names", runs.directly, renamed(module, call))
    if _alike(other, unknown):
        return None
    # Names may matter to the pass anyway; that is another oracle's business.
    stranger = renamed(renamed(runs.given.copy(), call), call)
    if not _alike(runs.direct, attempt(runs.directly, stranger)):
        return None
    if other.mod is None or unknown.mod is None:
        return Violation.titled(f"{REMEMBERED}: only one of them raises")
    expected, actual = keys.comparable(unknown.mod), keys.comparable(other.mod)
    return keys.mismatch(canonical(expected), canonical(actual), REMEMBERED)


def _alike(a: Outcome, b: Outcome) -> bool:
    if a.mod is None or b.mod is None:
        return (a.mod is None) == (b.mod is None)
    return equivalent(keys.comparable(a.mod), keys.comparable(b.mod))


def _halves(case: Case, violation: Violation) -> Halves | None:
    (call,) = case.calls
    text = save_json(case.mod)
    if violation.title.startswith(REMEMBERED):
        other = twins.other_module(case.mod)
        attempt(call.run, case.mod)
        if other is None:
            return None
        stranger = attempt(lambda mod: twins.named_back(call.run(mod)), renamed(other, call))
        return both(
            stranger,
            f"{call.name} on a module with names that it has not met",
            attempt(call.run, other),
            "the same with the names of an earlier module",
        )
    before = attempt(call.run, case.mod)
    if before.mod is None:
        return None
    kept = load_json(save_json(keys.comparable(before.mod)))
    for _ in range(_rounds(text)):
        other = twins.other_module(load_json(text))
        if other is None:
            return None
        attempt(call.run, other)
        del other
        if violation.title.startswith(OVERWRITTEN):
            continue
        again = attempt(call.run, load_json(text))
        if again.mark != before.mark:
            return both(before, "at first", again, "after work on another module")
    return Half("a result at first", kept), Half("after work on another module", before.mod)


def _snippet(case: Case) -> str:
    """Another module of the same names, spelled out, and the runs one after the other."""
    other = twins.other_module(case.mod)
    assert other is not None, "no other module"
    (call,) = case.calls
    run = call.run
    unknown = renamed(renamed(case.mod, call), call)
    lines = [
        f"{standalone(canonical)}\n\n\n# Another module with the same names.",
        nested_module("another", other),
        _RUNS.format(rounds=_rounds(save_json(case.mod))).strip(),
    ]
    if _alike(attempt(run, case.mod), attempt(run, unknown)):
        lines += [
            "\n\n# That other module under names that the pass has not met.",
            nested_module("renamed", renamed(other, call)),
            _NAMES.strip(),
        ]
    return "\n".join(lines)


_RUNS = """
def same(a, b):
    a, b = canonical(a), canonical(b)
    tvm.ir.assert_structural_equal(a, b, map_free_vars=True)


def attempt(mod):
    try:
        return apply(mod)
    except Exception as error:
        return error


result = apply(mod)
text = tvm.ir.save_json(result)
for _ in range({rounds}):
    attempt(another())
    unchanged = tvm.ir.save_json(result) == text
    assert unchanged, "work on another module changes an earlier result"
    same(result, apply(tvm.ir.load_json(tvm.ir.save_json(mod))))
"""

_NAMES = """
other, expected = attempt(another()), attempt(renamed())
assert isinstance(other, Exception) == isinstance(expected, Exception), "only one of them raises"
if not isinstance(other, Exception):
    same(expected, other)
"""

ORACLE = Oracle(
    name="history",
    failure=FailureKind.UNSTABLE,
    tier=2,
    grade=Grade.B,
    cost=40.0,
    copies=True,
    compares_runs=True,
    promise="What a pass does with a module does not depend on the modules before it.",
    source="docs/arch/pass_infra.rst: 'All passes are designed in a Module to Module manner'",
    check=check,
    snippet=_snippet,
    halves=_halves,
    thorough=True,
    past=True,
)
