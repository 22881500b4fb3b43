"""Modules after public reports on TVM: what is wrong is reported, with the right value beside it.

The reports are named by their numbers in the tracker of apache/tvm. A rule of silence, or a record
of another bug, once kept most of them quiet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import relax as R

from relaxfuzz import evaluate
from relaxfuzz.oracles.check import VALUES, check
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case

PASSES = Path(__file__).with_name("public_passes.py")


def _own(factory: str) -> PassCall:
    return PassCall(f"{factory}()", factory=f"{PASSES}:{factory}")


def _var(name: str, shape: tuple[int, ...], dtype: str = "float32") -> relax.Var:
    return relax.Var(name, R.Tensor(shape, dtype))


def _relax(params: list[relax.Var], make: Callable[..., relax.Expr]) -> tvm.IRModule:
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(make(*params))
        builder.emit_func_output(result)
    return builder.get()


def _kernel(params: str, *body: str) -> tvm.IRModule:
    lines = "\n        ".join(body)
    return tvm.script.from_source(
        f"""
@I.ir_module
class Module:
    @T.prim_func
    def main({params}):
        T.func_attr({{"global_symbol": "main"}})
        {lines}
""",
        extra_vars={"I": tvm.script.ir, "T": tvm.script.tirx},
    )


def argmax() -> tvm.IRModule:
    """#19558: which NaN counts depends on where it stands."""
    return _relax([_var("x", (3,))], lambda x: relax.op.argmax(x, axis=0))


def maximum() -> tvm.IRModule:
    """#19572: likewise."""
    return _relax([_var("x", (3,))], lambda x: relax.op.max(x, axis=0))


def average() -> tvm.IRModule:
    """#18014: the sum of bytes wraps around, and with it their mean."""
    x = _var("x", (1, 1, 6, 6), "uint8")
    return _relax([x], lambda x: relax.op.nn.avg_pool2d(x, (3, 3), strides=(3, 3)))


def scatter() -> tvm.IRModule:
    """#20182: indices that are smaller than the data."""
    params = [_var("data", (2, 3, 4)), _var("at", (1, 3, 1), "int64"), _var("new", (1, 3, 1))]
    return _relax(params, lambda d, i, u: relax.op.scatter_elements(d, i, u, axis=0))


def attention() -> tvm.IRModule:
    """#20078: attention in float16 that cuDNN takes over."""

    def made(qkv: relax.Var) -> relax.Expr:
        parts = relax.op.split(qkv, 3, axis=2)
        q, k, v = (relax.op.reshape(parts[i], (2, 8, 4, 16)) for i in range(3))
        return relax.op.nn.attention(q, k, v)

    return _relax([_var("qkv", (2, 8, 192), "float16")], made)


def layer_norm() -> tvm.IRModule:
    """#19643: a large mean and a small spread."""
    params = [_var("x", (1, 8)), _var("gamma", (8,)), _var("beta", (8,))]
    return _relax(params, lambda x, g, b: relax.op.nn.layer_norm(x, g, b, axes=[-1]))


def strided_slice() -> tvm.IRModule:
    """#18917: a negative axis."""
    x = _var("x", (2, 5))
    return _relax([x], lambda x: relax.op.strided_slice(x, axes=[-1], begin=[1], end=[3]))


INTS = 'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")'


def floor_division() -> tvm.IRModule:
    """#18684: a floor division lowered to what overflows."""
    return _kernel(INTS, "for i in range(4):", "    B[i] = T.floordiv(A[i] + 9, 10)")


def sum_of_constants() -> tvm.IRModule:
    """A comment of #17700: constants whose sum no int32 holds."""
    return _kernel(INTS, "for i in range(4):", "    B[i] = A[i] + 2000000000 + (i + 2000000000)")


def product_of_constants() -> tvm.IRModule:
    """The same comment: constants whose product no int32 holds."""
    body = "    B[i] = (T.truncdiv(A[i] + 1073741826, 3) - 357913942) * 1536"
    return _kernel(INTS, "for i in range(4):", body)


