"""The jobs on one module: each is a dataclass, next to the function that does it in a child."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import tvm

from ...compat.serialization import load_json, save_json
from ...compat.structural import structural_equal
from ...generators import families, stages
from ...generators.choices import Choices
from ...generators.seeds import Piece, pieces_of
from ...generators.seeds.piece import MAIN, main_of
from ...generators.stages import Stage
from ...oracles import catalogue, pass_runs, pipelines
from ...oracles import check as oracle_check
from ...oracles import explain as oracle_explain
from ...oracles.check import BUILDS, NAMED, VALUES
from ...oracles.contract import Exemption, PassContract
from ...oracles.exhibit import Exhibit, exhibit
from ...oracles.explain.trouble import Explanation
from ...oracles.ingredients import ingredients
from ...oracles.inspect import relax_functions
from ...oracles.pace import OF_BUILD, paced, share
from ...oracles.pass_runs import PassRuns, digest
from ...oracles.passcall import PassCall
from ...oracles.pipelines import OF_KERNELS
from ...oracles.silence.inventory import DIED
from ...oracles.silence.log import Answer, answers, silenced
from ...oracles.structural import mutation
from ...oracles.text.frames import Trace
from ...oracles.tiers import ORACLES, STRUCTURAL
from ...oracles.values import frameworks
from ...oracles.values.frameworks import ImporterVerdict
from ...oracles.violation import Case, Violation, mark_of
from ..output.readable import sentence, visible
from ..process import death
from ..process.context import Context
from ..process.journal import Journal
from ..process.process_state import StateWatch
from ..process.protocol import Death, Died, Job
from ..process.targets import Target
from ..user_input import module_file
from ..user_input.stage import without_relax
from .behind import Cut, Suit, go_on
from .evidence import Evidence, evidence_of

R = TypeVar("R")

PIECES = 8
"""Number of small pieces to check if a large module takes too long."""

VARIANTS = 6
"""Draws of arguments for a pass of the catalogue; equal ones are checked once."""

VARIANTS_OF_NAMED = 32
"""The same for a pass named by the user. It yields 20 variants of `dlight.ApplyDefaultSchedule` on
a convolution instead of 6, and 32 of `FuseOpsByPattern` instead of 7."""

LARGE = 300_000
"""Characters of the largest module whose check continues past a violation, some 150 bindings."""

SEARCH = 3.0
"""Least number of CPU seconds for finding the one call that shows a violation. Without it, a report
is confirmed and reduced on the whole module, which takes more than 20 s on Swin-T."""

HUGE = 1_000_000
"""Characters of a module on which a slow check may take as long as all others together: on Swin-T,
which has 1.9 million, FoldConstant compiles code for 29 s."""

SLOW = 30.0
"""Seconds that a slow check of such a module needs; with less, it is made on small pieces."""

RESULTS = 20
"""The part of the remaining time (one of so many) that evaluating one result may take, if that is
more than the check's own part. The values of one result of Swin-T take two seconds, and 35 of its
96 checks change the module; values are then compared on small pieces."""


BEHIND = 10
"""Niceness of the checks of a module, so that a report is confirmed on a core of its own: the
command stops its checks early while one is pending."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a module that shows a violation by itself."""

    module: str
    """The part as a module, as TVM JSON."""
    place: str = ""
    """The function, the variable and the operator of the part's only call."""
    ingredients: tuple[str, ...] | None = None
    """See `ingredients`; None if they were not determined."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The violations found by one check, and each oracle's part in it."""

    violations: tuple[Violation, ...]
    answers: tuple[Answer, ...] = ()
    pieces: int = 0
    """Number of small pieces whose values were compared instead of the module's own."""
    whole: bool = True
    """True if the module itself was checked; False if only its pieces were."""
    parts: tuple[Part | None, ...] = ()
    """For each violation: the part of the module that shows it, or None for the whole module. If
    empty, the whole module shows all of them."""
    number: int = 0
    """The number of the check among those of `CheckEach`."""
    seconds: float = 0.0
    """Wall-clock seconds that the check took; 0 if it was not measured."""
    verdict: ImporterVerdict | None = None
    """The comparison with the framework, if it was requested and there are results."""

    @property
    def located(self) -> tuple[tuple[Violation, Part | None], ...]:
        """The violations, each with the part of the module that shows it; see `parts`."""
        parts = self.parts or (None,) * len(self.violations)
        return tuple(zip(self.violations, parts, strict=True))

    @property
    def omitted(self) -> tuple[str, ...]:
        """Comparisons that the oracles skipped because they would take too long."""
        return tuple(dict.fromkeys(what for answer in self.answers for what in answer.omitted))


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Job[CheckResult]):
    """Check one module."""

    module: str
    """The module, as TVM JSON."""
    calls: tuple[PassCall, ...] = ()
    pipeline: str | None = None
    oracles: tuple[str, ...] | None = None
    """Oracles to run; None: the usual ones."""
    exempt: tuple[str, ...] = ()
    named: bool = False
    """True if the user named the passes, so that the more expensive oracles are usual, too."""
    pieces: bool = False
    """Compare values on small pieces of the module if the module itself takes too long."""
    seconds: float = 30.0
    """Seconds after which the pass is not run once more; see `paced`."""
    kinds_seconds: float | None = None
    """Seconds after which no further kinds of arguments are compared; None: `seconds`."""
    result_seconds: float | None = None
    """Seconds after which small pieces of the module are evaluated, not the result; None: no limit.
    """
    build_seconds: float | None = None
    """Limit for one build of a large module and its runs; None: that of any check."""
    reference: str | None = None
    """The folder in which reading the model left the framework's results, to be compared, too."""

    @property
    def asked(self) -> tuple[str, ...]:
        """The oracles to run, by name and in order; they depend on the results, too."""
        if self.oracles is not None:
            return self.oracles
        return (*(oracle.name for oracle in STRUCTURAL), *_besides(self))


