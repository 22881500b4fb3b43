"""Snippets run as reproducers run them."""

from __future__ import annotations

import functools
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import tvm
from tvm import relax

from relaxfuzz.oracles.check import ORACLES
from relaxfuzz.oracles.violation import Case


def run_snippet(oracle: str, case: Case, *, ours: bool = False) -> None:
    """Execute the snippet of an oracle for a case of one pass (or of a pipeline).

    Args:
        ours: it needs relaxfuzz; only what compiled code does not show may.

    Raises whatever the snippet raises.
    """
    snippet = ORACLES[oracle].snippet
    text = snippet if isinstance(snippet, str) else snippet(case)
    assert "relaxfuzz." not in text
    assert "import relaxfuzz" not in text
    assert ("from relaxfuzz import " in text) == ours
    passes = [call.build() for call in case.calls]

    def apply(mod: tvm.IRModule, p: Any = None) -> tvm.IRModule:
        with tvm.transform.PassContext(), tvm.target.Target("llvm"):
            return (passes[0] if p is None else p)(mod)

    names = {
        "__name__": "reproducer",
        "mod": case.mod,
        "passes": passes,
        "apply": apply,
        "tvm": tvm,
        "relax": relax,
        "np": np,
    }
    exec(compile(text, f"<snippet of {oracle}>", "exec", dont_inherit=True), names)


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
