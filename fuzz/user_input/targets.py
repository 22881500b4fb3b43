"""Passes, oracles and stages as users spell them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from ...compat import availability
from ...generators.families import DEFAULT, FAMILIES, by_family, family_of
from ...generators.stages import Stage
from ...oracles.catalogue import catalogue, of_family
from ...oracles.execute.device import CPU, KINDS, missing
from ...oracles.passcall import BadSpelling, PassCall, bare, parse
from ...oracles.tiers import ORACLES, USUAL
from ..process.jobs import by_family as families_of
from ..process.targets import Named, Target, of_sought
from .errors import UserError, near
from .named import names_of
from .options import Relaxations
from .pass_type import Probed
from .probe import probe

VALUES = "values"
"""Exempts a pass from all oracles that compare values."""

EVERY = "all"
"""Stands for the names of all oracles, or of all families."""


def targets(
    spellings: Sequence[str],
    relaxations: Relaxations,
    own: Mapping[str, Relaxations] = {},
    family: str | None = None,
) -> tuple[Target, ...]:
    """The passes to fuzz; all of the family where none is named.

    Args:
        family: of `FAMILIES`, or all of them. It is that of the user's own passes, too, which name
            no stages. None: the default one, and of a user's own pass the one that its type says.
        relaxations: those of the user's own passes that `own` does not name.
        own: relaxations by spelling; spellings that are not fuzzed are ignored.

    Raises:
        UserError: an unknown name or stage, or one that does not work on the installed TVM; a
            factory without a pass; or relaxations of a pass of TVM, whose contract is in the
            catalogue.
    """
    if not spellings:
        for each in (relaxations, *own.values()):
            check_names(each)
        if relaxations != Relaxations():
            raise UserError(
                "--like, --stage and --exempt describe a pass of your own: "
                "name it as path/to/file.py:factory"
            )
        off = availability.current().passes
        family = family or DEFAULT
        chosen = catalogue if family == EVERY else of_family(family)
        found = tuple(
            Target(name, stages=_of_family(contract.stages, family), named=_sought(name))
            for name, contract in chosen.items()
            if name not in off
        )
        if not found:
            raise UserError(f"no pass of the family {family!r} is available on this TVM")
        return found
    named: dict[str, Target] = {}
    for spelling, target in by_spelling(spellings, relaxations, own, family).items():
        if named.setdefault(target.name, target) != target:
            raise UserError(
                f"two passes are named {target.name!r}, the second as {spelling!r}; "
                "run them one after the other"
            )
    return tuple(named.values())


def _of_family(stages: Sequence[Stage], family: str) -> tuple[Stage, ...]:
    """The stages of a pass in one of its families; empty where it has no other."""
    found = by_family(stages)
    return () if family == EVERY or len(found) == 1 else found[family]


def _sought(name: str) -> Named:
    """What a pass of TVM looks for: as its contract says, or as its code names it."""
    sought = catalogue[name].looks_for
    named = Named() if sought is None else of_sought(sought)
    return named if named.usable else names_of(parse(name))


def by_spelling(
    spellings: Sequence[str],
    relaxations: Relaxations,
    own: Mapping[str, Relaxations] = {},
    family: str | None = None,
) -> Mapping[str, Target]:
    """The target of each spelling; several may have the same name, unlike in one campaign.

    Raises:
        UserError: see `targets`.
    """
    for each in (relaxations, *own.values()):
        check_names(each)
    promised = {spelling: own.get(spelling, relaxations) for spelling in spellings}
    likes = {spelling: each.like for spelling, each in promised.items()}
    found = {}
    for spelling, (call, probed) in _built(likes).items():
        mine = call.factory is not None
        if not mine and spelling in own:
            raise UserError(
                f"promises of {spelling!r}: it is a pass of TVM, whose contract is in the catalogue"
            )
        found[spelling] = Target(
            call.name,
            None if _is_plain(call) else call,
            _stages(promised[spelling], family or probed.family or DEFAULT) if mine else (),
            promised[spelling].exempt if mine else (),
            probed.named,
        )
    return found


def _stages(promised: Relaxations, family: str) -> tuple[Stage, ...]:
    """Those of a user's own pass; none: those of its contract.

    Raises:
        UserError: the stages are of several families.
    """
    stages = tuple(map(Stage, promised.stages))
    if len(by_family(stages)) > 1:
        raise UserError(f"the stages {', '.join(stages)} are not all of one family")
    if stages or promised.like is not None or family in (DEFAULT, EVERY):
        return stages
    return FAMILIES[family].stages


def check_names(relaxations: Relaxations) -> None:
    """Check the names of a pass, stages and oracles in relaxations.

    Raises:
        UserError: there is none of that name.
    """
    if relaxations.like is not None and relaxations.like not in catalogue:
        raise UserError(
            f"no pass {relaxations.like!r} in the catalogue{near(relaxations.like, catalogue)}"
        )
    if relaxations.like is not None:
        refuse("pass", relaxations.like)
    for stage in relaxations.stages:
        stage_of(stage)
    for name in relaxations.exempt:
        if name not in ORACLES and name != VALUES:
            raise UserError(f"no oracle {name!r} to exempt from{near(name, (*ORACLES, VALUES))}")


def calls_of(likes: Mapping[str, str | None]) -> Mapping[str, PassCall]:
    """The pass of each spelling, built once in a process of its own.

    Args:
        likes: by spelling, the pass of the catalogue whose contract a user's own pass keeps.

    Raises:
        UserError: see `targets`.
    """
    return {spelling: call for spelling, (call, _) in _built(likes).items()}


def _built(likes: Mapping[str, str | None]) -> Mapping[str, tuple[PassCall, Probed]]:
    """The pass of each spelling, see `calls_of`, and what is known of it."""
    for like in likes.values():
        if like is not None and like not in catalogue:
            raise UserError(f"no pass {like!r} in the catalogue{near(like, catalogue)}")
    for spelling in likes:  # before it is parsed: what this TVM lacks is no spelling either
        refuse("pass", bare(spelling.partition("(")[0]))
    try:
        calls = {spelling: parse(spelling) for spelling in likes}
    except BadSpelling as error:
        raise UserError(str(error)) from None
    doubtful = [s for s, call in calls.items() if not _is_plain(call) or call.name not in catalogue]
    probed = probe(doubtful) if doubtful else {}
    return {
        spelling: (
            dataclasses.replace(call, like=likes[spelling]) if call.factory else call,
            probed.get(spelling) or Probed(_sought(call.name)),
        )
        for spelling, call in calls.items()
    }


def _is_plain(call: PassCall) -> bool:
    """A pass of TVM whose arguments a campaign draws."""
    return call.factory is None and call.expr.endswith("()")


def oracles_of(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The names of oracles, checked; for "all" those of all that work on the installed TVM.

    Raises:
        UserError: there is no oracle of that name, or it does not work on the installed TVM.
    """
    if names is not None and EVERY in names:
        off = availability.current().oracles
        return tuple(name for name in USUAL if name not in off)
    for name in names or ():
        if name not in ORACLES:
            raise UserError(f"no oracle {name!r}{near(name, ORACLES)}")
        refuse("oracle", name)
    return names


