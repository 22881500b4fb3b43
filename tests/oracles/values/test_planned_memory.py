"""A later use of a tensor whose lifetime is planned is not a wrong value."""

from __future__ import annotations

import pytest
from tvm import relax

from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.violation import Case
from tests.specimens.table import SPECIMENS
from tests.specimens.witnesses.building import const, module, tensor


@pytest.mark.parametrize("killed", [False, True])
def test_what_is_killed_may_be_used_by_a_pass(killed: bool) -> None:
    def body(b: relax.BlockBuilder, x: relax.Expr) -> relax.Expr:
        product = b.emit(relax.op.multiply(x, x))
        power = b.emit(relax.op.power(product, const(2.5)))
        if killed:
            b.emit(relax.op.memory.kill_tensor(product))
        return power

    # The rewriting of the power does not matter: a pass may use the product again, later on.
    call = SPECIMENS["strength_reduce_power"].call
    case = Case(module(body, tensor(2), dataflow=False), (call,))
    assert bool(check(case, oracles=["evaluated"])) is not killed
