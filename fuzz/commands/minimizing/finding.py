"""Minimization of what the oracles of relaxfuzz see."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ....generators.tvm_api import load_json, versions
from ....oracles.composition import contract_of
from ... import reproducer
from ...findings.confirm import again
from ...findings.exhibit import exhibit
from ...findings.finding import Finding
from ...findings.store import Store
from ...minimize.findings import fewer_passes, minimized
from ...minimize.parallel import State
from ...process.executor import ExecutorError, JobFailed, check
from ...process.jobs import Check
from ...process.local_pool import LocalPool
from ...reproducer import Form
from ...system.files import write_whole
from ...user_input.mistake import Mistake
from .conclusion import Other, conclude, named, nothing
from .work import MORE, Work


def by_finding(work: Work) -> int:
    """Minimize the module of a finding, or one in which something is wrong; the exit code.

    Raises:
        Mistake: the pass does not apply to the module.
    """
    with LocalPool(work.request.workers) as pool:
        former = work.former(pool)
        if former is not None:
            if former.finding is None:
                raise Mistake(f"'{work.path}' is damaged: it has lost the finding")
            finding, state = former.finding, former.state
        else:
            chosen = _chosen(work, pool)
            if chosen is None:
                return nothing(work)
            finding = fewer_passes(pool, chosen, lambda fewer: _tell_fewer(work, fewer))
            state = State(module=finding.module)
        work.keep(state, finding)
        result = minimized(
            pool,
            finding,
            state,
            workers=work.request.workers,
            over=work.over,
            progress=lambda state: work.progress(state, finding),
        )
        work.flaky |= result.flaky
        work.faults.update(dict.fromkeys(result.faults))
        work.keep(result.state, result.finding)
        others = _others(work, pool, result.others)
        smallest = dataclasses.replace(result.finding, confirmed=True)
        try:
            smallest = dataclasses.replace(smallest, exhibit=exhibit(pool, smallest))
        except ExecutorError as error:  # it is a help, and the module is no larger without it
            work.faults[str(error)] = None
        text = reproducer.failing(smallest, work.request.form)
    write_whole(work.out, text or work.module_text(smallest.module))
    if work.target.store is not None:
        with Store(work.target.store, create=False, write=True) as store:
            if text is not None and work.request.form is Form.SOURCE:
                store.publish(smallest, text)
            else:
                store.put(smallest)
    if text is None:
        work.shown.line("No file reproduces it by itself; what was written is the module.")
    conclude(work, result.state, smallest, others)
    return 3 if work.faults else 1


def _chosen(work: Work, pool: LocalPool) -> Finding | None:
    """What is wrong; the first of several things."""
    finding = work.target.finding
    if finding is None:
        found = _violations(work, pool)
        for other in found[1:]:
            work.shown.line(f"also, and not looked into: {named(other)}")
        if not found:
            return None
        finding = found[0]
    try:
        seen = [again(pool, finding, finding.module) for _ in range(MORE)]
    except JobFailed as error:
        if work.target.finding is None:
            raise
        # What a finding of anybody's says may be nothing that an oracle can be asked.
        raise Mistake(f"'{work.target}' cannot be asked: {str(error).strip()[-200:]}") from None
    if work.target.finding is not None and not any(seen):
        return None
    if None in seen:
        work.flaky = True
        work.shown.line(f"flaky: it did not come out of {seen.count(None)} of {MORE} runs")
    work.shown.line(named(finding), "bold")
    return finding


def _violations(work: Work, pool: LocalPool) -> list[Finding]:
    request = work.request
    if len(work.calls) == 1:
        (call,) = work.calls
        reason = contract_of(call).requires(load_json(work.target.module))
        if reason is not None:
            raise Mistake(f"{call.name} does not apply to this module: {reason}")
    job = Check(
        module=work.target.module,
        calls=work.calls,
        pipeline=request.pipeline,
        oracles=None if request.oracle is None else (request.oracle,),
    )
    return [
        Finding.of(
            violation,
            module=job.module,
            versions=versions(),
            source=reproducer.source_of(job.module),
            calls=job.calls,
            pipeline=job.pipeline,
        )
        for violation in check(pool, job)
    ]


def _tell_fewer(work: Work, finding: Finding) -> None:
    work.shown.line(f"{len(finding.calls)} passes: {', '.join(map(str, finding.calls))}")


def _others(work: Work, pool: LocalPool, met: Sequence[Finding]) -> list[Other]:
    """What candidates showed besides, if it comes out again; kept for another day.

    Among the findings of a campaign it does not count: see `Triage`.
    """
    store = work.target.store
    folder = store or work.out.with_name(f"{work.out.name}.others")
    kept: list[Other] = []
    for finding in met:
        if work.interrupt.stop.is_set() or again(pool, finding, finding.module) is None:
            continue
        source = reproducer.source_of(finding.module)
        seen = dataclasses.replace(finding, confirmed=store is None, source=source)
        with Store(folder) as others:
            if others.get(seen.id) is None:
                others.put(seen)
        kept.append((seen, folder / seen.id))
    return kept
