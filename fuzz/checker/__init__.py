"""Checks in real builds: a pass instrument, and what makes a script's builds use it."""

from __future__ import annotations

from .checker import BuildViolation, Checker

__all__ = ["BuildViolation", "Checker"]
