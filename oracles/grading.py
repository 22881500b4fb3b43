"""Decides whether a finding counts for exit codes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .tiers import ORACLES


def decides(key: Sequence[str], named: Collection[str] = ()) -> bool:
    """True if a finding decides exit codes: it breaks a promise, or its oracle was asked by name.

    Args:
        key: oracle, blamed pass, and the oracle's report. If a process died, its death replaces the
            oracle.
        named: the oracles that the user has asked for by name.
    """
    oracle = ORACLES.get(key[0])
    return oracle is None or key[0] in named or not oracle.breach_of(key[2:]).hint
