"""Every binding of a function, those of branches and local functions too, and what it may use."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tvm import relax

from . import edit


@dataclass(eq=False, slots=True)
class Scope:
    """One sequence of blocks: of a function, a branch, or a local function."""

    seq: relax.SeqExpr
    params: list[Any]
    """Of the function whose body it is; none: a branch."""
    around: Bound | None = None
    """The binding that it is part of; None: the body of a function of the module."""
    bounds: list[Bound] = field(default_factory=list)


@dataclass(eq=False)
class Bound:
    """A binding and its place."""

    binding: Any
    scope: Scope
    place: int
    number: int
    """Its place among all bindings of the function."""
    block: int
    """Number of its block in the scope."""
    dataflow: bool
    inner: list[Scope] = field(default_factory=list)
    """Sequences inside its value."""

    @property
    def var(self) -> Any:
        """What it binds."""
        return self.binding.var

    @functools.cached_property
    def operands(self) -> frozenset[int]:
        """The variables that it uses itself, what stands inside branches left out."""
        return frozenset(operands(self.binding.value))

    @functools.cached_property
    def key(self) -> int:
        """Stands for the variable in mappings: variables are equal if they are the same node."""
        return hash(self.binding.var)

    def before(self) -> Iterator[Bound]:
        """The bindings whose variables it may use, the outermost and first ones first."""
        if self.scope.around is not None:
            yield from self.scope.around.before()
        yield from self.scope.bounds[: self.place]

    def params(self) -> Iterator[Any]:
        """The parameters that it may use, those of the outermost function first."""
        if self.scope.around is not None:
            yield from self.scope.around.params()
        yield from self.scope.params


_KEPT = 64
_seen: dict[int, tuple[relax.Function, list[Scope]]] = {}
"""What was found in the functions seen last: many edits are made of the same ones."""


def scopes_of(func: relax.Function) -> list[Scope]:
    """All sequences of a function: its body first, then inner ones in order."""
    seen = _seen.get(hash(func))
    if seen is None:
        if len(_seen) >= _KEPT:
            _seen.clear()
        found: list[Scope] = []
        _enter(func.body, list(func.params), None, found, itertools.count())
        # The function is kept, too, so that no other gets its hash.
        seen = _seen[hash(func)] = (func, found)
    return seen[1]


def operands(value: Any) -> set[int]:
    """The variables that a value uses itself, what stands inside branches left out."""
    if isinstance(value, relax.If):
        return edit.used_vars([value.cond])
    return set() if isinstance(value, relax.Function) else edit.used_vars([value])


def bounds_of(func: relax.Function) -> list[Bound]:
    """All bindings in order, each before those inside its value."""
    return list(_flat(scopes_of(func)[0]))


def _enter(
    seq: Any, params: list[Any], around: Bound | None, found: list[Scope], numbers: Iterator[int]
) -> Scope:
    scope = Scope(seq, params, around)
    found.append(scope)
    for at, block in enumerate(seq.blocks):
        dataflow = isinstance(block, relax.DataflowBlock)
        for binding in block.bindings:
            bound = Bound(binding, scope, len(scope.bounds), next(numbers), at, dataflow)
            scope.bounds.append(bound)
            value = binding.value
            if isinstance(value, relax.If):
                for branch in (value.true_branch, value.false_branch):
                    bound.inner.append(_enter(branch, [], bound, found, numbers))
            elif isinstance(value, relax.Function):
                bound.inner.append(_enter(value.body, list(value.params), bound, found, numbers))
    return scope


def _flat(scope: Scope) -> Iterator[Bound]:
    for bound in scope.bounds:
        yield bound
        for inner in bound.inner:
            yield from _flat(inner)
