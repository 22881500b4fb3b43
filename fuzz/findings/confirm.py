"""Check a finding again in fresh processes, and collect its evidence and exhibit there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...compat import availability
from ...compat.release import same_build, versions
from ...oracles.catalogue import catalogue, parts, plain_call
from ...oracles.catalogue.common import MUTATOR, REWRITER
from ...oracles.check import ORACLES
from ...oracles.consequence import stated
from ...oracles.exhibit import Exhibit, alone
from ...oracles.grades.consequence import Consequence
from ...oracles.identify import Circumstances, identity_of
from ...oracles.identity import is_alike
from ...oracles.metamorphic import history
from ...oracles.oracle import About
from ...oracles.passcall import PassCall
from ...oracles.violation import Violation
from ..jobs.asking import check, check_each
from ..jobs.evidence import Evidence
from ..jobs.jobs import Check, CheckEach, CheckOf, CheckResult, Examine, Show
from ..jobs.measuring import Measure
from ..process import death
from ..process.executor import Executor, ask
from ..process.protocol import BY_LIMIT, LIMITS, Death, Died, Limits
from .finding import Finding

PATIENT = replace(LIMITS, step_seconds=30.0)
"""Step limit when confirming a death; merely slow steps finish, and memory that grows slowly
reaches its limit."""

_NOWHERE = PassCall(
    "nowhere()",
    imports=(
        "from tvm.relax import dpl",
        """
def nowhere():
    pattern = dpl.is_gv("no function has this name")

    def rewritten(func, mod, context):
        return dpl.rewrite_call(pattern, lambda expr, matches: expr, func)

    return relax.transform.function_pass(rewritten, opt_level=0)
""",
    ),
)

_UNCHANGED = PassCall(
    "unchanged()",
    imports=(
        "from tvm.relax.expr_functor import PyExprMutator, mutator",
        """
@mutator
class Unchanged(PyExprMutator):
    ...


def unchanged():
    def visited(func, mod, context):
        return Unchanged(mod).visit_expr(func)

    return relax.transform.function_pass(visited, opt_level=0)
""",
    ),
)

SHARED = {MUTATOR: _UNCHANGED, REWRITER: _NOWHERE}
"""For each piece of code that several passes share, a pass that only runs that code. One visits all
nodes and changes none; the other has a pattern that matches nothing."""

DEATHS = frozenset(death.value for death in Death)


def again(
    executor: Executor,
    finding: Finding,
    module: str,
    *,
    oracles: tuple[str, ...] | None = None,
    limits: Limits = LIMITS,
) -> Violation | None:
    """Check the finding again; return its violation on this module (TVM JSON), or None.

    If another limit than time ended the process before, the finding keeps that kind where it hangs
    now. So the kind depends less on the speed of the machine.

    Args:
        oracles: oracles to run; None: the one that found it.

    Raises:
        ExecutorError: the harness failed.
    """
    violations = check(executor, _job(finding, module, oracles), limits=limits)
    found = next((violation for violation in violations if same(violation, finding)), None)
    if found is not None and found.oracle == Death.HANG:
        return found if finding.oracle == Death.HANG else finding.violation
    return found


TRIES = 8
"""Number of further checks of a violation that occurs by chance. If one in four runs on equal
modules differs, nine in ten series of this length show it."""


def repeatedly(executor: Executor, finding: Finding) -> Violation | None:
    """Check several times if the oracle compares runs; return the finding's violation or None.

    TVM visits objects that it hashes by pointer in an order that depends on their addresses.
    Processes forked from one parent start with the same addresses, so the tries share a process if
    possible.

    Raises:
        ExecutorError: the harness failed.
    """
    oracle = ORACLES.get(finding.oracle)
    if oracle is None or oracle.about is not About.RUNS:
        return None
    tries = _in_one_process if _is_one_of_tvm(finding) else _in_processes
    found = (each for each in tries(executor, finding) if same(each, finding))
    return next(found, None)


def _is_one_of_tvm(finding: Finding) -> bool:
    """Return whether a single pass of TVM is checked; a user's pass may have a memory."""
    return len(finding.calls) == 1 and finding.calls[0].factory is None and not finding.pipeline


def _in_one_process(executor: Executor, finding: Finding) -> Iterator[Violation]:
    checks = (CheckOf(calls=finding.calls),) * TRIES
    job = CheckEach(module=finding.module, checks=checks, oracles=(finding.oracle,))
    for answer in check_each(executor, job):
        if isinstance(answer, CheckResult):
            yield from answer.violations


def _in_processes(executor: Executor, finding: Finding) -> Iterator[Violation]:
    for _ in range(TRIES):
        yield from check(executor, _job(finding, finding.module))


