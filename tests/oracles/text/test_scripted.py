"""A module inside of a check is the module, or there is none."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.oracles.text.scripted import nested_module, scripted


@I.ir_module
class Plain:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32")) -> R.Tensor(("n", 3), "float32"):
        cls = Plain
        n = T.int64()
        y: R.Tensor((n, 3), "float32") = cls.other(x)
        return y

    @R.function(private=True)
    def other(x: R.Tensor(("n", 3), "float32")) -> R.Tensor(("n", 3), "float32"):
        return R.add(x, R.const(1.0, "float32"))


@I.ir_module(check_well_formed=False)
class IllFormed:
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        R.print(x, format="{}")
        return x


def large_constant() -> tvm.IRModule:
    builder = relax.BlockBuilder()
    with builder.function("main", []):
        builder.emit_func_output(relax.const(np.arange(100, dtype="float32")))
    return builder.get()


@pytest.mark.parametrize("mod", [Plain, IllFormed], ids=["plain", "ill-formed"])
def test_it_reads_back(mod: tvm.IRModule, tmp_path: Path) -> None:
    text = scripted("Wrong", mod)
    assert text is not None
    assert text.startswith("from tvm.script import ir as I, relax as R")
    path = tmp_path / "wrong.py"
    path.write_text(text, encoding="utf-8")
    read = runpy.run_path(str(path))["Wrong"]
    assert tvm_ffi.structural_equal(read, mod, map_free_vars=True)


def test_what_tvm_does_not_read_has_no_script() -> None:
    func = Plain["other"]
    assert scripted("Wrong", tvm.IRModule({"not a name": func})) is None


def test_a_constant_that_is_not_spelled_out_has_no_script() -> None:
    assert scripted("Wrong", large_constant()) is None


def test_a_module_becomes_a_function() -> None:
    mod = large_constant()
    names: dict[str, Any] = {}
    exec(nested_module("made", mod), names)
    tvm.ir.assert_structural_equal(names["made"](), mod)
