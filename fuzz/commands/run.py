"""`relaxfuzz run`: generate modules, check passes, report."""

from __future__ import annotations

import dataclasses
import random
import time
from dataclasses import dataclass
from pathlib import Path

from ..campaign import CampaignConfig
from ..campaign import run as campaign
from ..display import duration
from ..events import Fault, Finished, Found, Progress
from ..finding import Finding
from ..known import Choice, shares
from ..mistake import parse_budget
from ..protocol import Identity, identity
from ..subjects import Relaxations, oracles_of, subjects
from .session import Session, session

BUDGET = 60.0
"""Seconds, where neither --budget nor --modules says otherwise."""

LEAST_DRAIN, MOST_DRAIN = 60.0, 600.0
"""Confirming and reducing what was found may go on as long as the budget did, within these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The command line of `run`."""

    passes: tuple[str, ...]
    budget: str | None
    modules: int | None
    seed: int | None
    workers: int
    oracles: tuple[str, ...] | None
    out: Path
    json: bool
    knowns: Choice
    relaxations: Relaxations


def run(request: Request) -> int:
    """Run the campaign; the exit code.

    Raises:
        Mistake: the request cannot be met.
        ExecutorError: the workers cannot be kept alive.
    """
    seconds = None if request.budget is None else parse_budget(request.budget)
    if seconds is None and request.modules is None:
        seconds = BUDGET
    chosen = subjects(request.passes, request.relaxations)
    config = CampaignConfig(
        seed=random.SystemRandom().randrange(2**31) if request.seed is None else request.seed,
        subjects=chosen,
        seconds=seconds,
        modules=request.modules,
        oracles=oracles_of(request.oracles),
        compositions=not request.passes,
    )
    names = tuple(subject.name for subject in chosen) if request.passes else None
    with session(request.out, request.workers, request.knowns, as_json=request.json) as made:
        avoid = made.expected.triggers(chosen)
        return _run(dataclasses.replace(config, avoid=avoid), made, names)


def _run(config: CampaignConfig, session: Session, named: tuple[str, ...] | None) -> int:
    budget = f"for {duration(config.seconds)}" if config.seconds else f"{config.modules} modules"
    session.display.line(
        f"relaxfuzz on TVM {session.versions['tvm']}: {len(config.subjects)} passes {budget}, "
        f"seed {config.seed}, {session.pool.workers} workers"
    )
    exempt = {subject.name: subject.exempt for subject in config.subjects}
    finished: Finished | None = None
    known: set[Identity] = set()
    for event in campaign(config, session.pool, session.interrupt.stop):
        match event:
            case Found():
                if session.report(_finding(event, session, exempt)):
                    known.add(identity(event.violation))
            case Progress():
                session.display.progress(_line(event, session))
            case Fault():
                session.fault(event.text)
            case Finished():
                finished = event
    assert finished is not None, "a campaign ends with Finished"
    if session.interrupt.stop.is_set():
        session.display.line("stopping; Ctrl-C again to leave findings unconfirmed")
    seconds = min(MOST_DRAIN, max(LEAST_DRAIN, config.seconds or 0.0))
    until = time.monotonic() + seconds
    session.drain(seconds)
    session.remember()
    session.review(named, until - time.monotonic())
    session.tell_shares(shares(finished, known))
    return session.conclude(finished.modules, finished.checks, finished.seconds)


def _finding(found: Found, session: Session, exempt: dict[str, tuple[str, ...]]) -> Finding:
    return Finding.of(
        found.violation,
        module=found.module,
        versions=session.versions,
        calls=found.calls,
        pipeline=found.pipeline,
        origin=found.origin,
        exempt=tuple(name for call in found.calls for name in exempt.get(call.name, ())),
    )


def _line(progress: Progress, session: Session) -> str:
    rate = progress.checks / progress.seconds if progress.seconds else 0.0
    findings = session.triage.told
    pending = f" (+{session.triage.pending} to confirm)" if session.triage.pending else ""
    return (
        f"{duration(progress.seconds)}  {progress.modules} modules  {rate:.0f} checks/s  "
        f"{findings} findings{pending}  {' '.join(progress.current)}"
    )
