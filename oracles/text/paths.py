"""Names of files that were sent here from another machine, and unpacked below one folder.

The name of a pass's file becomes part of the key of a finding. So the folder is dropped before a
message is cut, normalized or compared.
"""

from __future__ import annotations

import os

VARIABLE = "RELAXFUZZ_ELSEWHERE"
"""The environment variable that names the folder; it stands for the root of the other machine."""

_FOLDER = os.environ.get(VARIABLE, "")


def as_here(path: str) -> str:
    """The path under which a file of the other machine was unpacked here."""
    return _FOLDER + path if _FOLDER and os.path.isfile(_FOLDER + path) else path


def as_there(text: str) -> str:
    """A text with the names that files have on the machine that they come from."""
    return text.replace(f"{_FOLDER}/", "/") if _FOLDER else text
