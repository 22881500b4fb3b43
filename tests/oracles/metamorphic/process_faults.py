"""Passes that give something else in another process, and one that does not."""

from __future__ import annotations

import sys
from typing import Any

import tvm
from tvm.script import ir as I
from tvm.script import relax as R


def module() -> tvm.IRModule:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            with R.dataflow():
                gv = R.add(x, x)
                R.output(gv)
            return gv

    return Module


def _noting(name: str, notes: Any) -> Any:
    def transform(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
        return mod.with_attr("notes", notes(mod))

    return tvm.transform.module_pass(transform, opt_level=0, name=name)


def lists_a_set() -> Any:
    """The order of a set of strings is that of their hashes."""
    return _noting("ListsASet", lambda mod: list({f"name{i}" for i in range(16)}))


def knows_who_runs_it() -> Any:
    """What was imported before is what the process did before."""
    return _noting("KnowsWhoRunsIt", lambda mod: ["pytest" in sys.modules])


def sorts_a_set() -> Any:
    return _noting("SortsASet", lambda mod: sorted({f"name{i}" for i in range(16)}))


FAULTS = {
    lists_a_set: "the result depends on the hash seed of the process",
    knows_who_runs_it: "the result depends on what the process did before",
}
"""With the key of the violation."""

CORRECT = (sorts_a_set,)
