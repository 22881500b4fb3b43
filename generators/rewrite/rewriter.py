"""Rewrite a module in one walk, inferring all types again, without passes of TVM.

Subclasses of `Rewriter` override hooks for their changes. The rewriter updates everything that
depends on a change: the types of users of a changed value, the GlobalVars of functions whose type
changed, and the functions that call those. Everything else stays the same node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import GlobalVar, PrimType

from ...compat import ir
from ...compat.structural import structural_map
from .nodes import (
    all_same,
    contradict,
    equal_types,
    global_var,
    global_vars,
    has_negative_dim,
    is_prim_op,
    reachable,
    references,
    same_attrs,
    same_functions,
    substitute_by_hash,
    used_vars,
    with_functions,
    with_type,
    without_type,
    without_undefined_dims,
)

ROUNDS = 3
"""The limit, on average, of typing a function again: types may change one another for ever."""

Blocks: TypeAlias = list[tuple[bool, list[Any]]]
"""The blocks written so far: a flag for dataflow blocks, and the bindings of each."""


class CannotRewrite(Exception):
    """The rewritten module cannot exist, for example because an operator refuses its operands."""


class Rewriter:
    """One walk over a module. Without a subclass it changes nothing.

    Attributes:
        name: the function of the module that is being rewritten.
        gvars: the new GlobalVars, by name, of functions whose type changed.
        vars: replacements of the old function's variables, by the variable's hash, in terms of new
            variables: a symbolic one may be old and new, with a different meaning in each.
        blocks: the blocks of the innermost sequence that are written so far.
    """

    infers_all = False
    """Infer the type of every expression again, even if nothing below it changed."""

    def __init__(self, mod: tvm.IRModule) -> None:
        self.mod = mod
        self.name = ""
        self.gvars: dict[str, GlobalVar] = {}
        self.vars: dict[int, Any] = {}
        self.blocks: Blocks = []
        self._done: dict[str, Any] = {}
        self._calls: dict[str, set[str]] = {}
        self._memo: dict[int, tuple[Any, Any]] = {}
        self._builder = relax.BlockBuilder()

    # The hooks

    def rewrites(self, name: str) -> bool:
        """True if a function of the module may change."""
        return True

    def params(self, func: relax.Function) -> list[Any]:
        """The parameters of the current function; the hook may `replace` omitted ones."""
        return [self.defined(param) for param in func.params]

    def defined(self, var: Any, ty: Any = None) -> Any:
        """The variable that replaces an old one; the old one itself if its type stays."""
        ty = self.type(var.ty) if ty is None else ty
        return var if equal_types(ty, var.ty) else self.renewed(var, ty)

    def attrs(self, func: relax.Function, *, local: bool) -> Any:
        """The attributes of a function."""
        return func.attrs

    def purity(self, func: relax.Function) -> bool:
        """True if a function is declared pure."""
        return bool(func.is_pure)

    def block(self, block: relax.BindingBlock) -> None:
        """Write a block's bindings."""
        self.blocks.append((isinstance(block, relax.DataflowBlock), []))
        for binding in block.bindings:
            self.binding(binding)

    def binding(self, binding: Any) -> None:
        """Write one binding with `write`, perhaps after others."""
        self.write(self.rewritten_binding(binding))

    def result(self, seq: relax.SeqExpr, *, local: bool) -> Any:
        """The result of a sequence, in new variables."""
        return self.expr(seq.body)

    def call(self, call: relax.Call, args: list[Any]) -> Any:
        """A call of an operator or function, with its new arguments; its operator is new, too."""
        ty_args = [self.type(ty) for ty in call.ty_args]
        if all_same(args, call.args) and all_same(ty_args, call.ty_args):
            return call
        return relax.Call(call.op, args, call.attrs, ty_args)

    def item(self, item: relax.TupleGetItem) -> Any:
        """A field of a tuple; the field itself if the tuple is a literal now."""
        whole = self.expr(item.tuple_value)
        if whole.same_as(item.tuple_value):
            return item
        if isinstance(whole, relax.Tuple):
            return whole.fields[item.index]
        try:
            return relax.TupleGetItem(whole, item.index)
        except Exception as error:  # the tuple has fewer fields, or it is not a tuple
            raise CannotRewrite(str(error)) from error

    def constant(self, const: ir.GenericConst) -> Any:
        """A constant tensor."""
        return const

    def dtype(self, const: ir.GenericConst) -> Any:
        """A dtype among operands."""
        return const

    def dim(self, expr: Any) -> Any:
        """A dimension, or a number among operands."""
        return expr

    def tensor(self, ty: relax.TensorType) -> relax.TensorType:
        """The type of a tensor, with its new dimensions."""
        return ty

    def prim_func(self, func: tirx.PrimFunc) -> tirx.PrimFunc:
        """A PrimFunc."""
        return func

    def annotation(self, owner: Any, old: Any, before: Any, now: Any) -> Any:
        """The type of a variable, call or sequence, or the result type of a function.

        An annotation that was weaker than the inferred type is kept if it still fits.
        Otherwise the new type replaces it.

        Args:
            owner: the old variable, call, sequence or function.
            old: its type so far.
            before: the type of its old value.
            now: the type of its new value.
        """
        kept = self.type(old)
        if now.same_as(before):
            return kept
        if equal_types(kept, now):
            return now  # one node for both, as is usual
        known = self.type(before)
        # If all types are inferred again, the old value had no better type than its annotation.
        weaker = kept.is_base_of(now) and (self.infers_all or not equal_types(kept, known))
        return kept if weaker or equal_types(now, known) else now

    # Helpers for hooks

    def replace(self, var: Any, value: Any) -> None:
        """From here on, use `value`, in terms of new variables, instead of the variable."""
        self.vars[hash(var)] = value

    def renewed(self, var: Any, ty: Any) -> Any:
        """Replace an old variable by a new one of this type, of the same kind and name."""
        kind = relax.DataflowVar if isinstance(var, relax.DataflowVar) else relax.Var
        new = kind(var.name, ty)
        self.replace(var, new)
        return new

    def write(self, binding: Any) -> None:
        """Append a new binding to the current block."""
        self.blocks[-1][1].append(binding)

    def inferred(self, expr: Any) -> Any:
        """The expression with its type.

        Raises:
            CannotRewrite: TVM infers no type, or a negative dimension.
        """
        if not isinstance(expr, relax.Call | relax.Tuple | relax.TupleGetItem | relax.If):
            return expr
        try:
            made = self._builder.normalize(expr)
        except Exception as error:  # operators refuse their operands with errors of all kinds
            raise CannotRewrite(str(error)) from error
        if has_negative_dim(made.ty):
            raise CannotRewrite(f"a dimension is negative: {made.ty}")
        return made

    # The walk

    def run(self) -> tvm.IRModule | None:
        """The rewritten module; None if it cannot exist, or nothing changed."""
        try:
            made = self.rewritten()
        except CannotRewrite:
            return None
        return None if same_functions(self.mod, made) else made

    def rewritten(self) -> tvm.IRModule:
        """The rewritten module; the same object if nothing changed.

        Raises:
            CannotRewrite: the rewritten module cannot exist.
        """
        functions = {str(gvar.name_hint): func for gvar, func in self.mod.functions_items()}
        self._calls = {name: references(f) & functions.keys() for name, f in functions.items()}
        for name in functions:
            self._rewrite(name)
        if self.gvars:
            self._follow()
        if all(f.same_as(functions[name]) for name, f in self._done.items()):
            return self.mod
        new = {
            self.gvars.get(str(gvar.name_hint), gvar): self._done[str(gvar.name_hint)]
            for gvar in self.mod.functions
        }
        return with_functions(self.mod, new)

    def _rewrite(self, name: str) -> None:
        """Rewrite the function after all functions that it calls, whose types it needs."""
        if name in self._done:
            return
        func = self._done[name] = self.mod[name]
        if isinstance(func, relax.Function) and self.rewrites(name):
            outer, self.vars, self.name = (self.vars, self.name), {}, name
            params = self.params(func)
            called = reachable(self._calls, self._calls[name])
            if name in called and not all_same(params, func.params):
                types = [param.ty for param in params]
                self._retype(name, relax.FuncType(types, self.type(func.ret_ty), func.is_pure))
            for callee in sorted(self._calls[name]):
                self._rewrite(callee)
            func = self._rewritten_function(func, params)
            self.vars, self.name = outer
        elif isinstance(func, tirx.PrimFunc):
            func = self.prim_func(func)
        self._done[name] = func
        self._retype(name, func.ty)

    def _retype(self, name: str, ty: Any) -> None:
        """Give the function another GlobalVar if its type has changed."""
        gvar = self.gvars.get(name) or self.mod.get_global_var(name)
        if not tvm_ffi.structural_equal(gvar.ty, ty, map_free_vars=True):
            self.gvars[name] = global_var(name, ty)

    def _follow(self) -> None:
        """Type functions again while they refer to replaced GlobalVars; or raise CannotRewrite."""

        def renamed(gvar: GlobalVar) -> GlobalVar:
            return self.gvars.get(gvar.name_hint, gvar)

        def is_stale(gvar: GlobalVar) -> bool:
            return not gvar.same_as(renamed(gvar))

        for _ in range(ROUNDS * len(self._done)):
            stale = (n for n, f in self._done.items() if any(map(is_stale, global_vars(f))))
            name = next(stale, None)
            if name is None:
                return
            func = self._done[name]
            if isinstance(func, relax.Function):
                retyping = Rewriter(self.mod)
                retyping.gvars = self.gvars
                func = retyping._rewritten_function(func, list(func.params))
            else:
                func = structural_map(func, (GlobalVar, renamed))
            self._done[name] = func
            self._retype(name, func.ty)
        raise CannotRewrite("functions that call one another change each other's types for ever")

    def _rewritten_function(
        self, func: relax.Function, params: list[Any], *, local: bool = False
    ) -> relax.Function:
        body = self.sequence(func.body, local=local)
        now = body.ty
        if not local and not now.same_as(func.body.ty):
            now = without_undefined_dims(now, params)
        ret_ty = self.annotation(func, func.ret_ty, func.body.ty, now)
        attrs, pure = self.attrs(func, local=local), self.purity(func)
        if (
            body.same_as(func.body)
            and all_same(params, func.params)
            and ret_ty.same_as(func.ret_ty)
            and same_attrs(attrs, func.attrs)
            and pure == func.is_pure
        ):
            return func
        return relax.Function(params, body, ret_ty, pure, attrs)

    def sequence(self, seq: relax.SeqExpr, *, local: bool = True) -> relax.SeqExpr:
        """A sequence of blocks; `local`: not the body of a function of the module."""
        outer, self.blocks = self.blocks, []
        for block in seq.blocks:
            self.block(block)
        result = self.result(seq, local=local)
        blocks, self.blocks = self.blocks, outer
        new = self.joined(seq, [(dataflow, bindings) for dataflow, bindings in blocks if bindings])
        if result.same_as(seq.body) and len(new) == len(seq.blocks):
            same = (
                dataflow == isinstance(block, relax.DataflowBlock)
                and all_same(bindings, block.bindings)
                for (dataflow, bindings), block in zip(new, seq.blocks, strict=True)
            )
            if all(same):
                return seq
        made = relax.SeqExpr(
            [(relax.DataflowBlock if flag else relax.BindingBlock)(each) for flag, each in new],
            result,
        )
        return with_type(made, self.annotation(seq, seq.ty, seq.body.ty, result.ty))

    def joined(self, seq: relax.SeqExpr, blocks: Blocks) -> Blocks:
        """The blocks of a sequence once all are written."""
        return blocks

    def rewritten_binding(self, binding: Any, value: Any = None) -> Any:
        """The binding with its new value and annotation.

        Args:
            value: an old value to use instead of the binding's own.
        """
        old = binding.value if value is None else value
        if isinstance(binding, relax.MatchCast):
            new, ty = self.expr(old), self.type(binding.ty)
            if contradict(new.ty, ty) and not contradict(old.ty, binding.ty):
                raise CannotRewrite(f"no {new.ty} is a {ty}")
            var = self.defined(binding.var, ty)
            same = new.same_as(binding.value) and ty.same_as(binding.ty)
            if same and var.same_as(binding.var):
                return binding
            return relax.MatchCast(var, new, ty)
        if isinstance(old, relax.Function) and hash(binding.var) in used_vars([old]):
            var = self.defined(binding.var)  # first: the function calls itself
            new = self.expr(old)
        else:
            new = self.expr(old)
            ty = self.annotation(binding.var, binding.var.ty, binding.value.ty, new.ty)
            var = self.defined(binding.var, ty)
        if new.same_as(binding.value) and var.same_as(binding.var):
            return binding
        return relax.VarBinding(var, new)

    def expr(self, expr: Any) -> Any:
        """An expression in new variables."""
        if isinstance(expr, tvm.ir.Var):
            expr = self.vars.get(hash(expr), expr)
            return self.dim(expr) if isinstance(expr.ty, PrimType) else expr
        match expr:
            case GlobalVar():
                return self.gvars.get(str(expr.name_hint), expr)
            case _ if isinstance(expr, ir.CONSTANTS):
                is_tensor = isinstance(expr.ty, relax.TensorType)
                return self._once(expr, self.constant if is_tensor else self.dtype)
            case relax.ShapeExpr():
                return self._once(expr, self._rewritten_shape)
            case relax.Call() if not isinstance(expr.ty, PrimType) or not is_prim_op(expr.op):
                return self._rewritten_call(expr)
            case relax.Tuple():
                fields = [self.expr(field) for field in expr.fields]
                same = all_same(fields, expr.fields) and not self.infers_all
                return expr if same else self.inferred(relax.Tuple(fields))
            case relax.TupleGetItem():
                new = self.item(expr)
                return expr if new.same_as(expr) else self.inferred(new)
            case relax.If():
                return self._rewritten_if(expr)
            case relax.Function():
                return self._rewritten_function(
                    expr, [self.defined(p) for p in expr.params], local=True
                )
            case relax.SeqExpr():
                return self.sequence(expr)
        return self.prim_expr(expr)

    def _rewritten_call(self, old: relax.Call) -> Any:
        op, args = self.expr(old.op), [self.expr(arg) for arg in old.args]
        call = old if op.same_as(old.op) else relax.Call(op, old.args, old.attrs, old.ty_args)
        new = self.call(call, args)
        if new.same_as(old):
            if not self.infers_all:
                return old
            new = relax.Call(op, args, old.attrs, old.ty_args)
        made = self.inferred(new)
        if self.infers_all or not isinstance(made, relax.Call):
            return made
        if equal_types(made.ty, self.type(old.ty)):
            return made
        # In a module that was parsed, a call may have a weaker type than the inferred one.
        ty = self.annotation(old, old.ty, self.inferred(without_type(old)).ty, made.ty)
        return relax.Call(made.op, made.args, made.attrs, made.ty_args, ret_ty=ty)

    def _rewritten_if(self, old: relax.If) -> Any:
        cond = self.expr(old.cond)
        yes, no = self.sequence(old.true_branch), self.sequence(old.false_branch)
        if all_same((cond, yes, no), (old.cond, old.true_branch, old.false_branch)):
            return old
        pairs = ((yes, old.true_branch), (no, old.false_branch))
        same = all(equal_types(new.ty, self.type(branch.ty)) for new, branch in pairs)
        ty = self.type(old.ty) if same else relax.analysis.type_lca(yes.ty, no.ty)
        return with_type(relax.If(cond, yes, no), ty)

    def prim_expr(self, expr: Any) -> Any:
        """A symbolic variable, a number, or an expression of them; others stay unchanged."""
        if not isinstance(expr.ty, PrimType):
            return expr
        if isinstance(expr, tvm.ir.Var):
            return self.expr(expr)
        if self.vars and not isinstance(expr, tirx.IntImm):
            new = {old: self.vars[old] for old in used_vars([expr]) if old in self.vars}
            if not all(isinstance(var.ty, PrimType) for var in new.values()):
                raise CannotRewrite(f"{expr} is computed from what is no number any more")
            expr = substitute_by_hash(expr, new) if new else expr
        return self.dim(expr)

    def type(self, ty: Any) -> Any:
        """A type with its new dimensions and tensors; the same node where nothing changes."""
        match ty:
            case relax.TensorType():
                return self._once(ty, self._rewritten_tensor)
            case relax.TupleType():
                return self._once(ty, self._rewritten_tuple_type)
            case relax.ShapeType() if ty.values is not None:
                dims = [self.prim_expr(dim) for dim in ty.values]
                return ty if all_same(dims, ty.values) else relax.ShapeType(dims)
            case relax.FuncType() if ty.params is not None:
                params, ret = [self.type(param) for param in ty.params], self.type(ty.ret)
                same = all_same(params, ty.params) and ret.same_as(ty.ret)
                return ty if same else relax.FuncType(params, ret, ty.purity)
        return ty

    def _rewritten_tuple_type(self, ty: Any) -> Any:
        fields = [self.type(field) for field in ty.fields]
        return ty if all_same(fields, ty.fields) else relax.TupleType(fields)

    def _rewritten_tensor(self, ty: relax.TensorType) -> relax.TensorType:
        shape = None if ty.shape is None else self.expr(ty.shape)
        if shape is not None and not shape.same_as(ty.shape):
            ty = relax.TensorType(shape, ty.dtype, ty.vdevice)
        return self.tensor(ty)

    def _rewritten_shape(self, shape: relax.ShapeExpr) -> relax.ShapeExpr:
        dims = [self.prim_expr(dim) for dim in shape.values]
        try:
            return shape if all_same(dims, shape.values) else relax.ShapeExpr(dims)
        except TypeError as error:  # the replacement of a number may not be a number
            raise CannotRewrite(str(error)) from error

    def _once(self, node: Any, make: Callable[[Any], Any]) -> Any:
        """Make a node once, so that shared nodes stay shared."""
        address = node.__chandle__()  # types have no hash
        if address not in self._memo:
            self._memo[address] = (node, make(node))  # keeping the node alive keeps its address
        return self._memo[address][1]
