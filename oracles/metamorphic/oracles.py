"""Metamorphic oracles: a pass gives the same for modules that mean the same (see `twins`)."""

from __future__ import annotations

import functools
import json as jsonlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tvm

from ...compat import ir
from ...compat.serialization import load_json, save_json
from ...generators.source import from_source, same_graph, to_source
from .. import keys
from ..grades.grade import Grade
from ..identity import FailureKind
from ..inspect import is_public, nodes, prim_funcs
from ..oracle import Half, Halves, Oracle
from ..pass_runs import PassRuns, attempt
from ..passcall import PassCall
from ..silence import inventory
from ..silence.log import abstain, excused
from ..structural.canonical import canonical, equivalent
from ..text.halves import alike, ran
from ..text.standalone import nested_module, standalone
from ..violation import Case, Violation
from . import twins
from .scripted import TVMSCRIPT


@dataclass(frozen=True, slots=True)
class Twin:
    """One way to make a module that means the same."""

    how: str
    """How the twin differs, for titles and labels."""
    make: Callable[[tvm.IRModule, frozenset[str]], tvm.IRModule | None]
    """Of the module, and the names in it that must stay; None: the module has no such twin."""
    kept: Callable[[tvm.IRModule, PassCall], frozenset[str]] = lambda mod, call: frozenset()
    """The names of the module that must stay, since the call gives them."""
    back: Callable[[tvm.IRModule], tvm.IRModule] = lambda mod: mod
    """Takes from a result what the twin had on top."""
    shown: Callable[[tvm.IRModule], tvm.IRModule] = lambda mod: mod
    """The same for a result that is shown to people."""

    def of(self, mod: tvm.IRModule, call: PassCall) -> tvm.IRModule | None:
        """The twin for this call."""
        return self.make(mod, self.kept(mod, call))


class SourceFault(RuntimeError):
    """A module that does not come back from its own source: relaxfuzz's mistake, no finding."""


def _compare(runs: PassRuns, twin: Twin) -> Violation | None:
    """What is wrong if the pass gives something else for the twin than it did for the module."""
    after = runs.result()
    if after is None:
        return None
    kept = twin.kept(runs.mod, runs.call)
    if (other := runs.given.derived((twin.how, kept), lambda mod: twin.make(mod, kept))) is None:
        abstain(inventory.NO_TWIN)
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
    expected, actual = keys.comparable(twin.back(after)), keys.comparable(twin.back(outcome.mod))
    what = f"gives something else for the same module {twin.how}"
    if equivalent(expected, actual) or _is_unstable(runs, after, what):
        return None
    return keys.mismatch(canonical(expected), canonical(actual), what)


RAISES = "exception"
UNLOADABLE = "what is saved does not load"
NOT_SAVED = "saving and loading changes the result"
"""The first parts of keys."""


def _raises(how: str, error: Exception) -> Violation:
    raised = keys.exception(error)
    return raised.under(RAISES, f"fails on the same module {how}: {raised.title}")


def _is_unstable(runs: PassRuns, after: tvm.IRModule, what: str) -> bool:
    """The pass gives another result for a mere copy, too, which excuses the difference."""
    return not _copies_agree(runs, after) and excused(inventory.UNSTABLE, what)


def _copies_agree(runs: PassRuns, after: tvm.IRModule) -> bool:
    """A mere copy gives what the module gave. Else every twin differs, as `json` reports."""
    copy = attempt(runs.directly, runs.given.copy()).mod
    return copy is not None and equivalent(keys.comparable(after), keys.comparable(copy))


def named(mod: tvm.IRModule, call: PassCall) -> frozenset[str]:
    """The names of the module that the call gives."""
    return frozenset(re.findall(r"\w+", call.expr)).intersection(twins.names(mod))


def renamed(mod: tvm.IRModule, call: PassCall) -> tvm.IRModule:
    """The module under other names, but for those that the call gives."""
    return twins.renamed(mod, named(mod, call))


def _has_nested_sequences(mod: tvm.IRModule) -> bool:
    """A sequence of statements is one of another, as MakePackedAPI leaves them: the constructor
    makes one of both."""
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
    """A module that was saved and loaded means the same, and so can the result be saved."""
    after = runs.result()
    if after is None:
        return None
    copied = runs.attempt("copy", runs.directly, runs.given.copy())
    if copied.error is not None:
        return _raises(COPY.how, copied.error)
    assert copied.mod is not None
    expected, actual = keys.comparable(after), keys.comparable(copied.mod)
    if not equivalent(expected, actual):
        what = f"gives something else for the same module {COPY.how}"
        return keys.mismatch(canonical(expected), canonical(actual), what)
    text = save_json(expected)
    try:
        again = load_json(text)
    except Exception as error:
        return keys.exception(error).under(UNLOADABLE)
    return keys.mismatch(expected, again, NOT_SAVED)


# What is shown side by side


