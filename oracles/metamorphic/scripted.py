"""The oracle of the script form, which must parse back to the module."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import Op

from ...compat import ir
from ...compat.script import read_script
from .. import keys
from ..checkers import flaw, has_old_types, impossible_casts, may_be
from ..identity import FailureKind
from ..inspect import attr, nodes, prim_funcs, relax_functions
from ..oracle import TWINS, Breach, Half, Halves, Oracle
from ..pass_runs import PassRuns, attempt
from ..silence import inventory
from ..silence.log import abstain, excused
from ..structural.halves import ran
from ..text import messages
from ..text.frames import Trace
from ..violation import Case, Violation
from .normal import NORMAL_FORMS


def tvmscript(runs: PassRuns) -> Violation | None:
    """Check that the result's script form parses back to the result.

    If it does not, TVMScript is to blame, unless the parser reads the text but refuses the module
    for a fault of the pass. The pass is to blame for a match_cast to a type that its value cannot
    have. It is also to blame if the parser gets further with the pass's input, and a type in the
    result differs from the one inferred again. Inputs with such a match_cast have no promise, as
    TVM does not construct them.
    """
    after = runs.changed_result()
    if after is None or flaw(after) is not None:
        return None
    mod = keys.comparable(after)
    try:
        again = read_script(mod.script(show_meta=True))
    except Exception as error:
        if _has_blocks_of_no_dialect(runs.mod):
            abstain(
                inventory.NO_SCRIPT,
                "a PrimFunc has blocks and not the attribute s_tir: no script has that",
            )
            return None
        refused = _refusal(parser_message(error))
        casts = impossible_casts(after)
        if casts and _only_more_is_known(runs.mod, casts):
            abstain(
                inventory.NO_SCRIPT,
                "more is known of the value of a match_cast, which fails: no script has that",
            )
            return None
        broken = bool(casts) or (0 <= refused < _reached(runs.mod) and has_old_types(mod))
        unread = unreadable(mod, error)
        stale = refused >= 0 and not broken and _stale(runs.mod)
        if stale and excused(inventory.UNSCRIPTABLE, unread.title):
            return None
        return unread if broken else dataclasses.replace(unread, pass_name=TVMSCRIPT_ITSELF)
    found = difference(mod, again)
    if found is None:
        return None
    stale = bool(_IN_A_TYPE.match(found.key[-1])) and _stale(runs.mod)
    if stale and excused(inventory.UNSCRIPTABLE, found.title):
        return None
    return dataclasses.replace(found, pass_name=TVMSCRIPT_ITSELF)


def violation_of(mod: tvm.IRModule) -> Violation | None:
    """The violation if a module does not survive printing and parsing, whatever its origin."""
    mod = keys.comparable(mod)
    try:
        found = difference(mod, read_script(mod.script(show_meta=True)))
    except Exception as error:
        found = unreadable(mod, error)
    return None if found is None else dataclasses.replace(found, pass_name=TVMSCRIPT_ITSELF)


def unreadable(mod: tvm.IRModule, error: Exception) -> Violation:
    """The violation if the parser cannot read the module's script."""
    text, found = parser_message(error), keys.exception(error)
    lacking = _LACKING.match(text)
    known = lacking is not None and lacking[1] in _printed_names()
    return Violation(
        f"{UNREADABLE}: {messages.headline(text) or 'the parser gives no reason'}",
        f"{found.detail}\n\n{messages.listing(mod)}",
        (NO_FUNCTION,) if known else (UNREADABLE,),
        reason=NO_FUNCTION if known else "",
        trace=Trace() if known else found.trace,
    )


def difference(mod: tvm.IRModule, again: tvm.IRModule) -> Violation | None:
    """The lost property: one of `NORMAL_FORMS`, else the place of a difference that they leave.

    Args:
        again: the module that the parser reads from the script.
    """
    first = found = _mismatch(mod, again)
    if first is None:
        return None
    for normal in NORMAL_FORMS:
        mod, again = normal.of(mod), normal.of(again)
        found = _mismatch(mod, again)
        if found is None:
            title, key = f"{CHANGED}: {normal.lost}", (CHANGED, normal.lost)
            return dataclasses.replace(first, title=title, key=key, reason=normal.lost)
    return found


def _mismatch(mod: tvm.IRModule, again: tvm.IRModule) -> Violation | None:
    """The first difference; its place names the cause, as most nodes are printed independently."""
    found = keys.mismatch(mod, again, CHANGED, located=True)
    if found is None:
        return None
    place = _CAST_VALUE.sub("a value", found.key[-1])
    return dataclasses.replace(found, key=(CHANGED, place), reason=place)


_CAST_VALUE = re.compile(r"(?<=^MatchCast / ).*")
"""The value that is parsed in place of a cast; it is accidental."""


