"""Changes of one call of a piece."""

from __future__ import annotations

import contextlib
import functools
from collections import defaultdict
from typing import Any

import tvm_ffi
from tvm import relax
from tvm.ir import GlobalVar, Op

from ....compat import availability
from ... import idioms
from ...choices import Choices
from ...module_scope import ModuleScope
from ...ops import OP_FAMILIES, table
from ...ops.variation import BYTES, Variation, Variations, accepted, varied
from ...scope import Scope
from ...seeds.edit import PieceEdit
from ..repeats import other_operands, swapped_operands

EXCHANGED = 0.06
"""The share of calls whose operator becomes another one of its family."""
REWIRED = 0.06
"""The share of calls that get other values of the same type as operands."""
OTHER_KERNEL = 0.3
"""The share of calls of PrimFuncs that call another PrimFunc instead, if one fits."""


def changed(c: Choices, s: Scope, call: relax.Call) -> tuple[relax.Expr, list[str]]:
    """The call, perhaps with other operands or another operator, or varied; and the edits."""
    edits = []
    own = c.part(BYTES)
    name = _name(call)
    kinds = s.module.edits
    exchanged = c.flag(EXCHANGED) and PieceEdit.OPERATOR in kinds
    if exchanged and (others := _other_operators(s, call)):
        other = relax.Call(c.pick(others), call.args, call.attrs, call.ty_args)
        found = accepted(s, other, Variation())
        if found is not None:
            call = found[0]
            edits.append(f"{name} becomes {_name(call)}")
    if c.flag(REWIRED) and PieceEdit.OPERANDS in kinds:
        rewire = other_operands if c.flag() else swapped_operands
        rewired = _with(s, call, rewire, c.below(256))
        if rewired is not None:
            call = rewired
            edits.append(f"{_name(call)} has other operands")
    vary = PieceEdit.VARIATION in kinds
    made = varied(own, s, call, table[_name(call)].deadly) if vary else call
    if not made.same_as(call):
        edits.append(f"{_name(call)} varies")
    return made, edits


def _name(call: relax.Call) -> str:
    return str(call.op.name).removeprefix("relax.")


def _other_operators(s: Scope, call: relax.Call) -> list[Op]:
    """Operators of its family with as many operands and the same kind of attributes."""
    name = _name(call)
    group = next((group for group in _groups().values() if name in group), ())
    return [
        Op.get(f"relax.{each}")
        for each in group
        if each != name and not table[each].deadly and idioms.suits(table[each], s.module.traits)
    ]


@functools.cache
def _groups() -> dict[tuple[Any, ...], list[str]]:
    """Pure operators by family, class of attributes and number of operands, as records build them.

    TVM does not check that attributes are of the class that an operator needs.
    """
    groups: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    off = availability.current().ops
    for family, records in OP_FAMILIES.items():
        for record in records:
            if record.pure and record.name not in off:
                with contextlib.suppress(Exception):  # some need parts that only whole modules have
                    call = record.build(
                        Choices(b""), Scope(ModuleScope(frozenset()), (2,), ("float32",))
                    )
                    if isinstance(call, relax.Call):
                        key = family, type(call.attrs), len(call.args)
                        groups[key].append(record.name)
    return groups


def _with(s: Scope, call: relax.Call, kind: Variations, first: int) -> relax.Call | None:
    """The call with one change of this kind; None if there is none that type inference accepts."""
    variations = list(kind(s, call))
    if not variations:
        return None
    found = accepted(s, call, variations[first % len(variations)])
    return None if found is None else found[0]


def is_tabulated(call: relax.Call) -> bool:
    """True if type inference checks all operands; it cannot for calls of PrimFuncs."""
    return isinstance(call.op, Op) and _name(call) in table


def is_deadly(value: relax.Expr) -> bool:
    """True if type inference of the operator kills the process on some operands."""
    called = isinstance(value, relax.Call) and is_tabulated(value)
    return called and bool(table[_name(value)].deadly)


# Calls of PrimFuncs


def kernel_of(call: Any) -> tuple[GlobalVar, int] | None:
    """The PrimFunc that is called by `call_tir`, and the number of its operands."""
    if isinstance(call, relax.Call) and isinstance(call.op, Op) and _name(call) == "call_tir":
        return call.args[0], len(call.args[1].fields) + len(call.args) - 2
    return None


def with_other_kernel(c: Choices, module: ModuleScope, call: relax.Call) -> relax.Call | None:
    """A call of another PrimFunc of the same type, which pieces call with as many operands.

    With another number, it might write to an operand or read a result, which is undefined.
    """
    called = kernel_of(call)
    if called is None or any(isinstance(ty, relax.AnyType) for ty in called[0].ty.params):
        return None
    gvar, operands = called
    others = [
        other
        for other, number in module.kernels.items()
        if other in module.functions
        and not other.same_as(gvar)
        and number == operands
        and tvm_ffi.structural_equal(other.ty, gvar.ty, map_free_vars=True)
    ]
    if not others:
        return None
    return relax.Call(call.op, [c.pick(others), *call.args[1:]], call.attrs, call.ty_args)
