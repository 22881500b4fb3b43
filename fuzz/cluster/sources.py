"""The files that a Python file of the user's needs: found by reading it, nothing is executed.

What it imports is looked for in the user's own folders, as Python would: beside the file, in the
current folder, in those of PYTHONPATH, and in folders that the file names. What is installed is
installed on workers, too, and only its name is noted.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

CHECKED = frozenset({"relaxfuzz", "tvm", "tvm_ffi", "numpy", "hypothesis"})
"""Their versions are compared elsewhere; they are never sent, wherever they lie."""

LOADERS = frozenset({"import_module", "__import__"})
"""Functions whose first argument is the name of a module."""


def own_folders() -> tuple[Path, ...]:
    """The current folder, and what PYTHONPATH adds: where a user's own modules are found."""
    named = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    folders = (Path.cwd(), *(Path(os.path.abspath(name)) for name in named))
    return tuple(dict.fromkeys(each for each in folders if each.is_dir() and not _is_bought(each)))


@dataclass(frozen=True, slots=True)
class _Todo:
    """A Python file to read."""

    file: Path
    package: tuple[str, ...]
    """The parts of the name of its package; none: it is in none."""
    root: Path
    """The folder that its outermost package lies in."""
    folders: tuple[Path, ...]
    """Where it finds modules."""


class Sources:
    """What some files need, all in all."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """
        Args:
            folders: the user's own, see `own_folders`.
        """
        self._folders = tuple(folders)
        self._seen: set[Path] = set()
        self._todo: list[_Todo] = []
        self._named: dict[Path, dict[int, Path]] = {}
        """By file: the absolute paths in its text, by the bytes at which they begin."""
        self.roots: set[Path] = set()
        """Folders in which a module was found, or from which a file is executed."""
        self.installed: dict[str, None] = {}
        """Installed packages that the files cannot be loaded without."""

    @property
    def files(self) -> dict[Path, tuple[int, ...]]:
        """To send; and the bytes at which they name a file or folder that lies elsewhere there."""
        return {
            file: tuple(sorted(at for at, path in named.items() if self._is_sent(path)))
            for file, named in self._named.items()
        }

    def _is_sent(self, path: Path) -> bool:
        return path in self._named or path in self.roots

    def add_file(self, path: Path) -> None:
        """A file that is executed, and what it needs."""
        self._execute(path, self._folders)
        self._finish()

    def add_module(self, name: str) -> None:
        """A module, by its dotted name, and what it needs."""
        self._import(name, self._folders, self._folders, is_needed=True)
        self._finish()

    def _finish(self) -> None:
        """Not by recursion: chains of imports may be long."""
        while self._todo:
            self._read(self._todo.pop())

    def _execute(self, path: Path, folders: Sequence[Path]) -> None:
        self.roots.add(path.parent)
        self._todo.append(_Todo(path, (), path.parent, (path.parent, *folders)))

    def _import(
        self, name: str, where: Sequence[Path], folders: Sequence[Path], *, is_needed: bool
    ) -> None:
        """Take in a module, if it is one of the user's.

        Args:
            where: folders to look for it in.
            folders: those for what it imports itself.
        """
        first = name.partition(".")[0]
        if first in CHECKED or first in sys.builtin_module_names:
            return
        found = next((each for each in where if self._take(each, name, folders)), None)
        if found is None and first not in sys.stdlib_module_names and _is_installed(first):
            if is_needed:
                self.installed[first] = None
            return
        if found is None:  # packages without an __init__.py come last, as they do for Python
            spaces = (each for each in where if (each / first).is_dir())
            found = next((each for each in spaces if self._descend(each, name, folders)), None)
        if found is not None:
            self.roots.add(found)

    def _take(self, root: Path, name: str, folders: Sequence[Path]) -> bool:
        """A module that lies in this folder, with the packages around it."""
        first = name.partition(".")[0]
        if not self._take_one(root / first, root, folders):
            return False
        self._descend(root, name, folders)
        return True

    def _descend(self, root: Path, name: str, folders: Sequence[Path]) -> bool:
        """What is inside of a package, down to the module; whether there is anything."""
        parts = name.split(".")
        bases = [root.joinpath(*parts[:depth]) for depth in range(2, len(parts) + 1)]
        taken = [self._take_one(base, root, folders) for base in bases]
        return any(taken)

    def _take_one(self, base: Path, root: Path, folders: Sequence[Path]) -> bool:
        """A package with all that is in it, or a module."""
        if (base / "__init__.py").is_file():
            self._take_all(base)
            self._load(base / "__init__.py", root, folders)
            return True
        for suffix in EXTENSION_SUFFIXES:
            if (file := base.with_name(base.name + suffix)).is_file():
                self._named.setdefault(file, {})
                return True
        file = base.with_name(base.name + ".py")
        if file.is_file():
            self._load(file, root, folders)
        return file.is_file()

    def _take_all(self, package: Path) -> None:
        """Its data, too: a table beside the code is read from there."""
        if any(each in self._seen for each in (package, *package.parents)):
            return
        self._seen.add(package)
        for folder, names, files in os.walk(package):
            names[:] = sorted(n for n in names if not n.startswith(".") and n != "__pycache__")
            for name in sorted(files):
                if not name.startswith(".") and not name.endswith(".pyc"):
                    self._named.setdefault(Path(folder, name), {})

    def _load(self, file: Path, root: Path, folders: Sequence[Path]) -> None:
        self._todo.append(_Todo(file, file.relative_to(root).parts[:-1], root, tuple(folders)))

    def _read(self, todo: _Todo) -> None:
        """Take a Python file in, and what it needs."""
        file, package, folders = todo.file, todo.package, todo.folders
        if file in self._seen:
            return
        self._seen.add(file)
        self._named[file] = {}
        text = file.read_bytes()
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # of the parser
            return  # whoever executes it says so
        nodes = list(ast.walk(tree))
        named = list(_paths(nodes, file.parent))
        at_once = {id(node) for node in _at_once(tree.body)}
        folders = (*folders, *(path for _, path in named if path.is_dir()))
        for node in nodes:
            for name in _imported(node, package):
                is_inside = bool(package) and name.partition(".")[0] == package[0]
                where = (todo.root,) if is_inside else folders
                self._import(name, where, folders, is_needed=id(node) in at_once)
        for literal, path in named:
            if path.suffix == ".py" and path.is_file():
                self._execute(path, folders)
            elif path.is_file() and any(map(path.is_relative_to, (file.parent, *self._folders))):
                self._named.setdefault(path, {})
            if (at := _absolute(text, literal)) is not None:
                self._named[file][at] = path


def _imported(node: ast.AST, package: tuple[str, ...]) -> Iterator[str]:
    """The modules that a piece of code imports, by their absolute names."""
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level) if level <= len(package):
            above = package[: len(package) - level + 1] if level else ()
            base = ".".join([*above, *([module] if module else [])])
            if base:
                yield base
                # What is imported from a package may be a module of it.
                yield from (f"{base}.{alias.name}" for alias in names if alias.name != "*")
        case ast.Call(
            func=ast.Name(id=function) | ast.Attribute(attr=function),
            args=[ast.Constant(value=str(name)), *_],
        ) if function in LOADERS and re.fullmatch(r"\w+(\.\w+)*", name):
            yield name


def _at_once(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The imports without which a file cannot be loaded: not those that it can do without."""
    for statement in statements:
        match statement:
            case ast.Import() | ast.ImportFrom():
                yield statement
            case ast.If(test=test, body=body, orelse=orelse):
                names = {getattr(node, "id", getattr(node, "attr", "")) for node in ast.walk(test)}
                if "TYPE_CHECKING" not in names:
                    yield from _at_once([*body, *orelse])
            case ast.With(body=body) | ast.ClassDef(body=body):
                yield from _at_once(body)


