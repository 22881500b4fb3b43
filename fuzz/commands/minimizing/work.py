"""One minimization: what was asked, how far it is, and what is kept of it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ....generators.tvm_api import load_json, versions
from ....oracles.inspect import bindings_of
from ....oracles.passcall import PassCall
from ... import reproducer
from ...findings.finding import Finding
from ...findings.replay import loaded
from ...minimize.checkpoint import BadCheckpoint, Checkpoint, read
from ...minimize.input import Input
from ...minimize.parallel import State
from ...output.terminal import Display, duration
from ...process.executor import Executor
from ...reproducer import Form
from ...reproducer.module_text import as_script, as_source
from ...session.interrupt import Interrupt
from ...user_input.mistake import Mistake
from ...user_input.read_module import BadModule
from .events import printed

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


class Work:
    """What both ways to minimize have in common."""

    def __init__(
        self,
        request: Request,
        calls: Mapping[str, PassCall],
        target: Input,
        shown: Display,
        interrupt: Interrupt,
    ) -> None:
        """
        Raises:
            Mistake: the result cannot be written where it is to go.
        """
        self.request = request
        self.calls = tuple(calls[spelling] for spelling in request.passes)
        self.target = target
        self.shown = shown
        self.interrupt = interrupt
        suffix = ".md" if request.form is Form.ISSUE else ".py"
        self.out = request.out or Path(f"{target.stem}-minimized{suffix}")
        if not self.out.parent.is_dir():
            raise Mistake(f"no folder '{self.out.parent}' for --out '{self.out}'")
        self.path = self.out.with_name(f"{self.out.name}.state")
        """Where the checkpoint is."""
        self.before = size(target.module)
        self.flaky = False
        self.faults: dict[str, None] = {}
        self._asked = {
            "the module": target.identity,
            "--pass": list(request.passes),
            "--pipeline": request.pipeline,
            "--oracle": request.oracle,
            "--predicate": request.predicate,
            "TVM": versions()["tvm"],
        }
        self._began = time.monotonic()
        self._used = 0.0
        self._size = self.before
        self._held = 0

    def former(self, executor: Executor | None = None) -> Checkpoint | None:
        """Where an interrupted one had come to, if it is to go on.

        Args:
            executor: reads its module first; None: one that is started for it.

        Raises:
            Mistake: it was another one, or what is left of it cannot be read.
        """
        if not self.request.resume:
            return None
        if not self.path.is_file():
            self.shown.line(f"nothing to go on from at '{self.path}': this is the beginning")
            return None
        try:
            former = read(self.path, self._asked)
        except BadCheckpoint as error:
            raise Mistake(str(error)) from None
        try:
            loaded(former.state.module, "state.json", executor)
        except BadModule as error:
            raise Mistake(f"the module in '{self.path}' does not load: {error}") from None
        self._used, self.flaky, self._held = former.seconds, former.flaky, former.state.accepted
        self._size = bindings, functions = size(former.state.module)
        self.shown.line(f"going on from {bindings} bindings in {functions} functions")
        return former

    def keep(self, state: State, finding: Finding | None) -> None:
        """Write how far it is."""
        Checkpoint(
            request=self._asked,
            state=state,
            finding=finding,
            seconds=self.seconds(),
            flaky=self.flaky,
        ).write(self.path)

    def progress(self, state: State, finding: Finding | None) -> None:
        """Show how far it is, and keep what is smaller."""
        if state.accepted != self._held:
            self._held = state.accepted
            self.keep(state, finding)
            self._size = size(state.module)
            if self.request.json:
                printed({"event": "smaller", **self.counts(state)})
        bindings, functions = self._size
        self.shown.progress(
            f"{bindings} bindings  {functions} functions  {state.tried} tried  "
            f"{state.accepted} held  {duration(self.seconds())}"
        )

    def over(self) -> bool:
        """The time is up, or the user does not want to wait."""
        spent = time.monotonic() - self._began
        return self.interrupt.stop.is_set() or spent >= self.request.seconds

    def seconds(self) -> float:
        """Time that was used, before an interruption, too."""
        return self._used + time.monotonic() - self._began

    def counts(self, state: State) -> dict[str, object]:
        """How far it is, as numbers."""
        bindings, functions = size(state.module)
        return {
            "bindings": bindings,
            "functions": functions,
            "tried": state.tried,
            "held": state.accepted,
            "seconds": round(self.seconds(), 1),
        }

    def module_text(self, module: str) -> str:
        """The module alone, in the form that was asked for if it can be written so."""
        made = as_script(module) if self.request.form is Form.TVMSCRIPT else None
        if made is None:
            made = as_source(module, reproducer.source_of(module))
        return "\n".join([*made.imports, "", made.statements, ""])


def size(module: str) -> tuple[int, int]:
    """Bindings of the Relax functions, and functions of all kinds."""
    mod = load_json(module)
    return len(bindings_of(mod)), len(mod.functions)
