"""Files of another machine, which lie below a folder of this one, go by the names they have there.

What a pass's file is called becomes part of what a bug is known by. So the name is put right before
a message is cut, normalized or compared, not afterwards.
"""

from __future__ import annotations

import os

VARIABLE = "RELAXFUZZ_ELSEWHERE"
"""In the environment: the folder that stands for the root of the other machine."""

_FOLDER = os.environ.get(VARIABLE, "")


def as_there(text: str) -> str:
    """A text that names files, as it would be on the machine that they come from."""
    return text.replace(f"{_FOLDER}/", "/") if _FOLDER else text
