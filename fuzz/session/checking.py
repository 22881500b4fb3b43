"""`relaxfuzz check`: applies the same oracles to a user's module."""

from __future__ import annotations

import dataclasses
import functools
import queue
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
from ...generators.families import by_family
from ...generators.stages import RELAX, Stage, between, chain
from ...oracles import contexts
from ...oracles.catalogue import catalogue, contract_of, is_users_contract, of_family
from ...oracles.check import BUILDS, STEPS_OF_BUILDS
from ...oracles.contract import PassContract
from ...oracles.execute.device import CPU, ON_CPU
from ...oracles.identify import failure_of
from ...oracles.identity import FailureKind
from ...oracles.inspect import attr
from ...oracles.on_device.oracle import name_of
from ...oracles.passcall import PassCall, is_users, target_of
from ...oracles.pipelines import (
    BIND,
    BUILT,
    BUILT_KERNELS,
    OF_KERNELS,
    PIPELINES,
    is_own,
    remember,
    steps,
    steps_on,
)
from ...oracles.silence.inventory import DIED, UNCHANGED
from ...oracles.silence.log import Answer
from ...oracles.tiers import ORACLES, compared
from ...oracles.values import evaluated
from ...oracles.values.frameworks import ImporterVerdict
from ...oracles.violation import Violation
from ..campaign import costs
from ..findings.dedup import FAIL_ON
from ..jobs.asking import check_some, checked
from ..jobs.jobs import (
    VARIANTS,
    VARIANTS_OF_NAMED,
    Advance,
    Check,
    CheckEach,
    CheckOf,
    CheckResult,
    Walk,
    variants_of,
)
from ..loading.read_module import inspect, load
from ..loading.right_values import onnx_test, reference
from ..loading.targets import (
    EVERY,
    calls_of,
    check_names,
    family_named,
    options_of,
    oracles_of,
    pipeline_named,
    stage_of,
)
from ..output.readable import sentence
from ..output.terminal import columns, counted, duration, results
from ..process.executor import Executor, Stoppable, ask
from ..process.local_pool import LocalPool
from ..process.protocol import LIMITS, Died, Limits
from ..system.errors import UserError, parse_budget
from ..system.scratch import scratch
from ..user_input.settings import BUDGET, Settings
from ..user_input.stage import StagedPart, parts_of
from .clock import LATE, TRIAGE_SECONDS, Clock
from .imports import none, show
from .met import BREAKS, BuildEffect, finding_of, lines, met
from .session import Session, session
from .silences import kept, main_reason, print_kept

UNMADE = "the time was used up before"
"""Reason why a check was not made."""

BY_NAME = "asked only with --oracle NAME, or --oracle all"
"""Reason why an oracle was not run: it costs more than all others together, or was not named."""

IN_TURN = (
    "each pass is checked on the module as it is, and on the result of the passes named before it"
)

LONGEST = 400
"""Most characters of a line about passes that do not apply."""

BUILD_SHARE = 0.7
"""The share of the time for the build and its runs, in a process beside all other checks."""

MEMORY = 8192
"""Limit in MB for the growth of that process: the VM keeps a model's weights a second time."""

SLOW = 10.0
"""Milliseconds on small modules above which a pass comes after the others. On a large module it may
take as long as all of them: FoldConstant compiles code for 20 s on Swin-T."""

OF_CODE = frozenset((name_of(kind),) for kind in ON_CPU)
"""The oracles of checks of generated code, each alone: what they find breaks the build."""

UNSPLIT = between(Stage.TENSORIR, Stage.ANNOTATED_ENTRY)
"""The stages of PrimFuncs for the CPU that `tirx.build` takes: host and device are not split."""

TICK = 0.1
"""Seconds between two checks whether the user wants to stop."""


