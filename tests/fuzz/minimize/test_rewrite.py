"""Every reduction over functions and bindings, on modules of all kinds."""

from __future__ import annotations

import pytest
import tvm
import tvm_ffi

from relaxfuzz.fuzz.campaign.draw import example
from relaxfuzz.fuzz.minimize.bindings import (
    drop_bindings,
    drop_dead,
    merge_params,
    shorten_chains,
    take_shortcuts,
    use_earlier,
)
from relaxfuzz.fuzz.minimize.blocks import (
    flatten_branches,
    plain_blocks,
    return_less,
    settle_conditions,
    shorten_branches,
)
from relaxfuzz.fuzz.minimize.functions import (
    drop_functions,
    inline_functions,
    inline_local_functions,
    keep_one_function,
    lift_local_functions,
)
from relaxfuzz.fuzz.minimize.signatures import drop_tuple_fields
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.stages import Stage, advance
from relaxfuzz.oracles.pass_runs import digest
from relaxfuzz.oracles.structural.checkers import flaw

REDUCTIONS = (
    *(keep_one_function, drop_functions, return_less, shorten_branches, drop_dead, drop_bindings),
    *(shorten_chains, take_shortcuts, flatten_branches, settle_conditions, inline_functions),
    *(
        inline_local_functions,
        lift_local_functions,
        merge_params,
        use_earlier,
        drop_tuple_fields,
        plain_blocks,
    ),
)


def _check(mods: list[tvm.IRModule], step: int) -> None:
    """Every so many edits: they do not raise, spare their input, and are well-formed mostly."""
    good = all = 0
    for mod in mods:
        before = digest(mod), tvm.ir.save_json(mod)
        for reduction in REDUCTIONS:
            for edit in list(reduction(mod))[::step]:
                candidate = edit()
                if candidate is not None:
                    all += 1
                    good += flaw(candidate) is None
                    assert not tvm_ffi.structural_equal(candidate, mod), reduction
        assert (digest(mod), tvm.ir.save_json(mod)) == before
    assert all > 50
    assert good >= all * 0.9, f"{good} of {all}"


def test_generated_modules() -> None:
    _check([example(ir_modules(), 23, index) for index in range(8)], 2)


@pytest.mark.parametrize("stage", [Stage.LEGALIZED, Stage.FUSED, Stage.REWRITTEN, Stage.KILLED])
def test_modules_of_later_stages(stage: Stage) -> None:
    _check([advance(example(ir_modules(), 5, index), stage) for index in (4, 9)], 5)
