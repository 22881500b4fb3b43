"""Correct passes that look as if they had a fault."""

from __future__ import annotations

from .specimen import Specimen

SPECIMENS: tuple[Specimen, ...] = ()
