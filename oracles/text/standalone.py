"""Functions of this package as text that needs only TVM and NumPy, for reproducers.

A reproducer is read by people who do not have relaxfuzz. What a check needs is copied from the
defining modules as it stands there, with comments, and with everything that it uses in turn; only
annotations go, and names of modules in front of names.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import keyword
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from types import FunctionType
from typing import Any

import tvm

from ...generators.source import to_source

PACKAGE = __name__.split(".", 1)[0]


class NotStandalone(ValueError):
    """Something that has no text of its own: a value made at run time, a module as a value."""


def standalone(*objects: Any) -> str:
    """The text of functions and classes of this package, and of all of the package they use.

    Imports of other packages stand first. A function made inside another one comes with the values
    it has caught, if these are literals or have a text themselves.

    Raises:
        NotStandalone: one of them, or something it uses, has no text of its own.
    """
    text = _Text()
    for thing in objects:
        text.take(_object(thing))
    return text.written()


def nested_module(name: str, mod: tvm.IRModule) -> str:
    """The definition of a function without parameters that builds the module."""
    try:
        body = f"{to_source(mod).strip()}\nreturn mod"
    except Exception:
        # What source cannot express still travels as JSON, if only within one TVM version.
        body = f"return tvm.ir.load_json({str(tvm.ir.save_json(mod))!r})"
    return f"def {name}():\n{textwrap.indent(body, '    ')}\n"


@dataclass(frozen=True)
class _Definition:
    """A statement at the top of a module, or (`caught` given) inside one of its functions."""

    module: str
    name: str
    node: ast.stmt = field(compare=False)
    caught: tuple[tuple[str, Any], ...] = field(compare=False, default=())


class _Text:
    def __init__(self) -> None:
        self._imports: dict[str, None] = {}
        self._names: dict[_Definition, str] = {}
        self._begun: set[_Definition] = set()
        self._taken: set[_Definition] = set()
        self._parts: list[str] = []

    def take(self, definition: _Definition) -> None:
        """Write a definition and everything that it uses."""
        if definition in self._taken:
            return
        self._taken.add(definition)
        for used in self._write(definition):
            self.take(used)

    def written(self) -> str:
        imports = sorted(self._imports, key=lambda line: (line.startswith("from "), line))
        return "\n\n\n".join(["\n".join(imports), *self._parts]).strip()

    def _write(self, definition: _Definition) -> list[_Definition]:
        """Write one definition, those first that its execution needs; returns all that it uses."""
        if definition in self._begun:
            return []
        self._begun.add(definition)
        if (table := _derived_table(definition)) is not None:
            self._parts.append(f"{self._name(definition)} = {table!r}")
            return []
        source = _Source.of(definition.module)
        edits = _Edits(source, definition.node)
        caught = dict(definition.caught)
        lines: list[str] = []
        uses: list[_Definition] = []
        eager = _eager(definition.node)
        for node, name, end in edits.uses:
            if name in caught:
                continue
            target = source.resolve(name)
            if isinstance(target, str):
                self._imports[target] = None
                continue
            if isinstance(target, _Module):
                if not isinstance(end, ast.Attribute):
                    raise NotStandalone(f"{definition.name} uses the module {target.name} itself")
                target = _Source.of(target.name).definition(end.attr)
                edits.replace(node, end, self._name(target))
            elif self._name(target) != name:
                edits.replace(node, node, self._name(target))
            uses.append(target)
            if id(node) in eager:
                self.take(target)
        for name, value in caught.items():
            lines.append(f"{name} = {self._value(value, uses)}")
        own = self._name(definition)
        if own != definition.name:
            edits.rename(definition.name, own)
        self._parts.append("\n\n".join([*lines, edits.text()]))
        return uses

    def _value(self, value: Any, uses: list[_Definition]) -> str:
        if inspect.isfunction(value) or inspect.isclass(value):
            definition = _object(value)
            self.take(definition)
            uses.append(definition)
            return self._name(definition)
        try:
            literal = repr(value)
            if ast.literal_eval(literal) == value:
                return literal
        except (ValueError, SyntaxError):
            pass
        raise NotStandalone(f"Expected a literal or a function but got {value!r}")

    def _name(self, definition: _Definition) -> str:
        """The definition's name in the text; two of one name get numbers."""
        if definition not in self._names:
            name, number = definition.name, 2
            while name in self._names.values():
                name, number = f"{definition.name}_{number}", number + 1
            self._names[definition] = name
        return self._names[definition]


