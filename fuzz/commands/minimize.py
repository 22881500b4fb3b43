"""`relaxfuzz minimize`: the smallest module that still shows what is wrong."""

from __future__ import annotations

import contextlib
import dataclasses
import json as jsonlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from ...generators.tvm_api import load_json, versions
from ...oracles.composition import contract_of
from ...oracles.inspect import bindings_of
from ...oracles.passcall import PassCall
from ...oracles.pipelines import PIPELINES
from .. import reproducer
from ..confirm import again
from ..display import Display, counted, display, duration
from ..executor import LocalPool, check
from ..files import write_whole
from ..finding import Finding
from ..minimize.checkpoint import BadCheckpoint, Checkpoint, read
from ..minimize.findings import ASKED, backwards, minimized
from ..minimize.parallel import State
from ..minimize.passlist import fewer_passes
from ..minimize.predicate import Command, shrink_by
from ..minimize.subject import Given, given
from ..mistake import Mistake, near
from ..protocol import Check
from ..reproducer import Form
from ..reproducer.module_text import as_script, as_source
from ..store import Store
from ..subjects import calls_of, oracles_of
from .session import Interrupt

MORE = 2
"""What is wrong with the module is asked for so many times more: does it always come out?"""


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
    form: Form
    workers: int
    json: bool


def run(request: Request) -> int:
    """Minimize; the exit code.

    Raises:
        Mistake: the request cannot be met.
        ExecutorError: the workers cannot be kept alive.
    """
    ways = (request.passes, request.pipeline, request.predicate)
    if request.predicate is not None and (request.passes or request.pipeline or request.oracle):
        raise Mistake("--predicate decides by itself: it goes without --pass, --pipeline, --oracle")
    if request.passes and request.pipeline is not None:
        raise Mistake("expected --pass or --pipeline but got both")
    if request.pipeline is not None and request.pipeline not in PIPELINES:
        raise Mistake(f"no pipeline {request.pipeline!r}{near(request.pipeline, PIPELINES)}")
    if request.predicate is not None and request.form is Form.ISSUE:
        raise Mistake("--format issue tells of a pass: it goes without --predicate")
    oracles_of((request.oracle,) if request.oracle else None)
    calls = calls_of(request.passes)
    subject = given(request.module, well_formed=request.predicate is None)
    if subject.finding is None and not any(ways):
        raise Mistake(f"what is wrong with '{subject}'? Say --pass, --pipeline or --predicate")
    if subject.finding is not None and any((*ways[:2], request.oracle)):
        raise Mistake(f"'{subject}' is a finding, which brings its own pass and oracle")
    interrupt = Interrupt()
    with interrupt.caught(), contextlib.closing(display(Console(stderr=True))) as shown:
        work = _Work(request, calls, subject, shown, interrupt)
        return work.by_predicate() if request.predicate is not None else work.by_finding()


def form_of(name: str) -> Form:
    """The form of this name.

    Raises:
        Mistake: there is none.
    """
    try:
        return Form(name)
    except ValueError:
        raise Mistake(f"no format {name!r}{near(name, map(str, Form))}") from None


