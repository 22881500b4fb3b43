"""Passes that raise, die, hang or eat memory."""

from __future__ import annotations

import os
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

from relaxfuzz.compat import ir
from relaxfuzz.generators.rewrite.nodes import with_parts
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.inspect import (
    attr,
    blocks_of,
    nodes,
    op_name,
)

from ..specimen import Family, Specimen, of
from .tools import made, on_calls, on_functions, on_prim_funcs


def counts_in_place() -> tvm.transform.Pass:
    """Notes how many tensors of dataflow blocks their only user could overwrite.

    It dereferences null where a block begins with a match_cast of a tensor with no other use.
    """

    def candidates(block: relax.DataflowBlock) -> int:
        users: dict[relax.Var, list[Any]] = {}
        in_tuples: set[relax.Var] = set()
        user = None
        for binding in block.bindings:
            if isinstance(binding, relax.VarBinding):
                user = binding.var
            for var in nodes(binding.value, relax.Var):
                if isinstance(var.ty, relax.TensorType):
                    users.setdefault(var, []).append(user)
                    if not isinstance(binding.var.ty, relax.TensorType):
                        in_tuples.add(var)
        return sum(
            tvm_ffi.structural_equal(relax.get_shape_of(var), relax.get_shape_of(uses[0]))
            for var, uses in users.items()
            if len(uses) == 1 and var not in in_tuples
        )

    def change(func: relax.Function) -> relax.Function:
        blocks = [block for block in blocks_of(func) if isinstance(block, relax.DataflowBlock)]
        return func.with_attr("in_place", sum(map(candidates, blocks))) if blocks else func

    return made("counts_in_place", lambda mod: on_functions(mod, change))


def vector_widths() -> tvm.transform.Pass:
    """Notes on each PrimFunc the widest vector that fits into its innermost loops."""

    def width(extent: int) -> int:
        lanes = 1
        while extent % (2 * lanes) == 0:
            lanes *= 2
        return min(lanes, 16)

    def change(func: tirx.PrimFunc) -> tirx.PrimFunc:
        extents = [
            int(loop.extent.value)
            for loop in nodes(func, ir.For)
            if isinstance(loop.extent, tirx.IntImm) and not nodes(loop.body, ir.For)
        ]
        return func.with_attr("vector_width", min(map(width, extents))) if extents else func

    return made("VectorWidths", lambda mod: on_prim_funcs(mod, change))


def unnegates_conditions() -> tvm.transform.Pass:
    """Turns `if not c: a else: b` into `if c: b else: a`, until nothing is left to do."""

    @relax.expr_functor.mutator
    class Mutator(relax.PyExprMutator):  # type: ignore[misc]  # TVM has no types
        changed = False

        def visit_if_(self, op: relax.If) -> relax.Expr:
            new = super().visit_if_(op)
            self.changed = True
            negated = self.lookup_binding(new.cond) if isinstance(new.cond, relax.Var) else new
            if op_name(negated) != "relax.logical_not":
                return new
            (cond,) = negated.args
            if isinstance(cond, relax.DataflowVar):
                return new  # it is not visible here
            return relax.If(cond, new.false_branch, new.true_branch)

    def change(func: relax.Function) -> relax.Function:
        while True:
            mutator = Mutator()
            new = mutator.visit_expr(func)
            if not mutator.changed:
                return func
            func = new

    return made("UnnegateConditions", lambda mod: on_functions(mod, change))


def notes_wide_arithmetic() -> tvm.transform.Pass:
    """Notes on PrimFuncs of bfloat16 whether their target computes it in float32."""

    def checked(target: tvm.target.Target | None) -> tvm.target.Target:
        """What `std::optional::value()` does where the exception is not caught."""
        if target is None:
            os.abort()
        return target

    def change(func: tirx.PrimFunc) -> tirx.PrimFunc:
        buffers = [p.ty for p in func.params if isinstance(p.ty, tirx.BufferType)]
        if not any(str(buffer.dtype) == "bfloat16" for buffer in buffers):
            return func
        target = checked(attr(func, "target"))
        return func.with_attr("wide_arithmetic", target.kind.name != "cuda")

    return made("NoteWideArithmetic", lambda mod: on_prim_funcs(mod, change))


def notes_iterators() -> tvm.transform.Pass:
    """Notes on each PrimFunc which kinds of iterators it has, and refuses a note that is wrong."""

    def change(func: tirx.PrimFunc) -> tirx.PrimFunc:
        kinds = [
            "R" if iterator.iter_type == tirx.IterVar.CommReduce else "S"
            for block in nodes(func, ir.SBlock)
            for iterator in block.iter_vars
        ]
        known = attr(func, "iterators")
        if known is not None and str(known) != "".join(kinds):
            raise RuntimeError(f"Check failed: known == kinds ({known} vs. {''.join(kinds)})")
        return func.with_attr("iterators", "".join(sorted(set(kinds))))

    return made("NoteIterators", lambda mod: on_prim_funcs(mod, change))


def squeezes_by_reshape() -> tvm.transform.Pass:
    """Replaces the operators that add and drop dimensions of size 1 by reshape."""

    def change(call: relax.Call) -> relax.Expr | None:
        if not isinstance(call.ty.shape, relax.ShapeExpr) or call.ty.vdevice is not None:
            return None
        sizes = [int(size) for size in call.ty.shape.values]
        return relax.op.reshape(call.args[0], sizes) if 0 not in sizes else None

    ops = ("relax.squeeze", "relax.expand_dims", "relax.flatten")
    return made("SqueezesByReshape", lambda mod: on_calls(mod, change, *ops))


