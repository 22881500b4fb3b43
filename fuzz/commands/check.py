"""`relaxfuzz check`: the same oracles over a module of the user's."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import tvm

from ...generators.choices import Choices
from ...generators.stages import Stage
from ...generators.tvm_api import load_json
from ...oracles.catalogue import catalogue
from ...oracles.composition import contract_of
from ...oracles.passcall import PassCall
from ...oracles.pipelines import PIPELINES
from ..findings.finding import Finding
from ..findings.known import Choice
from ..process.executor import check
from ..process.jobs import Check
from ..process.local_pool import LocalPool
from ..session.session import Session, session
from ..user_input.mistake import Mistake, near
from ..user_input.options import Relaxations
from ..user_input.read_module import inspect, load
from ..user_input.targets import calls_of, check_names, oracles_of, stage_of

VARIANTS = 6
"""Draws of arguments for each pass of the catalogue; equal ones are checked once."""

TRIAGE_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The command line of `check`."""

    module: Path
    passes: tuple[str, ...]
    pipeline: str | None
    stage: str
    workers: int
    oracles: tuple[str, ...] | None
    out: Path
    json: bool
    knowns: Choice
    relaxations: Relaxations


def run(request: Request) -> int:
    """Check the module; the exit code.

    Raises:
        Mistake: the request cannot be met.
        ExecutorError: the workers cannot be kept alive.
    """
    if request.pipeline is not None and request.pipeline not in PIPELINES:
        raise Mistake(f"no pipeline {request.pipeline!r}{near(request.pipeline, PIPELINES)}")
    oracles = oracles_of(request.oracles)
    stage = stage_of(request.stage)
    check_names(request.relaxations)
    calls = calls_of(request.passes, request.relaxations.like)
    inspect(request.module)
    with LocalPool(request.workers) as pool:
        module = load(request.module, pool)
        jobs, notes = _jobs(request, module, calls, oracles, stage)
        with session(
            request.out, request.workers, request.knowns, as_json=request.json, pool=pool
        ) as made:
            for note in notes:
                made.display.line(note)
            return _run(jobs, made)


def _jobs(
    request: Request,
    module: str,
    calls: Mapping[str, PassCall],
    oracles: tuple[str, ...] | None,
    stage: Stage,
) -> tuple[list[Check], list[str]]:
    """What to check, and why some of what was asked for is left out."""
    mod = load_json(module)
    jobs: list[Check] = []
    if request.pipeline is not None:
        jobs.append(Check(module=module, pipeline=request.pipeline, oracles=oracles))
    notes: list[str] = []
    for spelling, call in calls.items():
        fixed = call.factory is not None or not call.expr.endswith("()")
        contract = contract_of(call)
        drawn = not fixed and call.name in catalogue
        variants = _variants(call.name, mod) if drawn else [call]
        reason = contract.requires(mod)
        if reason is None and not variants:
            reason = contract.no_variants
        if reason is not None:
            notes.append(f"{spelling} does not apply to this module: {reason}")
            continue
        exempt = request.relaxations.exempt if call.factory is not None else ()
        jobs += (
            Check(module=module, calls=(variant,), oracles=oracles, exempt=exempt)
            for variant in variants
        )
    if not request.passes and request.pipeline is None:
        jobs += (Check(module=module, pipeline=name, oracles=oracles) for name in PIPELINES)
        for name, contract in catalogue.items():
            if stage in contract.stages and contract.requires(mod) is None:
                jobs += (
                    Check(module=module, calls=(variant,), oracles=oracles)
                    for variant in _variants(name, mod)
                )
    return jobs, notes


def _variants(name: str, mod: tvm.IRModule) -> list[PassCall]:
    """Some of the contract's variants for this module; the simplest one comes first."""
    draws = random.Random(0)
    data = [b"", *(draws.randbytes(64) for _ in range(VARIANTS))]
    calls = (catalogue[name].variants(Choices(each), mod) for each in data)
    return list({str(call): call for call in calls if call is not None}.values())


def _run(jobs: Sequence[Check], session: Session) -> int:
    began = time.monotonic()
    session.display.line(f"relaxfuzz on TVM {session.versions['tvm']}: checks to do: {len(jobs)}")
    done = 0
    with ThreadPoolExecutor(session.pool.workers) as threads:
        futures: dict[Future[list[Finding]], Check] = {
            threads.submit(_findings, job, session): job for job in jobs
        }
        for future in as_completed(futures):
            if session.interrupt.stop.is_set():
                threads.shutdown(wait=False, cancel_futures=True)
                break
            error = future.exception()
            if isinstance(error, Mistake):
                session.mistake(str(error))
            elif error is not None:
                session.fault(f"{_label(futures[future])}: {error}")
            else:
                for finding in future.result():
                    session.triage.report(finding)
            done += 1
            session.display.progress(f"{done} of {len(jobs)} checks  {_label(futures[future])}")
    seconds = time.monotonic() - began
    session.drain(TRIAGE_SECONDS)
    session.remember()
    return session.conclude(1, done, seconds)


def _findings(job: Check, session: Session) -> list[Finding]:
    return [
        Finding.of(
            violation,
            module=job.module,
            versions=session.versions,
            calls=job.calls,
            pipeline=job.pipeline,
            exempt=job.exempt,
        )
        for violation in check(session.pool, job)
    ]


def _label(job: Check) -> str:
    return job.pipeline or str(job.calls[0])
