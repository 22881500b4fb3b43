"""Passes that raise, die, hang or eat memory."""

from __future__ import annotations

from .specimen import Specimen

SPECIMENS: tuple[Specimen, ...] = ()
