"""The shape of the source: layers, import circles, sizes of folders and files."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "relaxfuzz"
LAYERS = ("compat", "generators", "oracles", "corpus", "fuzz")
"""From the ground up; `corpus` is data with a loader."""

MAX_FILES = 15
"""Source files in one folder, `__init__.py` not counted."""

MAX_LINES = 500

LARGE_FOLDERS = {
    "generators/ops": "one file for each family of operators",
    "fuzz/minimize": "one file for each kind of reduction",
    "fuzz/cli": "one file for each command",
    "fuzz/campaign": "one file for each part of a campaign; the features of modules are one",
    "oracles": "one file for each idea that all oracles share",
    "oracles/catalogue": "one file for each family of passes",
    "oracles/values": "one file for each oracle of values, and for what they share",
}

LONG_FILES = {
    "generators/ops/nn.py": "a table: the operators of neural networks",
    "oracles/catalogue/params.py": "a table: the contracts of passes that change parameters",
    "corpus/zoo/correct.py": "a table: the correct passes of the zoo",
    "corpus/zoo/crossing.py": "a table: the faulty passes of one kind",
    "corpus/zoo/schedules.py": "a table: the faulty schedules of the zoo",
    "corpus/zoo/structure.py": "a table: the faulty passes of one kind",
    "corpus/zoo/tensorir.py": "a table: the faulty passes on PrimFuncs of the zoo",
    "corpus/zoo/values.py": "a table: the faulty passes of one kind",
}


@cache
def modules() -> Mapping[str, Path]:
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in source_files()
    }


def source_files() -> list[Path]:
    return [path for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.py"))]


def imports(name: str, path: Path) -> Iterator[str]:
    """The names that a module imports from the project, wherever the import stands in the file.

    Those in functions and behind TYPE_CHECKING are among them. `from .a import b` is an import of
    `a.b` if that is a module, else of `a`.
    """
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - (node.level - 1)]
            target = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                full = f"{target}.{alias.name}".strip(".")
                yield full if full in modules() else target


@cache
def graph() -> Mapping[str, frozenset[str]]:
    """The modules that each module needs: what it imports, and the packages around that."""
    return {
        name: frozenset(
            needed
            for target in imports(name, path)
            for needed in (target, *packages(target, but_of=name))
            if needed in modules() and needed != name
        )
        for name, path in modules().items()
    }


def packages(target: str, *, but_of: str) -> Iterator[str]:
    """The packages around a module, which are loaded first, unless the importer is inside too."""
    parts = target.split(".")
    for end in range(1, len(parts)):
        package = ".".join(parts[:end])
        if not f"{but_of}.".startswith(f"{package}."):
            yield package


def circles() -> set[frozenset[str]]:
    """The sets of modules each of which needs, directly or not, all the others of its set."""
    reached = {name: reachable(name) for name in graph()}
    return {
        frozenset({name, *(other for other in reached[name] if name in reached[other])})
        for name in graph()
        if name in reached[name]
    }


def reachable(name: str) -> set[str]:
    found: set[str] = set()
    waiting = [*graph()[name]]
    while waiting:
        if (target := waiting.pop()) not in found:
            found.add(target)
            waiting += graph()[target]
    return found


@pytest.mark.parametrize("name", list(modules()))
def test_no_import_points_upward(name: str) -> None:
    layer = LAYERS.index(name.split(".")[0])
    for target in imports(name, modules()[name]):
        first = target.split(".")[0]
        if first in LAYERS:
            assert LAYERS.index(first) <= layer, f"{name} imports {target}, from a layer above"


def test_there_are_no_import_circles() -> None:
    described = [" ".join(sorted(circle)) for circle in circles()]
    assert not described, f"modules that import each other: {described}"


def test_no_folder_holds_too_many_files() -> None:
    counts: dict[str, int] = {}
    for path in source_files():
        folder = path.parent.relative_to(ROOT).as_posix()
        # `found` and `seeds` hold reproducers, which are data.
        if path.name != "__init__.py" and not folder.startswith(("corpus/found", "corpus/seeds")):
            counts[folder] = counts.get(folder, 0) + 1
    large = {folder for folder, count in counts.items() if count > MAX_FILES}
    check_exceptions(large, LARGE_FOLDERS, f"more than {MAX_FILES} files")


def test_no_file_is_too_long() -> None:
    long = {
        path.relative_to(ROOT).as_posix()
        for path in source_files()
        if len(path.read_text().splitlines()) > MAX_LINES
        and not path.is_relative_to(ROOT / "corpus" / "found")
    }
    check_exceptions(long, LONG_FILES, f"more than {MAX_LINES} lines")


def check_exceptions(found: set[str], allowed: Mapping[str, str], what: str) -> None:
    assert not found - allowed.keys(), f"{what}: {sorted(found - allowed.keys())}"
    gone = sorted(allowed.keys() - found)
    assert not gone, f"no longer {what}, take them out of the lists in this file: {gone}"
