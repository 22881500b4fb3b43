"""All specimens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from . import drafts, engineers
from .modelled import (
    correct,
    correct_tensorir,
    crash,
    crossing,
    historic,
    mutation,
    rare_forms,
    rare_values,
    schedules,
    state,
    structure,
    tensorir,
    values,
)
from .specimen import Specimen

_FILES = (
    *(historic, crash, structure, mutation, state),
    *(values, crossing, rare_values, rare_forms, tensorir, schedules),
    *(correct, correct_tensorir),
)

SETS: Mapping[str, tuple[Specimen, ...]] = {
    "modelled": tuple(specimen for module in _FILES for specimen in module.SPECIMENS),
    "first": drafts.FIRST,
    "second": drafts.SECOND,
    "third": drafts.THIRD,
    "fourth": drafts.FOURTH,
    "engineers": engineers.SPECIMENS,
}
"""By origin: modelled on bugs of TVM, first drafts of users in four sets, passes of engineers."""


def _by_name(specimens: Iterable[Specimen]) -> Mapping[str, Specimen]:
    named: dict[str, Specimen] = {}
    for specimen in specimens:
        if specimen.name in named:
            raise ValueError(f"Duplicate specimen {specimen.name!r}")
        named[specimen.name] = specimen
    return named


SPECIMENS: Mapping[str, Specimen] = _by_name(each for group in SETS.values() for each in group)
"""All of them by name."""
