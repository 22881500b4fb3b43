"""`arguments`: a Hypothesis strategy for the arguments of a function."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import tvm
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from ...generators.modules import named
from ...generators.near import did_you_mean
from ...oracles.expected.inputs import InputKind, drawn


def arguments(
    mod: tvm.IRModule, name: str = "main", *, kinds: Collection[InputKind | str] = tuple(InputKind)
) -> st.SearchStrategy[list[Any]]:
    """Strategy for the arguments of a function of a module, as `evaluate` takes them.

    Operands of operators that must have certain values, such as indices, have these.

    Args:
        mod: the module.
        name: its function, of Relax or a PrimFunc; outputs of a PrimFunc are among the arguments.
        kinds: the kinds of numbers: "whole numbers", "positive numbers", "fractions",
            "boundary values", "empty tensors", "special values" (NaN and infinities) and the
            others of `InputKind`.

    Raises:
        InvalidArgument: there is no such function or kind.
        Unsupported: a parameter is not a tensor, shape, number or tuple of these.
    """
    functions = {gvar.name_hint: func for gvar, func in mod.functions_items()}
    if (func := functions.get(name)) is None:
        raise InvalidArgument(f"No function {name!r} in the module{did_you_mean(name, functions)}")
    chosen = [named("kinds", kind, InputKind) for kind in kinds]
    drawn(func, InputKind.WHOLE)  # refuses parameters at once
    return st.builds(
        lambda kind, seed: drawn(func, kind, seed), st.sampled_from(chosen), st.integers(0, 2**32)
    )
