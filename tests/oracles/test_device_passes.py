"""The oracles on kernels of devices, and what DLight promises."""

from __future__ import annotations

import pytest
import tvm
from tvm import tirx

from relaxfuzz.fuzz.campaign.draw import example
from relaxfuzz.generators.prim_funcs.kernels import kernels
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.catalogue.devices import DEFAULT
from relaxfuzz.oracles.check import ORACLES, check
from relaxfuzz.oracles.passcall import PassCall, parse
from relaxfuzz.oracles.violation import Case
from tests.oracles import device_faults
from tests.oracles.device_faults import FAULTS, Scheduled, Synchronized

EVERY = [name for name, oracle in ORACLES.items() if oracle.tier in (1, 3)]


def call(name: str) -> PassCall:
    return PassCall(f"{name}()", factory=f"{device_faults.__file__}:{name}")


@pytest.mark.parametrize(("name", "mod", "oracle"), [(n, *each) for n, each in FAULTS.items()])
def test_a_faulty_pass_is_caught(name: str, mod: tvm.IRModule, oracle: str) -> None:
    found = check(Case(mod, (call(name),)), oracles=EVERY)
    assert oracle in {violation.oracle for violation in found}


@pytest.mark.parametrize("mod", [Scheduled, Synchronized])
def test_a_right_pass_is_not_blamed(mod: tvm.IRModule) -> None:
    found = check(Case(mod, (call("adds_a_statement"),)), oracles=EVERY)
    assert [v for v in found if v.oracle != "idempotent"] == []


def test_schedules_are_spelled_as_people_write_them() -> None:
    assert parse("dlight.ApplyDefaultSchedule").name == "dlight.ApplyDefaultSchedule"
    assert PassCall(DEFAULT).name == "dlight.ApplyDefaultSchedule"
    assert PassCall(DEFAULT).source()[0] == ("from tvm import s_tir",)


def test_a_list_with_fallback_schedules_every_kernel() -> None:
    post = catalogue["dlight.ApplyDefaultSchedule"].post
    mod = example(kernels(target="cuda"), 0, 1)
    default = PassCall(DEFAULT)
    assert post(mod, mod, default) == "a kernel is not marked as scheduled"
    assert post(mod, default.run(mod), default) is None


def test_every_access_is_made_by_threads() -> None:
    post = catalogue["dlight.ApplyDefaultSchedule"].post
    mod = example(kernels(target="cuda"), 0, 2)
    marked = tvm.IRModule(
        {gvar: func.with_attr("tirx.is_scheduled", True) for gvar, func in mod.functions_items()}
    )
    assert all(isinstance(func, tirx.PrimFunc) for func in marked.functions.values())
    found = post(mod, marked, PassCall(DEFAULT))
    assert found == "a kernel stores outside of its threads"
