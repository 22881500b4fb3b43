"""PassContexts other than the default one: the options that TVM registers for passes of Relax, and
the level above which Sequential skips passes.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

import tvm

from .passcall import OPT_LEVEL, PassCall

PREFIX = "relax."
VALUES: Mapping[str, tuple[bool, ...] | tuple[int, ...]] = {
    "bool": (False, True),
    "int": (0, 1, 2, 1 << 30),
    OPT_LEVEL: (1, 3),
}
"""The values to draw, by the option's type as TVM names it. Options of other types are not set.
Level 0 is not drawn: it skips the passes that CanonicalizeBindings and LiftTransformParams consist
of, and thus all their promises."""


@functools.cache
def options() -> Mapping[str, str]:
    """`OPT_LEVEL`, and the options of Relax that the installed TVM registers; the type of each."""
    registered = tvm.transform.PassContext.list_configs()
    return {OPT_LEVEL: OPT_LEVEL} | {
        str(name): str(about["type"])
        for name, about in sorted(registered.items())
        if name.startswith(PREFIX) and about["type"] in VALUES
    }


def draw(random: Random) -> dict[str, bool | int]:
    """One option with a value of its type."""
    name = random.choice(list(options()))
    return {name: random.choice(VALUES[options()[name]])}


def under(calls: Iterable[PassCall], config: Mapping[str, Any]) -> tuple[PassCall, ...]:
    """The same passes with these options, except options that one of the passes sets itself."""
    calls = tuple(calls)
    if not config:
        return calls
    own = {key for call in calls for key in call.config}
    config = {key: value for key, value in config.items() if key not in own}
    return tuple(dataclasses.replace(call, config={**config, **call.config}) for call in calls)
