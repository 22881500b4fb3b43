"""Passes that apply a faulty analyzer to expressions, and right ones."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from relaxfuzz.compat import ir
from relaxfuzz.oracles.arithmetic_passes import in_each, on_expressions

Pass = tvm.transform.Pass


@I.ir_module
class Module:
    """Quotients, multiples, an extreme and conditions, of which some always hold."""

    @T.prim_func
    def main(
        A: T.Buffer((4, 6), "int32"), B: T.Buffer((4, 6), "int32"), C: T.Buffer((4, 6), "bool")
    ):
        for i, j in T.grid(4, 6):
            A[i, j] = (i * 6 + j + 3) // 4 - T.max(i, j)
        for i, j in T.grid(4, 6):
            if i < 2:
                B[i, j] = i * 8 + 4
            else:
                B[i, j] = i * 2 - j
        for i, j in T.grid(4, 6):
            C[i, j] = i * 6 + j < 24 and j <= i + 2


def keeps_all() -> Pass:
    """Right: one more operation, which changes nothing."""
    return on_expressions(lambda expr, *_: tirx.Select(tirx.const(True, "bool"), expr, expr))


def loses_an_addend() -> Pass:
    """(x + 3) // 4 becomes x // 4."""

    def rule(expr: Any) -> Any:
        added = isinstance(expr.a, ir.Add) and isinstance(expr.a.b, tirx.IntImm)
        return ir.FloorDiv(expr.a.a, expr.b) if added else expr

    return on_expressions(lambda expr, *_: in_each(("FloorDiv",), rule, expr))


def swaps_an_extreme() -> Pass:
    """max(x, y) becomes min(x, y)."""
    return on_expressions(
        lambda expr, *_: in_each(("Max",), lambda node: ir.Min(node.a, node.b), expr)
    )


def bounds_too_narrow() -> Pass:
    """An upper bound is one too low."""

    def change(expr: Any, analyzer: Any, *_: Any) -> Any:
        if str(expr.ty.dtype) != "int32":
            return expr
        return tirx.min(expr, tirx.const(analyzer.const_int_bound(expr).max_value - 1, "int32"))

    return on_expressions(change)


def wrong_multiples() -> Pass:
    """A modular set is taken for one of double the coefficient."""

    def change(expr: Any, analyzer: Any, *_: Any) -> Any:
        if str(expr.ty.dtype) != "int32" or analyzer.modular_set(expr).coeff < 2:
            return expr
        found = analyzer.modular_set(expr)
        coeff, base = tirx.const(2 * found.coeff, "int32"), tirx.const(found.base, "int32")
        return tirx.floordiv(expr - base, coeff) * coeff + base

    return on_expressions(change)


def proves_too_much() -> Pass:
    """What holds in the first iteration is taken for proven."""

    def change(expr: Any, analyzer: Any, ranges: Any, *_: Any) -> Any:
        first = in_each(("Var",), lambda var: ranges[var].min if var in ranges else var, expr)
        return first if str(expr.ty.dtype) == "bool" else expr

    return on_expressions(change)


def knows_a_condition_after_its_end() -> Pass:
    """The condition of a branch is applied to the other one, too."""

    def change(expr: Any, analyzer: Any, ranges: Any, known: Any) -> Any:
        if isinstance(known, ir.Not) and isinstance(expr, ir.Sub):
            with analyzer.constraint_scope(known.a):
                bound = analyzer.const_int_bound(expr)
            return tirx.min(expr, tirx.const(bound.max_value, "int32"))
        return expr

    return on_expressions(change)


FAULTS = {
    "loses_an_addend": "index FloorDiv",
    "swaps_an_extreme": "index Max",
    "bounds_too_narrow": "index Mul",
    "wrong_multiples": "index Mul",
    "proves_too_much": "index LT",
    "knows_a_condition_after_its_end": "index Sub",
}
"""By pass, the smallest expression that it gets wrong."""