def operands_in_order() -> tvm.transform.Pass:
    """Puts the operands of sums and products in the order in which they are defined."""

    def is_tensor(arg: relax.Expr) -> bool:
        return isinstance(arg, relax.Var) and isinstance(arg.ty, relax.TensorType)

    def change(func: relax.Function) -> relax.Function:
        if nodes(func.body, relax.Function):
            return func  # a closure sees the variables of two functions
        bound = [binding.var for block in func.body.blocks for binding in block.bindings]
        place = {var: i for i, var in enumerate([*func.params, *bound])}

        @relax.expr_functor.mutator
        class Mutator(relax.PyExprMutator):  # type: ignore[misc]  # TVM has no types
            changed = False

            def visit_call_(self, call: relax.Call) -> relax.Expr:
                commutes = op_name(call) in ("relax.add", "relax.multiply")
                if commutes and all(map(is_tensor, call.args)):
                    first, second = call.args
                    if place[first] > place[second]:
                        self.changed = True
                        call = relax.Call(call.op, [second, first], call.attrs, call.ty_args)
                return super().visit_call_(call)

        mutator = Mutator()
        new = mutator.visit_expr(func)
        return new if mutator.changed else func

    return made("OperandsInOrder", lambda mod: on_functions(mod, change))


def writes_out_tuples() -> tvm.transform.Pass:
    """Returns a tuple that is a variable field by field, for what fuses into the tuple."""

    def change(func: relax.Function) -> relax.Function:
        result = func.body.body
        if not isinstance(result, relax.Var) or not isinstance(result.ty, relax.TupleType):
            return func
        builder = relax.BlockBuilder()
        bindings: list[relax.Binding] = []

        def written_out(expr: relax.Expr) -> relax.Expr:
            if isinstance(getattr(expr.ty, "shape", None), relax.ShapeExpr):
                return expr  # a tensor
            try:
                fields = list(expr)
            except TypeError:
                return expr  # a shape, a closure: nothing that has fields
            for i, field in enumerate(fields):
                value = builder.normalize(field)
                var = relax.Var(f"field{i}", value.ty)
                bindings.append(relax.VarBinding(var, value))
                fields[i] = written_out(var)
            return relax.Tuple(fields)

        fields = written_out(result)
        body = relax.SeqExpr([*func.body.blocks, relax.BindingBlock(bindings)], fields)
        return with_parts(func, body=builder.normalize(body))

    return made("WriteOutTuples", lambda mod: on_functions(mod, change))


SPECIMENS: tuple[Specimen, ...] = (
    Specimen(
        factory=of(vector_widths),
        family=Family.CRASH,
        fault="hangs where a PrimFunc has a loop of no iterations: every width divides 0",
        source="apache/tvm#19958: [Relax] Fix divide-by-zero in reshape pattern detection",
        stages=(Stage.LEGALIZED, Stage.TIR_FUSED),
    ),
    Specimen(
        factory=of(unnegates_conditions),
        family=Family.CRASH,
        fault="hangs where a function has an If: each counts as changed, so the end never comes",
        source="apache/tvm#5680: [Relay] Fix dataflow_pattern.rewrite() hang if Match in IR",
    ),
    Specimen(
        factory=of(notes_wide_arithmetic),
        family=Family.CRASH,
        fault="aborts the process at a PrimFunc of bfloat16 that names no target",
        source="apache/tvm#19383: [BugFix][TIRx] Fix bad-optional-access in BF16/FP8 legalize "
        "passes for target-less PrimFuncs",
        stages=(Stage.LEGALIZED, Stage.TIR_FUSED),
    ),
    Specimen(
        factory=of(notes_iterators),
        family=Family.CRASH,
        fault="raises when it runs a second time, where a PrimFunc repeats a kind of iterator: "
        "it compares its shortened note with the full list",
        source="apache/tvm#17200: [Bug] [Relax] InternalError: Check failed: (*it).second == var "
        "(LiftTransformParams twice)",
        stages=(Stage.LEGALIZED, Stage.ANNOTATED),
    ),
    Specimen(
        factory=of(squeezes_by_reshape),
        family=Family.CRASH,
        fault="raises TypeError where the result has a symbolic dimension",
        source="apache/tvm#16591: [Unity][Transform] Handle dynamic shapes in "
        "CombineParallelMatmul",
        needs=("squeeze, expand_dims or flatten", "symbolic shapes"),
    ),
    Specimen(
        factory=of(operands_in_order),
        family=Family.CRASH,
        fault="raises KeyError at a sum of what is defined in the branch of an If",
        source="apache/tvm#17501: Fix InternalError in StaticPlanBlockMemory when visiting "
        "DataflowBlockNode",
        needs=("If", "a sum or product of local variables in a branch"),
    ),
    Specimen(
        factory=of(counts_in_place),
        family=Family.CRASH,
        fault="dereferences null where the first binding of a dataflow block is a match_cast of a "
        "tensor with no other use",
        source="apache/tvm#17226: [Relax] Fix segfault in rewrite_bindings for MatchCast node",
        needs=("dataflow block", "match_cast as its first binding"),
    ),
    Specimen(
        factory=of(writes_out_tuples),
        family=Family.CRASH,
        fault="hangs and fills memory where a returned tuple holds a tensor of unknown shape: a "
        "tensor gives an item for every index",
        source="apache/tvm#19380: [BugFix][TOPI] Fix get_const_tuple hanging indefinitely when "
        "passed a te.Tensor",
        needs=("a variable of tuple type is returned", "incomplete types"),
    ),
)
