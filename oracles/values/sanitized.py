"""Sanitized semantics: the PrimFuncs that a pass makes access only their own memory.

Compiled code reads past a buffer without an error. So a sanitizer runs the new PrimFuncs of a
result, on the arguments that they get when the module is evaluated.
"""

from __future__ import annotations

import itertools
import re
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import tirx

from ...compat import ir
from ...generators.stages import Stage, between
from ..errors import Mismatch, TooLarge, Undefined, Unsupported
from ..expected.expectation import Expectation, copies
from ..identity import FailureKind
from ..inspect import attr, is_bound_to_threads, nodes, prim_funcs
from ..oracle import Breach, Oracle
from ..pass_runs import PassRuns, run_alone
from ..silence import inventory
from ..silence.log import abstain, excused, omit
from ..snippets.value_reproducer import literal
from ..tensorir import SMALL, STEPS, Fault, has_callees, linked, sanitize, translate
from ..tensorir.data import depends_on_data
from ..tensorir.sanitizer.runtime import (
    ALIASED,
    RACE,
    UNINITIALISED,
    UNWRITTEN,
)
from ..tensorir.threads.launch import VIRTUAL, is_synchronised
from ..text.messages import headline
from ..violation import Case, Violation
from .sides import sides

REMEMBERED = 4_000

WITH_BARRIERS = frozenset(between(Stage.SYNCHRONIZED, Stage.DEVICE_SPLIT))
"""The stages of modules in which all barriers are present."""

OVER_NOTHING = "output left unwritten by a reduction over nothing"


@dataclass(frozen=True, slots=True)
class FaultWitness:
    """A fault, its PrimFunc, and the arguments that show it."""

    fault: Fault
    name: str
    func: tirx.PrimFunc
    args: list[Any]
    outputs: list[int]
    """Positions of the arguments that are unwritten before the call."""
    synchronised: bool | str
    """See `sanitize`."""
    split: bool
    """True if its kernels were split from the host, and are linked into it again."""
    placed: bool
    """See `sanitize`."""

    @property
    def left(self) -> bool:
        """True for a race in memory of the scope that the pass inserts barriers for."""
        return isinstance(self.synchronised, str)

    @property
    def kind(self) -> str:
        """The fault, in words that are the same for all occurrences of a bug."""
        if self.fault.kind in (UNWRITTEN, UNINITIALISED) and self._reduces_nothing():
            return OVER_NOTHING
        return self.fault.kind

    def _reduces_nothing(self) -> bool:
        """True if it initializes together with the first reduced element, and there is none."""
        starts = any(block.init is not None for block in nodes(self.func, ir.SBlock))
        return starts and any(getattr(arg, "size", 1) == 0 for arg in self.args)


def sanitized(runs: PassRuns) -> Violation | None:
    """The first fault of a new PrimFunc, if the original module has no fault at all."""
    found = find(runs)
    return None if found is None else violation_of(found, runs)


def violation_of(found: FaultWitness, runs: PassRuns) -> Violation:
    """The violation, attributed to the pass that made the PrimFunc."""
    fault = found.fault
    what = found.kind
    if found.left:
        what += " for want of a barrier"
    elif what == fault.kind:
        # A legalizing pass makes each PrimFunc from one operator and names it after that, so
        # another operator is another bug. Names of PrimFuncs that others compose are accidental.
        legal = runs.contract.lowers
        what += f" by function {_family(found)}" if legal else " by a new PrimFunc"
    detail = (
        f"{found.name}: {fault.kind}: {fault.buffer}{list(fault.index)}, a buffer of shape "
        f"{fault.shape}, in\n  {fault.statement.strip()}\n"
        "Not observable in the VM: compiled code does not check what it touches"
    )
    return Violation(what, detail, (what,), reason=what if what == OVER_NOTHING else "")


def _family(found: FaultWitness) -> str:
    """The name of the PrimFunc without numbers; "fused" for a PrimFunc from FuseOps.

    The kind of target, which LegalizeOps appends for a virtual device, is left out, too.
    """
    if found.name.startswith("fused_"):
        return "fused"
    target = attr(found.func, "target")
    name = re.sub(r"_?\d+", "", found.name)
    return name if target is None else name.removesuffix(f"_{target.kind.name}")


def find(runs: PassRuns) -> FaultWitness | None:
    """A fault that the pass must prevent, or one that the original module lacks."""
    if runs.contract.synchronizes is None:
        return _made(runs)
    return _left(runs, runs.contract.synchronizes(runs.call)) or (
        _made(runs) if runs.changed else None
    )


def _left(runs: PassRuns, scope: str) -> FaultWitness | None:
    """A race in memory of a scope for which the pass inserts barriers."""
    after = runs.result()
    if after is None:
        return None
    watch = _Watch(_launching(after), synchronised=scope)
    for e, side in sides(runs, unchanged=True):
        found = watch.first(side)
        if found is None or found.fault.kind != RACE:
            continue
        again = watch.first(side, afresh=True)
        if again is None or again.fault != found.fault:
            continue
        # A barrier cannot fix a fault within one statement.
        if _Watch(_all(runs.mod), synchronised=False, budget=STEPS).first(e, afresh=True) is None:
            return found
    watch.conclude()
    return None