def died(job: Check, end: Died) -> CheckResult:
    """The outcome of a check whose process died: the death, and oracles without an answer."""
    answers = tuple(silenced(name, DIED) for name in job.asked)
    return CheckResult((death.violation(end),), answers)


def check(job: Check, context: Context[CheckResult]) -> None:
    """Report the violations, including side effects of the user's own pass."""
    journal = context.journal
    journal.position(0, Stage.RAW, 0, "check", job.calls, job.pipeline)
    watch = StateWatch(job.calls)
    answer = CheckResult(())
    try:
        answer = _judged(job, load_json(job.module), journal)
    except Exception:
        if watch.changed() is None:
            raise
        # The pass has damaged the harness, so nothing more can be said about it.
    if (what := watch.changed()) is not None:
        journal.changed(what)
        found = death.violation(Died(context.id, Death.CHANGED, 1, journal.last()))
        answer = dataclasses.replace(answer, violations=(*answer.violations, found))
    context.report(answer)


def _judged(job: Check, mod: tvm.IRModule, journal: Journal) -> CheckResult:
    """The outcome of a check, with the verdict on the importer if the job has a reference."""
    small = _Pieces(job.module)
    reference = None if job.reference is None else frameworks.saved(Path(job.reference))
    if reference is None:
        return _answer(job, mod, small, journal)
    pipeline = job.pipeline or pipelines.BUILT
    example = frameworks.example(mod, reference, journal.step)
    known = pass_runs.given(mod)
    known.example = example.call
    answer = _answer(job, mod, small, journal)
    built = known.executed.get(pipeline)
    if built is None:
        mod, seconds = load_json(job.module), job.build_seconds
        built = frameworks.built(mod, example, journal.step, pipeline=pipeline, seconds=seconds)
    verdict = frameworks.judge(mod, reference, example, built, journal.step, pipeline=pipeline)
    return dataclasses.replace(answer, verdict=verdict)


