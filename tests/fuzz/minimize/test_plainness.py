"""Of equally small modules the one is kept in which less is rare; rare things are reduced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest
import tvm
from tvm import relax

from relaxfuzz.fuzz.minimize.calls import opaque_calls, without_gradients
from relaxfuzz.fuzz.minimize.plainness import Plainness
from relaxfuzz.fuzz.minimize.reduction import Edit, Reduction
from relaxfuzz.fuzz.minimize.search import minimize
from relaxfuzz.fuzz.minimize.shapes import plain_params, shrink_dims, static_dims
from relaxfuzz.fuzz.minimize.signatures import bind_numbers
from relaxfuzz.fuzz.minimize.types import infer_annotations, known_types, plain_dtypes
from relaxfuzz.generators.traits import Trait
from relaxfuzz.oracles.grades.rare import UNKNOWN_RANK, rare
from relaxfuzz.oracles.inspect import calls_of, op_name
from relaxfuzz.oracles.structural.checkers import flaw

Written = Callable[[str], tvm.IRModule]

SYMBOLIC = """
@R.function
def main(x: R.Tensor(("n",), "float32")):
    return x
"""


def dims(mod: tvm.IRModule) -> list[str]:
    return [str(getattr(dim, "value", dim)) for dim in mod["main"].params[0].ty.shape]


def test_nothing_becomes_rare_where_nothing_becomes_smaller(written: Written) -> None:
    def holds(mod: tvm.IRModule) -> bool:
        return dims(mod) in (["n"], ["0"])

    assert dims(minimize(written(SYMBOLIC), holds, reductions=(static_dims,))) == ["n"]


def test_a_smaller_module_may_have_more_that_is_rare(written: Written) -> None:
    mod, empty = (
        written(f"""
        @R.function
        def main(x: R.Tensor(({size},), "float32")):
            {body}
        """)
        for size, body in ((2, "y = R.exp(x)\n            return y"), (0, "return x"))
    )
    assert Plainness(empty).rare > Plainness(mod).rare
    assert not Plainness(empty).loses_to(Plainness(mod))

    def emptied(mod: tvm.IRModule) -> Iterator[Edit]:
        yield partial(lambda: empty)

    assert dims(minimize(mod, lambda mod: True, reductions=(emptied,))) == ["0"]


NUMBER = """
@R.function(private=True)
def callee(a: R.Tensor((4,), "int64"), k: T.int64):
    r = R.add(a, R.prim_value(k))
    return a

@R.function
def main(x: R.Tensor((4,), "int64"), n: T.int64):
    cls = Module
    y = cls.callee(x, n)
    return y
