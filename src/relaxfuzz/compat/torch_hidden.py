"""TVM without PyTorch. If PyTorch is installed, `import tvm_ffi` imports it first, which takes
longer than all of TVM: 2.4 s and 540 MB in each process that starts anew.

Importing this module imports TVM in that way if `VARIABLE` is set. A process that then imports
PyTorch, e.g. to export a user's model, can use both.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

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


def import_tvm() -> None:
    """Import TVM without PyTorch if that is wanted, and neither is imported already."""
    if VARIABLE not in os.environ or "tvm_ffi" in sys.modules or _TORCH in sys.modules:
        return
    sys.modules[_TORCH] = None  # type: ignore[assignment]  # then its import fails
    try:
        import tvm  # noqa: F401
    finally:
        del sys.modules[_TORCH]


import_tvm()
