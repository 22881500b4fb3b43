"""Helpers that take Relax nodes apart."""

from __future__ import annotations

from tvm import relax, tirx

from relaxfuzz.generators.rewrite.nodes import defined_symbolic_vars, free_symbolic_vars


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
