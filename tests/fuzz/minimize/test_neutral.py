"""A module of which nothing is left that its owner has named, and all that TVM has."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tvm
from tvm import relax

from relaxfuzz.compat import ir
from relaxfuzz.compat.serialization import save_json
from relaxfuzz.fuzz.minimize.neutral import left_in
from relaxfuzz.fuzz.minimize.reductions import REDACTIONS
from relaxfuzz.fuzz.minimize.search import minimize
from relaxfuzz.oracles.inspect import nodes

Written = Callable[[str], tvm.IRModule]

BODY = """
I.module_attrs({"acme_project": "acme_moonshot"})

@T.prim_func(private=True, s_tir=True)
def acme_kernel(acme_in: T.Buffer((T.int64(2),), "float32"), out: T.Buffer((T.int64(2),), "float32")):
    T.func_attr({"tirx.noalias": True})
    for acme_i in range(2):
        with T.sblock("acme_block"):
            vi = T.axis.spatial(2, acme_i)
            T.sblock_attr({"acme_schedule": "acme_fast"})
            out[vi] = acme_in[vi] + T.float32(1)

@R.function
def acme_main(acme_x: R.Tensor(("acme_rows", 2), "float32"), image: R.Tensor((1, 1, 4, 4), "float32")):
    R.func_attr({"num_input": 1})
    cls = Module
    with R.dataflow():
        acme_tmp = R.call_tir(cls.acme_kernel, (R.const([0.25, 8.5], "float32"),), out_ty=R.Tensor((2,), "float32"))
        acme_sum = R.add(acme_x, acme_tmp)
        conv = R.nn.conv2d(image, image, data_layout="NCHW")
        R.output(acme_sum, conv)
    return (acme_sum, conv)
"""  # noqa: E501  # TVMScript


def test_nothing_of_the_owner_is_left_and_all_of_tvm(written: Written) -> None:
    mod = written(BODY)
    assert "the string 'acme_moonshot'" in left_in(mod)
    made = minimize(mod, lambda candidate: True, reductions=REDACTIONS)
    text = save_json(made)
    assert not left_in(made)
    assert "acme" not in text
    assert ".py" not in text, "a position names a file"
    for word in ("NCHW", "tirx.noalias", "num_input", "global_symbol", "relax.nn.conv2d"):
        assert word in text
    assert len(made.functions) == len(mod.functions)
    (const,) = (each for each in nodes(made, ir.GenericConst) if each.ty.ndim == 1)
    np.testing.assert_array_equal(ir.constant_data(const).numpy(), [1, 1])


def test_a_public_function_is_called_by_its_symbol(written: Written) -> None:
    made = minimize(written(BODY), lambda candidate: True, reductions=REDACTIONS)
    (gvar,) = (gvar for gvar, func in made.functions_items() if isinstance(func, relax.Function))
    assert made[gvar].attrs["global_symbol"] == gvar.name_hint


@pytest.mark.parametrize("needed", ["acme_fast", "acme_sum", "acme_main"])
def test_only_what_is_needed_stays(written: Written, needed: str) -> None:
    made = minimize(
        written(BODY),
        lambda candidate: f'"{needed}"' in save_json(candidate),
        reductions=REDACTIONS,
    )
    assert left_in(made) == [f"the string {needed!r}"]


def test_a_constant_that_is_needed_is_named(written: Written) -> None:
    def interesting(mod: tvm.IRModule) -> bool:
        return any(8.5 in ir.constant_data(c).numpy() for c in nodes(mod, ir.GenericConst))

    made = minimize(written(BODY), interesting, reductions=REDACTIONS)
    assert left_in(made) == ['a constant of type R.Tensor((2,), dtype="float32")']