def check_module(
    path: Path,
    given: Settings,
    *,
    pool: LocalPool,
    pipeline: str | None = None,
    stage: str | None = None,
    values: tuple[Path, Path] | None = None,
    began: float | None = None,
) -> int:
    """Check the module of a file, and print the findings; return the exit code.

    Args:
        given: with no passes and no pipeline, all pipelines and all passes of the stage are
            checked. Checks beyond the budget are listed.
        pool: may still be starting. One of several workers confirms and reduces findings meanwhile.
        stage: the module's stage; None: it is found from its functions.
        values: files with inputs and with the right outputs, see `right_values`.
        began: `time.monotonic()` at the start of the command; None: now.

    Raises:
        UserError: a name is unknown, or the file has no module.
        ExecutorError: the workers cannot be kept alive.
    """
    clock = Clock(parse_budget(given.budget or BUDGET), began)
    if pipeline is not None:
        pipeline = pipeline_named(pipeline)
    names, at = oracles_of(given.oracles), None if stage is None else stage_of(stage)
    family, options = family_named(given.family), options_of(given)
    check_names(given.relaxations)
    calls = calls_of(dict.fromkeys(given.passes, given.like))
    if path.is_dir():
        path, data = onnx_test(path)
        values = values or (data, data)
    inspect(path)
    folder = Path(tempfile.mkdtemp(dir=scratch()))
    module = load(path, pool, beside=folder)
    mod = load_json(module)
    if values is not None:
        reference(mod, *values).save(folder)
    parts: Sequence[StagedPart] = parts_of(mod) if at is None else (StagedPart(mod, (at,)),)
    make = functools.partial(Check, module=module, oracles=names, pieces=True)
    jobs = [] if pipeline in (None, *OF_KERNELS) else [make(pipeline=pipeline)]
    of_steps: list[Check] = []
    passed_over: dict[str, str] = {}
    if pipeline is not None:
        of_steps, passed_over = _of_steps(make, module, pipeline, pool)
    found, more, not_there = _named(make, calls, mod, given.exempt)
    passed_over |= not_there
    jobs += [*found, *_of_builds(make, calls, mod, names)]
    of_steps += _of_code(make, calls, parts, names, target_of(options)) if pipeline is None else []
    in_turn = [calls[spelling] for spelling in given.passes]
    if len(in_turn) > 1:
        found, not_there = _in_turn(make, contexts.under(in_turn, options), module, given, pool)
        of_steps += found
        passed_over |= not_there
    later = {} if at is not None else _later(make, calls, parts, module, pool)
    jobs += [job for checks in later.values() for job in checks]
    passed_over = {name: why for name, why in passed_over.items() if name not in later}
    if not calls and pipeline is None:
        parts = _of_family(parts, family)
        off = availability.current().pipelines
        for part in parts:
            text = module if part.mod is mod else save_json(part.mod)
            in_order_of_build: list[Check] = []
            if Stage.TENSORIR in part.stages:
                in_order_of_build, not_there = _of_steps(make, text, BUILT_KERNELS, pool)
                of_steps += in_order_of_build
                passed_over |= not_there
            asked = {job.calls[0].name for job in in_order_of_build}
            found, not_there = _all(functools.partial(make, module=text), part, asked)
            # The pipelines are Relax pipelines.
            relax = RELAX.keys() & part.stages
            jobs += [make(pipeline=name) for name in PIPELINES if name not in off and relax]
            jobs += found
            passed_over |= not_there
        passed_over |= {name: why for name, why in off.items() if name in PIPELINES}
    jobs, more = (
        [dataclasses.replace(job, calls=contexts.under(job.calls, options)) for job in some]
        for some in (jobs, more)
    )
    with session(given, pool=pool) as made:
        made.triage.until = clock.end
        for spelling in calls:
            if spelling in passed_over:
                why = passed_over[spelling]
                made.display.line(f"{spelling} does not apply to this module: {why}")
        for name in later:
            made.display.line(
                f"{name} is for later stages than this module's, so it is also checked on this one "
                "as the default build takes it there"
            )
        if len(in_turn) > 1:
            made.display.line(IN_TURN)
        if at is None and not calls and pipeline is None:
            _print_stages(parts, made)
        kinds_until = None if calls or pipeline is not None else clock.kinds_end
        in_turn_of_time = [*in_order(jobs), *of_steps, *more]
        if any(folder.iterdir()):
            build = BUILT if pipeline is None or pipeline in OF_KERNELS else pipeline
            in_turn_of_time = _with_reference(in_turn_of_time, make(pipeline=build), folder)
        code = _run(in_turn_of_time, passed_over, made, clock, given, kinds_until)
        made.store.sweep()
        return code


