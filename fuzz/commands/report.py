"""`relaxfuzz report`: what a store tells, as files."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path

from ...generators.tvm_api import versions
from ..findings.finding import UnknownFormat
from ..findings.known import Choice
from ..findings.store import BadStore, Store
from ..report.data import Report, gather
from ..system.files import write_whole
from ..user_input.mistake import Mistake

FORMS = {"html": "html", "junit": "junit", "jsonl": "lines", "markdown": "markdown"}
"""The module for each form, and the function in it. It is loaded when it is asked for: a page needs
what not everybody has installed."""

EXTRA = {"jinja2", "markupsafe", "matplotlib", "pygments"}
"""What `relaxfuzz[report]` brings."""

PAGE = "report.html"
"""In the store, where no file is named."""


def run(folder: Path, files: Mapping[str, Path]) -> int:
    """Write reports.

    Args:
        files: by form; none: a page in the folder.

    Raises:
        Mistake: no store, an extra that is not installed, or a file that cannot be written.
    """
    files = files or {"html": folder / PAGE}
    writers = {form: writer(form) for form in files}
    report = _gathered(folder)
    for form, path in files.items():
        try:
            write_whole(path, writers[form](report))
        except OSError as error:
            raise Mistake(f"cannot write --{form} '{path}': {error.strerror or error}") from None
        print(f"{form}: {path}")
    return 0


def _gathered(folder: Path) -> Report:
    try:
        with Store(folder, create=False) as store:
            return gather(store, Choice().load(versions()["tvm"]))
    except (BadStore, UnknownFormat) as error:
        raise Mistake(str(error)) from None


def writer(form: str) -> Callable[[Report], str]:
    """What makes a form.

    Raises:
        Mistake: an extra that is not installed.
    """
    name = FORMS[form]
    try:
        module = importlib.import_module(f"..report.{name}", __package__)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in EXTRA:
            raise
        raise Mistake(
            f"--{form} needs {error.name}, which is not installed: pip install 'relaxfuzz[report]'"
        ) from None
    write: Callable[[Report], str] = getattr(module, name)
    return write
