"""A pass with its arguments, as text that can be printed, sent to another process and re-run."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tvm
from tvm import relax


@dataclass(frozen=True, slots=True)
class PassCall:
    """One pass with its arguments and PassContext: the variant of a contract.

    `expr` is a Python expression over the names `tvm`, `relax`, `np` and all of
    `tvm.relax.transform` (for the passes of the catalogue), e.g. "FuseOps(fuse_opt_level=2)" or
    "relax.backend.DispatchSortScan()"; or, for a user's own pass, `factory` names where it
    comes from ("package.module:factory" or "path/to/file.py:factory") and `expr` is a label.
    """

    expr: str
    config: Mapping[str, Any] = field(default_factory=dict)
    """PassContext options, e.g. {"relax.FuseOps.max_depth": 4}."""
    imports: tuple[str, ...] = ()
    """Import statements that `expr` needs besides, e.g. "from tvm.relax.dpl import is_op"."""
    factory: str | None = None

    @property
    def name(self) -> str:
        """The pass's bare name: "FuseOps" of "FuseOps(fuse_opt_level=2)"."""
        return self.expr.split("(", 1)[0].rsplit(".", 1)[-1]

    def build(self) -> tvm.transform.Pass:
        """The pass object; exceptions of the expression or factory propagate."""
        raise NotImplementedError

    def run(self, mod: tvm.IRModule) -> tvm.IRModule:
        """Build and apply directly, under the call's PassContext and the CPU target."""
        raise NotImplementedError
