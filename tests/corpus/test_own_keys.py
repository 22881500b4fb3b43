"""A record of a known bug covers what the harness reports of its own reproducer."""

from __future__ import annotations

from collections.abc import Iterator

from relaxfuzz.compat.release import versions
from relaxfuzz.compat.serialization import save_json
from relaxfuzz.corpus.knowns import Known
from relaxfuzz.fuzz.findings.known import Choice
from relaxfuzz.fuzz.process.executor import JobFailed, check
from relaxfuzz.fuzz.process.jobs import Check
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.user_input.errors import UserError
from relaxfuzz.fuzz.user_input.module_file import execute
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.passcall import bare_call
from relaxfuzz.oracles.tiers import ORACLES

RECORDS = Choice(shipped=True).load(versions()["tvm"]).knowns

LEAST = 0.5
"""The share of the records whose reproducer shows something under the bare pass of the first key:
others need arguments, a pipeline, several passes or an option."""


def _jobs(record: Known) -> Iterator[Check]:
    """The check of the first key by a pass that needs no arguments."""
    oracle, name = record.keys[0][:2]
    if oracle in ORACLES and name in catalogue and record.reproducer is not None:
        module = save_json(execute(record.reproducer))
        yield Check(module=module, calls=(bare_call(name),), oracles=(oracle,))


def test_it_recognizes_its_own_reproducer(pool: LocalPool) -> None:
    shown, missed = 0, []
    for record in RECORDS:
        try:
            keys = [each.full_key for job in _jobs(record) for each in check(pool, job)]
        except (UserError, JobFailed):  # the pass needs arguments; or there is no module
            continue
        shown += bool(keys)
        if keys and not any(map(record.matches, keys)):
            missed.append((record.name, keys))
    assert missed == []
    assert shown >= LEAST * len(RECORDS), shown
