"""What to fuzz: passes, oracles and stages as users name them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...generators.stages import Stage
from ...oracles.catalogue import catalogue
from ...oracles.check import ORACLES
from ...oracles.passcall import BadSpelling, PassCall, parse
from ..process.protocol import Target
from .mistake import Mistake, near
from .probe import probe

RELAXES: Mapping[str, tuple[str, ...]] = {
    "not_idempotent": ("idempotent",),
    "changes_functions": ("functions",),
    "changes_signature": ("signature",),
    "changes_attributes": ("attributes",),
    "changes_values": ("values",),
}
"""What each option keeps silent, by the name of its field in `Relaxations`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxations:
    """What a user's own pass promises, and what it does not."""

    like: str | None = None
    """The pass of the catalogue whose contract it keeps."""
    stages: tuple[str, ...] = ()
    not_idempotent: bool = False
    changes_functions: bool = False
    changes_signature: bool = False
    changes_attributes: bool = False
    changes_values: bool = False

    @property
    def exempt(self) -> tuple[str, ...]:
        """The oracles that are silent."""
        return tuple(
            oracle
            for field, oracles in RELAXES.items()
            if getattr(self, field)
            for oracle in oracles
        )


def targets(
    spellings: Sequence[str], relaxations: Relaxations, own: Mapping[str, Relaxations] = {}
) -> tuple[Target, ...]:
    """The passes to fuzz; all of the catalogue where none is named.

    Args:
        relaxations: what the user's own passes promise that `own` does not name.
        own: what others of them promise, by spelling; those that are not fuzzed do not matter.

    Raises:
        Mistake: a name that is none, a factory that does not give a pass, a stage that is none,
            promises for a pass of TVM, whose contract is in the catalogue.
    """
    if not spellings:
        _stages_of((relaxations, *own.values()))
        if relaxations != Relaxations():
            raise Mistake(
                "--like, --stage and --not-... say what a pass of your own promises: "
                "name the pass as path/to/file.py:factory"
            )
        return tuple(Target(name) for name in catalogue)
    named: dict[str, Target] = {}
    for spelling, target in by_spelling(spellings, relaxations, own).items():
        if named.setdefault(target.name, target) != target:
            raise Mistake(
                f"two passes are named {target.name!r}, the second as {spelling!r}; "
                "run them one after the other"
            )
    return tuple(named.values())


def by_spelling(
    spellings: Sequence[str], relaxations: Relaxations, own: Mapping[str, Relaxations] = {}
) -> Mapping[str, Target]:
    """Each spelling's pass; several may have the same name, which one campaign cannot have.

    Raises:
        Mistake: see `targets`.
    """
    promised = {spelling: own.get(spelling, relaxations) for spelling in spellings}
    stages = _stages_of((relaxations, *own.values()))
    likes = {spelling: each.like for spelling, each in promised.items()}
    found = {}
    for spelling, call in _built(likes).items():
        mine = call.factory is not None
        if not mine and spelling in own:
            raise Mistake(
                f"promises of {spelling!r}: it is a pass of TVM, whose contract is in the catalogue"
            )
        plain = call.expr.endswith("()") and call.name in catalogue and not mine
        found[spelling] = Target(
            call.name,
            None if plain else call,
            stages[promised[spelling]],
            promised[spelling].exempt if mine else (),
        )
    return found


def _stages_of(all_: Iterable[Relaxations]) -> dict[Relaxations, tuple[Stage, ...]]:
    return {each: tuple(stage_of(name) for name in each.stages) for each in all_}


def calls_of(spellings: Sequence[str], like: str | None = None) -> Mapping[str, PassCall]:
    """Each spelling's pass, built once in a process of its own.

    Args:
        like: the pass of the catalogue whose contract the user's own ones keep.

    Raises:
        Mistake: see `targets`.
    """
    return _built(dict.fromkeys(spellings, like))


def _built(likes: Mapping[str, str | None]) -> Mapping[str, PassCall]:
    """The passes by their spelling; a user's own keeps the contract of the pass named here."""
    for like in likes.values():
        if like is not None and like not in catalogue:
            raise Mistake(f"no pass {like!r} in the catalogue{near(like, catalogue)}")
    try:
        calls = {spelling: parse(spelling) for spelling in likes}
    except BadSpelling as error:
        raise Mistake(str(error)) from None
    doubtful = [s for s, call in calls.items() if call.factory or not call.expr.endswith("()")]
    if doubtful:
        probe(doubtful)
    return {
        spelling: dataclasses.replace(call, like=likes[spelling]) if call.factory else call
        for spelling, call in calls.items()
    }


def oracles_of(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Checked names of oracles.

    Raises:
        Mistake: one is none.
    """
    for name in names or ():
        if name not in ORACLES:
            raise Mistake(f"no oracle {name!r}{near(name, ORACLES)}")
    return names


def stage_of(name: str) -> Stage:
    """The stage of this name.

    Raises:
        Mistake: there is none.
    """
    try:
        return Stage(name)
    except ValueError:
        raise Mistake(f"no stage {name!r}{near(name, list(Stage))}") from None
