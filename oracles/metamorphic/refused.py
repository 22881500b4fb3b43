"""Refused: what breaks a rule of well-formedness is not taken for a well-formed module.

So are calls of which nobody knows whether they break one: neither type inference nor a function of
TVM's interface may die of any.
"""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from ...generators.source import from_source, to_source
from .. import keys
from ..composition import contract_of
from ..execute.fork import LATE, in_fork
from ..grades.grade import Grade
from ..identity import FailureKind
from ..oracle import Half, Halves, Oracle
from ..pass_runs import PassRuns
from ..text import messages
from ..violation import Case, Violation
from . import ill_typed, misuse
from .broken import INFERENCE, RULES, Rule
from .graph import Graph
from .ill_typed import IllTyped
from .misuse import Misuse

CHECKER = "relax.analysis.well_formed"
"""Who is blamed: a pass may rely on the rules."""

ACCEPTED = "accepted"
"""How it ended, in a key, where nothing died."""

TYPES = "type inference"
"""Who is blamed for a call of which type inference dies."""

ERRORS = (
    "docs/contribute/error_handling.rst: 'TVM contains structured error classes to indicate "
    "specific types of error'"
)
INTERFACE = "arguments"
"""Who is blamed for a function that dies of its arguments."""

PLACES = 3
"""Places of a module at which a rule is broken, where the oracle is asked for by name."""

CALLS, MOST_CALLS = 12, 400
"""Calls that are given other operands or attributes, in a sample and where it is asked by name."""

MISUSES = 32
"""Calls of functions with arguments of other types."""


@dataclass(frozen=True, slots=True)
class _BrokenModule:
    """A module that breaks a rule: the checker or the pass refuses it."""

    rule: Rule
    graph: Graph
    blamed = CHECKER

    @property
    def broken(self) -> str:
        return self.rule.broken

    key = broken

    @property
    def source(self) -> str:
        return self.rule.source

    def module(self) -> tvm.IRModule:
        return self.graph.load()

    def is_refused(self, runs: PassRuns) -> bool:
        mod = self.module()
        if not relax.analysis.check_well_formed(mod):
            return True
        try:
            runs.directly(mod)
        except Exception:  # any error tells the user that something is wrong
            return True
        return False

    def text(self, whole: tvm.IRModule, apply: str) -> str:
        return _edited(self, Graph(whole), apply)


@dataclass(frozen=True, slots=True)
class _ChangedCall:
    """A call that type inference may accept or refuse."""

    call: IllTyped
    blamed = TYPES
    source = INFERENCE

    @property
    def key(self) -> str:
        return self.call.op

    @property
    def broken(self) -> str:
        return f"{self.call.op} is given other operands or attributes"

    def module(self) -> tvm.IRModule:
        return self.call.module()

    def is_refused(self, runs: PassRuns) -> bool:
        with contextlib.suppress(Exception):  # any error tells the user that something is wrong
            self.call.infer()
        return True  # it has a type: the call is right

    def text(self, whole: tvm.IRModule, apply: str) -> str:
        call = 'call = mod["main"].body.blocks[0].bindings[0].value'
        lines = [f"# Here {self.broken}.", to_source(self.module()), call]
        return "\n".join([*lines, *_tried("relax.BlockBuilder().normalize(call)")])


@dataclass(frozen=True, slots=True)
class _MisusedFunction:
    """A function whose arguments may be of other types than it takes."""

    misuse: Misuse
    blamed = INTERFACE
    source = ERRORS

    @property
    def key(self) -> str:
        return self.misuse.function

    @property
    def broken(self) -> str:
        return f"{self.key} is given arguments of other types"

    def module(self) -> tvm.IRModule:
        return tvm.IRModule()

    def is_refused(self, runs: PassRuns) -> bool:
        with contextlib.suppress(Exception):  # any error tells the user that something is wrong
            self.misuse.call()
        return True  # it takes them

    def text(self, whole: tvm.IRModule, apply: str) -> str:
        lines = ["from tvm.relax import dpl\n", f"# Here {self.broken}."]
        return "\n".join([*lines, *_tried(self.misuse.text)])


_Attempt = _BrokenModule | _ChangedCall | _MisusedFunction


def check(runs: PassRuns) -> tuple[Violation, ...]:
    """One rule is broken at one place, both by chance, and some calls are changed; thoroughly, each
    rule at several places, and many calls.
    """
    found: dict[tuple[str, ...], Violation] = {}
    for attempt, how in _not_refused(runs, _attempts(runs)):
        violation = _violation(attempt, how)
        found.setdefault(violation.key, violation)
    return tuple(found.values())


def _attempts(runs: PassRuns) -> Iterator[_Attempt]:
    chance = random.Random(runs.entropy)
    rules = RULES if runs.thorough else chance.sample(RULES, 1)
    yield from _broken(runs.mod, rules, PLACES if runs.thorough else 1, chance)
    # A check by name begins with those of the sample, so that it finds again what that has found.
    yield from map(_ChangedCall, ill_typed.some(runs.mod, CALLS, random.Random(runs.entropy)))
    yield from map(_MisusedFunction, misuse.some(MISUSES, random.Random(runs.entropy)))
    if runs.thorough:
        yield from map(_ChangedCall, itertools.islice(ill_typed.every(runs.mod), MOST_CALLS))


