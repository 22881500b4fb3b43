"""Parameters and results that nobody uses go, and callers follow."""

from __future__ import annotations

from collections.abc import Callable

import tvm

from relaxfuzz.fuzz.minimize.search import minimize
from relaxfuzz.fuzz.minimize.signatures import drop_params, split_tuples
from relaxfuzz.oracles.checkers import flaw
from relaxfuzz.oracles.inspect import calls_of

Written = Callable[[str], tvm.IRModule]


def always(mod: tvm.IRModule) -> bool:
    return True


def params(mod: tvm.IRModule, name: str) -> list[str]:
    return [str(param.name) for param in mod[name].params]


CALLS = """
@R.function(private=True)
def callee(a: R.Tensor((2,), "float32"), b: R.Tensor((3,), "float32"), c: R.Tensor("float32")):
    r = R.add(a, c)
    return r

@R.function
def main(x: R.Tensor((2,), "float32"), y: R.Tensor((3,), "float32"), w: R.Tensor((3,), "float32")):
    R.func_attr({"num_input": 2})
    cls = Module
    r = cls.callee(x, y, x)
    return r
"""


def test_callers_pass_what_is_left(written: Written) -> None:
    small = minimize(written(CALLS), always, reductions=(drop_params,))
    assert flaw(small) is None
    assert params(small, "callee") == ["a", "c"]
    assert params(small, "main") == ["x"]
    assert int(small["main"].attrs["num_input"]) == 1


DIMENSION = """
@R.function
def main(s: R.Shape(["n"]), t: R.Shape(["n"]), u: R.Tensor(("m",), "float32")):
    n = T.int64()
    r = R.zeros(R.shape([n]), "float32")
    return r
"""


def test_one_parameter_that_defines_a_dimension_stays(written: Written) -> None:
    mod = written(DIMENSION)
    assert [edit for edit in drop_params(mod) if (made := edit()) is None or flaw(made)] == []
    assert params(minimize(mod, always, reductions=(drop_params,)), "main") == ["s"]


CLOSURE = """
@R.function(private=True)
def callee(a: R.Tensor((2,), "float32"), b: R.Tensor((2,), "float32")):
    return a

@R.function
def main(x: R.Tensor((2,), "float32")):
    cls = Module
    f = R.make_closure(cls.callee, (x,))
    return f
"""


def test_the_signature_of_a_closure_stays(written: Written) -> None:
    assert list(drop_params(written(CLOSURE))) == []


TUPLES = """
@R.function(private=True)
def callee(t: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((3,), "float32"))):
    a = t[0]
    b = R.exp(a)
    r = (b, a, t)
    return r

@R.function
def main(x: R.Tensor((2,), "float32"), p: R.Tuple(R.Tuple(R.Tensor((3,), "float32")))):
    R.func_attr({"num_input": 1})
    cls = Module
    q = p[0]
    y = q[0]
    r = cls.callee((x, y))
    s = r[1]
    return s
"""


def test_tuples_become_their_fields(written: Written) -> None:
    small = minimize(written(TUPLES), always, reductions=(split_tuples,))
    assert flaw(small) is None
    assert params(small, "callee") == ["t_0", "t_1"]
    assert params(small, "main") == ["x", "p_0_0"]
    assert int(small["main"].attrs["num_input"]) == 1
    assert len(calls_of(small)[-1].args) == 2
