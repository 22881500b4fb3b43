"""Input not mutated: no application changes the input."""

from __future__ import annotations

import contextlib
import re

import tvm

from ...compat.serialization import load_json, save_json
from ...generators.source import same_graph
from .. import keys
from ..identity import FailureKind
from ..oracle import FORMS, About, Breach, Half, Halves, Oracle
from ..pass_runs import PassRuns, attempt
from ..text import messages
from ..violation import Case, Violation

WHAT = "the input module is changed in place"


def check(runs: PassRuns) -> Violation | None:
    """Always compare hashes; on a sample, also the deep content (names, annotations, data)."""
    if not runs.intact:
        found = keys.mismatch(runs.given.copy(), runs.mod, WHAT)
        # The field that shows the change depends on the arguments.
        return Violation.titled(WHAT, found.detail) if found is not None else None
    if runs.before is None:
        return None
    after = save_json(keys.comparable(runs.mod))
    if after == runs.before or _stripped(after) == _stripped(runs.before):
        return None
    runs.given.latest = after
    before, changed = load_json(runs.before), runs.mod
    if not runs.just_taken:  # a run of an earlier check may have changed it
        changed = runs.given.anew()
        text = save_json(keys.comparable(changed))
        for run in (runs.directly, runs.in_sequential):
            runs.attempt("anew", run, changed)
        if _content(changed) == _stripped(text):
            return None
        before = load_json(text)
    what = f"{WHAT}, in names or annotations"
    where = same_graph(before, keys.comparable(changed)) or ""
    return Violation(what, f"{what}\n{messages.clip(where)}", (WHAT,))


_SPAN = re.compile(r'"span":\d+,?')


def _content(mod: tvm.IRModule) -> str:
    return _stripped(str(save_json(keys.comparable(mod))))


def _stripped(text: str) -> str:
    """JSON without spans, since source locations are not content."""
    return _SPAN.sub("", text)


def _halves(case: Case, violation: Violation) -> Halves:
    (call,) = case.calls
    text = _content(case.mod)
    before = load_json(save_json(keys.comparable(case.mod)))
    attempt(call.run, case.mod)
    if _content(case.mod) == text:  # otherwise the change happens inside Sequential
        with contextlib.suppress(Exception), call.context():
            tvm.transform.Sequential([call.build()])(case.mod)
    return Half(f"the input before {call.name}", before), Half(f"and after {call.name}", case.mod)


_EQUAL = """\
before = tvm.ir.load_json(tvm.ir.save_json(mod))
the_pass(mod)
tvm.ir.assert_structural_equal(mod, before, map_free_vars=True)
"""

_SAME_TEXT = """\
before = tvm.ir.save_json(mod)
the_pass(mod)
assert tvm.ir.save_json(mod) == before, "the input module is changed in place"
"""

_IN_SEQUENTIAL = _SAME_TEXT.replace("the_pass(", "tvm.transform.Sequential([the_pass])(")

ORACLE = Oracle(
    name="mutation",
    breach=Breach(FailureKind.MUTATES, explains=FORMS),
    about=About.RUN,
    tier=1,
    universal=True,
    promise="A pass leaves the module that it is given as it was.",
    source="src/ir/transform.cc, Pass::AssertImmutableModule and the PassContext option "
    "'testing.immutable_module'; include/tvm/ir/cow.h: nodes in use are copied on write",
    check=check,
    brief=lambda case, violation: (_EQUAL, _SAME_TEXT, _IN_SEQUENTIAL),
    halves=_halves,
)
