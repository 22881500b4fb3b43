"""The exception of a failed item, which pytest shows without a traceback."""

from __future__ import annotations


class Failure(Exception):
    """Its text is complete: frames of the plugin would explain nothing."""