@dataclass(frozen=True, slots=True)
class _Literal:
    """A text in a program."""

    text: str
    line: int
    column: int
    """In bytes."""


def _paths(nodes: Iterable[ast.AST], beside: Path) -> Iterator[tuple[_Literal, Path]]:
    """The texts of a program that name files or folders of the user's: beside it, or here."""
    folders = tuple(dict.fromkeys((beside, Path.cwd())))
    for node in nodes:
        match node:
            case ast.Constant(value=str(text)) if text:
                for folder in folders:
                    path = Path(os.path.normpath(folder / text))
                    with suppress(OSError, ValueError):  # a text that can be no name
                        if not _is_bought(path) and (path.is_file() or path.is_dir()):
                            yield _Literal(text, node.lineno, node.col_offset), path
                            break


def _absolute(text: bytes, literal: _Literal) -> int | None:
    """Where a literal's absolute path begins; None where it is relative, or spelled oddly."""
    if not os.path.isabs(literal.text):
        return None
    lines = text.splitlines(keepends=True)
    start = sum(map(len, lines[: literal.line - 1])) + literal.column
    slash = text.find(b"/", start, start + len("rb'''/"))
    return slash if slash >= 0 and text.startswith(literal.text.encode(), slash) else None


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _is_bought(path: Path) -> bool:
    """It belongs to what is installed, not to the user's own."""
    return not {"site-packages", "dist-packages"}.isdisjoint(path.parts)
