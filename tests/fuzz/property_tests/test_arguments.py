"""`arguments`: a strategy for the arguments of a function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.errors import InvalidArgument
from tvm import relax

from relaxfuzz import arguments, evaluate


def taking() -> Any:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((3, 4), "float32"))
    index = relax.Var("index", relax.TensorType((2,), "int64"))
    with builder.function("main", [x, index]):
        builder.emit_func_output(builder.emit(relax.op.take(x, index, axis=1)))
    return builder.finalize()


MODULE = taking()


@settings(max_examples=20, deadline=None)
@given(arguments(MODULE, kinds=["whole numbers", "fractions"]))
def test_indices_are_inside(args: list[Any]) -> None:
    x, index = args
    assert np.array_equal(evaluate(MODULE, "main", args), x[:, index])


def test_a_wrong_name_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"No function 'mian' in the module\. Did you mean"):
        arguments(MODULE, "mian")
    with pytest.raises(InvalidArgument, match="Expected a inputkind in kinds"):
        arguments(MODULE, kinds=["whole"])
