"""A module built again with other types, shapes, constants or calls, and all types inferred anew.

Subclasses of `Rebuild` say what is to be other; what follows from that is worked out here. What
was annotated with less than could be inferred keeps its weaker annotation where that still fits.
"""

from __future__ import annotations

from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import GenericConst, GlobalVar, Op, PrimType

from . import edit


class Unfit(Exception):
    """The module cannot be like that: an operator refuses its operands, say."""


class Rebuild:
    """One run over a module. As it stands it changes nothing."""

    def __init__(self, mod: tvm.IRModule) -> None:
        self.mod = mod
        self.names: dict[str, GlobalVar] = {}
        """The GlobalVars of the new module, by their old names."""
        self._functions: dict[str, Any] = {}
        self._vars: dict[int, Any] = {}
        self._memo: dict[int, tuple[Any, Any]] = {}
        self._begun: set[str] = set()
        self._calls: dict[str, set[str]] = {}
        self._builder = relax.BlockBuilder()

    # What subclasses override

    def dim(self, expr: Any) -> Any:
        """A dimension, or a primitive value among operands."""
        return expr

    def tensor(self, ty: relax.TensorType) -> relax.TensorType:
        """A tensor's type, its dimensions done."""
        return ty

    def constant(self, const: GenericConst) -> Any:
        """A constant tensor."""
        return const

    def dtype(self, const: GenericConst) -> Any:
        """A dtype among operands."""
        return const

    def call(self, call: relax.Call, args: list[Any]) -> Any:
        """A call of an operator or function, its arguments done."""
        return relax.Call(call.op, args, call.attrs, [self.ty(ty) for ty in call.ty_args])

    def item(self, expr: relax.TupleGetItem) -> Any:
        """A field of a tuple; of one that is spelled out, the field itself."""
        value = self.expr(expr.tuple_value)
        if isinstance(value, relax.Tuple):
            return value.fields[expr.index]
        return relax.TupleGetItem(value, expr.index)

    def prim_func(self, func: tirx.PrimFunc) -> tirx.PrimFunc:
        """A PrimFunc."""
        return func

    def params(self, name: str, func: relax.Function) -> list[Any]:
        """The parameters of a function of the module; those that go, `stand` for something."""
        return [self.variable(param) for param in func.params]

    def result(self, name: str, value: Any) -> Any:
        """What a function of the module returns."""
        return value

    def annotation(self, owner: Any, old: Any, now: Any) -> Any:
        """The type of a variable, or of a function's result.

        Args:
            owner: the variable or function, as it was.
            old: its type so far.
            now: the type that is inferred for its value.
        """
        kept = self.ty(old)
        if tvm_ffi.structural_equal(kept, now):
            return now  # one node for both, as is usual
        return kept if kept.is_base_of(now) else now

    # The walk

    def run(self) -> tvm.IRModule | None:
        """The module built again; None where it cannot be like that, or comes out the same."""
        functions = {str(gvar.name_hint): func for gvar, func in self.mod.functions_items()}
        self.names = {name: GlobalVar(name) for name in functions}
        self._calls = {
            name: edit.references(func) & functions.keys() for name, func in functions.items()
        }
        try:
            for name in functions:
                self._ensure(name)
        except Unfit:
            return None
        new = {gvar: self._functions[name] for name, gvar in self.names.items()}
        made = tvm.IRModule(new, attrs=self.mod.attrs, global_infos=self.mod.global_infos)
        return None if tvm_ffi.structural_equal(self.mod, made, map_free_vars=True) else made

    def stand(self, var: Any, value: Any) -> None:
        """From here on the variable stands for this value."""
        self._vars[hash(var)] = value

    def standing(self, var: Any) -> Any:
        """What the variable stands for now."""
        return self._vars.get(hash(var), var)

    def variable(self, var: Any, ty: Any = None) -> Any:
        """The new variable in place of an old one, with this type."""
        if isinstance(var.ty, PrimType):
            return var  # it may stand in shapes
        new = type(var)(var.name, self.ty(var.ty) if ty is None else ty)
        if isinstance(var, relax.DataflowVar):
            new = relax.DataflowVar(var.name, new.ty)
        self.stand(var, new)
        return new

    def _ensure(self, name: str) -> None:
        """Build that function, and before it those that it calls: their results have types."""
        if name in self._begun:
            return
        self._begun.add(name)
        func = self.mod[name]
        if isinstance(func, relax.Function):
            outer, self._vars = self._vars, {}
            params = self.params(name, func)
            if name in self._reached(name):
                types = [param.ty for param in params]
                self._typed(name, relax.FuncType(types, self.ty(func.ret_ty), self.pure(func)))
            for other in sorted(self._calls[name]):
                self._ensure(other)
            func = self._function(func, params, name)
            self._vars = outer
        elif isinstance(func, tirx.PrimFunc):
            func = self.prim_func(func)
            if self._calls[name]:
                func = tvm_ffi.structural_map(func, (GlobalVar, self.expr))
        self._functions[name] = func
        self._typed(name, func.ty)

    def _reached(self, name: str) -> set[str]:
        reached: set[str] = set()
        todo = [name]
        while todo:
            new = self._calls[todo.pop()] - reached
            reached |= new
            todo += new
        return reached

    def _typed(self, name: str, ty: Any) -> None:
        """A type is given once, to a recursive function before its body is known."""
        gvar = self.names[name]
        if gvar.ty.is_missing():
            relax.expr._update_type(gvar, ty)
        elif not tvm_ffi.structural_equal(gvar.ty, ty, map_free_vars=True):
            raise Unfit(f"the result of {name}, which is recursive, is another than expected")

    def _function(self, func: relax.Function, params: list[Any], name: str | None) -> Any:
        if not isinstance(func.body, relax.SeqExpr):
            raise Unfit("a function without blocks")
        body = self._seq(func.body, name)
        ret_ty = self.annotation(func, func.ret_ty, body.ty)
        return relax.Function(params, body, ret_ty, self.pure(func), self.attrs(name, func))

    def attrs(self, name: str | None, func: relax.Function) -> Any:
        """The attributes of a Relax function; local ones have no name."""
        return func.attrs

    def pure(self, func: relax.Function) -> bool:
        """Whether it says that it has no side effects."""
        return bool(func.is_pure)

    def _seq(self, seq: relax.SeqExpr, name: str | None = None) -> relax.SeqExpr:
        blocks = []
        for block in seq.blocks:
            bindings = [self._binding(binding) for binding in block.bindings]
            kind = (
                relax.DataflowBlock
                if isinstance(block, relax.DataflowBlock)
                else relax.BindingBlock
            )
            blocks.append(kind([b for b in bindings if b is not None]))
        ret = self.expr(seq.body)
        if name is not None:
            ret = self.result(name, ret)
        body = relax.SeqExpr(blocks, ret)
        relax.expr._update_type(body, ret.ty)
        return body

    def _binding(self, binding: Any) -> Any:
        if isinstance(binding, relax.MatchCast):
            value = self.expr(binding.value)
            ty = self.ty(binding.ty)
            if _at_odds(value.ty, ty) and not _at_odds(binding.value.ty, binding.ty):
                raise Unfit(f"no {value.ty} is a {ty}")
            return relax.MatchCast(self.variable(binding.var, ty), value, ty)
        old = binding.value
        if isinstance(old, relax.Function) and hash(binding.var) in edit.used_vars([old]):
            var = self.variable(binding.var)
            return relax.VarBinding(var, self.expr(old))
        value = self.expr(old)
        ty = self.annotation(binding.var, binding.var.ty, value.ty)
        return relax.VarBinding(self.variable(binding.var, ty), value)

    def expr(self, expr: Any) -> Any:
        """An expression."""
        if isinstance(expr, tvm.ir.Var):
            return self._vars[hash(expr)] if hash(expr) in self._vars else self._operand(expr)
        match expr:
            case GlobalVar():
                return self.names.get(str(expr.name_hint), expr)
            case GenericConst():
                return self._once(expr, self._constant)
            case relax.ShapeExpr():
                return self._shape(expr)
            case relax.Call() if not isinstance(expr.ty, PrimType) or not _is_prim(expr.op):
                return self.inferred(self.call(self._callee(expr), [*map(self.expr, expr.args)]))
            case relax.Tuple():
                return self.inferred(relax.Tuple([self.expr(field) for field in expr.fields]))
            case relax.TupleGetItem():
                return self.inferred(self.item(expr))
            case relax.If():
                branches = (self._seq(b) for b in (expr.true_branch, expr.false_branch))
                return self.inferred(relax.If(self.expr(expr.cond), *branches))
            case relax.Function():
                return self._function(expr, [self.variable(p) for p in expr.params], None)
            case relax.SeqExpr():
                return self._seq(expr)
        return self._operand(expr)

    def _constant(self, const: GenericConst) -> Any:
        return (self.constant if isinstance(const.ty, relax.TensorType) else self.dtype)(const)

    def _operand(self, expr: Any) -> Any:
        return self.dim(expr) if isinstance(expr.ty, PrimType) else expr

    def _callee(self, call: relax.Call) -> relax.Call:
        op = call.op if isinstance(call.op, Op) else self.expr(call.op)
        return call if op.same_as(call.op) else relax.Call(op, call.args, call.attrs, call.ty_args)

    def inferred(self, expr: Any) -> Any:
        """The expression with its type."""
        if not isinstance(expr, relax.Call | relax.Tuple | relax.TupleGetItem | relax.If):
            return expr
        try:
            made = self._builder.normalize(expr)
        except Exception as error:  # operators refuse in all kinds of ways
            raise Unfit(str(error)) from error
        if negative(made.ty):
            raise Unfit(f"a dimension is negative: {made.ty}")
        return made

    # Types

    def ty(self, ty: Any) -> Any:
        """A type."""
        match ty:
            case relax.TensorType():
                return self._once(ty, self._tensor)
            case tvm.ir.TupleType():
                return self._once(ty, self._tuple_type)
            case relax.ShapeType() if ty.values is not None:
                return relax.ShapeType([self.dim(dim) for dim in ty.values])
            case relax.FuncType() if ty.params is not None:
                params = [self.ty(param) for param in ty.params]
                return relax.FuncType(params, self.ty(ty.ret), ty.purity)
        return ty

    def _tuple_type(self, ty: Any) -> Any:
        return tvm.ir.TupleType([self.ty(field) for field in ty.fields])

    def _tensor(self, ty: relax.TensorType) -> relax.TensorType:
        if ty.shape is None:
            return self.tensor(ty)
        shape = self.expr(ty.shape)
        if not shape.same_as(ty.shape):
            ty = relax.TensorType(shape, ty.dtype, ty.vdevice)
        return self.tensor(ty)

    def _shape(self, shape: relax.ShapeExpr) -> relax.ShapeExpr:
        return self._once(
            shape,
            lambda shape: relax.ShapeExpr([self.dim(dim) for dim in shape.values]),
        )

    def _once(self, node: Any, make: Any) -> Any:
        """What is shared stays shared."""
        address = node.__chandle__()  # types have no hash
        if address not in self._memo:
            self._memo[address] = (node, make(node))  # the node is kept alive: so is its address
        return self._memo[address][1]


def negative(ty: Any) -> bool:
    """A dimension is below zero. Inference finds nothing wrong with that."""
    shape = ty.shape if isinstance(ty, relax.TensorType) else None
    return isinstance(shape, relax.ShapeExpr) and any(
        isinstance(dim, tirx.IntImm) and dim.value < 0 for dim in shape.values
    )


def _at_odds(ty: Any, other: Any) -> bool:
    """No tensor has both types: a dimension is one number here and another there."""
    shapes = [t.shape if isinstance(t, relax.TensorType) else None for t in (ty, other)]
    dims = [list(s.values) if isinstance(s, relax.ShapeExpr) else [] for s in shapes]
    return any(
        isinstance(a, tirx.IntImm) and isinstance(b, tirx.IntImm) and a.value != b.value
        for a, b in zip(*dims, strict=False)
    )


def _is_prim(op: Any) -> bool:
    """An operator of primitive expressions, which stand in shapes: `T.shift_left(n, 1)`."""
    return isinstance(op, Op) and not str(op.name).startswith("relax.")