def _halves(twin_list: Sequence[Twin], case: Case, violation: Violation) -> Halves | None:
    """Both results; where the pass raises on the twin, the module and the twin."""
    (call,) = case.calls
    kind = next((twin for twin in twin_list if twin.how in violation.title), None)
    twin = None if kind is None else kind.of(case.mod, call)
    result = attempt(call.run, case.mod)
    if kind is None or twin is None or result.mod is None:
        return None
    other = attempt(call.run, twin)
    label = f"{call.name} on the same module {kind.how}"
    if other.mod is None:
        raised = ran(other, "", label).label
        return Half(f"the module, on which {call.name} works", case.mod), Half(raised, twin)
    return alike(
        Half(f"{call.name} on the module", kind.shown(result.mod)),
        Half(label, kind.shown(other.mod)),
    )


def _json_halves(case: Case, violation: Violation) -> Halves | None:
    """The result and what comes back; or what the pass gives for a copy of the module."""
    if "changes the result" not in violation.title:
        return _halves([COPY], case, violation)
    mod = keys.comparable(case.calls[0].run(case.mod))
    return Half("the result", mod), Half("saved and loaded", load_json(save_json(mod)))


# Reproducers


def _snippet(twin_list: Sequence[Twin], case: Case) -> str:
    """The check as Python, with the first twin that shows the violation spelled out."""
    (call,) = case.calls
    result = attempt(call.run, case.mod).mod
    made = [(kind, twin) for kind in twin_list if (twin := kind.of(case.mod, call)) is not None]
    assert made, "the module has no twin"
    for kind, twin in made[:-1]:
        outcome = attempt(call.run, twin).mod
        if result is None or outcome is None or not equivalent(result, outcome):
            return _text(result, kind.how, twin)
    return _text(result, made[-1][0].how, made[-1][1])


def _text(result: tvm.IRModule | None, how: str, twin: tvm.IRModule) -> str:
    """Names of private functions are up to the pass: where there are any, they are made equal."""
    helpers: list[Any] = [twins.without_stranger] if twins.STRANGER in twin else []
    if result is None or not all(map(is_public, result.functions.values())):
        helpers.append(canonical)
    steps = (f"expected, actual = {f.__name__}(expected), {f.__name__}(actual)" for f in helpers)
    return "\n".join(
        [
            f"{standalone(*helpers)}\n\n\n# The same module {how}.",
            nested_module("twin", twin),
            "\nexpected, actual = apply(mod), apply(twin())",
            *steps,
            "tvm.ir.assert_structural_equal(expected, actual, map_free_vars=True)",
        ]
    ).strip()


_JSON_SNIPPET = """\
expected, actual = apply(mod), apply(tvm.ir.load_json(tvm.ir.save_json(mod)))
again = tvm.ir.load_json(tvm.ir.save_json(expected))
tvm.ir.assert_structural_equal(expected, again, map_free_vars=True)
tvm.ir.assert_structural_equal(expected, actual, map_free_vars=True)
"""


def _brief(case: Case, violation: Violation, twin: str, back: str = "") -> Iterator[str]:
    """Both results compared as they are, where no names of new private functions matter.

    Args:
        twin: statements that define `twin`.
        back: statements that take from `actual` what the twin had on top.
    """
    if violation.key[0] == "exception":
        yield f"{twin}\nthe_pass(mod)  # works\nthe_pass(twin)"
        return
    result = attempt(case.calls[0].run, load_json(save_json(case.mod))).mod
    if result is not None and all(
        is_public(func) or gvar.name_hint in case.mod for gvar, func in result.functions.items()
    ):
        yield f"{twin}\nexpected, actual = the_pass(mod), the_pass(twin)\n{back}{_EQUAL}"


_EQUAL = "tvm.ir.assert_structural_equal(actual, expected, map_free_vars=True)"

_COPY = "tvm.ir.load_json(tvm.ir.save_json(mod))"

_REORDERED = """\
functions = dict(reversed(list(mod.functions.items())))
twin = tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)"""

_STRANGER = f"""\
x = relax.Var("x", relax.TensorType((5, 7), "float32"))
builder = relax.BlockBuilder({_COPY})
with builder.function("unrelated", [x]):
    with builder.dataflow():
        out = builder.emit_output(relax.op.nn.relu(x))
    builder.emit_func_output(out)
twin = builder.get()"""

_EMPTY_STRANGER = f"""\
x = relax.Var("x", relax.TensorType((5, 7), "float32"))
other = relax.Function([x], relax.SeqExpr([], x), x.ty)
twin = {_COPY}
twin["unrelated"] = other.with_attr("global_symbol", "unrelated")"""


def _brief_json(case: Case, violation: Violation) -> Iterator[str]:
    if violation.key[0] == "what is saved does not load":
        yield "text = tvm.ir.save_json(the_pass(mod))\ntvm.ir.load_json(text)"
    elif "changes the result" in violation.key[0]:
        yield (
            "expected = the_pass(mod)\nactual = tvm.ir.load_json(tvm.ir.save_json(expected))\n"
            + _EQUAL
        )
    elif violation.key[0] == "exception":
        yield f"the_pass(mod)  # works\nthe_pass({_COPY})"
    else:
        yield f"expected, actual = the_pass(mod), the_pass({_COPY})\n{_EQUAL}"


