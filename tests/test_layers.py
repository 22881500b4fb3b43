"""The shape of the source: layers, rooms that stand on one another, import circles."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "relaxfuzz"
LAYERS = ("compat", "generators", "oracles", "corpus", "fuzz")
"""From the ground up; `corpus` is data with a loader."""

ROOMS: Mapping[str, str] = {
    "compat": "",
    "generators": """
        choices near rewrite source stages traits values
        seeds tensorir
        module_scope names scope
        ops
        corners idioms
        bindings functions modules prim_funcs families
    """,
    "oracles": """
        dtypes errors graph inspect lines pace arithmetic_passes single_call
        liveness lowering_gaps silence tensorir text
        evaluate identity passcall reference rejection
        contexts contract pass_arguments pipelines violation
        checkers keys
        execute explain grades ingredients
        behaviour acted
        expected
        catalogue snippets
        pass_runs
        oracle vote
        structural
        composition metamorphic
        values
        on_device
        tiers
        grading
        check identify
        consequence
        exhibit
    """,
    "corpus": "found models reading seeds versions knowns grades",
    "fuzz": """
        output
        system
        process
        user_input affected
        jobs
        findings loading
        reproducer
        minimize
        campaign renewal
        zygote
        cluster probe
        report
        session
        property_tests doctor
        checker nightly pytest_plugin
        cli
    """,
}
"""The rooms of each layer, from the ground up: its folders and the files beside them. A room
imports rooms before it, of its own layer."""


@cache
def modules() -> Mapping[str, Path]:
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in source_files()
    }


def source_files() -> list[Path]:
    return [path for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.py"))]


@cache
def imports(name: str, path: Path) -> tuple[str, ...]:
    """The names that a module imports from the project, wherever the import stands in the file."""
    return tuple(_imports(name, path))


def _imports(name: str, path: Path) -> Iterator[str]:
    """The same, one by one.

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


@pytest.mark.parametrize("layer", LAYERS)
def test_no_import_points_to_a_higher_layer(layer: str) -> None:
    higher = LAYERS[LAYERS.index(layer) + 1 :]
    wrong = [
        f"{name} imports {target}"
        for name, path in modules().items()
        if name.split(".")[0] == layer
        for target in imports(name, path)
        if target.split(".")[0] in higher
    ]
    assert not wrong


def test_there_are_no_import_circles() -> None:
    described = [" ".join(sorted(circle)) for circle in circles()]
    assert not described, f"modules that import each other: {described}"


def room_of(name: str) -> str | None:
    """The room of a module of the ladder; None of a layer's own `__init__`, and of `compat`."""
    layer, _, rest = name.partition(".")
    return rest.partition(".")[0] or None if ROOMS.get(layer) else None


@pytest.mark.parametrize("layer", [layer for layer, rooms in ROOMS.items() if rooms])
def test_each_room_has_its_place(layer: str) -> None:
    there = {room_of(name) for name in modules() if name.startswith(f"{layer}.")}
    rooms = ROOMS[layer].split()
    assert sorted(rooms) == sorted(filter(None, there)), "ROOMS lists each room once"


@pytest.mark.parametrize("layer", [layer for layer, rooms in ROOMS.items() if rooms])
def test_no_import_points_to_a_higher_room(layer: str) -> None:
    order = [None, *ROOMS[layer].split()]  # None: the layer's own `__init__`
    wrong = [
        f"{name} imports {target}"
        for name, path in modules().items()
        if name.split(".")[0] == layer and room_of(name) is not None
        for target in imports(name, path)
        if target.split(".")[0] == layer and target in modules()
        if order.index(room_of(target)) > order.index(room_of(name))
    ]
    assert not wrong
