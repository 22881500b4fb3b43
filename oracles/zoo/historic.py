"""The faults for which relaxfuzz was made: the reference passes with what went wrong in TVM."""

from __future__ import annotations

from .specimen import Specimen

SPECIMENS: tuple[Specimen, ...] = ()
