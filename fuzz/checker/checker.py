"""`relaxfuzz.Checker`: stops a build at the first pass that breaks the module, and names it."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path

import tvm_ffi

from ...corpus.knowns import SHIPPED, Known, knowns
from ...generators.tvm_api import versions
from ...oracles.contract import PassContract
from ..findings.finding import Finding
from ..findings.known import Expected
from ..property_tests.check_pass import PassViolation
from .instrument import Observer
from .meeting import Kept, Meeting, keep
from .running import CALL, Running

OUT = Path("relaxfuzz-out")


class Checker(Observer):
    """A pass instrument that checks what each pass of a build has done.

    `with tvm.transform.PassContext(instruments=[relaxfuzz.Checker()]): relax.build(model, target)`
    raises `PassViolation` at the first pass that changes its input in place, gives an ill-formed
    result, or loses functions, signatures or attributes that its contract keeps.
    """

    def __init__(
        self,
        *,
        semantics: bool = False,
        collect: bool = False,
        stop_at_known: bool = False,
        contracts: Mapping[str, PassContract] | None = None,
        out: str | os.PathLike[str] = OUT,
    ) -> None:
        """
        Args:
            semantics: evaluate each function that a pass changes in NumPy, before and after.
            collect: raise nothing: go on, and keep all that is found in `findings`.
            stop_at_known: stop at the known bugs of TVM, too.
            contracts: what passes promise, by name; others promise what the catalogue says, those
                that it does not know everything.
            out: the folder for findings and their files; it is made when there is one.
        """
        super().__init__(semantics=semantics, contracts=contracts)
        self.findings: list[Finding] = []
        """What was found, each bug once."""
        self.known: list[Finding] = []
        """What was met of the bugs that are known of this TVM, each once and without a module."""
        self.collect = collect
        self.stop_at_known = stop_at_known
        self.out = Path(out)
        self._ids: set[str] = set()

    def knowns_of(self, finding: Finding) -> tuple[Known, ...]:
        """The known bugs of this TVM that a finding may be."""
        return _expected().of(finding)

    def violated(self, meeting: Meeting) -> None:
        kept = self._take(meeting)
        if kept is not None and not self.collect:
            raise _raised(kept, kept.message(meeting.running.place))

    def crashed(self, error: BaseException, running: Running, meeting: Meeting | None) -> None:
        """The exception goes on its way, with a note."""
        error.add_note(f"relaxfuzz: raised in {running.name}")
        kept = None if meeting is None else self._take(meeting)
        if kept is not None:
            error.add_note(f"relaxfuzz: {kept.note()}")

    def left(self, error: BaseException) -> None:
        super().left(error)
        if isinstance(error, BuildViolation):
            _shorten(error)

    def _take(self, meeting: Meeting) -> Kept | None:
        """What is to be told of it; None where it is known, or was told before."""
        sketch = meeting.sketch()
        seen = sketch.id in self._ids
        self._ids.add(sketch.id)
        if self.knowns_of(sketch):
            if not seen:
                self.known.append(sketch)
            if not self.stop_at_known:
                return None
        if seen and self.collect:
            return None
        kept = keep(meeting.finding(), self.out)
        if meeting.promised:
            self.findings.append(kept.finding)
        return kept


@functools.cache
def _expected() -> Expected:
    return Expected(knowns(SHIPPED), (), versions()["tvm"])


class BuildViolation(PassViolation):
    """A pass of a build broke a promise.

    Attributes:
        finding: what `Checker.findings` has of it.
    """

    def __init__(self, message: str) -> None:
        AssertionError.__init__(self, message)
        self._message = message
        self._kept = _on_the_way[message]
        self.finding = self._kept.finding
        self.violation = self.finding.violation

    @property
    def reproducer(self) -> str:
        """The file, which fails, or has a gap for the pass; empty where there is none."""
        file = self._kept.file
        return "" if file is None else file.read_text(encoding="utf-8")

    def __str__(self) -> str:
        return self._message


tvm_ffi.register_error("relaxfuzz.PassViolation", BuildViolation)

_on_the_way: dict[str, Kept] = {}
"""TVM takes an exception apart into the name of its class and its message, wherever it passes C++,
and puts another one together."""


def _raised(kept: Kept, message: str) -> BuildViolation:
    _on_the_way[message] = kept
    return BuildViolation(message)


def _shorten(error: BaseException) -> None:
    """Drop the frames between the call of the build's pass and us, where TVM passes it through."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        if trace.tb_frame.f_code is CALL:
            trace.tb_next = None
        trace = trace.tb_next