class _Work:
    """One minimization."""

    def __init__(
        self,
        request: Request,
        calls: Mapping[str, PassCall],
        subject: Given,
        shown: Display,
        interrupt: Interrupt,
    ) -> None:
        self._request = request
        self._calls = tuple(calls[spelling] for spelling in request.passes)
        self._subject = subject
        self._shown = shown
        self._interrupt = interrupt
        suffix = ".md" if request.form is Form.ISSUE else ".py"
        self._out = request.out or Path(f"{subject.stem}-minimized{suffix}")
        if not self._out.parent.is_dir():
            raise Mistake(f"no folder '{self._out.parent}' for --out '{self._out}'")
        self._path = self._out.with_name(f"{self._out.name}.state")
        self._asked = {
            "the module": subject.identity,
            "--pass": list(request.passes),
            "--pipeline": request.pipeline,
            "--oracle": request.oracle,
            "--predicate": request.predicate,
            "TVM": versions()["tvm"],
        }
        self._before = size(subject.module)
        self._began = time.monotonic()
        self._used = 0.0
        self._flaky = False
        self._size = self._before
        self._held = 0
        self._faults: dict[str, None] = {}

    # By the oracles of relaxfuzz

    def by_finding(self) -> int:
        with LocalPool(self._request.workers) as pool:
            former = self._former()
            if former is not None:
                assert former.finding is not None, "the request is the same"
                finding, state = former.finding, former.state
            else:
                chosen = self._chosen(pool)
                if chosen is None:
                    return self._nothing()
                finding = fewer_passes(pool, chosen, self._fewer)
                state = State(module=finding.module)
            self._keep(state, finding)
            result = minimized(
                pool,
                finding,
                state,
                workers=self._request.workers,
                over=self._over,
                progress=lambda state: self._progress(state, finding),
            )
            self._flaky |= result.flaky
            self._faults.update(dict.fromkeys(result.faults))
            self._keep(result.state, result.finding)
            others = self._others(pool, result.met)
            text = reproducer.failing(result.finding, self._request.form)
        write_whole(self._out, text or _module_text(result.finding.module, self._request.form))
        smallest = dataclasses.replace(result.finding, confirmed=True)
        if self._subject.store is not None:
            with Store(self._subject.store, create=False) as store:
                if text is not None and self._request.form is Form.SOURCE:
                    store.publish(smallest, text)
                else:
                    store.put(smallest)
        if text is None:
            self._shown.line("No file reproduces it by itself; what was written is the module.")
        self._conclude(result.state, smallest, others)
        return 3 if self._faults else 1

    def _chosen(self, pool: LocalPool) -> Finding | None:
        """What is wrong; the first of several things."""
        finding = self._subject.finding
        if finding is None:
            found = self._violations(pool)
            for other in found[1:]:
                self._shown.line(f"also, and not looked into: {_named(other)}")
            if not found:
                return None
            finding = found[0]
        seen = [again(pool, finding, finding.module) for _ in range(MORE)]
        if self._subject.finding is not None and not any(seen):
            return None
        if None in seen:
            self._flaky = True
            self._shown.line(f"flaky: it did not come out of {seen.count(None)} of {MORE} runs")
        self._shown.line(_named(finding), "bold")
        return finding

    def _violations(self, pool: LocalPool) -> list[Finding]:
        request = self._request
        if len(self._calls) == 1:
            (call,) = self._calls
            reason = contract_of(call).requires(load_json(self._subject.module))
            if reason is not None:
                raise Mistake(f"{call.name} does not apply to this module: {reason}")
        job = Check(
            module=self._subject.module,
            calls=self._calls,
            pipeline=request.pipeline,
            oracles=None if request.oracle is None else (request.oracle,),
        )
        return [
            Finding.of(
                violation,
                module=job.module,
                versions=versions(),
                source=reproducer.source_of(job.module),
                calls=job.calls,
                pipeline=job.pipeline,
            )
            for violation in check(pool, job)
        ]

    def _fewer(self, finding: Finding) -> None:
        self._shown.line(f"{len(finding.calls)} passes: {', '.join(map(str, finding.calls))}")

    def _others(self, pool: LocalPool, met: Sequence[Finding]) -> list[tuple[Finding, Path]]:
        """What candidates showed besides, if it comes out again; kept for another day.

        Among the findings of a campaign it does not count: see `Triage`.
        """
        store = self._subject.store
        folder = store or self._out.with_name(f"{self._out.name}.others")
        kept: list[tuple[Finding, Path]] = []
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

    # By a predicate of the user's

    def by_predicate(self) -> int:
        command = self._command()
        former = self._former()
        state = State(module=self._subject.module) if former is None else former.state
        if former is None:
            self._ask_first(command)
        self._keep(state, None)
        trail = [self._subject.module] if former is None else [state.module]
        reached = shrink_by(
            command,
            state,
            workers=self._request.workers,
            over=self._over,
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
        write_whole(self._out, _module_text(module, self._request.form))
        self._conclude(reached, None, [])
        return 3 if self._faults else 0

    def _command(self) -> Command:
        try:
            return Command(self._request.predicate or "")
        except ValueError as error:
            raise Mistake(f"--predicate: {error}") from None

    def _ask_first(self, command: Command) -> None:
        try:
            answers = [command.ask(self._subject.module) for _ in range(1 + MORE)]
        except OSError as error:
            raise Mistake(f"--predicate cannot be started: {error}") from None
        code, said = answers[0]
        if all(code != 0 for code, _ in answers):
            last = said.strip().splitlines()[-1:] or ["it says nothing"]
            raise Mistake(
                f"the predicate does not find '{self._subject}' interesting: "
                f"exit code {code}, {last[0]}"
            )
        failed = sum(code != 0 for code, _ in answers)
        if failed:
            self._flaky = True
            self._shown.line(f"flaky: the predicate says no in {failed} of {1 + MORE} runs")

    # What both have in common

    def _former(self) -> Checkpoint | None:
        if not self._request.resume:
            return None
        if not self._path.is_file():
            self._shown.line(f"nothing to go on from at '{self._path}': this is the beginning")
            return None
        try:
            former = read(self._path, self._asked)
        except BadCheckpoint as error:
            raise Mistake(str(error)) from None
        self._used, self._flaky, self._held = former.seconds, former.flaky, former.state.held
        self._size = bindings, functions = size(former.state.module)
        self._shown.line(f"going on from {bindings} bindings in {functions} functions")
        return former

    def _keep(self, state: State, finding: Finding | None) -> None:
        Checkpoint(
            request=self._asked,
            state=state,
            finding=finding,
            seconds=self._seconds(),
            flaky=self._flaky,
        ).write(self._path)

    def _progress(self, state: State, finding: Finding | None) -> None:
        if state.held != self._held:
            self._held = state.held
            self._keep(state, finding)
            self._size = size(state.module)
            if self._request.json:
                _print({"event": "smaller", **self._counts(state)})
        bindings, functions = self._size
        self._shown.progress(
            f"{bindings} bindings  {functions} functions  {state.tried} tried  "
            f"{state.held} held  {duration(self._seconds())}"
        )

    def _over(self) -> bool:
        spent = time.monotonic() - self._began
        return self._interrupt.stop.is_set() or spent >= self._request.seconds

    def _seconds(self) -> float:
        return self._used + time.monotonic() - self._began

    def _counts(self, state: State) -> dict[str, object]:
        bindings, functions = size(state.module)
        return {
            "bindings": bindings,
            "functions": functions,
            "tried": state.tried,
            "held": state.held,
            "seconds": round(self._seconds(), 1),
        }

    def _nothing(self) -> int:
        if self._request.json:
            _print({"event": "nothing", "module": str(self._subject)})
        else:
            print(f"Nothing is wrong with '{self._subject}' that the oracles can see.")
        return 0

    def _conclude(
        self, state: State, finding: Finding | None, others: Sequence[tuple[Finding, Path]]
    ) -> None:
        if state.ended:
            self._path.unlink(missing_ok=True)
        self._shown.close()
        for fault in self._faults:
            self._shown.line(f"fault of relaxfuzz: {fault}", style="bold red")
        if self._request.json:
            _print(
                {
                    "event": "minimized",
                    "path": str(self._out),
                    "before": dict(zip(("bindings", "functions"), self._before, strict=True)),
                    **self._counts(state),
                    "ended": state.ended,
                    "flaky": self._flaky,
                    **({} if finding is None else _about(finding)),
                    "others": [{**_about(other), "path": str(at)} for other, at in others],
                }
            )
            return
        for line in self._lines(state, finding, others):
            print(line)

    def _lines(
        self, state: State, finding: Finding | None, others: Sequence[tuple[Finding, Path]]
    ) -> Iterator[str]:
        if finding is not None:
            yield _named(finding)
            if finding.calls:
                yield f"Pass: {'; '.join(map(str, finding.calls))}"
        (bindings, functions), (fewer, less) = self._before, size(state.module)
        yield (
            f"{counted(bindings, 'binding')} in {counted(functions, 'function')} before, "
            f"{counted(fewer, 'binding')} in {counted(less, 'function')} now; "
            f"{counted(state.tried, 'candidate')} tried, {state.held} held, "
            f"{duration(self._seconds())}."
        )
        if self._flaky:
            yield "Flaky: it does not come out of every run."
        if not state.ended:
            why = "interrupted" if self._interrupt.stop.is_set() else "the budget is used up"
            yield f"Not at the end: {why}; --resume goes on from '{self._path}'."
        for other, path in others:
            yield f"Met on the way: {_named(other)}\n  {path}"
        yield str(self._out)


def size(module: str) -> tuple[int, int]:
    """Bindings of the Relax functions, and functions of all kinds."""
    mod = load_json(module)
    return len(bindings_of(mod)), len(mod.functions)


def _module_text(module: str, form: Form) -> str:
    """The module alone, in the form that was asked for if it can be written so."""
    made = as_script(module) if form is Form.TVMSCRIPT else None
    if made is None:
        made = as_source(module, reproducer.source_of(module))
    return "\n".join([*made.imports, "", made.statements, ""])


def _named(finding: Finding) -> str:
    return f"{finding.pass_name}: {finding.title} ({finding.oracle})"


def _about(finding: Finding) -> dict[str, object]:
    return {
        "id": finding.id,
        "pass": finding.pass_name,
        "oracle": finding.oracle,
        "title": finding.title,
        "calls": [str(call) for call in finding.calls],
    }


def _print(event: dict[str, object]) -> None:
    print(jsonlib.dumps(event), flush=True)
