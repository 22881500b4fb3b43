"""The kinds of things that a pass did to a module."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tvm
from tvm import relax, tirx

from relaxfuzz.oracles.behaviour import UNSEEN, behaviours, is_work, raising
from relaxfuzz.oracles.pass_runs import attempt

X, Y = (relax.Var(name, relax.TensorType((2, 3), "float32")) for name in "xy")


def module(
    *made: Callable[..., relax.Expr], name: str = "main", attrs: dict[str, object] | None = None
) -> tvm.IRModule:
    """A function that returns the last value; each value is made of the ones before."""
    builder = relax.BlockBuilder()
    with builder.function(name, [X, Y], attrs={"global_symbol": "main", **(attrs or {})}):
        values: list[relax.Expr] = []
        for each in made:
            values.append(builder.emit(each(*values)))
        builder.emit_func_output(values[-1])
    return builder.finalize()


def add(*values: relax.Expr) -> relax.Expr:
    return relax.op.add(X, Y)


def swapped(*values: relax.Expr) -> relax.Expr:
    return relax.op.add(Y, X)


def unused(*values: relax.Expr) -> relax.Expr:
    return relax.op.exp(X)


def total(*values: relax.Expr) -> relax.Expr:
    return relax.op.sum(values[-1], axis=[0])


def other_total(*values: relax.Expr) -> relax.Expr:
    return relax.op.sum(values[-1], axis=[1])


def half(*values: relax.Expr) -> relax.Expr:
    return relax.op.astype(X, "float16")


def double(*values: relax.Expr) -> relax.Expr:
    return relax.op.astype(X, "float64")


def alias(*values: relax.Expr) -> relax.Expr:
    return values[-1]


@pytest.mark.parametrize(
    ("before", "after", "did"),
    [
        (module(add), module(unused), {"removes relax.add", "adds relax.exp"}),
        (module(add), module(swapped), {"changes operands of bindings"}),
        (
            module(add, total),
            module(add, other_total),
            {"changes attributes of relax.sum", "changes shape of relax.sum"},
        ),
        (
            module(half),
            module(double),
            {f"changes {part} of relax.astype" for part in ("attributes", "dtype", "shape")},
        ),
        (module(add), module(add, attrs={"mark": 1}), {"adds attribute mark"}),
        (
            module(add, attrs={"mark": 1}),
            module(add, attrs={"mark": 2}),
            {"changes value of attribute mark"},
        ),
    ],
)
def test_work(before: tvm.IRModule, after: tvm.IRModule, did: set[str]) -> None:
    assert behaviours(before, after) == did
    assert is_work(did)


@pytest.mark.parametrize(
    ("before", "after", "did"),
    [
        (module(unused, add), module(add), {"removes what is not used"}),
        (module(add, alias), module(add), {"removes alias"}),
        (
            module(add, add, lambda a, b: relax.op.multiply(a, b)),
            module(add, lambda a: relax.op.multiply(a, a)),
            {"removes what is computed twice"},
        ),
        (module(add), module(add, name="other"), {"changes name of a Function"}),
        (module(add), module(add), {UNSEEN}),
    ],
)
def test_clean_up(before: tvm.IRModule, after: tvm.IRModule, did: set[str]) -> None:
    assert behaviours(before, after) == did
    assert not is_work(did)


def test_functions_that_come_and_that_nothing_calls() -> None:
    before = module(add)
    legal = relax.transform.LegalizeOps()(before)
    assert {"removes relax.add", "adds relax.call_tir", "adds a PrimFunc"} <= behaviours(
        before, legal
    )
    alone = tvm.IRModule({**dict(legal.functions_items()), **dict(before.functions_items())})
    assert behaviours(before, alone) == {"adds what is not used"}


def test_the_nodes_of_a_prim_func() -> None:
    before = relax.transform.LegalizeOps()(module(add))
    after = tirx.transform.Apply(lambda func: func.with_body(tirx.Evaluate(0)))(before)
    assert {"removes serial loop", "adds Evaluate"} <= behaviours(before, after)


def test_an_exception_by_its_site() -> None:
    def fails(mod: tvm.IRModule) -> tvm.IRModule:
        raise ValueError("main of this module")

    error = attempt(fails, module(add)).error
    assert error is not None
    did = raising(error)
    assert did.startswith("raises ValueError: ")
    assert not is_work({did})


def test_a_pass_with_two_behaviours() -> None:
    def planted(mod: tvm.IRModule) -> tvm.IRModule:
        """Legalizes a module with a sum, and marks the function of any other one."""
        if "R.sum" in mod.script():
            return relax.transform.DeadCodeElimination()(mod)
        mod = tvm.IRModule(dict(mod.functions_items()))
        mod["main"] = mod["main"].with_attr("mark", 1)
        return mod

    mods = (module(add), module(unused, add, total), module(unused))
    did = [behaviours(mod, planted(mod)) for mod in mods]
    assert did == [{"adds attribute mark"}, {"removes what is not used"}, {"adds attribute mark"}]
