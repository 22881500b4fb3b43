"""The names of TVM that the source of relaxfuzz uses: what a drill may take away."""

from __future__ import annotations

import ast
import functools
import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FOLDERS = ("generators", "oracles", "fuzz")
TVM = ("tvm", "tvm_ffi")
COMPAT = {"relax_op": "tvm.relax.op", "ir": "relaxfuzz.compat.ir"}
"""What the names stand for that files import from `compat`."""

PASS_ARGUMENT = re.compile(r"\b([A-Z]\w+)\((\w+)=")


@dataclass(frozen=True, slots=True)
class Used:
    """What the source uses."""

    names: set[str] = field(default_factory=set)
    """Dotted names of TVM."""
    attributes: set[str] = field(default_factory=set)
    """Every attribute that is asked of anything."""
    keywords: set[tuple[str, str]] = field(default_factory=set)
    """Functions and classes of TVM, with the keywords that they are called with."""


@functools.cache
def used() -> Used:
    """All of it: some seconds."""
    found = Used()
    for file in sorted(file for each in FOLDERS for file in (ROOT / each).rglob("*.py")):
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
        imported = _imported(nodes)
        found.names.update(imported.values())
        for node in nodes:
            match node:
                case ast.Attribute():
                    found.attributes.add(node.attr)
                    if name := _dotted(node, imported):
                        found.names.add(name)
                case ast.Call() if name := _dotted(node.func, imported):
                    found.keywords.update((name, each.arg) for each in node.keywords if each.arg)
                case ast.Constant(value=str()) | ast.JoinedStr():  # "FuseOps(fuse_opt_level=2)"
                    for name, keyword in PASS_ARGUMENT.findall(ast.unparse(node)):
                        found.keywords.add((f"tvm.relax.transform.{name}", keyword))
    return found


def resolve(name: str) -> Any:
    """What the name stands for; None where the installed TVM has none."""
    parts = name.split(".")
    for depth in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:depth]))
        except ImportError:
            continue
        for part in parts[depth:]:
            found = getattr(found, part, None)
        return found
    return None


def _imported(nodes: list[ast.AST]) -> Mapping[str, str]:
    """What each name of a file stands for that an import of TVM gives it."""
    found: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for each in node.names:
                if each.name.split(".")[0] in TVM:
                    name = each.name if each.asname else each.name.split(".")[0]
                    found[each.asname or name] = name
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for each in node.names:
                if node.level == 0 and node.module.split(".")[0] in TVM:
                    found[each.asname or each.name] = f"{node.module}.{each.name}"
                elif node.level and node.module.startswith("compat") and each.name in COMPAT:
                    found[each.asname or each.name] = COMPAT[each.name]
    return found


def _dotted(node: ast.expr, imported: Mapping[str, str]) -> str | None:
    chain = []
    while isinstance(node, ast.Attribute):
        chain.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in imported:
        return None
    return ".".join([imported[node.id], *reversed(chain)])
