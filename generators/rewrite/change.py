"""A rewrite described by data: nodes to drop, to replace, to inline, and to merge."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import tvm
from tvm import relax
from tvm.ir import GlobalVar

from .nodes import references, with_functions
from .rewriter import Blocks, CannotRewrite, Rewriter
from .scopes import BindingSite, sites_of


@dataclass(slots=True)
class Change:
    """The changes to make. Hashes of nodes stand for variables, blocks and sequences."""

    uses: dict[int, Any] = field(default_factory=dict)
    """Replacements of uses of variables: expressions without calls, in terms of old variables."""
    dropped: set[int] = field(default_factory=set)
    """Variables whose bindings are dropped."""
    values: dict[int, Any] = field(default_factory=dict)
    """New values of variables, in terms of old variables."""
    inlined: dict[int, relax.SeqExpr] = field(default_factory=dict)
    """Sequences that replace the bindings of variables; their results replace the variables."""
    results: dict[int, Any] = field(default_factory=dict)
    """New results of sequences, in terms of old variables."""
    plain: set[int] = field(default_factory=set)
    """Dataflow variables that become plain ones, because they are used outside of their block."""
    params: dict[str, list[Any]] = field(default_factory=dict)
    """New parameters of functions of the module; each caller passes on its own."""
    blocks: dict[int, bool] = field(default_factory=dict)
    """True for blocks that become dataflow blocks, False for blocks that become plain ones."""
    merged: set[int] = field(default_factory=set)
    """Sequences in which consecutive plain blocks become one."""
    functions: set[str] = field(default_factory=set)
    """The functions of the module that change."""
    removed: set[str] = field(default_factory=set)
    """Functions of the module that are removed."""

    def apply(self, mod: tvm.IRModule) -> tvm.IRModule | None:
        """The changed module; None if types do not allow it."""
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
        self._sites: dict[int, BindingSite] = {}

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
        if not plain:
            return super().defined(var, ty)
        new = relax.Var(var.name, self.type(var.ty) if ty is None else ty)
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
        """True if nothing can change in the binding; a quick test that most bindings pass."""
        if self.gvars or key in self._plain or key in self._change.values:
            return False
        site = self._sites.get(key)
        return site is not None and not site.inner and site.operands.isdisjoint(self.vars)

    def _inlined(self, seq: relax.SeqExpr) -> Any:
        dataflow = self.blocks[-1][0]
        for block in seq.blocks:
            if dataflow:  # it becomes part of that block
                for binding in block.bindings:
                    self.binding(binding)
            else:
                self.block(block)
        result = self.expr(seq.body)
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