def _not_refused(runs: PassRuns, attempts: Iterable[_Attempt]) -> Iterator[tuple[_Attempt, str]]:
    """What neither the checker nor the pass nor type inference refuses, and how that ended."""
    tried = list(attempts)
    while tried:

        def work(tried: Sequence[_Attempt] = tried) -> Iterator[bool]:
            return (attempt.is_refused(runs) for attempt in tried)

        refused, end = in_fork(work)
        for attempt, is_refused in zip(tried, refused, strict=False):
            if not is_refused:
                yield attempt, ACCEPTED
        if end is None or end == LATE:
            return
        yield tried[len(refused)], end
        tried = tried[len(refused) + 1 :]


def _broken(
    mod: tvm.IRModule, rules: Sequence[Rule], most: int, chance: random.Random
) -> Iterator[_BrokenModule]:
    """Each rule broken at so many places at the most."""
    whole = Graph(mod)
    for rule in rules:
        count = sum(1 for _ in rule.edits(whole))
        for number in chance.sample(range(count), min(most, count)):
            graph = Graph(mod)
            next(itertools.islice(rule.edits(graph), number, None))()
            yield _BrokenModule(rule, graph)


def _violation(attempt: _Attempt, how: str) -> Violation:
    title = f"{'no error' if how == ACCEPTED else how}, where {attempt.broken}"
    detail = f"{title} ({attempt.source})\n\n{messages.listing(attempt.module())}"
    return Violation(title, detail, (how, attempt.key)).blame(ORACLE.name, attempt.blamed)


# Reproducers


def _example(case: Case, key: Sequence[str] | None) -> tuple[_Attempt, tvm.IRModule] | None:
    """What is not refused, and the module as its reproducer builds it.

    Args:
        key: the violation to show; None: any.
    """
    mod = case.mod if keys.compiled(case.mod) else from_source(to_source(case.mod))
    runs = PassRuns(mod, case.calls, contract_of(case.calls[0]), alone=True, thorough=True)
    attempts = (each for each in _attempts(runs) if key is None or each.key == key[1])
    found = (each for each, how in _not_refused(runs, attempts) if key is None or how == key[0])
    first = next(found, None)
    return None if first is None else (first, mod)


def _text(example: tuple[_Attempt, tvm.IRModule] | None, apply: str) -> str:
    assert example is not None, "everything is refused"
    attempt, whole = example
    return attempt.text(whole, apply)


def _tried(*statements: str) -> list[str]:
    """Python that prints the error with which one of the statements is refused."""
    indented = [f"    {statement}" for statement in statements]
    return ["try:", *indented, "except Exception as error:", '    print(f"refused: {error}")']


def _edited(attempt: _BrokenModule, whole: Graph, apply: str) -> str:
    """Python that edits `mod` in its JSON form, and raises if it is accepted then."""
    broken = attempt.graph
    lines = ["document = json.loads(tvm.ir.save_json(mod))", 'nodes = document["nodes"]']
    for index, (before, after) in enumerate(zip(whole.nodes, broken.nodes, strict=False)):
        lines += _assignments(f"nodes[{index}]", before, after)
    lines += [f"nodes.append({node})" for node in broken.nodes[len(whole.nodes) :]]
    return "\n".join(
        [
            "import json\n",
            f"# Now {attempt.broken}.",
            *lines,
            "broken = tvm.ir.load_json(json.dumps(document))",
            *_tried("relax.analysis.well_formed(broken)", f"{apply}(broken)"),
            "else:",
            f'    raise AssertionError("no error, where {attempt.broken}")',
        ]
    )


def _assignments(name: str, before: Any, after: Any) -> Iterator[str]:
    """Python that makes one JSON value of another."""
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        for key in before:
            yield from _assignments(f'{name}["{key}"]', before[key], after[key])
    else:
        yield f"{name} = {after!r}  # was {before!r}"


def _brief(case: Case, violation: Violation) -> Iterator[str]:
    yield _text(_example(case, violation.key), "the_pass")


def _halves(case: Case, violation: Violation) -> Halves | None:
    example = _example(case, violation.key)
    if example is None:
        return None
    attempt, whole = example
    return Half("a well-formed module", whole), Half(attempt.broken, attempt.module())


ORACLE = Oracle(
    name="refused",
    failure=FailureKind.ACCEPTED,
    tier=2,
    grade=Grade.B,
    grade_of={ACCEPTED: Grade.C},
    cost=75.0,
    explains=frozenset(),
    thorough=True,
    promise="A module that breaks a rule of well-formedness is refused, by the checker or by the "
    "pass, with an error; so are calls without a type, and arguments of types that a function "
    "does not take.",
    source="docstring of relax.analysis.well_formed: 'Check if the IRModule is well-formed'",
    check=check,
    snippet=lambda case: _text(_example(case, None), "apply"),
    brief=_brief,
    halves=_halves,
)
