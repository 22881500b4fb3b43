"""Sanitized semantics: the PrimFuncs that a pass makes touch only memory that is theirs to touch.

Compiled code reads past a buffer without an error. The new PrimFuncs of a result are run by a
sanitizer, on the arguments that they get when the module is evaluated.
"""

from __future__ import annotations

import itertools
import re
from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import tirx

from ...compat import ir
from ..composition import contract_of
from ..errors import Mismatch, TooLarge, Undefined, Unsupported
from ..grades.grade import Grade
from ..identity import FailureKind
from ..inspect import attr, is_bound_to_threads, nodes, prim_funcs
from ..oracle import Oracle
from ..pass_runs import PassRuns
from ..silence import inventory
from ..silence.log import abstain, excused, omit
from ..tensorir import SMALL, STEPS, Fault, has_callees, linked, sanitize, translate
from ..tensorir.data import depends_on_data
from ..tensorir.sanitizer.runtime import (
    ALIASED,
    RACE,
    READ_OUTSIDE,
    UNINITIALISED,
    UNWRITTEN,
    WRITE_OUTSIDE,
)
from ..tensorir.threads.launch import VIRTUAL, is_synchronised
from ..text.messages import headline
from ..text.outside import accesses_outside, aliased_operands
from ..text.standalone import standalone
from ..text.value_reproducer import literal
from ..violation import Case, Violation
from .expectation import Expectation, copies
from .sides import sides

REMEMBERED = 4_000

OUTSIDE = (READ_OUTSIDE, WRITE_OUTSIDE)


@dataclass(frozen=True, slots=True)
class Found:
    """A fault, the PrimFunc that has it, and the arguments that show it."""

    fault: Fault
    name: str
    func: tirx.PrimFunc
    args: list[Any]
    outputs: list[int]
    """Positions of the arguments to which nobody had written."""
    synchronised: bool | str
    """See `sanitize`."""
    split: bool
    """Its kernels are split from the host, and stand in it again."""
    placed: bool
    """See `sanitize`."""

    @property
    def left(self) -> bool:
        """A race in memory of the scope that the pass puts barriers for."""
        return isinstance(self.synchronised, str)

    @property
    def kind(self) -> str:
        """What is wrong, in words that are the same for the same bug."""
        if self.fault.kind in (UNWRITTEN, UNINITIALISED) and self._reduces_nothing():
            return "output left unwritten by a reduction over nothing"
        return self.fault.kind

    def _reduces_nothing(self) -> bool:
        """Its initial values come with the first element of what it reduces, and there is none."""
        starts = any(block.init is not None for block in nodes(self.func, ir.SBlock))
        return starts and any(getattr(arg, "size", 1) == 0 for arg in self.args)


def sanitized(runs: PassRuns) -> Violation | None:
    """The first fault of a new PrimFunc, if the module before has none in any."""
    found = find(runs)
    return None if found is None else violation_of(found, runs)


def violation_of(found: Found, runs: PassRuns) -> Violation:
    """The violation by the pass that has made the PrimFunc."""
    fault = found.fault
    what = found.kind
    if found.left:
        what += " for want of a barrier"
    elif what == fault.kind:
        # A pass that legalizes makes each PrimFunc of one operator, and names it after that:
        # another operator is another bug. What others put together bears names by accident.
        legal = runs.contract.lowers
        what += f" by function {_family(found)}" if legal else " by a new PrimFunc"
    detail = (
        f"{found.name}: {fault.kind}: {fault.buffer}{list(fault.index)}, a buffer of shape "
        f"{fault.shape}, in\n  {fault.statement.strip()}\n"
        "Not observable in the VM: compiled code does not check what it touches"
    )
    return Violation.titled(what, detail)


def _family(found: Found) -> str:
    """The name of the PrimFunc without numbers, and without the kind of target that LegalizeOps
    appends for a virtual device; "fused" for what FuseOps has put together.
    """
    if found.name.startswith("fused_"):
        return "fused"
    target = attr(found.func, "target")
    name = re.sub(r"_?\d+", "", found.name)
    return name if target is None else name.removesuffix(f"_{target.kind.name}")


def find(runs: PassRuns) -> Found | None:
    """A fault that the pass is to prevent; or one that shows where the module before shows none."""
    if runs.contract.synchronizes is None:
        return _made(runs)
    return _left(runs, runs.contract.synchronizes(runs.call)) or (
        _made(runs) if runs.changed else None
    )


def _left(runs: PassRuns, scope: str) -> Found | None:
    """A race in memory of a scope, between whose accesses the pass puts barriers."""
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
        # What one statement does wrong, no barrier mends.
        if _Watch(_all(runs.mod), synchronised=False, budget=STEPS).first(e, afresh=True) is None:
            return found
    watch.conclude()
    return None


