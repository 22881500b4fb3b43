"""Operators in a row, and modules that have only what is asked for."""

from __future__ import annotations

import pytest
import tvm
from hypothesis.errors import InvalidArgument
from tvm import relax

from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.traits import Trait

ROW = ("matmul", "add", "nn.relu")


def calls(func: relax.Function) -> dict[relax.Var, tvm.ir.Call]:
    return {b.var: b.value for block in func.body.blocks for b in block.bindings}


def rows(mod: tvm.IRModule) -> int:
    """How often a relu works on a sum of a product."""
    found = 0
    for func in mod.functions.values():
        made = calls(func)

        def of(value: object, made: dict[relax.Var, tvm.ir.Call] = made) -> list[tvm.ir.Call]:
            args = value.args if isinstance(value, tvm.ir.Call) else ()
            return [made[arg] for arg in args if isinstance(made.get(arg), tvm.ir.Call)]

        for call in made.values():
            if isinstance(call, tvm.ir.Call) and call.op.name == "relax.nn.relu":
                sums = [each for each in of(call) if each.op.name == "relax.add"]
                found += any(each.op.name == "relax.matmul" for one in sums for each in of(one))
    return found


def test_a_row_works_on_itself() -> None:
    mixed = ir_modules(ops=list(ROW), only=())
    chained = ir_modules(ops=[ROW], only=())
    by_chance = sum(rows(example(mixed, 0, i)) > 0 for i in range(60))
    wanted = sum(rows(example(chained, 0, i)) > 0 for i in range(60))
    assert wanted > 30
    assert wanted > 3 * by_chance


def test_operators_side_by_side_have_an_operand_in_common() -> None:
    def together(mod: tvm.IRModule) -> bool:
        values = [v for func in mod.functions.values() for v in calls(func).values()]
        sums, powers = (
            [v for v in values if isinstance(v, relax.Call) and v.op.name == f"relax.{name}"]
            for name in ("cumsum", "square")
        )
        return any(a.args[0].same_as(b.args[0]) for a in sums for b in powers)

    beside = ir_modules(ops=["cumsum & square"], only=())
    assert sum(together(example(beside, 0, i)) for i in range(40)) > 25


def test_a_product_may_take_the_result_before_it_as_its_second_operand() -> None:
    strategy = ir_modules(ops=[("negative", "matmul")], only=())
    second = 0
    for index in range(60):
        made = calls(example(strategy, 0, index)["main"])
        products = [v for v in made.values() if v.op.name == "relax.matmul"]
        second += any(v.args[1] in made and v.args[0] not in made for v in products)
    assert second >= 3


def test_an_operator_that_cannot_go_on_takes_another_operand() -> None:
    strategy = ir_modules(ops=[("equal", "matmul")], only=())  # a product takes no bool
    for index in range(20):
        mod = example(strategy, 0, index)
        assert relax.analysis.check_well_formed(mod)


def test_only() -> None:
    for index in range(40):
        mod = example(ir_modules(only=()), 0, index)
        (func,) = mod.functions.values()
        assert func.attrs["global_symbol"] == "main"
        assert all(isinstance(param.ty.shape, relax.ShapeExpr) for param in func.params)
        sizes = [size for param in func.params for size in param.ty.shape.values]
        assert all(isinstance(size, tvm.tirx.IntImm) for size in sizes)
    attributes = [
        example(ir_modules(only=[Trait.SYSTEM_LIB_PREFIX]), 0, index).attrs for index in range(60)
    ]
    assert {bool(attrs) for attrs in attributes} == {True, False}


def test_only_allows_what_is_forced_and_what_that_needs() -> None:
    for index in range(10):
        mod = example(ir_modules(only=(), force=["private-functions"]), 0, index)
        assert relax.analysis.check_well_formed(mod)
    several = ir_modules(only=["private-functions"])
    assert any(len(example(several, 0, index).functions) > 1 for index in range(40))


def test_mistakes() -> None:
    with pytest.raises(InvalidArgument, match=r"only, got 'tupels'\. Did you mean 'tuples'"):
        ir_modules(only=["tupels"])
    with pytest.raises(InvalidArgument, match=r"'matmull'.*matmul"):
        ir_modules(ops=[("matmull", "add")])
    with pytest.raises(InvalidArgument, match="operators in a row but got none"):
        ir_modules(ops=[()])
