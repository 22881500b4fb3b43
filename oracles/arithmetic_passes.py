"""Passes that apply TVM's arithmetic analysis to what a module computes: `arith.Simplify()`.

Each visits the statements of a PrimFunc with an Analyzer that knows the ranges of loop variables
and the conditions. It writes the analyzer's answer for each expression into the function, so the
function computes the same if and only if the analyzer is right.

The source of these functions goes into reproducers: they use TVM only, and one another.
"""

from __future__ import annotations

import inspect
from types import CodeType, FunctionType
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx

from ..compat.sym import IMPORT, sym

# Code that is copied into reproducers


def on_expressions(change: Any) -> Any:
    """The pass that changes stored values and conditions, given what is known where they are."""

    def visit(stmt: Any, analyzer: Any, ranges: Any, known: Any) -> Any:
        if isinstance(stmt, tirx.SeqStmt):
            return tirx.SeqStmt([visit(each, analyzer, ranges, known) for each in stmt.seq])
        if isinstance(stmt, tirx.For):
            values = tvm.ir.Range.from_min_extent(stmt.min, stmt.extent)
            analyzer.bind(stmt.loop_var, values)
            body = visit(stmt.body, analyzer, {**ranges, stmt.loop_var: values}, known)
            domain = (stmt.loop_var, stmt.min, stmt.extent)
            others = (stmt.thread_binding, stmt.annotations, stmt.step)
            return tirx.For(*domain, stmt.kind, body, *others)
        if isinstance(stmt, tirx.IfThenElse):
            cases = []
            for case, holds in (
                (stmt.then_case, stmt.condition),
                (stmt.else_case, tirx.Not(stmt.condition)),
            ):
                with analyzer.constraint_scope(holds):
                    both = tirx.all(known, holds)
                    cases.append(case and visit(case, analyzer, ranges, both))
            condition = change(stmt.condition, analyzer, ranges, known)
            return tirx.IfThenElse(condition, *cases)
        if isinstance(stmt, tirx.BufferStore):
            value = change(stmt.value, analyzer, ranges, known)
            return tirx.BufferStore(stmt.buffer, value, stmt.indices)
        return stmt

    def transform(func: Any, mod: Any, context: Any) -> Any:
        body = visit(func.body, sym.Analyzer(), {}, tirx.const(True, "bool"))
        return func.with_body(body)

    return tirx.transform.prim_func_pass(transform, opt_level=0, name="on_expressions")


def in_each(kinds: Any, change: Any, expr: Any) -> Any:
    """The expression with the nodes of these kinds in it changed."""
    failed = []

    def changed(each: Any) -> Any:
        try:
            return change(each)
        except Exception as error:  # one that passes through `structural_map` may corrupt memory
            failed.append(error)
            return each

    changes = [(getattr(tirx, kind), changed) for kind in kinds]
    made = tvm_ffi.structural_map(expr, changes, order="post")
    if failed:
        raise failed[0]
    return made


def is_a(kind: str, expr: Any) -> bool:
    """The expression has such a dtype: "int" are all integers."""
    return str(expr.ty.dtype).replace("uint", "int").startswith(kind)


def is_index(expr: Any) -> bool:
    """The expression has a dtype of loops."""
    return str(expr.ty.dtype) in ("int32", "int64")


# Simplifiers


def Simplify(steps: int = 2) -> Any:
    """`Analyzer.simplify`."""
    return on_expressions(lambda expr, analyzer, *_: analyzer.simplify(expr, steps))


def RewriteSimplify(extensions: int = 0) -> Any:
    """`Analyzer.rewrite_simplify`, with some of the extensions of `sym.Extension`."""

    def change(expr: Any, analyzer: Any, *_: Any) -> Any:
        analyzer.enabled_extensions = extensions
        return analyzer.rewrite_simplify(expr)

    return on_expressions(change)


def CanonicalSimplify() -> Any:
    """`Analyzer.canonical_simplify`."""
    return on_expressions(lambda expr, analyzer, *_: analyzer.canonical_simplify(expr))


# Sets of integers


def ConstIntBound() -> Any:
    """Clamp integers to `Analyzer.const_int_bound`, where that is narrower than their dtype."""

    def change(expr: Any, analyzer: Any, *_: Any) -> Any:
        if not is_a("int", expr):
            return expr
        found, dtype = analyzer.const_int_bound(expr), str(expr.ty.dtype)
        least, most = int(tirx.min_value(dtype).value), int(tirx.max_value(dtype).value)
        if found.min_value != found.NEG_INF and found.min_value > least:
            expr = tirx.max(expr, tirx.const(min(found.min_value, most), dtype))
        if found.max_value != found.POS_INF and found.max_value < most:
            expr = tirx.min(expr, tirx.const(max(found.max_value, least), dtype))
        return expr

    return on_expressions(change)


def ModularSet() -> Any:
    """Round integers down to the next number of `Analyzer.modular_set`."""

    def change(expr: Any, analyzer: Any, *_: Any) -> Any:
        if not is_a("int", expr):
            return expr
        found, dtype = analyzer.modular_set(expr), str(expr.ty.dtype)
        coeff, base = (tirx.const(number, "int64") for number in (found.coeff, found.base))
        if found.coeff == 0:
            return tirx.Cast(dtype, base)
        if found.coeff == 1:
            return expr
        wide = tirx.Cast("int64", expr)
        return tirx.Cast(dtype, tirx.floordiv(wide - base, coeff) * coeff + base)

    return on_expressions(change)