@dataclass(frozen=True, slots=True)
class CheckOf:
    """One of the checks of a module: of a pipeline or of a pass."""

    pipeline: str | None = None
    calls: tuple[PassCall, ...] = ()
    slow: bool = False
    """True if it is made on small pieces of a huge module when less than `SLOW` is left for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckEach(Job[CheckResult]):
    """Check one module with each of several passes of TVM and pipelines.

    There is a result for each, in order. Facts about the module that all of them need, e.g. its
    values, are computed once. If the module is large and time is short, some checks use small
    pieces of it.
    """

    module: str
    """The module, as TVM JSON."""
    checks: tuple[CheckOf, ...] = ()
    first: int = 0
    """The number of the first check to make."""
    claims: str | None = None
    """A folder that several such jobs share: each makes the checks that no other has claimed there,
    by a file with the check's number. None: this job makes all of them."""
    oracles: tuple[str, ...] | None = None
    """Oracles to run; None: the usual ones."""
    named: bool = False
    """See `Check`."""
    until: float | None = None
    """`time.monotonic()` at which the time for all of them ends; None: each has its own time."""
    kinds_until: float | None = None
    """`time.monotonic()` at which no further kinds of arguments are compared; None: `until`."""

    def one(self, number: int) -> Check:
        """One of the checks as a job."""
        check = self.checks[number]
        return Check(
            module=self.module,
            calls=check.calls,
            pipeline=check.pipeline,
            oracles=self.oracles,
            named=self.named,
            pieces=True,
        )


def check_each(job: CheckEach, context: Context[CheckResult]) -> None:
    """Report the outcome of each check, or the fault that prevented it."""
    os.nice(BEHIND)
    small = _Pieces(job.module)
    mod: tvm.IRModule | None = None
    for number in range(job.first, len(job.checks)):
        if not _claim(job.claims, number):
            continue
        one = job.one(number)
        context.journal.position(0, Stage.RAW, number, "check", one.calls, one.pipeline)
        if job.until is not None:
            left = 1 + _unclaimed(job, number)
            one = dataclasses.replace(
                one,
                seconds=share(job.until, left),
                kinds_seconds=share(job.kinds_until or job.until, left),
                result_seconds=max(share(job.until, left), share(job.until, RESULTS)),
                build_seconds=OF_BUILD * share(job.until, 1),
            )
        try:
            is_slow = job.checks[number].slow and len(job.module) > HUGE
            if (
                is_slow
                and one.seconds < SLOW
                and (answer := small.instead(one, context.journal)) is not None
            ):
                context.report(dataclasses.replace(answer, number=number))
                continue
            if mod is None:
                mod = load_json(job.module)
                again = functools.partial(load_json, job.module)
                mark = pass_runs.given(mod, again).mark
            began = time.monotonic()
            answer = _answer(one, mod, small, context.journal)
            seconds = time.monotonic() - began
            answer = dataclasses.replace(answer, number=number, seconds=seconds)
        except MemoryError:
            raise
        except Exception as error:
            context.fail(error)
            mod = None
            continue
        context.report(answer)
        mutated = any(each.oracle == mutation.ORACLE.name for each in answer.violations)
        if mutated or digest(mod) != mark:
            mod = None


def _claim(claims: str | None, number: int) -> bool:
    """Claim a check; return False if another job has done so."""
    if claims is None:
        return True
    try:
        Path(claims, str(number)).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _unclaimed(job: CheckEach, number: int) -> int:
    """The number of checks left to be made after this one, by any of the jobs that share them."""
    if job.claims is None:
        return len(job.checks) - number - 1
    return len(job.checks) - len(os.listdir(job.claims))


def _answer(job: Check, mod: tvm.IRModule, pieces: _Pieces, journal: Journal) -> CheckResult:
    with answers(curious=True) as given:
        violations = violations_of(job, mod, journal)
    answer = CheckResult(tuple(violations), tuple(given.values()))
    if job.pieces and answer.omitted and not violations:
        answer = pieces.check(job, answer, journal)
    elif job.pieces and violations:
        found = [_smaller(job, each, mod, pieces, journal) for each in violations]
        found += _behind(job, violations, journal)
        parts = tuple(part for _, part in found)
        answer = dataclasses.replace(answer, violations=tuple(one for one, _ in found), parts=parts)
    return consistent(answer)


