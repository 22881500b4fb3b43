"""`relaxfuzz.Checker`: stops a build at the first pass that breaks the module, and names it."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path

import tvm_ffi

from ...compat.release import versions
from ...corpus.knowns import SHIPPED, knowns
from ...oracles.contract import PassContract
from ..findings.finding import Finding
from ..findings.known import Expected
from ..property_tests.pass_violation import PassViolation
from ..session.met import about
from .instrument import Observer
from .occurrence import Occurrence, SavedFinding, save
from .running import CALL, Running

OUT = Path("relaxfuzz-out")


class Checker(Observer):
    """A pass instrument that checks the result of each pass of a build.

    `with tvm.transform.PassContext(instruments=[relaxfuzz.Checker()]): relax.build(model, target)`
    raises `PassViolation` at the first pass that changes its input in place, gives an ill-formed
    result, or loses functions, signatures or attributes that its contract keeps.
    """

    def __init__(
        self,
        *,
        semantics: bool | None = None,
        collect: bool = False,
        stop_at_known: bool = False,
        contracts: Mapping[str, PassContract] | None = None,
        out: str | os.PathLike[str] = OUT,
    ) -> None:
        """
        Args:
            semantics: evaluate functions that a pass changes in NumPy, before and after. True: all;
                False: none; None: as many as half of the build's own time allows.
            collect: raise nothing, and collect everything in `findings`.
            stop_at_known: stop at the known bugs of TVM as well.
            contracts: the contracts of passes by name. Other passes have the contract of the
                catalogue, or the strict default.
            out: the folder for findings and their files; created with the first finding.
        """
        super().__init__(semantics=semantics, contracts=contracts)
        self.findings: list[Finding] = []
        """The findings, each bug once."""
        self.known: list[Finding] = []
        """Known bugs of this TVM that were found, each once and without a module."""
        self.collect = collect
        self.stop_at_known = stop_at_known
        self.out = Path(out)
        self._ids: set[str] = set()

    def violated(self, occurrence: Occurrence) -> None:
        saved = self._take(occurrence)
        if saved is not None and not self.collect:
            raise _raised(saved, saved.message(occurrence.running.place))

    def crashed(
        self, error: BaseException, running: Running, occurrence: Occurrence | None
    ) -> None:
        """Add a note to the exception, which stays the same object."""
        error.add_note(f"relaxfuzz: raised in {running.name}")
        saved = None if occurrence is None else self._take(occurrence)
        for known in () if occurrence is None else _expected().of(occurrence.without_module()):
            error.add_note("\n".join(["relaxfuzz: known bug", *about(known, running.place)]))
        if saved is not None:
            error.add_note(f"relaxfuzz: {saved.note()}")

    def exception_left(self, error: BaseException) -> None:
        super().exception_left(error)
        if isinstance(error, BuildViolation):
            _shorten(error)

    def _take(self, occurrence: Occurrence) -> SavedFinding | None:
        """The saved finding to report; None if it is known, or was reported before."""
        finding = occurrence.without_module()
        seen = finding.id in self._ids
        self._ids.add(finding.id)
        if _expected().of(finding):
            if not seen:
                self.known.append(finding)
            if not self.stop_at_known:
                return None
        if seen and self.collect:
            return None
        saved = save(occurrence.finding(), self.out)
        if occurrence.promised:
            self.findings.append(saved.finding)
        return saved


@functools.cache
def _expected() -> Expected:
    return Expected(knowns(SHIPPED), (), versions()["tvm"])


class BuildViolation(PassViolation):
    """A pass of a build broke a promise.

    Attributes:
        finding: the finding, as in `Checker.findings`.
        reproducer: the file, which fails, or has a gap for the pass; empty if there is none.
    """

    def __init__(self, message: str) -> None:
        saved = _raised_findings[message]
        super().__init__(message, saved.finding.violation, saved.text)
        self.finding = saved.finding


tvm_ffi.register_error("relaxfuzz.PassViolation", BuildViolation)

_raised_findings: dict[str, SavedFinding] = {}
"""Findings by message: TVM reduces an exception that passes through C++ to its class name and
message, and creates a new one."""


def _raised(saved: SavedFinding, message: str) -> BuildViolation:
    _raised_findings[message] = saved
    return BuildViolation(message)


def _shorten(error: BaseException) -> None:
    """Drop the frames of TVM between the call of the build's pass and our own call."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        if trace.tb_frame.f_code is CALL:
            trace.tb_next = None
        trace = trace.tb_next
