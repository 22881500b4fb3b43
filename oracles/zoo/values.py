"""Passes after which a module computes something else."""

from __future__ import annotations

from .specimen import Specimen

SPECIMENS: tuple[Specimen, ...] = ()
