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
from ...oracles.identity import FailureKind
from ...oracles.passcall import PassCall
from ...oracles.pipelines import BUILT, PIPELINES, steps
from ...oracles.silence.inventory import NO_TIME, UNCHANGED
from ...oracles.silence.log import Answer
from ...oracles.tiers import ORACLES, compared
from ...oracles.values import evaluated
from ...oracles.values.pipeline_values import CODE_GENERATION
from ...oracles.violation import Violation
from ..findings.finding import Finding
from ..findings.known import Choice
from ..output.readable import sentence
from ..output.terminal import columns, counted, duration, results
from ..process.executor import Executor, JobFailed, Stoppable, check_each, checked
from ..process.jobs import Check, CheckEach, Checked
from ..process.local_pool import LocalPool
from ..system.scratch import scratch
from ..user_input.errors import UserError, near, parse_budget
from ..user_input.options import CHECK_BUDGET, Relaxations
from ..user_input.read_module import inspect, load
from ..user_input.stage import Part, parts_of
from ..user_input.targets import calls_of, check_names, oracles_of, refuse, stage_of
from .imports import compare, show
from .session import Session, session
from .silences import kept, main_reason, print_kept

VARIANTS = 6
"""How often arguments are drawn for a pass of the catalogue; equal ones are checked once."""

TRIAGE_SHARE = 0.3
"""The part of the time that is kept to confirm and reduce findings, once there are some."""

ENDING = 0.03
"""The part of the time that is kept for the end: processes are killed, tables printed."""

LATE = 1.0
"""Seconds that a step of the triage may take beyond the time."""

TRIAGE_SECONDS = 30.0
"""A user waits for it: `relaxfuzz minimize` reduces further."""

BY_NAME = "asked only with --oracle NAME, or --oracle all"
"""Why an oracle was not asked: it costs more than all others together, or was not named."""

LONGEST = 400
"""Characters of a line on passes that do not apply."""

COMPARED = 0.5
"""The part of the time that a model may take beside its framework."""

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
    seconds: float = parse_budget(CHECK_BUDGET),
) -> int:
    """Check the module of a file, and print what is found; the exit code.

    Args:
        passes: their spellings; none and no pipeline: all pipelines and all passes of the stage.
        stage: of the module; None: found from its functions.
        own: the contract of passes of the user's.
        pool: may still be starting.
        seconds: the time for all of it; checks that it does not suffice for are listed.

    Raises:
        UserError: a name is unknown, or the file has no module.
        ExecutorError: the workers cannot be kept alive.
    """
    clock = _Clock(seconds)
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
        verdict = compare(module, Path(folder), pool, COMPARED * clock.left)
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
        code = _run(in_order(jobs), passed_over, made, clock, named=oracles or ())
        code = code if verdict is None else show(verdict, made, code)
        made.store.sweep()
        return code


