"""The rules by which two findings are one bug, in order: the surest first.

Findings with the same oracle, pass, key and place are one finding already. A rule is a plain
function: from a finding and its evidence to the causes that it names. Two findings with a cause in
common come of one bug, and the rule's reason explains why. So a rule does not compare findings, and
the order in which they come in changes nothing.

A rule that is not sure by itself only names suspects: they are one bug where, besides, each one's
module shows the other's violation, too (`crosscheck`), or, for a pass of the user's, where the one
explains the other (`explains`), or both need the same (`need_the_same`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from ...oracles.catalogue import catalogue, parts
from ...oracles.metamorphic import refused
from ...oracles.metamorphic.oracles import NOT_SAVED
from ...oracles.metamorphic.scripted import TVMSCRIPT, TVMSCRIPT_ITSELF
from ...oracles.oracle import NOTHING, Aspect
from ...oracles.passcall import is_users
from ...oracles.structural import crash, interface, sequential
from ...oracles.structural.lowering_gaps import Reason
from ...oracles.tiers import ORACLES
from ...oracles.values import evaluated
from .evidence import Evidence
from .finding import Finding

Cause: TypeAlias = tuple[str, ...]
"""What names a root cause; equal for all findings that come of it, as far as the rule can see."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to recognize a cause."""

    name: str
    reason: str
    """Why two findings with the same cause are one bug; ends the sentence "the same row, as"."""
    causes: Callable[[Finding, Evidence], Iterator[Cause]]
    sure: bool = True
    """False: each module has to show the other's violation, too."""


# Reasons of a gap in the lowering that do not depend on the operator: LegalizeOps looks at the
# types before it calls the operator's legalization.
_BY_TYPE = {str(r) for r in (Reason.UNKNOWN_SHAPE, Reason.UNKNOWN_DTYPE, Reason.UNKNOWN_TYPE)}

LEGALIZERS = tuple(name for name in catalogue if "LegalizeOps" in {name, *parts(name)})
"""Passes that call the legalizations of operators; what is wrong with these shows in both."""


_REWRITING = re.compile(r"relax/ir/dataflow_")
"""A place in the source of the rewriting by patterns, which several passes call."""

OWN_PLACE = re.compile(
    r"(?:relax|s_tir|tirx)/transform/(?!(?:ir_)?utils|legalize_ops/)|s_tir/dlight/"
    rf"|{_REWRITING.pattern}"
)
"""A place in the source of TVM's passes or rules themselves, or of the rewriting by patterns."""


def worded(finding: Finding, evidence: Evidence) -> Iterator[Cause]:
    """The same key on modules that look the same: only the line that raised differs."""
    yield *finding.full_key, evidence.pattern


def raised(finding: Finding, evidence: Evidence) -> Iterator[Cause]:
    """The pass raises in one place, however it is run: alone, a second time, with another function.

    Only a place in the pass's own source identifies it: elsewhere many callers raise the same. A
    line of Python raises this or that, by what it is given; a check in C++ has a text of its own,
    and so has what TVM raises when a user's line calls it.
    """
    error, place = finding.violation.raised, finding.violation.place
    if error is None:
        return
    if is_of_users_pass(finding):
        if _OWN_FILE.search(place):
            yield finding.pass_name, place
        elif error.caller:
            yield finding.pass_name, error.kind, error.text, error.caller
    elif OWN_PLACE.search(place):
        yield finding.pass_name, error.kind, error.text, place


def shared(finding: Finding, evidence: Evidence) -> Iterator[Cause]:
    """What several passes call, a pattern matcher, raises on modules that look the same, or in one
    place of its own.

    The frame that calls it may be of C++, with no place at all, or of Python. A place in a pass's
    own source is that pass's own bug, and so is a call of a legalization that it should not make.
    """
    error = finding.violation.raised
    own = re.search(
        r"(?:relax|s_tir|tirx)/(?:transform|training|backend)/", finding.violation.place
    )
    if error is not None and own is None and not error.legalizes:
        yield error.kind, error.text, evidence.pattern
        if _REWRITING.search(finding.violation.place):
            yield error.kind, error.text, finding.violation.place


def legalization(finding: Finding, evidence: Evidence) -> Iterator[Cause]:
    """The legalization of an operator raises, whatever pass has called it."""
    error = finding.violation.raised
    if error is not None and error.legalization:
        yield error.kind, error.text or finding.violation.place, error.legalization


