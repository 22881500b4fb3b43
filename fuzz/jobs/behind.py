"""Cuts the smallest part that shows a violation from a module, so that a check can go on.

The violation, most often of a known bug, hides other errors of the pass on the module.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import tvm
from tvm import relax

from ...compat.serialization import load_json, save_json
from ...generators.rewrite.dropping import CUT, SHORTEN, without
from ...generators.rewrite.nodes import reachable, references, with_functions
from ...generators.rewrite.scopes import BindingSite, sites_of
from ...oracles.check import hides
from ...oracles.checkers import input_flaw
from ...oracles.inspect import op_name, relax_functions
from ...oracles.violation import Violation, mark_of, short_mark
from .forms import forms

ROUNDS = 4
"""Limit on the number of times that one check continues."""

Shows: TypeAlias = Callable[[tvm.IRModule], bool]
"""Returns whether a module shows the violation; it may change the module."""


AND = " and "
"""Joins the kinds of bindings in `Cut.way`."""

LEAST = 4
"""One in this many of the bindings must be left by the way of an earlier cut."""

KINDS = 3
"""Limit on the kinds of bindings that one cut drops."""


class Suit(enum.IntEnum):
    """Rank of a module as an input of a pass."""

    NOT = 0
    """The pass does not apply."""
    LITTLE = 1
    """It applies, but finds nothing that it looks for."""
    WELL = 2


Suits: TypeAlias = Callable[[tvm.IRModule], Suit]

Key: TypeAlias = tuple[str, int]
"""A function of the module and a variable in it, which identify the variable's binding."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A module without the part that shows a violation."""

    text: str
    """TVM JSON."""
    violation: Violation
    """The violation that the part shows."""
    way: str
    """The kinds of the bindings that went, or the name of a form; empty if there is none."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a check that had a violation."""

    count: int
    """Number of times that it continued."""
    stuck: bool
    """True if the last module that was checked has a violation that hides others."""


def go_on(
    mod: tvm.IRModule,
    violations: Sequence[Violation],
    shows: Callable[[Violation, tvm.IRModule], bool],
    check: Callable[[Cut], Sequence[Violation] | None],
    *,
    suits: Suits = lambda mod: Suit.WELL,
    acts: Callable[[tvm.IRModule], bool] = lambda mod: True,
    ways: Mapping[str, str] = MappingProxyType({}),
) -> Outcome:
    """Check a module without the part that shows a violation, then also without the next such part,
    and so on.

    Args:
        mod: the module; `shows` may change it.
        violations: the violations of the module.
        shows: see `Shows`.
        check: returns the violations of a module; None if the pass does not apply.
        suits: see `Suit`.
        acts: see `cut`.
        ways: for short marks of violations, `Cut.way` of an earlier cut, which is tried first.
    """
    text = ""
    for count in range(ROUNDS):
        hiding = next(filter(hides, violations), None)
        if hiding is None:
            return Outcome(count, False)
        way = ways.get(short_mark(mark_of(hiding)), "")
        here = load_json(text) if text else mod
        made = cut(here, functools.partial(shows, hiding), suits, acts, way)
        found = check(Cut(made[0], hiding, made[1])) if made is not None else None
        if made is None or found is None:
            return Outcome(count, True)
        text, violations = made[0], found
    return Outcome(ROUNDS, any(map(hides, violations)))


def cut(
    mod: tvm.IRModule,
    shows: Shows,
    suits: Suits = lambda mod: Suit.WELL,
    acts: Callable[[tvm.IRModule], bool] = lambda mod: True,
    way: str = "",
) -> tuple[str, str] | None:
    """The module without a small part that shows the violation, as TVM JSON, and the way of the
    cut; None if no such part was found.

    It is the first of these that suits the pass well and has at least half of the bindings, or else
    the best one: the module without bindings of a kind, or in a form, that an earlier cut has
    given; without a part that a search finds; in one of its `forms`. The first is also taken if it
    suits less or has a quarter of the bindings, as the search would most often find the same.

    Args:
        acts: returns whether the pass changes a module. A form that it ignores suits less.
    """
    size = _size(mod)
    names = {name for name, _ in forms(mod)}
    best: tuple[tuple[bool, int, int], str, str] | None = None
    for name, made in _tries(mod, shows, way):
        suit, left = suits(made), _size(made)
        rank = 2 * left >= size, suit, left
        if suit is Suit.NOT or not left or (best is not None and rank <= best[0]):
            continue
        text = save_json(made)  # a pass may change it
        if shows(made) or not _is_well_formed(text):
            continue
        if name in names and suit is Suit.WELL and not acts(load_json(text)):
            rank, name = (rank[0], Suit.LITTLE, left), ""
        if best is None or rank > best[0]:
            best = rank, text, name
        if (rank[0] and rank[1] is Suit.WELL) or (way and name == way and LEAST * left >= size):
            break
    return None if best is None else best[1:]


