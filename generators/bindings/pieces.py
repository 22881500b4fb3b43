"""Pieces of real modules among the bindings, with one thing or other changed."""

from __future__ import annotations

import contextlib
import functools
from collections import defaultdict
from typing import Any

import tvm
from tvm import relax, tirx
from tvm.ir import Op

from ...compat import availability
from .. import idioms
from ..choices import Choices
from ..module_scope import ModuleScope
from ..ops import FAMILIES, table
from ..ops.variation import BYTES, Variation, Variations, accepted, varied
from ..rewrite.nodes import equal_types, is_symbolic, references, substitute, used_vars
from ..scope import Scope
from ..seeds.piece import bindings_of, main_of
from .calls import argument
from .kind import Callees, Ops
from .repeats import other_operands, swapped_operands
from .values import operator

EXCHANGED = 0.06
"""The share of calls whose operator becomes another one of its family."""
REWIRED = 0.06
"""The share of calls that get other values of the same type as operands."""
CALLED = 0.15
"""The share of pieces that stay functions, and are called."""
EXPORTED = 0.1
"""The share of values that outlive their dataflow block."""


def piece(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """The bindings of a piece, on values in scope where they fit.

    Calls are changed as those of generated code are: operators, attributes, dtypes, operands. Where
    what follows does not allow that, the piece comes as it is.
    """
    mod = c.pick(s.module.pieces).load()
    start = s.state()
    for changed in (True, False):
        try:
            _Copy(c.again(1), s, mod, changed=changed).emit()
        except Exception:  # type inference refuses with errors of all kinds
            s.restore(start)
        else:
            return
    operator(c, s, ops, callees)


class Unfit(Exception):
    """A piece cannot be put into a scope so."""


class _Copy:
    """One piece on its way into a scope."""

    def __init__(self, c: Choices, s: Scope, mod: tvm.IRModule, *, changed: bool) -> None:
        self._c = c
        self._s = s
        self._mod = mod
        self._func = main_of(mod)
        self._changed = changed
        self._new: dict[Any, Any] = {}
        """What stands for variables and functions of the piece."""

    def emit(self) -> None:
        c, s, func = self._c, self._s, self._func
        called = c.flag(CALLED)
        inner = any(map(_has_blocks, bindings_of(func)))
        if not func.is_pure or (inner and not called):
            s.dataflow(False)
            s.pure = s.pure and bool(func.is_pure)
        self._add_functions()
        dims = {var: self._dim(var) for var in relax.analysis.defined_symbolic_vars(func)}
        args = [self._argument(param.ty, dims) for param in func.params]
        if called:
            gvar = s.module.add("piece", substitute(func, self._new))
            s.bind(relax.Call(gvar, args))
            return
        self._new |= dims | dict(zip(func.params, args, strict=True))
        exporting = s.exporting
        for number, binding in enumerate(bindings_of(func)):
            own = c.again(number + 2)
            s.exporting = exporting or own.flag(EXPORTED)
            self._bind(binding, own)
        s.exporting = exporting

    def _add_functions(self) -> None:
        """What the piece calls, under names that are free."""
        s, added = self._s, []
        for gvar, func in self._mod.functions_items():
            if not func.same_as(self._func):
                self._new[gvar] = s.module.add(str(gvar.name_hint), func)
                added.append(self._new[gvar])
        for gvar in added:
            func = s.module.functions[gvar]
            if references(func):
                s.module.functions[gvar] = substitute(func, self._new)

    def _dim(self, var: Any) -> Any:
        """A symbolic dimension of the function, or a new one."""
        symbolic = [dim for dim in self._s.dims if isinstance(dim, tvm.ir.Var)]
        at = self._c.below(len(symbolic) + 1)
        return symbolic[at] if at < len(symbolic) else tirx.Var(var.name, "int64")

    def _argument(self, ty: relax.Type, dims: dict[Any, Any]) -> relax.Expr:
        tensor = isinstance(ty, relax.TensorType)
        if isinstance(ty, relax.AnyType) or (tensor and (ty.shape is None or ty.dtype is None)):
            return self._s.param(ty)  # what the piece does with it is not known
        return argument(self._c, self._s, ty, dims)

    def _bind(self, binding: relax.Binding, c: Choices) -> None:
        s = self._s
        if _has_blocks(binding) and not self._keeps_types(binding.value):
            raise Unfit  # the types inside of it would not be inferred anew
        if isinstance(binding.value, relax.Function) and hash(binding.var) in used_vars(
            [binding.value]
        ):  # it calls itself
            self._new[binding.var] = relax.Var(binding.var.name, binding.var.ty)
            value = substitute(binding.value, self._new)
            s.bind(value, var=self._new[binding.var])
            return
        value = substitute(binding.value, self._new)
        if isinstance(binding, relax.MatchCast):
            self._new[binding.var] = s.match_cast(value, substitute(binding.ty, self._new))
            return
        if isinstance(value, relax.Call):
            value = relax.Call(value.op, value.args, value.attrs, value.ty_args)
            if self._changed and _is_tabulated(value):
                value = self._otherwise(value, c)
        self._new[binding.var] = s.bind(value)

    def _keeps_types(self, value: relax.Expr) -> bool:
        """What the value uses has the types that it had in the piece."""
        used = used_vars([value])
        return all(
            equal_types(new.ty, substitute(old.ty, self._new))
            for old, new in self._new.items()
            if isinstance(old, relax.Var) and hash(old) in used and not is_symbolic(old)
        )

    def _otherwise(self, call: relax.Call, c: Choices) -> relax.Expr:
        """The call, now and then with another operator, other operands, or varied."""
        s = self._s
        own = c.part(BYTES)
        if c.flag(EXCHANGED) and (others := _other_operators(s, call)):
            other = relax.Call(c.pick(others), call.args, call.attrs, call.ty_args)
            found = accepted(s, other, Variation())
            call = call if found is None else found[0]
        if c.flag(REWIRED):
            rewire = other_operands if c.flag() else swapped_operands
            call = _changed(s, call, rewire, c.below(256))
        return varied(own, s, call)


def _other_operators(s: Scope, call: relax.Call) -> list[Op]:
    """Those of its family that take as many operands and the same kind of attributes."""
    name = str(call.op.name).removeprefix("relax.")
    group = next((group for group in _groups().values() if name in group), ())
    return [
        Op.get(f"relax.{each}")
        for each in group
        if each != name and idioms.suits(table[each], s.module.traits)
    ]


@functools.cache
def _groups() -> dict[tuple[Any, ...], list[str]]:
    """Pure operators by family, class of attributes and number of operands, as records build them.

    TVM does not ask whether attributes are of the class that an operator needs.
    """
    groups: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    off = availability.current().ops
    for family, records in FAMILIES.items():
        for record in records:
            if record.pure and record.name not in off:
                with contextlib.suppress(Exception):  # some need what only whole modules have
                    call = record.build(
                        Choices(b""), Scope(ModuleScope(frozenset()), (2,), ("float32",))
                    )
                    if isinstance(call, relax.Call):
                        key = family, type(call.attrs), len(call.args)
                        groups[key].append(record.name)
    return groups


def _changed(s: Scope, call: relax.Call, kind: Variations, first: int) -> relax.Call:
    """The call with one change of this kind, if there is one that type inference accepts."""
    variations = list(kind(s, call))
    if not variations:
        return call
    found = accepted(s, call, variations[first % len(variations)])
    return call if found is None else found[0]


def _is_tabulated(call: relax.Call) -> bool:
    """Type inference knows all about its operands: not so where it calls a PrimFunc."""
    return isinstance(call.op, Op) and str(call.op.name).removeprefix("relax.") in table


def _has_blocks(binding: relax.Binding) -> bool:
    """No dataflow block may hold it."""
    return isinstance(binding.value, relax.If | relax.Function)
