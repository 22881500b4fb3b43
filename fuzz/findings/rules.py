"""The rules by which two findings are one bug, in order: the surest and cheapest first.

What has the same oracle, pass and key is one finding already. A rule is a plain function: from what
a finding shows to the causes that this names. Two findings with a cause in common come of one bug,
and the rule's reason says why. So a rule does not compare findings, and the order in which they
come in changes nothing.

A rule that is not sure by itself only names suspects: they are one bug where, besides, each one's
module shows the other's violation, too (`crosscheck`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from ...oracles import check
from ...oracles.metamorphic.oracles import TVMSCRIPT_ITSELF
from ...oracles.parts import parts
from ...oracles.structural.lowering_gaps import Reason
from .evidence import Evidence

Cause: TypeAlias = tuple[str, ...]
"""What names a root cause; equal for all findings that come of it, as far as a rule can tell."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to tell a cause."""

    name: str
    reason: str
    """Why two findings with the same cause are one bug; ends the sentence "the same row, as"."""
    causes: Callable[[Evidence], Iterator[Cause]]
    sure: bool = True
    """False: each module has to show the other's violation, too."""


# Reasons of a gap in the lowering that do not depend on the operator: LegalizeOps asks the types
# before it asks the operator's legalization.
_BY_TYPE = {str(r) for r in (Reason.UNKNOWN_SHAPE, Reason.UNKNOWN_DTYPE, Reason.UNKNOWN_TYPE)}

LEGALIZERS = ("LegalizeOps", "FoldConstant")
"""Passes that call the legalizations of operators; what is wrong with these comes through both."""


def worded(evidence: Evidence) -> Iterator[Cause]:
    """The same words about modules that look the same: only the line that raised differs."""
    finding = evidence.finding
    yield finding.oracle, finding.pass_name, *finding.fingerprint, evidence.pattern


def raised(evidence: Evidence) -> Iterator[Cause]:
    """The pass raises in one place, however it is run: alone, a second time, with another function.

    Only places in the pass's own source tell: elsewhere many callers raise the same.
    """
    error = evidence.raised
    if error is not None and re.search(r"relax/transform/(?!utils|legalize_ops/)", error.place):
        yield evidence.finding.pass_name, error.kind, error.text, error.place


def shared(evidence: Evidence) -> Iterator[Cause]:
    """What several passes call, a pattern matcher, raises on modules that look the same.

    The frame that calls it may be of C++, with no place at all, or of Python. A place in a pass's
    own source is that pass's own bug, and so is a call of a legalization that it should not make.
    """
    error = evidence.raised
    own = re.compile(r"relax/(?:transform|training|backend)/")
    if error is not None and not own.search(error.place) and not _legalizes(evidence):
        yield error.kind, error.text, evidence.pattern


def legalization(evidence: Evidence) -> Iterator[Cause]:
    """The legalization of an operator raises, whatever pass has called it.

    The place is the innermost function of Python that belongs to some operators only; what these
    share (broadcasting, the builder) raises for all of them.
    """
    error = evidence.raised
    if error is None:
        return
    own = [frame for frame in evidence.frames if _OF_OPERATORS.search(frame.file)]
    if own and any("legalize_ops/" in frame.file for frame in evidence.frames):
        file = own[-1].file.rsplit("/tvm/", 1)[-1]
        yield error.kind, error.text or error.place, file, own[-1].function


_OF_OPERATORS = re.compile(
    r"/tvm/(?:relax/transform/legalize_ops/(?!common\.py|unary\.py|binary\.py)"
    r"|topi/(?!broadcast\.py|math\.py|utils\.py|tag\.py))"
)


def not_known(evidence: Evidence) -> Iterator[Cause]:
    """A pass meets calls of whose types too little is known; which operator it is, is an accident.

    LegalizeOps passes over such calls, and nobody lowers them; other passes call legalizations
    that need to know.
    """
    finding = evidence.finding
    if finding.oracle == "lowering-complete" and finding.key[-1] in _BY_TYPE:
        yield finding.pass_name, "passes over", finding.key[-1]
    if evidence.raised is not None and _legalizes(evidence) and finding.pass_name != "LegalizeOps":
        unknown = set(evidence.unknowns())
        if unknown and len(evidence.ops) == 1:
            yield finding.pass_name, "legalizes", *sorted(unknown)


