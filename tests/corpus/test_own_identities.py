"""A record of a known bug covers what the harness reports of its own reproducer."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from relaxfuzz.compat.release import versions
from relaxfuzz.compat.serialization import save_json
from relaxfuzz.corpus.knowns import Known
from relaxfuzz.fuzz.findings.confirm import take_evidence
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.known import Choice
from relaxfuzz.fuzz.process.executor import JobFailed, check
from relaxfuzz.fuzz.process.jobs import Check
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.user_input.errors import UserError
from relaxfuzz.fuzz.user_input.module_file import execute
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.identity import Sameness, is_presumed
from relaxfuzz.oracles.passcall import bare_call
from relaxfuzz.oracles.tiers import ORACLES

RECORDS = Choice(shipped=True).load(versions()["tvm"]).knowns

LEAST = 0.5
"""The share of the records whose reproducer shows something under the bare pass of the first
report: others need arguments, a pipeline, several passes or an option."""


def _jobs(record: Known) -> Iterator[Check]:
    """The check of the first report by a pass that needs no arguments."""
    oracle, name = record.reports[0][:2]
    if oracle in ORACLES and name in catalogue and record.reproducer is not None:
        module = save_json(execute(record.reproducer))
        yield Check(module=module, calls=(bare_call(name),), oracles=(oracle,))


def _found(record: Known, pool: LocalPool) -> list[Finding]:
    """The findings of the harness, as if it had minimized the module of the reproducer."""
    try:
        reported = [(job, each) for job in _jobs(record) for each in check(pool, job)]
    except (UserError, JobFailed):  # the pass needs arguments; or there is no module
        return []
    findings = (
        Finding(
            violation=violation,
            module=job.module,
            calls=job.calls,
            versions=versions(),
            reduced=True,
        )
        for job, violation in reported
    )
    return [dataclasses.replace(each, evidence=take_evidence(pool, each)) for each in findings]


def _recognizes(record: Known, found: Finding) -> bool:
    """As minimized, or as it stands: many reproducers hold more than their bugs need."""
    made_of = found.identity.ingredients or frozenset()
    return record.sameness(found.identity) is Sameness.SAME or any(
        is_presumed(each, found.identity, made_of) for each in record.identities
    )


def test_it_recognizes_its_own_reproducer(pool: LocalPool) -> None:
    shown, missed = 0, []
    with ThreadPoolExecutor(2) as threads:
        every = threads.map(lambda record: _found(record, pool), RECORDS)
        for record, findings in zip(RECORDS, every, strict=True):
            shown += bool(findings)
            if findings and not any(_recognizes(record, each) for each in findings):
                missed += [f"{record.name}: {each.identity}" for each in findings]
    assert not missed, "\n".join(missed)
    assert shown >= LEAST * len(RECORDS), shown