def _made(runs: PassRuns) -> FaultWitness | None:
    """A fault that shows twice, if the original module shows none."""
    after = runs.changed_result()
    if after is None:
        return None
    if not (new := _new(runs.mod, after)):
        abstain(inventory.NO_PRIM_FUNC, "the result has no new PrimFunc")
        return None
    # After all barriers, race-free code must stay race-free, even if no barrier is left.
    behind = all(stage in WITH_BARRIERS for stage in runs.contract.stages)
    placed = not runs.exempt("allocations")
    watch = _Watch(
        new, synchronised=behind or None, barriers=_synchronised(runs.mod), placed=placed
    )
    for e, side in sides(runs, valueless=True):
        found = watch.first(side)
        if found is None:
            continue
        again = watch.first(side, afresh=True)
        if again is None or again.fault != found.fault:
            continue
        # An operator of the module may read it.
        by_module = found.fault.kind == UNINITIALISED and e.valued and e.arbitrary
        if by_module and excused(inventory.ARBITRARY, found.kind):
            continue
        # A PrimFunc with barriers, or split from the host, counts as synchronised, and so it does
        # before the pass: a pass that splits it, or inserts barriers for one kind of memory, need
        # not insert the others.
        alike = behind or (found.fault.kind == RACE and bool(found.synchronised))
        before = _Watch(_all(runs.mod), synchronised=alike or None, budget=STEPS)
        if before.first(e, afresh=True) is not None:
            continue
        if before.refusal is not None and e.valued:
            abstain(inventory.UNKNOWN, before.refusal)
            return None
        return found
    watch.conclude()
    return None


def _launching(mod: tvm.IRModule) -> dict[int, str]:
    """The PrimFuncs whose threads are launched, by address.

    PrimFuncs with loops over threads, or virtual threads, get their barriers later.
    """
    return {
        hash(func): str(gvar.name_hint)
        for gvar, func in prim_funcs(mod)
        if not is_bound_to_threads(func)
        and not any(stmt.attr_key == VIRTUAL for stmt in nodes(func, ir.AttrStmt))
    }


def _synchronised(mod: tvm.IRModule) -> set[str]:
    """The names of the PrimFuncs that have barriers."""
    return {str(gvar.name_hint) for gvar, func in prim_funcs(mod) if is_synchronised(func)}


def _all(mod: tvm.IRModule) -> dict[int, str]:
    """The names of the PrimFuncs, by address."""
    return {hash(func): str(gvar.name_hint) for gvar, func in prim_funcs(mod)}


def _new(before: tvm.IRModule, after: tvm.IRModule) -> dict[int, str]:
    """The PrimFuncs of the result that the original module lacks, compared without names.

    Kernels belong to the PrimFunc that launches them, even after a split.
    """
    if has_callees(after):
        fresh = [(gvar, func, linked(func, after)) for gvar, func in prim_funcs(after)]
    else:
        known = _all(before)
        fresh = [(gv, func, func) for gv, func in prim_funcs(after) if hash(func) not in known]
    if not fresh:
        return {}
    old = (func for _, func in prim_funcs(before))
    meanings = set(map(_meaning, (linked(f, before) for f in old) if has_callees(before) else old))
    return {
        hash(func): str(gvar.name_hint)
        for gvar, func, whole in fresh
        if _meaning(whole) not in meanings
    }


def _meaning(func: tirx.PrimFunc) -> int:
    """The structural hash without attributes."""
    for name in func.attrs.keys() if func.attrs else ():
        func = func.without_attr(name)
    return int(tvm_ffi.structural_hash(func))


_clean: OrderedDict[tuple[Any, ...], None] = OrderedDict()
"""Calls that showed no fault: PrimFuncs and everything that their faults may depend on."""


