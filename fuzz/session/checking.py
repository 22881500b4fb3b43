"""`relaxfuzz check`: the same oracles over a module of the user's."""

from __future__ import annotations

import functools
import queue
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

import tvm
from rich.text import Text

from ...compat import availability
from ...compat.release import build_name
from ...compat.serialization import load_json, save_json
from ...generators.choices import Choices
from ...generators.families import by_family
from ...generators.stages import RELAX, Stage
from ...oracles.catalogue import catalogue, of_family
from ...oracles.check import BUILDS
from ...oracles.composition import contract_of
from ...oracles.passcall import PassCall
from ...oracles.pipelines import BUILT, PIPELINES, steps
from ...oracles.silence.log import Answer
from ...oracles.tiers import ORACLES, compared
from ...oracles.violation import Violation
from ..findings.finding import Finding
from ..findings.known import Choice
from ..output.readable import sentence
from ..output.terminal import columns, counted, results
from ..process.executor import JobFailed, check_each, checked
from ..process.jobs import Check, CheckEach, Checked
from ..process.local_pool import LocalPool
from ..system.scratch import scratch
from ..user_input.errors import UserError, near
from ..user_input.options import Relaxations
from ..user_input.read_module import inspect, load
from ..user_input.stage import Part, parts_of
from ..user_input.targets import calls_of, check_names, oracles_of, refuse, stage_of
from .imports import compare, show
from .session import Session, session
from .silences import kept, main_reason, print_kept

VARIANTS = 6
"""How often arguments are drawn for a pass of the catalogue; equal ones are checked once."""

SHARES = 2
"""Batches of checks for each worker: with more, what the module computes is found out more often;
with fewer, a worker waits longer for the others at the end."""

TRIAGE_SECONDS = 30.0
"""A user waits for it: `relaxfuzz minimize` reduces further."""

BY_NAME = "asked only with --oracle NAME, or --oracle all"
"""Why an oracle was not asked: it costs more than all others together, or was not named."""

LONGEST = 400
"""Characters of a line on passes that do not apply."""

TICK = 0.1
"""How often it is looked whether the user wants to stop."""


def check_module(
    path: Path,
    passes: tuple[str, ...],
    *,
    pipeline: str | None,
    stage: str | None,
    oracles: tuple[str, ...] | None,
    own: Relaxations,
    pool: LocalPool,
    out: Path,
    knowns: Choice,
    as_json: bool,
) -> int:
    """Check the module of a file, and print what is found; the exit code.

    Args:
        passes: their spellings; none and no pipeline: all pipelines and all passes of the stage.
        stage: of the module; None: found from its functions.
        own: the contract of passes of the user's.
        pool: may still be starting.

    Raises:
        UserError: a name is unknown, or the file has no module.
        ExecutorError: the workers cannot be kept alive.
    """
    if pipeline is not None and pipeline not in PIPELINES:
        raise UserError(f"no pipeline {pipeline!r}{near(pipeline, PIPELINES)}")
    if pipeline is not None:
        refuse("pipeline", pipeline)
    names, at = oracles_of(oracles), None if stage is None else stage_of(stage)
    check_names(own)
    calls = calls_of(dict.fromkeys(passes, own.like))
    inspect(path)
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        module = load(path, pool, beside=Path(folder))
        verdict = compare(module, Path(folder), pool)
    mod = load_json(module)
    parts = parts_of(mod) if at is None else (Part(mod, (at,)),)
    make = functools.partial(Check, module=module, oracles=names, pieces=True)
    jobs = [] if pipeline is None else [make(pipeline=pipeline)]
    found, passed_over = _named(make, calls, mod, own.exempt)
    jobs += [*found, *_of_builds(make, calls, names)]
    if not calls and pipeline is None:
        off = availability.current().pipelines
        for part in parts:
            text = module if part.mod is mod else save_json(part.mod)
            found, not_there = _all(functools.partial(make, module=text), part)
            # The pipelines are of Relax.
            relax = RELAX.keys() & part.stages
            jobs += [make(pipeline=name) for name in PIPELINES if name not in off and relax]
            jobs += found
            passed_over |= not_there
        passed_over |= {name: why for name, why in off.items() if name in PIPELINES}
    with session(out, pool.workers, knowns, as_json=as_json, pool=pool) as made:
        for spelling in calls:
            if spelling in passed_over:
                why = passed_over[spelling]
                made.display.line(f"{spelling} does not apply to this module: {why}")
        if at is None and not calls and pipeline is None:
            _print_stages(parts, made)
        code = _run(jobs, passed_over, made, named=oracles or ())
        return code if verdict is None else show(verdict, made, code)


