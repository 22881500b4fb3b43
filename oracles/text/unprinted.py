"""What two modules differ in though their texts are the same."""

from __future__ import annotations

from typing import Any

import tvm
import tvm_ffi
from tvm_ffi.access_path import AccessKind, AccessPath

from .. import keys

LONGEST = 500
"""Characters of what is there."""


def unprinted(left: tvm.IRModule, right: tvm.IRModule) -> tuple[str, str]:
    """The first place where the modules differ and what is there, as comments; or nothing."""
    left, right = keys.comparable(left), keys.comparable(right)
    paths = tvm_ffi.get_first_structural_mismatch(left, right, map_free_vars=True)
    if paths is None:
        return "", ""
    return _place(left, paths[0]), _place(right, paths[1])


def _place(root: Any, path: AccessPath) -> str:
    node = root
    for step in path.to_steps():
        try:
            node = getattr(node, step.key) if step.kind == AccessKind.ATTR else node[step.key]
        except (AttributeError, IndexError, KeyError, TypeError):
            node = "nothing"
            break
    shown = str(node) if len(str(node)) <= LONGEST else f"{str(node)[:LONGEST]} ..."
    return "\n".join(f"# {line}" for line in [f"not printed: {path}", *shown.splitlines()])