class _Watch:
    """Sanitizes the calls of some PrimFuncs.

    Args:
        names: the names of the watched PrimFuncs, by address.
        synchronised: see `sanitize`.
        placed: see `sanitize`.
        barriers: names of PrimFuncs that had barriers before; they count as synchronised even if no
            barrier is left.
        budget: see `sanitize`.
    """

    def __init__(
        self,
        names: Mapping[int, str],
        *,
        synchronised: bool | str | None = None,
        barriers: Collection[str] = (),
        placed: bool = True,
        budget: int = SMALL,
    ) -> None:
        self._names = names
        self._placed = placed
        self._synchronised = synchronised
        self._barriers = barriers
        self._budget = budget
        self._known = False
        """True if the sanitizer can run one of the calls."""
        self.refusal: str | None = None
        """The sanitizer's reason for the first refused call."""

    def first(self, e: Expectation, *, afresh: bool = False) -> FaultWitness | None:
        """The first fault while the call is evaluated."""
        found: list[FaultWitness] = []

        def prim(whole: tirx.PrimFunc, args: list[Any], outputs: list[int], own: Any) -> Any:
            name = self._names.get(hash(own))
            if not found and name is not None:
                split, mode = whole is not own, self._synchronised
                if mode is None:
                    mode = split or name in self._barriers or is_synchronised(whole)
                fault = self._fault(whole, args, outputs, mode, afresh=afresh)
                if fault is not None:
                    found.append(
                        FaultWitness(
                            fault, name, own, copies(args), outputs, mode, split, self._placed
                        )
                    )
            return translate(whole)(*args)

        try:
            e.run(prim)
        except (Unsupported, Mismatch, Undefined) as error:
            self._note(error)
        return found[0] if found else None

    def conclude(self) -> None:
        """Abstain if the sanitizer can run none of the calls."""
        if not self._known and self.refusal is not None:
            abstain(inventory.UNKNOWN, self.refusal)

    def _note(self, error: Exception) -> None:
        self.refusal = self.refusal or f"{type(error).__name__}: {headline(str(error))}"

    def _fault(
        self,
        func: tirx.PrimFunc,
        args: list[Any],
        outputs: list[int],
        synchronised: bool | str,
        *,
        afresh: bool,
    ) -> Fault | None:
        key = _key(func, args, outputs, synchronised), self._placed
        if key in _clean and not afresh:
            self._known = True
            return None
        try:
            fault = sanitize(
                *(func, _unshared(args), self._budget, outputs),
                synchronised=synchronised,
                placed=self._placed,
            )
        except (Unsupported, Mismatch, Undefined) as error:
            if isinstance(error, TooLarge):
                omit("accesses of PrimFuncs to memory")
            self._note(error)
            return None
        self._known = True
        if fault is None:
            _clean[key] = None
            if len(_clean) > REMEMBERED:
                _clean.popitem(last=False)
        return fault


def _unshared(args: list[Any]) -> list[Any]:
    """The arguments; a tensor passed twice, as dataflow_inplace.cc allows, becomes two.

    Views stay unchanged.
    """
    return [
        copies(arg) if any(arg is one for one in args[:i]) else arg for i, arg in enumerate(args)
    ]


def _key(
    func: tirx.PrimFunc, args: list[Any], outputs: list[int], synchronised: bool | str
) -> tuple[Any, ...]:
    """Everything that faults depend on; array contents only if an access depends on data."""
    meaning = int(tvm_ffi.structural_hash(func))
    arrays = [arg for arg in args if isinstance(arg, np.ndarray)]
    shared = any(np.may_share_memory(a, b) for a, b in itertools.combinations(arrays, 2))
    sizes = tuple(arg.shape if isinstance(arg, np.ndarray) else arg for arg in args)
    data = tuple(array.tobytes() for array in arrays) if _depends(meaning, func) else ()
    return meaning, sizes, tuple(outputs), synchronised, shared, data


_dependent: dict[int, bool] = {}


def _depends(meaning: int, func: tirx.PrimFunc) -> bool:
    if meaning not in _dependent:
        _dependent[meaning] = depends_on_data(func)
    return _dependent[meaning]


def sanitizer_text(case: Case) -> str | None:
    """Python that runs the PrimFunc in the sanitizer; None if that shows nothing."""
    found = find(run_alone(case.mod, *case.calls))
    if found is None or found.fault.kind == ALIASED:  # as literals, arguments share no memory
        return None
    # The contents of an output do not matter.
    args = [np.zeros_like(x) if i in found.outputs else x for i, x in enumerate(found.args)]
    further = ", module=after" if found.split else ""
    if found.left or (found.synchronised and not found.split and not is_synchronised(found.func)):
        further += f", synchronised={found.synchronised!r}"
    if not found.placed:
        further += ", placed=False"
    return (
        "# Compiled code does not show this: relaxfuzz runs the PrimFunc element by element.\n"
        f"from relaxfuzz import sanitize\n\nargs = {literal(args)}\n"
        f"func = {'(after := the_pass(mod))' if found.split else 'the_pass(mod)'}[{found.name!r}]\n"
        f"fault = sanitize(func, args, outputs={found.outputs}{further})\n"
        'assert fault is None, f"{func}\\n{fault}"\n'
    )


def _brief(case: Case, violation: Violation) -> Iterator[str]:
    if (text := sanitizer_text(case)) is not None:
        yield text


ORACLE = Oracle(
    name="sanitized",
    breach=Breach(FailureKind.VALUES),
    tier=3,
    promise="The PrimFuncs that a pass makes read and write inside their buffers, read nothing "
    "that nobody wrote, and write no element from two parallel iterations.",
    source="docs/deep_dive/tensor_ir/abstraction.rst: buffers have a shape; "
    "docstring of tirx.Buffer: 'Symbolic data buffer'",
    check=sanitized,
    brief=_brief,
)
