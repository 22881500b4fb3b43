"""Names are those that people give, and what is shared is not, where it does not matter."""

from __future__ import annotations

from collections.abc import Callable

import tvm
import tvm_ffi
from tvm import relax

from relaxfuzz.fuzz.minimize.names import as_scripted, plain_names, unshare
from relaxfuzz.fuzz.minimize.search import minimize
from relaxfuzz.oracles.checkers import flaw
from relaxfuzz.oracles.inspect import attr, bindings_of

Written = Callable[[str], tvm.IRModule]

BODY = """
@T.prim_func(private=True, s_tir=True)
def fused_add_multiply(A: T.Buffer((T.int64(2),), "float32")):
    T.evaluate(0)

@T.prim_func(private=True, s_tir=True)
def f(A: T.Buffer((T.int64(2),), "float32")):
    T.evaluate(0)

@R.function(private=True)
def func_7(arg: R.Tensor(("batch",), "float32")):
    return arg

@R.function
def func_3(x0: R.Tensor(("batch", "rows"), "float32"), w8: R.Tensor((2,), "float32")):
    R.func_attr({"num_input": 1})
    cls = Module
    with R.dataflow():
        v5 = R.exp(x0)
        v6 = R.sin(v5)
        g1 = R.cos(v6)
        R.output(g1)
    g2 = R.sin(g1)

    @R.function
    def inner(x0: R.Tensor((2,), "float32")):
        v1 = cls.func_7(x0)
        return v1

    g3 = inner(w8)
    return g3
"""


def functions(mod: tvm.IRModule) -> set[str]:
    return {str(gvar.name_hint) for gvar in mod.get_global_vars()}


def test_everything_gets_a_plain_name(written: Written) -> None:
    small = minimize(written(BODY), lambda mod: True, reductions=(plain_names,))
    assert flaw(small) is None
    assert functions(small) == {"main", "g", "f", "kernel"}
    main = small["main"]
    assert attr(main, "global_symbol") == "main"
    assert [str(param.name) for param in main.params] == ["x", "w"]
    assert [str(dim.name) for dim in main.params[0].ty.shape.values] == ["n", "m"]
    names = [str(binding.var.name) for binding in bindings_of(main)]
    assert names == ["lv", "lv1", "gv", "gv1", "gv2", "gv3", "gv4"]
    assert list(plain_names(small)) == []


def test_the_meaning_stays(written: Written) -> None:
    mod = written(BODY)
    small = minimize(
        mod, lambda candidate: functions(candidate) == functions(mod), reductions=(plain_names,)
    )
    tvm.ir.assert_structural_equal(small, mod, map_free_vars=True)


def shared_shape() -> tvm.IRModule:
    shape = relax.ShapeExpr([2, 3])
    params = [relax.Var(name, relax.TensorType(shape, "float32")) for name in ("x", "y", "z")]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        builder.emit_func_output(params[0])
    return builder.get()


def test_shapes_are_shared_no_more() -> None:
    small = minimize(shared_shape(), lambda mod: True, reductions=(unshare,))
    shapes = [param.ty.shape for param in small["main"].params]
    assert not shapes[0].same_as(shapes[1])
    assert not shapes[0].same_as(shapes[2])
    assert list(unshare(small)) == []


def weak() -> tvm.IRModule:
    """A module of whose body less is known than its script says."""
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    body = relax.SeqExpr([], x)
    relax.expr._update_type(body, relax.TensorType(None, "float32", ndim=1))
    return tvm.IRModule({"main": relax.Function([x], body, x.ty)})


def is_read_back(mod: tvm.IRModule) -> bool:
    again = tvm.script.from_source(mod.script(show_meta=True))
    return bool(tvm_ffi.structural_equal(mod, again, map_free_vars=True))


def is_weak(mod: tvm.IRModule) -> bool:
    return mod["main"].body.ty.shape is None


def test_what_tvmscript_cannot_write_becomes_what_it_writes() -> None:
    mod = weak()
    assert is_weak(mod)
    assert not is_read_back(mod)
    small = minimize(mod, lambda mod: True, reductions=(as_scripted,))
    assert not is_weak(small)
    assert is_read_back(small)
    assert [edit() for edit in as_scripted(small)] == [None]
