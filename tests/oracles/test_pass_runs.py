"""What is kept of a module before passes run on it."""

from __future__ import annotations

import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.compat.serialization import save_json
from relaxfuzz.oracles.pass_runs import given


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return x


def test_a_module_that_cannot_be_made_again_is_written_as_it_is() -> None:
    def fails() -> tvm.IRModule:
        raise KeyError("key is not in Map")

    assert given(Module, fails).text == save_json(Module)


def test_too_little_memory_is_no_such_reason() -> None:
    def fails() -> tvm.IRModule:
        raise MemoryError

    with pytest.raises(MemoryError):
        _ = given(tvm.IRModule(), fails).text
