"""Checks of reproducers, run as reproducers run them."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import tvm
import tvm_ffi
from tvm import relax

from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.oracles.check import ORACLES, check
from relaxfuzz.oracles.violation import Case, Violation


def run_snippet(
    oracle: str, case: Case, violation: Violation | None = None, *, ours: bool = False
) -> None:
    """Execute the checks that show a violation until one raises.

    Args:
        violation: None: the first one that the oracle finds in the case.
        ours: they need relaxfuzz; only what compiled code does not show may.

    Raises whatever the first of them raises.
    """
    if violation is None:
        again = dataclasses.replace(case, mod=load_json(save_json(case.mod)))
        violation = next(v for v in check(again, oracles=[oracle]) if v.oracle == oracle)
    the_pass = tvm.transform.Sequential([call.build() for call in case.calls])
    for text in ORACLES[oracle].checks(case, violation, brief=True):
        assert "import relaxfuzz" not in text
        assert ("from relaxfuzz import " in text) == ours
        names = {
            "__name__": "reproducer",
            "mod": case.mod,
            "the_pass": case.calls[0].build() if len(case.calls) == 1 else the_pass,
            "tvm": tvm,
            "tvm_ffi": tvm_ffi,
            "relax": relax,
            "np": np,
        }
        with tvm.transform.PassContext(), tvm.target.Target("llvm"):
            exec(compile(text, f"<check of {oracle}>", "exec", dont_inherit=True), names)


@functools.cache  # TVM registers a global function once
def load_faults(file: Path) -> ModuleType:
    """A file of passes, executed as a module of its own name, once in a process."""
    spec = importlib.util.spec_from_file_location(f"relaxfuzz_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where TVMScript looks for the source
    spec.loader.exec_module(module)
    return module