def _behind(
    job: Check, violations: Sequence[Violation], journal: Journal
) -> list[tuple[Violation, Part | None]]:
    """Violations that these hide, each with the module that shows it; see `go_on`."""
    if len(job.module) > LARGE:
        return []
    end = time.process_time() + job.seconds
    marks = set(map(mark_of, violations))
    found: list[tuple[Violation, Part | None]] = []

    def shows(violation: Violation, mod: tvm.IRModule) -> bool:
        journal.step("cut")
        case = Case(mod, job.calls, job.pipeline)
        return time.process_time() > end or oracle_check.still_shows(case, violation)

    def suits(mod: tvm.IRModule) -> Suit:
        return Suit.WELL if all(_fits(call, mod) for call in job.calls) else Suit.NOT

    def check_rest(made: Cut) -> list[Violation] | None:
        rest = load_json(made.text)
        if time.process_time() > end or suits(rest) is Suit.NOT:
            return None
        made_of = tuple(sorted(ingredients(rest)))
        here = violations_of(job, rest, journal)
        found.extend((v, Part(made.text, "", made_of)) for v in here if mark_of(v) not in marks)
        marks.update(map(mark_of, here))
        return here

    with answers():
        go_on(load_json(job.module), violations, shows, check_rest, suits=suits)
    return found


def consistent(answer: CheckResult) -> CheckResult:
    """The answer, corrected so that each oracle with a report has also compared something.

    It may have abstained on the module, but compared a different form or a piece of it.
    """
    reporting = {violation.oracle for violation in answer.violations}
    answers = tuple(
        dataclasses.replace(each, silent=None) if each.oracle in reporting else each
        for each in answer.answers
    )
    missing = (reporting & ORACLES.keys()) - {each.oracle for each in answers}
    return dataclasses.replace(answer, answers=answers + tuple(map(Answer, sorted(missing))))


def _smaller(
    job: Check, violation: Violation, mod: tvm.IRModule, pieces: _Pieces, journal: Journal
) -> tuple[Violation, Part | None]:
    """The violation on a small part of the module that shows it alone, and that part: one call, or
    else a piece of a large module. If there is none, or no time to find it, the violation itself
    and None."""
    job = dataclasses.replace(job, oracles=(violation.oracle,))
    case = Case(mod, job.calls, job.pipeline)
    singles = ((single.mod, single.place) for single in oracle_check.smaller(case, violation))
    small = ((load_json(text), "") for text in (pieces.texts if len(job.module) > LARGE else ()))
    for parts in singles, small:
        end = time.process_time() + max(job.seconds, SEARCH)
        for part, place in parts:
            if all(catalogue.contract_of(call).requires(part) is None for call in job.calls):
                found = violations_of(job, part, journal)
                same = (each for each in found if each.full_key == violation.full_key)
                if (there := next(same, None)) is not None:
                    return there, Part(save_json(part), place, tuple(sorted(ingredients(part))))
            if time.process_time() > end:
                break
    return violation, None


