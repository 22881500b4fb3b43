"""The oracles find the bug that the header of each seed names, and nothing in correct passes."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
import tvm

from relaxfuzz import corpus
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case

REFERENCES = {
    "AttachGlobalSymbol": "attach_global_symbol",
    "LegalizeOps": "legalize_ops",
    "LiftTransformParams": "lift_transform_params",
    "MergeCompositeFunctions": "merge_composite_functions",
    "RealizeVDevice": "realize_vdevice",
}

FAULTS = {
    "attach_global_symbol": "leaves_global_vars=True",
    "legalize_ops_no_legalization": "skips_in_silence=True",
    "legalize_ops_unknown_shape": "skips_in_silence=True",
    "lift_transform_params": "forgets_returned=True",
    "merge_composite_functions_several": "groups_main_only=True",
    "realize_vdevice": "mutates_input=True",
}
"""What makes the right pass as TVM's was when the seed failed."""

REPAIRED_ONCE = "groups_by_shared_nodes=True"
"""What the first repair of MergeCompositeFunctions made of it."""


def entry(path: Path) -> corpus.Entry:
    found = corpus.entry(path)
    assert found is not None
    return found


def reported(path: Path, call: PassCall) -> list[tuple[str, ...]]:
    mod = runpy.run_path(str(path))["mod"]
    if entry(path).pass_name == "AttachGlobalSymbol":
        mod = tvm.relax.transform.LegalizeOps()(mod)
    return [(found.oracle, *found.key) for found in check(Case(mod, (call,)))]


def reference(pass_name: str, fault: str = "") -> PassCall:
    name = REFERENCES[pass_name]
    lines = ("import functools", f"from relaxfuzz.oracles.reference.{name} import {name}")
    return PassCall(f"functools.partial({name}, {fault})()", imports=lines, like=pass_name)


def without_pass(key: tuple[str, ...]) -> tuple[str, ...]:
    return (key[0], *key[2:])


@pytest.mark.parametrize("path", corpus.seeds(), ids=lambda path: path.stem)
def test_of_tvm(path: Path) -> None:
    seed = entry(path)
    expected = [without_pass(seed.key)]
    if not seed.tvm.expects_failure(tvm.__version__):
        expected = []
    assert reported(path, PassCall(f"{seed.pass_name}()")) == expected


@pytest.mark.parametrize("path", corpus.seeds(), ids=lambda path: path.stem)
def test_of_the_right_pass(path: Path) -> None:
    assert reported(path, reference(entry(path).pass_name)) == []


@pytest.mark.parametrize("name", FAULTS)
def test_of_the_fault(name: str) -> None:
    path = corpus.HERE / "seeds" / f"{name}.py"
    seed = entry(path)
    found = reported(path, reference(seed.pass_name, FAULTS[name]))
    assert found == [without_pass(seed.key)]


def test_of_the_fault_behind_the_fault() -> None:
    path = corpus.HERE / "seeds" / "merge_composite_functions_shared.py"
    ((oracle, kind, message),) = reported(path, reference(entry(path).pass_name, REPAIRED_ONCE))
    assert (oracle, kind) == ("crash", "InternalError")
    assert "group_map.count" in message
