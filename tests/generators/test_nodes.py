"""Helpers that take Relax nodes apart."""

from __future__ import annotations

from tvm import relax, tirx

from relaxfuzz.generators.module_scope import ModuleScope
from relaxfuzz.generators.rewrite.nodes import defined_symbolic_vars, free_symbolic_vars
from relaxfuzz.generators.scope import Scope


def test_symbolic_variables_come_in_the_order_of_their_uses() -> None:
    for attempt in range(50):
        others = [tirx.Var("n", "int64") for _ in range(attempt)]  # take addresses in between
        dims = [tirx.Var("n", "int64") for _ in range(8)]
        params = [relax.Var("x", relax.TensorType((dim,), "float32")) for dim in reversed(dims)]
        values = relax.ShapeExpr(dims)
        func = relax.Function(params, relax.SeqExpr([], values), values.ty)
        assert defined_symbolic_vars(func) == dims[::-1]
        assert free_symbolic_vars(values) == dims
        assert len(others) == attempt


def test_a_branch_may_speak_of_any_number() -> None:
    scope = Scope(ModuleScope(frozenset()), (2,), ("float32",))
    cond = scope.param(relax.TensorType((), "bool"))
    numbers = [tirx.Var("n", "float32"), tirx.Var("m", "int64")]
    parts = relax.Tuple([*map(relax.prim_value, numbers)])
    branches = [relax.SeqExpr([], parts) for _ in range(2)]
    assert scope.bind(relax.If(cond, *branches)).ty.fields[1] == numbers[1].ty
