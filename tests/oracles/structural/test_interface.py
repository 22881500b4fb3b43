"""Who is blamed for another type: the pass, or the type inference of an operator."""

from __future__ import annotations

import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.oracles.contract import PassContract
from relaxfuzz.oracles.pass_runs import Outcome, PassRuns
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.structural import interface


@I.ir_module
class Known:
    @R.function
    def main(x: R.Tensor((3, 2), "float32")):
        y = R.negative(x)
        return R.cumprod(y)


@I.ir_module
class LessKnown:
    @R.function
    def main(x: R.Tensor((3, 2), "float32")):
        y: R.Tensor(ndim=2, dtype="float32") = R.negative(x)
        return R.cumprod(y)


@I.ir_module
class OtherAttributes:
    @R.function
    def main(x: R.Tensor((3, 2), "float32")):
        y = R.negative(x)
        return R.cumprod(y, dtype="float64")


@I.ir_module
class OtherOperand:
    @R.function
    def main(x: R.Tensor((3, 2), "float32")):
        y = R.concat([x, x], axis=1)
        return R.cumprod(y)


@pytest.mark.parametrize(
    ("after", "blamed"), [(LessKnown, "relax.cumprod"), (OtherAttributes, ""), (OtherOperand, "")]
)
def test_an_operator_is_blamed_for_what_is_inferred_of_less(
    after: tvm.IRModule, blamed: str
) -> None:
    call = PassCall("ToNonDataflow()")
    runs = PassRuns(Known, (call,), PassContract(name=call.name), seen=Outcome(after))
    found = interface.signature(runs)
    assert found is not None
    assert found.pass_name == blamed


@I.ir_module
class Vague:
    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor(("n", "n"), "float32")) -> R.Tuple(
        R.Tensor(("T.max(n, 0)",), "float32"), R.Tensor(ndim=2, dtype="float32")
    ):
        n = T.int64()
        z: R.Tensor((T.max(n, 0),), "float32") = R.ones(R.shape([T.max(n, 0)]), "float32")
        return (z, y)


@I.ir_module
class Precise:
    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor(("n", "n"), "float32")) -> R.Tuple(
        R.Tensor(("n",), "float32"), R.Tensor(("n", "n"), "float32")
    ):
        n = T.int64()
        z: R.Tensor((n,), "float32") = R.ones(R.shape([n]), "float32")
        return (z, y)


@pytest.mark.parametrize(
    ("before", "after", "wrong"), [(Vague, Precise, False), (Precise, Vague, True)]
)
def test_each_field_of_a_result_may_say_the_same_or_more(
    before: tvm.IRModule, after: tvm.IRModule, wrong: bool
) -> None:
    """One field is written in another way, of the other one more is known."""
    found = interface.contradiction(before["main"], after["main"])
    assert found == (interface.LESS_KNOWN if wrong else None)