def sign_of_an_index() -> tvm.IRModule:
    """#20129: a shift by more than the bits of the narrower type."""
    params = 'A: T.Buffer((T.int64(16),), "float32"), B: T.Buffer((T.int64(16),), "float32")'
    sign = "T.shift_right(i - T.int64(8), T.int64(63))"
    return _kernel(
        params,
        "for i in range(T.int64(16)):",
        f"    B[i] = A[T.bitwise_and({sign}, T.int64(15))]",
    )


def undefined_scalar() -> tvm.IRModule:
    """#19733: an undefined value on the way through a variable."""
    body = ('v = T.undef(dtype="int32")', "A[0] = v", "A[1] = 3")
    return _kernel('A: T.Buffer((2,), "int32")', *body)


@dataclass(frozen=True)
class Report:
    """A module, the pass or pipeline that is wrong about it, and who reports and who is blamed."""

    module: Callable[[], tvm.IRModule]
    by: str
    oracle: str
    blamed: str
    own: bool = False

    def case(self) -> Case:
        mod = self.module()
        if self.by == "default":
            return Case(mod, pipeline=self.by)
        return Case(mod, (_own(self.by) if self.own else PassCall(self.by),))


LAWS = "operator-laws-by-pipeline"

REPORTS = (
    Report(argmax, "default", LAWS, "relax.argmax"),
    Report(maximum, "default", LAWS, "relax.max"),
    Report(average, "default", LAWS, "relax.nn.avg_pool2d"),
    Report(scatter, "default", "executed-by-pipeline", "relax.scatter_elements"),
    Report(attention, "partitions_for_cudnn", "crash", "partitions_for_cudnn", own=True),
    Report(layer_norm, "variance_in_one_pass", "evaluated", "variance_in_one_pass", own=True),
    Report(strided_slice, "counts_axes_from_one", "evaluated", "counts_axes_from_one", own=True),
    Report(floor_division, "divides_after_a_shift", "evaluated", "divides_after_a_shift", own=True),
    Report(sum_of_constants, "tirx.transform.StmtSimplify()", "crash", "tirx.StmtSimplify"),
    Report(product_of_constants, "tirx.transform.StmtSimplify()", "crash", "tirx.StmtSimplify"),
    Report(sign_of_an_index, "tirx.transform.NarrowDataType(32)", "crash", "tirx.NarrowDataType"),
    Report(
        undefined_scalar,
        "s_tir.transform.RemoveStoreUndef()",
        "postcondition",
        "s_tir.RemoveStoreUndef",
    ),
)


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.module.__name__)
def test_the_report_is_found(report: Report) -> None:
    found = check(report.case(), oracles=[report.oracle], all_kinds=True)
    assert {(each.oracle, each.pass_name) for each in found} == {(report.oracle, report.blamed)}


def _scattered() -> list[Any]:
    at = np.array([1, 0, 1], "int64").reshape(1, 3, 1)
    new = np.array([1, 2, 3], "float32").reshape(1, 3, 1)
    return [np.zeros((2, 3, 4), "float32"), at, new]


def _as_documented() -> Any:
    data, at, new = _scattered()
    for place in np.ndindex(*at.shape):
        data[(int(at[place]), *place[1:])] = new[place]
    return data


@pytest.mark.parametrize(
    ("module", "args", "right"),
    [
        (scatter, _scattered(), _as_documented()),
        (strided_slice, [np.arange(10, dtype="float32").reshape(2, 5)], [[1, 2], [6, 7]]),
    ],
    ids=["scatter", "strided_slice"],
)
def test_the_evaluator_knows_the_right_value(
    module: Callable[[], tvm.IRModule], args: Sequence[Any], right: Any
) -> None:
    np.testing.assert_array_equal(evaluate(module(), "main", list(args)), right)


def test_values_are_compared_behind_a_type_that_a_users_pass_gets_wrong() -> None:
    found = check(
        Case(strided_slice(), (_own("counts_axes_from_one"),)), besides=VALUES, all_kinds=True
    )
    assert {each.oracle for each in found} >= {"signature", "evaluated"}
