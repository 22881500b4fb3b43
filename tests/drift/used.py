"""The names of TVM that the source of relaxfuzz uses: what a drill may take away."""

from __future__ import annotations

import ast
import functools
import importlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

LAYERS = Path(__file__).parents[2]
FOLDERS = ("generators", "oracles", "fuzz")
ROOTS = ("tvm", "tvm_ffi")
COMPAT = {"op": "tvm.relax.op", "ir": "relaxfuzz.compat.ir"}
"""What the names stand for that files import from `compat`."""

PASS_ARGUMENT = re.compile(r"\b([A-Z]\w+)\((\w+)=")


@functools.cache
def trees() -> tuple[ast.Module, ...]:
    """Every source file, parsed."""
    files = sorted(file for each in FOLDERS for file in (LAYERS / each).rglob("*.py"))
    return tuple(ast.parse(file.read_text()) for file in files)


@functools.cache
def names() -> frozenset[str]:
    """Every dotted name of TVM, by the module that relaxfuzz takes it from."""
    found = set()
    for tree in trees():
        imported = _imported(tree)
        found.update(imported.values())
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and (name := _dotted(node, imported)):
                found.add(name)
    return frozenset(found)


@functools.cache
def attributes() -> frozenset[str]:
    """Every attribute that is asked of anything."""
    return frozenset(
        node.attr for tree in trees() for node in ast.walk(tree) if isinstance(node, ast.Attribute)
    )


def keywords() -> Iterator[tuple[str, str]]:
    """Functions and classes of TVM, with the keywords that they are called with."""
    for tree in trees():
        imported = _imported(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and (name := _dotted(node.func, imported)):
                yield from ((name, keyword.arg) for keyword in node.keywords if keyword.arg)


def pass_keywords() -> Iterator[tuple[str, str]]:
    """The same, of passes that contracts spell as text: `"FuseOps(fuse_opt_level=2)"`."""
    for tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant | ast.JoinedStr):
                for name, keyword in PASS_ARGUMENT.findall(ast.unparse(node)):
                    yield f"tvm.relax.transform.{name}", keyword


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


def _imported(tree: ast.Module) -> Mapping[str, str]:
    """What each name of a file stands for that an import of TVM gives it."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                if each.name.split(".")[0] in ROOTS:
                    name = each.name if each.asname else each.name.split(".")[0]
                    found[each.asname or name] = name
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for each in node.names:
                if node.level == 0 and node.module.split(".")[0] in ROOTS:
                    found[each.asname or each.name] = f"{node.module}.{each.name}"
                elif node.level and node.module == "compat" and each.name in COMPAT:
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