def family_named(name: str) -> str:
    """The name of a family, or of all of them, checked.

    Raises:
        UserError: there is none of that name.
    """
    if name not in (*FAMILIES, EVERY):
        raise UserError(f"no family {name!r}{near(name, (*FAMILIES, EVERY))}")
    return name


def device_named(kind: str, targets: Sequence[Target]) -> str:
    """The kind of a device of this machine, checked.

    Args:
        targets: what is fuzzed.

    Raises:
        UserError: there is no such kind, or no such device here; or none of the passes gives code
            for it.
    """
    if kind not in KINDS:
        raise UserError(f"no device {kind!r}{near(kind, KINDS)}")
    if (why := missing(kind)) is not None:
        raise UserError(why)
    family = family_of(Stage.TENSORIR if kind == CPU else Stage.SCHEDULED).name
    if not any(family in families_of(each) for each in targets):
        raise UserError(
            f"--device {kind} executes what passes of the family {family!r} give, and none of them "
            f"is fuzzed: add --family {family}"
        )
    return kind


def stage_of(name: str) -> Stage:
    """The stage of this name.

    Raises:
        UserError: there is none, or modules do not reach it on the installed TVM.
    """
    try:
        stage = Stage(name)
    except ValueError:
        raise UserError(f"no stage {name!r}{near(name, list(Stage))}") from None
    refuse("stage", name)
    return stage


def refuse(kind: str, name: str) -> None:
    """Refuse what does not work on the installed TVM.

    Args:
        kind: "pass", "oracle", "stage" or "pipeline".

    Raises:
        UserError: it does not work.
    """
    if (reason := availability.current().of(kind).get(name)) is not None:
        raise UserError(f"{kind} {name!r} is not available on this TVM: {reason}")
