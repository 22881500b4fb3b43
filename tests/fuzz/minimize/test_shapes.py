"""Dimensions become plain ones where nothing needs them to be others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tvm
from tvm import relax

from relaxfuzz.compat import ir
from relaxfuzz.fuzz.minimize.search import minimize
from relaxfuzz.fuzz.minimize.shapes import shrink_dims, static_dims
from relaxfuzz.generators.rewrite.dims import Resized
from relaxfuzz.oracles.checkers import flaw
from relaxfuzz.oracles.inspect import bindings_of, calls_of, ops_used

Written = Callable[[str], tvm.IRModule]

ANY = (static_dims, shrink_dims)


def always(mod: tvm.IRModule) -> bool:
    return True


def shapes(mod: tvm.IRModule) -> list[str]:
    """The types of the parameters of main, then those of its bindings."""
    func = mod["main"]
    return [
        str(getattr(var.ty, "shape", var.ty)).removeprefix("R.shape(").removesuffix(")")
        for var in (*func.params, *(binding.var for binding in bindings_of(mod)))
    ]


SYMBOLIC = """
@R.function
def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("n * 4 + 1",), "float32")):
    n, m = T.int64(), T.int64()
    lv = R.permute_dims(x)
    lv1 = R.concat((lv, lv), axis=1)
    return lv1
"""


def test_symbols_become_numbers_and_types_follow(written: Written) -> None:
    small = minimize(written(SYMBOLIC), always, reductions=(static_dims,))
    assert shapes(small) == ["[2, 2]", "[9]", "[2, 2]", "[2, 4]"]


LARGE = """
@T.prim_func(private=True, s_tir=True)
def double(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (T.int64(16), T.int64(7)))
    B = T.match_buffer(b, (T.int64(16), T.int64(7)))
    for i, j in T.grid(T.int64(16), T.int64(7)):
        with T.sblock("double"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)

@R.function
def main(x: R.Tensor((16, 7), "float32"), y: R.Tensor((7, 1, 0), "float32")):
    cls = Module
    lv = R.call_tir(cls.double, (x,), out_ty=R.Tensor((16, 7), "float32"))
    lv1 = R.reshape(lv, R.shape([7, 16]))
    lv2 = R.add(lv1, R.const([1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]))
    return lv2
"""


def test_sizes_fall_everywhere_at_once(written: Written) -> None:
    small = minimize(written(LARGE), always, reductions=(shrink_dims,))
    assert shapes(small) == ["[2, 2]", "[2, 2, 2]", "[2, 2]", "[2, 2]", "[2, 2]"]
    assert flaw(small) is None
    constant = ir.constant_data(calls_of(small, "relax.add")[0].args[1]).numpy()
    np.testing.assert_array_equal(constant, np.array([1, 2], "float32"))
    assert "T.grid(T.int64(2), T.int64(2))" in small.script()


def test_sizes_that_must_differ_stay_different(written: Written) -> None:
    def differ(mod: tvm.IRModule) -> bool:
        rows, columns = mod["main"].params[0].ty.shape.values
        return int(rows) > int(columns)

    small = minimize(written(LARGE), differ, reductions=(shrink_dims,))
    assert shapes(small)[0] == "[3, 2]"


def test_no_cast_becomes_impossible(written: Written) -> None:
    mod = written("""
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        m = T.int64()
        y = R.match_cast(x, R.Tensor((m,), "float32"))
        return y
    """)

    def odd(candidate: tvm.IRModule) -> bool:
        return shapes(candidate)[1] != "[2]"

    small = minimize(mod, odd, reductions=ANY)
    assert shapes(small) == ["[3]", "[3]"]


KERNELS_THAT_CALL = """
@T.prim_func(private=True, s_tir=True)
def one(A: T.Buffer((T.int64(8),), "float32")):
    T.evaluate(0)

@T.prim_func(private=True, s_tir=True)
def two(A: T.Buffer((T.int64(8),), "float32")):
    Module.one(A.data)

@R.function
def main(x: R.Tensor((8,), "float32")):
    cls = Module
    y = R.call_tir(cls.two, (), out_ty=R.Tensor((8,), "float32"))
    return y
"""


def test_prim_funcs_go_on_calling_one_another(written: Written) -> None:
    mod = written(KERNELS_THAT_CALL)
    small = minimize(mod, always, reductions=(shrink_dims,))
    assert shapes(small) == ["[2]", "[2]"]
    assert flaw(small) is None


RECURSIVE = """
@R.function
def main(x: R.Tensor((8,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((8,), "float32"):
    cls = Module
    if c:
        a = R.exp(x)
        r: R.Tensor((8,), "float32") = cls.main(a, c)
    else:
        r: R.Tensor((8,), "float32") = R.sin(x)
    return r
"""


def test_branches_and_recursion_follow(written: Written) -> None:
    small = minimize(written(RECURSIVE), always, reductions=(shrink_dims,))
    assert ops_used(small) == {"relax.exp", "relax.sin"}
    assert {str(b.var.ty.shape) for b in bindings_of(small)} == {"R.shape([2])"}


def test_a_module_with_compiled_parts() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((5, 7), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.nn.relu(x)))
    compiled = tvm.compile(builder.finalize(), "llvm").mod
    mod = builder.finalize().with_attr("external_mods", [compiled])
    small = Resized(mod, sizes={5: 2}).run()
    assert small is not None
    assert shapes(small)[0] == "[2, 7]"
    assert "external_mods" in small.attrs
    assert Resized(small, sizes={5: 2}).run() is None, "nothing changes"
