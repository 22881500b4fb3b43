"""A rewrite described by data: what to drop, to replace, to inline, and to merge."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import tvm
from tvm import relax
from tvm.ir import GlobalVar

from .nodes import references, with_functions
from .rewriter import Blocks, CannotRewrite, Rewriter
from .scopes import Site, sites_of


@dataclass(slots=True)
class Inline:
    """A sequence in place of a binding: a branch, or the body of a function that is called."""

    seq: relax.SeqExpr
    uses: dict[int, Any] = field(default_factory=dict)
    """What replaces the parameters and symbolic dimensions of the function."""
    copy: bool = False
    """The sequence stays elsewhere too, so that its variables must be others here."""


@dataclass(slots=True)
class Change:
    """What to change. Variables, blocks and sequences are named by the hashes of their nodes."""

    uses: dict[int, Any] = field(default_factory=dict)
    """An expression without calls to use instead of a variable, in old variables."""
    dropped: set[int] = field(default_factory=set)
    """Variables whose bindings are dropped."""
    values: dict[int, Any] = field(default_factory=dict)
    """Another value for a variable, in old variables."""
    inlined: dict[int, Inline] = field(default_factory=dict)
    """A sequence instead of the binding of a variable, its result instead of the variable."""
    results: dict[int, Any] = field(default_factory=dict)
    """Another result of a sequence, in old variables."""
    plain: set[int] = field(default_factory=set)
    """Dataflow variables that become plain ones, because they are used outside of their block."""
    params: dict[str, list[Any]] = field(default_factory=dict)
    """More parameters of functions of the module; every call passes those of its own function."""
    blocks: dict[int, bool] = field(default_factory=dict)
    """Whether a block becomes a dataflow block."""
    merged: set[int] = field(default_factory=set)
    """Sequences in which plain blocks that follow each other become one."""
    functions: set[str] = field(default_factory=set)
    """The functions of the module that the change is in."""
    removed: set[str] = field(default_factory=set)
    """Functions of the module that are removed."""

    def apply(self, mod: tvm.IRModule) -> tvm.IRModule | None:
        """The changed module; None where types do not allow it."""
        rest = mod
        if self.removed:
            kept = {g: f for g, f in mod.functions_items() if g.name_hint not in self.removed}
            rest = with_functions(mod, kept)
        try:
            return _Changer(rest, self).rewritten()
        except CannotRewrite:
            return None


class _Changer(Rewriter):
    def __init__(self, mod: tvm.IRModule, change: Change) -> None:
        super().__init__(mod)
        self._change = change
        self._plain = set(change.plain)
        self._copies = False
        self._sites: dict[int, Site] = {}

    def rewrites(self, name: str) -> bool:
        change = self._change
        return (
            name in change.functions
            or name in change.params
            or not references(self.mod[name]).isdisjoint(change.params)
        )

    def params(self, func: relax.Function) -> list[Any]:
        uses = self._change.uses.items()
        self.vars |= {key: self.expr(e) for key, e in uses if key not in self._change.dropped}
        self._sites |= {site.key: site for site in sites_of(func)}
        return [*func.params, *self._change.params.get(self.name, [])]

    def defined(self, var: Any, ty: Any = None) -> Any:
        plain = isinstance(var, relax.DataflowVar) and hash(var) in self._plain
        if not plain and not self._copies:
            return super().defined(var, ty)
        ty = self.type(var.ty) if ty is None else ty
        if not plain:
            return self.renewed(var, ty)
        new = relax.Var(var.name, ty)
        self.replace(var, new)
        return new

    def block(self, block: relax.BindingBlock) -> None:
        is_dataflow = isinstance(block, relax.DataflowBlock)
        dataflow = self._change.blocks.get(hash(block), is_dataflow)
        if is_dataflow and not dataflow:
            self._plain |= {hash(binding.var) for binding in block.bindings}
        self.blocks.append((dataflow, []))
        for binding in block.bindings:
            self.binding(binding)

    def binding(self, binding: Any) -> None:
        key = hash(binding.var)
        if key in self._change.inlined:
            self.vars[key] = self._inlined(self._change.inlined[key])
        elif key in self._change.dropped:
            if key in self._change.uses:
                self.vars[key] = self.expr(self._change.uses[key])
        else:
            same = self._is_unaffected(key)
            value = self._change.values.get(key)
            self.write(binding if same else self.rewritten_binding(binding, value))

    def _is_unaffected(self, key: int) -> bool:
        """Nothing can change in the binding. Most bindings are unaffected, so this is quick."""
        if self._copies or self.gvars or key in self._plain or key in self._change.values:
            return False
        site = self._sites.get(key)
        return site is not None and not site.inner and site.operands.isdisjoint(self.vars)

    def _inlined(self, inline: Inline) -> Any:
        dataflow = self.blocks[-1][0]
        # Outside, the symbolic variables of a local function may stand for something else.
        outer = self.vars
        self.vars = outer | {key: self.expr(value) for key, value in inline.uses.items()}
        before, self._copies = self._copies, self._copies or inline.copy
        self.forget()
        for block in inline.seq.blocks:
            if dataflow:  # it becomes part of that block
                for binding in block.bindings:
                    self.binding(binding)
            else:
                self.block(block)
        result = self.expr(inline.seq.body)
        self._copies, self.vars = before, outer
        self.forget()
        if not dataflow:
            self.blocks.append((False, []))
        return result

    def call(self, call: relax.Call, args: list[Any]) -> Any:
        if isinstance(call.op, GlobalVar) and call.op.name_hint in self._change.params:
            args = [*args, *self._change.params[self.name]]
        return super().call(call, args)

    def result(self, seq: relax.SeqExpr, *, local: bool) -> Any:
        return self.expr(self._change.results.get(hash(seq), seq.body))

    def joined(self, seq: relax.SeqExpr, blocks: Blocks) -> Blocks:
        if hash(seq) not in self._change.merged:
            return blocks
        merged: Blocks = []
        for dataflow, bindings in blocks:
            if merged and not dataflow and not merged[-1][0]:
                merged[-1] = (False, [*merged[-1][1], *bindings])
            else:
                merged.append((dataflow, bindings))
        return merged
