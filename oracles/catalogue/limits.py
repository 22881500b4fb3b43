"""Exemptions that several contracts share."""

from __future__ import annotations

from ..contract import Exemption

DEAD_CODE = Exemption(
    "fixpoint",
    "it runs DeadCodeElimination inside, one run of which can leave what the next one removes",
    "the pass's source; such runs are reported under DeadCodeElimination itself",
)