def _tries(mod: tvm.IRModule, shows: Shows, way: str) -> Iterator[tuple[str, tvm.IRModule]]:
    """Modules that may not show it, each with the way of the cut."""
    by_name = dict(forms(mod))
    if way and way not in by_name:
        kinds = set(way.split(AND))
        gone = [key for key, site in _sites(mod) if _kind(site) in kinds]
        made = _without(mod, gone) if gone else None
        if made is not None:
            yield way, made
    for name in [way] if way in by_name else []:
        made = by_name.pop(name)()
        if made is not None:
            yield name, made
    yield from _parts(mod, shows, 1)
    for name, form in by_name.items():
        made = form()
        if made is not None:
            yield name, made
    yield from _parts(mod, shows, KINDS)  # the search takes longest


def _parts(mod: tvm.IRModule, shows: Shows, most: int) -> Iterator[tuple[str, tvm.IRModule]]:
    """The module without functions that show it, or bindings of them.

    The parts are functions that show it, with callees of their own, if these have at most half of
    the bindings. If not, the part in each function is one binding if that is enough, all bindings
    of its kind or of a few kinds, all up to it, or all from it on. Values that are still used
    become parameters.

    Args:
        most: limit on the kinds of bindings.
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
    ways: set[str] = set()
    dropped: list[set[str]] = []
    todo = sorted(bad, key=bindings, reverse=True)
    while todo:
        if 2 * bindings(without_groups([*dropped, *todo])) >= bindings(every):
            dropped += todo
            break
        group = todo.pop(0)
        found, way = _needed(_only(mod, group), shows, most)
        gone += found
        ways.add(way)
        if not found:
            dropped.append(group)
    for names in (without_groups(dropped), without_groups(bad)):
        kept = [each for each in dict.fromkeys(gone) if each[0] in names]
        if bindings(names) and (names != every or kept):
            made = _without(_only(mod, names), kept)
            if made is not None:
                yield AND.join(sorted(filter(None, ways))), made


def _needed(mod: tvm.IRModule, shows: Shows, most: int) -> tuple[list[Key], str]:
    """Bindings without which the module does not show it, at most half of all, and the kind of the
    one that the search has found; or none."""
    sites = _sites(mod)
    keys = [key for key, _ in sites]

    def enough(gone: Sequence[Key]) -> bool:
        made = _without(mod, gone)
        return made is not None and not shows(made)

    if not keys or not enough(keys):
        return [], ""
    sure: list[Key] = []
    kinds: list[str] = []
    while len(kinds) < most and (rest := [each for each in sites if each[0] not in set(sure)]):
        few, many = 0, len(rest)
        while many - few > 1:
            half = (few + many) // 2
            here = [*sure, *(key for key, _ in rest[:half])]
            few, many = (few, half) if enough(here) else (half, many)
        last, kind = rest[many - 1][0], _kind(rest[many - 1][1])
        kinds.append(kind)
        alike = [key for key, site in rest if _kind(site) == kind]
        for more in ([last], alike):
            if 2 * len(sure) + 2 * len(more) <= len(keys) and enough([*sure, *more]):
                return [*sure, *more], AND.join(kinds)
        if len(kinds) == 1:
            prefix, suffix = keys[:many], keys[many - 1 :]
        sure += alike
    if 2 * len(prefix) <= len(keys):
        return prefix, ""
    return (suffix if 2 * len(suffix) <= len(keys) and enough(suffix) else []), ""


def _sites(mod: tvm.IRModule) -> list[tuple[Key, BindingSite]]:
    return [((name, site.key), site) for name in _relax(mod) for site in sites_of(mod[name])]


def _size(mod: tvm.IRModule) -> int:
    return sum(len(sites_of(mod[name])) for name in _relax(mod))


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


def _kind(site: BindingSite) -> str:
    """The operator of a call, or the classes of a binding, of its value and of a called value."""
    value = site.binding.value
    named = op_name(value) if isinstance(value, relax.Call) else None
    classes = [site.binding, value, *([value.op] if isinstance(value, relax.Call) else [])]
    return named or " ".join(type(each).__name__ for each in classes)


def _without(mod: tvm.IRModule, gone: Sequence[Key]) -> tvm.IRModule | None:
    """The module without these bindings. The calls of a local function go with it, as no parameter
    can replace it."""
    gone = [*gone, *_calls_of_local(mod, gone)]
    made = (without(mod, gone, kinds) for kinds in (CUT, SHORTEN))
    return next((each for each in made if each is not None), None) if gone else mod


def _calls_of_local(mod: tvm.IRModule, gone: Sequence[Key]) -> list[Key]:
    found: list[Key] = []
    for name in {name: None for name, _ in gone}:
        own = {key for function, key in gone if function == name}
        sites = sites_of(mod[name])
        lost = {s.key for s in sites if s.key in own and isinstance(s.var.ty, relax.FuncType)}
        for site in sites:
            if lost and site.key not in own and not lost.isdisjoint(site.operands):
                found.append((name, site.key))
                if isinstance(site.var.ty, relax.FuncType):
                    lost.add(site.key)
    return found


def _is_well_formed(text: str) -> bool:
    try:
        return input_flaw(load_json(text)) is None
    except Exception:  # TVM cannot load every module that it saves
        return False
