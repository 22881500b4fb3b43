"""Lowering-complete: a later pass lowers every call that LegalizeOps leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import tvm

from ..contract import PassContract
from ..identity import FailureKind
from ..inspect import local_functions
from ..lowering_gaps import Gap, Reason, gaps, leftovers, lowered_by, passed_over
from ..oracle import Breach, Oracle
from ..pass_runs import PassRuns
from ..passcall import PassCall
from ..silence import inventory
from ..silence.log import abstain
from ..text import messages
from ..violation import Case, Violation

LEFT = "left"
"""Replaces a gap's reason in a key if the pass that lowers the operator has left a call."""


def check(runs: PassRuns) -> tuple[Violation, ...]:
    """Report each operator and reason once, or none if the pass was asked to skip operators."""
    if not lowers(runs.contract, runs.call):
        abstain(inventory.NO_PROMISE, "the pass is not to lower all operators")
        return ()
    after = runs.result()
    if after is None:
        return ()
    return tuple(_of_legalization(after).values())


def lowers(contract: PassContract, call: PassCall) -> bool:
    """True if the call must lower all operators; with arguments or options it may skip some."""
    return contract.lowers and call.expr.endswith("()") and not call.config


def of_pipeline(
    reached: Sequence[tvm.IRModule], calls: Sequence[PassCall], legalizer: int
) -> list[tuple[int, Violation]]:
    """Violations for calls that are not lowered, each with the index of the pass to blame.

    Args:
        reached: the modules before and after each pass; fewer if a pass fails.
        legalizer: the index of the pass that lowers operators in general.
    """
    if len(reached) <= legalizer + 1:
        return []
    after = _of_legalization(reached[legalizer + 1])
    found = [(legalizer, violation) for violation in after.values()]
    if len(reached) <= len(calls):
        return found
    names = [call.name for call in calls]
    last = reached[-1]
    for op, by in _left(last).items():
        if by in names:
            culprit = _first_with(op, reached, names.index(by))
            title = f"{op} is not lowered, though {by} lowers it"
            found.append(
                (culprit, Violation(title, f"{title}\n\n{messages.listing(last)}", (op, LEFT)))
            )
    # Gaps that LegalizeOps left are reported already, although more may be known of their types.
    before = {op for _, _, op in leftovers(reached[legalizer + 1])}
    for gap in _by_key(gaps(last)).values():
        if gap.op not in before and lowered_by(gap.op) is None:
            culprit = _first_with(gap.op, reached, legalizer + 1)
            found.append((culprit, _violation(gap, last)))
    return found


def _of_legalization(mod: tvm.IRModule) -> Mapping[tuple[str, ...], Violation]:
    return {key: _violation(gap, mod) for key, gap in _by_key(passed_over(mod)).items()}


def _by_key(found: Sequence[Gap]) -> dict[tuple[str, ...], Gap]:
    first: dict[tuple[str, ...], Gap] = {}
    for gap in found:
        first.setdefault((gap.op, str(gap.reason)), gap)
    return first


def _violation(gap: Gap, mod: tvm.IRModule) -> Violation:
    title = f"{gap.op} is not lowered by any later pass: {gap.reason}"
    what = f"{title}\nin {gap.function}, {gap.binding.var.name}: {gap.what}"
    key = (gap.op, str(gap.reason))
    # LegalizeOps looks at the types before it calls the legalization of the operator.
    reason = str(gap.reason) if gap.reason in _OF_TYPES else ""
    return Violation(title, f"{what}\n\n{messages.listing(mod)}", key, reason=reason)


_OF_TYPES = (Reason.UNKNOWN_SHAPE, Reason.UNKNOWN_DTYPE, Reason.UNKNOWN_TYPE)


def _left(mod: tvm.IRModule) -> dict[str, str]:
    """Operators with remaining calls, with the pass that should have lowered them."""
    found = {op: lowered_by(op) for _, _, op in leftovers(mod)}
    return {op: by for op, by in found.items() if by is not None}


def _first_with(op: str, reached: Sequence[tvm.IRModule], begin: int) -> int:
    """The index of the first pass, from `begin` on, whose result has calls of the operator."""
    for number in range(begin, len(reached) - 1):
        if any(name == op for _, _, name in leftovers(reached[number + 1])):
            return number
    return len(reached) - 2


def _brief(case: Case, violation: Violation) -> Iterator[str]:
    """Python for a build as users make it, whose pipeline contains the pass."""
    if case.pipeline in (None, "default"):
        yield 'relax.build(mod, "llvm")'
    if case.pipeline is None:
        # No pipeline lifts local functions.
        lift = "relax.transform.LambdaLift()(lowered)" if local_functions(case.mod) else "lowered"
        yield f'lowered = the_pass(mod)\nrelax.build({lift}, "llvm")'
    elif case.pipeline in _BUILDS:
        yield _BUILDS[case.pipeline]


_BUILDS = {
    "zero": 'relax.build(relax.get_pipeline("zero")(mod), target="llvm")',
    "cpu_generic": """\
target = tvm.target.Target("llvm")
relax.build(mod, target=target, relax_pipeline=relax.get_default_pipeline(target))""",
}
"""Python for a build by the pipelines other than the default one; "zero" only prepares for it."""


ORACLE = Oracle(
    name="lowering-complete",
    breach=Breach(FailureKind.FORM, explains=frozenset()),
    tier=1,
    promise="Every call that LegalizeOps leaves is one that a later pass or the code generator of "
    "the virtual machine takes.",
    source="docs/get_started/tutorials/ir_module.py: 'This transform converts the Relax operators "
    "into call_tir functions', 'we ensure the passes can handle all legal IRModule inputs'",
    check=check,
    brief=_brief,
)
