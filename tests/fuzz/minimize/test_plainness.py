"""Of equally small modules the one is kept in which less is rare; rare things are reduced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest
import tvm

from relaxfuzz.fuzz.minimize.plainness import Plainness
from relaxfuzz.fuzz.minimize.reduction import Edit, Reduction
from relaxfuzz.fuzz.minimize.search import minimize
from relaxfuzz.fuzz.minimize.shapes import plain_params, shrink_dims
from relaxfuzz.fuzz.minimize.types import known_types, plain_dtypes
from relaxfuzz.generators.traits import Trait
from relaxfuzz.oracles.checkers import flaw
from relaxfuzz.oracles.grades.rare import UNKNOWN_RANK, rare
from relaxfuzz.oracles.inspect import calls_of, op_name

Written = Callable[[str], tvm.IRModule]


def dims(mod: tvm.IRModule) -> list[str]:
    return [str(getattr(dim, "value", dim)) for dim in mod["main"].params[0].ty.shape]


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


COMPOSITE = """
@R.function
def main(x: R.Tensor(("n * 2",), "float32"), y: R.Tensor(("n",), "float32")):
    n = T.int64()
    z = R.reshape(y, R.shape([n * 2 // 2]))
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
        (COMPOSITE, plain_params, is_pure, {Trait.COMPOSITE_DIMS}, ()),
        (PACKED, known_types, is_pure, {Trait.INCOMPLETE_TYPES, UNKNOWN_RANK}, ()),
        (SHAPE, known_types, is_pure, {Trait.INCOMPLETE_TYPES, UNKNOWN_RANK}, ()),
        (DTYPE, plain_dtypes, is_unsigned, {Trait.DTYPES}, ()),
        (EMPTY, shrink_dims, calls_a_kernel, {Trait.ZERO_SIZE}, ()),
    ],
    ids=["composite", "packed", "shape", "dtype", "empty"],
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
    assert set(rare(mod)) == before
    plain = minimize(mod, holds, reductions=(reduction,))
    assert set(rare(plain)) == set(after)
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
