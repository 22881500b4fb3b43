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
    "RealizeVDevice": "realize_vdevice",
}

FAULTS = {
    "attach_global_symbol": "leaves_global_vars=True",
    "legalize_ops_no_legalization": "skips_in_silence=True",
    "legalize_ops_unknown_shape": "skips_in_silence=True",
    "realize_vdevice": "mutates_input=True",
}
"""What makes the right pass as TVM's was when the seed failed."""

_IN_NO_GROUP = ("InternalError", "(it_group != obj2group_.end())")

KEYS = {
    "attach_global_symbol": ("ill-formed: the global_symbol of a PrimFunc is not its GlobalVar",),
    "legalize_ops_no_legalization": ("relax.ewise_fma", "no legalization"),
    "legalize_ops_tensor_to_shape": ("relax.tensor_to_shape", "no legalization"),
    "legalize_ops_unknown_dtype": ("RuntimeError", "ffi::Optional::value"),
    "legalize_ops_unknown_shape": ("relax.add", "unknown shape"),
    "lift_transform_params": ("ill-formed", "WellFormedChecker::VisitExpr_(VarNode)"),
    "merge_composite_functions_several": _IN_NO_GROUP,
    "merge_composite_functions_shared": _IN_NO_GROUP,
    "realize_vdevice": ("the input module is changed in place",),
}
"""The report of the oracle of each seed, with TVM's pass as with the faulty one."""


def entry(path: Path) -> corpus.CorpusEntry:
    found = corpus.entry(path)
    assert found is not None
    return found


RIGHT = [path for path in corpus.seeds() if entry(path).pass_name in REFERENCES]
"""The seeds of passes that were written a second time; see `tests.specimens.modelled.historic`."""


def reported(path: Path, call: PassCall) -> list[tuple[str, ...]]:
    mod = runpy.run_path(str(path))["mod"]
    if entry(path).pass_name == "AttachGlobalSymbol":
        mod = tvm.relax.transform.LegalizeOps()(mod)
    return [(found.oracle, *found.key) for found in check(Case(mod, (call,)))]


def expected(path: Path) -> list[tuple[str, ...]]:
    return [(entry(path).oracle, *KEYS[path.stem])]


def reference(pass_name: str, fault: str = "") -> PassCall:
    name = REFERENCES[pass_name]
    kept = name == "realize_vdevice"  # the contract of TVM's pass has it as its reference
    package = "relaxfuzz.oracles.reference" if kept else "tests.specimens.modelled"
    lines = ("import functools", f"from {package}.{name} import {name}")
    return PassCall(f"functools.partial({name}, {fault})()", imports=lines, like=pass_name)


@pytest.mark.parametrize("path", corpus.seeds(), ids=lambda path: path.stem)
def test_of_tvm(path: Path) -> None:
    seed = entry(path)
    fails = seed.tvm.expects_failure(tvm.__version__)
    assert reported(path, PassCall(f"{seed.pass_name}()")) == (expected(path) if fails else [])


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.stem)
def test_of_the_right_pass(path: Path) -> None:
    assert reported(path, reference(entry(path).pass_name)) == []


@pytest.mark.parametrize("name", FAULTS)
def test_of_the_fault(name: str) -> None:
    path = corpus.HERE / "seeds" / f"{name}.py"
    assert reported(path, reference(entry(path).pass_name, FAULTS[name])) == expected(path)
