"""Metamorphic oracles: a pass gives equal results for modules that mean the same; see `twins`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import tvm

from ...compat import ir
from ...compat.serialization import load_json, save_json
from ...generators.source import from_source, same_graph, to_source
from .. import keys
from ..identity import FailureKind
from ..inspect import is_public, nodes, prim_funcs
from ..oracle import TWINS, About, Breach, Half, Halves, Oracle
from ..pass_runs import PassRuns, attempt
from ..silence import inventory
from ..silence.log import abstain, excused
from ..structural.canonical import difference
from ..structural.halves import alike, ran
from ..text.scripted import nested_module
from ..violation import Case, Violation
from . import twins
from .scripted import TVMSCRIPT


@dataclass(frozen=True, slots=True)
class Twin:
    """One way to make a module that means the same."""

    how: str
    """The twin's difference from the module, for titles and labels."""
    make: Callable[[tvm.IRModule], tvm.IRModule | None]
    """Makes the twin of a module; None if there is none."""


class SourceFault(RuntimeError):
    """A module does not survive its own source: an error of relaxfuzz, not a finding."""


def _compare(runs: PassRuns, twin: Twin) -> Violation | None:
    """The violation if the pass gives different results for the twin and the module."""
    after = runs.result()
    if after is None:
        return None
    if (other := runs.given.derived(twin.how, twin.make)) is None:
        abstain(inventory.INAPPLICABLE, "the module has no twin of this kind")
        return None
    if (reason := runs.contract.requires(other)) is not None:
        abstain(inventory.INAPPLICABLE, f"the pass does not apply to the twin: {reason}")
        return None
    outcome = runs.attempt(f"twin {twin.how}", runs.directly, other)
    if outcome.error is not None:
        raised = _raises(twin.how, outcome.error)
        if runs.rejected(outcome.error, other) and excused(inventory.REJECTION, raised.title):
            return None
        return None if _is_unstable(runs, after, raised.title) else raised
    assert outcome.mod is not None
    what = _OTHERWISE.format(twin.how)
    found = difference(after, outcome.mod, what)
    return None if found is None or _is_unstable(runs, after, what) else found


_OTHERWISE = "gives something else for the same module {}"
RAISES = "exception"
UNLOADABLE = "what is saved does not load"
NOT_SAVED = "saving and loading changes the result"
"""The first parts of keys."""


def _raises(how: str, error: Exception) -> Violation:
    raised = keys.exception(error)
    return raised.under(RAISES, f"fails on the same module {how}: {raised.title}")


def _is_unstable(runs: PassRuns, after: tvm.IRModule, what: str) -> bool:
    """True if even a mere copy gives another result, which excuses the difference."""
    return not _copies_agree(runs, after) and excused(inventory.UNSTABLE, what)


def _copies_agree(runs: PassRuns, after: tvm.IRModule) -> bool:
    """True if a mere copy gives the same result. If not, every twin differs, as `json` reports."""
    copy = attempt(runs.directly, runs.given.copy()).mod
    return copy is not None and difference(after, copy, "") is None


def _has_nested_sequences(mod: tvm.IRModule) -> bool:
    """True if a sequence of statements is nested in another, as MakePackedAPI leaves them.

    The constructor would merge them.
    """
    sequences = (seq for _, func in prim_funcs(mod) for seq in nodes(func, ir.SeqStmt))
    return any(isinstance(item, ir.SeqStmt) for seq in sequences for item in seq.seq)


def rebuilt(mod: tvm.IRModule) -> tvm.IRModule | None:
    """The module built again from its own source, by plain constructors.

    Raises:
        SourceFault: the source defines another module.
    """
    if keys.comparable(mod) is not mod or _has_nested_sequences(mod):
        return None
    twin = from_source(to_source(mod))
    difference = same_graph(mod, twin)
    if difference is not None:
        raise SourceFault(f"from_source(to_source(mod)) differs: {difference}")
    return twin


def json(runs: PassRuns) -> Violation | None:
    """Check that a saved and loaded module is treated the same, and that its result survives."""
    after = runs.result()
    if after is None:
        return None
    copied = runs.attempt("copy", runs.directly, runs.given.copy())
    if copied.error is not None:
        return _raises(COPY.how, copied.error)
    assert copied.mod is not None
    if (found := difference(after, copied.mod, _OTHERWISE.format(COPY.how))) is not None:
        return found
    expected = keys.comparable(after)
    text = save_json(expected)
    try:
        again = load_json(text)
    except Exception as error:
        return keys.exception(error).under(UNLOADABLE)
    return keys.mismatch(expected, again, NOT_SAVED)


# Halves to show side by side


