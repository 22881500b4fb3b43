"""Each pass below Relax changes some generated module at its stages, or it is said why not."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from random import Random

import pytest
import tvm

from relaxfuzz.compat import availability
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.compat.structural import structural_equal
from relaxfuzz.fuzz.campaign.sequences import call_of
from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.generators.families import FAMILIES
from relaxfuzz.generators.prim_funcs import is_well_formed
from relaxfuzz.generators.stages import Stage, step, steps
from relaxfuzz.oracles.catalogue import of_family
from relaxfuzz.oracles.contract import PassContract

MOST = 400
"""Modules of each family; few of them are needed."""

OF_DEVICES = "it works on what intrinsics of one device need"

UNCHANGED = {
    "tirx.VerifyMemory": "it looks only",
    "s_tir.VerifyVTCMLimit": "it looks only",
    "tirx.ConvertSSA": "well-formed functions are in SSA form",
    "s_tir.ConvertSSA": "well-formed functions are in SSA form",
    "s_tir.LowerAutoCopy": OF_DEVICES,
    "s_tir.InjectPermutedLayout": OF_DEVICES,
    "s_tir.TransformMmaBufferLayout": OF_DEVICES,
    "s_tir.InferFragment": OF_DEVICES,
    "s_tir.LowerAsyncDMA": "it works on copies: what pipelines have in the background computes",
    "tirx.TilePrimitiveDispatch": OF_DEVICES,
    "s_tir.ManifestSharedMemoryLocalStage": "no generated block that stages data is marked for it",
}
"""What no generated module needs; some may be simplified on the way."""

PASSES = {
    name: contract
    for family in ("tensorir", "dlight")
    for name, contract in of_family(family).items()
    if name not in availability.current().passes and contract.steps is None
}


def at_stages(family: str, index: int) -> Iterator[tuple[Stage, tvm.IRModule]]:
    mod = example(FAMILIES[family].modules(), 7, index)
    for stage in FAMILIES[family].stages:
        mod = load_json(save_json(mod))
        try:
            for name in steps(stage):
                mod = step(mod, name)
        except Exception:  # other tests look at that
            return
        if not is_well_formed(mod):
            return
        yield stage, mod


def changes(contract: PassContract, mod: tvm.IRModule, number: int) -> bool:
    if contract.requires(mod) is not None:
        return False
    before, given = load_json(save_json(mod)), load_json(save_json(mod))
    call = call_of(contract, given, Random(number))
    if call is None:
        return False
    try:
        return not structural_equal(before, call.run(given), map_free_vars=True)
    except Exception:
        return False


@pytest.mark.session
def test_each_pass_changes_a_generated_module() -> None:
    missing = set(PASSES) - set(UNCHANGED)
    for index, family in itertools.product(range(MOST), ("tensorir", "dlight")):
        for stage, mod in at_stages(family, index):
            here = [name for name in missing if stage in PASSES[name].stages]
            missing.difference_update(name for name in here if changes(PASSES[name], mod, index))
        if not missing:
            break
    assert not missing


def test_what_is_left_out_has_a_contract() -> None:
    assert set(UNCHANGED) <= {*of_family("tensorir"), *of_family("dlight")}