def _derived_table(definition: _Definition) -> tuple[str, ...] | None:
    """The value of a tuple of strings that is computed, for instance from records of operators."""
    if not isinstance(definition.node, ast.Assign):
        return None
    value = getattr(sys.modules[definition.module], definition.name, None)
    if not isinstance(value, tuple) or not all(isinstance(each, str) for each in value):
        return None
    computed = any(isinstance(node, ast.Name) for node in ast.walk(definition.node.value))
    return value if computed else None


@dataclass(frozen=True)
class _Module:
    name: str


class _Source:
    """What stands at the top of one module of this package."""

    @classmethod
    @functools.cache
    def of(cls, name: str) -> _Source:
        return cls(name)

    def __init__(self, name: str) -> None:
        self.name = name
        self.module = importlib.import_module(name)
        self.text = inspect.getsource(self.module)
        self.tree = ast.parse(self.text)
        self._top: dict[str, ast.stmt] = {}
        for node in self.tree.body:
            for bound in _bound_by(node):
                self._top[bound] = node

    def resolve(self, name: str) -> _Definition | _Module | str:
        """What a name at the top of the module stands for: a definition, a module or an import.

        Raises:
            NotStandalone: it stands for nothing that is written there.
        """
        node = self._top.get(name)
        if isinstance(node, ast.Import):
            return next(f"import {_alias(a)}" for a in node.names if _bound(a) == name)
        if isinstance(node, ast.ImportFrom):
            alias = next(a for a in node.names if _bound(a) == name)
            origin = self._origin(node)
            if origin.split(".", 1)[0] != PACKAGE:
                return f"from {origin} import {_alias(alias)}"
            inner = f"{origin}.{alias.name}"
            if inner in sys.modules and not hasattr(sys.modules[origin], "__all__"):
                return _Module(inner)
            return _Source.of(origin).definition(alias.name)
        return self.definition(name)

    def definition(self, name: str) -> _Definition:
        """The statement that defines a name, in this module or where it comes from.

        Raises:
            NotStandalone: none does.
        """
        node = self._top.get(name)
        if node is None:
            raise NotStandalone(f"Nothing at the top of {self.name} defines {name!r}")
        if isinstance(node, ast.Import | ast.ImportFrom):
            target = self.resolve(name)
            if isinstance(target, _Definition):
                return target
            raise NotStandalone(f"{name!r} in {self.name} is an import, no definition")
        return _Definition(self.name, name, node)

    def knows(self, name: str) -> bool:
        """The name is defined at the top of the module."""
        return name in self._top

    def _origin(self, node: ast.ImportFrom) -> str:
        if not node.level:
            assert node.module is not None
            return node.module
        base = self.name if hasattr(self.module, "__path__") else self.name.rpartition(".")[0]
        for _ in range(node.level - 1):
            base = base.rpartition(".")[0]
        return f"{base}.{node.module}" if node.module else base