def _brief_isolation(case: Case, violation: Violation) -> Iterator[str]:
    for stranger in (_EMPTY_STRANGER, _STRANGER):
        yield from _brief(case, violation, stranger, 'del actual["unrelated"]\n')


def _brief_renaming(case: Case, violation: Violation) -> Iterator[str]:
    """One name at a time: one is mostly enough."""
    for old in twins.names(case.mod):
        if not re.search(rf"\b{re.escape(old)}\b", case.calls[0].expr):
            one, other = (f"'{jsonlib.dumps(name)}'" for name in (old, f"other_{old}"))
            there = f"tvm.ir.load_json(tvm.ir.save_json(mod).replace({one}, {other}))"
            back = f"tvm.ir.load_json(tvm.ir.save_json(actual).replace({other}, {one}))"
            yield from _brief(case, violation, f"twin = {there}", f"actual = {back}\n")


def _of_twins(
    name: str,
    *twin_list: Twin,
    cost: float,
    promise: str,
    source: str,
    brief: Callable[[Case, Violation], Iterable[str]] = lambda case, violation: (),
) -> Oracle:
    return Oracle(
        name=name,
        failure=FailureKind.UNSTABLE,
        tier=2,
        grade=Grade.C,
        grade_of={RAISES: Grade.B},
        cost=cost,
        compares_runs=True,
        promise=promise,
        source=source,
        check=lambda runs: next(filter(None, (_compare(runs, twin) for twin in twin_list)), None),
        snippet=functools.partial(_snippet, twin_list),
        brief=brief,
        halves=functools.partial(_halves, twin_list),
    )


COPY = Twin("saved and loaded", lambda mod, kept: load_json(save_json(mod)))

SHARING = _of_twins(
    "sharing",
    Twin("with no ShapeExpr node shared", lambda mod, kept: twins.unshared(mod)),
    Twin("with all equal ShapeExpr nodes shared", lambda mod, kept: twins.shared(mod)),
    cost=25.0,
    promise="Whether two uses of a shape share one node makes no difference to a pass.",
    source="tvm_ffi.structural_equal: 'compares the shape/content structure of two values "
    "instead of Python object identity'; docs/arch/index.rst, tvm/node",
)

ISOLATION = _of_twins(
    "isolation",
    Twin(
        "with an unrelated function",
        lambda mod, kept: twins.with_stranger(mod),
        back=twins.without_stranger,
        shown=twins.without_stranger,
    ),
    cost=4.0,
    promise="An unrelated public function changes nothing in the other functions.",
    source="docs/arch/pass_infra.rst, Function-Level Passes: 'It fetches one function at a time "
    "from the function list of a module for optimization'",
    brief=_brief_isolation,
)

RENAMING = _of_twins(
    "renaming",
    Twin("with other private names", twins.renamed, named, shown=twins.named_back),
    cost=14.0,
    promise="Names of private functions and bound variables make no difference to a pass.",
    source="include/tvm/ir/function.h, kGlobalSymbol: 'We should not set the attribute for local "
    "functions, so that the compiler can freely rename them'; names of variables are hints",
    brief=_brief_renaming,
)

FUNCTION_ORDER = _of_twins(
    "function-order",
    Twin("with its functions in another order", lambda mod, kept: twins.reordered(mod)),
    cost=3.0,
    promise="The order in which functions were added makes no difference to a pass.",
    source="include/tvm/ir/module.h, IRModuleNode::functions: 'A map from ids to all global "
    "functions', a map without an order",
    brief=lambda case, violation: _brief(case, violation, _REORDERED),
)

SOURCE = _of_twins(
    "source",
    Twin("built again by constructors", lambda mod, kept: rebuilt(mod)),
    cost=36.0,
    promise="A module built by plain constructors is treated as one that other passes made.",
    source="tvm_ffi.structural_equal: 'compares the shape/content structure of two values "
    "instead of Python object identity'",
)

JSON = Oracle(
    name="json",
    failure=FailureKind.UNSTABLE,
    tier=2,
    grade=Grade.C,
    grade_of={RAISES: Grade.B, UNLOADABLE: Grade.B},
    failure_of={UNLOADABLE: FailureKind.FORM, NOT_SAVED: FailureKind.FORM},
    cost=15.0,
    copies=True,
    compares_runs=True,
    promise="A module that was saved and loaded is treated as the one that was saved.",
    source="docs/arch/index.rst, tvm/node: 'We can also serialize arbitrary IR node into a JSON "
    "format, and load them back'",
    check=json,
    snippet=_JSON_SNIPPET,
    brief=_brief_json,
    halves=_json_halves,
)

ORACLES = (JSON, SOURCE, SHARING, RENAMING, FUNCTION_ORDER, ISOLATION, TVMSCRIPT)
"""The copies first: where a mere copy is treated differently, so is every other twin."""
