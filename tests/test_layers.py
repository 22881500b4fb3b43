"""The three floors: an import never points upward, and there are no cycles among modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FLOORS = ("generators", "oracles", "corpus", "fuzz")
"""From the ground up; `corpus` is data with a loader."""


def modules() -> dict[str, Path]:
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for floor in FLOORS
        for path in sorted((ROOT / floor).rglob("*.py"))
    }


def imports(name: str, path: Path, *, top_level: bool) -> Iterator[str]:
    """The project's modules that a module imports; only when it is loaded, if `top_level`."""
    tree = ast.parse(path.read_text())
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in tree.body if top_level else ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - (node.level - 1)]
            target = ".".join([*base, *([node.module] if node.module else [])])
            yield target
            yield from (f"{target}.{alias.name}".strip(".") for alias in node.names)


@pytest.mark.parametrize("name", list(modules()))
def test_no_import_points_upward(name: str) -> None:
    floor = FLOORS.index(name.split(".")[0])
    for target in imports(name, modules()[name], top_level=False):
        first = target.split(".")[0]
        if first in FLOORS:
            assert FLOORS.index(first) <= floor, f"{name} imports {target}, from a floor above"


def test_there_are_no_import_cycles() -> None:
    known = modules()
    graph = {
        name: {t for t in imports(name, path, top_level=True) if t in known and t != name}
        - {name.rsplit(".", 1)[0]}
        for name, path in known.items()
    }
    assert len(list(TopologicalSorter(graph).static_order())) >= len(known)
