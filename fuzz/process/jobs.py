"""The jobs of one module: each a dataclass, beside the function that does it in a child."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import tvm

from ...compat.drift import drift_of
from ...compat.serialization import load_json, save_json
from ...generators import families
from ...generators.seeds import Piece, pieces_of
from ...generators.seeds.piece import MAIN, main_of
from ...generators.stages import Stage
from ...oracles import catalogue, composition
from ...oracles import check as oracle_check
from ...oracles import explain as oracle_explain
from ...oracles.check import BUILDS, NAMED, VALUES
from ...oracles.contract import Exemption, PassContract
from ...oracles.explain.trouble import Explanation
from ...oracles.pass_runs import PassRuns, digest
from ...oracles.passcall import BadPass, PassCall
from ...oracles.silence.log import Answer, answers
from ...oracles.text.exhibit import Exhibit, exhibit
from ...oracles.text.frames import Trace
from ...oracles.tiers import ORACLES
from ...oracles.values import frameworks
from ...oracles.values.frameworks import BUILD_SECONDS, Verdict
from ...oracles.violation import Case, Violation
from ..findings.evidence import Evidence, evidence_of
from ..output.readable import sentence, visible
from ..user_input import module_file
from . import death
from .journal import Journal
from .process_state import Watch
from .protocol import Death, Died, Failed, FromChild, Job, Result
from .targets import Target

R = TypeVar("R")

PIECES = 5
"""Pieces of a large module whose values are compared, where those of the module take too long."""


@dataclass(frozen=True, slots=True)
class Context(Generic[R]):
    """What the function that does a job gets besides the job; `R` is the type of each result."""

    id: int
    journal: Journal
    send: Callable[[FromChild], None]

    def report(self, value: R) -> None:
        """Send a result."""
        self.send(Result(self.id, value))

    def fail(self, error: Exception | str) -> None:
        """Report an exception that no pass has raised."""
        user_error = isinstance(error, BadPass)  # the pass could be built when the session began
        lacking = drift_of(error) if isinstance(error, Exception) else None
        if isinstance(error, Exception):
            whole = "".join(traceback.format_exception(error))
            error = str(error) if user_error else lacking or whole
        drift = lacking is not None
        self.send(Failed(self.id, visible(error), self.journal.last(), user_error, drift))


@dataclass(frozen=True, slots=True)
class Checked:
    """What one check has found, and what each oracle did in it."""

    violations: tuple[Violation, ...]
    answers: tuple[Answer, ...] = ()
    pieces: int = 0
    """Small pieces of the module whose values it has compared instead."""
    piece: str | None = None
    """The TVM JSON of the piece that the violations are of; None: they are of the module."""

    @property
    def omitted(self) -> tuple[str, ...]:
        """What the oracles have not compared, since that would take too long."""
        return tuple(dict.fromkeys(what for answer in self.answers for what in answer.omitted))


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Job[Checked]):
    """Check one module."""

    module: str
    """TVM JSON."""
    calls: tuple[PassCall, ...] = ()
    pipeline: str | None = None
    oracles: tuple[str, ...] | None = None
    """Only these; None: the usual ones."""
    exempt: tuple[str, ...] = ()
    named: bool = False
    """The user has named the passes: those that cost more are usual, too."""
    pieces: bool = False
    """Compare values on small pieces of the module, where its own take too long."""


def check(job: Check, context: Context[Checked]) -> None:
    """Report what is wrong; a side effect of the user's own pass is that, too."""
    journal = context.journal
    journal.position(0, Stage.RAW, 0, "check", job.calls, job.pipeline)
    watch = Watch(job.calls)
    answer = Checked(())
    try:
        answer = _answer(job, load_json(job.module), _Pieces(job.module), journal)
    except Exception:
        if watch.changed() is None:
            raise
        # The pass has damaged the harness: that is all that can be said of it.
    if (what := watch.changed()) is not None:
        journal.changed(what)
        found = death.violation(Died(context.id, Death.CHANGED, 1, journal.last()))
        answer = dataclasses.replace(answer, violations=(*answer.violations, found))
    context.report(answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckEach(Job[Checked]):
    """Check one module with each of several pipelines, then with each of several passes of TVM's.

    There is a result for each, in their order. What all of them need to know of the module, e.g.
    what it computes, is found out once.
    """

    module: str
    """TVM JSON."""
    pipelines: tuple[str, ...] = ()
    calls: tuple[PassCall, ...] = ()
    oracles: tuple[str, ...] | None = None
    """Only these; None: the usual ones."""
    named: bool = False
    """See `Check`."""


def check_each(job: CheckEach, context: Context[Checked]) -> None:
    """Report what each check gives; a fault in place of what cannot be found out."""
    make = functools.partial(
        Check, module=job.module, oracles=job.oracles, named=job.named, pieces=True
    )
    checks = [make(pipeline=name) for name in job.pipelines]
    checks += [make(calls=(call,)) for call in job.calls]
    small = _Pieces(job.module)
    mod: tvm.IRModule | None = None
    for number, one in enumerate(checks):
        context.journal.position(0, Stage.RAW, number, "check", one.calls, one.pipeline)
        if mod is None:
            mod = load_json(job.module)
            mark = digest(mod)
        try:
            answer = _answer(one, mod, small, context.journal)
        except MemoryError:
            raise
        except Exception as error:
            context.fail(error)
            mod = None
            continue
        context.report(answer)
        if answer.violations or digest(mod) != mark:  # the pass may have changed it
            mod = None


def _answer(job: Check, mod: tvm.IRModule, pieces: _Pieces, journal: Journal) -> Checked:
    with answers(curious=True) as given:
        violations = violations_of(job, mod, journal)
    answer = Checked(tuple(violations), tuple(given.values()))
    if job.pieces and answer.omitted and not violations:
        return pieces.check(job, answer, journal)
    if job.pieces and len(violations) == 1:
        return _smaller(job, mod, answer, journal)
    return answer


def _smaller(job: Check, mod: tvm.IRModule, answer: Checked, journal: Journal) -> Checked:
    """The answer, with its violation in the one call of the module that shows it, if one does."""
    (violation,) = answer.violations
    case = oracle_check.smaller(Case(mod, job.calls, job.pipeline), violation)
    if case is None:
        return answer
    found = violations_of(dataclasses.replace(job, oracles=(violation.oracle,)), case.mod, journal)
    same = tuple(each for each in found if each.full_key == violation.full_key)
    return (
        dataclasses.replace(answer, violations=same, piece=save_json(case.mod)) if same else answer
    )


class _Pieces:
    """Small pieces of a module whose values take too long to compare, made when they are needed."""

    def __init__(self, module: str) -> None:
        self._module = module

    @functools.cached_property
    def _texts(self) -> list[str]:
        try:
            pieces = pieces_of(load_json(self._module), "")
            return [_callable(piece) for piece in itertools.islice(pieces, PIECES)]
        except MemoryError:
            raise
        except Exception:  # as for seeds; what is omitted is reported anyway
            return []

    def check(self, job: Check, answer: Checked, journal: Journal) -> Checked:
        """The answer, with what the oracles of values find wrong with the first such piece."""
        values = VALUES if job.pipeline is None else BUILDS
        oracles = tuple(name for name in job.oracles or values if name in values)
        if not oracles:
            return answer
        journal.step("cut into pieces")
        job = dataclasses.replace(job, oracles=oracles)
        for number, text in enumerate(self._texts, 1):
            if found := violations_of(job, load_json(text), journal):
                return dataclasses.replace(
                    answer, violations=tuple(found), pieces=number, piece=text
                )
        return dataclasses.replace(answer, pieces=len(self._texts))


def _callable(piece: Piece) -> str:
    """The TVM JSON of a piece whose function can be called from outside."""
    mod = piece.load()
    mod[MAIN] = main_of(mod).with_attr("global_symbol", MAIN)
    return save_json(mod)


def violations_of(job: Check, mod: tvm.IRModule, journal: Journal) -> list[Violation]:
    """The violations of a module, which may be another one than the job's."""
    contract = None
    if job.exempt:
        contract = contract_of(Target(job.calls[0].name, job.calls[0], (), job.exempt))
    case, besides = Case(mod, job.calls, job.pipeline), _besides(job)
    return checked(case, journal, job.oracles, contract, besides, all_kinds=True)


def _besides(job: Check) -> tuple[str, ...]:
    """The usual oracles besides those of tier 1."""
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
    """As `oracles.check`, with text that any terminal, file and database takes.

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
"""C++'s, and NumPy's: its own kind of MemoryError comes back from TVM as a RuntimeError."""


def _encodable(violation: Violation) -> Violation:
    """Without control characters, and without lone surrogates, which UTF-8 cannot express."""
    trace = violation.trace
    return dataclasses.replace(
        violation,
        title=sentence(violation.title),
        detail=visible(violation.detail),
        key=tuple(map(_escaped, violation.key)),
        trace=Trace(tuple(map(_escaped, trace.functions)), _escaped(trace.condition)),
    )


def _escaped(text: str) -> str:
    """With lone surrogates as Python writes them in a literal."""
    return text.encode("utf-8", "backslashreplace").decode()


def contract_of(target: Target) -> PassContract:
    """The catalogue's contract, or the strict one; without the promises the target does not make.

    Raises:
        ValueError: the target is no public pass of TVM and has no call.
    """
    if target.call is None:
        contract = catalogue.contract_of(target.name)
        if contract is None:
            raise ValueError(f"Expected a public pass of TVM or a call but got {target!r}")
        return contract
    call = target.call
    base = composition.contract_of(call)
    exemptions = tuple(Exemption(name, "its author says so", "") for name in target.exempt)
    return dataclasses.replace(
        base, variants=lambda choices, mod: call, exemptions=base.exemptions + exemptions
    )


def by_family(target: Target) -> Mapping[str, Target]:
    """The target by the families of modules that it is checked on, with the stages of each."""
    stages = families.by_family(target.stages or contract_of(target).stages)
    if len(stages) == 1:
        return dict.fromkeys(stages, target)
    return {name: dataclasses.replace(target, stages=some) for name, some in stages.items()}


@dataclass(frozen=True, slots=True)
class Reach(Job[tuple[str, ...]]):
    """Apply passes one after the other, as they run in a list."""

    module: str
    """TVM JSON."""
    calls: tuple[PassCall, ...]


def reach(job: Reach, context: Context[tuple[str, ...]]) -> None:
    """Report the module that each pass is given, as far as the passes before it do not raise."""
    context.journal.position(0, Stage.RAW, 0, "reach", job.calls)
    context.journal.step("reach")
    reached = composition.reach(load_json(job.module), job.calls)
    context.report(tuple(map(save_json, reached)))


@dataclass(frozen=True, slots=True)
class Show(Job[Exhibit]):
    """Run the case of a violation again and show what the oracle compared."""

    module: str
    """TVM JSON."""
    violation: Violation
    calls: tuple[PassCall, ...] = ()
    """With no pipeline either, only the module is printed."""
    pipeline: str | None = None


def show(job: Show, context: Context[Exhibit]) -> None:
    """Report both sides of the comparison."""
    context.journal.position(0, Stage.RAW, 0, "show", job.calls, job.pipeline)
    case = Case(load_json(job.module), job.calls, job.pipeline)
    context.report(exhibit(case, job.violation, context.journal.step))


@dataclass(frozen=True, slots=True)
class WriteChecks(Job[tuple[str, ...]]):
    """Write the checks of a reproducer, for which oracles run the passes again."""

    module: str
    """TVM JSON."""
    violation: Violation
    calls: tuple[PassCall, ...] = ()
    pipeline: str | None = None
    brief: bool = True
    """Shorter forms for this one violation; else the whole check of the oracle."""


def write_checks(job: WriteChecks, context: Context[tuple[str, ...]]) -> None:
    """Report the Python text of each check."""
    context.journal.position(0, Stage.RAW, 0, "write checks", job.calls, job.pipeline)
    context.journal.step("write checks")
    case = Case(load_json(job.module), job.calls, job.pipeline)
    oracle = ORACLES[job.violation.oracle]
    context.report(tuple(oracle.checks(case, job.violation, brief=job.brief)))


@dataclass(frozen=True, slots=True)
class Examine(Job[Evidence]):
    """Take the evidence of a module by which findings are put into rows and graded."""

    module: str
    """TVM JSON."""
    whole: bool
    """Run what may crash: legalizations, the parser of TVMScript."""


def examine(job: Examine, context: Context[Evidence]) -> None:
    """Report the evidence."""
    context.journal.position(0, Stage.RAW, 0, "examine")
    context.report(evidence_of(load_json(job.module), context.journal.step, whole=job.whole))


@dataclass(frozen=True, slots=True)
class Explain(Job[Explanation]):
    """Explain why a module cannot be built."""

    module: str
    """TVM JSON."""
    pipeline: str
    file: str | None = None
    """The Python file that it comes from."""
    locate: bool = True
    """Run a step that fails on parts of the module."""


def explain(job: Explain, context: Context[Explanation]) -> None:
    """Report the explanation."""
    context.journal.position(0, Stage.RAW, 0, "explain", (), job.pipeline)
    explanation = oracle_explain.explain(
        load_json(job.module),
        job.pipeline,
        file=job.file,
        locate=job.locate,
        journal=context.journal.step,
    )
    context.report(explanation)


@dataclass(frozen=True, slots=True)
class Judge(Job[Verdict | None]):
    """Compare an imported module with what its framework says, see `values.frameworks`."""

    module: str
    """TVM JSON."""
    folder: str
    """The folder in which the reading has left the framework's results."""
    seconds: float = BUILD_SECONDS
    """For the default build and one run of it."""


def judge(job: Judge, context: Context[Verdict | None]) -> None:
    """Report the verdict; None where the framework says nothing."""
    context.journal.position(0, Stage.RAW, 0, "judge")
    reference = frameworks.saved(Path(job.folder))
    if reference is None:
        context.report(None)
        return
    mod, step = load_json(job.module), context.journal.step
    context.report(frameworks.judge(mod, reference, step, seconds=job.seconds))


@dataclass(frozen=True, slots=True)
class Read(Job[str | None]):
    """Read a module file of the user's, see `module_file`; the result is the problem with it."""

    path: str
    folder: str
    """An empty one, where the module's JSON is left: it may be too large for a message."""
    well_formed: bool = True
    """Refuse a module that is not."""
    seconds: float = 120.0
    """For executing a Python file."""
    pieces: bool = False
    """Cut it into pieces."""


def read(job: Read, context: Context[str | None]) -> None:
    """Report the problem in one sentence; None: there is none."""
    context.journal.position(0, Stage.RAW, 0, "read")
    folder = Path(job.folder)
    if job.pieces:
        context.report(module_file.read_pieces(job.path, folder, seconds=job.seconds))
        return
    path = Path(job.path)
    context.report(module_file.read(path, folder, well_formed=job.well_formed, seconds=job.seconds))
