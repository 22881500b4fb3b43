"""Every binding of a function, in branches and local functions too, and the values it may use."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tvm import relax

from .nodes import used_vars


@dataclass(eq=False, slots=True)
class BindingScope:
    """One sequence of blocks: the body of a function, of a branch, or of a local function."""

    seq: relax.SeqExpr
    params: list[Any]
    """The parameters of the function whose body it is; empty for a branch."""
    around: BindingSite | None = None
    """The binding whose value contains it; None for the body of a function of the module."""
    sites: list[BindingSite] = field(default_factory=list)


@dataclass(eq=False)
class BindingSite:
    """A binding and its position."""

    binding: Any
    scope: BindingScope
    index: int
    """Its index among the bindings of the scope."""
    number: int
    """Its index among all bindings of the function."""
    block: int
    """The index of its block in the scope."""
    dataflow: bool
    inner: list[BindingScope] = field(default_factory=list)
    """The sequences inside its value."""

    @property
    def var(self) -> Any:
        """The variable that it binds."""
        return self.binding.var

    @functools.cached_property
    def operands(self) -> frozenset[int]:
        """The variables that its value uses, without those used inside branches."""
        return frozenset(operands(self.binding.value))

    @functools.cached_property
    def key(self) -> int:
        """The hash of its variable, which stands for the variable in mappings."""
        return hash(self.binding.var)

    def before(self) -> Iterator[BindingSite]:
        """The bindings whose variables are visible here, outermost and first ones first."""
        if self.scope.around is not None:
            yield from self.scope.around.before()
        yield from self.scope.sites[: self.index]

    def params(self) -> Iterator[Any]:
        """The parameters that are visible here, those of the outermost function first."""
        if self.scope.around is not None:
            yield from self.scope.around.params()
        yield from self.scope.params


@functools.lru_cache(64)  # many edits are made of the same functions
def scopes_of(func: relax.Function) -> list[BindingScope]:
    """All sequences of a function: its body first, then inner ones in order."""
    found: list[BindingScope] = []
    _enter(func.body, list(func.params), None, found, itertools.count())
    return found


def sites_of(func: relax.Function) -> list[BindingSite]:
    """All bindings in order, each before those inside its value."""
    return list(_flat(scopes_of(func)[0]))


def operands(value: Any) -> set[int]:
    """The variables that a value uses, without those used inside branches and local functions."""
    if isinstance(value, relax.If):
        return used_vars([value.cond])
    return set() if isinstance(value, relax.Function) else used_vars([value])


def _enter(
    seq: Any,
    params: list[Any],
    around: BindingSite | None,
    found: list[BindingScope],
    numbers: Iterator[int],
) -> BindingScope:
    scope = BindingScope(seq, params, around)
    found.append(scope)
    for at, block in enumerate(seq.blocks):
        dataflow = isinstance(block, relax.DataflowBlock)
        for binding in block.bindings:
            site = BindingSite(binding, scope, len(scope.sites), next(numbers), at, dataflow)
            scope.sites.append(site)
            value = binding.value
            if isinstance(value, relax.If):
                for branch in (value.true_branch, value.false_branch):
                    site.inner.append(_enter(branch, [], site, found, numbers))
            elif isinstance(value, relax.Function):
                site.inner.append(_enter(value.body, list(value.params), site, found, numbers))
    return scope


def _flat(scope: BindingScope) -> Iterator[BindingSite]:
    for site in scope.sites:
        yield site
        for inner in site.inner:
            yield from _flat(inner)
