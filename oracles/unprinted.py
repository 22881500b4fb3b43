"""What two modules differ in though their texts are the same."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import tvm
import tvm_ffi
from tvm_ffi.access_path import AccessKind, AccessPath

from ..generators.tvm_api import save_json
from . import keys

LONGEST = 500
"""Characters of what is there."""


def unprinted(left: tvm.IRModule, right: tvm.IRModule) -> tuple[str, str]:
    """The first place where the modules differ and what is there, as comments; or nothing."""
    left, right = keys.comparable(left), keys.comparable(right)
    paths = tvm_ffi.get_first_structural_mismatch(left, right, map_free_vars=True)
    if paths is not None:
        return _place(left, paths[0]), _place(right, paths[1])
    # Names of variables, spans and the sharing of nodes, to which equality is blind.
    for a, b in itertools.zip_longest(_nodes(left), _nodes(right)):
        if a != b:
            where = "in the module's JSON"
            return _comment(where, a or "-"), _comment(where, b or "-")
    return "", ""


def _place(root: Any, path: AccessPath) -> str:
    node = root
    for step in path.to_steps():
        try:
            node = getattr(node, step.key) if step.kind == AccessKind.ATTR else node[step.key]
        except (AttributeError, IndexError, KeyError, TypeError):
            return _comment(str(path), "-")
    return _comment(str(path), str(node))


def _comment(where: str, what: str) -> str:
    shown = what if len(what) <= LONGEST else f"{what[:LONGEST]} ..."
    return "\n".join(f"# {line}" for line in [f"not printed: {where}", *shown.splitlines()])


def _nodes(mod: tvm.IRModule) -> Iterator[str]:
    for node in json.loads(save_json(mod))["nodes"]:
        if isinstance(node.get("data"), dict):
            node["data"].pop("span", None)
        yield json.dumps(node)
