"""What is computed for a device that the VM lacks: the evaluator alone decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import te

from relaxfuzz.generators.prim_funcs.kernels import TARGETS
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.execute import execute
from relaxfuzz.oracles.violation import Case
from tests.specimens.table import SPECIMENS


def rows(combine: Callable[..., Any], target: Any) -> tvm.IRModule:
    """A reduction of rows of 20, bound to the target and to no threads."""
    a = te.placeholder((3, 20), "float32", name="A")
    k = te.reduce_axis((0, 20), name="k")
    func = te.create_prim_func([a, te.compute((3,), lambda i: combine(a(i, k), axis=k))])
    mod = tvm.IRModule({"rows": func.with_attr("global_symbol", "rows")})
    return tvm.tirx.transform.BindTarget(tvm.target.Target(target, host="llvm"))(mod)


@pytest.mark.parametrize("combine", [te.max, te.min])
def test_what_only_numbers_of_one_sign_show_is_reported(combine: Callable[..., Any]) -> None:
    """Rows are filled up with zeros: the maximum of negative numbers, say, is another one then."""
    case = Case(rows(combine, TARGETS["cuda"]), (SPECIMENS["pads_reductions"].call,))
    (found,) = check(case, oracles=["evaluated"])
    assert "other values" in found.title


def test_a_sum_of_zeros_more_is_the_same() -> None:
    case = Case(rows(te.sum, TARGETS["cuda"]), (SPECIMENS["pads_reductions"].call,))
    assert check(case, oracles=["evaluated"]) == []


def test_nothing_is_executed_for_another_device() -> None:
    args = [np.ones((3, 20), "float32"), np.zeros(3, "float32")]
    plan = [lambda run: run("rows", args)]
    assert execute(rows(te.sum, TARGETS["cuda"]), plan) is None
    (result,) = execute(rows(te.sum, "llvm"), plan) or []
    np.testing.assert_array_equal(result[-1], np.full(3, 20, "float32"))
