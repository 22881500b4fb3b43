"""Check a finding again in fresh processes, and collect its evidence and exhibit there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...compat import availability
from ...compat.release import same_build, versions
from ...oracles.catalogue import catalogue, parts
from ...oracles.catalogue.common import REWRITER
from ...oracles.check import ORACLES
from ...oracles.identify import identity_of
from ...oracles.identity import is_alike
from ...oracles.passcall import PassCall, bare_call
from ...oracles.text.exhibit import Exhibit, alone
from ...oracles.violation import Violation
from ..process import death
from ..process.executor import Executor, ask, check, check_each
from ..process.jobs import Check, CheckEach, Checked, Examine, Show
from ..process.protocol import LIMITS, Death, Died, Limits
from .evidence import Evidence
from .finding import Finding

PATIENT = replace(LIMITS, step_seconds=30.0)
"""For a hang that was seen: what only takes long comes to its end."""

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

SHARED = {REWRITER: _NOWHERE}
"""By code that passes share: a pass that does nothing else. A pattern that matches nothing."""

DEATHS = frozenset(death.value for death in Death)


def again(
    executor: Executor,
    finding: Finding,
    module: str,
    *,
    oracles: tuple[str, ...] | None = None,
    limits: Limits = LIMITS,
) -> Violation | None:
    """The finding's violation as it comes out for this module (TVM JSON), or None.

    Args:
        oracles: ask only these; None: the one that found it.

    Raises:
        ExecutorError: the harness failed.
    """
    violations = check(executor, _job(finding, module, oracles), limits=limits)
    return next((violation for violation in violations if same(violation, finding)), None)


TRIES = 8
"""Further checks of what depends on chance. A result that differs in one of four runs on equal
modules shows in nine of ten such rows."""


def repeatedly(executor: Executor, finding: Finding) -> Violation | None:
    """The finding's violation in one of several tries, if its oracle compares runs; or None.

    Addresses decide in which order TVM visits what it hashes by pointer. Processes that are forked
    from one begin with the same addresses, and so the tries share a process where they can.

    Raises:
        ExecutorError: the harness failed.
    """
    oracle = ORACLES.get(finding.oracle)
    if oracle is None or not (oracle.compares_runs or oracle.past):
        return None
    tries = _in_one_process if _is_one_of_tvm(finding) else _in_processes
    found = (each for each in tries(executor, finding) if same(each, finding))
    return next(found, None)


def _is_one_of_tvm(finding: Finding) -> bool:
    """The finding is of a single pass of TVM; a pass of the user's may have a memory."""
    return len(finding.calls) == 1 and finding.calls[0].factory is None and not finding.pipeline


def _in_one_process(executor: Executor, finding: Finding) -> Iterator[Violation]:
    calls = finding.calls * TRIES
    job = CheckEach(module=finding.module, calls=calls, oracles=(finding.oracle,))
    for answer in check_each(executor, job):
        if isinstance(answer, Checked):
            yield from answer.violations


def _in_processes(executor: Executor, finding: Finding) -> Iterator[Violation]:
    for _ in range(TRIES):
        yield from check(executor, _job(finding, finding.module))


def otherwise(executor: Executor, finding: Finding) -> Finding | None:
    """What comes out of its pass and module in place of it, as a finding, or None.

    A campaign samples what an oracle compares, e.g. the arguments of functions: what was seen first
    there need not be what a whole check sees first. And what was seen may be due to the modules
    before it, which other oracles look for.

    Raises:
        ExecutorError: the harness failed.
    """
    asked = (finding.oracle, *(name for name, oracle in ORACLES.items() if oracle.past))
    job = _job(finding, finding.module, None if finding.oracle in DEATHS else asked)
    for violation in check(executor, job):
        if violation.oracle in asked and violation.pass_name == finding.pass_name:
            return replace(finding, violation=violation)
    return None


def _job(finding: Finding, module: str, oracles: tuple[str, ...] | None = None) -> Check:
    return Check(
        module=module,
        calls=finding.calls,
        pipeline=finding.pipeline,
        # A death has no oracle of its own: it may come in any step of an ordinary check.
        oracles=oracles or (None if finding.oracle in DEATHS else (finding.oracle,)),
        exempt=finding.exempt,
    )


def same(violation: Violation, finding: Finding) -> bool:
    """The same report: failure, blamed and site agree."""
    return is_alike(identity_of(violation, finding.calls), finding.reported)


def of_this_build(finding: Finding) -> bool:
    """Whether the installed TVM is the build that found it."""
    return same_build(finding.versions, versions())


def exhibit(executor: Executor, finding: Finding, *, limits: Limits = LIMITS) -> Exhibit:
    """What to look at first; never more than the module where the pass ends its process.

    Raises:
        ExecutorError: the harness failed.
    """
    violation = finding.violation
    if finding.oracle not in DEATHS:
        job = Show(finding.module, violation, finding.calls, finding.pipeline)
        shown = ask(executor, job, limits=limits)
        if isinstance(shown, Exhibit):
            return shown
        violation = death.violation(shown)
    shown = ask(executor, Show(finding.module, violation), limits=limits)
    return alone(finding.source, violation) if isinstance(shown, Died) else shown


def take_evidence(executor: Executor, finding: Finding) -> Evidence | None:
    """What the finding's module shows; None where TVM does not survive looking at it.

    Raises:
        ExecutorError: the harness failed.
    """
    for whole in (True, False):
        answer = ask(executor, Examine(finding.module, whole))
        if not isinstance(answer, Died):
            return replace(answer, inside=_inside(executor, finding))
    return None


def _inside(executor: Executor, finding: Finding) -> str:
    """The innermost pass inside of the last one that shows the same in its place; or empty."""
    if not finding.blames_last:
        return ""
    here = parts(finding.pass_name) - availability.current().passes.keys()
    inside = {name: bare_call(name) for name in sorted(here, key=lambda n: (len(parts(n)), n))}
    contract = catalogue.get(finding.pass_name)
    if contract is not None and contract.shares:
        inside[contract.shares] = SHARED[contract.shares]
    for part, call in inside.items():
        job = Check(
            module=finding.module,
            calls=(*finding.calls[:-1], call),
            oracles=None if finding.oracle in DEATHS else (finding.oracle,),
        )
        wanted = replace(finding.reported, blamed=(call.name,))
        if any(is_alike(identity_of(v), wanted) for v in check(executor, job)):
            return part
    return ""
