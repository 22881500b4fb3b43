"""Copies of the installed tvm_ffi, with a fault."""

from __future__ import annotations

import shutil
from pathlib import Path

import tvm_ffi

CRASHES = "import os\nto_json_graph_str = lambda *_: os.kill(os.getpid(), 11)\n"
"""Appended to serialization.py: what 0.1.15 does."""

LACKS = "del structural_map\n"
"""Appended to __init__.py: what 0.1.13 lacks."""


def copied_ffi(folder: Path, file: str, fault: str) -> None:
    """Copy tvm_ffi into a folder, and append a fault to one of its files."""
    copy = folder / "tvm_ffi"
    shutil.copytree(Path(tvm_ffi.__file__).parent, copy)
    with (copy / file).open("a") as source:
        source.write(fault)