def _with_reference(jobs: Sequence[Check], build: Check, folder: Path) -> list[Check]:
    """The checks; that of the build also compares with the framework's results in a folder."""
    own = next((job for job in jobs if job.pipeline == build.pipeline), None)
    compares = dataclasses.replace(own or build, reference=str(folder))
    if own is None:
        return [dataclasses.replace(compares, oracles=()), *jobs]
    return [compares if job is own else job for job in jobs]


def _of_family(parts: Sequence[StagedPart], family: str | None) -> Sequence[StagedPart]:
    """The parts, at their stages of one family; all of them if no family is requested.

    Raises:
        UserError: the module has no functions of that family.
    """
    if family in (None, EVERY):
        return parts
    there = [by_family(part.stages) for part in parts]
    found = [
        StagedPart(part.mod, stages[family])
        for part, stages in zip(parts, there, strict=True)
        if family in stages
    ]
    if not found:
        names = ", ".join(dict.fromkeys(name for stages in there for name in stages))
        raise UserError(
            f"--family {family}: the module has only functions of {names}, so no pass of that "
            "family is at home there; --at STAGE names another stage"
        )
    return found


def in_order(jobs: Sequence[Check]) -> list[Check]:
    """Put the usual build first, then quick passes, slow passes, and other pipelines.

    Passes are in the order of the usual build; those of other pipelines follow, then all others.
    """
    there = [name for name in (BUILT, *PIPELINES) if name not in availability.current().pipelines]
    runs = dict.fromkeys(call.name for name in there for call in steps(name))
    places = {name: place for place, name in enumerate(runs)}

    def place(job: Check) -> tuple[int, int]:
        if job.pipeline is not None:
            return (0 if job.pipeline == BUILT else 3), 0
        return (2 if _is_slow(job) else 1), places.get(job.calls[0].name, len(runs))

    return sorted(jobs, key=place)


def _is_slow(job: Check) -> bool:
    """True for a pipeline, and for a pass that may take long on a large module."""
    return job.pipeline is not None or costs.of_pass(_contract(job.calls[0])).ms >= SLOW


def _named(
    make: Callable[..., Check],
    calls: Mapping[str, PassCall],
    mod: tvm.IRModule,
    exempt: tuple[str, ...],
) -> tuple[list[Check], list[Check], dict[str, str]]:
    """The checks of the passes that the user named, those of further variants, which have time if
    all others are made, and the reasons why passes do not apply.
    """
    jobs: list[Check] = []
    more: list[Check] = []
    passed_over: dict[str, str] = {}
    for spelling, call in calls.items():
        fixed = call.factory is not None or not call.expr.endswith("()") or bool(call.config)
        contract = _contract(call)
        drawn = not fixed and call.name in catalogue
        variants = variants_of(call.name, mod, VARIANTS_OF_NAMED) if drawn else [call]
        reason = contract.requires(mod)
        if reason is None and not variants:
            reason = contract.no_variants
        if reason is not None:
            passed_over[spelling] = reason
            continue
        own = exempt if call.factory is not None else ()
        checks = [make(calls=(each,), exempt=own, named=True) for each in variants]
        jobs += checks[:VARIANTS]
        more += checks[VARIANTS:]
    return jobs, more, passed_over


def _contract(call: PassCall) -> PassContract:
    """The contract of a pass, but not one in code of the user's: the process that makes the check
    asks that.
    """
    return contract_of(dataclasses.replace(call, like=None) if is_users_contract(call) else call)


def _later(
    make: Callable[..., Check],
    calls: Mapping[str, PassCall],
    parts: Sequence[StagedPart],
    module: str,
    pool: LocalPool,
) -> dict[str, list[Check]]:
    """The checks of passes of TVM that the user named and that belong to later stages, on the
    module that the default build brings there.

    Without these, a pass that has no effect would seem to have been checked.
    """
    found: dict[str, list[Check]] = {}
    reached = {stage for part in parts for stage in part.stages}
    for spelling, call in calls.items():
        contract = catalogue.get(call.name) if call.factory is None else None
        if contract is None or reached & set(contract.stages):
            continue
        stage = next((each for each in contract.stages if _is_ahead(each, reached)), None)
        if stage is None:
            continue
        text = ask(pool, Advance(module, call, stage), limits=LIMITS.for_module(module))
        if isinstance(text, Died) or not text:
            continue
        make_there = functools.partial(make, module=text)
        first, more, _ = _named(make_there, {spelling: call}, load_json(text), ())
        if first:
            found[spelling] = [*first, *more]
    return found