"""

COMPOSITE = """
@R.function
def main(x: R.Tensor(("n * 2",), "float32"), y: R.Tensor(("n",), "float32")):
    n = T.int64()
    z = R.reshape(y, R.shape([n * 2 // 2]))
    return z
"""

CAST = """
@R.function
def main(x: R.Tensor((2, 3), "float32")):
    y = R.match_cast(x, R.Tensor(ndim=2))
    z = R.exp(y)
    return z
"""

PACKED = """
@R.function
def main(x: R.Tensor((2, 3), "float32")):
    y = R.call_pure_packed("f", x, ty_args=R.Tensor)
    return y
"""

SHAPE = """
@R.function
def main(s: R.Shape, x: R.Tensor, y: R.Tensor("float32", ndim=2)):
    z = R.exp(y)
    return z
"""

DTYPE = """
@R.function
def main(x: R.Tensor((2,), "uint16")):
    y = R.add(x, x)
    return y
"""

GRADIENT = """
@T.prim_func(private=True, s_tir=True)
def double(X: T.Buffer((T.int64(2),), "float32"), Y: T.Buffer((T.int64(2),), "float32")):
    for i in range(T.int64(2)):
        with T.sblock("double"):
            v = T.axis.spatial(T.int64(2), i)
            Y[v] = X[v] + X[v]

@R.function
def main(x: R.Tensor((2,), "float32")):
    cls = Module
    y = R.call_tir_with_grad(
        cls.double, (x,), out_ty=R.Tensor((2,), "float32"), te_grad_name="grad"
    )
    return y
"""

CALLABLE = """
@R.function
def main(f: R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32"), True),
         x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    y: R.Tensor((2,), "float32") = f(x)
    return y
"""


EMPTY = """
@T.prim_func(private=True)
def kernel(X: T.Buffer((T.int64(0), T.int64(1)), "float32"),
           Y: T.Buffer((T.int64(0), T.int64(1)), "float32")):
    T.evaluate(0)

@R.function
def main(x: R.Tensor((0, 1), "float32")):
    cls = Module
    y = R.call_tir(cls.kernel, (x,), out_ty=R.Tensor((0, 1), "float32"))
    return y
"""


def is_pure(mod: tvm.IRModule) -> bool:
    return bool(mod["main"].is_pure)


def is_unsigned(mod: tvm.IRModule) -> bool:
    return "uint" in str(mod["main"].params[0].ty.dtype)


def calls_a_kernel(mod: tvm.IRModule) -> bool:
    return any("call_tir" in (op_name(call) or "") for call in calls_of(mod))


def first_is_unknown(mod: tvm.IRModule) -> bool:
    """Of the tensors among the parameters the first has to be unknown."""
    return bool(mod["main"].params[1].ty.ndim == -1)


@pytest.mark.parametrize(
    ("body", "reduction", "holds", "before", "after"),
    [
        (NUMBER, bind_numbers, is_pure, {Trait.NUMBERS, Trait.FUNCTION_CALLS}, {"function-calls"}),
        (COMPOSITE, plain_params, is_pure, {Trait.COMPOSITE_DIMS}, ()),
        (CAST, infer_annotations, is_pure, {Trait.INCOMPLETE_TYPES}, ()),
        (PACKED, known_types, is_pure, {Trait.INCOMPLETE_TYPES, UNKNOWN_RANK}, ()),
        (SHAPE, known_types, is_pure, {Trait.INCOMPLETE_TYPES, UNKNOWN_RANK}, ()),
        (DTYPE, plain_dtypes, is_unsigned, {Trait.DTYPES}, ()),
        (GRADIENT, without_gradients, calls_a_kernel, {Trait.CALL_TIR_WITH_GRAD}, ()),
        (EMPTY, shrink_dims, calls_a_kernel, {Trait.ZERO_SIZE}, ()),
    ],
    ids=["numbers", "composite", "cast", "packed", "shape", "dtype", "gradient", "empty"],
)
def test_what_is_rare_goes_where_nothing_needs_it(
    body: str,
    reduction: Reduction,
    holds: Callable[[tvm.IRModule], bool],
    before: set[str],
    after: set[str],
    written: Written,
) -> None:
    mod = written(body)
    assert set(rare(mod, tried=False)) == before
    plain = minimize(mod, holds, reductions=(reduction,))
    assert set(rare(plain, tried=False)) == set(after)
    assert flaw(plain) is None
    assert holds(plain)


def test_each_parameter_becomes_known_that_may(written: Written) -> None:
    known = minimize(written(SHAPE), first_is_unknown, reductions=(known_types,))
    kinds = [str(param.ty) for param in known["main"].params]
    assert kinds == [
        "R.Shape([2, 3])",
        'R.Tensor(dtype="float32")',
        'R.Tensor((2, 3), dtype="float32")',
    ]


def test_a_function_that_was_passed_is_not_called(written: Written) -> None:
    plain = minimize(written(CALLABLE), is_pure, reductions=(opaque_calls,))
    assert [op_name(call) for call in calls_of(plain)] == ["relax.call_pure_packed"]
    assert isinstance(calls_of(plain)[0].args[0], relax.ExternFunc)