def _named(
    make: Callable[..., Check],
    calls: Mapping[str, PassCall],
    mod: tvm.IRModule,
    exempt: tuple[str, ...],
) -> tuple[list[Check], dict[str, str]]:
    """The checks of the passes that the user named; why the others do not apply."""
    jobs: list[Check] = []
    passed_over: dict[str, str] = {}
    for spelling, call in calls.items():
        fixed = call.factory is not None or not call.expr.endswith("()")
        contract = contract_of(call)
        drawn = not fixed and call.name in catalogue
        variants = _variants(call.name, mod) if drawn else [call]
        reason = contract.requires(mod)
        if reason is None and not variants:
            reason = contract.no_variants
        if reason is not None:
            passed_over[spelling] = reason
            continue
        own = exempt if call.factory is not None else ()
        jobs += (make(calls=(each,), exempt=own, named=True) for each in variants)
    return jobs, passed_over


def _of_builds(
    make: Callable[..., Check], calls: Mapping[str, PassCall], names: tuple[str, ...] | None
) -> list[Check]:
    """The check of the build that runs one of the passes that the user named.

    It shows the values that the pass gives an operator, and the code after it.
    """
    asked = tuple(name for name in BUILDS if names is None or name in names)
    named = {call.name for call in calls.values() if call.factory is None}
    off = availability.current().pipelines
    if not asked or not named or BUILT in off:
        return []
    runs = any(call.name in named for call in steps(BUILT))
    return [make(pipeline=BUILT, oracles=asked)] if runs else []


def _all(make: Callable[..., Check], part: Part) -> tuple[list[Check], dict[str, str]]:
    """The checks of all passes of the stages; why the others of their families do not apply."""
    off = availability.current().passes
    jobs: list[Check] = []
    passed_over: dict[str, str] = {}
    for name, contract in of_family(*by_family(part.stages)).items():
        reason = off.get(name)
        if reason is None and not set(part.stages).intersection(contract.stages):
            reason = f"not at the stage {', '.join(part.stages)}: see --at"
        reason = reason or contract.requires(part.mod)
        variants = [] if reason is not None else _variants(name, part.mod)
        if not variants:
            passed_over[name] = reason or contract.no_variants
        jobs += (make(calls=(variant,)) for variant in variants)
    return jobs, passed_over


def _print_stages(parts: Sequence[Part], session: Session) -> None:
    """Print which passes are asked, since the user named no stage."""
    stages = [stage for part in parts for stage in part.stages]
    if stages == [Stage.RAW]:
        return
    found = (f"{name} (stage {', '.join(at)})" for name, at in by_family(stages).items())
    session.output.line(
        f"passes to check, by the module's functions: {', '.join(found)}; --at STAGE: of another",
        {"event": "stages", "stages": stages},
    )


def _variants(name: str, mod: tvm.IRModule) -> list[PassCall]:
    """Some of the contract's variants for this module, the simplest first."""
    draws = random.Random(0)
    data = [b"", *(draws.randbytes(64) for _ in range(VARIANTS))]
    calls = (catalogue[name].choose(Choices(each), mod) for each in data)
    return list({str(call): call for call in calls if call is not None}.values())


def _run(
    jobs: Sequence[Check],
    passed_over: Mapping[str, str],
    session: Session,
    *,
    named: Collection[str],
) -> int:
    began = time.monotonic()
    session.display.line(f"relaxfuzz on {build_name(session.versions)}: checks to do: {len(jobs)}")
    answers: queue.SimpleQueue[_Answer] = queue.SimpleQueue()
    threads = ThreadPoolExecutor(session.pool.workers)
    for batch in _batches(jobs, session.pool.workers):
        threads.submit(_answer, batch, session.pool, answers.put)
    done = 0
    omitted: Counter[str] = Counter()
    asked: list[tuple[str, Answer]] = []
    pieces = 0
    while done < len(jobs) and not session.interrupt.stop.is_set():
        try:
            job, answer = answers.get(timeout=TICK)
        except queue.Empty:
            continue
        if isinstance(answer, UserError):
            session.user_error(str(answer))
        elif isinstance(answer, Exception):
            session.fault(f"{_label(job)}: {answer}")
        else:
            omitted.update(answer.omitted)
            asked += ((_label(job), each) for each in answer.answers)
            pieces = max(pieces, answer.pieces)
            for violation in answer.violations:
                module = job.module if answer.piece is None else answer.piece
                session.triage.report(_finding(job, module, violation, session))
        done += 1
        session.display.progress(f"{done} of {len(jobs)} checks  {_label(job)}")
    # What is still running is killed when the pool is closed.
    threads.shutdown(wait=False, cancel_futures=True)
    seconds = time.monotonic() - began
    for what, checks in omitted.items():
        session.output.line(
            f"not all compared, since it takes too long: {what}, in {checks} of {done} checks",
            {"event": "omitted", "what": what, "checks": checks, "of": done, "pieces": pieces},
        )
    if pieces:
        session.output.line(f"values compared instead on {counted(pieces, 'small piece')} of it")
    session.drain(TRIAGE_SECONDS)
    session.remember()
    for event in _events(asked, passed_over) if session.output.as_json else ():
        session.output.emit(event)
    answered = [answer for _, answer in asked]
    code = session.conclude(1, done, seconds, compared=compared(answered), named=named)
    if not session.output.as_json:
        _print_asked(answered, passed_over)
        print_kept(results(), kept(asked))
    return code


