"""A Relax function built again, node by node, with changes on the way; no pass of TVM is used.

A check must not lean on the mutators and passes that it may be checking. Types of calls are
inferred anew; variables keep the types that they were declared with.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax, tirx

from ...errors import Unsupported

_LEAVES = (
    tvm.ir.GlobalVar,
    tvm.ir.Op,
    tvm.ir.GenericConst,
    tvm.ir.StringImm,
    relax.ExternFunc,
    tirx.IntImm,
    tirx.FloatImm,
)


class Rebuild:
    """Builds functions again; subclasses say what changes.

    Args:
        mod: the module that the functions are of, for the types of what they call.
    """

    def __init__(self, mod: tvm.IRModule) -> None:
        self.builder = relax.BlockBuilder(mod)
        self.vars: dict[relax.Var, relax.Expr] = {}
        """What stands for a variable of the old function, where it is not that variable."""

    # What subclasses change

    def dim(self, dim: tirx.Expr) -> tirx.Expr:
        """A dimension, in a shape or type."""
        return dim

    def binding(self, binding: relax.Binding, dataflow: bool) -> list[relax.Binding]:
        """One binding, of which several may become."""
        value = self.expr(binding.value)
        if isinstance(binding, relax.MatchCast):
            return [relax.MatchCast(self.defined(binding.var), value, self.type(binding.ty))]
        return [relax.VarBinding(self.defined(binding.var), value)]

    # The rest

    def function(self, func: relax.Function) -> relax.Function:
        """The function, built again.

        Raises:
            Unsupported: it holds an expression that is not known here.
        """
        return self.builder.normalize(self._function(func))

    def _function(self, func: relax.Function) -> relax.Function:
        params = [self.defined(param) for param in func.params]
        body = self.expr(func.body)
        return relax.Function(params, body, self.type(func.ret_ty), func.is_pure, func.attrs)

    def defined(self, var: relax.Var) -> relax.Var:
        """The variable that is defined where the old one was: the same, if its type is."""
        ty = self.type(var.ty)
        if ty is var.ty:
            return var
        new = type(var)(str(var.name), ty)
        self.vars[var] = new
        return new

    def expr(self, expr: Any) -> Any:
        """An expression; symbolic dimensions are expressions, too."""
        if isinstance(expr, relax.Var):
            return self.vars[expr] if expr in self.vars else self.dim(expr)
        if isinstance(expr, relax.SeqExpr):
            return self.seq(expr)
        if isinstance(expr, relax.Call):
            if isinstance(expr.op, tvm.ir.Op) and not expr.op.name.startswith("relax."):
                return self.dim(expr)
            op, args = self.expr(expr.op), [self.expr(arg) for arg in expr.args]
            return relax.Call(op, args, expr.attrs, [self.type(ty) for ty in expr.ty_args])
        if isinstance(expr, relax.If):
            return relax.If(*map(self.expr, (expr.cond, expr.true_branch, expr.false_branch)))
        if isinstance(expr, relax.Function):
            return self._function(expr)
        if isinstance(expr, relax.Tuple):
            return relax.Tuple([self.expr(field) for field in expr.fields])
        if isinstance(expr, relax.TupleGetItem):
            return relax.TupleGetItem(self.expr(expr.tuple_value), expr.index)
        if isinstance(expr, relax.ShapeExpr):
            return relax.ShapeExpr([self.dim(dim) for dim in expr.values])
        if isinstance(expr, _LEAVES):
            return expr
        return self.dim(expr)

    def seq(self, expr: relax.SeqExpr) -> relax.SeqExpr:
        """Blocks of bindings and what they are for."""
        blocks = []
        for block in expr.blocks:
            dataflow = isinstance(block, relax.DataflowBlock)
            bindings = [new for old in block.bindings for new in self.binding(old, dataflow)]
            blocks.append(type(block)(bindings))
        return relax.SeqExpr(blocks, self.expr(expr.body))

    def type(self, ty: relax.Type) -> relax.Type:
        """A type; the very same where nothing in it changes."""
        if isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.ShapeExpr):
            dims = self._dims(ty.shape.values)
            return ty if dims is None else relax.TensorType(dims, ty.dtype, ty.vdevice)
        if isinstance(ty, relax.ShapeType) and ty.values is not None:
            dims = self._dims(ty.values)
            return ty if dims is None else relax.ShapeType(dims)
        if isinstance(ty, relax.TupleType):
            fields = [self.type(field) for field in ty.fields]
            same = all(a is b for a, b in zip(fields, ty.fields, strict=True))
            return ty if same else relax.TupleType(fields)
        if isinstance(ty, relax.FuncType) and ty.params is not None:
            params, ret = [self.type(param) for param in ty.params], self.type(ty.ret)
            same = all(a is b for a, b in zip(params, ty.params, strict=True)) and ret is ty.ret
            return ty if same else relax.FuncType(params, ret, ty.purity)
        if isinstance(ty, relax.TensorType) and ty.shape is not None:
            raise Unsupported(f"a tensor's shape that is a {type(ty.shape).__name__}")
        return ty

    def _dims(self, dims: Any) -> list[tirx.Expr] | None:
        """The new dimensions; None where they are the old ones."""
        new = [self.dim(dim) for dim in dims]
        return None if all(a.same_as(b) for a, b in zip(new, dims, strict=True)) else new
