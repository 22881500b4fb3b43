"""Reads a Python file into definitions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from .definition import Definition

ROOT = "python"
"""Where packages lie in the checkout."""


@dataclass(frozen=True, slots=True)
class PythonFile:
    """A module or the `__init__` of a package."""

    path: str
    definitions: tuple[Definition, ...]
    imports: Mapping[str, str]
    """By the name in this file, the dotted name of what it imports."""
    stars: tuple[str, ...]
    """Modules of which it imports all names."""
    ffi_prefix: str | None
    """Where the file gives access to global functions: what their names begin with."""

    @property
    def module(self) -> str:
        """Its dotted name."""
        return ".".join(module_of(self.path))


def module_of(path: str) -> tuple[str, ...]:
    """The parts of the dotted name of a file's module."""
    parts = PurePosixPath(path).relative_to(ROOT).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def read(path: str, text: str) -> PythonFile:
    """Read a file; `path` is relative to the checkout.

    Raises:
        SyntaxError: it is no Python that this interpreter reads.
    """
    tree = _WithoutDocsAndAnnotations().visit(ast.parse(text))
    package = PurePosixPath(path).relative_to(ROOT).parent.parts
    nodes = [node for each in tree.body if not _is_scope(each) for node in ast.walk(each)]
    imports, stars = _imports(nodes, package)
    constants = {
        statement.targets[0].id: statement.value.value
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and isinstance(statement.value, ast.Constant)
    }
    reader = _Reader(path, package, imports, constants)
    return PythonFile(
        path,
        tuple(definition for each in tree.body for definition in reader.definitions(each)),
        imports,
        stars,
        next(filter(None, map(_ffi_prefix, nodes)), None),
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    path: str
    package: tuple[str, ...]
    imports: Mapping[str, str]
    constants: Mapping[str, object]

    def definitions(self, statement: ast.stmt) -> Iterator[Definition]:
        """The definition that a top-level statement is.

        The methods of a class of TVM objects are definitions of their own: what creates or takes
        such an object does not depend on all that can be done with it. In other classes, visitors
        among them, methods are called by their base class, and belong to the class.
        """
        if isinstance(statement, ast.Import | ast.ImportFrom):
            return
        if isinstance(statement, ast.ClassDef) and _is_object(statement):
            methods = [each for each in statement.body if isinstance(each, ast.FunctionDef)]
            for method in methods:
                if not method.name.startswith("__"):
                    statement.body.remove(method)
                    yield self._definition(f".{method.name}", method)
            statement.body = statement.body or [ast.Pass()]
        yield self._definition(_name(statement), statement)

    def _definition(self, name: str | None, node: ast.AST) -> Definition:
        nodes = list(ast.walk(node))
        names = {**self.imports, **_imports(nodes, self.package)[0]}
        module = ".".join(module_of(self.path))
        mentions, strings, functions, attributes = set(), set(), set(), set()
        for each in nodes:
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                strings.add(each.value)
            if isinstance(each, ast.Attribute):
                mentions.add(f".{each.attr}")
            if chain := _chain(each):
                head = names.get(chain[0], f"{module}.{chain[0]}")
                mentions.add(".".join((head, *chain[1:])))
            match _call(each):
                case "register_global_func", [ast.Constant(str(registered)), *_]:
                    functions.add(registered)
                case "register_op_attr", [_, ast.Constant(str(attribute)), *_]:
                    attributes.add(attribute)
                case "register_op_attr", [_, ast.Name(variable), *_]:
                    attributes.add(str(self.constants.get(variable)))
        return Definition(
            self.path,
            name,
            ast.unparse(node),
            frozenset(mentions),
            frozenset(strings),
            frozenset(functions),
            frozenset(attributes),
        )


def _imports(
    nodes: Iterable[ast.AST], package: tuple[str, ...]
) -> tuple[dict[str, str], tuple[str, ...]]:
    names: dict[str, str] = {}
    stars = []
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            source = ".".join((*base, *([node.module] if node.module else [])))
            for alias in node.names:
                if alias.name == "*":
                    stars.append(source)
                else:
                    names[alias.asname or alias.name] = f"{source}.{alias.name}"
    return names, tuple(stars)


class _WithoutDocsAndAnnotations(ast.NodeTransformer):
    """Removes what does not change behaviour."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [each for each in body if not _is_text(each)]  # type: ignore[attr-defined]  # some nodes have no body
            if not node.body and not isinstance(node, ast.Module):  # type: ignore[attr-defined]  # as above
                node.body = [ast.Pass()]  # type: ignore[attr-defined]  # as above
        return node


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_scope(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)


def _is_object(node: ast.ClassDef) -> bool:
    return any((_call(each) or [""])[0] == "register_object" for each in node.decorator_list)


def _name(node: ast.AST) -> str | None:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return node.name
        case ast.Assign([ast.Name(name), *_]) | ast.AnnAssign(ast.Name(name)):
            return name
    return None


def _chain(node: ast.AST) -> tuple[str, ...]:
    """The names of `a.b.c`; none for what does not begin with a name."""
    match node:
        case ast.Name(name):
            return (name,)
        case ast.Attribute(value, name):
            return (*inner, name) if (inner := _chain(value)) else ()
    return ()


def _call(node: ast.AST) -> tuple[str, list[ast.expr]] | None:
    """The last name of the function that is called, and the arguments."""
    if isinstance(node, ast.Call) and (chain := _chain(node.func)):
        return chain[-1], node.args
    return None


def _ffi_prefix(node: ast.AST) -> str | None:
    match _call(node):
        case "init_ffi_api" | "_init_api", [ast.Constant(str(prefix)), *_]:
            return prefix
    return None
