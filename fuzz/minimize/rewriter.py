"""One function made again after a change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import GlobalVar

from . import edit
from .change import Change, Inline
from .scopes import Bound, bounds_of


class Stuck(Exception):
    """No type can be inferred: there is no such module."""


class Rewriter:
    """Makes one function of the module again."""

    def __init__(self, name: str, change: Change, gvars: dict[str, Any]) -> None:
        """
        Args:
            gvars: the GlobalVars to use instead, by name.
        """
        self.name = name
        self.change = change
        self.uses = dict(change.uses)
        self.plain = set(change.plain)
        self.gvars = gvars
        self.copying = False
        self.known: dict[int, Bound] = {}
        self.moved = False
        self.builder = relax.BlockBuilder()

    # Functions and sequences

    def function(self, func: relax.Function, *, top: bool = False) -> relax.Function:
        if top:
            self.known = {bound.key: bound for bound in bounds_of(func)}
            self.moved = not edit.references(func).isdisjoint(self.gvars)
        params = [self._param(param) for param in func.params]
        if top:
            params += self.change.params.get(self.name, [])
        body = self.sequence(func.body)
        same = len(params) == len(func.params) and all(map(_same, params, func.params))
        if body.same_as(func.body) and same:
            return func
        ret_ty = func.ret_ty
        if not _equal(body.ty, func.body.ty):
            ret_ty = self._weakened(func.ret_ty, func.body.ty, _erased(body.ty, params, top))
        else:
            ret_ty = self._type(ret_ty)
        return relax.Function(params, body, ret_ty, func.is_pure, func.attrs)

    def sequence(self, seq: relax.SeqExpr) -> relax.SeqExpr:
        out: list[edit.Block] = []
        self._blocks(seq, out)
        result = self.expr(self.change.results.get(hash(seq), seq.body))
        kept = [(dataflow, bindings) for dataflow, bindings in out if bindings]
        if hash(seq) in self.change.merged:
            kept = _merged(kept)
        if result.same_as(seq.body) and len(kept) == len(seq.blocks):
            same = (
                dataflow == isinstance(block, relax.DataflowBlock)
                and len(bindings) == len(block.bindings)
                and all(map(_same, bindings, block.bindings))
                for (dataflow, bindings), block in zip(kept, seq.blocks, strict=True)
            )
            if all(same):
                return seq
        new = relax.SeqExpr(
            [
                (relax.DataflowBlock if dataflow else relax.BindingBlock)(bindings)
                for dataflow, bindings in kept
            ],
            result,
        )
        keep = _equal(result.ty, seq.body.ty)
        relax.expr._update_type(new, self._type(seq.ty) if keep else result.ty)
        return new

    def _blocks(self, seq: relax.SeqExpr, out: list[edit.Block], inside: bool = False) -> None:
        """The blocks of a sequence; `inside` a dataflow block, they become part of it."""
        for block in seq.blocks:
            is_dataflow = isinstance(block, relax.DataflowBlock)
            dataflow = self.change.blocks.get(hash(block), is_dataflow)
            if not inside:
                out.append((dataflow, []))
            for binding in block.bindings:
                if is_dataflow and not dataflow and not inside:
                    self.plain.add(hash(binding.var))
                self._binding(binding, out)

    def _binding(self, binding: Any, out: list[edit.Block]) -> None:
        key = hash(binding.var)
        if key in self.change.inlined:
            self.uses[key] = self._inline(self.change.inlined[key], out)
            return
        if key in self.change.dropped:
            return
        if self._spared(key):
            out[-1][1].append(binding)
            return
        value = self.change.values.get(key, binding.value)
        if isinstance(value, relax.Function):
            new: Any = self.function(value)
        elif isinstance(value, relax.If):
            new = self._if(value)
        else:
            new = self.expr(value)
        if new.same_as(binding.value) and not self.copying and key not in self.plain:
            out[-1][1].append(binding)
            return
        if isinstance(binding, relax.MatchCast):
            ty = self._type(binding.ty)
            out[-1][1].append(relax.MatchCast(self._bound(binding.var, ty), new, ty))
            return
        ty = self._type(binding.var.ty)
        if not _equal(new.ty, binding.value.ty):
            ty = self._weakened(ty, self._type(binding.value.ty), new.ty)
        out[-1][1].append(relax.VarBinding(self._bound(binding.var, ty), new))

    def _spared(self, key: int) -> bool:
        """Nothing can change in the binding; most are spared, so this is quick."""
        if self.copying or self.moved or key in self.plain or key in self.change.values:
            return False
        bound = self.known.get(key)
        if bound is None or bound.inner:
            return False
        return not any(operand in self.uses for operand in bound.operands)

    def _bound(self, var: Any, ty: Any) -> Any:
        """The variable to bind instead: another one where its type or kind is another."""
        plain = isinstance(var, relax.DataflowVar) and hash(var) in self.plain
        if not plain and not self.copying and _equal(ty, var.ty):
            return var
        kind = relax.DataflowVar if isinstance(var, relax.DataflowVar) and not plain else relax.Var
        self.uses[hash(var)] = new = kind(var.name, ty)
        return new

    def _param(self, param: Any) -> Any:
        return self._bound(param, self._type(param.ty)) if self.copying else param

    def _inline(self, inline: Inline, out: list[edit.Block]) -> Any:
        dataflow = out[-1][0]
        self.uses |= {key: self.expr(value) for key, value in inline.uses.items()}
        before, self.copying = self.copying, self.copying or inline.copy
        self._blocks(inline.seq, out, inside=dataflow)
        result = self.expr(inline.seq.body)
        self.copying = before
        if not dataflow:
            out.append((False, []))
        return result

    def _if(self, old: relax.If) -> Any:
        cond = self.expr(old.cond)
        yes, no = self.sequence(old.true_branch), self.sequence(old.false_branch)
        if _same(cond, old.cond) and _same(yes, old.true_branch) and _same(no, old.false_branch):
            return old
        new = relax.If(cond, yes, no)
        branches = (old.true_branch, old.false_branch)
        if all(_equal(new.ty, old.ty) for new, old in zip((yes, no), branches, strict=True)):
            ty = self._type(old.ty)
        else:
            ty = relax.analysis.type_lca(yes.ty, no.ty)
        relax.expr._update_type(new, ty)
        return new

    # Expressions

    def expr(self, old: Any) -> Any:
        """The expression with what is used instead, its type inferred anew."""
        if isinstance(old, relax.Var):
            while isinstance(old, relax.Var) and hash(old) in self.uses:
                old = self.uses[hash(old)]
            return old if isinstance(old, relax.Var) else self.expr(old)
        if isinstance(old, GlobalVar):
            return self.gvars.get(old.name_hint, old)
        if isinstance(old, relax.Tuple):
            fields = [self.expr(field) for field in old.fields]
            same = all(map(_same, fields, old.fields))
            return old if same else self._typed(relax.Tuple, fields)
        if isinstance(old, relax.TupleGetItem):
            whole = self.expr(old.tuple_value)
            if whole.same_as(old.tuple_value):
                return old
            if isinstance(whole, relax.Tuple):
                return whole.fields[old.index]
            return self._typed(relax.TupleGetItem, whole, old.index)
        if isinstance(old, relax.Call) and _is_relax(old):
            return self._call(old)
        if isinstance(old, relax.ShapeExpr):
            dims = [self._substituted(dim) for dim in old.values]
            return old if all(map(_same, dims, old.values)) else relax.ShapeExpr(dims)
        if isinstance(old, tvm.ir.GenericConst | tvm.ir.Op | relax.ExternFunc | tvm.tirx.IntImm):
            return old
        return self._substituted(old)

    def _call(self, old: Any) -> Any:
        op = self.expr(old.op)
        args = [self.expr(arg) for arg in old.args]
        if isinstance(old.op, GlobalVar) and old.op.name_hint in self.change.params:
            args += self.change.params[self.name]
        ty_args = [self._type(ty) for ty in old.ty_args]
        same = len(args) == len(old.args) and all(map(_same, args, old.args))
        if same and _same(op, old.op) and all(map(_same, ty_args, old.ty_args)):
            return old
        new = self._typed(relax.Call, op, args, old.attrs, ty_args)
        if not _equal(new.ty, old.ty):
            known = self._typed(relax.Call, old.op, old.args, old.attrs, old.ty_args).ty
            ty = self._weakened(self._type(old.ty), known, new.ty)
            return relax.Call(op, args, old.attrs, ty_args, ret_ty=ty)
        return new

    def _typed(self, make: Callable[..., Any], *parts: Any) -> Any:
        try:
            return self.builder.normalize(make(*parts))
        except Exception as error:
            raise Stuck from error

    def _substituted(self, old: Any) -> Any:
        if self.uses and not edit.used_vars([old]).isdisjoint(self.uses):
            return edit.substitute(old, self.uses)
        return old

    # Types

    def _type(self, ty: Any) -> Any:
        """The type in terms of other symbolic dimensions; they change only where code moves."""
        if not self.copying or edit.used_vars([ty]).isdisjoint(self.uses):
            return ty
        if isinstance(ty, relax.TupleType):
            return relax.TupleType([self._type(field) for field in ty.fields])
        if isinstance(ty, relax.TensorType) and ty.shape is not None:
            return relax.TensorType(self.expr(ty.shape), ty.dtype, ty.vdevice)
        if isinstance(ty, relax.ShapeType) and ty.values is not None:
            return relax.ShapeType([self._substituted(dim) for dim in ty.values])
        return self._substituted(ty)

    def _weakened(self, annotated: Any, before: Any, now: Any) -> Any:
        """An annotation that says less than was known goes on to say less."""
        if not _equal(annotated, before) and annotated.is_base_of(now):
            return annotated
        return now


def _merged(blocks: list[edit.Block]) -> list[edit.Block]:
    merged: list[edit.Block] = []
    for dataflow, bindings in blocks:
        if merged and not dataflow and not merged[-1][0]:
            merged[-1] = (False, [*merged[-1][1], *bindings])
        else:
            merged.append((dataflow, bindings))
    return merged


def _same(a: Any, b: Any) -> bool:
    return bool(a.same_as(b))


def _equal(a: Any, b: Any) -> bool:
    return _same(a, b) or bool(tvm_ffi.structural_equal(a, b, map_free_vars=False))


def _is_relax(call: Any) -> bool:
    return not (isinstance(call.op, tvm.ir.Op) and call.op.name.startswith("tirx."))


def _erased(ty: Any, params: list[Any], top: bool) -> Any:
    """The type of a result, without symbolic dimensions that the parameters do not define."""
    if not top:
        return ty  # it may be in terms of dimensions of the functions around it
    defined = {
        var: var for param in params for var in relax.analysis.definable_tir_vars_in_type(param.ty)
    }
    return relax.analysis.erase_to_well_defined(ty, defined, {})
