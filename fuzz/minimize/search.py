"""The search: edits are tried one after the other; each one that stays interesting is accepted."""

from __future__ import annotations

import hashlib
import math
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice

import tvm

from ...compat.drift import drift_of
from ...compat.serialization import load_json, save_json
from ...oracles import checkers
from ...oracles.pass_runs import given
from .plainness import Plainness
from .reduction import FIRST, Edit, EditId, Reduction
from .reductions import REDUCTIONS


@dataclass(frozen=True, slots=True)
class Candidate:
    """A well-formed module that was made by an edit."""

    module: str
    """The module, as TVM JSON."""
    mod: tvm.IRModule
    """The module, loaded from that text and not shared: a test of it may change it."""
    edit_id: EditId


def digest(module: str) -> bytes:
    """A digest of a module's JSON; it differs for different modules, also in names and sharing."""
    return hashlib.blake2b(module.encode(), digest_size=16).digest()


def make(
    mod: tvm.IRModule, edit_id: EditId, reductions: Sequence[Reduction]
) -> tvm.IRModule | None:
    """Apply the edit of that name to the module; None if there is no such edit."""
    edit = next(islice(reductions[edit_id.reduction](mod), edit_id.number, None), None)
    return None if edit is None else edit()


def flaw_of(mod: tvm.IRModule) -> tuple[str, ...] | None:
    """The key of the flaw that makes a module ill-formed; None for a well-formed one."""
    flaw = checkers.input_flaw(mod)
    return None if flaw is None else flaw.key


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The edits of a search, and its position among them.

    A cycle has every edit of every reduction once, from `anchor` round to `anchor`. The search ends
    at a module for which no edit of a whole cycle succeeds.
    """

    reductions: Sequence[Reduction] = REDUCTIONS
    anchor: EditId = FIRST
    """The edit that made the module. Earlier edits failed on the larger module and mostly fail on
    this one, so they are tried last."""
    after: EditId | None = None
    """Continue the cycle after this edit; None: start the cycle."""
    share: int = 0
    shares: int = 1
    """Number of shares; only edits whose number leaves `share` modulo `shares` are tried."""
    seen: set[bytes] = field(default_factory=set)
    """The digests of tried modules. A structural hash would ignore names and sharing."""
    flaw: tuple[str, ...] | None = None
    """The flaw that the input has and its candidates may have, as the key of `checkers.input_flaw`.
    It lets users of an ill-formed module locate the flaw."""
    before: Callable[[EditId], None] = lambda edit_id: None
    """Called before an edit is made."""
    report_fault: Callable[[Exception | str], None] | None = None
    """Called when an edit or reduction raises, with the exception if TVM lacks something; None: the
    search raises RuntimeError."""

    def candidates(self, mod: tvm.IRModule) -> Iterator[Candidate]:
        """The results of the edits of a module. Ill-formed and earlier modules are left out, as are
        those that are not smaller and have more rare things, so that the plainest of equally small
        modules is kept."""
        kept = Plainness(mod)
        for edit_id, edit in self._edits(mod):
            self.before(edit_id)
            try:
                made = edit()
            except MemoryError:
                raise
            except Exception as error:
                self._report_exception(edit_id, error)
                continue
            if made is None:
                continue
            module = save_json(made)
            if (mark := digest(module)) in self.seen:
                continue
            self.seen.add(mark)
            try:
                copy = load_json(module)
            except Exception:  # TVM cannot load every module that it saves
                continue
            # This avoids writing its text again before each run of a pass.
            flaw = given(copy, partial(load_json, module)).flaw
            if flaw is not None and flaw.key != self.flaw:
                continue
            if not Plainness(copy).loses_to(kept):
                yield Candidate(module, copy, edit_id)

    def after_edit(self, edit_id: EditId) -> Search:
        """The search that continues from a module made by that edit."""
        return replace(self, anchor=edit_id, after=None)

    def _edits(self, mod: tvm.IRModule) -> Iterator[tuple[EditId, Edit]]:
        for place, first, last in self._laps():
            try:
                for number, edit in enumerate(self.reductions[place](mod)):
                    if number >= last:
                        break
                    if number >= first and number % self.shares == self.share:
                        yield EditId(place, number), edit
            except Exception as error:
                self._report_exception(EditId(place), error)

    def _laps(self) -> list[tuple[int, int, float]]:
        """Reductions, with the range of their edits that are due: first, and one past the last."""
        at, number = self.anchor.reduction, self.anchor.number
        others = (*range(at + 1, len(self.reductions)), *range(at))
        laps = [(at, number, math.inf), *((place, 0, math.inf) for place in others)]
        laps.append((at, 0, number))
        if self.after is not None:
            place, number = self.after.reduction, self.after.number
            while laps[0][0] != place or not laps[0][1] <= number < laps[0][2]:
                del laps[0]
            laps[0] = (place, number + 1, laps[0][2])
        return laps

    def _report_exception(self, edit_id: EditId, error: Exception) -> None:
        reduction = self.reductions[edit_id.reduction]
        name = getattr(reduction, "__name__", reduction)
        fault = f"edit {edit_id.number} of {name} raised\n{traceback.format_exc()}"
        if self.report_fault is None:
            raise RuntimeError(fault)
        self.report_fault(fault if drift_of(error) is None else error)


def search(
    mod: tvm.IRModule, is_interesting: Callable[[Candidate], bool], where: Search | None = None
) -> Iterator[Candidate]:
    """Yield ever smaller modules that are interesting; `mod` itself is assumed to be.

    The first interesting result of an edit is accepted, and the search continues from there.
    """
    where = Search() if where is None else where
    where.seen.add(digest(save_json(mod)))
    while True:
        accepted = next((c for c in where.candidates(mod) if is_interesting(c)), None)
        if accepted is None:
            return
        # The test may have changed it.
        mod, where = load_json(accepted.module), where.after_edit(accepted.edit_id)
        yield accepted


def minimize(
    mod: tvm.IRModule,
    interesting: Callable[[tvm.IRModule], bool],
    *,
    reductions: Sequence[Reduction] = REDUCTIONS,
    seconds: float = 60.0,
) -> tvm.IRModule:
    """The smallest interesting module found within the time limit.

    Everything happens in this process, so this does not work for a module that kills the process:
    see `relaxfuzz minimize`. `interesting` receives only well-formed modules if `mod` is
    well-formed, and may change them.

    Args:
        interesting: called on one candidate after the other; `mod` itself is assumed to be
            interesting.
        reductions: the reductions to try, in this order; add your own to the existing ones.
        seconds: time after which no candidate is tried.

    Raises:
        RuntimeError: a reduction raised.
        Exception: any exception that `interesting` raises.
    """
    deadline = time.monotonic() + seconds

    def in_time(edit_id: EditId) -> None:
        if time.monotonic() >= deadline:
            raise _TimeIsUp

    try:
        where = Search(reductions=reductions, flaw=flaw_of(mod), before=in_time)
        for smaller in search(mod, lambda candidate: interesting(candidate.mod), where):
            mod = load_json(smaller.module)
    except _TimeIsUp:
        pass
    return mod


class _TimeIsUp(Exception):
    pass