def _is_ahead(stage: Stage, reached: Collection[Stage]) -> bool:
    """True if the default build takes a module from one of these stages to this one."""
    if stage in RELAX or stage is Stage.KERNELS:
        return True
    order = chain(Stage.TENSORIR)
    starts = not RELAX.keys().isdisjoint(reached) or Stage.TENSORIR in reached
    return stage in order and starts


def _of_steps(
    make: Callable[..., Check], module: str, pipeline: str, pool: LocalPool
) -> tuple[list[Check], dict[str, str]]:
    """The checks of each step of a pipeline, on the module that reaches it, and the inapplicable
    steps.

    Raises:
        UserError: the user's pipeline cannot be loaded.
    """
    walked = ask(pool, Walk(module, pipeline), limits=LIMITS.for_module(module))
    if isinstance(walked, Died):  # the check of the pipeline reports it
        return [], {}
    if is_own(pipeline):
        remember(pipeline, tuple(call for call, _ in walked))
    jobs: list[Check] = []
    passed_over: dict[str, str] = {}
    for call, text in walked:
        if not text:
            passed_over[call.name] = "a step before it raises, or is not there"
            continue
        mod, contract = load_json(text), contract_of(call)
        reason = contract.requires(mod)
        variants = [call]
        if reason is None and pipeline in OF_KERNELS and call != BIND:
            variants = variants_of(call.name, mod)
            reason = None if variants else contract.no_variants
        if reason is not None:
            passed_over[call.name] = reason
            continue
        jobs += (make(module=text, calls=(each,), named=is_users(call)) for each in variants)
    return jobs, passed_over


def _in_turn(
    make: Callable[..., Check],
    calls: Sequence[PassCall],
    module: str,
    given: Settings,
    pool: LocalPool,
) -> tuple[list[Check], dict[str, str]]:
    """The checks of each pass that the user named on the result of those named before it, and the
    passes that do not apply there.

    A pass that gets the module as it is is checked already.
    """
    walked = ask(pool, Walk(module, calls=tuple(calls)), limits=LIMITS.for_module(module))
    if isinstance(walked, Died):  # the check of the pass by itself reports it
        return [], {}
    (_, whole), *rest = walked
    jobs: list[Check] = []
    passed_over: dict[str, str] = {}
    for call, text in rest:
        reason = _contract(call).requires(load_json(text)) if text else "one of them raises"
        if reason is not None:
            passed_over[f"{call} after those named before it"] = reason
        elif text != whole:
            own = given.exempt if call.factory is not None else ()
            jobs.append(make(module=text, calls=(call,), exempt=own, named=True))
    return jobs, passed_over


def _of_builds(
    make: Callable[..., Check],
    calls: Mapping[str, PassCall],
    mod: tvm.IRModule,
    names: tuple[str, ...] | None,
) -> list[Check]:
    """The check of the build, if it runs one of the passes that the user named.

    It covers the values that the pass passes to an operator, and the code generated after it. A
    later step that raises leaves no values to compare, so the steps are checked, too.
    """
    asked = tuple(name for name in (*STEPS_OF_BUILDS, *BUILDS) if names is None or name in names)
    named = {call.name for call in calls.values() if call.factory is None}
    off = availability.current().pipelines
    if not asked or not named or BUILT in off:
        return []
    runs = any(call.name in named for call in steps_on(mod, BUILT))
    return [make(pipeline=BUILT, oracles=asked)] if runs else []


