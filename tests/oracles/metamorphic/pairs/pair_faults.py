"""Passes that go wrong on one side of a pair, and the modules that show it."""

# ruff: noqa: RET504  (TVMScript reads statements, it does not execute them)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

Pass = tvm.transform.Pass

STRANGE = "tests.same"


@tvm.register_global_func(STRANGE)
def _same(x: Any) -> Any:
    """A packed function that no evaluator knows."""
    return x


def symbolic() -> tvm.IRModule:
    """Symbolic shapes; the evaluator knows all of it."""

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n", 3), "float32"), y: R.Tensor(("n", 3), "float32")) -> R.Tensor(
            ("n", 3), "float32"
        ):
            with R.dataflow():
                a = R.subtract(x, y)
                b = R.add(a, y)
                gv = R.multiply(b, a)
                R.output(gv)
            return gv

    return Module


def strange() -> tvm.IRModule:
    """Symbolic shapes, a batch, and a function that the evaluator does not know."""

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n", 3), "float32"), w: R.Tensor((1, 3), "float32")) -> R.Tensor(
            ("n", 3), "float32"
        ):
            v = R.call_pure_packed("tests.same", w, ty_args=(R.Tensor((1, 3), "float32"),))
            a = R.nn.relu(x)
            b = R.subtract(a, v)
            return b

    return Module


def detours(steps: int = 60, first: int = 0) -> tvm.IRModule:
    """Many bindings, so that many rewrites are made somewhere; the names decide which."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3, 4), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            value = x
            for number in range(first, first + steps):
                value = builder.emit(relax.op.negative(value), f"step_{number}")
            value = builder.emit_output(value)
        builder.emit_func_output(value)
    return builder.finalize()


def joins() -> tvm.IRModule:
    """Four rewrites: two join tensors, one transposes."""
    return detours(12)


def choices() -> tvm.IRModule:
    """Four rewrites: one chooses by a condition, one flips."""
    return detours(13, first=32)


def _changing(name: str, op: str, change: Callable[[Any, Any], relax.Expr]) -> Pass:
    """Replaces calls of an operator by `change` of the call and the values of variables."""

    def transform(mod: tvm.IRModule, context: Any) -> tvm.IRModule:
        @relax.expr_functor.mutator
        class Mutator(relax.PyExprMutator):
            def visit_call_(self, call: relax.Call) -> relax.Expr:
                call = super().visit_call_(call)
                if isinstance(call.op, tvm.ir.Op) and call.op.name == op:
                    return change(call, self.lookup_binding)
                return call

        mutator = Mutator(mod)
        for gvar, func in mod.functions_items():
            if isinstance(func, relax.Function):
                mutator.builder_.update_func(gvar, mutator.visit_expr(func))
        return mutator.builder_.get().with_attrs(dict(mod.attrs) if mod.attrs else {})

    return tvm.transform.module_pass(transform, opt_level=0, name=name)


def _is_static(call: relax.Call) -> bool:
    return all(isinstance(dim, tvm.tirx.IntImm) for dim in call.ty.shape.values)


def swaps_where_shapes_are_static() -> Pass:
    def change(call: Any, lookup: Any) -> relax.Expr:
        return relax.op.subtract(call.args[1], call.args[0]) if _is_static(call) else call

    return _changing("SwapsStatic", "relax.subtract", change)


def swaps_where_shapes_are_symbolic() -> Pass:
    def change(call: Any, lookup: Any) -> relax.Expr:
        return call if _is_static(call) else relax.op.subtract(call.args[1], call.args[0])

    return _changing("SwapsSymbolic", "relax.subtract", change)


def mixes_the_batch() -> Pass:
    return _changing("MixesBatch", "relax.nn.relu", lambda c, lookup: relax.op.cumsum(c.args[0], 0))


def reverses_concat() -> Pass:
    def change(call: Any, lookup: Any) -> relax.Expr:
        parts = call.args[0]
        fields = (lookup(parts) if isinstance(parts, relax.Var) else parts).fields
        return relax.op.concat(list(reversed(fields)), call.attrs.axis)

    return _changing("ReversesConcat", "relax.concat", change)


def forgets_one_of_two_flips() -> Pass:
    def change(call: Any, lookup: Any) -> relax.Expr:
        inner = lookup(call.args[0])
        twice = isinstance(inner, relax.Call) and inner.op == call.op
        return call.args[0] if twice else call

    return _changing("OneFlip", "relax.flip", change)


def takes_the_wrong_operand() -> Pass:
    return _changing(
        "WrongOperand",
        "relax.where",
        lambda c, lookup: relax.op.where(c.args[0], c.args[2], c.args[1]),
    )


def transposes_with_the_inverse() -> Pass:
    def change(call: Any, lookup: Any) -> relax.Expr:
        axes = [int(axis) for axis in call.attrs.axes]
        twisted = relax.op.permute_dims(call.args[0], axes)
        if axes != [2, 0, 1]:
            return twisted
        return relax.op.reshape(relax.op.permute_dims(call.args[0], [0, 1, 2]), call.ty.shape)

    return _changing("SkipsTranspose", "relax.permute_dims", change)


def does_nothing() -> Pass:
    return tvm.transform.module_pass(lambda mod, context: mod, opt_level=0, name="DoesNothing")


def commutes() -> Pass:
    return _changing("Commutes", "relax.add", lambda c, lookup: relax.op.add(c.args[1], c.args[0]))


FAULTS: tuple[tuple[str, Callable[[], Pass], Callable[[], tvm.IRModule], str, str], ...] = (
    ("static-twin", swaps_where_shapes_are_static, symbolic, "SwapsStatic", "relax.subtract"),
    ("static-twin", swaps_where_shapes_are_symbolic, strange, "relax.subtract", "relax.subtract"),
    ("batch-permutation", mixes_the_batch, strange, "relax.nn.relu", "relax.nn.relu"),
    ("rewritten-twin", reverses_concat, joins, "ReversesConcat", "then concat"),
    ("rewritten-twin", forgets_one_of_two_flips, choices, "OneFlip", "flip twice"),
    ("rewritten-twin", takes_the_wrong_operand, choices, "WrongOperand", "where the condition"),
    ("rewritten-twin", transposes_with_the_inverse, joins, "SkipsTranspose", "permute_dims"),
)
"""Oracle, pass that it must catch, module that shows it, who is blamed, what the key names."""

CORRECT = (does_nothing, commutes)