def _legalizes(evidence: Evidence) -> bool:
    """It raises in the legalization of an operator."""
    return any("legalize_ops/" in f.file or f.function == "call_te" for f in evidence.frames)


def other_type(evidence: Evidence) -> Iterator[Cause]:
    """A legalization gives something of another type than the call has: which one, and in what.

    That is seen in the signature of a function, or where a later call or PrimFunc refuses it. What
    is left of a module when it cannot be reduced further has to do with what is seen.
    """
    finding = evidence.finding
    seen = finding.oracle in ("signature", "well-formed") or evidence.raised is not None
    if seen and finding.reduced and finding.pass_name in LEGALIZERS:
        changed = set(evidence.of_other_type())
        if len(changed) == 1:
            yield from changed


def format_of_modules(evidence: Evidence) -> Iterator[Cause]:
    """TVM cannot read what it has written, whatever pass has made it and in whatever form."""
    finding = evidence.finding
    if finding.oracle in ("tvmscript", "json"):
        checks = [part for part in finding.key if part.startswith("Check failed: ")]
        if checks:
            yield "format", _without_bounds(checks[0])


def _without_bounds(text: str) -> str:
    """A number that is too large and one that is too small are refused by one check."""
    return re.sub(r"[<>]=|(?:lowest|max)\(\)|-(?=<n>)|(?:maxi|mini)mum", "", text)


def symptoms(evidence: Evidence) -> Iterator[Cause]:
    """What oracles of results say of one pass, or of one operator's lowering.

    A wrong result is ill-formed, or of another type, or has other values, in the evaluator or in
    the virtual machine. Oracles that ask something else (is the input left alone, is the result the
    same each time) are asked about other bugs.
    """
    finding = evidence.finding
    if finding.oracle not in RESULTS:
        return
    if finding.pass_name == TVMSCRIPT_ITSELF:
        return
    by_operator = finding.pass_name in LEGALIZERS or finding.pass_name.startswith("relax.")
    if not by_operator:
        yield finding.pass_name, "result"
    elif len(evidence.ops) == 1:
        yield *evidence.ops, "lowered"


RESULTS = frozenset(
    {
        *("well-formed", "functions", "signature", "attributes", "postcondition"),
        "tvmscript",  # where it does not blame TVMScript itself, the result is ill-formed
        *(oracle.name for oracle in check.ORACLES.values() if oracle.tier >= 3),
    }
)
"""Oracles that look at the module that a pass gives, or at what it computes."""


def inside(evidence: Evidence) -> Iterator[Cause]:
    """A pass that runs inside of the pass says the same of the same module, by itself.

    With the operators that the module calls: one legalization raises the words of another.
    """
    finding = evidence.finding
    if len(finding.calls) != 1 or finding.calls[0].factory is not None:
        return
    yield finding.oracle, finding.pass_name, *finding.key, *sorted(evidence.ops)
    for part in sorted(parts(finding.pass_name)):
        for violation in evidence.said_of(part):
            if violation.fingerprint == finding.fingerprint:
                yield finding.oracle, part, *violation.key, *sorted(evidence.ops)


RULES: tuple[Rule, ...] = (
    Rule("place", "the pass raises the same in the same place", raised),
    Rule(
        "legalization",
        "the same function of a legalization raises the same, whatever pass calls it",
        legalization,
    ),
    Rule(
        "not-known",
        "the pass is given calls of whose types too little is known",
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
    # These look at the whole module: later than those that look at the key.
    Rule(
        "shared",
        "what several passes call raises the same on modules that look the same",
        shared,
    ),
    Rule(
        "words",
        "the oracle says the same of the same pass and of modules that look the same",
        worded,
    ),
    # Checks in fresh processes: last.
    Rule(
        "inside",
        "the pass, or one that runs inside of it, does the same on its own",
        inside,
    ),
    Rule(
        "symptoms",
        "each one's module shows the other's violation, too",
        symptoms,
        sure=False,
    ),
)

assert len({rule.name for rule in RULES}) == len(RULES), "two rules bear the same name"
