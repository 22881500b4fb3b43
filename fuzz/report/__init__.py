"""The findings of a store as reports: HTML, JSON lines, Markdown."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..system.errors import UserError

if TYPE_CHECKING:
    from .data import Report

FORMS = ("html", "jsonl", "markdown")
"""The forms; each is a module with a function of the same name."""

EXTRA = {"jinja2", "markupsafe", "pygments"}
"""Packages that `relaxfuzz[report]` installs."""

PAGE = "report.html"
"""The file of the default report, in the store."""


def writer(form: str) -> Callable[[Report], str]:
    """Return the function that writes a form; its module is imported now, as it may need an extra.

    Raises:
        UserError: a package of the extra is not installed.
    """
    try:
        module = importlib.import_module(f".{form}", __name__)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in EXTRA:
            raise
        raise UserError(
            f"--{form} needs {error.name}, which is not installed: pip install 'relaxfuzz[report]'"
        ) from None
    write: Callable[[Report], str] = getattr(module, form)
    return write
