"""Refused: what breaks a rule of well-formedness is not taken for a well-formed module."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

import tvm
from tvm import relax

from ...generators.source import from_source, to_source
from .. import keys
from ..composition import contract_of
from ..execute.fork import LATE, in_fork
from ..oracle import Half, Halves, Oracle
from ..pass_runs import PassRuns
from ..violation import Case, Violation
from .broken import RULES, Rule
from .graph import Graph

CHECKER = "relax.analysis.well_formed"
"""Who is blamed: a pass may rely on the rules."""

ACCEPTED = "accepted"
"""How it ended, in a key, where nothing died."""

PLACES = 3
"""Places of a module at which a rule is broken, where the oracle is asked for by name."""


def check(runs: PassRuns) -> tuple[Violation, ...]:
    """One rule is broken at one place, both by chance; thoroughly, each one at several."""
    found: dict[tuple[str, ...], Violation] = {}
    for rule, broken, how in _not_refused(runs):
        violation = _violation(rule, broken.load(), how)
        found.setdefault(violation.key, violation)
    return tuple(found.values())


def _not_refused(
    runs: PassRuns, rules: Sequence[Rule] = RULES
) -> Iterator[tuple[Rule, Graph, str]]:
    """Broken modules that neither the checker nor the pass refuses, and how that ended."""
    chance = random.Random(runs.entropy)
    if not runs.thorough:
        rules = chance.sample(rules, 1)
    places = PLACES if runs.thorough else 1
    tried = list(_broken(runs.mod, rules, places, chance))
    while tried:

        def work(tried: Sequence[tuple[Rule, Graph]] = tried) -> Iterator[bool]:
            for _, graph in tried:
                yield _is_refused(runs, graph.load())

        refused, end = in_fork(work)
        for (rule, graph), is_refused in zip(tried, refused, strict=False):
            if not is_refused:
                yield rule, graph, ACCEPTED
        if end is None or end == LATE:
            return
        yield *tried[len(refused)], end
        tried = tried[len(refused) + 1 :]


def _broken(
    mod: tvm.IRModule, rules: Sequence[Rule], most: int, chance: random.Random
) -> Iterator[tuple[Rule, Graph]]:
    """Each rule broken at so many places at the most."""
    whole = Graph(mod)
    for rule in rules:
        count = sum(1 for _ in rule.edits(whole))
        for number in chance.sample(range(count), min(most, count)):
            graph = Graph(mod)
            next(itertools.islice(rule.edits(graph), number, None))()
            yield rule, graph


def _is_refused(runs: PassRuns, mod: tvm.IRModule) -> bool:
    if not relax.analysis.check_well_formed(mod):
        return True
    try:
        runs.directly(mod)
    except Exception:  # any error tells the user that something is wrong
        return True
    return False


def _violation(rule: Rule, mod: tvm.IRModule, how: str) -> Violation:
    title = f"{'no error' if how == ACCEPTED else how}, where {rule.broken}"
    detail = f"{title} ({rule.source})\n\n{keys.listing(mod)}"
    return Violation(title, detail, (how, rule.broken)).blame(ORACLE.name, CHECKER)


# Reproducers


def _example(case: Case, key: Sequence[str] | None) -> tuple[Rule, Graph, Graph] | None:
    """A module as its reproducer builds it, and the same with a rule broken.

    Args:
        key: the violation to show; None: any.
    """
    mod = case.mod if keys.compiled(case.mod) else from_source(to_source(case.mod))
    runs = PassRuns(mod, case.calls, contract_of(case.calls[0]), alone=True, thorough=True)
    rules = [rule for rule in RULES if key is None or rule.broken == key[1]]
    found = ((r, g) for r, g, how in _not_refused(runs, rules) if key is None or how == key[0])
    rule, broken = next(found, (None, None))
    return None if rule is None or broken is None else (rule, Graph(mod), broken)


def _text(example: tuple[Rule, Graph, Graph] | None, apply: str) -> str:
    """Python that edits `mod` in its JSON form, and raises if it is accepted then."""
    assert example is not None, "every broken module is refused"
    rule, whole, broken = example
    lines = ["document = json.loads(tvm.ir.save_json(mod))", 'nodes = document["nodes"]']
    for index, (before, after) in enumerate(zip(whole.nodes, broken.nodes, strict=False)):
        lines += _assignments(f"nodes[{index}]", before, after)
    lines += [f"nodes.append({node})" for node in broken.nodes[len(whole.nodes) :]]
    return "\n".join(
        [
            "import json\n",
            f"# Now {rule.broken}.",
            *lines,
            "broken = tvm.ir.load_json(json.dumps(document))",
            "try:",
            "    relax.analysis.well_formed(broken)",
            f"    {apply}(broken)",
            "except Exception as error:",
            '    print(f"refused: {error}")',
            "else:",
            f'    raise AssertionError("no error, where {rule.broken}")',
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
    rule, whole, broken = example
    return Half("a well-formed module", whole.load()), Half(rule.broken, broken.load())


ORACLE = Oracle(
    name="refused",
    tier=2,
    cost=20.0,
    independent=True,
    thorough=True,
    promise="A module that breaks a rule of well-formedness is refused, by the checker or by the "
    "pass, with an error.",
    source="docstring of relax.analysis.well_formed: 'Check if the IRModule is well-formed'",
    check=check,
    snippet=lambda case: _text(_example(case, None), "apply"),
    brief=_brief,
    halves=_halves,
)
