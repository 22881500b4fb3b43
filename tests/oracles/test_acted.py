"""Did a pass do what it is for, or was it clean-up?"""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax.transform import FoldBatchnormToConv2D

from relaxfuzz.oracles.acted import acted
from relaxfuzz.oracles.behaviour import behaviours
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.contract import PassContract

CONTRACT = catalogue["FoldBatchnormToConv2D"]


def normalized(*, constants: bool) -> tvm.IRModule:
    """A convolution and a normalization, and another one that nothing uses."""
    builder = relax.BlockBuilder()
    shapes = {"w": (2, 2, 1, 1), "gamma": (2,), "beta": (2,), "mean": (2,), "var": (2,)}
    params = [relax.Var("x", relax.TensorType((1, 2, 3, 3), "float32"))]
    params += [
        relax.Var(name, relax.TensorType(shape, "float32")) for name, shape in shapes.items()
    ]
    weights = [relax.const(np.ones(shape, "float32")) for shape in shapes.values()]
    with builder.function("main", params[:1] if constants else params):
        weight, *others = weights if constants else params[1:]
        with builder.dataflow():
            conv = builder.emit(relax.op.nn.conv2d(params[0], weight))
            builder.emit(relax.op.nn.batch_norm(conv, *others, axis=1))
            made = builder.emit(relax.op.nn.batch_norm(conv, *others, axis=1, training=False))
            out = builder.emit_output(made[0])
        builder.emit_func_output(out)
    return builder.get()


@pytest.mark.parametrize("constants", [True, False])
def test_a_fold_counts_and_clean_up_does_not(constants: bool) -> None:
    mod = normalized(constants=constants)
    after = FoldBatchnormToConv2D()(mod)
    assert acted(CONTRACT, mod, after, ()) == constants


def test_dead_code_elimination_is_no_fold() -> None:
    mod = normalized(constants=True)
    assert not acted(CONTRACT, mod, relax.transform.DeadCodeElimination()(mod), ())


def test_other_operands_of_the_same_operators_count() -> None:
    contract = catalogue["ConvertLayout"]
    mod = normalized(constants=True)
    call = relax.transform.ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})
    assert acted(contract, mod, call(mod), ())
    assert not acted(contract, mod, relax.transform.CanonicalizeBindings()(mod), ())


def test_of_a_pass_without_such_a_contract_any_behaviour_but_clean_up_counts() -> None:
    mod = normalized(constants=False)
    own = PassContract(name="own")
    for pass_, work in (
        (relax.transform.DeadCodeElimination(), False),
        (relax.transform.CanonicalizeBindings(), False),
        (relax.transform.DecomposeOpsForInference(), True),
    ):
        after = pass_(mod)
        assert acted(own, mod, after, behaviours(mod, after)) == work