def _events(
    asked: Sequence[tuple[str, Answer]], passed_over: Mapping[str, str]
) -> Iterator[dict[str, object]]:
    """What each oracle did in each check, and which passes were not checked, for programs."""
    for label, answer in asked:
        yield {
            "event": "asked",
            "pass": label,
            "oracle": answer.oracle,
            "silent": answer.silent is not None,
            "reason": answer.silent,
            "omitted": list(answer.omitted),
        }
    yield from (each.event for each in kept(asked))
    event = {"event": "asked", "silent": True, "omitted": []}
    for name, why in passed_over.items():
        yield {**event, "pass": name, "oracle": None, "reason": why}
    for oracle in _unasked(answer for _, answer in asked):
        yield {**event, "pass": None, "oracle": oracle, "reason": BY_NAME}


def _unasked(asked: Iterable[Answer]) -> list[str]:
    """The oracles that no check asked."""
    names = {answer.oracle for answer in asked}
    return [name for name in ORACLES if name not in names]


def _print_asked(asked: Sequence[Answer], passed_over: Mapping[str, str]) -> None:
    """How often each oracle compared something, and why not; which passes were not checked."""
    console = results()
    table = columns(
        "oracle", "compared", "silent", "mainly because", numbers=("compared", "silent")
    )
    for name in [name for name in ORACLES if any(each.oracle == name for each in asked)]:
        mine = [each for each in asked if each.oracle == name]
        silent = sum(each.silent is not None for each in mine)
        why = sentence(main_reason(mine) or "")
        table.add_row(name, str(len(mine) - silent), str(silent), Text(why))
    if table.row_count:
        console.print()
        console.print(table)
    if unasked := _unasked(asked):
        console.print(f"{BY_NAME}: {', '.join(unasked)}", soft_wrap=True)
    by_reason: dict[str, list[str]] = {}
    for name, why in passed_over.items():
        by_reason.setdefault(why, []).append(name)
    for why, names in by_reason.items():
        text = f"does not apply: {', '.join(names)}: {why}"
        console.print(Text(sentence(text, LONGEST)), soft_wrap=True)


def _batches(jobs: Sequence[Check], workers: int) -> list[list[Check]]:
    """Checks that share a process: those of one pass of TVM's; each of the others has its own."""
    by_module: dict[str, list[Check]] = {}
    alone: list[Check] = []
    for job in jobs:
        shares = len(job.calls) == 1 and job.calls[0].factory is None
        (by_module.setdefault(job.module, []) if shares else alone).append(job)
    batches = [[job] for job in alone]
    for together in by_module.values():
        count = min(len(together), SHARES * workers)
        # Variants of one pass take about as long: each batch gets some of them.
        batches += [together[first::count] for first in range(count)]
    return batches


_Answer: TypeAlias = tuple[Check, Checked | Exception]


def _answer(batch: Sequence[Check], pool: LocalPool, report: Callable[[_Answer], None]) -> None:
    """Report what each check gives, or why there is no answer."""
    first, left = batch[0], iter(batch)
    try:
        answers: Iterable[Checked | JobFailed]
        if any(call.factory is not None for call in first.calls):
            answers = [checked(pool, first)]
        else:
            job = CheckEach(
                module=first.module,
                pipelines=tuple(each.pipeline for each in batch if each.pipeline is not None),
                calls=tuple(call for each in batch for call in each.calls),
                oracles=first.oracles,
                named=first.named,
            )
            answers = check_each(pool, job)
        for answer in answers:
            report((next(left), answer))
    except Exception as error:
        for each in left:
            report((each, error))


def _finding(job: Check, module: str, violation: Violation, session: Session) -> Finding:
    return Finding(
        violation=violation,
        module=module,
        versions=session.versions,
        calls=job.calls,
        pipeline=job.pipeline,
        exempt=job.exempt,
    )


def _label(job: Check) -> str:
    return job.pipeline or str(job.calls[0])