class _Pieces:
    """Small pieces of a module that takes too long, made on demand."""

    def __init__(self, module: str) -> None:
        self._module = module

    @functools.cached_property
    def texts(self) -> list[str]:
        """The pieces as TVM JSON, the most varied first."""
        try:
            pieces = itertools.islice(pieces_of(load_json(self._module), ""), PIECES)
            # Perhaps there is time for the first one only.
            return sorted(map(_callable, pieces), key=_variety, reverse=True)
        except MemoryError:
            raise
        except Exception:  # as for seeds; the omission is reported in any case
            return []

    def check(self, job: Check, answer: CheckResult, journal: Journal) -> CheckResult:
        """The answer, with the violations of the oracles of values on the first faulty piece."""
        values = VALUES if job.pipeline is None else BUILDS
        oracles = tuple(name for name in job.oracles or values if name in values)
        if not oracles:
            return answer
        found = self._asked(dataclasses.replace(job, oracles=oracles), journal)
        there = {each.oracle: each for each in found.answers if each.silent is None}
        answers = tuple(
            dataclasses.replace(there[each.oracle], omitted=each.omitted)
            if each.omitted and each.oracle in there
            else each
            for each in answer.answers
        )
        return dataclasses.replace(found, answers=answers)

    def instead(self, job: Check, journal: Journal) -> CheckResult | None:
        """The answer on the pieces that the pass applies to; None if there are none."""
        found = self._asked(job, journal)
        return dataclasses.replace(found, whole=False) if found.pieces else None

    def _asked(self, job: Check, journal: Journal) -> CheckResult:
        """The first faulty piece's violations; an oracle is silent only if it is on every piece.

        After the time for the check, one piece that the pass applies to suffices.
        """
        journal.step("cut into pieces")
        answered: dict[str, Answer] = {}
        number = 0
        end = time.monotonic() + job.seconds
        for text in self.texts:
            if number and time.monotonic() > end:
                break
            mod = load_json(text)
            if not all(_fits(call, mod) for call in job.calls):
                continue
            number += 1
            with answers(curious=True) as given:
                found = violations_of(job, mod, journal)
            for name, answer in given.items():
                if name not in answered or answer.silent is None:
                    answered[name] = answer
            if found:
                parts = (Part(text),) * len(found)
                made = CheckResult(tuple(found), tuple(answered.values()), number, parts=parts)
                return consistent(made)
        return CheckResult((), tuple(answered.values()), number)


def _fits(call: PassCall, mod: tvm.IRModule) -> bool:
    """True if the pass applies to a piece, with its arguments for the whole module."""
    contract = catalogue.contract_of(call)
    if contract.requires(mod) is not None:
        return False
    return call.name not in catalogue.catalogue or call in variants_of(
        call.name, mod, VARIANTS_OF_NAMED
    )


def variants_of(name: str, mod: tvm.IRModule, number: int = VARIANTS) -> list[PassCall]:
    """Some of the variants of a pass of the catalogue for this module, the simplest first.

    Args:
        number: variants to draw; some are alike.
    """
    draws = random.Random(0)
    data = [b"", *(draws.randbytes(64) for _ in range(number))]
    calls = (catalogue.catalogue[name].choose(Choices(each), mod) for each in data)
    return list({str(call): call for call in calls if call is not None}.values())


def _variety(text: str) -> int:
    """The number of different operators and kinds of nodes in a module."""
    return len(ingredients(load_json(text)))


def _callable(piece: Piece) -> str:
    """Make the function of a piece callable from outside; return the piece as TVM JSON."""
    mod = piece.load()
    mod[MAIN] = main_of(mod).with_attr("global_symbol", MAIN)
    return save_json(mod)


def violations_of(job: Check, mod: tvm.IRModule, journal: Journal) -> list[Violation]:
    """The violations of a module, not necessarily that of the job."""
    contract = None
    own = filter(catalogue.is_users_contract, job.calls)
    if any(catalogue.contract_of(call).requires(mod) is not None for call in own):
        return []
    if job.exempt:
        contract = contract_of(Target(job.calls[0].name, job.calls[0], (), job.exempt))
    case, besides = Case(mod, job.calls, job.pipeline), _besides(job)
    beat = functools.partial(journal.step, "build")
    kinds, results = job.kinds_seconds, job.result_seconds
    with paced(job.seconds, job.build_seconds, beat, kinds=kinds, results=results):
        return checked(case, journal, job.oracles, contract, besides, all_kinds=True)


def _besides(job: Check) -> tuple[str, ...]:
    """The usual oracles in addition to those of tier 1."""
    if job.oracles is not None:
        return ()
    if job.pipeline is not None:
        return BUILDS
    return NAMED if job.named else VALUES


def checked(
    case: Case,
    journal: Journal,
    oracles: tuple[str, ...] | None,
    contract: PassContract | None,
    besides: tuple[str, ...] = (),
    watch: Callable[[PassRuns], None] | None = None,
    *,
    all_kinds: bool = False,
) -> list[Violation]:
    """Run `oracles.check`, and make the text safe for any terminal, file and database.

    Raises:
        MemoryError: the process was refused memory, so its violations mean nothing.
    """
    violations = oracle_check.check(
        case,
        oracles=oracles,
        besides=besides,
        journal=journal.step,
        contract=contract,
        watch=watch,
        all_kinds=all_kinds,
    )
    for violation in violations:
        if "MemoryError" in violation.key or _REFUSAL.search(violation.detail):
            raise MemoryError
    return list(map(_encodable, violations))