class _Edits:
    """The text of one statement, and what is to be changed in it."""

    def __init__(self, source: _Source, node: ast.stmt) -> None:
        self._data = source.text.encode()
        self._starts = list(accumulate(map(len, self._data.splitlines(keepends=True)), initial=0))
        self._node = node
        self._changes: list[tuple[int, int, str]] = []
        skipped = set(self._annotations())
        bound = _bound_inside(node)
        self.uses: list[tuple[ast.Name, str, ast.expr]] = []
        """Names of the module's top in the statement; the attribute taken of each, if any."""
        attributes = {id(n.value): n for n in ast.walk(node) if isinstance(n, ast.Attribute)}
        for name in ast.walk(node):
            if (
                isinstance(name, ast.Name)
                and isinstance(name.ctx, ast.Load)
                and id(name) not in skipped
                and name.id not in bound
                and source.knows(name.id)
            ):
                self.uses.append((name, name.id, attributes.get(id(name), name)))

    def replace(self, first: ast.expr, last: ast.expr, text: str) -> None:
        """Put a text where an expression stands."""
        self._change(self._at(first), self._end(last), text)

    def rename(self, old: str, new: str) -> None:
        """Give the definition itself another name, in recursive uses too."""
        for node in ast.walk(self._node):
            if isinstance(node, ast.Name) and node.id == old and isinstance(node.ctx, ast.Store):
                self.replace(node, node, new)
        if isinstance(self._node, ast.FunctionDef | ast.ClassDef):
            start = self._at(self._node)
            offset = self._data[start:].decode().index(f" {old}") + 1
            self._change(start + offset, start + offset + len(old), new)

    def text(self) -> str:
        first = min([self._node.lineno, *(d.lineno for d in _decorators(self._node))])
        start = self._offset(first, 0)
        end = self._end(self._node)
        data = self._data
        for begin, stop, text in sorted(self._changes, reverse=True):
            data = data[:begin] + text.encode() + data[stop:]
            end += len(text.encode()) - (stop - begin)
        return textwrap.dedent(data[start:end].decode())

    def _annotations(self) -> Iterator[int]:
        """Take annotations away; they are no uses."""
        classes = [n for n in ast.walk(self._node) if isinstance(n, ast.ClassDef)]
        fields = {id(statement) for node in classes for statement in node.body}
        for node in ast.walk(self._node):
            if isinstance(node, ast.arg) and node.annotation is not None:
                yield from map(id, ast.walk(node.annotation))
                start = self._at(node) + len(node.arg.encode())
                self._change(start, self._end(node.annotation), "")
            elif isinstance(node, ast.FunctionDef) and node.returns is not None:
                yield from map(id, ast.walk(node.returns))
                arrow = self._data.rindex(b"->", 0, self._at(node.returns))
                self._change(arrow, self._end(node.returns), "")
                if self._data[arrow - 1 : arrow] == b" ":
                    self._change(arrow - 1, arrow, "")
            elif isinstance(node, ast.AnnAssign):
                yield from map(id, ast.walk(node.annotation))
                if node.value is not None and id(node) not in fields:
                    self._change(self._end(node.target), self._end(node.annotation), "")
                else:
                    # What makes it a field is that there is an annotation, whatever it says.
                    self._change(self._at(node.annotation), self._end(node.annotation), "object")

    def _change(self, start: int, end: int, text: str) -> None:
        self._changes.append((start, end, text))

    def _at(self, node: ast.AST) -> int:
        return self._offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def _end(self, node: ast.AST) -> int:
        return self._offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def _offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column


def _object(thing: Any) -> _Definition:
    """Where a function or class is defined."""
    module = getattr(thing, "__module__", "") or ""
    path = getattr(thing, "__qualname__", "").split(".")
    if module.split(".", 1)[0] != PACKAGE or not all(map(_is_name, path[::2])):
        raise NotStandalone(f"Expected a function or class of {PACKAGE} but got {thing!r}")
    source = _Source.of(module)
    if len(path) == 1:
        return source.definition(path[0])
    if not isinstance(thing, FunctionType) or set(path[1::2]) != {"<locals>"}:
        raise NotStandalone(f"Expected a function or class but got {thing!r}")
    node: ast.AST = source.tree
    for name in path[::2]:
        node = next(n for n in ast.walk(node) if isinstance(n, ast.FunctionDef) and n.name == name)
    assert isinstance(node, ast.FunctionDef)
    cells = [cell.cell_contents for cell in thing.__closure__ or ()]
    caught = tuple(zip(thing.__code__.co_freevars, cells, strict=True))
    return _Definition(module, path[-1], node, caught)


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)


def _eager(node: ast.stmt) -> set[int]:
    """The parts of a statement that are executed when it is, not when what it defines is called."""
    found: set[int] = set()
    todo: list[ast.AST] = [node]
    while todo:
        part = todo.pop()
        found.add(id(part))
        if isinstance(part, ast.FunctionDef):
            todo += [*part.decorator_list, *part.args.defaults]
            todo += [default for default in part.args.kw_defaults if default is not None]
        elif isinstance(part, ast.Lambda):
            todo += part.args.defaults
        else:
            todo += ast.iter_child_nodes(part)
    return found


def _bound_by(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [] if getattr(node, "module", "") == "__future__" else list(map(_bound, node.names))
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]
    return []


def _bound_inside(node: ast.stmt) -> set[str]:
    """Names that mean something of the statement's own, all over it."""
    bound: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.arg):
            bound.add(part.arg)
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            bound.add(part.id)
        elif isinstance(part, ast.FunctionDef | ast.ClassDef) and part is not node:
            bound.add(part.name)
    return bound - ({*_bound_by(node)} if not isinstance(node, ast.FunctionDef) else set())


def _decorators(node: ast.stmt) -> list[ast.expr]:
    return node.decorator_list if isinstance(node, ast.FunctionDef | ast.ClassDef) else []


def _alias(alias: ast.alias) -> str:
    return alias.name if alias.asname is None else f"{alias.name} as {alias.asname}"


def _bound(alias: ast.alias) -> str:
    return alias.asname or alias.name.split(".", 1)[0]