class _Clock:
    """The time of one command."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._began = time.monotonic()

    @property
    def left(self) -> float:
        """Seconds, without those for the end."""
        return (1 - ENDING) * self._seconds - (time.monotonic() - self._began)

    def is_up(self, *, pending: bool) -> bool:
        """No more checks are made.

        Args:
            pending: findings are to be confirmed, which takes time as well.
        """
        return self.left <= (min(TRIAGE_SECONDS, TRIAGE_SHARE * self._seconds) if pending else 0.0)


def in_order(jobs: Sequence[Check]) -> list[Check]:
    """First the build that users make, its passes in its order, and those of other pipelines."""
    there = [name for name in (BUILT, *PIPELINES) if name not in availability.current().pipelines]
    runs = dict.fromkeys(call.name for name in there for call in steps(name))
    places = {name: place for place, name in enumerate(runs)}

    def place(job: Check) -> int:
        if job.pipeline is not None:
            return -2 if job.pipeline == BUILT else -1
        return places.get(job.calls[0].name, len(runs))

    return sorted(jobs, key=place)


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
    clock: _Clock,
    *,
    named: Collection[str],
) -> int:
    began = time.monotonic()
    session.display.line(f"relaxfuzz on {build_name(session.versions)}: checks to do: {len(jobs)}")
    answers: queue.SimpleQueue[_Answer] = queue.SimpleQueue()
    threads = ThreadPoolExecutor(session.pool.workers)
    executor = Stoppable(session.pool)
    for batch in _batches(jobs, session.pool.workers):
        threads.submit(_answer, batch, executor, answers.put)
    left = {id(job): job for job in jobs}
    omitted: Counter[str] = Counter()
    asked: list[tuple[str, Answer]] = []
    pieces = 0
    unbuilt: Violation | None = None
    while left and not session.interrupt.stop.is_set():
        if clock.is_up(pending=session.triage.pending > 0):
            break
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
                unbuilt = unbuilt or (violation if _keeps_from_build(job, violation) else None)
                module = job.module if answer.piece is None else answer.piece
                session.triage.report(_finding(job, module, violation, session))
        left.pop(id(job), None)
        done = len(jobs) - len(left)
        session.display.progress(
            f"{done} of {len(jobs)} checks, {duration(max(clock.left, 0))} left  {_label(job)}"
        )
    done = len(jobs) - len(left)
    executor.close()
    threads.shutdown(wait=False, cancel_futures=True)
    seconds = time.monotonic() - began
    for what, checks in omitted.items():
        session.output.line(
            f"not all compared, since it takes too long: {what}, in {checks} of {done} checks",
            {"event": "omitted", "what": what, "checks": checks, "of": done, "pieces": pieces},
        )
    if pieces:
        session.output.line(f"values compared instead on {counted(pieces, 'small piece')} of it")
    session.drain(max(0.0, min(TRIAGE_SECONDS, clock.left)), LATE)
    session.remember()
    unmade = list(map(_label, left.values()))
    for event in _events(asked, passed_over, unmade) if session.output.as_json else ():
        session.output.emit(event)
    if unbuilt is not None:
        text = f"the default build of the module fails: {unbuilt.title}"
        session.output.line(text, {"event": "unbuilt", "title": unbuilt.title})
    answered = [answer for _, answer in asked]
    of_all = compared(answered, next((job.oracles for job in jobs), None))
    code = session.conclude(1, done, seconds, compared=of_all, named=named)
    if not session.output.as_json:
        _print_asked(answered, passed_over)
        _print_values(asked, unmade)
        print_kept(results(), kept(asked))
    return 1 if unbuilt is not None and code in (0, 4) else code


def _keeps_from_build(job: Check, violation: Violation) -> bool:
    """The default pipeline or code generation fails, a known bug or not."""
    if job.pipeline != BUILT:
        return False
    oracle = ORACLES.get(violation.oracle)
    raises = oracle is None or oracle.failure is FailureKind.RAISES
    return raises or violation.pass_name == CODE_GENERATION


def _events(
    asked: Sequence[tuple[str, Answer]], passed_over: Mapping[str, str], unmade: Sequence[str]
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
    for label in unmade:
        yield {**event, "pass": label, "oracle": None, "reason": NO_TIME.excuses}
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


def _print_values(asked: Sequence[tuple[str, Answer]], unmade: Sequence[str]) -> None:
    """Print the passes whose result's values were compared, those whose were not, and the checks
    that there was no time for."""
    console = results()
    by_reason: dict[str, list[str]] = {}
    for label, answer in asked:
        unchanged = any(each.rule == UNCHANGED.name for each in answer.silences)
        if answer.oracle == evaluated.ORACLE.name and not unchanged:
            by_reason.setdefault(answer.silent or "", []).append(label)
    both = len(by_reason.get("", ())), sum(map(len, by_reason.values()))
    if both[1]:
        console.print(f"values compared for {both[0]} of {both[1]} checks that change the module")
    lines = {f"values not compared: {why}": labels for why, labels in by_reason.items() if why}
    if unmade:
        lines[f"{counted(len(unmade), 'check')} not made, {NO_TIME.excuses} (--budget)"] = [*unmade]
    for text, labels in lines.items():
        names = dict.fromkeys(label.partition("(")[0] for label in labels)
        console.print(Text(sentence(f"{text}: {', '.join(names)}", LONGEST)), soft_wrap=True)


def _batches(jobs: Sequence[Check], workers: int) -> list[list[Check]]:
    """Checks that share a process: those of TVM's passes and pipelines, a part for each worker, so
    that what the module computes is found out seldom. Each of the others has its own."""
    shared: dict[tuple[object, ...], list[Check]] = {}
    batches: list[list[Check]] = []
    for job in jobs:
        if len(job.calls) > 1 or any(call.factory is not None for call in job.calls):
            batches.append([job])
        else:
            shared.setdefault((job.module, job.oracles, job.named), []).append(job)
    for together in shared.values():
        count = min(len(together), workers)
        # Variants of one pass take about as long: each batch gets some of them.
        batches += [together[first::count] for first in range(count)]
    return batches


_Answer: TypeAlias = tuple[Check, Checked | Exception]


def _answer(batch: Sequence[Check], pool: Executor, report: Callable[[_Answer], None]) -> None:
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
