"""What to show where a pass treats a module and its twin differently."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import tvm

from ..oracle import Half, Halves
from ..pass_runs import attempt
from ..text.halves import alike, ran
from ..violation import Case, Violation

TwinOf = Callable[[Case], tvm.IRModule | None]


def _same(mod: tvm.IRModule) -> tvm.IRModule:
    return mod


def twin_halves(
    twins: Mapping[str, TwinOf], back: Callable[[tvm.IRModule], tvm.IRModule] = _same
) -> Callable[[Case, Violation], Halves | None]:
    """Both results; where the pass raises on the twin, the module and the twin.

    Args:
        twins: makers of twins, by how these differ: the violation's title says it.
        back: takes from a result what the twin had on top.
    """

    def halves(case: Case, violation: Violation) -> Halves | None:
        (call,) = case.calls
        how = next((how for how in twins if how in violation.title), None)
        twin = None if how is None else twins[how](case)
        result = attempt(call.run, case.mod)
        if twin is None or result.mod is None:
            return None
        other = attempt(call.run, twin)
        if other.mod is None:
            said = ran(other, "", f"{call.name} on the same module {how}")
            return Half(f"the module, on which {call.name} works", case.mod), Half(said.label, twin)
        return alike(
            Half(f"{call.name} on the module", back(result.mod)),
            Half(f"{call.name} on the same module {how}", back(other.mod)),
        )

    return halves
