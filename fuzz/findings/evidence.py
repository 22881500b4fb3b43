"""Evidence: what the module of a finding shows, for the rules of deduplication and of grades.

It is taken in a child process, since it runs code of TVM that may crash, and is stored with the
finding: the rules themselves only compare.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax
from tvm.ir import Op
from tvm.relax.analysis import BaseCheckResult, type_base_check

from ...corpus.triggers import TRIGGERS
from ...generators.rewrite.defaults import unusual
from ...oracles import keys
from ...oracles.grades.rare import rare
from ...oracles.inspect import bindings_of, has_op_attr, op_name
from ...oracles.structural.lowering_gaps import unknown
from ...oracles.violation import Journal
from .pattern import ARITHMETIC, PRIM_FUNC, parts, pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What rules know of a finding's module."""

    pattern: str
    """The module up to names, dtypes, dimensions and the values of constants."""
    ops: tuple[str, ...]
    """The operators of the model (add, conv2d) that the module calls."""
    unknowns: tuple[str, ...]
    """What types of calls leave open that a legalization must know, e.g. "unknown shape"."""
    retyped: tuple[tuple[str, str], ...] = ()
    """Operators whose legalization gives another type than the call has, in the order of the calls;
    in what it differs."""
    parts: tuple[str, ...] = ()
    """What else the module has that not every module has, e.g. "If", "relax.call_tir"."""
    attributes: tuple[str, ...] = ()
    """The attributes of operators of the model that are not the default, e.g. "keepdims"."""
    triggers: tuple[str, ...] = ()
    """Triggers of known bugs that are true for the module."""
    inside: tuple[tuple[str, str], ...] = ()
    """Passes that run inside of the pass and in its place show the same key, each with where it
    raises."""
    rare: tuple[str, ...] = ()
    """What keeps the module from being plain, which the grade depends on; see `grades.rare`."""

    @property
    def operators(self) -> set[str]:
        """The operators that are called, the compiler's own among them."""
        return {*self.ops, *(part for part in self.parts if part.startswith("relax."))}

    @property
    def legalized(self) -> set[str]:
        """Those of the model, and those of the compiler that have a legalization."""
        return {op for op in self.operators if op in self.ops or has_op_attr(op, "FLegalize")}

    @property
    def arithmetic(self) -> set[str]:
        """The classes of arithmetic in a module of PrimFuncs; none for modules of Relax."""
        if not self.has_only_prim_funcs:
            return set()
        return {word for word in self.pattern.split() if word in ARITHMETIC}

    @property
    def has_only_prim_funcs(self) -> bool:
        """The module is one that passes of TensorIR get."""
        return all(line.startswith(PRIM_FUNC) for line in self.pattern.splitlines())


def evidence_of(mod: tvm.IRModule, journal: Journal, *, whole: bool) -> Evidence:
    """What the module shows.

    Args:
        whole: run what may crash: the legalizations of the operators, the parser of TVMScript.
    """
    journal("take evidence")
    calls = list(_calls(mod))
    unknowns = {str(found[0]) for call, name in calls if (found := unknown(call, name)) is not None}
    return Evidence(
        pattern=pattern(mod),
        ops=tuple(sorted({name for _, name in calls})),
        unknowns=tuple(sorted(unknowns)),
        retyped=tuple(dict.fromkeys(_retyped(calls, journal))) if whole else (),
        parts=tuple(sorted(parts(mod))),
        attributes=tuple(sorted({name for call, _ in calls for name in unusual(call)})),
        triggers=tuple(sorted(name for name, holds in TRIGGERS.items() if holds(mod))),
        rare=rare(mod, journal, tried=whole),
    )


def _calls(mod: tvm.IRModule) -> Iterator[tuple[relax.Call, str]]:
    for binding in bindings_of(mod):
        name = op_name(binding.value)
        if name is not None and keys.computes(name):
            yield binding.value, name


def _retyped(calls: list[tuple[relax.Call, str]], journal: Journal) -> Iterator[tuple[str, str]]:
    for call, name in calls:
        if has_op_attr(name, "FLegalize"):
            journal(f"legalize {name}")
            given = _legalized(call, name)
            if given is not None and type_base_check(call.ty, given) != BaseCheckResult.PASS:
                yield name, _difference(call.ty, given)


def _legalized(call: relax.Call, name: str) -> Any:
    """The type of what the legalization gives; None where it raises, as the finding reports."""
    builder = relax.BlockBuilder()
    builder._begin_binding_block()
    try:
        return builder.normalize(Op.get(name).get_attr("FLegalize")(builder, call)).ty
    except Exception:
        return None
    finally:
        builder._end_block()


def _difference(old: Any, new: Any) -> str:
    """In what two types differ first: an operator may be wrong in each of them."""
    if type(old) is not type(new):
        return f"{type(old).__name__} / {type(new).__name__}"
    if isinstance(old, relax.TensorType):
        if old.ndim != new.ndim:
            return "rank"
        return "shape" if old.dtype == new.dtype else "dtype"
    if isinstance(old, relax.TupleType) and len(old.fields) == len(new.fields):
        differing = (
            _difference(*pair)
            for pair in zip(old.fields, new.fields, strict=True)
            if type_base_check(*pair) != BaseCheckResult.PASS
        )
        return next(differing, "fields")
    return type(old).__name__
