"""Bindings that only pass on what was there before go; what they stand for is used."""

from __future__ import annotations

from collections.abc import Callable

import tvm

from relaxfuzz.fuzz.minimize.bindings import take_shortcuts
from relaxfuzz.fuzz.minimize.search import minimize
from relaxfuzz.fuzz.minimize.signatures import drop_tuple_fields
from relaxfuzz.oracles.inspect import bindings_of, calls_of, ops_used

Written = Callable[[str], tvm.IRModule]

PASSING = """
@R.function
def main(x: R.Tensor((2,), "float32"), y: R.Tensor(ndim=1)):
    with R.dataflow():
        a = R.exp(x)
        b = a
        t = (b, x)
        c = t[0]
        d = R.match_cast(y, R.Tensor((2,), "float32"))
        gv = R.add(c, d)
        R.output(gv)
    e = gv
    f = R.sin(e)
    return f
"""


def test_all_shortcuts_are_taken(written: Written) -> None:
    small = minimize(written(PASSING), lambda m: True, reductions=(take_shortcuts,))
    values = [binding.value for binding in bindings_of(small)]
    assert all(isinstance(value, tvm.ir.Call) for value in values)
    assert ops_used(small) == {"relax.exp", "relax.add", "relax.sin"}


def test_a_cast_that_is_needed_stays(written: Written) -> None:
    def casts(mod: tvm.IRModule) -> bool:
        return "match_cast" in mod.script()

    small = minimize(written(PASSING), casts, reductions=(take_shortcuts,))
    assert len(bindings_of(small)) == 4


def test_an_alias_out_of_a_dataflow_block_goes(written: Written) -> None:
    mod = written("""
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            gv = a
            R.output(gv)
        return gv
    """)
    small = minimize(mod, lambda m: True, reductions=(take_shortcuts,))
    assert len(bindings_of(small)) == 1


def test_fields_of_tuples_go(written: Written) -> None:
    mod = written("""
    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((3,), "float32")):
        t = (x, y, x)
        a = t[2]
        b = R.concat((a, y, y), axis=0)
        c = R.exp(b)
        return c
    """)
    small = minimize(mod, lambda m: "relax.exp" in ops_used(m), reductions=(drop_tuple_fields,))
    whole, _, _, _ = (binding.value for binding in bindings_of(small))
    assert len(whole.fields) == 1
    (concat,) = calls_of(small, "relax.concat")
    assert len(concat.args[0].fields) == 1


def test_arguments_of_kernels_stay(written: Written) -> None:
    mod = written("""
    @T.prim_func(private=True)
    def kernel(
        a: T.Buffer((2,), "float32"), b: T.Buffer((2,), "float32"), c: T.Buffer((2,), "float32")
    ):
        for i in range(2):
            c[i] = a[i] + b[i]

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        cls = Module
        y = R.call_tir(cls.kernel, (x, x), out_ty=R.Tensor((2,), "float32"))
        return y
    """)
    assert list(drop_tuple_fields(mod)) == []
