"""The fault zoo: passes with known faults, and correct ones that look suspicious.

It is how the harness itself is judged: `relaxfuzz zoo` lets the harness loose on all of them. Each
faulty pass is modelled on a bug that TVM had or has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from . import (
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
from .specimen import Family, Specimen

__all__ = ["ZOO", "Family", "Specimen"]


def _by_name(specimens: Iterable[Specimen]) -> Mapping[str, Specimen]:
    named: dict[str, Specimen] = {}
    for specimen in specimens:
        if specimen.name in named:
            raise ValueError(f"Duplicate specimen {specimen.name!r}")
        named[specimen.name] = specimen
    return named


_FILES = (
    *(historic, crash, structure, mutation, state),
    *(values, crossing, rare_values, rare_forms, tensorir, schedules),
    *(correct, correct_tensorir),
)

ZOO: Mapping[str, Specimen] = _by_name(
    specimen for module in _FILES for specimen in module.SPECIMENS
)
"""All of them by name, the historic faults first and the correct passes last."""