_REFUSAL = re.compile(r"std::bad_alloc|: Unable to allocate .* for an array with shape")
"""Messages about lack of memory in C++ and in NumPy, whose MemoryError TVM makes a RuntimeError."""


def _encodable(violation: Violation) -> Violation:
    """Remove control characters, and lone surrogates, which UTF-8 cannot express."""
    trace = violation.trace
    return dataclasses.replace(
        violation,
        title=sentence(violation.title),
        detail=visible(violation.detail),
        key=tuple(map(_escaped, violation.key)),
        trace=Trace(tuple(map(_escaped, trace.functions)), _escaped(trace.condition)),
    )


def _escaped(text: str) -> str:
    """Write lone surrogates as Python does in a literal."""
    return text.encode("utf-8", "backslashreplace").decode()


def contract_of(target: Target) -> PassContract:
    """The catalogue's contract, or the strict one, except promises that the target does not make.

    Raises:
        ValueError: the target is not a public pass of TVM and has no call.
    """
    if target.call is None:
        contract = catalogue.promised_by(target.name)
        if contract is None:
            raise ValueError(f"Expected a public pass of TVM or a call but got {target!r}")
        return contract
    call = target.call
    base = catalogue.contract_of(call)
    exemptions = tuple(Exemption(name, "its author says so", "") for name in target.exempt)
    return dataclasses.replace(
        base, variants=lambda choices, mod: call, exemptions=base.exemptions + exemptions
    )


def by_family(target: Target) -> Mapping[str, Target]:
    """The target for each family of modules on which it is checked, with the family's stages."""
    found = families.by_family(target.stages or contract_of(target).stages)
    if len(found) == 1:
        return dict.fromkeys(found, target)
    return {name: dataclasses.replace(target, stages=some) for name, some in found.items()}


@dataclass(frozen=True, slots=True)
class Advance(Job[str]):
    """Take a module to the stage of a pass, as the default build does."""

    module: str
    """The module, as TVM JSON, at an earlier stage."""
    call: PassCall
    stage: Stage


def advance(job: Advance, context: Context[str]) -> None:
    """Report the module at the stage.

    The text is empty if the pass changes or refuses the unlowered module although it applies to it,
    or if a step before the stage raises.
    """
    context.journal.position(0, Stage.RAW, 0, "advance", (job.call,))
    context.journal.step("advance")
    mod = load_json(job.module)
    try:
        applies = catalogue.contract_of(job.call).requires(mod) is None
        if not applies or structural_equal(job.call.run(load_json(job.module)), mod):
            context.report(save_json(_at(mod, job.stage)))
            return
    except Exception:  # the check of the pass on the module itself reports it
        pass
    context.report("")


def _at(mod: tvm.IRModule, stage: Stage) -> tvm.IRModule:
    if stage not in stages.RELAX and any(True for _ in relax_functions(mod)):
        mod = without_relax(stages.advance(mod, Stage.LEGALIZED))
    return stages.advance(mod, stage)


@dataclass(frozen=True, slots=True)
class Walk(Job[tuple[tuple[PassCall, str], ...]]):
    """Take a module through a pipeline, which may be one of the user's, or through passes."""

    module: str
    """The module, as TVM JSON."""
    pipeline: str | None = None
    calls: tuple[PassCall, ...] = ()
    """The passes, without a pipeline."""


