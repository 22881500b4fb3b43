"""Modules of the specimens: on some the fault shows, on others the pass is right."""

from __future__ import annotations

from ..witness import Witness
from . import (
    correct,
    crash,
    crossing,
    engineers,
    first,
    fourth,
    mutation,
    rare,
    schedules,
    second,
    structure,
    tensorir,
    third,
    values,
)

_FILES = (
    *(crash, structure, mutation, values, crossing, rare, tensorir, schedules, correct),
    *(first, second, third, fourth, engineers),
)

WITNESSES: tuple[Witness, ...] = tuple(witness for file in _FILES for witness in file.WITNESSES)
