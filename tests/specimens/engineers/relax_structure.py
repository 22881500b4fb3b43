"""Passes on bindings, blocks and branches of Relax, with one mistake each."""

from __future__ import annotations

import tvm
import tvm_ffi
from helpers import each_function, made, same_type, updates_in_place
from tvm import relax

Constant = type(relax.const(0))


def sink_into_branch() -> tvm.transform.Pass:
    """A value that a later block uses, too, moves into the branch of an If that uses it."""

    def sunk(block: relax.BindingBlock, result: relax.Expr) -> relax.BindingBlock:
        bindings = list(block.bindings)
        for at in reversed(range(len(bindings))):
            binding, rest = bindings[at], range(at + 1, len(bindings))
            users = [i for i in rest if uses(bindings[i].value, binding.var)]
            if not movable(binding) or len(users) != 1 or uses(result, binding.var):
                continue
            branching = bindings[users[0]].value
            if not isinstance(branching, relax.If) or uses(branching.cond, binding.var):
                continue
            if uses(branching.false_branch, binding.var):
                continue
            then = branching.true_branch
            seq = relax.SeqExpr([relax.BindingBlock([binding]), *then.blocks], then.body)
            new = relax.If(branching.cond, typed(seq, then), branching.false_branch)
            bindings[users[0]] = relax.VarBinding(bindings[users[0]].var, typed(new, branching))
            del bindings[at]
        return relax.BindingBlock(bindings)

    def uses(expr: relax.Expr, var: relax.Var) -> bool:
        return any(var.same_as(free) for free in relax.analysis.free_vars(expr))

    def movable(binding: relax.Binding) -> bool:
        if not isinstance(binding, relax.VarBinding) or not isinstance(binding.value, relax.Call):
            return False
        op, tensor = binding.value.op, isinstance(binding.var.ty, relax.TensorType)
        return tensor and isinstance(op, tvm.ir.Op) and bool(op.get_attr("FPurity"))

    def in_function(func: relax.Function) -> relax.Function:
        seq = func.body
        blocks = [
            b if isinstance(b, relax.DataflowBlock) else sunk(b, seq.body) for b in seq.blocks
        ]
        body = typed(relax.SeqExpr(blocks, seq.body), seq)
        return relax.Function(func.params, body, func.ret_ty, func.is_pure, func.attrs)

    return made(
        "SinkIntoBranch",
        lambda mod: mod if updates_in_place(mod) else each_function(mod, in_function),
    )


def typed(new: relax.Expr, old: relax.Expr) -> relax.Expr:
    """The new node with the type of the old one."""
    relax.expr._update_type(new, old.ty)
    return new


def rebuild_tuples() -> tvm.transform.Pass:
    """A tuple of the first fields of a longer tuple is taken for that one."""

    @relax.expr_functor.mutator
    class Rebuilder(relax.PyExprMutator):  # type: ignore[misc]
        def visit_var_binding_(self, binding: relax.VarBinding) -> None:
            whole = self.origin(binding.value) if isinstance(binding.value, relax.Tuple) else None
            if whole is not None:
                binding = relax.VarBinding(binding.var, whole)
            super().visit_var_binding_(binding)

        def origin(self, value: relax.Tuple) -> relax.Var | None:
            fields = [self.visit_expr(field) for field in value.fields]
            if not fields or not all(isinstance(field, relax.Var) for field in fields):
                return None
            items = [self.lookup_binding(field) for field in fields]
            if not all(isinstance(item, relax.TupleGetItem) for item in items):
                return None
            whole = items[0].tuple_value
            if not isinstance(whole, relax.Var) or not isinstance(whole.ty, relax.TupleType):
                return None
            for index, (field, item) in enumerate(zip(fields, items, strict=True)):
                if item.index != index or not item.tuple_value.same_as(whole):
                    return None
                if not tvm_ffi.structural_equal(field.ty, whole.ty.fields[index]):
                    return None
                # a dataflow variable is not visible behind its block
                if isinstance(whole, relax.DataflowVar) > isinstance(field, relax.DataflowVar):
                    return None
            return whole

    return made(
        "RebuildTuples",
        lambda mod: each_function(mod, lambda func: Rebuilder(mod).visit_expr(func)),
    )


def propagate_copies() -> tvm.transform.Pass:
    """A call in which a copy is replaced by its original loses its type arguments."""

    @relax.expr_functor.mutator
    class Propagator(relax.PyExprMutator):  # type: ignore[misc]
        def visit_var_binding_(self, binding: relax.VarBinding) -> None:
            super().visit_var_binding_(binding)
            value = self.visit_expr(binding.value) if isinstance(binding.value, relax.Var) else None
            if value is None or not same_type(value, binding.var):
                return
            # a dataflow variable is not visible behind its block
            if isinstance(value, relax.DataflowVar) <= isinstance(binding.var, relax.DataflowVar):
                self.set_var_remap(binding.var, value)

        def visit_call_(self, call: relax.Call) -> relax.Expr:
            op, args = self.visit_expr(call.op), [self.visit_expr(arg) for arg in call.args]
            same = all(new.same_as(old) for new, old in zip(args, call.args, strict=True))
            if same and op.same_as(call.op):
                return call
            return relax.Call(op, args, call.attrs)

    return made(
        "PropagateCopies",
        lambda mod: each_function(mod, lambda func: Propagator(mod).visit_expr(func)),
    )


def inline_bound_constants() -> tvm.transform.Pass:
    """Another variable of the same name as one that is a constant is replaced by it, too."""

    @relax.expr_functor.mutator
    class Inliner(relax.PyExprMutator):  # type: ignore[misc]
        def __init__(self, mod: tvm.IRModule) -> None:
            super().__init__(mod)
            self.constants: dict[str, relax.Expr] = {}

        def visit_var_binding_(self, binding: relax.VarBinding) -> None:
            if isinstance(binding.value, Constant) and same_type(binding.value, binding.var):
                self.constants[binding.var.name] = binding.value
            super().visit_var_binding_(binding)

        def visit_call_(self, call: relax.Call) -> relax.Expr:
            call = self.visit_expr_post_order(call)
            if not isinstance(call.op, tvm.ir.Op):
                return call
            args = [
                self.constants.get(arg.name, arg) if isinstance(arg, relax.Var) else arg
                for arg in call.args
            ]
            return relax.Call(call.op, args, call.attrs, call.ty_args)

    return made(
        "InlineBoundConstants",
        lambda mod: (
            mod
            if updates_in_place(mod)
            else each_function(mod, lambda func: Inliner(mod).visit_expr(func))
        ),
    )
