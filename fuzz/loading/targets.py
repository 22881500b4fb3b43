"""Passes, oracles and stages, as users spell them."""

from __future__ import annotations

import ast
import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...compat import availability
from ...generators.families import DEFAULT, FAMILIES, by_family, family_of
from ...generators.stages import Stage
from ...oracles.catalogue import catalogue, of_family
from ...oracles.execute.device import KINDS, ON_CPU, missing
from ...oracles.passcall import (
    TARGET,
    BadSpelling,
    PassCall,
    bare,
    check_options,
    parse,
    public_passes,
)
from ...oracles.pipelines import OF_KERNELS, PIPELINES, is_own
from ...oracles.tiers import ORACLES, USUAL
from ..jobs.jobs import by_family as families_of
from ..process.targets import Named, Target, of_sought
from ..system.errors import UserError, near
from ..user_input import vocabulary
from ..user_input.named import names_of
from ..user_input.pass_type import Probed
from ..user_input.probe import probe
from ..user_input.settings import Relaxations, Settings
from ..user_input.vocabulary import Vocabulary, no_oracle

VALUES = "values"
"""Name for an exemption of a pass from all oracles that compare values."""

EVERY = "all"
"""Name for all oracles, or for all families."""


def targets_of(given: Settings) -> tuple[Target, ...]:
    """The passes to fuzz, as chosen by the settings of a command; see `targets`.

    Raises:
        UserError: see `targets`; or there is no such family.
    """
    family = family_named(given.family)
    return targets(given.passes, given.relaxations, given.promises, family)


def targets(
    spellings: Sequence[str],
    relaxations: Relaxations,
    own: Mapping[str, Relaxations] = {},
    family: str | None = None,
) -> tuple[Target, ...]:
    """The passes to fuzz; if none is named, all passes of the family.

    Args:
        family: a name in `FAMILIES`, or "all". It also applies to the user's own passes without
            named stages. None: the default family; for a user's own pass, the one that its type
            implies.
        relaxations: relaxations of the user's own passes that `own` does not name.
        own: relaxations by spelling; spellings that are not fuzzed are ignored.

    Raises:
        UserError: a name or stage is unknown, or does not work on the installed TVM; a factory does
            not return a pass; or relaxations are given for a pass of TVM, whose contract is in the
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
    """The stages of a pass in one of its families; empty if it has no other family."""
    found = by_family(stages)
    return () if family == EVERY or len(found) == 1 else found[family]


def _sought(name: str) -> Named:
    """The features that a pass of TVM looks for, according to its contract or else its code."""
    sought = catalogue[name].looks_for
    named = Named() if sought is None else of_sought(sought)
    return named if named.usable else names_of(parse(name))


def by_spelling(
    spellings: Sequence[str],
    relaxations: Relaxations,
    own: Mapping[str, Relaxations] = {},
    family: str | None = None,
) -> Mapping[str, Target]:
    """The target of each spelling; unlike in a single campaign, several may have the same name.

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
            _stages(promised[spelling], probed, family) if mine else (),
            (*promised[spelling].exempt, *probed.exempt) if mine else (),
            probed.named,
        )
    return found


def _stages(promised: Relaxations, probed: Probed, family: str | None) -> tuple[Stage, ...]:
    """The stages of a user's own pass; empty: those of its contract.

    Raises:
        UserError: the stages are of several families.
    """
    names = (family,) if family else probed.families or (DEFAULT,)
    stages = tuple(map(Stage, promised.stages)) or probed.stages
    if len(by_family(stages)) > 1:
        raise UserError(f"the stages {', '.join(stages)} are not all of one family")
    if stages or promised.like is not None or names[0] in (DEFAULT, EVERY):
        return stages
    return tuple(stage for name in names for stage in FAMILIES[name].stages)


def check_names(relaxations: Relaxations) -> None:
    """Check the names of a pass, stages and oracles in relaxations.

    Raises:
        UserError: there is nothing of that name.
    """
    _check_like(relaxations.like)
    for stage in relaxations.stages:
        stage_of(stage)
    for name in relaxations.exempt:
        if name not in ORACLES and name != VALUES:
            raise UserError(f"no oracle {name!r} to exempt from{near(name, (*ORACLES, VALUES))}")


def _check_like(like: str | None) -> None:
    """Check the name of a pass whose contract another pass keeps; if it names code, that is probed.

    Raises:
        UserError: there is no such pass on the installed TVM.
    """
    if like is None or ":" in like:
        return
    if like not in catalogue:
        raise UserError(f"no pass {like!r} in the catalogue{near(like, catalogue)}")
    refuse("pass", like)


def calls_of(likes: Mapping[str, str | None]) -> Mapping[str, PassCall]:
    """The pass of each spelling, built once in a process of its own.

    Args:
        likes: the pass of the catalogue whose contract a user's own pass keeps, by spelling.

    Raises:
        UserError: see `targets`.
    """
    return {spelling: call for spelling, (call, _) in _built(likes).items()}