def arithmetic(finding: Finding, evidence: Evidence) -> Iterator[Cause]:
    """TVM's arithmetic raises in one way, whatever pass has called it."""
    error = finding.violation.raised
    if error is not None and error.analysis:
        yield error.kind, error.text, error.analysis


def not_known(finding: Finding, evidence: Evidence) -> Iterator[Cause]:
    """The pass is given calls of unknown shape, dtype or type, whichever operator they call.

    LegalizeOps leaves such calls, and no later pass lowers them; other passes call legalizations
    that need to know one thing or the other.
    """
    error, reason = finding.violation.raised, finding.violation.reason
    if reason in _BY_TYPE:
        yield finding.pass_name, "passes over", reason
    calls = error is not None and error.legalizes and finding.pass_name != "LegalizeOps"
    if calls and evidence.unknowns and len(evidence.ops) == 1:
        yield finding.pass_name, "legalizes what is not known"


def other_type(finding: Finding, evidence: Evidence) -> Iterator[Cause]:
    """A legalization gives something of another type than the call has: which one, and in what.

    That shows in the signature of a function, or where a later call or PrimFunc refuses it. What
    is left of a module when it cannot be reduced further has to do with it. Where something raises,
    the first operator with another type is the cause: the last one has no result.
    """
    kind = "".join(finding.key[:1])  # a death has none
    raises = finding.violation.raised is not None or kind.startswith(evaluated.REFUSES)
    shows = raises or Aspect.TYPES in aspects(finding)
    by_operator = finding.reduced and finding.pass_name in LEGALIZERS
    if shows and by_operator and evidence.retyped and (raises or len(evidence.retyped) == 1):
        yield evidence.retyped[0]


def format_of_modules(finding: Finding, evidence: Evidence) -> Iterator[Cause]:
    """TVM cannot read what it has written, whatever pass has made it and in whatever form."""
    if Aspect.FORMAT in aspects(finding):
        checks = [part for part in finding.key if part.startswith("Check failed: ")]
        if checks:
            # A number that is too large and one that is too small are refused by one check.
            bounds = r"[<>]=|(?:lowest|max)\(\)|-(?=<n>)|(?:maxi|mini)mum"
            yield "format", re.sub(bounds, "", checks[0])


def symptoms(finding: Finding, evidence: Evidence) -> Iterator[Cause]:
    """Oracles of results report one pass, or one operator's lowering.

    A wrong result is ill-formed, or of another type, or has other values, in the evaluator or in
    the virtual machine. Oracles that look at something else (is the input left alone, is the result
    the same each time) find other bugs.
    """
    if Aspect.RESULT not in aspects(finding) or finding.pass_name == TVMSCRIPT_ITSELF:
        return
    if is_of_users_pass(finding):  # see users_pass
        return
    by_operator = finding.pass_name in LEGALIZERS or finding.pass_name.startswith("relax.")
    if not by_operator:
        yield finding.pass_name, "result"
    elif len(evidence.ops) == 1:
        yield *evidence.ops, "lowered"


def at_any_operator(finding: Finding, evidence: Evidence) -> Iterator[Cause]:
    """A pass of the user's does one thing wrong, whichever operator or kind of variable it meets.

    For a pass of TVM's these count: which of them it knows is in it, case by case. So they do where
    the result of an operator is wrong: another operator is another rewriting. What is wrong stands
    in the first sentence of a message; advice follows, and a key has the beginning of it only.
    """
    if is_of_users_pass(finding) and finding.oracle not in _OF_OPERATORS:
        said = (part for part in finding.key if part != finding.violation.reason)
        kind = (_MET.sub("<node>", part.partition(". ")[0]) for part in said)
        yield finding.oracle, finding.pass_name, finding.violation.place, *kind


_MET = re.compile(r"\b(?:(?:relax|R)(?:\.[a-z_]\w*)+|(?:Dataflow)?Var\b)")
"""An operator, as keys name it and as TVMScript prints it, or a variable."""

_OF_OPERATORS = {
    interface.SIGNATURE.name,
    *(oracle.name for oracle in ORACLES.values() if oracle.tier > 2),
}
"""Oracles that name the operator whose result is wrong."""


