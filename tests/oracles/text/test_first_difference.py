"""The first difference in what TVM's own comparison leaves out is shown by path and values."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.oracles.metamorphic.twins import shared
from relaxfuzz.oracles.text.first_difference import first_difference


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
        R.func_attr({"note": "old"})
        return R.add(x, y)


def edited(change: Callable[[str], str]) -> tvm.IRModule:
    return load_json(change(save_json(Module)))


def test_equal_modules_have_none() -> None:
    assert first_difference(Module, edited(lambda text: text)) == ""


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("x", "other", '<root>.functions[I.GlobalVar("main")].params[0].name'),
        (
            "gv",
            "other",
            '<root>.functions[I.GlobalVar("main")].body.blocks[0].bindings[0].var.name',
        ),
        ("old", "other", "<root>.functions[I.GlobalVar(\"main\")].attrs.__dict__['note']"),
    ],
)
def test_the_path_is_that_of_the_value(old: str, new: str, path: str) -> None:
    other = edited(lambda text: text.replace(json.dumps(old), json.dumps(new)))
    shown = first_difference(Module, other)
    assert shown.splitlines() == [f"at {path}", f"  one:   {old!r}", f"  other: {new!r}"]


def test_values_are_written_as_tvmscript_not_as_json() -> None:
    @I.ir_module
    class Longer:
        @R.function
        def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
            R.func_attr({"note": "old"})
            return R.multiply(x, y)

    shown = first_difference(Module, Longer)
    assert shown.splitlines()[1:] == ["  one:   relax.add", "  other: relax.multiply"]
    assert '"nodes"' not in shown


def test_sharing_is_a_difference() -> None:
    other: Any = shared(Module)
    assert other is not None
    assert "a node of its own" in first_difference(other, Module)
