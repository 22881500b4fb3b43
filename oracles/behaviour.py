"""Behaviours: the kinds of changes that a pass makes to a module, as short texts without names.

Examples: "adds relax.astype", "removes a PrimFunc", "changes dtype of relax.matmul".
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeAlias

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import Op

from ..compat import ir
from . import keys
from .ingredients import kind_of_call
from .inspect import (
    bindings_of,
    is_public,
    is_pure,
    nodes,
    op_name,
    relax_functions,
    tensor_types,
)

UNUSED = "what is not used"
AGAIN = "what is computed twice"
UNSEEN = "changes what no kind of node shows"

CLEAN_UP = re.compile(
    rf"(?:adds|removes) (?:{UNUSED}|{AGAIN}|alias|DataflowBlock|MatchCast|Tuple|TupleGetItem)"
    rf"|{UNSEEN}|changes (?:name|shape) of .*|raises .*"
)
"""Behaviours of any rewriter as a side effect, whatever its purpose, and exceptions."""

LONGEST = 100
"""Most characters of a behaviour."""

Feature: TypeAlias = tuple[str, str, Any]
"""A kind of node, function or attribute; a part of it, or "" for the node itself; the part's value.
"""


def behaviours(before: tvm.IRModule, after: tvm.IRModule) -> frozenset[str]:
    """The behaviours of a pass that turned `before` into `after`; the two must differ.

    Functions that are the same object in both are skipped, as are PrimFuncs that only one of them
    has. All bindings and functions that nothing depends on count as one kind.
    """
    old, new = _Features(before, after), _Features(after, before)
    found = set()
    for kind in {**old.counts, **new.counts}:
        if more := new.counts[kind] - old.counts[kind]:
            found.add(f"{'adds' if more > 0 else 'removes'} {kind}")
    rewired = bool(found)  # then operands have other numbers
    for (kind, part), values in old.parts.items():
        if part == "operands" and rewired:
            continue
        if old.counts[kind] == new.counts[kind] and values != new.parts[kind, part]:
            found.add(f"changes {part} of {kind}")
    for kind, made in old.made.items():
        if old.counts[kind] == new.counts[kind]:
            changed = _changed(made, new.made[kind])
            found.update(f"changes {part} of {kind}" for part in changed)
    return frozenset(each[:LONGEST] for each in found or {UNSEEN})


def raising(error: Exception) -> str:
    """The behaviour of a pass that raised: the class of the exception, and its site."""
    return f"raises {': '.join(keys.exception(error).key)}"[:LONGEST]


def is_work(did: Collection[str]) -> bool:
    """True if one of the behaviours is neither clean-up nor an exception."""
    return any(CLEAN_UP.fullmatch(each) is None for each in did)


class _Features:
    """The features of a module's functions, without those shared with another module."""

    def __init__(self, mod: tvm.IRModule, other: tvm.IRModule) -> None:
        self.counts: Counter[str] = Counter()
        self.parts: dict[tuple[str, str], Counter[Any]] = defaultdict(Counter)
        self.made: dict[str, Made] = defaultdict(list)
        """The variables by kind."""
        self._functions = dict(relax_functions(mod))
        self._add(_of_attributes("module attribute", mod))
        mine, others = _by_name(mod), _by_name(other)
        todo = [name for name, func in mine.items() if is_public(func)] or list(mine)
        seen: set[str] = set()
        while todo:
            name = todo.pop()
            if name in seen or name not in mine:
                continue
            seen.add(name)
            func, partner = mine[name], others.get(name)
            live: list[_Use] = []
            if isinstance(func, relax.Function):
                live, dead = _live(func)
                todo += [use for _, uses in live for use in uses if isinstance(use, str)]
                self.counts[UNUSED] += dead
            if partner is None or not partner.same_as(func):
                self._add(self._of_function(name, func, partner, live))
        self.counts[UNUSED] += len(mine) - len(seen)

    def _add(self, features: Iterator[Feature]) -> None:
        for kind, part, value in features:
            if part:
                self.parts[kind, part][value] += 1
            else:
                self.counts[kind] += 1

    def _of_function(
        self, name: str, func: Any, partner: Any, live: list[_Use]
    ) -> Iterator[Feature]:
        kind = f"a {type(func).__name__}"
        yield kind, "", None
        yield kind, "name", name
        yield from _of_attributes("attribute", func)
        if isinstance(func, relax.Function):
            yield from self._of_relax(func, live)
        elif isinstance(func, tirx.PrimFunc) and partner is not None:
            yield from _of_prim_func(func)

    def _of_relax(self, func: relax.Function, live: list[_Use]) -> Iterator[Feature]:
        """The features of a function: of its bindings and the blocks inside it."""
        number: dict[Any, int] = {}
        made: dict[tuple[Any, ...], Any] = {}
        for param in func.params:
            number[hash(param)] = len(number)
            yield self._note("parameter", param, None)
        for binding, uses in live:
            var, kind = hash(binding.var), self._kind(binding)
            if kind == "alias":
                yield kind, "", None
                number[var] = number.get(uses[0], -1)
                continue
            key = (kind, *(number.get(use, -1 if isinstance(use, str) else use) for use in uses))
            first = made.setdefault(key, binding)
            if first is not binding and _again(binding.value, first.value):
                yield AGAIN, "", None
                number[var] = number[hash(first.var)]
                continue
            number[var] = len(number)
            yield "bindings", "operands", key
            yield self._note(kind, binding.var, binding.value)
        yield from (("DataflowBlock", "", None) for _ in nodes(func, relax.DataflowBlock))

    def _note(self, kind: str, var: relax.Var, value: Any) -> Feature:
        self.made[kind].append((var, value))
        return kind, "", None

    def _kind(self, binding: relax.Binding) -> str:
        value = binding.value
        if type(binding) is relax.MatchCast:
            return "MatchCast"
        if type(value) is relax.Call:
            return op_name(value) or kind_of_call(value.op, self._functions)
        kind = type(value).__name__
        names = {"Var": "alias", "DataflowVar": "alias", "Function": "local function"}
        return names.get(kind, kind)


