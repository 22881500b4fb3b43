"""Exceptions are plain: their text is made when they are raised, and showing them runs nothing.

A traceback asks an exception for its text, in whichever process and state that happens to be.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from .test_layers import modules

BUILTIN = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
)
DONE_WHEN_SHOWN = ("__str__", "__repr__", "__format__", "__getattr__", "__getattribute__")


def classes() -> dict[tuple[str, str], tuple[ast.ClassDef, tuple[tuple[str, str], ...]]]:
    """Every class by module and name, with its bases by the same."""
    found = {}
    for module, path in modules().items():
        tree = ast.parse(path.read_text())
        homes = dict(_homes(tree, module, is_package=path.name == "__init__.py"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                names = [each.id for each in node.bases if isinstance(each, ast.Name)]
                bases = tuple(homes.get(name, (module, name)) for name in names)
                found[module, node.name] = node, bases
    return found


def _homes(
    tree: ast.AST, module: str, *, is_package: bool
) -> Iterator[tuple[str, tuple[str, str]]]:
    """The places from which a module imports names of the project."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - (node.level - 1)]
            home = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield alias.asname or alias.name, (home, alias.name)


def exceptions() -> dict[tuple[str, str], ast.ClassDef]:
    every = classes()
    found: dict[tuple[str, str], ast.ClassDef] = {}
    while True:
        more = {
            key: node
            for key, (node, bases) in every.items()
            if key not in found
            and any(base in found or (base not in every and base[1] in BUILTIN) for base in bases)
        }
        if not more:
            return found
        found |= more


def works_when_shown(node: ast.ClassDef) -> list[str]:
    """The methods of an exception that run when it is shown, or looked at in a debugger."""
    methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
    return [
        each.name
        for each in methods
        if each.name in DONE_WHEN_SHOWN
        or any("property" in ast.unparse(decorator) for decorator in each.decorator_list)
    ]


def test_no_exception_works_when_it_is_shown() -> None:
    found = exceptions()
    assert len(found) > 30
    assert ("fuzz.checker.checker", "BuildViolation") in found
    wrong = {
        ".".join(key): works for key, node in found.items() if (works := works_when_shown(node))
    }
    assert not wrong


def test_a_property_of_an_exception_is_found() -> None:
    source = "class E(Exception):\n    @cached_property\n    def text(self): ...\n"
    (node,) = ast.parse(source).body
    assert isinstance(node, ast.ClassDef)
    assert works_when_shown(node) == ["text"]
