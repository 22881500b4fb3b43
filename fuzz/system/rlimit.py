"""Limits that a process sets itself."""

from __future__ import annotations

import resource


def lower(what: int, soft: int) -> None:
    """Lower a soft limit (`resource.RLIMIT_...`, in its unit); one that is lower already stays."""
    now, hard = resource.getrlimit(what)
    if now == resource.RLIM_INFINITY or soft < now:
        resource.setrlimit(what, (soft, hard))