def _built(likes: Mapping[str, str | None]) -> Mapping[str, tuple[PassCall, Probed]]:
    """The pass of each spelling, see `calls_of`, with the results of the probe."""
    for like in likes.values():
        _check_like(like)
    _remember()
    for spelling in likes:  # before parsing, since a name that this TVM lacks does not parse either
        refuse("pass", bare(re.split("[( ]", spelling.strip())[0]))
    try:
        calls = {spelling: parse(spelling) for spelling in likes}
    except BadSpelling as error:
        raise UserError(str(error)) from None
    doubtful = [s for s, call in calls.items() if not _is_plain(call) or call.name not in catalogue]
    own = {each: likes[each] if calls[each].factory else None for each in doubtful}
    probed = probe(own) if own else {}
    return {
        spelling: (
            dataclasses.replace(call, like=likes[spelling]) if call.factory else call,
            probed.get(spelling) or Probed(_sought(call.name)),
        )
        for spelling, call in calls.items()
    }


def _is_plain(call: PassCall) -> bool:
    """Return whether this is a pass of TVM whose arguments are drawn by a campaign."""
    return call.factory is None and call.expr.endswith("()") and not call.config


@functools.cache
def _remember() -> None:
    """Write the names for later commands, so that these need not import TVM to refuse others."""
    off = availability.current()
    passes = dict.fromkeys((*public_passes(), *catalogue, *off.passes))
    vocabulary.keep(Vocabulary(tuple(passes), tuple(ORACLES)))


def oracles_of(names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Check the names of oracles; "all" means all that work on the installed TVM.

    None if there are no names: the usual oracles.

    Raises:
        UserError: there is no oracle of that name, or it does not work on the installed TVM.
    """
    _remember()
    if EVERY in names:
        off = availability.current().oracles
        return tuple(name for name in USUAL if name not in off)
    for name in names:
        if name not in ORACLES:
            raise no_oracle(name, ORACLES)
        refuse("oracle", name)
    return names or None


def options_of(given: Settings) -> dict[str, Any]:
    """The options of the PassContext, and the target, in the form of `PassCall.config`.

    Raises:
        UserError: the installed TVM does not take one of them.
    """
    options: dict[str, Any] = {} if given.target is None else {TARGET: given.target}
    for each in given.config:
        key, equals, value = each.partition("=")
        if not equals:
            raise UserError(f"expected --config KEY=VALUE but got {each!r}")
        options[key.strip()] = _value(value.strip())
    try:
        check_options(options)
    except BadSpelling as error:
        raise UserError(str(error)) from None
    return options


def _value(text: str) -> Any:
    """A Python literal, or a truth value as in other languages; otherwise the text itself."""
    try:
        return ast.literal_eval({"true": "True", "false": "False"}.get(text, text))
    except (ValueError, TypeError, SyntaxError):
        return text


def family_named(name: str | None) -> str | None:
    """Check the name of a family, or "all"; None means the default.

    Raises:
        UserError: there is no family of that name.
    """
    if name is not None and name not in (*FAMILIES, EVERY):
        raise UserError(f"no family {name!r}{near(name, (*FAMILIES, EVERY))}")
    return name


def device_named(kind: str | None, targets: Sequence[Target]) -> str | None:
    """Check that this machine has a device of this kind; None means no device.

    Args:
        targets: the passes to fuzz.

    Raises:
        UserError: there is no such kind, or no such device here; or none of the passes produces
            code for it.
    """
    if kind is None:
        return None
    if kind not in KINDS:
        raise UserError(f"no device {kind!r}{near(kind, KINDS)}")
    if (why := missing(kind)) is not None:
        raise UserError(why)
    family = family_of(Stage.TENSORIR if kind in ON_CPU else Stage.SCHEDULED).name
    if not any(family in families_of(each) for each in targets):
        raise UserError(
            f"--device {kind} executes what passes of the family {family!r} give, and none of them "
            f"is fuzzed: add --family {family}"
        )
    return kind


def stage_of(name: str) -> Stage:
    """The stage of this name.

    Raises:
        UserError: there is no such stage, or modules do not reach it on the installed TVM.
    """
    try:
        stage = Stage(name)
    except ValueError:
        raise UserError(f"no stage {name!r}{near(name, list(Stage))}") from None
    refuse("stage", name)
    return stage


def pipeline_named(name: str) -> str:
    """The pipeline of this name; a user's own, `FILE.py:factory`, with its full path.

    Raises:
        UserError: there is no such pipeline, it does not work here, or a user's own gives no pass.
    """
    if not is_own(name):
        if name not in (*PIPELINES, *OF_KERNELS):
            known = near(name, (*PIPELINES, *OF_KERNELS))
            raise UserError(
                f"no pipeline {name!r}{known} (your own is spelled path/to/file.py:factory)"
            )
        refuse("pipeline", name)
        return name
    try:
        call = parse(name)
    except BadSpelling as error:
        raise UserError(str(error)) from None
    probe({name: None})
    assert call.factory is not None, "a spelling with a colon is a factory"
    return call.factory


def refuse(kind: str, name: str) -> None:
    """Raise an error if something does not work on the installed TVM.

    Args:
        kind: "pass", "oracle", "stage" or "pipeline".

    Raises:
        UserError: it does not work.
    """
    if (reason := availability.current().of(kind).get(name)) is not None:
        raise UserError(f"{kind} {name!r} is not available on this TVM: {reason}")