Made: TypeAlias = list[tuple[relax.Var, Any]]
"""Variables, each with its value; None for a parameter."""

_Use: TypeAlias = tuple[relax.Binding, list[Any]]
"""A binding, and the things that its value uses; see `_uses`."""


def _live(func: relax.Function) -> tuple[list[_Use], int]:
    """The bindings that a function's result or effect depends on, and the number of others."""
    bindings = bindings_of(func)
    used = set(_uses(func))
    live: list[_Use] = []
    for binding in reversed(bindings):
        if hash(binding.var) in used or not is_pure(binding.value):
            live.append((binding, _uses(binding.value)))
            used.update(live[-1][1])
    return live[::-1], len(bindings) - len(live)


def _uses(value: Any) -> list[Any]:
    """Operands: hashes of variables, names of functions, and hashes of contents of constants."""
    kind = type(value)  # `isinstance` of TVM's classes takes long
    if kind is relax.Var or kind is relax.DataflowVar:
        return [hash(value)]
    if kind is tvm.ir.GlobalVar:
        return [str(value.name_hint)]
    if kind is relax.Call:
        callee = [] if type(value.op) is Op else _uses(value.op)
        return [*callee, *itertools.chain.from_iterable(map(_uses, value.args))]
    if kind is relax.Tuple:
        return list(itertools.chain.from_iterable(map(_uses, value.fields)))
    if kind is relax.TupleGetItem:
        return [*_uses(value.tuple_value), value.index]
    if kind is relax.If:  # bindings in the branches have uses of their own
        return [*_uses(value.cond), *_uses(value.true_branch), *_uses(value.false_branch)]
    if kind is relax.Function or kind is relax.SeqExpr:
        return _uses(value.body)
    return [_hash(value)]


def _again(value: Any, first: Any) -> bool:
    """True if a value is computed a second time from the same operands."""
    if not is_pure(value):
        return False
    return type(value) is not relax.Call or _hash(value.attrs) == _hash(first.attrs)


def _by_name(mod: tvm.IRModule) -> dict[str, Any]:
    return {str(gvar.name_hint): func for gvar, func in mod.functions_items()}


def _of_prim_func(func: tirx.PrimFunc) -> Iterator[Feature]:
    """The features of a PrimFunc: its statements, loops, operators and expressions."""
    for node in nodes(func.body, tirx.Stmt, tvm.ir.Expr):
        loop = f"{ir.ForKind(node.kind).name.lower()} loop" if isinstance(node, ir.For) else None
        yield loop or op_name(node) or type(node).__name__, "", None
    yield "a PrimFunc", "operands", _hash(func.body)


def _changed(old: Made, new: Made) -> Iterator[str]:
    """The parts that changed in variables of one kind, whose number is as before."""
    if _differ(old, new, lambda var, value: [_hash(getattr(value, "attrs", None))]):
        yield "attributes"
    if _differ(old, new, lambda var, value: [_hash(var.ty)]):
        yield "shape"
        if _differ(old, new, lambda var, value: [str(ty.dtype) for ty in tensor_types(var.ty)]):
            yield "dtype"
        if _differ(old, new, lambda var, value: [str(ty.vdevice) for ty in tensor_types(var.ty)]):
            yield "device"


def _differ(old: Made, new: Made, part: Callable[[relax.Var, Any], list[Any]]) -> bool:
    one, other = (Counter(each for pair in made for each in part(*pair)) for made in (old, new))
    return one != other


def _of_attributes(what: str, owner: Any) -> Iterator[Feature]:
    for key, value in (owner.attrs or {}).items():
        if key != "global_symbol":
            yield f"{what} {key}", "", None
            opaque = key == keys.OPAQUE
            yield f"{what} {key}", "value", len(value) if opaque else _hash(value)


def _hash(value: Any) -> int:
    """Equal for structurally equal values, also those of plain Python."""
    if isinstance(value, tvm_ffi.Object):
        return int(tvm_ffi.structural_hash(value, map_free_vars=True))
    return hash(value)
