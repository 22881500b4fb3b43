"""The pass instrument: it sees every pass of a build, and checks the result of each."""

from __future__ import annotations

import sys
import threading
import time
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
from ..property_tests.pass_violation import PassViolation
from ..user_input.unnamed_pass import UnnamedPass
from . import judge
from .occurrence import Occurrence
from .running import PassInput, Running, Stack

STEP = 10.0
"""Seconds for the values of one pass, unless the user says otherwise."""

SHARE = 0.5
START = 3.0
"""The time for all values together: a share of the program's own time, plus some seconds for short
programs."""


class _WithDict:
    """Base with a `__dict__`, without which objects of TVM accept no attributes."""


class Observer(_WithDict, PassInstrument):  # type: ignore[misc]  # TVM is not typed
    """Judges each pass that runs in a PassContext with it among the instruments."""

    def __init__(
        self,
        *,
        semantics: bool | None = None,
        contracts: Mapping[str, PassContract] | None = None,
        timeout: float = STEP,
    ) -> None:
        """
        Args:
            semantics: compare the values of each function that a pass changes; None: within `SHARE`
                of the program's own time.
            timeout: the time for the values of one pass, in seconds.
        """
        self.semantics = semantics
        self.timeout = timeout
        self.contracts = dict(contracts or {})
        self.checked: Counter[str] = Counter()
        """Runs of each pass that were judged."""
        self.exempt: Counter[str] = Counter()
        """Runs of each pass whose contract only forbids changing its input."""
        self.uncompared: Counter[str] = Counter()
        """Runs of each pass that were not judged by the values of all functions, since NumPy would
        take too long."""
        self._began = time.monotonic()
        self._values = 0.0
        """Seconds that values have taken."""
        self._threads = threading.local()
        super().__init__()

    @abstractmethod
    def violated(self, occurrence: Occurrence) -> None:
        """Handle a broken promise of a pass.

        Raises:
            PassViolation: the build must end here.
        """

    def begins(self, running: Running) -> None:
        """Handle the start of a pass."""

    def ends(self, running: Running) -> None:
        """Handle the end of a pass, which has returned or raised."""

    def crashed(
        self, error: BaseException, running: Running, occurrence: Occurrence | None
    ) -> None:
        """Handle an exception of a pass; without an occurrence it is no violation."""

    @property
    def _stack(self) -> Stack:
        if not hasattr(self._threads, "stack"):
            self._threads.stack = Stack(self.ends)
        stack: Stack = self._threads.stack
        return stack

    # Methods that TVM calls

    def run_before_pass(self, mod: tvm.IRModule, info: tvm.transform.PassInfo) -> None:
        """Record the module."""
        caller = sys._getframe(1)
        with self._at_work(f"before {info.name}") as stack:
            if stack is not None:
                stack.drop_dead()
                self._before(stack, mod, str(info.name), caller)

    def run_after_pass(self, mod: tvm.IRModule, info: tvm.transform.PassInfo) -> None:
        """Check the result of the pass."""
        with self._at_work(f"after {info.name}") as stack:
            if stack is not None:
                running = stack.end(str(info.name))
                if running is not None:
                    self._after(stack, running, mod)

    def exit_pass_ctx(self) -> None:
        """Handle an exception that leaves the context: a pass may have raised it."""
        error = sys.exception()
        if error is not None:
            self.exception_left(error)

    def exception_left(self, error: BaseException) -> None:
        """Handle an exception that leaves passes, or other code."""
        with self._at_work("when a pass raised") as stack:
            if stack is not None:
                running = stack.raised(error.__traceback__)
                if running is not None and not isinstance(error, PassViolation):
                    self._raised(stack, running, error)

    # The consequences

    def _before(self, stack: Stack, mod: tvm.IRModule, name: str, caller: FrameType) -> None:
        outer = stack[-1] if stack else None
        # Only TVM's own Sequential is known to do nothing before its first pass.
        if (
            outer is None
            or outer.begun
            or not outer.is_sequential
            or not outer.state.mod.same_as(mod)
        ):
            state = PassInput(mod, stack.sound)
        else:
            state = outer.state
        running = Running(
            name=name,
            state=state,
            config=dict(tvm.transform.PassContext.current().config or {}),
            caller=caller,
            outer=outer,
            number=0 if outer is None else outer.begun[name],
            reached=mod,
        )
        if outer is not None:
            outer.takes(running)
        if (outer is None or state.has_relax) and state.portable:
            state.note()
        stack.append(running)
        self.begins(running)

    def _after(self, stack: Stack, running: Running, mod: tvm.IRModule) -> None:
        contract = judge.contract_of(running, self.contracts)
        violation = None
        if not running.blamed:
            # A pass that only runs others has been judged by them. Parts of a pass of TVM are not
            # judged, so such a pass is judged itself.
            idle = running.groups(mod) and running.name not in catalogue
            began, seconds = time.monotonic(), self._time_for_values()
            verdict = judge.judge(
                running, _call(running), contract, mod, seconds=seconds, idle=idle
            )
            self._values += 0.0 if seconds is None else time.monotonic() - began
            violation = verdict.violation
            if not idle:
                (self.checked if verdict.promised else self.exempt)[running.name] += 1
                if verdict.uncompared:
                    self.uncompared[running.name] += 1
            if verdict.promised and violation is None and not idle and judge.keeps_form(contract):
                stack.sound = mod
        if stack:
            outer = stack[-1]
            outer.gets(mod)
            outer.freed |= judge.frees(contract)
            outer.blamed |= running.blamed or violation is not None
        if violation is not None:
            self.violated(Occurrence(violation, running))

    def _time_for_values(self) -> float | None:
        """Seconds for the values of one pass; None: values are not compared."""
        if self.semantics is not None:
            return self.timeout if self.semantics else None
        own = time.monotonic() - self._began - self._values
        return min(self.timeout, max(0.0, START + SHARE * own - self._values))

    def _raised(self, stack: Stack, running: Running, error: BaseException) -> None:
        """Handle an exception of a pass that leaves all passes around it."""
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
        """Yield this thread's stack, or None during a check; print errors of relaxfuzz."""
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
    """The pass for the oracles, which do not run it and cannot see its arguments."""
    return UnnamedPass(f"{running.name.rpartition('.')[2]}()", running.config)
