"""A record of a known bug covers what the harness reports of its own reproducer."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from relaxfuzz.compat.release import versions
from relaxfuzz.compat.serialization import save_json
from relaxfuzz.corpus.knowns import Known
from relaxfuzz.fuzz.findings.confirm import take_evidence
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.known import Choice
from relaxfuzz.fuzz.jobs.asking import check
from relaxfuzz.fuzz.jobs.jobs import Check
from relaxfuzz.fuzz.process.executor import JobFailed
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.system.errors import UserError
from relaxfuzz.fuzz.user_input.module_file import execute
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.identity import Sameness, is_presumed
from relaxfuzz.oracles.passcall import bare_call
from relaxfuzz.oracles.tiers import ORACLES

RECORDS = Choice(shipped=True).load(versions()["tvm"]).knowns

SAMPLE = 8
"""One record of this many is checked wherever tests run: all of them take a minute of CPU."""

LEAST = 0.5
"""The share of the records whose reproducer shows something under the bare pass of the first
report: others need arguments, a pipeline, several passes or an option."""


def _job(record: Known) -> Check | None:
    """The check of the first report by a pass that needs no arguments.

    It executes a file, which is not safe in several threads.
    """
    oracle, name = record.reports[0][:2]
    if oracle not in ORACLES or name not in catalogue or record.reproducer is None:
        return None
    with suppress(UserError):  # the pass needs arguments; or there is no module
        module = save_json(execute(record.reproducer))
        return Check(module=module, calls=(bare_call(name),), oracles=(oracle,))
    return None


def _found(job: Check, pool: LocalPool) -> list[Finding]:
    """The findings of the harness, as if it had minimized the module of the reproducer."""
    try:
        reported = check(pool, job)
    except JobFailed:
        return []
    findings = (
        Finding(
            violation=violation,
            module=job.module,
            calls=job.calls,
            versions=versions(),
            reduced=True,
        )
        for violation in reported
    )
    return [dataclasses.replace(each, evidence=take_evidence(pool, each)) for each in findings]


def _recognizes(record: Known, found: Finding) -> bool:
    """As minimized, or as it stands: many reproducers hold more than their bugs need."""
    made_of = found.identity.ingredients or frozenset()
    return record.sameness(found.identity) is Sameness.SAME or any(
        is_presumed(each, found.identity, made_of) for each in record.identities
    )


def _missed(records: Sequence[Known], pool: LocalPool) -> tuple[list[str], int]:
    """The records that do not recognize what their reproducer shows, and the number of the others
    that show something."""
    shown, missed = 0, []
    jobs = [(record, job) for record in records if (job := _job(record)) is not None]
    with ThreadPoolExecutor(2) as threads:
        every = threads.map(lambda each: _found(each[1], pool), jobs)
        for (record, _), findings in zip(jobs, every, strict=True):
            shown += bool(findings)
            if findings and not any(_recognizes(record, each) for each in findings):
                missed += [f"{record.name}: {each.identity}" for each in findings]
    return missed, shown


@pytest.mark.session
def test_some_recognize_their_own_reproducers(pool: LocalPool) -> None:
    missed, shown = _missed(RECORDS[::SAMPLE], pool)
    assert not missed, "\n".join(missed)
    assert shown


@pytest.mark.session
def test_they_recognize_their_own_reproducers(pool: LocalPool) -> None:
    missed, shown = _missed(RECORDS, pool)
    assert not missed, "\n".join(missed)
    assert shown >= LEAST * len(RECORDS), shown