def _of_code(
    make: Callable[..., Check],
    calls: Mapping[str, PassCall],
    parts: Sequence[StagedPart],
    names: tuple[str, ...] | None,
    target: tvm.target.Target,
) -> list[Check]:
    """The checks of the code that `tirx.build` generates for PrimFuncs on the CPU.

    The build of a Relax module covers the PrimFuncs beside it. A pass that the user names asks for
    this check if `tirx.build` runs the pass.
    """
    runs = {call.name for call in steps(BUILT_KERNELS)}
    asked = not calls or any(c.name in runs and c.factory is None for c in calls.values())
    if names is not None or not asked or any(RELAX.keys() & part.stages for part in parts):
        return []
    kind = str(target.kind.name)
    if kind not in ON_CPU:
        return []
    bind = BIND if kind == CPU else PassCall(BIND.expr.replace(f'"{CPU}"', f'"{kind}"'))
    return [
        make(module=save_json(_unbound(part.mod)), calls=(bind,), oracles=(name_of(kind),))
        for part in parts
        if not set(part.stages).isdisjoint(UNSPLIT)
    ]


def _unbound(mod: tvm.IRModule) -> tvm.IRModule:
    """The module without targets of the CPU, so that binding them is a change."""
    return tvm.IRModule(
        {
            gvar: func.without_attr("target") if _is_for_cpu(func) else func
            for gvar, func in mod.functions_items()
        },
        attrs=mod.attrs,
    )


def _is_for_cpu(func: tvm.ir.BaseFunc) -> bool:
    target = attr(func, "target")
    return target is not None and str(target.kind.name) in ON_CPU


def _all(
    make: Callable[..., Check], part: StagedPart, asked: Collection[str]
) -> tuple[list[Check], dict[str, str]]:
    """The checks of all passes of the stages, and the reasons against other passes of the families.

    Args:
        asked: passes that are checked in any case.
    """
    off = availability.current().passes
    jobs: list[Check] = []
    passed_over: dict[str, str] = {}
    for name, contract in of_family(*by_family(part.stages)).items():
        if name in asked:
            continue
        reason = off.get(name)
        if reason is None and not set(part.stages).intersection(contract.stages):
            reason = f"not at the stage {', '.join(part.stages)}: see --at"
        reason = reason or contract.requires(part.mod)
        variants = [] if reason is not None else variants_of(name, part.mod)
        if not variants:
            passed_over[name] = reason or contract.no_variants
        jobs += (make(calls=(variant,)) for variant in variants)
    return jobs, passed_over


def _print_stages(parts: Sequence[StagedPart], session: Session) -> None:
    """Print the passes to check, as the user named no stage."""
    stages = [stage for part in parts for stage in part.stages]
    if stages == [Stage.RAW]:
        return
    found = (f"{name} (stage {', '.join(at)})" for name, at in by_family(stages).items())
    session.output.line(
        f"passes to check, by the module's functions: {', '.join(found)}; --at STAGE: of another",
        {"event": "stages", "stages": stages},
    )


