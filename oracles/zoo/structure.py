"""Passes that leave a module ill-formed, or break its interface or types."""

from __future__ import annotations

from .specimen import Specimen

SPECIMENS: tuple[Specimen, ...] = ()
