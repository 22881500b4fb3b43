"""TVM without PyTorch. If PyTorch is installed, `import tvm_ffi` imports it first, which takes
longer than all of TVM: 2.4 s and 540 MB in each process that starts anew.

Importing this module imports TVM in that way if `VARIABLE` is set. A process that then imports
PyTorch, e.g. to export a user's model, can use both.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable
from types import ModuleType

VARIABLE = "RELAXFUZZ_WITHOUT_TORCH"
"""The environment variable of processes that have no use for PyTorch."""

_TORCH = "torch"


def hide(names: Iterable[str]) -> None:
    """Have this process and its workers import TVM without PyTorch.

    Args:
        names: passes and pipelines of the command. With a colon they are code of the user's,
            FILE:NAME, which may import PyTorch in each process; then nothing is changed.
    """
    if not any(":" in name for name in names):
        os.environ[VARIABLE] = "1"


def import_tvm() -> ModuleType:
    """TVM, imported without PyTorch if that is wanted and neither is imported already."""
    hidden = VARIABLE in os.environ and not {"tvm_ffi", _TORCH} & sys.modules.keys()
    if hidden:
        sys.modules[_TORCH] = None  # type: ignore[assignment]  # then its import fails
    try:
        return importlib.import_module("tvm")
    finally:
        if hidden:
            del sys.modules[_TORCH]


if VARIABLE in os.environ:
    import_tvm()