def _run(
    jobs: Sequence[Check],
    passed_over: Mapping[str, str],
    session: Session,
    clock: Clock,
    given: Settings,
    kinds_until: float | None,
) -> int:
    began = time.monotonic()
    session.display.line(f"relaxfuzz on {build_name(session.versions)}: checks to do: {len(jobs)}")
    answers: queue.SimpleQueue[_Answer] = queue.SimpleQueue()
    executor = Stoppable(session.executor)
    threads = _started(jobs, executor, answers.put, clock, kinds_until)
    left = {id(job): job for job in jobs}
    omitted: Counter[str] = Counter()
    asked: list[tuple[str, Answer]] = []
    pieces = 0
    in_pieces: list[str] = []
    verdict: ImporterVerdict | None = None
    unbuilt: Violation | None = None
    default = BUILT_KERNELS if any(job.oracles in OF_CODE for job in jobs) else BUILT
    pipeline = next((job.pipeline for job in jobs if job.pipeline is not None), default)
    broken: set[str] = set()
    places: dict[str, str] = {}
    slowest = 0.0
    while left and not session.interrupt.stop.is_set():
        triage = session.triage
        if clock.is_up(triage.pending, hangs=triage.hangs, slowest=slowest):
            break
        try:
            job, answer = answers.get(timeout=TICK)
        except queue.Empty:
            continue
        if id(job) not in left:
            continue
        if isinstance(answer, UserError):
            session.user_error(str(answer))
        elif isinstance(answer, Exception):
            session.fault(f"{_label(job)}: {answer}")
        else:
            omitted.update(answer.omitted)
            asked += ((_label(job), each) for each in answer.answers)
            pieces = max(pieces, answer.pieces)
            if not answer.whole:
                in_pieces.append(_label(job))
            verdict = answer.verdict or verdict
            for violation, part in answer.located:
                finding = finding_of(job, violation, part)
                kind = failure_of(violation)[0]
                if (job.pipeline == pipeline or job.oracles in OF_CODE) and kind in BREAKS:
                    broken.add(finding.id)
                    unbuilt = unbuilt or (None if kind is FailureKind.VALUES else violation)
                if part is not None:
                    places.setdefault(finding.id, part.place)
                if not session.triage.report(finding):
                    slowest = max(slowest, answer.seconds)
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
    if omitted and pieces:
        session.output.line(f"values compared instead on {counted(pieces, 'small piece')} of it")
    if in_pieces:
        names = ", ".join(dict.fromkeys(label.partition("(")[0] for label in in_pieces))
        small = f"{counted(pieces, 'small piece')} of the module"
        text = f"{len(in_pieces)} of {done} checks made on {small} (--budget is short): {names}"
        event = {"event": "in_pieces", "checks": in_pieces, "pieces": pieces}
        session.output.line(sentence(text, LONGEST), event)
    session.drain(max(0.0, min(TRIAGE_SECONDS, clock.left)), LATE)
    session.remember()
    unmade = list(map(_label, left.values()))
    for event in _events(asked, passed_over, unmade) if session.output.as_json else ():
        session.output.emit(event)
    answered = [answer for _, answer in asked]
    # The user has named the pass and the module, so every grade counts.
    fail_on = given.fail_on or ("C" if given.passes else None)
    of_all = compared(answered, next((job.oracles for job in jobs), None))
    ran = {pipeline, *(call.name for call in steps(pipeline))}
    found = met(session.expected, ran, broken, places)
    named = any(each.effect is BuildEffect.BREAKS for each in found)
    if unbuilt is not None and (session.output.as_json or not named):
        text = f"the build with the pipeline {pipeline!r} fails: {unbuilt.title}"
        session.output.line(text, {"event": "unbuilt", "title": unbuilt.title})
    if not session.output.as_json:
        session.display.close()
        for line in lines(found, pipeline):
            results().print(Text(sentence(line, LONGEST)), soft_wrap=True)
    code = session.conclude(
        *(1, done, seconds),
        fail_on=fail_on,
        compared=of_all,
        named=given.oracles,
        knowns={each.known: each.event for each in found},
    )
    if not session.output.as_json:
        _print_asked(answered, passed_over)
        _print_values(asked, unmade)
        print_kept(results(), kept(asked))
    broke = unbuilt is not None or any(each.fails(fail_on or FAIL_ON) for each in found)
    code = 1 if broke and code in (0, 4) else code
    if session.interrupt.stop.is_set() or all(job.reference is None for job in jobs):
        return code
    return show(verdict or none(UNMADE if unmade else DIED.excuses), session, code)


def _events(
    asked: Sequence[tuple[str, Answer]], passed_over: Mapping[str, str], unmade: Sequence[str]
) -> Iterator[dict[str, object]]:
    """Each oracle's part in each check, and the passes that were not checked, for programs."""
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
        yield {**event, "pass": label, "oracle": None, "reason": UNMADE}
    for oracle in _unasked(answer for _, answer in asked):
        yield {**event, "pass": None, "oracle": oracle, "reason": BY_NAME}


def _unasked(asked: Iterable[Answer]) -> list[str]:
    """The oracles that ran in no check."""
    names = {answer.oracle for answer in asked}
    return [name for name in ORACLES if name not in names]


def _print_asked(asked: Sequence[Answer], passed_over: Mapping[str, str]) -> None:
    """Print the number of comparisons of each oracle, its main reason for silence, and the passes
    that were not checked."""
    console = results()
    table = columns(
        "oracle", "compared", "silent", "mainly because", numbers=("compared", "silent")
    )
    for name in [name for name in ORACLES if any(each.oracle == name for each in asked)]:
        mine = [each for each in asked if each.oracle == name]
        silent = sum(each.silent is not None for each in mine)
        why = sentence(main_reason(mine))
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
    """Print the passes whose results were compared by value, those without such a comparison, and
    the checks for which there was no time."""
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
        lines[f"{counted(len(unmade), 'check')} not made, {UNMADE} (--budget)"] = [*unmade]
    for text, labels in lines.items():
        names = dict.fromkeys(label.partition("(")[0] for label in labels)
        console.print(Text(sentence(f"{text}: {', '.join(names)}", LONGEST)), soft_wrap=True)


