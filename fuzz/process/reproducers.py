"""What the reproducers of known bugs show under the passes of a finding."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import tvm

from ...generators.stages import Stage
from ...oracles import catalogue
from ...oracles.passcall import PassCall
from ...oracles.violation import Violation
from ..findings.evidence import Evidence, evidence_of
from ..minimize.attributes import with_attributes
from ..user_input import module_file
from .jobs import Check, Context, violations_of
from .protocol import Job
from .sequences import call_of

DRAWS = 4
"""Of arguments that fit the module of a reproducer."""


@dataclass(frozen=True, slots=True)
class Reproduced:
    """What the module of a reproducer shows; nothing where it cannot be made."""

    violations: tuple[Violation, ...] = ()
    evidence: Evidence | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReproducers(Job[Reproduced]):
    """Check the modules of several reproducers with the passes of one finding.

    There is a result for each, in their order. A finding's arguments of a pass are for its own
    module: where a single pass shows nothing with them, it is tried with others that fit.
    """

    files: tuple[str, ...]
    calls: tuple[PassCall, ...] = ()
    pipeline: str | None = None
    oracles: tuple[str, ...] | None = None
    exempt: tuple[str, ...] = ()
    attributes: tuple[str, ...] | None = None
    """Only attributes of operators with these names differ from their defaults; None: as it is."""
    whole: bool = False
    """Take all evidence of the modules, that too which may crash."""


def check_reproducers(job: CheckReproducers, context: Context[Reproduced]) -> None:
    """Report what each module shows."""
    for number, file in enumerate(job.files):
        context.journal.position(0, Stage.RAW, number, "check", job.calls, job.pipeline)
        context.journal.step("read")
        shown = Reproduced()
        with contextlib.suppress(Exception):  # whatever does not show the violation is another bug
            shown = _shown(job, Path(file), context)
        context.report(shown)


def _shown(job: CheckReproducers, file: Path, context: Context[Reproduced]) -> Reproduced:
    mod = module_file.execute(file)
    if job.attributes is not None:
        mod = with_attributes(mod, job.attributes)
    evidence = evidence_of(mod, context.journal.step, whole=job.whole)
    check = Check(
        module="",
        calls=job.calls,
        pipeline=job.pipeline,
        oracles=job.oracles,
        exempt=job.exempt,
    )
    violations = violations_of(check, mod, context.journal)
    for call in () if violations else _fitting(job.calls, mod):
        violations = violations_of(dataclasses.replace(check, calls=(call,)), mod, context.journal)
        if violations:
            break
    return Reproduced(tuple(violations), evidence)


def _fitting(calls: tuple[PassCall, ...], mod: tvm.IRModule) -> Iterator[PassCall]:
    """Of a single pass that takes arguments: some that fit the module."""
    contract = catalogue.contract_of(calls[0].name) if len(calls) == 1 else None
    if contract is None or contract.variants is None:
        return
    random = Random(DRAWS)  # the same at each check
    drawn = (call_of(contract, mod, random) for _ in range(DRAWS))
    for call in dict.fromkeys(drawn):
        if call is not None and call not in calls:
            yield call
