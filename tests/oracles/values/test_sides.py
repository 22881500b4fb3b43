"""The kinds of arguments on which both sides of a pass are called."""

from __future__ import annotations

from pathlib import Path

from relaxfuzz.oracles.catalogue import contract_of
from relaxfuzz.oracles.expected.inputs import InputKind
from relaxfuzz.oracles.pass_runs import PassRuns
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.values.sides import sides

from ..snippets import load_faults

FILE = Path(__file__).with_name("value_faults.py")

faults = load_faults(FILE)


def _kinds(*, all_kinds: bool) -> set[InputKind]:
    call = PassCall("swaps_operands()", factory=f"{FILE}:swaps_operands")
    runs = PassRuns(faults.module(), (call,), contract_of(call), alone=True, all_kinds=all_kinds)
    return {e.kind for e, _ in sides(runs) if e.function == "main"}


def test_a_campaign_asks_a_sample_and_a_user_all() -> None:
    assert len(_kinds(all_kinds=False)) == 2
    assert _kinds(all_kinds=True) >= set(InputKind) - {
        InputKind.EMPTY,
        InputKind.SPECIAL,
        InputKind.OUTSIDE,
    }