def _started(
    jobs: Sequence[Check],
    executor: Executor,
    report: Callable[[_Answer], None],
    clock: Clock,
    kinds_until: float | None,
) -> ThreadPoolExecutor:
    """Start the checks, and leave one worker for the findings.

    One worker begins with the check of the build and helps the others afterwards.
    """
    workers = max(1, executor.workers - 1)
    threads = ThreadPoolExecutor(workers)
    build = next((job for job in jobs if _is_build(job)), None)
    if build is not None:
        threads.submit(_answer_build, build, executor, report, clock, kinds_until)
    for group in _groups([job for job in jobs if job is not build]):
        if _is_alone(group[0]):
            threads.submit(_answer_one, group[0], executor, report)
            continue
        claims = tempfile.mkdtemp(dir=scratch())
        together = _together(group, claims, clock.end, kinds_until)
        for _ in range(min(len(group), workers)):
            threads.submit(_answer_some, group, together, executor, report)
    return threads


def _is_build(job: Check) -> bool:
    return job.reference is not None or job.pipeline == BUILT


def _is_alone(job: Check) -> bool:
    """True if the check needs a process of its own: it runs code of the user's."""
    own = job.pipeline is not None and is_own(job.pipeline)
    return own or len(job.calls) > 1 or any(call.factory is not None for call in job.calls)


def _groups(jobs: Sequence[Check]) -> list[list[Check]]:
    """The checks of TVM's passes and pipelines together, so that the module's values are rarely
    recomputed, and each other check by itself."""
    shared: dict[tuple[object, ...], list[Check]] = {}
    groups: list[list[Check]] = []
    for job in jobs:
        if _is_alone(job):
            groups.append([job])
        else:
            shared.setdefault((job.module, job.oracles, job.named), []).append(job)
    return [*groups, *shared.values()]


def _together(
    group: Sequence[Check], claims: str, until: float, kinds_until: float | None
) -> CheckEach:
    first = group[0]
    return CheckEach(
        module=first.module,
        checks=tuple(CheckOf(each.pipeline, each.calls, _is_slow(each)) for each in group),
        claims=claims,
        oracles=first.oracles,
        named=first.named,
        until=until,
        kinds_until=kinds_until,
    )


_Answer: TypeAlias = tuple[Check, CheckResult | Exception]


def _answer_build(
    build: Check,
    pool: Executor,
    report: Callable[[_Answer], None],
    clock: Clock,
    kinds_until: float | None,
) -> None:
    """Report the result of the check of the build, or the reason why there is none."""
    now = time.monotonic()
    timed = dataclasses.replace(
        build,
        seconds=clock.left,
        kinds_seconds=None if kinds_until is None else max(0.0, kinds_until - now),
        build_seconds=BUILD_SHARE * clock.left,
    )
    limits = LIMITS
    if build.reference is not None:
        limits = dataclasses.replace(limits, memory_mb=MEMORY)
    _answer_one(build, pool, report, timed, limits)


def _answer_one(
    job: Check,
    pool: Executor,
    report: Callable[[_Answer], None],
    timed: Check | None = None,
    limits: Limits = LIMITS,
) -> None:
    """Report the result of one check, or the reason why there is none.

    Args:
        timed: the check to make, with limits of its time; None: the job itself.
    """
    began = time.monotonic()
    try:
        answer = checked(pool, timed or job, limits=limits)
        report((job, dataclasses.replace(answer, seconds=time.monotonic() - began)))
    except Exception as error:
        report((job, error))


def _answer_some(
    group: Sequence[Check], job: CheckEach, pool: Executor, report: Callable[[_Answer], None]
) -> None:
    """Report the results of those checks of a group that this job makes."""
    try:
        for number, answer in check_some(pool, job):
            report((group[number], answer))
    except Exception as error:
        for each in group:
            report((each, error))


def _label(job: Check) -> str:
    return job.pipeline or str(job.calls[0])