def unstable(finding: Finding, evidence: Evidence) -> Iterator[Cause]:
    """What a pass of the user's gives depends on more than what the module means.

    On addresses, an order, names or earlier modules: which of them an oracle changes, and where the
    results differ, is chance.
    """
    again = finding.oracle in _AGAIN and finding.key[0] != NOT_SAVED
    if again and is_of_users_pass(finding) and finding.violation.raised is None:
        yield finding.pass_name, "depends on more than the module"


_AGAIN = {
    *(sequential.DETERMINISTIC.name, sequential.REPEATABLE.name),
    *(oracle.name for oracle in ORACLES.values() if oracle.tier == 2),
} - {TVMSCRIPT.name, refused.ORACLE.name}
"""Oracles that ask for the same result once more."""


def users_pass(finding: Finding, evidence: Evidence) -> Iterator[Cause]:
    """Whatever a pass of the user's does wrong, of which nothing is known: mostly one thing."""
    if is_of_users_pass(finding):
        yield finding.pass_name, "a pass of the user's"


def has_wrong_result(finding: Finding) -> bool:
    """A result of the pass is wrong, or what TVM raises of what the pass has made so far."""
    if finding.oracle == crash.ORACLE.name:
        return not _OWN_FILE.search(finding.violation.place)
    return Aspect.RESULT in aspects(finding)


_OWN_FILE = re.compile(r"^(?!tvm/).*\.py:")
"""The place of an exception in a file of the user's."""


def is_of_users_pass(finding: Finding) -> bool:
    """The pass that is blamed is the user's own."""
    return any(call.name == finding.pass_name and is_users(call) for call in finding.calls)


def inside(finding: Finding, evidence: Evidence) -> Iterator[Cause]:
    """A pass that runs inside of the last pass shows the same on the same module in its place.

    With the operators that the module calls: one legalization raises the message of another.
    """
    if finding.blames_last:
        own = (finding.pass_name, finding.violation.place)
        for pass_name, place in (own, *evidence.inside):
            yield finding.oracle, pass_name, *finding.key, place, *evidence.ops


def dies(finding: Finding, evidence: Evidence) -> Iterator[Cause]:
    """A process ends on modules that are made of the same, whichever pass of TVM's runs there."""
    if finding.oracle not in ORACLES and not is_of_users_pass(finding):
        yield finding.oracle, *evidence.ops, *evidence.parts


def aspects(finding: Finding) -> Aspect:
    """What the oracle that found it looks at."""
    oracle = ORACLES.get(finding.oracle)  # the end of a process has none
    return NOTHING if oracle is None else oracle.looks_at


RULES: tuple[Rule, ...] = (
    Rule("place", "the pass raises the same in the same place", raised),
    Rule(
        "legalization",
        "the same function of a legalization raises the same, whatever pass calls it",
        legalization,
    ),
    Rule(
        "arithmetic",
        "the same function of TVM's arithmetic raises the same, whatever pass calls it",
        arithmetic,
    ),
    Rule(
        "not-known",
        "the pass does not handle calls of unknown shape, dtype or type",
        not_known,
    ),
    Rule(
        "other-type",
        "the legalization of the operator gives another type than the call has",
        other_type,
    ),
    Rule(
        "format",
        "what TVM writes, it refuses to read with the same check",
        format_of_modules,
    ),
    # These look at the whole module: later than those that look at the violation.
    Rule(
        "shared",
        "what several passes call raises the same, in one place or on modules that look the same",
        shared,
    ),
    Rule(
        "words",
        "the oracle reports the same of the same pass and of modules that look the same",
        worded,
    ),
    Rule(
        "inside",
        "the pass, or one that runs inside of it, does the same on its own",
        inside,
    ),
    Rule(
        "any-operator",
        "the oracle reports the same of the same pass, at whichever operator",
        at_any_operator,
    ),
    Rule(
        "unstable",
        "the result depends on more than what the module means",
        unstable,
    ),
    Rule(
        "symptoms",
        "each one's module shows the other's violation, too",
        symptoms,
        sure=False,
    ),
    Rule(
        "dies",
        "each one's module ends the process of the other's pass, too",
        dies,
        sure=False,
    ),
    Rule(
        "users-pass",
        "the smallest module of the one shows the other, too, or both need the same",
        users_pass,
        sure=False,
    ),
)

assert len({rule.name for rule in RULES}) == len(RULES), "two rules bear the same name"
