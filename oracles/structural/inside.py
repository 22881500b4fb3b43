"""The passes that run inside a pass, each by itself on the module that the pass was given."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...compat import availability
from ..catalogue import COMMON_PARTS, catalogue
from ..pass_runs import PassRuns
from ..passcall import PassCall


def parts_alone(runs: PassRuns, among: Collection[str]) -> Iterator[tuple[str, PassRuns]]:
    """The common parts that apply to the module, the rarest first, each with runs of its own.

    A pass that is a common part itself has none: what it does wrong is its own fault.

    Args:
        among: only these, by name.
    """
    if runs.call.name in COMMON_PARTS:
        return
    for name in COMMON_PARTS:
        contract = catalogue[name]
        if name not in among or name in availability.current().passes:
            continue
        if contract.requires(runs.mod) is None:
            runs.step(name)
            call = PassCall(f"{name}()")
            yield name, PassRuns(runs.mod, (call,), contract, alone=True, known=runs.given)
