"""The search: edits are tried one after the other; each that stays interesting is taken."""

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

from ...compat.serialization import load_json, save_json
from ...oracles.pass_runs import given
from ...oracles.structural import checkers
from .plainness import Plainness
from .reduction import FIRST, Edit, EditId, Reduction
from .reductions import REDUCTIONS


@dataclass(frozen=True, slots=True)
class Candidate:
    """A well-formed module that an edit has made."""

    module: str
    """TVM JSON."""
    mod: tvm.IRModule
    """Made from it, and shared with nobody: whoever tries it may change it."""
    edit_id: EditId


def digest(module: str) -> bytes:
    """A digest of a module's JSON: different for different modules, in names and sharing too."""
    return hashlib.blake2b(module.encode(), digest_size=16).digest()


def make(
    mod: tvm.IRModule, edit_id: EditId, reductions: Sequence[Reduction]
) -> tvm.IRModule | None:
    """What the edit of that name makes of the module; None where there is no such edit."""
    edit = next(islice(reductions[edit_id.reduction](mod), edit_id.number, None), None)
    return None if edit is None else edit()


def flaw_of(mod: tvm.IRModule) -> tuple[str, ...] | None:
    """The key of what makes a module ill-formed; None for a well-formed one."""
    flaw = checkers.input_flaw(mod)
    return None if flaw is None else flaw.key


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What a search goes through, and where it stands.

    A cycle is every edit of every reduction once, from `anchor` round to it. A module from which
    no edit of a whole cycle leads on is the end.
    """

    reductions: Sequence[Reduction] = REDUCTIONS
    anchor: EditId = FIRST
    """The edit that made the module: what failed on the larger one mostly fails on this one, too,
    so it is tried last."""
    after: EditId | None = None
    """Go on in the cycle behind this edit; None: it begins."""
    share: int = 0
    shares: int = 1
    """Only the edits whose number leaves `share` when it is divided by `shares`."""
    seen: set[bytes] = field(default_factory=set)
    """The digests of what was tried. A structural hash would be blind to names and sharing."""
    flaw: tuple[str, ...] | None = None
    """What is wrong with the module that was given, and may be with those that it becomes: the key
    of `checkers.input_flaw`. Whoever has an ill-formed module wants to know where it is."""
    before: Callable[[EditId], None] = lambda edit_id: None
    """Called before an edit is made."""
    report_fault: Callable[[str], None] | None = None
    """Called when an edit or reduction raises; None: the search raises RuntimeError."""

    def candidates(self, mod: tvm.IRModule) -> Iterator[Candidate]:
        """What the edits make of a module, without what is ill-formed, was there before, or is no
        smaller while more is rare in it: the plainest of equally small modules is kept."""
        kept = Plainness(mod)
        for edit_id, edit in self._edits(mod):
            self.before(edit_id)
            try:
                made = edit()
            except MemoryError:
                raise
            except Exception:
                self._report_exception(edit_id)
                continue
            if made is None:
                continue
            module = save_json(made)
            if (mark := digest(module)) in self.seen:
                continue
            self.seen.add(mark)
            try:
                copy = load_json(module)
            except Exception:  # TVM does not load every module that it saves
                continue
            # Its text need not be taken down again before each run of a pass.
            flaw = given(copy, partial(load_json, module)).flaw
            if flaw is not None and flaw.key != self.flaw:
                continue
            if not Plainness(copy).loses_to(kept):
                yield Candidate(module, copy, edit_id)

    def after_edit(self, edit_id: EditId) -> Search:
        """The search that goes on from a module which that edit has made."""
        return replace(self, anchor=edit_id, after=None)

    def _edits(self, mod: tvm.IRModule) -> Iterator[tuple[EditId, Edit]]:
        for place, first, last in self._laps():
            try:
                for number, edit in enumerate(self.reductions[place](mod)):
                    if number >= last:
                        break
                    if number >= first and number % self.shares == self.share:
                        yield EditId(place, number), edit
            except Exception:
                self._report_exception(EditId(place))

    def _laps(self) -> list[tuple[int, int, float]]:
        """Reductions, and which numbers of theirs are due: the first, and the one behind them."""
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

    def _report_exception(self, edit_id: EditId) -> None:
        reduction = self.reductions[edit_id.reduction]
        name = getattr(reduction, "__name__", reduction)
        fault = f"edit {edit_id.number} of {name} raised\n{traceback.format_exc()}"
        if self.report_fault is None:
            raise RuntimeError(fault)
        self.report_fault(fault)


def search(
    mod: tvm.IRModule, is_interesting: Callable[[Candidate], bool], where: Search | None = None
) -> Iterator[Candidate]:
    """Ever smaller modules for which it holds; for `mod` itself it is taken to.

    The first edit that holds is taken, and the search goes on from there on what it made.
    """
    where = Search() if where is None else where
    where.seen.add(digest(save_json(mod)))
    while True:
        accepted = next((c for c in where.candidates(mod) if is_interesting(c)), None)
        if accepted is None:
            return
        # Whoever tried it may have changed it.
        mod, where = load_json(accepted.module), where.after_edit(accepted.edit_id)
        yield accepted


def minimize(
    mod: tvm.IRModule,
    interesting: Callable[[tvm.IRModule], bool],
    *,
    reductions: Sequence[Reduction] = REDUCTIONS,
    seconds: float = 60.0,
) -> tvm.IRModule:
    """The smallest module that is found in that time and is still interesting.

    It all happens in this process, so a module that kills the process is not for this: see
    `relaxfuzz minimize`. `interesting` is given well-formed modules only, if `mod` is, and may
    change them.

    Args:
        interesting: called on one candidate after the other; `mod` itself is taken to be.
        reductions: what is tried, in this order; put your own beside those there are.
        seconds: no candidate is tried after that time.

    Raises:
        RuntimeError: a reduction raised.
        Exception: whatever `interesting` raises.
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
