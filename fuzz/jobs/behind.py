"""Cuts the smallest part that shows a violation from a module, so that a check can go on.

The violation, most often of a known bug, hides other errors of the pass on the module.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeAlias

import tvm
from tvm import relax

from ...compat.serialization import load_json, save_json
from ...generators.rewrite.dropping import CUT, SHORTEN, without
from ...generators.rewrite.nodes import reachable, references, with_functions
from ...generators.rewrite.scopes import BindingSite, sites_of
from ...oracles.check import hides
from ...oracles.checkers import input_flaw
from ...oracles.inspect import op_name, relax_functions
from ...oracles.violation import Violation

ROUNDS = 3
"""Limit on the number of times that one check continues."""

Shows: TypeAlias = Callable[[tvm.IRModule], bool]
"""Returns whether a module shows the violation; it may change the module."""

Key: TypeAlias = tuple[str, int]
"""A function of the module and a variable in it, which identify the variable's binding."""


def go_on(
    mod: tvm.IRModule,
    violations: Sequence[Violation],
    shows: Callable[[Violation, tvm.IRModule], bool],
    check: Callable[[str], Sequence[Violation] | None],
) -> int:
    """Check a module without the part that shows a violation, then also without the next such part,
    and so on; return the number of checks.

    Args:
        mod: the module; `shows` may change it.
        violations: the violations of the module.
        shows: see `Shows`.
        check: takes a module as TVM JSON, and returns its violations; None if the pass does not
            apply.
    """
    text = ""
    for count in range(ROUNDS):
        hiding = next(filter(hides, violations), None)
        if hiding is None:
            return count
        text = cut(load_json(text) if text else mod, functools.partial(shows, hiding))
        found = check(text) if text else None
        if found is None:
            return count
        violations = found
    return ROUNDS


def cut(mod: tvm.IRModule, shows: Shows) -> str:
    """The module without a small part that shows the violation, as TVM JSON; empty if none was
    found.

    The parts are functions that show it, with callees of their own, if these have at most half of
    the bindings. If not, the part in each function is one binding if that is enough, all bindings
    of its kind, or all bindings up to it. Values that are still used become parameters.
    """
    every = {str(gvar.name_hint) for gvar in mod.functions}
    sizes = {name: len(sites_of(mod[name])) for name in _relax(mod)}
    groups = _groups(mod)
    bad = [group for group in groups if len(groups) == 1 or shows(_only(mod, group))]
    if not bad:  # several functions are needed for it
        groups = bad = [every]

    def without_groups(dropped: Sequence[set[str]]) -> set[str]:
        rest = [group for group in groups if group not in dropped]
        return every - set().union(*dropped) | set().union(*rest)

    def bindings(names: Collection[str]) -> int:
        return sum(sizes.get(name, 0) for name in names)

    gone: list[Key] = []
    dropped: list[set[str]] = []
    todo = sorted(bad, key=bindings, reverse=True)
    while todo:
        if 2 * bindings(without_groups([*dropped, *todo])) >= bindings(every):
            dropped += todo
            break
        group = todo.pop(0)
        found = _needed(_only(mod, group), shows)
        gone += found
        if not found:
            dropped.append(group)
    for names in (without_groups(dropped), without_groups(bad)):
        kept = [each for each in dict.fromkeys(gone) if each[0] in names]
        if bindings(names) and (names != every or kept):
            made = _without(_only(mod, names), kept)
            if made is not None and (text := _well_formed(made)):
                return text
    return ""


def _needed(mod: tvm.IRModule, shows: Shows) -> list[Key]:
    """Bindings without which the module does not show it, at most half of all; or none."""
    sites = [((name, site.key), site) for name in _relax(mod) for site in sites_of(mod[name])]
    keys = [key for key, _ in sites]

    def enough(gone: Sequence[Key]) -> bool:
        made = _without(mod, gone)
        return made is not None and not shows(made)

    if not keys or not enough(keys):
        return []
    few, many = 0, len(keys)
    while many - few > 1:
        half = (few + many) // 2
        few, many = (few, half) if enough(keys[:half]) else (half, many)
    last, kind = keys[many - 1], _kind(sites[many - 1][1])
    for gone in ([last], [key for key, site in sites if _kind(site) == kind]):
        if 2 * len(gone) <= len(keys) and enough(gone):
            return gone
    return keys[:many] if 2 * many <= len(keys) else []


def _relax(mod: tvm.IRModule) -> list[str]:
    return [str(gvar.name_hint) for gvar, _ in relax_functions(mod)]


def _groups(mod: tvm.IRModule) -> list[set[str]]:
    """Relax functions that nothing refers to, each with everything it refers to."""
    used_by = {str(gvar.name_hint): references(func) for gvar, func in mod.functions_items()}
    used = set().union(*used_by.values())
    return [reachable(used_by, [name]) for name in _relax(mod) if name not in used]


def _only(mod: tvm.IRModule, names: Collection[str]) -> tvm.IRModule:
    kept = {gvar: func for gvar, func in mod.functions_items() if gvar.name_hint in names}
    return mod if len(kept) == len(mod.functions) else with_functions(mod, kept)


def _kind(site: BindingSite) -> Any:
    """The operator of a call, or the classes of a binding and its value."""
    value = site.binding.value
    named = op_name(value) if isinstance(value, relax.Call) else None
    return named or (type(site.binding), type(value))


def _without(mod: tvm.IRModule, gone: Sequence[Key]) -> tvm.IRModule | None:
    made = (without(mod, gone, kinds) for kinds in (CUT, SHORTEN))
    return next((each for each in made if each is not None), None) if gone else mod


def _well_formed(mod: tvm.IRModule) -> str:
    """The module as TVM JSON; empty if it is ill-formed."""
    text = save_json(mod)
    try:
        return text if input_flaw(load_json(text)) is None else ""
    except Exception:  # TVM cannot load every module that it saves
        return ""
