"""`relaxfuzz minimize`: one session, driven by the oracles or by a user's predicate."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from ...compat import weights
from ...compat.release import versions
from ...compat.serialization import load_json
from ...oracles.catalogue import contract_of, is_users_contract
from ...oracles.inspect import bindings_of
from ...oracles.passcall import PassCall
from ...oracles.pipelines import PIPELINES
from .. import reproducer
from ..findings import executable_text
from ..findings.confirm import again, exhibit
from ..findings.finding import Finding
from ..findings.store import Store
from ..jobs.asking import check
from ..jobs.jobs import Check
from ..loading.targets import calls_of, oracles_of
from ..output.events import emit
from ..output.readable import sentence, visible
from ..output.terminal import Display, counted, display, duration
from ..process.executor import ExecutorError, JobFailed
from ..process.local_pool import LocalPool
from ..reproducer import Form
from ..reproducer.module_text import ModuleText, as_script, as_source
from ..system.errors import UserError, near
from ..system.files import write_whole
from ..system.interrupt import Interrupt
from ..system.scratch import scratch
from .findings import ASKED, backwards, fewer_passes, minimized
from .input import Input, finding_in, read_input
from .parallel import SearchState
from .predicate import Command, shrink_by
from .redacted import kept_in, redacted

REPEATS = 2
"""Additional runs of the unreduced module, to detect flaky failures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimizeOptions:
    """The command line of `minimize`."""

    module: Path
    passes: tuple[str, ...]
    pipeline: str | None
    oracle: str | None
    predicate: str | None
    out: Path | None
    seconds: float
    form: str
    workers: int
    json: bool
    redact: bool = False
    """True to keep nothing of the owner's in the result; a finding's folder is not changed."""


def run(request: MinimizeOptions) -> int:
    """Minimize; return the exit code.

    Raises:
        UserError: the request cannot be met.
        ExecutorError: the workers cannot be kept alive.
    """
    with _large_constants(request):
        calls, target = _checked(request)
        interrupt = Interrupt()
        with interrupt.caught(), contextlib.closing(display(Console(stderr=True))) as shown:
            if target.finding is not None and (code := executable_text.warning([target.finding])):
                shown.line(sentence(code))
            session = _Session(request, calls, target, shown, interrupt)
            by_predicate = request.predicate is not None
            return session.by_predicate() if by_predicate else session.by_oracles()


def _large_constants(request: MinimizeOptions) -> contextlib.AbstractContextManager[None]:
    """Keep large constants in files, as in a folder of findings; a predicate gets them whole."""
    if request.predicate is not None or finding_in(request.module) is not None:
        return contextlib.nullcontext()
    weights.install()
    return weights.kept_in(scratch() / weights.FOLDER)


def _checked(request: MinimizeOptions) -> tuple[tuple[PassCall, ...], Input]:
    """Check the options; return the passes and the input."""
    if request.form not in list(Form):
        raise UserError(f"no format {request.form!r}{near(request.form, map(str, Form))}")
    if request.predicate is not None and (request.passes or request.pipeline or request.oracle):
        raise UserError("--predicate goes without --pass, --pipeline and --oracle")
    if request.predicate is not None and request.redact:
        raise UserError("--redact asks oracles again: it goes without --predicate")
    if request.passes and request.pipeline is not None:
        raise UserError("expected --pass or --pipeline but got both")
    if request.pipeline is not None and request.pipeline not in PIPELINES:
        raise UserError(f"no pipeline {request.pipeline!r}{near(request.pipeline, PIPELINES)}")
    if request.predicate is not None and request.form == Form.ISSUE:
        raise UserError("--format issue reports a bug of a pass: it goes without --predicate")
    oracles_of((request.oracle,) if request.oracle else ())
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


def _out(request: MinimizeOptions, target: Input) -> Path:
    suffix = ".md" if request.form == Form.ISSUE else ".py"
    return request.out or Path(f"{target.stem}-minimized{suffix}")