def _made(runs: PassRuns) -> Found | None:
    """A fault that shows twice, where the module before shows none."""
    after = runs.changed_result()
    if after is None:
        return None
    if not (new := _new(runs.mod, after)):
        abstain(inventory.NO_PRIM_FUNC, "the result has no new PrimFunc")
        return None
    behind = runs.contract.synchronized
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
        # What has barriers, or is split from the host, counts as synchronised, so it does before,
        # too: whoever splits it, or puts barriers for one kind of memory, need not put the others.
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
    """The PrimFuncs whose threads are launched: loops over threads, and virtual threads, get their
    barriers later.
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
    """The PrimFuncs by their addresses, with their names."""
    return {hash(func): str(gvar.name_hint) for gvar, func in prim_funcs(mod)}


def _new(before: tvm.IRModule, after: tvm.IRModule) -> dict[int, str]:
    """The PrimFuncs of the result that are not in the module before, names aside.

    Kernels belong to the PrimFunc that launches them, even if they are split from it.
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
    """The hash of what it does, attributes aside."""
    for name in func.attrs.keys() if func.attrs else ():
        func = func.without_attr(name)
    return int(tvm_ffi.structural_hash(func))


_clean: OrderedDict[tuple[Any, ...], None] = OrderedDict()
"""What has shown no fault: PrimFuncs and all that their faults may depend on."""


class _Watch:
    """PrimFuncs whose calls are sanitized.

    Args:
        names: those that are watched, by their addresses.
        synchronised: see `sanitize`.
        placed: see `sanitize`.
        barriers: names of those that had barriers before: they still count as synchronised when
            the last one is gone.
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
        """The sanitizer knows one of the calls."""
        self.refusal: str | None = None
        """What it says of the first call that it does not know."""

    def first(self, e: Expectation, *, afresh: bool = False) -> Found | None:
        """The first fault when the call is evaluated."""
        found: list[Found] = []

        def prim(whole: tirx.PrimFunc, args: list[Any], outputs: list[int], own: Any) -> Any:
            name = self._names.get(hash(own))
            if not found and name is not None:
                split, mode = whole is not own, self._synchronised
                if mode is None:
                    mode = split or name in self._barriers or is_synchronised(whole)
                fault = self._fault(whole, args, outputs, mode, afresh=afresh)
                if fault is not None:
                    found.append(
                        Found(fault, name, own, copies(args), outputs, mode, split, self._placed)
                    )
            return translate(whole)(*args)

        try:
            e.run(prim)
        except (Unsupported, Mismatch, Undefined) as error:
            self._note(error)
        return found[0] if found else None

    def conclude(self) -> None:
        """Abstain where the sanitizer has known none of the calls."""
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
    """A tensor given twice, as dataflow_inplace.cc allows, as two; views stay what they are."""
    return [
        copies(arg) if any(arg is one for one in args[:i]) else arg for i, arg in enumerate(args)
    ]


def _key(
    func: tirx.PrimFunc, args: list[Any], outputs: list[int], synchronised: bool | str
) -> tuple[Any, ...]:
    """What the faults depend on: the values of arrays only if an access does."""
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


def snippet(case: Case) -> str:
    """The accesses of the PrimFunc on arguments of the shapes that it met, with TVM alone.

    What no walk over indices shows (a race, a read of what nobody wrote, an index that is loaded)
    the sanitizer itself must show.
    """
    (call,) = case.calls
    found = find(PassRuns(case.mod, case.calls, contract_of(call), alone=True, thorough=True))
    if found is None:
        return "apply(mod)"
    if found.fault.kind == ALIASED:
        return (
            f"{standalone(aliased_operands)}\n\n\n"
            "wrong = next(aliased_operands(apply(mod)), None)\n"
            "assert wrong is None, wrong\n"
        )
    # What an output holds does not matter.
    args = [np.zeros_like(x) if i in found.outputs else x for i, x in enumerate(found.args)]
    if found.fault.kind in OUTSIDE and next(accesses_outside(found.func, args), None):
        shapes = ", ".join(f'np.zeros({arg.shape}, "{arg.dtype}")' for arg in args)
        return (
            f"{standalone(accesses_outside)}\n\n\n"
            f"args = [{shapes}]\nfunc = apply(mod)[{found.name!r}]\n"
            "wrong = next(accesses_outside(func, args), None)\n"
            'assert wrong is None, f"{func}\\n{wrong}"\n'
        )
    further = ", module=after" if found.split else ""
    if found.left or (found.synchronised and not found.split and not is_synchronised(found.func)):
        further += f", synchronised={found.synchronised!r}"
    if not found.placed:
        further += ", placed=False"
    return (
        "# Compiled code does not show this: relaxfuzz runs the PrimFunc element by element.\n"
        f"from relaxfuzz import sanitize\n\nargs = {literal(args)}\n"
        f"func = {'(after := apply(mod))' if found.split else 'apply(mod)'}[{found.name!r}]\n"
        f"fault = sanitize(func, args, outputs={found.outputs}{further})\n"
        'assert fault is None, f"{func}\\n{fault}"\n'
    )


ORACLE = Oracle(
    name="sanitized",
    failure=FailureKind.VALUES,
    tier=3,
    grade=Grade.A,
    cost=2.0,
    promise="The PrimFuncs that a pass makes read and write inside their buffers, read nothing "
    "that nobody wrote, and write no element from two parallel iterations.",
    source="docs/deep_dive/tensor_ir/abstraction.rst: buffers have a shape; "
    "docstring of tirx.Buffer: 'Symbolic data buffer'",
    check=sanitized,
    snippet=snippet,
    thorough=True,
)