def _has_blocks_of_no_dialect(mod: tvm.IRModule) -> bool:
    """True if a PrimFunc has blocks but is not of the dialect S-TIR, which the parser refuses.

    'is only for s_tir PrimFuncs' (src/tirx/script/builder/ir.cc); 'SBlock is not allowed in
    tirx=True mode' (src/tirx/analysis/verify_tirx_well_formed.cc), which the parser calls for those
    without the attribute.
    """
    return any(
        not attr(func, "s_tir") and nodes(func, ir.SBlockRealize) for _, func in prim_funcs(mod)
    )


def _only_more_is_known(before: tvm.IRModule, casts: list[relax.MatchCast]) -> bool:
    """True if each of these failing match_casts stems from one with less precise types.

    A pass may reveal that a match_cast fails, e.g. from `n` elements to 3 if it binds `n` to 2.
    """
    old = nodes(before, relax.MatchCast)
    return all(
        any(may_be(one.value.ty, cast.value.ty) and may_be(one.ty, cast.ty) for one in old)
        for cast in casts
    )


def _reached(mod: tvm.IRModule) -> int:
    """Index of the parser's refusal in `_REFUSALS`; their number if it succeeds; -1 for others."""
    try:
        read_script(keys.comparable(mod).script(show_meta=True))
    except Exception as error:
        return _refusal(parser_message(error))
    return len(_REFUSALS)


def _refusal(text: str) -> int:
    return next((n for n, said in enumerate(_REFUSALS) if said in text), -1)


def _stale(mod: tvm.IRModule) -> bool:
    """True if a GlobalVar has another type than its function; the parser refuses or corrects it."""
    return any(
        isinstance(gvar.ty, relax.FuncType)
        and not tvm_ffi.structural_equal(gvar.ty, func.ty, map_free_vars=True)
        for gvar, func in relax_functions(mod)
    )


TVMSCRIPT_ITSELF = "TVMScript"

CHANGED = "printing and parsing changes a module"
UNREADABLE = "the script form of a module does not parse"

_IN_A_TYPE = re.compile(r"\w+Type\b")
"""Matches if the innermost differing node is a type."""

_REFUSALS = (
    "Number of arguments and parameters mismatch",
    "Invalid annotation",
    "Program is not well-formed",
)
"""The parser's refusals of modules whose text it can read, in the order in which it checks.

It knows the types of functions before it reads calls of them. So it notices calls, or types in
them, that a pass failed to update, which the well-formed checker overlooks."""


def parser_message(error: Exception) -> str:
    """The message of the parser, or of the exception that was raised while it read the text."""
    raised = f"{type(error).__name__}: {messages.text_of(error)}"
    found = re.search(r"error: (.*)", raised)
    return found.group(1) if found else raised


_LACKING = re.compile(r"(?:\w+: )?module 'tvm\.tirx[\w.]*' has no attribute '(\w+)'")

NO_FUNCTION = "the script has no function for an operator, by the name that is printed"


@functools.cache
def _printed_names() -> frozenset[str]:
    """All parts of the printed names of TensorIR's operators (`PrintTIRCall`)."""
    ops = (Op.get(name) for name in Op.list_op_names() if not name.startswith("relax."))
    printed = (op.get_attr("TScriptPrinterName") or op.name for op in ops)
    return frozenset(part for name in printed for part in str(name).split("."))


def _tvmscript_halves(case: Case, violation: Violation) -> Halves | None:
    """The module and its parsed script; None (to show input and result) if a pass is to blame."""
    if violation.pass_name != TVMSCRIPT_ITSELF:
        return None
    (call,) = case.calls
    mod = keys.comparable(call.run(case.mod))
    script = mod.script(show_meta=True)
    again = attempt(lambda mod: read_script(script), mod)
    return Half(f"after {call.name}", mod), ran(
        again, "printed and parsed", "the parser of TVMScript"
    )


def _brief_tvmscript(case: Case, violation: Violation) -> Iterator[str]:
    """Python that parses the script of the module itself, and of the pass's result."""
    parsed = "tvm.script.from_source(result.script(show_meta=True))"
    for result in ("mod", "the_pass(mod)"):
        yield f"result = {result}\ntvm.ir.assert_structural_equal({parsed}, result)"


TVMSCRIPT = Oracle(
    name="tvmscript",
    breach=Breach(FailureKind.FORM, explains=TWINS),
    breaches={UNREADABLE: Breach(FailureKind.RAISES, explains=TWINS)},
    tier=2,
    promise="The script form of a module parses back to a structurally equal module.",
    source="docs/arch/tvmscript.rst, 'Roundtrip guarantee': 'For any IRModule constructed through "
    "the compiler: ... tvm.ir.assert_structural_equal(mod, reparsed)'",
    check=tvmscript,
    brief=_brief_tvmscript,
    halves=_tvmscript_halves,
)