def IntSet() -> Any:
    """Clamp integers to the ends of `Analyzer.int_set`, given the ranges of all loops."""

    def change(expr: Any, analyzer: Any, *_: Any) -> Any:
        if not is_a("int", expr):
            return expr
        found = analyzer.int_set(expr)
        if found.is_nothing():  # what is known cannot hold: the expression is never computed
            return expr
        if str(found.min_value) != "neg_inf":
            expr = tirx.max(expr, found.min_value)
        if str(found.max_value) != "pos_inf":
            expr = tirx.min(expr, found.max_value)
        return expr

    return on_expressions(change)


# Proofs


def CanProve(strength: int = 0) -> Any:
    """Replace what `Analyzer.can_prove` proves to hold, or not to hold, by a constant."""
    conditions = ("EQ", "LT", "LE", "GT", "GE", "NE", "And", "Or", "Not")

    def decide(expr: Any, analyzer: Any) -> Any:
        for proven in (True, False):
            if analyzer.can_prove(expr if proven else tirx.Not(expr), strength):
                return tirx.const(proven, "bool")
        return expr

    def change(expr: Any, analyzer: Any, *_: Any) -> Any:
        return in_each(conditions, lambda each: decide(each, analyzer), expr)

    return on_expressions(change)


def TryCompare() -> Any:
    """Replace comparisons that `Analyzer.try_compare` decides by a constant."""
    comparisons = ("EQ", "LT", "LE", "GT", "GE", "NE")

    def decide(expr: Any, analyzer: Any) -> Any:
        holds = comparisons.index(type(expr).__name__) + 1  # bits: equal, less, greater
        possible = int(analyzer.try_compare(expr.a, expr.b)) if is_a("int", expr.a) else 7
        if possible & holds in (0, possible):
            return tirx.const(possible & holds == possible, "bool")
        return expr

    def change(expr: Any, analyzer: Any, *_: Any) -> Any:
        return in_each(comparisons, lambda each: decide(each, analyzer), expr)

    return on_expressions(change)


def DeduceBound() -> Any:
    """Let conditions hold where `sym.deduce_bound` says that they do."""

    def change(expr: Any, analyzer: Any, ranges: Any, *_: Any) -> Any:
        changed = expr
        for var in ranges if is_a("bool", expr) else ():
            found = sym.deduce_bound(var, expr, {}, {})
            if found is None or found.is_nothing() or found.is_everything():
                continue
            within = [tirx.const(True, "bool")]
            if str(found.min_value) != "neg_inf":
                within.append(var >= found.min_value)
            if str(found.max_value) != "pos_inf":
                within.append(var <= found.max_value)
            changed = tirx.Or(changed, tirx.all(*within))
        return changed

    return on_expressions(change)


# Patterns


def DetectLinearEquation() -> Any:
    """Put integers together again of the coefficients that `sym.detect_linear_equation` finds."""

    def change(expr: Any, analyzer: Any, ranges: Any, *_: Any) -> Any:
        variables = [var for var in ranges if str(var.ty.dtype) == str(expr.ty.dtype)]
        found = sym.detect_linear_equation(expr, variables) if is_index(expr) else []
        for var, coefficient in zip(variables, found[:-1], strict=False):
            expr = var * coefficient + (expr if var is not variables[0] else found[-1])
        return expr

    return on_expressions(change)


def IterMapSimplify(check_level: str = "surjective", trivial: bool = True) -> Any:
    """`sym.iter_map_simplify`."""

    def change(expr: Any, analyzer: Any, ranges: Any, known: Any) -> Any:
        if not is_index(expr):
            return expr
        (found,) = sym.iter_map_simplify([expr], ranges, known, check_level, trivial)
        return found

    return on_expressions(change)


def DetectIterMap(check_level: str = "surjective", trivial: bool = True) -> Any:
    """`sym.detect_iter_map`, and its result as an expression again."""

    def change(expr: Any, analyzer: Any, ranges: Any, known: Any) -> Any:
        if not is_index(expr):
            return expr
        found = sym.detect_iter_map([expr], ranges, known, check_level, trivial).indices
        return sym.normalize_iter_map_to_expr(found[0]) if found else expr

    return on_expressions(change)


def NormalizeToIterSum() -> Any:
    """`sym.normalize_to_iter_sum`, and its result as an expression again."""

    def change(expr: Any, analyzer: Any, ranges: Any, *_: Any) -> Any:
        if not is_index(expr):
            return expr
        return sym.normalize_iter_map_to_expr(sym.normalize_to_iter_sum(expr, ranges))

    return on_expressions(change)


def InverseAffineIterMap() -> Any:
    """Compute the variables of `sym.inverse_affine_iter_map` of an integer, and it of them."""

    def change(expr: Any, analyzer: Any, ranges: Any, *_: Any) -> Any:
        if not is_index(expr):
            return expr
        found = sym.detect_iter_map([expr], ranges, True, "bijective").indices
        if not found:
            return expr
        inverse = sym.inverse_affine_iter_map(found, [expr])
        return in_each(("Var",), lambda var: inverse.get(var, var), expr)

    return on_expressions(change)


# Copying it into reproducers


def source(name: str) -> tuple[str, ...]:
    """Statements that define one of these passes under its name, for a file of its own."""
    found: dict[str, None] = {}

    def need(function: FunctionType) -> None:
        for each in _names(function.__code__):
            other = globals().get(each)
            if isinstance(other, FunctionType) and each not in found and other is not function:
                need(other)
        found[function.__name__] = None

    need(globals()[name])
    texts = [f"\n\n{inspect.getsource(globals()[each])}" for each in found]
    return ("import tvm_ffi", "from typing import Any", IMPORT, *texts)


def _names(code: CodeType) -> list[str]:
    """The global names that a function and those in it use."""
    inside = (each for each in code.co_consts if isinstance(each, CodeType))
    return [*code.co_names, *(name for each in inside for name in _names(each))]
