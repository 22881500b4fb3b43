"""`relaxfuzz check`: the same oracles over a module of the user's."""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

import tvm

from ...compat import availability
from ...compat.release import build_name
from ...compat.serialization import load_json
from ...generators.choices import Choices
from ...generators.stages import Stage
from ...oracles.catalogue import catalogue
from ...oracles.composition import contract_of
from ...oracles.passcall import PassCall
from ...oracles.pipelines import PIPELINES
from ..findings.finding import Finding
from ..findings.known import Choice
from ..process.executor import check
from ..process.jobs import Check
from ..process.local_pool import LocalPool
from ..user_input.errors import UserError, near
from ..user_input.options import Relaxations
from ..user_input.read_module import inspect, load
from ..user_input.targets import calls_of, check_names, oracles_of, refuse, stage_of
from .session import Session, session

VARIANTS = 6
"""How often arguments are drawn for a pass of the catalogue; equal ones are checked once."""

TRIAGE_SECONDS = 120.0

TICK = 0.1
"""How often it is looked whether the user wants to stop."""


def check_module(
    path: Path,
    passes: tuple[str, ...],
    *,
    pipeline: str | None,
    stage: str,
    oracles: tuple[str, ...] | None,
    own: Relaxations,
    workers: int,
    out: Path,
    knowns: Choice,
    as_json: bool,
) -> int:
    """Check the module of a file, and print what is found; the exit code.

    Args:
        passes: their spellings; none and no pipeline: all pipelines and all passes of the stage.
        own: the contract of passes of the user's.

    Raises:
        UserError: a name is unknown, or the file has no module.
        ExecutorError: the workers cannot be kept alive.
    """
    if pipeline is not None and pipeline not in PIPELINES:
        raise UserError(f"no pipeline {pipeline!r}{near(pipeline, PIPELINES)}")
    if pipeline is not None:
        refuse("pipeline", pipeline)
    names, at = oracles_of(oracles), stage_of(stage)
    check_names(own)
    calls = calls_of(dict.fromkeys(passes, own.like))
    inspect(path)
    with LocalPool(workers) as pool:
        module = load(path, pool)
        mod = load_json(module)
        make = functools.partial(Check, module=module, oracles=names)
        jobs = [] if pipeline is None else [make(pipeline=pipeline)]
        found, notes = _named(make, calls, mod, own.exempt)
        jobs += found
        if not calls and pipeline is None:
            off = availability.current().pipelines
            jobs = [make(pipeline=name) for name in PIPELINES if name not in off]
            jobs += _all(make, mod, at)
        with session(out, workers, knowns, as_json=as_json, pool=pool) as made:
            for note in notes:
                made.display.line(note)
            return _run(jobs, made)


def _named(
    make: Callable[..., Check],
    calls: Mapping[str, PassCall],
    mod: tvm.IRModule,
    exempt: tuple[str, ...],
) -> tuple[list[Check], list[str]]:
    jobs: list[Check] = []
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
        own = exempt if call.factory is not None else ()
        jobs += (make(calls=(each,), exempt=own) for each in variants)
    return jobs, notes


def _all(make: Callable[..., Check], mod: tvm.IRModule, stage: Stage) -> Iterator[Check]:
    for name, contract in catalogue.items():
        if name in availability.current().passes:
            continue
        if stage in contract.stages and contract.requires(mod) is None:
            for variant in _variants(name, mod):
                yield make(calls=(variant,))


def _variants(name: str, mod: tvm.IRModule) -> list[PassCall]:
    """Some of the contract's variants for this module, the simplest first."""
    draws = random.Random(0)
    data = [b"", *(draws.randbytes(64) for _ in range(VARIANTS))]
    calls = (catalogue[name].choose(Choices(each), mod) for each in data)
    return list({str(call): call for call in calls if call is not None}.values())


def _run(jobs: Sequence[Check], session: Session) -> int:
    began = time.monotonic()
    session.display.line(f"relaxfuzz on {build_name(session.versions)}: checks to do: {len(jobs)}")
    done = 0
    threads = ThreadPoolExecutor(session.pool.workers)
    futures: dict[Future[list[Finding]], Check] = {
        threads.submit(_findings, job, session): job for job in jobs
    }
    left = set(futures)
    while left and not session.interrupt.stop.is_set():
        ended, left = wait(left, TICK, FIRST_COMPLETED)
        for future in ended:
            error = future.exception()
            if isinstance(error, UserError):
                session.user_error(str(error))
            elif error is not None:
                session.fault(f"{_label(futures[future])}: {error}")
            else:
                for finding in future.result():
                    session.triage.report(finding)
            done += 1
            session.display.progress(f"{done} of {len(jobs)} checks  {_label(futures[future])}")
    # What is still running is killed when the pool is closed.
    threads.shutdown(wait=False, cancel_futures=True)
    seconds = time.monotonic() - began
    session.drain(TRIAGE_SECONDS)
    session.remember()
    return session.conclude(1, done, seconds)


def _findings(job: Check, session: Session) -> list[Finding]:
    return [
        Finding(
            violation=violation,
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
