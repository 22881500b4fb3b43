"""The pass instrument: it sees every pass of a build, and checks what the pass has done."""

from __future__ import annotations

import sys
import threading
import traceback
import warnings
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

import tvm
from tvm.ir.instrument import PassInstrument

from ...oracles.catalogue import catalogue
from ...oracles.contract import PassContract
from ...oracles.passcall import PassCall
from ..property_tests.check_pass import PassViolation
from ..user_input.unnamed_pass import UnnamedPass
from . import judge
from .occurrence import Occurrence
from .running import Running, Stack, State


class _WithDict:
    """Objects of TVM take no attributes unless a base class before theirs has a `__dict__`."""


class Observer(_WithDict, PassInstrument):  # type: ignore[misc]  # TVM is not typed
    """Judges each pass that runs in a PassContext which has it among its instruments."""

    def __init__(
        self, *, semantics: bool = False, contracts: Mapping[str, PassContract] | None = None
    ) -> None:
        self.semantics = semantics
        self.contracts = dict(contracts or {})
        self.checked: Counter[str] = Counter()
        """Runs of each pass that were judged."""
        self.exempt: Counter[str] = Counter()
        """Runs of each pass whose contract only forbids to change its input."""
        self.too_large: Counter[str] = Counter()
        """Runs of each pass that were not judged by the values of all functions, since NumPy would
        take too long."""
        self._threads = threading.local()
        super().__init__()

    @abstractmethod
    def violated(self, occurrence: Occurrence) -> None:
        """A pass broke a promise.

        Raises:
            PassViolation: the build is to end here.
        """

    def begins(self, running: Running) -> None:
        """A pass is about to run."""

    def ends(self, running: Running) -> None:
        """A pass has returned or raised."""

    def crashed(
        self, error: BaseException, running: Running, occurrence: Occurrence | None
    ) -> None:
        """A pass has raised; without an occurrence it rejected the module, or is not to blame."""

    @property
    def _stack(self) -> Stack:
        if not hasattr(self._threads, "stack"):
            self._threads.stack = Stack(self.ends)
        stack: Stack = self._threads.stack
        return stack

    # What TVM calls

    def run_before_pass(self, mod: tvm.IRModule, info: tvm.transform.PassInfo) -> None:
        """Record what the module is."""
        caller = sys._getframe(1)
        with self._at_work(f"before {info.name}") as stack:
            if stack is not None:
                stack.drop_dead()
                self._before(stack, mod, str(info.name), caller)

    def run_after_pass(self, mod: tvm.IRModule, info: tvm.transform.PassInfo) -> None:
        """Check what the pass has done."""
        with self._at_work(f"after {info.name}") as stack:
            if stack is not None:
                running = stack.end(str(info.name))
                if running is not None:
                    self._after(stack, running, mod)

    def exit_pass_ctx(self) -> None:
        """If an exception leaves the context, a pass may have raised it."""
        error = sys.exception()
        if error is not None:
            self.exception_left(error)

    def exception_left(self, error: BaseException) -> None:
        """An exception leaves passes, or something else."""
        with self._at_work("when a pass raised") as stack:
            if stack is not None:
                running = stack.raised(error.__traceback__)
                if running is not None and not isinstance(error, PassViolation):
                    self._raised(stack, running, error)

    # What follows from it

    def _before(self, stack: Stack, mod: tvm.IRModule, name: str, caller: FrameType) -> None:
        outer = stack[-1] if stack else None
        # Only TVM's own Sequential is known to do nothing before it runs the first pass inside.
        if (
            outer is None
            or outer.begun
            or not outer.is_sequential
            or not outer.state.mod.same_as(mod)
        ):
            state = State(mod, stack.sound)
        else:
            state = outer.state
        running = Running(
            name=name,
            state=state,
            config=dict(tvm.transform.PassContext.current().config or {}),
            caller=caller,
            outer=outer,
            number=0 if outer is None else outer.begun[name],
            ordinal=0 if outer is None else outer.outermost.started,
            reached=mod,
        )
        if outer is not None:
            outer.takes(running)
        elif running.state.has_relax and running.state.portable:
            running.state.note()
        stack.append(running)
        self.begins(running)

    def _after(self, stack: Stack, running: Running, mod: tvm.IRModule) -> None:
        contract = judge.contract_of(running, self.contracts)
        violation = None
        if not running.blamed:
            # A pass that only runs others was judged by them, except for the parts of a pass of
            # TVM.
            idle = running.groups(mod) and running.name not in catalogue
            verdict = judge.judge(
                running, _call(running), contract, mod, semantics=self.semantics, idle=idle
            )
            violation = verdict.violation
            if not idle:
                (self.checked if verdict.promised else self.exempt)[running.name] += 1
                self.too_large[running.name] += verdict.too_large
            if verdict.promised and violation is None and not idle and judge.keeps_form(contract):
                stack.sound = mod
        if stack:
            outer = stack[-1]
            outer.gets(mod)
            outer.freed |= judge.frees(contract)
            outer.blamed |= running.blamed or violation is not None
        if violation is not None:
            self.violated(Occurrence(violation, running))

    def _raised(self, stack: Stack, running: Running, error: BaseException) -> None:
        """A pass has raised an exception, which leaves all passes around it."""
        occurrence = None
        if isinstance(error, Exception) and not running.blamed:
            contract = judge.contract_of(running, self.contracts)
            verdict = judge.fault(running, _call(running), contract, error)
            if verdict.violation is not None:
                occurrence = Occurrence(verdict.violation, running, verdict.promised)
        for outer in stack:
            outer.blamed = True
        self.crashed(error, running, occurrence)

    @contextmanager
    def _at_work(self, when: str) -> Iterator[Stack | None]:
        """This thread's stack, None during checks; errors of relaxfuzz do not fail the build."""
        stack = self._stack
        if stack.busy:
            yield None
            return
        stack.busy = True
        try:
            yield stack
        except PassViolation:
            raise
        except Exception:
            warnings.warn(
                f"relaxfuzz failed {when}; the build goes on\n{traceback.format_exc()}",
                RuntimeWarning,
                stacklevel=3,
            )
        finally:
            stack.busy = False


def _call(running: Running) -> PassCall:
    """The pass for the oracles, which cannot see its arguments and do not run it."""
    return UnnamedPass(f"{running.name.rpartition('.')[2]}()", running.config)
