"""See a finding again: in a fresh process, with the same oracle, pass and key."""

from __future__ import annotations

from dataclasses import replace

from ...oracles.oracle import Violation
from ..process.executor import Executor, check
from ..process.jobs import Check
from ..process.protocol import LIMITS, Death, Limits
from .finding import Finding

PATIENT = replace(LIMITS, step_seconds=30.0)
"""For a hang that was seen: what only takes long comes to its end."""

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
        oracles: ask only these; None: the one that spoke.

    Raises:
        ExecutorError: the harness failed.
    """
    job = Check(
        module=module,
        calls=finding.calls,
        pipeline=finding.pipeline,
        # A death has no oracle of its own: it may come in any step of an ordinary check.
        oracles=oracles or (None if finding.oracle in DEATHS else (finding.oracle,)),
        exempt=finding.exempt,
    )
    for violation in check(executor, job, limits=limits):
        if same(violation, finding):
            return violation
    return None


def same(violation: Violation, finding: Finding) -> bool:
    """The same bug, as far as oracle, pass and key can tell."""
    return (violation.oracle, violation.pass_name, violation.key) == (
        finding.oracle,
        finding.pass_name,
        finding.key,
    )
