"""Spellings of real modules: files, folders and functions."""

from __future__ import annotations

from pathlib import Path


def is_function(source: str) -> bool:
    """Return whether a seed is `package.module:function`, not a path."""
    if function_in(source) is not None:
        return False
    module, _, function = source.partition(":")
    return function.isidentifier() and all(part.isidentifier() for part in module.split("."))


def function_in(source: str) -> tuple[Path, str] | None:
    """The file and the function of `FILE.py:function`; None for other spellings."""
    file, _, function = source.rpartition(":")
    return (Path(file), function) if file.endswith(".py") and function.isidentifier() else None
