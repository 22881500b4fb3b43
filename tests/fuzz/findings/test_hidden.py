"""Bugs that were taken for other bugs on record, since their messages are alike."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import ModuleType

import pytest
import tvm

from relaxfuzz.compat.release import versions
from relaxfuzz.compat.serialization import save_json
from relaxfuzz.corpus.knowns import knowns
from relaxfuzz.fuzz.campaign.sequences import call_of
from relaxfuzz.fuzz.findings.confirm import take_evidence
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.jobs.asking import check
from relaxfuzz.fuzz.jobs.jobs import Check
from relaxfuzz.fuzz.process.executor import Executor
from relaxfuzz.oracles import catalogue
from relaxfuzz.oracles.identity import Sameness
from relaxfuzz.oracles.violation import Violation

CASES = sorted((Path(__file__).parent / "hidden").glob("*.py"))
DRAWS = 8

RECORDS = {known.name: known for known in knowns()}


def load(path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    case = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, case)  # TVMScript looks for the source there
    spec.loader.exec_module(case)
    return case


def checks_of(case: ModuleType, mod: tvm.IRModule) -> Iterator[Check]:
    """The checks that `relaxfuzz check` makes; arguments of a pass are drawn a few times."""
    words = case.PASSES.split()
    oracles = (words[words.index("--oracle") + 1],) if "--oracle" in words else None
    module = save_json(mod)
    if words[0] == "--pipeline":
        yield Check(module=module, pipeline=words[1])
        return
    contract = catalogue.promised_by(words[0])
    assert contract is not None
    for seed in range(DRAWS):
        call = call_of(contract, mod, Random(seed))
        if call is not None:
            yield Check(module=module, calls=(call,), oracles=oracles)


def finding_of(violation: Violation, job: Check, pool: Executor) -> Finding:
    finding = Finding(
        violation=violation,
        module=job.module,
        versions=versions(),
        calls=job.calls,
        pipeline=job.pipeline,
        reduced=True,
    )
    return dataclasses.replace(finding, evidence=take_evidence(pool, finding))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_it_is_not_taken_for_another_bug(
    path: Path, pool: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = load(path, monkeypatch)
    others = [RECORDS[name] for name in case.NOT]
    seen = 0
    for job in checks_of(case, case.module()):
        for violation in check(pool, job):
            seen += 1
            found = finding_of(violation, job, pool).identity
            same = [each.name for each in others if each.sameness(found) is Sameness.SAME]
            assert not same, f"{found} is taken for {same}"
        if seen:
            return
    raise AssertionError("the bug is fixed, or the oracles have become blind to it")
