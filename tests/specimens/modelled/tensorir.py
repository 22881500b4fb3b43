"""Faulty passes on PrimFuncs, as they run behind LowerOpaqueBlock and FlattenBuffer."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import tvm
from tvm import tirx

from relaxfuzz.compat import ir
from relaxfuzz.compat.structural import structural_equal, structural_map
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.inspect import nodes

from ..specimen import Family, Specimen, of
from .tools import made, on_prim_funcs

PLAIN = (Stage.TENSORIR,)
"""Before TVM simplifies anything."""
FLAT = (Stage.FLATTENED,)
LOWERED = (Stage.LOOPS_LOWERED,)


def number(expr: Any) -> int | None:
    """The value of an integer constant."""
    return int(expr.value) if isinstance(expr, tirx.IntImm) else None


def dtype_of(expr: Any) -> str:
    """The dtype of a scalar expression."""
    return str(expr.ty.dtype)


def uses(root: Any, var: Any) -> bool:
    """The variable, or buffer, occurs somewhere."""
    return any(node.same_as(var) for node in nodes(root, tirx.Var))


def substituted(root: Any, old: Any, new: Any) -> Any:
    """The statement or expression with another one in place of a variable."""
    return structural_map(root, (tirx.Var, lambda var: new if var.same_as(old) else var))


def statements(stmt: Any) -> list[Any]:
    """The statements of a sequence; any other one is a sequence of itself."""
    return list(stmt.seq) if isinstance(stmt, ir.SeqStmt) else [stmt]


def sequence(stmts: Sequence[Any]) -> Any:
    """The statements one after the other, inner sequences flattened."""
    flat = [inner for stmt in stmts for inner in statements(stmt)]
    return flat[0] if len(flat) == 1 else ir.SeqStmt(flat)


def ranges(func: tirx.PrimFunc) -> Any:
    """An analyzer that knows the range of each variable of one loop or block alone."""
    analyzer = ir.Analyzer()
    domains = [
        (loop.loop_var, tvm.ir.Range.from_min_extent(loop.min, loop.extent))
        for loop in nodes(func, ir.For)
    ]
    domains += [
        (each.var, each.dom) for block in nodes(func, ir.SBlock) for each in block.iter_vars
    ]
    for var, domain in domains:
        if sum(var.same_as(other) for other, _ in domains) == 1:
            analyzer.bind(var, domain)
    return analyzer


def is_plain(loop: Any) -> bool:
    """A serial loop in steps of one, without annotations."""
    one_by_one = loop.step is None or number(loop.step) == 1
    return bool(loop.kind == ir.ForKind.SERIAL and one_by_one and not loop.annotations)


def looped(loop: Any, first: Any, extent: Any, body: Any) -> Any:
    """A loop like this one over another range, with a variable of its own."""
    var = tirx.Var(loop.loop_var.name, dtype_of(loop.loop_var))
    body = substituted(body, loop.loop_var, var)
    return ir.For(var, first, extent, loop.kind, body, annotations=loop.annotations)


def terms(expr: Any) -> list[Any]:
    """The summands of a sum."""
    if isinstance(expr, ir.Add):
        return [*terms(expr.a), *terms(expr.b)]
    return [expr]


def summed(summands: Sequence[Any], dtype: str) -> Any:
    """Their sum; zero of none."""
    total = tirx.const(0, dtype)
    for summand in summands:
        total = summand if number(total) == 0 else total + summand
    return total


def scaled(expr: Any) -> tuple[Any, int, Any] | None:
    """x, c and rest of an integer c * x + rest, where c is a constant above one."""
    summands = terms(expr)
    for index, summand in enumerate(summands):
        if isinstance(summand, ir.Mul) and (number(summand.b) or 0) > 1:
            others = summands[:index] + summands[index + 1 :]
            return summand.a, int(summand.b.value), summed(others, dtype_of(expr))
    return None


def is_signed(expr: Any) -> bool:
    """A scalar signed integer."""
    return dtype_of(expr) in ("int8", "int16", "int32", "int64")


# Expressions


def lowers_floor_division() -> tvm.transform.Pass:
    """Flooring division of what has a lower bound becomes truncating division of what is positive.

    floordiv(a, b) is truncdiv(a + n * b, b) - n, where n * b makes a positive.
    """

    def rewritten(func: tirx.PrimFunc) -> tirx.PrimFunc:
        analyzer = ranges(func)

        def change(expr: Any) -> Any:
            by = number(expr.b)
            if by is None or by <= 0 or not is_signed(expr):
                return expr
            low = analyzer.const_int_bound(expr.a).min_value
            largest = int(tirx.max_value(dtype_of(expr)).value)
            if low <= -largest:
                return expr
            steps = max(0, -(low // by))
            if steps * by > largest:
                return expr
            shifted = expr.a + tirx.const(steps * by, dtype_of(expr)) if steps else expr.a
            if isinstance(expr, ir.FloorMod):
                return ir.Mod(shifted, expr.b)
            quotient = ir.Div(shifted, expr.b)
            return quotient - tirx.const(steps, dtype_of(expr)) if steps else quotient

        return structural_map(func, ((ir.FloorDiv, ir.FloorMod), change))

    return made("LowerFloorDivision", lambda mod: on_prim_funcs(mod, rewritten))


def folds_scaled_remainders() -> tvm.transform.Pass:
    """(c * x + rest) % (c * m) becomes c * (x % m) + rest."""

    def rewritten(func: tirx.PrimFunc) -> tirx.PrimFunc:
        analyzer = ranges(func)

        def change(expr: Any) -> Any:
            modulus = number(expr.b)
            parts = scaled(expr.a) if modulus and is_signed(expr) else None
            if parts is None or modulus is None:
                return expr
            x, factor, rest = parts
            bound = analyzer.const_int_bound(rest)
            if modulus % factor or bound.min_value < 0 or bound.max_value >= modulus:
                return expr
            dtype = dtype_of(expr)
            inner = ir.FloorMod(x, tirx.const(modulus // factor, dtype))
            return inner * tirx.const(factor, dtype) + rest

        return structural_map(func, (ir.FloorMod, change))

    return made("FoldScaledRemainders", lambda mod: on_prim_funcs(mod, rewritten))


def divides_comparisons() -> tvm.transform.Pass:
    """c * x + rest < c * k becomes x < k, and c * k <= c * x + rest becomes k <= x."""

    def rewritten(func: tirx.PrimFunc) -> tirx.PrimFunc:
        analyzer = ranges(func)

        def divided(expr: Any, limit: Any) -> tuple[Any, Any] | None:
            parts = scaled(expr) if number(limit) is not None and is_signed(expr) else None
            if parts is None:
                return None
            x, factor, rest = parts
            steps, over = divmod(int(limit.value), factor)
            bound = analyzer.const_int_bound(rest)
            low, high = bound.min_value - over, bound.max_value - over
            if not -factor < low <= high < factor:
                return None
            return x, tirx.const(steps, dtype_of(expr))

        def less(expr: Any) -> Any:
            parts = divided(expr.a, expr.b)
            return expr if parts is None else ir.LT(*parts)

        def at_least(expr: Any) -> Any:
            parts = divided(expr.b, expr.a)
            return expr if parts is None else ir.LE(parts[1], parts[0])

        return structural_map(func, [(ir.LT, less), (ir.LE, at_least)])

    return made("DivideComparisons", lambda mod: on_prim_funcs(mod, rewritten))


def computes_in_narrow_types() -> tvm.transform.Pass:
    """Sums and products of widened int32 are computed in int32, and widened afterwards."""

    def narrow(expr: Any) -> Any:
        if isinstance(expr, ir.Cast) and dtype_of(expr.value) == "int32":
            return expr.value
        value = number(expr)
        if value is not None and -(2**31) <= value < 2**31:
            return tirx.const(value, "int32")
        return None

    def change(expr: Any) -> Any:
        if dtype_of(expr) != "int64":
            return expr
        a, b = narrow(expr.a), narrow(expr.b)
        if a is None or b is None:
            return expr
        return ir.Cast("int64", type(expr)(a, b))

    return made(
        "ComputeInNarrowTypes",
        lambda mod: on_prim_funcs(
            mod, lambda func: structural_map(func, ((ir.Add, ir.Sub, ir.Mul), change))
        ),
    )


_folded: dict[str, int] = {}


def remembers_simplified() -> tvm.transform.Pass:
    """Quotients and remainders that are constant are folded; what was proved once is kept."""

    def rewritten(func: tirx.PrimFunc) -> tirx.PrimFunc:
        analyzer = ranges(func)

        def change(expr: Any) -> Any:
            if nodes(expr, ir.TensorLoad) or not is_signed(expr):
                return expr
            text = f"{expr.script()} {dtype_of(expr)}"
            if text not in _folded:
                value = number(analyzer.simplify(expr))
                if value is None:
                    return expr
                _folded[text] = value
            return tirx.const(_folded[text], dtype_of(expr))

        return structural_map(func, ((ir.FloorDiv, ir.FloorMod), change))

    return made("FoldQuotients", lambda mod: on_prim_funcs(mod, rewritten))


# Loops


def _on_loops(name: str, change: Callable[[Any, Any], Any]) -> tvm.transform.Pass:
    """Each plain loop becomes what `change` gives of it and an analyzer, inner loops first."""

    def rewritten(func: tirx.PrimFunc) -> tirx.PrimFunc:
        analyzer = ranges(func)

        def each(loop: Any) -> Any:
            return change(loop, analyzer) if is_plain(loop) else loop

        return structural_map(func, (ir.For, each))

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        # A body that stands twice defines its variables twice.
        return tirx.transform.ConvertSSA()(on_prim_funcs(mod, rewritten))

    return made(name, transform)


def partitions_loops() -> tvm.transform.Pass:
    """The iterations of which a condition always holds become a loop without it."""

    def change(loop: Any, analyzer: Any) -> Any:
        inner, inside = [], loop.body
        while isinstance(inside, ir.For) and is_plain(inside):
            inner.append(inside)
            inside = inside.body
        steps = _certain(loop, inside, analyzer)
        if steps is None:
            return loop
        certain = inside.then_case
        for each in reversed(inner):
            certain = looped(each, each.min, each.extent, certain)
        dtype = dtype_of(loop.loop_var)
        middle, remaining = tirx.const(steps, dtype), loop.extent - tirx.const(steps, dtype)
        return sequence(
            [looped(loop, loop.min, middle, certain), looped(loop, middle, remaining, loop.body)]
        )

    return _on_loops("PartitionLoops", change)


def _certain(loop: Any, inside: Any, analyzer: Any) -> int | None:
    """In how many of its first iterations the condition of what is inside always holds."""
    condition = inside.condition if isinstance(inside, ir.IfThenElse) else None
    if not isinstance(condition, ir.LT) or inside.else_case is not None:
        return None
    limit, extent, parts = number(condition.b), number(loop.extent), scaled(condition.a)
    if limit is None or extent is None or parts is None or number(loop.min) != 0:
        return None
    x, factor, rest = parts
    bound = analyzer.const_int_bound(rest)
    if not x.same_as(loop.loop_var) or uses(rest, loop.loop_var) or bound.max_value >= 2**31:
        return None
    last = limit - 1 - bound.max_value
    steps = -(-last // factor) + 1
    return steps if 0 < steps < extent else None


def hoists_conditions() -> tvm.transform.Pass:
    """What a loop does under a condition that is the same in each iteration is asked once."""

    def change(loop: Any, analyzer: Any) -> Any:
        *bindings, last = statements(loop.body)
        if not isinstance(last, ir.IfThenElse) or last.else_case is not None:
            return loop
        if not all(isinstance(stmt, ir.Bind) for stmt in bindings):
            return loop
        condition = last.condition
        stored = [store.buffer for store in nodes(loop, ir.BufferStore)]
        if uses(condition, loop.loop_var) or any(uses(condition, each) for each in stored):
            return loop
        body = looped(loop, loop.min, loop.extent, sequence([*bindings, last.then_case]))
        return ir.IfThenElse(condition, body, None)

    return _on_loops("HoistConditions", change)


class _Unfit(Exception):
    """An expression that the vectorizer does not know."""


def vectorizes_bindings() -> tvm.transform.Pass:
    """Vectorized loops of stores and bindings become operations on vectors."""

    def change(loop: Any) -> Any:
        lanes = number(loop.extent)
        if loop.kind != ir.ForKind.VECTORIZED or lanes is None or lanes < 2 or number(loop.min):
            return loop
        try:
            return sequence([_vector(stmt, loop, lanes) for stmt in statements(loop.body)])
        except _Unfit:
            return loop

    return made(
        "VectorizeBindings",
        lambda mod: on_prim_funcs(mod, lambda func: structural_map(func, (ir.For, change))),
    )


def _vector(stmt: Any, loop: Any, lanes: int) -> Any:
    def wide(expr: Any) -> Any:
        vector = value(expr)
        is_scalar = "x" not in dtype_of(vector)
        return ir.Broadcast(vector, lanes) if is_scalar else vector

    def value(expr: Any) -> Any:
        if isinstance(expr, tirx.IntImm | tirx.FloatImm):
            return expr
        if isinstance(expr, tirx.Var):
            if not expr.same_as(loop.loop_var):
                return expr
            return ir.Ramp(tirx.const(0, dtype_of(expr)), tirx.const(1, dtype_of(expr)), lanes)
        if isinstance(expr, ir.Add | ir.Sub | ir.Mul | ir.Min | ir.Max):
            return type(expr)(wide(expr.a), wide(expr.b))
        if isinstance(expr, ir.TensorLoad) and len(expr.indices) == 1:
            return ir.tensor_load(ir.tensor_of(expr), [value(expr.indices[0])])
        raise _Unfit

    if isinstance(stmt, ir.Bind):
        return ir.Bind(stmt.var, value(stmt.value))
    if isinstance(stmt, ir.BufferStore) and len(stmt.indices) == 1:
        index = value(stmt.indices[0])
        if "x" in dtype_of(index):
            return ir.BufferStore(stmt.buffer, wide(stmt.value), [index])
    raise _Unfit


# Buffers


def _sharing(name: str, fits: Callable[[Any, Any], bool], renamed: Any) -> tvm.transform.Pass:
    """In each sequence, a buffer takes the memory of one that is not used any more.

    Args:
        renamed: gives a statement with the second buffer in place of the first.
    """

    def shared(stmts: list[Any]) -> list[Any] | None:
        places = [i for i, stmt in enumerate(stmts) if isinstance(stmt, ir.AllocBuffer)]
        for early, late in itertools.permutations(places, 2):
            a, b = stmts[early].buffer, stmts[late].buffer
            last = max(i for i, stmt in enumerate(stmts) if uses(stmt, a))
            used = [i for i, stmt in enumerate(stmts) if i != late and uses(stmt, b)]
            if used and last < min(used) and fits(a, b):
                after = [renamed(s, b, a) if i in used else s for i, s in enumerate(stmts)]
                return after[:late] + after[late + 1 :]
        return None

    def change(seq: Any) -> Any:
        stmts = list(seq.seq)
        while (after := shared(stmts)) is not None:
            stmts = after
        return seq if len(stmts) == len(seq.seq) else sequence(stmts)

    return made(
        name,
        lambda mod: on_prim_funcs(mod, lambda func: structural_map(func, (ir.SeqStmt, change))),
    )


def shares_scratch_buffers() -> tvm.transform.Pass:
    """Buffers of one type of which one is needed after the other share their memory."""

    def fits(a: Any, b: Any) -> bool:
        return structural_equal(a.ty, b.ty)

    def renamed(stmt: Any, old: Any, new: Any) -> Any:
        def binding(bind: Any) -> Any:
            return ir.Bind(bind.var, substituted(bind.value, new, old))

        return structural_map(substituted(stmt, old, new), (ir.Bind, binding))

    return _sharing("ShareScratchBuffers", fits, renamed)


def reuses_small_buffers() -> tvm.transform.Pass:
    """A buffer takes the memory of an earlier one of its dtype and scope."""

    def fits(a: Any, b: Any) -> bool:
        same = a.ty.dtype == b.ty.dtype and a.ty.storage_scope == b.ty.storage_scope
        flat = len(a.ty.shape) == len(b.ty.shape) == 1 and not a.ty.strides and not b.ty.strides
        return bool(same and flat)

    return _sharing("ReuseSmallBuffers", fits, substituted)


def merges_conditions() -> tvm.transform.Pass:
    """Of two statements under equal conditions, one after the other, the second joins the first."""

    def change(seq: Any) -> Any:
        done: list[Any] = []
        for stmt in seq.seq:
            if done and _asks(done[-1], stmt):
                both = sequence([done[-1].then_case, stmt.then_case])
                done[-1] = ir.IfThenElse(stmt.condition, both, None)
            else:
                done.append(stmt)
        return seq if len(done) == len(seq.seq) else sequence(done)

    return made(
        "MergeConditions",
        lambda mod: on_prim_funcs(mod, lambda func: structural_map(func, (ir.SeqStmt, change))),
    )


def _asks(one: Any, other: Any) -> bool:
    """Both do something under the same condition, and nothing otherwise."""
    asks = all(isinstance(each, ir.IfThenElse) for each in (one, other))
    if not asks or one.else_case is not None or other.else_case is not None:
        return False
    return bool(structural_equal(one.condition, other.condition))


TILE = 8


def tiles_long_loops() -> tvm.transform.Pass:
    """Loops of at least two tiles become loops over tiles and loops over what is in one."""

    def change(loop: Any) -> Any:
        extent = number(loop.extent) or 0
        if not is_plain(loop) or number(loop.min) != 0 or extent < 2 * TILE:
            return loop
        dtype = dtype_of(loop.loop_var)
        zero, tile = tirx.const(0, dtype), tirx.const(TILE, dtype)
        outer, inner = tirx.Var("tile", dtype), tirx.Var("within", dtype)
        at = outer * tile + inner
        body = substituted(loop.body, loop.loop_var, at)
        if extent % (TILE // 2) != 0:
            body = ir.IfThenElse(at < loop.extent, body, None)
        tiles = tirx.const(-(-extent // TILE), dtype)
        nest = ir.For(inner, zero, tile, loop.kind, body)
        return ir.For(outer, zero, tiles, loop.kind, nest)

    return made(
        "TileLongLoops",
        lambda mod: on_prim_funcs(mod, lambda func: structural_map(func, (ir.For, change))),
    )


SPECIMENS: tuple[Specimen, ...] = (
    Specimen(
        factory=of(lowers_floor_division),
        family=Family.VALUES,
        fault="What it adds to make the dividend positive may overflow its dtype.",
        source="apache/tvm#18694: [BugFix][TIR] Fix incorrect optimization when lowering floordiv "
        "and floormod",
        stages=LOWERED,
        needs=("a floor division whose dividend has a lower bound", "a dividend near the maximum"),
    ),
    Specimen(
        factory=of(folds_scaled_remainders),
        family=Family.VALUES,
        fault="Takes the rest for smaller than the factor where it is smaller than the modulus.",
        source="apache/tvm#19978: [Arith] Fix const-int-bound modular-set tightening for "
        "Mod/FloorMod",
        stages=PLAIN,
        needs=("a remainder of a scaled index and a rest", "a rest that reaches the factor"),
    ),
    Specimen(
        factory=of(divides_comparisons),
        family=Family.VALUES,
        fault="Divides a comparison by a factor although the rest may be negative.",
        source="apache/tvm#18025: [ARITH] Fix canonical simplify for LE with incorrect range "
        "assumptions",
        stages=PLAIN,
        needs=("a comparison of a scaled index and a rest", "a rest below the limit's"),
    ),
    Specimen(
        factory=of(computes_in_narrow_types),
        family=Family.VALUES,
        fault="A sum or product of two int32 that is computed in int64 overflows in int32.",
        source="apache/tvm#13918: [Arith] ConstIntBound was incorrectly assuming bounds were over "
        "int64_t range",
        stages=FLAT,
        needs=("arithmetic on int32 values in int64", "values near the maximum of int32"),
    ),
    Specimen(
        factory=of(remembers_simplified),
        family=Family.STATE,
        fault="What is constant for the loop variables of one function is taken for constant in "
        "all that have variables of these names.",
        source="apache/tvm#20097: [Fix][Arith] Isolate Z3 contexts and make memoization "
        "deterministic",
        stages=PLAIN,
        needs=("a quotient that is constant", "the same text of longer loops, later"),
    ),
    Specimen(
        factory=of(partitions_loops),
        family=Family.VALUES,
        fault="One iteration too many is said to be certain where the factor does not divide the "
        "limit.",
        source="apache/tvm#2956: fixed a functional bug in loop partitioning algorithm that is "
        "exposed when double splitting with indivisible factors",
        stages=PLAIN,
        needs=("a condition on a scaled loop variable", "an indivisible limit"),
    ),
    Specimen(
        factory=of(hoists_conditions),
        family=Family.STRUCTURE,
        fault="Moves a condition out of the scope of a variable that is bound in the loop.",
        source="apache/tvm#18069: [TIR] Fix block access region detection for nested let bindings",
        stages=FLAT,
        needs=("a binding in a loop", "a condition on it, and nothing else"),
    ),
    Specimen(
        factory=of(vectorizes_bindings),
        family=Family.CRASH,
        fault="A variable that is bound to a vector stays one of a scalar.",
        source="apache/tvm#17039: [TIR] Fix Bug in VectorizeLoop",
        stages=FLAT,
        needs=("a vectorized loop", "a binding in it"),
    ),
    Specimen(
        factory=of(shares_scratch_buffers),
        family=Family.STRUCTURE,
        fault="What is bound to a variable still reads the buffer that is gone.",
        source="apache/tvm#12349: [FIX,STORAGE REWRITE] Rewrite buffers in let statements",
        stages=FLAT,
        needs=("two buffers of one type, one needed after the other", "a binding that reads one"),
    ),
    Specimen(
        factory=of(reuses_small_buffers),
        family=Family.VALUES,
        fault="The memory that is used again may be smaller than the buffer that takes it.",
        source="apache/tvm#1012: [PASS] Fix reuse small buffer in storage rewrite",
        stages=FLAT,
        needs=("two buffers, one needed after the other", "the second one larger"),
    ),
    Specimen(
        factory=of(merges_conditions),
        family=Family.VALUES,
        fault="The second condition is not asked again although the first statement changes it.",
        source="apache/tvm#15555: [Arith] Fix handling of overlapping predicates",
        stages=PLAIN,
        needs=("the same condition twice", "a store in between to what it reads"),
    ),
    Specimen(
        factory=of(tiles_long_loops),
        family=Family.VALUES,
        fault="The last tile is not guarded where half a tile divides the extent.",
        source="apache/tvm#17360: [FIX] fix bug when normalize iter with different lower bounds",
        stages=PLAIN,
        needs=("a loop of two tiles or more", "half a tile at its end"),
    ),
)
