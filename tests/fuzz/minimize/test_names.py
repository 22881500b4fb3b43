"""Names are those that people give, and what is shared is not, where it does not matter."""

from __future__ import annotations

from collections.abc import Callable

import tvm
from tvm import relax

from relaxfuzz.fuzz.minimize.names import as_scripted, plain_names, unshare
from relaxfuzz.fuzz.minimize.search import minimize
from relaxfuzz.oracles.grades.rare import rare
from relaxfuzz.oracles.inspect import attr, bindings_of
from relaxfuzz.oracles.structural.checkers import flaw

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


def test_names_that_are_needed_stay(written: Written) -> None:
    def holds(mod: tvm.IRModule) -> bool:
        return "func_3" in functions(mod) and str(mod["func_3"].params[0].name) == "x0"

    small = minimize(written(BODY), holds, reductions=(plain_names,))
    assert functions(small) == {"func_3", "g", "f", "kernel"}
    assert str(small["g"].params[0].name) == "x"


def test_no_two_functions_get_one_name(written: Written) -> None:
    mod = written("""
    @R.function(private=True)
    def g(x: R.Tensor((2,), "float32")):
        return x

    @R.function(private=True)
    def f(x: R.Tensor((2,), "float32")):
        return x

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        cls = Module
        y = cls.g(x)
        z = cls.f(y)
        return z
    """)
    made = [edit() for edit in plain_names(mod)]
    assert any(made)
    assert all(len(functions(each)) == 3 for each in made if each is not None)


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


def test_sharing_that_is_needed_stays() -> None:
    def shares(mod: tvm.IRModule) -> bool:
        x, y, _ = (param.ty.shape for param in mod["main"].params)
        return bool(x.same_as(y))

    small = minimize(shared_shape(), shares, reductions=(unshare,))
    assert shares(small)


def weak() -> tvm.IRModule:
    """A module of whose body less is known than its script says."""
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    body = relax.SeqExpr([], x)
    relax.expr._update_type(body, relax.TensorType(None, "float32", ndim=1))
    return tvm.IRModule({"main": relax.Function([x], body, x.ty)})


def is_weak(mod: tvm.IRModule) -> bool:
    return mod["main"].body.ty.shape is None


def test_what_tvmscript_cannot_write_becomes_what_it_writes() -> None:
    mod = weak()
    assert is_weak(mod)
    assert "not-tvmscript" in rare(mod)
    small = minimize(mod, lambda mod: True, reductions=(as_scripted,))
    assert not is_weak(small)
    assert "not-tvmscript" not in rare(small)
    assert [edit() for edit in as_scripted(small)] == [None]


def test_what_only_constructors_make_stays_where_it_is_needed() -> None:
    assert is_weak(minimize(weak(), is_weak, reductions=(as_scripted,)))