class _Session:
    def __init__(
        self,
        request: MinimizeOptions,
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
        self._before = self._size = _size(target.module)
        self._flaky = False
        self._faults: dict[str, None] = {}
        self._began = time.monotonic()
        self._accepted = 0

    # By oracles

    def by_oracles(self) -> int:
        """Minimize the module of a finding, or one on which an oracle fails; return the exit code.

        Raises:
            UserError: the pass does not apply to the module.
        """
        request = self._request
        with LocalPool(request.workers) as pool:
            chosen = self._violation(pool)
            if chosen is None:
                return self._report_nothing()
            result = minimized(
                pool,
                fewer_passes(pool, chosen, self._report_passes),
                workers=request.workers,
                over=self._is_over,
                progress=self._progress,
            )
            self._flaky |= result.flaky
            self._faults.update(dict.fromkeys(result.faults))
            smallest = dataclasses.replace(result.finding, confirmed=True)
            stopped = self._interrupt.stop.is_set()
            if request.redact:
                smallest = redacted(pool, smallest)
                for what in kept_in(smallest):
                    self._display.line(f"kept, since the failure needs it: {what}")
            text: str | None
            if stopped:  # no time is left to run anything, but the search has seen it fail
                *_, text = (None, *reproducer.texts(smallest, Form.SOURCE, pool))
            else:
                try:
                    if not request.redact:  # otherwise it has one
                        smallest = dataclasses.replace(smallest, exhibit=exhibit(pool, smallest))
                except ExecutorError as error:  # only the description is missing
                    self._faults[str(error)] = None
                text = reproducer.failing(smallest, self._form, executor=pool)
        self._write(text or self._module_text(smallest.module), smallest.module)
        if self._target.store is not None and not request.redact:
            with Store(self._target.store, create=False, write=True) as store:
                if text is not None and not stopped and self._form is Form.TVMSCRIPT:
                    store.publish(smallest, text)
                else:
                    store.put(smallest)
        if text is None:
            self._display.line("no file reproduces it by itself: only the module was written")
        self._conclude(result.state, smallest)
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
            # The finding is untrusted, and possibly not checkable.
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
        asked = [call for call in calls[:1] if len(calls) == 1 and not is_users_contract(call)]
        for call in asked:
            if reason := contract_of(call).requires(load_json(module)):
                raise UserError(f"{call.name} does not apply to this module: {reason}")
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

    # By a predicate

    def by_predicate(self) -> int:
        """Minimize the module as long as the predicate holds; return the exit code.

        Raises:
            UserError: the predicate cannot be started, or does not hold for the unreduced module.
        """
        try:
            command = Command(self._request.predicate or "")
        except ValueError as error:
            raise UserError(f"--predicate: {error}") from None
        self._try_predicate(command)
        trail = [self._target.module]
        reached = shrink_by(
            command,
            SearchState(module=self._target.module),
            workers=self._request.workers,
            over=self._is_over,
            progress=self._progress,
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
        self._write(self._module_text(module), module)
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

    # Progress

    def _progress(self, state: SearchState) -> None:
        if state.accepted != self._accepted:
            self._accepted = state.accepted
            self._size = _size(state.module)
            # For the case that this process is killed.
            if self._form is not Form.ISSUE and not self._request.redact:
                self._write(_source(state.module), state.module)
            if self._request.json:
                emit({"event": "smaller", **self._numbers(state)})
        bindings, functions = self._size
        self._display.progress(
            f"{bindings} bindings  {functions} functions  {state.tried} tried  "
            f"{state.accepted} accepted  {duration(self._seconds())}"
        )

    def _report_passes(self, finding: Finding) -> None:
        passes = ", ".join(map(str, finding.calls))
        self._display.line(f"{counted(len(finding.calls), 'pass', 'passes')}: {passes}")

    def _is_over(self) -> bool:
        return self._interrupt.stop.is_set() or self._seconds() >= self._request.seconds

    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def _numbers(self, state: SearchState) -> dict[str, object]:
        bindings, functions = _size(state.module)
        return {
            "bindings": bindings,
            "functions": functions,
            "tried": state.tried,
            "accepted": state.accepted,
            "seconds": round(self._seconds(), 1),
        }

    # The end

    def _write(self, text: str, module: str) -> None:
        """Write the file, and the constants that the module does not hold itself beside it."""
        if weights.in_files(module):
            weights.bring(module, self._out.parent / weights.FOLDER)
        write_whole(self._out, text)

    def _module_text(self, module: str) -> str:
        """The module alone, in the requested form if that can express it."""
        made = as_script(module) if self._form is Form.TVMSCRIPT else None
        return _source(module) if made is None else _text(made)

    def _report_nothing(self) -> int:
        if self._request.json:
            emit({"event": "nothing", "module": str(self._target)})
        else:
            print(f"Nothing is wrong with '{self._target}': no oracle fails.")
        return 0

    def _conclude(self, state: SearchState, finding: Finding | None = None) -> None:
        """Print the result."""
        self._display.close()
        for fault in self._faults:
            self._display.line(f"fault of relaxfuzz: {fault}", style="bold red")
        if not self._request.json:
            for line in self._lines(state, finding):
                print(visible(line))
            return
        emit(
            {
                "event": "minimized",
                "path": str(self._out),
                "before": dict(zip(("bindings", "functions"), self._before, strict=True)),
                **self._numbers(state),
                "ended": state.ended,
                "flaky": self._flaky,
                **({} if finding is None else _fields(finding)),
            }
        )

    def _lines(self, state: SearchState, finding: Finding | None) -> Iterator[str]:
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
            yield f"Not finished: {why}; minimize the result to go on."
        yield str(self._out)


def _source(module: str) -> str:
    return _text(as_source(module, reproducer.source_of(module)))


def _text(made: ModuleText) -> str:
    return "\n".join([*made.imports, "", made.statements, ""])


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