def _halves(twin: Twin, case: Case, violation: Violation) -> Halves | None:
    """Both results; if the pass raises on the twin, the module and the twin."""
    (call,) = case.calls
    made = twin.make(case.mod)
    result = attempt(call.run, case.mod)
    if twin.how not in violation.title or made is None or result.mod is None:
        return None
    other = attempt(call.run, made)
    label = f"{call.name} on the same module {twin.how}"
    if other.mod is None:
        raised = ran(other, "", label).label
        return Half(f"the module, on which {call.name} works", case.mod), Half(raised, made)
    return alike(Half(f"{call.name} on the module", result.mod), Half(label, other.mod))


def _json_halves(case: Case, violation: Violation) -> Halves | None:
    """The result before and after saving; or the pass's results for the module and a copy."""
    if "changes the result" not in violation.title:
        return _halves(COPY, case, violation)
    mod = keys.comparable(case.calls[0].run(case.mod))
    return Half("the result", mod), Half("saved and loaded", load_json(save_json(mod)))


# Reproducers


def _brief(case: Case, violation: Violation, twin: str) -> Iterator[str]:
    """Python that compares both results, if there are no new private functions to rename.

    Args:
        twin: statements that define `twin`.
    """
    if violation.key[0] == RAISES:
        yield f"{twin}\nthe_pass(mod)  # works\nthe_pass(twin)"
        return
    result = attempt(case.calls[0].run, load_json(save_json(case.mod))).mod
    if result is not None and all(
        is_public(func) or gvar.name_hint in case.mod for gvar, func in result.functions.items()
    ):
        yield f"{twin}\nexpected, actual = the_pass(mod), the_pass(twin)\n{_EQUAL}"


_EQUAL = "tvm.ir.assert_structural_equal(actual, expected, map_free_vars=True)"

_COPY = "tvm.ir.load_json(tvm.ir.save_json(mod))"

_REORDERED = """\
functions = dict(reversed(list(mod.functions.items())))
twin = tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)"""


def _brief_json(case: Case, violation: Violation) -> Iterator[str]:
    if violation.key[0] == UNLOADABLE:
        yield "text = tvm.ir.save_json(the_pass(mod))\ntvm.ir.load_json(text)"
    elif violation.key[0] == NOT_SAVED:
        yield (
            "expected = the_pass(mod)\nactual = tvm.ir.load_json(tvm.ir.save_json(expected))\n"
            + _EQUAL
        )
    else:
        yield from _brief(case, violation, f"twin = {_COPY}")


def _brief_source(case: Case, violation: Violation) -> Iterator[str]:
    built = rebuilt(case.mod)
    if built is not None:
        yield from _brief(case, violation, f"{nested_module('built', built)}\ntwin = built()")


def _of_twin(
    name: str,
    twin: Twin,
    *,
    promise: str,
    source: str,
    brief: Callable[[Case, Violation], Iterable[str]],
) -> Oracle:
    return Oracle(
        name=name,
        breach=Breach(FailureKind.UNSTABLE, explains=TWINS),
        about=About.RUNS,
        tier=2,
        promise=promise,
        source=source,
        check=lambda runs: _compare(runs, twin),
        brief=brief,
        halves=functools.partial(_halves, twin),
    )


COPY = Twin("saved and loaded", lambda mod: load_json(save_json(mod)))

FUNCTION_ORDER = _of_twin(
    "function-order",
    Twin("with its functions in another order", twins.reordered),
    promise="The order in which functions were added makes no difference to a pass.",
    source="include/tvm/ir/module.h, IRModuleNode::functions: 'A map from ids to all global "
    "functions', a map without an order",
    brief=lambda case, violation: _brief(case, violation, _REORDERED),
)

SOURCE = _of_twin(
    "source",
    Twin("built again by constructors", rebuilt),
    promise="A module built by plain constructors is treated as one that other passes made.",
    source="tvm_ffi.structural_equal: 'compares the shape/content structure of two values "
    "instead of Python object identity'",
    brief=_brief_source,
)

JSON = Oracle(
    name="json",
    breach=Breach(FailureKind.UNSTABLE, explains=TWINS),
    breaches={
        UNLOADABLE: Breach(FailureKind.FORM, explains=TWINS),
        NOT_SAVED: Breach(FailureKind.FORM, explains=TWINS),
    },
    about=About.RUNS,
    tier=2,
    promise="A module that was saved and loaded is treated as the one that was saved.",
    source="docs/arch/index.rst, tvm/node: 'We can also serialize arbitrary IR node into a JSON "
    "format, and load them back'",
    check=json,
    brief=_brief_json,
    halves=_json_halves,
)

ORACLES = (JSON, SOURCE, FUNCTION_ORDER, TVMSCRIPT)
"""The oracles, those of copies first: if a mere copy makes a difference, so does every other twin.
"""
