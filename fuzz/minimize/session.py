"""`relaxfuzz minimize`: one session, by what the oracles see or by a predicate of the user's."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from ...compat.release import versions
from ...compat.serialization import load_json
from ...oracles.composition import contract_of
from ...oracles.inspect import bindings_of
from ...oracles.passcall import PassCall
from ...oracles.pipelines import PIPELINES
from .. import reproducer
from ..findings import executable_text
from ..findings.confirm import again, exhibit
from ..findings.finding import Finding
from ..findings.replay import loaded
from ..findings.store import Store
from ..output.readable import sentence, visible
from ..output.terminal import Display, counted, display, duration
from ..process.executor import Executor, ExecutorError, JobFailed, check
from ..process.jobs import Check
from ..process.local_pool import LocalPool
from ..reproducer import Form
from ..reproducer.module_text import as_script, as_source
from ..session.interrupt import Interrupt
from ..system.files import write_whole
from ..user_input.errors import UserError, near
from ..user_input.read_module import BadModule
from ..user_input.targets import calls_of, oracles_of
from .checkpoint import Checkpoint, read
from .findings import ASKED, backwards, fewer_passes, minimized
from .input import Input, read_input
from .parallel import State
from .predicate import Command, shrink_by

REPEATS = 2
"""Additional runs of the unreduced module, to detect flaky failures."""

Other = tuple[Finding, Path]
"""Another violation that a candidate showed, and where it is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The command line of `minimize`."""

    module: Path
    passes: tuple[str, ...]
    pipeline: str | None
    oracle: str | None
    predicate: str | None
    out: Path | None
    seconds: float
    resume: bool
    form: str
    workers: int
    json: bool


def run(request: Request) -> int:
    """Minimize; the exit code.

    Raises:
        UserError: the request cannot be met.
        ExecutorError: the workers cannot be kept alive.
    """
    calls, target = _checked(request)
    interrupt = Interrupt()
    with interrupt.caught(), contextlib.closing(display(Console(stderr=True))) as shown:
        if target.finding is not None and (code := executable_text.warning([target.finding])):
            shown.line(sentence(code))
        session = _Session(request, calls, target, shown, interrupt)
        return session.by_predicate() if request.predicate is not None else session.by_oracles()


def _checked(request: Request) -> tuple[tuple[PassCall, ...], Input]:
    """The passes, and what is minimized; the options are checked first."""
    if request.form not in list(Form):
        raise UserError(f"no format {request.form!r}{near(request.form, map(str, Form))}")
    if request.predicate is not None and (request.passes or request.pipeline or request.oracle):
        raise UserError("--predicate goes without --pass, --pipeline and --oracle")
    if request.passes and request.pipeline is not None:
        raise UserError("expected --pass or --pipeline but got both")
    if request.pipeline is not None and request.pipeline not in PIPELINES:
        raise UserError(f"no pipeline {request.pipeline!r}{near(request.pipeline, PIPELINES)}")
    if request.predicate is not None and request.form == Form.ISSUE:
        raise UserError("--format issue reports a bug of a pass: it goes without --predicate")
    oracles_of((request.oracle,) if request.oracle else None)
    calls = calls_of(dict.fromkeys(request.passes))
    target = read_input(request.module, well_formed=request.predicate is None)
    if target.finding is not None and (request.passes or request.pipeline or request.oracle):
        raise UserError(f"'{target}' is a finding, which has its own passes and oracle")
    if target.finding is None and not (request.passes or request.pipeline or request.predicate):
        raise UserError(f"expected --pass, --pipeline or --predicate for the module '{target}'")
    out = _out(request, target)
    if not out.parent.is_dir():
        raise UserError(f"no folder '{out.parent}' for --out '{out}'")
    return tuple(calls[spelling] for spelling in request.passes), target


def _out(request: Request, target: Input) -> Path:
    suffix = ".md" if request.form == Form.ISSUE else ".py"
    return request.out or Path(f"{target.stem}-minimized{suffix}")


class _Session:
    def __init__(
        self,
        request: Request,
        calls: tuple[PassCall, ...],
        target: Input,
        shown: Display,
        interrupt: Interrupt,
    ) -> None:
        self._request = request
        self._calls = calls
        self._form = Form(request.form)
        self._target = target
        self._display = shown
        self._interrupt = interrupt
        self._out = _out(request, target)
        self._checkpoint = self._out.with_name(f"{self._out.name}.state")
        self._before = self._size = _size(target.module)
        self._flaky = False
        self._faults: dict[str, None] = {}
        self._question = {
            "the module": target.identity,
            "--pass": list(request.passes),
            "--pipeline": request.pipeline,
            "--oracle": request.oracle,
            "--predicate": request.predicate,
            "TVM": versions()["tvm"],
        }
        self._began = time.monotonic()
        self._used = 0.0
        self._accepted = 0

    # By oracles

    def by_oracles(self) -> int:
        """Minimize the module of a finding, or one on which an oracle fails; the exit code.

        Raises:
            UserError: the pass does not apply to the module.
        """
        request = self._request
        with LocalPool(request.workers) as pool:
            former = self._former(pool)
            if former is not None:
                if former.finding is None:
                    raise UserError(f"'{self._checkpoint}' is damaged: it has no finding")
                finding, state = former.finding, former.state
            else:
                chosen = self._violation(pool)
                if chosen is None:
                    return self._report_nothing()
                finding = fewer_passes(pool, chosen, self._report_passes)
                state = State(module=finding.module)
            self._keep(state, finding)
            result = minimized(
                pool,
                finding,
                state,
                workers=request.workers,
                over=self._is_over,
                progress=lambda state: self._progress(state, finding),
            )
            self._flaky |= result.flaky
            self._faults.update(dict.fromkeys(result.faults))
            self._keep(result.state, result.finding)
            others = self._confirmed(pool, result.others)
            smallest = dataclasses.replace(result.finding, confirmed=True)
            stopped = self._interrupt.stop.is_set()
            text: str | None
            if stopped:  # there is no time to run anything; the search has seen that it fails
                *_, text = (None, *reproducer.texts(smallest, Form.SOURCE, pool))
            else:
                try:
                    smallest = dataclasses.replace(smallest, exhibit=exhibit(pool, smallest))
                except ExecutorError as error:  # only the description lacks it
                    self._faults[str(error)] = None
                text = reproducer.failing(smallest, self._form, executor=pool)
        write_whole(self._out, text or self._module_text(smallest.module))
        if self._target.store is not None:
            with Store(self._target.store, create=False, write=True) as store:
                if text is not None and not stopped and self._form is Form.TVMSCRIPT:
                    store.publish(smallest, text)
                else:
                    store.put(smallest)
        if text is None:
            self._display.line("no file reproduces it by itself: only the module was written")
        self._conclude(result.state, smallest, others)
        return 3 if self._faults else 1

    def _violation(self, pool: LocalPool) -> Finding | None:
        """The violation to minimize, the first of several; None if it does not occur."""
        finding = self._target.finding
        if finding is None:
            found = self._violations(pool)
            for other in found[1:]:
                self._display.line(f"also found, and not minimized: {_headline(other)}")
            if not found:
                return None
            finding = found[0]
        try:
            seen = [again(pool, finding, finding.module) for _ in range(REPEATS)]
        except JobFailed as error:
            if self._target.finding is None:
                raise
            # The finding may come from anybody, and need not be one that can be checked.
            raise UserError(f"cannot check '{self._target}': {str(error).strip()[-200:]}") from None
        if self._target.finding is not None and not any(seen):
            return None
        if None in seen:
            self._flaky = True
            self._display.line(f"flaky: {seen.count(None)} of {REPEATS} runs do not show it")
        self._display.line(_headline(finding), "bold")
        return finding

    def _violations(self, pool: LocalPool) -> list[Finding]:
        request, module, calls = self._request, self._target.module, self._calls
        if len(calls) == 1 and (reason := contract_of(calls[0]).requires(load_json(module))):
            raise UserError(f"{calls[0].name} does not apply to this module: {reason}")
        oracles = None if request.oracle is None else (request.oracle,)
        job = Check(module=module, calls=calls, pipeline=request.pipeline, oracles=oracles)
        source = reproducer.source_of(module)
        return [
            Finding(
                violation=violation,
                module=module,
                versions=versions(),
                source=source,
                calls=calls,
                pipeline=request.pipeline,
            )
            for violation in check(pool, job)
        ]

    def _confirmed(self, pool: LocalPool, met: Sequence[Finding]) -> list[Other]:
        """Store other violations of candidates that occur again; unconfirmed in a campaign's."""
        store = self._target.store
        folder = store or self._out.with_name(f"{self._out.name}.others")
        kept: list[Other] = []
        for finding in met:
            if self._interrupt.stop.is_set() or again(pool, finding, finding.module) is None:
                continue
            source = reproducer.source_of(finding.module)
            seen = dataclasses.replace(finding, confirmed=store is None, source=source)
            with Store(folder) as others:
                if others.get(seen.id) is None:
                    others.put(seen)
            kept.append((seen, folder / seen.id))
        return kept

    # By a predicate

    def by_predicate(self) -> int:
        """Minimize the module as long as the predicate holds; the exit code.

        Raises:
            UserError: the predicate cannot be started, or does not hold for the unreduced module.
        """
        try:
            command = Command(self._request.predicate or "")
        except ValueError as error:
            raise UserError(f"--predicate: {error}") from None
        former = self._former()
        state = State(module=self._target.module) if former is None else former.state
        if former is None:
            self._try_predicate(command)
        self._keep(state, None)
        trail = [state.module]
        reached = shrink_by(
            command,
            state,
            workers=self._request.workers,
            over=self._is_over,
            progress=lambda state: self._progress(state, None),
            trail=trail,
            faults=self._faults,
        )
        module = trail[0]
        for candidate in backwards(trail):
            seen = [command(candidate) for _ in range(ASKED)]
            self._flaky |= not all(seen)
            if any(seen):
                module = candidate
                break
        if module != reached.module:
            reached = dataclasses.replace(reached, module=module, ended=False)
        write_whole(self._out, self._module_text(module))
        self._conclude(reached)
        return 3 if self._faults else 0

    def _try_predicate(self, command: Command) -> None:
        try:
            answers = [command.ask(self._target.module) for _ in range(1 + REPEATS)]
        except OSError as error:
            raise UserError(f"--predicate cannot be started: {error}") from None
        failed = sum(code != 0 for code, _ in answers)
        if failed == len(answers):
            code, output = answers[0]
            last = output.strip().splitlines()[-1:] or ["no message"]
            raise UserError(
                f"the predicate does not hold for '{self._target}': exit code {code}, {last[0]}"
            )
        if failed:
            self._flaky = True
            self._display.line(f"flaky: the predicate fails in {failed} of {len(answers)} runs")

    # Checkpoints

    def _former(self, executor: Executor | None = None) -> Checkpoint | None:
        """The checkpoint to continue from; None without --resume, or where there is none."""
        if not self._request.resume:
            return None
        if not self._checkpoint.is_file():
            self._display.line(f"no checkpoint '{self._checkpoint}': starting from the beginning")
            return None
        former = read(self._checkpoint, self._question)
        try:
            loaded(former.state.module, "state.json", executor)
        except BadModule as error:
            raise UserError(f"the module in '{self._checkpoint}' does not load: {error}") from None
        self._used, self._flaky = former.seconds, former.flaky
        self._accepted = former.state.accepted
        self._size = bindings, functions = _size(former.state.module)
        self._display.line(f"going on from {_counts(bindings, functions)}")
        return former

    def _keep(self, state: State, finding: Finding | None) -> None:
        Checkpoint(
            request=self._question,
            state=state,
            finding=finding,
            seconds=self._seconds(),
            flaky=self._flaky,
        ).write(self._checkpoint)

    # Progress

    def _progress(self, state: State, finding: Finding | None) -> None:
        if state.accepted != self._accepted:
            self._accepted = state.accepted
            self._keep(state, finding)
            self._size = _size(state.module)
            if self._request.json:
                _emit({"event": "smaller", **self._numbers(state)})
        bindings, functions = self._size
        self._display.progress(
            f"{bindings} bindings  {functions} functions  {state.tried} tried  "
            f"{state.accepted} accepted  {duration(self._seconds())}"
        )

    def _report_passes(self, finding: Finding) -> None:
        passes = ", ".join(map(str, finding.calls))
        self._display.line(f"{counted(len(finding.calls), 'pass', 'passes')}: {passes}")

    def _is_over(self) -> bool:
        spent = time.monotonic() - self._began
        return self._interrupt.stop.is_set() or spent >= self._request.seconds

    def _seconds(self) -> float:
        """The time of the search, that before an interruption included."""
        return self._used + time.monotonic() - self._began

    def _numbers(self, state: State) -> dict[str, object]:
        bindings, functions = _size(state.module)
        return {
            "bindings": bindings,
            "functions": functions,
            "tried": state.tried,
            "accepted": state.accepted,
            "seconds": round(self._seconds(), 1),
        }

    # The end

    def _module_text(self, module: str) -> str:
        """The module alone, in the requested form if that can express it."""
        made = as_script(module) if self._form is Form.TVMSCRIPT else None
        if made is None:
            made = as_source(module, reproducer.source_of(module))
        return "\n".join([*made.imports, "", made.statements, ""])

    def _report_nothing(self) -> int:
        if self._request.json:
            _emit({"event": "nothing", "module": str(self._target)})
        else:
            print(f"Nothing is wrong with '{self._target}': no oracle fails.")
        return 0

    def _conclude(
        self, state: State, finding: Finding | None = None, others: Sequence[Other] = ()
    ) -> None:
        """Print the result; a checkpoint is left only where the search can go on."""
        if state.ended:
            self._checkpoint.unlink(missing_ok=True)
        self._display.close()
        for fault in self._faults:
            self._display.line(f"fault of relaxfuzz: {fault}", style="bold red")
        if not self._request.json:
            for line in self._lines(state, finding, others):
                print(visible(line))
            return
        _emit(
            {
                "event": "minimized",
                "path": str(self._out),
                "before": dict(zip(("bindings", "functions"), self._before, strict=True)),
                **self._numbers(state),
                "ended": state.ended,
                "flaky": self._flaky,
                **({} if finding is None else _fields(finding)),
                "others": [{**_fields(other), "path": str(at)} for other, at in others],
            }
        )

    def _lines(
        self, state: State, finding: Finding | None, others: Sequence[Other]
    ) -> Iterator[str]:
        if finding is not None:
            yield _headline(finding)
            if finding.calls:
                yield f"Pass: {'; '.join(map(str, finding.calls))}"
        yield (
            f"{_counts(*self._before)} before, {_counts(*_size(state.module))} now; "
            f"{counted(state.tried, 'candidate')} tried, {state.accepted} accepted, "
            f"{duration(self._seconds())}."
        )
        if self._flaky:
            yield "Flaky: not every run shows it."
        if not state.ended:
            why = "interrupted" if self._interrupt.stop.is_set() else "the budget is used up"
            yield f"Not finished: {why}; --resume goes on from '{self._checkpoint}'."
        for other, path in others:
            yield f"Also found: {_headline(other)}\n  {path}"
        yield str(self._out)


def _size(module: str) -> tuple[int, int]:
    mod = load_json(module)
    return len(bindings_of(mod)), len(mod.functions)


def _counts(bindings: int, functions: int) -> str:
    return f"{counted(bindings, 'binding')} in {counted(functions, 'function')}"


def _headline(finding: Finding) -> str:
    return sentence(f"{finding.label}: {finding.title} ({finding.oracle})")


def _fields(finding: Finding) -> dict[str, object]:
    return {
        "id": finding.id,
        "pass": finding.pass_name,
        "oracle": finding.oracle,
        "title": finding.title,
        "calls": [str(call) for call in finding.calls],
    }


def _emit(event: dict[str, object]) -> None:
    print(json.dumps(event), flush=True)