def otherwise(executor: Executor, finding: Finding, *, limits: Limits = LIMITS) -> Finding | None:
    """Find a different violation of the same pass on the same module; as a finding, or None.

    A campaign only samples the comparisons of an oracle, e.g. the arguments of functions. Its first
    violation need not be the first one of a complete check. It may also be due to earlier modules,
    which other oracles test.
    A death keeps the oracles from reporting, and a limit hides what comes after it: any violation
    counts then, such as a segmentation fault in place of a hang.

    Raises:
        ExecutorError: the harness failed.
    """
    asked = None if finding.oracle in DEATHS else (finding.oracle, history.ORACLE.name)
    for violation in check(executor, _job(finding, finding.module, asked), limits=limits):
        is_asked = asked is None or violation.oracle in asked
        if is_asked and violation.pass_name == finding.pass_name:
            return replace(finding, violation=violation)
    return None


def _job(finding: Finding, module: str, oracles: tuple[str, ...] | None = None) -> Check:
    return Check(
        module=module,
        calls=finding.calls,
        pipeline=finding.pipeline,
        # A death has no oracle: it may occur in any step of an ordinary check.
        oracles=oracles or (None if finding.oracle in DEATHS else (finding.oracle,)),
        exempt=finding.exempt,
    )


def same(violation: Violation, finding: Finding) -> bool:
    """Return whether failure, blamed and site of the two reports agree.

    A death by a limit confirms a death by any other limit: both show work without bound.
    """
    seen = identity_of(violation, finding.calls)
    if {violation.oracle, finding.oracle} <= BY_LIMIT:
        seen = replace(seen, how=finding.reported.how)
    return is_alike(seen, finding.reported)


def of_this_build(finding: Finding) -> bool:
    """Return whether the installed TVM is the build that found it."""
    return same_build(finding.versions, versions())


def exhibit(executor: Executor, finding: Finding) -> Exhibit:
    """The part of the finding to look at first; only the module if the pass kills its process.

    Raises:
        ExecutorError: the harness failed.
    """
    violation = finding.violation
    if finding.oracle not in DEATHS:
        shown = ask(executor, Show(finding.module, violation, finding.calls, finding.pipeline))
        if isinstance(shown, Exhibit):
            return shown
        violation = death.violation(shown)
    shown = ask(executor, Show(finding.module, violation))
    return alone(finding.source, violation) if isinstance(shown, Died) else shown


def take_evidence(executor: Executor, finding: Finding) -> Evidence | None:
    """Take the evidence of the finding's module; None if TVM crashes on it.

    Raises:
        ExecutorError: the harness failed.
    """
    for whole in (True, False):
        answer = ask(executor, Examine(finding.module, whole))
        if not isinstance(answer, Died):
            return replace(answer, inside=_inside(executor, finding))
    return None


def measured(executor: Executor, finding: Finding) -> Consequence | None:
    """Measure the effect of a minimized finding on users; None if it is not known.

    Without a module, it is about a function of TVM called by itself: its report states the effect.

    Raises:
        ExecutorError: the harness failed.
    """
    if not finding.module:
        return stated(finding.violation)
    job = Measure(
        module=finding.module,
        violation=finding.violation,
        calls=finding.calls,
        pipeline=finding.pipeline,
    )
    answer = ask(executor, job)
    return stated(finding.violation) if isinstance(answer, Died) else answer


def made_of(executor: Executor, module: str) -> tuple[str, ...] | None:
    """The ingredients of a module that is not minimized; None if TVM crashes on it.

    Raises:
        ExecutorError: the harness failed.
    """
    answer = ask(executor, Examine(module, whole=False))
    return None if isinstance(answer, Died) else tuple(answer.ingredients)


def _inside(executor: Executor, finding: Finding) -> str:
    """The innermost pass inside the last one that alone fails in the same way; or empty."""
    if not finding.blames_last:
        return ""
    here = parts(finding.pass_name) - availability.current().passes.keys()
    contract = catalogue.get(finding.pass_name)
    inside = {MUTATOR: SHARED[MUTATOR]}
    inside |= {name: plain_call(name) for name in sorted(here, key=lambda n: (len(parts(n)), n))}
    if contract is not None and contract.shares:
        inside[contract.shares] = SHARED[contract.shares]
    for part, call in inside.items():
        job = Check(
            module=finding.module,
            calls=(*finding.calls[:-1], call),
            oracles=None if finding.oracle in DEATHS else (finding.oracle,),
        )
        known = Circumstances(inside=part)
        wanted = identity_of(finding.violation, finding.calls, known)
        for found in check(executor, job):
            if found.pass_name == call.name and is_alike(identity_of(found, known=known), wanted):
                return part
    return ""