def walk(job: Walk, context: Context[tuple[tuple[PassCall, str], ...]]) -> None:
    """Report the steps, each with its input; steps after one that raises have an empty text.

    The last step is not run. The arguments of steps in a pipeline for kernels are unknown, so their
    contracts choose them.
    """
    context.journal.position(0, Stage.RAW, 0, "walk", job.calls, job.pipeline)
    given = load_json(job.module)
    mod: tvm.IRModule | None = given
    found: list[tuple[PassCall, str]] = []
    for call in job.calls if job.pipeline is None else pipelines.steps_on(given, job.pipeline):
        if found and mod is not None:
            before, _ = found[-1]
            context.journal.step(before.name)
            try:
                mod = before.run(mod)
            except Exception:
                mod = None
        contract = catalogue.promised_by(call.name) if job.pipeline in OF_KERNELS else None
        if contract is not None and mod is not None:
            call = contract.choose(Choices(b""), mod) or call
        found.append((call, "" if mod is None else save_json(mod)))
    context.report(tuple(found))


@dataclass(frozen=True, slots=True)
class Show(Job[Exhibit]):
    """Run a violation's case again and show both sides of the oracle's comparison."""

    module: str
    """The module, as TVM JSON."""
    violation: Violation
    calls: tuple[PassCall, ...] = ()
    """Passes to run; with neither these nor a pipeline, the module is only printed."""
    pipeline: str | None = None


def show(job: Show, context: Context[Exhibit]) -> None:
    """Report both sides of the comparison."""
    context.journal.position(0, Stage.RAW, 0, "show", job.calls, job.pipeline)
    case = Case(load_json(job.module), job.calls, job.pipeline)
    context.report(exhibit(case, job.violation, context.journal.step))


@dataclass(frozen=True, slots=True)
class WriteChecks(Job[tuple[str, ...]]):
    """Write the checks of a reproducer for oracles that run the passes again."""

    module: str
    """The module, as TVM JSON."""
    violation: Violation
    calls: tuple[PassCall, ...] = ()
    pipeline: str | None = None
    brief: bool = True
    """Write the short forms for this one violation; otherwise the oracle's complete check."""


def write_checks(job: WriteChecks, context: Context[tuple[str, ...]]) -> None:
    """Report the Python text of each check."""
    context.journal.position(0, Stage.RAW, 0, "write checks", job.calls, job.pipeline)
    context.journal.step("write checks")
    case = Case(load_json(job.module), job.calls, job.pipeline)
    oracle = ORACLES[job.violation.oracle]
    context.report(tuple(oracle.checks(case, job.violation, brief=job.brief)))


@dataclass(frozen=True, slots=True)
class Examine(Job[Evidence]):
    """Take the evidence of a module; it determines the row of a finding."""

    module: str
    """The module, as TVM JSON."""
    whole: bool
    """Also run code that may crash: legalizations."""


def examine(job: Examine, context: Context[Evidence]) -> None:
    """Report the evidence."""
    context.journal.position(0, Stage.RAW, 0, "examine")
    context.report(evidence_of(load_json(job.module), context.journal.step, whole=job.whole))


@dataclass(frozen=True, slots=True)
class Explain(Job[Explanation]):
    """Explain why a module cannot be built."""

    module: str
    """The module, as TVM JSON."""
    pipeline: str
    file: str | None = None
    """The Python file that the module comes from."""


def explain(job: Explain, context: Context[Explanation]) -> None:
    """Report the explanation."""
    context.journal.position(0, Stage.RAW, 0, "explain", (), job.pipeline)
    explanation = oracle_explain.explain(
        load_json(job.module),
        job.pipeline,
        file=job.file,
        journal=context.journal.step,
    )
    context.report(explanation)


@dataclass(frozen=True, slots=True)
class Read(Job[str | None]):
    """Read a user's module file, see `module_file`; the result is the problem, if any."""

    path: str
    folder: str
    """An empty folder for the module's JSON, which may be too large for a message."""
    well_formed: bool = True
    """Refuse an ill-formed module."""
    seconds: float = 120.0
    """Seconds for executing a Python file."""
    pieces: bool = False
    """Cut the module into pieces."""


def read(job: Read, context: Context[str | None]) -> None:
    """Report the problem in one sentence, or None."""
    context.journal.position(0, Stage.RAW, 0, "read")
    problem = module_file.read(
        job.path,
        Path(job.folder),
        well_formed=job.well_formed,
        pieces=job.pieces,
        seconds=job.seconds,
    )
    context.report(problem)
