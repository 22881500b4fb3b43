"""Evidence: facts about the minimized module of a finding, for its identity.

It is taken in a child process, since it runs code of TVM that may crash, and is stored with the
finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax
from tvm.ir import Op
from tvm.relax.analysis import BaseCheckResult, type_base_check

from ...oracles import keys
from ...oracles.identify import DEVICE, Circumstances
from ...oracles.ingredients import ingredients
from ...oracles.inspect import bindings_of, has_op_attr, op_name
from ...oracles.lowering_gaps import unknown
from ...oracles.violation import StepJournal


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Facts about a finding's module."""

    ingredients: tuple[str, ...]
    """See `ingredients`."""
    unknowns: tuple[str, ...] = ()
    """Gaps in types of calls whose legalizations raise for lack of that information, e.g. "unknown
    shape"."""
    retyped: tuple[str, str] | None = None
    """The first operator whose legalization has another type than its call, and the difference."""
    inside: str = ""
    """The innermost pass inside the blamed one that alone fails in the same way."""

    def circumstances(self, *, minimized: bool) -> Circumstances:
        """The facts on which the identity of the finding depends.

        Args:
            minimized: the module contains only what the bug needs.
        """
        return Circumstances(
            ingredients=frozenset(self.ingredients) if minimized else None,
            inside=self.inside,
            retyped=self.retyped,
            unknowns=self.unknowns,
        )


def evidence_of(mod: tvm.IRModule, journal: StepJournal, *, whole: bool) -> Evidence:
    """Take the evidence of the module.

    Args:
        whole: also run code that may crash: the legalizations of the operators.
    """
    journal("take evidence")
    calls = list(_calls(mod))
    retyped, refused = None, calls if len({name for _, name in calls}) == 1 else []
    if whole:
        results = list(_legalized_calls(calls, journal))
        retyped = next(_retyped(results), None)
        refused = [(call, name) for call, name, given in results if given is None]
    gaps = (unknown(call, name) for call, name in refused)
    return Evidence(
        ingredients=tuple(sorted(ingredients(mod))),
        unknowns=tuple(sorted({str(gap[0]) for gap in gaps if gap is not None})),
        retyped=retyped,
    )


def _calls(mod: tvm.IRModule) -> Iterator[tuple[relax.Call, str]]:
    for binding in bindings_of(mod):
        name = op_name(binding.value)
        if name is not None and keys.computes(name):
            yield binding.value, name


def _legalized_calls(
    calls: Iterable[tuple[relax.Call, str]], journal: StepJournal
) -> Iterator[tuple[relax.Call, str, Any]]:
    """Calls that have a legalization, with the type of its result; None if it raises."""
    for call, name in calls:
        if has_op_attr(name, "FLegalize"):
            journal(f"legalize {name}")
            yield call, name, _legalized(call, name)


def _retyped(results: Iterable[tuple[relax.Call, str, Any]]) -> Iterator[tuple[str, str]]:
    for call, name, given in results:
        if given is not None and type_base_check(call.ty, given) != BaseCheckResult.PASS:
            yield name, _difference(call.ty, given)


def _legalized(call: relax.Call, name: str) -> Any:
    """The type of the legalization's result; None if it raises, which the finding reports."""
    builder = relax.BlockBuilder()
    builder._begin_binding_block()
    try:
        return builder.normalize(Op.get(name).get_attr("FLegalize")(builder, call)).ty
    except Exception:
        return None
    finally:
        builder._end_block()


def _difference(old: Any, new: Any) -> str:
    """The first difference between two types, in any respect that an operator may get wrong."""
    if type(old) is not type(new):
        return f"{type(old).__name__} / {type(new).__name__}"
    if isinstance(old, relax.TensorType):
        if old.ndim != new.ndim:
            return "rank"
        if old.dtype != new.dtype:
            return "dtype"
        alike = type_base_check(relax.TensorType(old.shape, old.dtype), new)
        return DEVICE if alike == BaseCheckResult.PASS else "shape"
    if isinstance(old, relax.TupleType) and len(old.fields) == len(new.fields):
        differing = (
            _difference(*pair)
            for pair in zip(old.fields, new.fields, strict=True)
            if type_base_check(*pair) != BaseCheckResult.PASS
        )
        return next(differing, "fields")
    return type(old).__name__
