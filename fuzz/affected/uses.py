"""Which definitions a change of one affects: those that mention it, and so on.

A mention is
- in C++, the name of something in the same file, or declared in a header that both files include;
- in Python, a name that resolves through imports and re-exports, or a method of a TVM object;
- between the two, the name of a global function or of an attribute of operators, as a string. So
  a rule for FLegalize affects what reads FLegalize.
"""

from __future__ import annotations

import functools
import posixpath
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from . import cpp, python
from .cpp import CppFile
from .definition import Definition
from .python import PythonFile

File = CppFile | PythonFile


def read(path: str, text: str) -> File:
    """Read a file of either language."""
    return python.read(path, text) if path.endswith(".py") else cpp.read(path, text)


class Uses:
    """The graph of mentions among the definitions of all files."""

    def __init__(self, files: Iterable[File], removed: Iterable[Definition] = ()) -> None:
        """
        Args:
            removed: definitions that the files had, and what else changed definitions were before.
        """
        files = list(files)
        self._cpp = {f.path: f for f in files if isinstance(f, CppFile)}
        self._modules = {f.module: f for f in files if isinstance(f, PythonFile)}
        self._definitions = [each for f in files for each in f.definitions] + list(removed)
        self._included = functools.cache(self._headers_of)
        self._python: defaultdict[tuple[str, str], list[Definition]] = defaultdict(list)
        """Python definitions by path and name: their users."""
        self._words: defaultdict[str, list[Definition]] = defaultdict(list)
        """By an identifier of C++, or an attribute as `.name` of Python: what mentions it."""
        self._strings: defaultdict[str, list[Definition]] = defaultdict(list)
        self._defined = {(each.path, each.name) for each in self._definitions}
        self._files: defaultdict[tuple[tuple[str, ...], str | None], set[str]] = defaultdict(set)
        """The files that define a name of a C++ namespace."""
        for each in self._definitions:
            self._index(each)
        self._attributes = self._all_attributes()

    def reached(self, changed: Iterable[Definition]) -> set[Definition]:
        """The definitions, and all that they affect."""
        todo = list(changed)
        reached = set(todo)
        while todo:
            for user in self._users(todo.pop()):
                if user not in reached:
                    reached.add(user)
                    todo.append(user)
        return reached

    def resolve(self, dotted: str) -> tuple[str, str] | str | None:
        """Path and name of the Python definition, or the global function, that a name stands for.

        None for what is not in the files.
        """
        return self._resolve(dotted, frozenset())

    def _index(self, each: Definition) -> None:
        for string in each.strings:
            self._strings[string].append(each)
        if not each.path.endswith(".py"):
            self._files[each.namespace, each.name].add(each.path)
            for word in each.mentions:
                self._words[word].append(each)
            return
        for word in each.mentions:
            if word.startswith("."):
                self._words[word].append(each)
                continue
            target = self.resolve(word)
            if isinstance(target, tuple):
                self._python[target].append(each)
            elif target is not None:
                self._strings[target].append(each)

    def _all_attributes(self) -> Mapping[Definition, frozenset[str]]:
        """The attributes that each definition sets, itself or with a macro or function for that."""
        found = {each: each.attributes for each in self._definitions if each.attributes}
        todo = list(found)
        while todo:
            each = todo.pop()
            for user in self._mentioning(each) if each.name else ():
                wider = found.get(user, frozenset()) | found[each]
                if wider != found.get(user):
                    found[user] = wider
                    todo.append(user)
        return found

    def _users(self, changed: Definition) -> Iterator[Definition]:
        yield from self._mentioning(changed)
        for name in changed.functions | self._attributes.get(changed, frozenset()):
            for reader in self._strings[name]:
                if name not in self._attributes.get(reader, frozenset()):
                    yield reader

    def _mentioning(self, changed: Definition) -> Iterable[Definition]:
        if changed.name is None:
            return ()
        if changed.name.startswith("."):
            return self._words[changed.name]
        if changed.path.endswith(".py"):
            return self._python[changed.path, changed.name]
        return self._mentioning_cpp(changed, changed.name)

    def _mentioning_cpp(self, changed: Definition, name: str) -> Iterator[Definition]:
        files = self._files[changed.namespace, name]
        headers = {changed.path} | self._included(changed.path) & files
        for user in self._words[name]:
            same_file = user.path == changed.path
            inside = (
                user.namespace[: len(changed.namespace)] == changed.namespace
                or name in self._cpp[user.path].using
            )
            own = user.path.endswith(".cc") and user.path in files
            if same_file or (inside and not own and headers & self._included(user.path)):
                yield user
        for user in self._words["::".join((*changed.namespace[-1:], name))]:
            if user.path == changed.path or headers & self._included(user.path):
                yield user

    def _headers_of(self, path: str) -> frozenset[str]:
        """The headers that a file includes, directly or not."""
        found: set[str] = set()
        todo = [path]
        while todo:
            at = todo.pop()
            for name in self._cpp[at].includes:
                beside = posixpath.normpath(posixpath.join(posixpath.dirname(at), name))
                for header in (beside, f"include/{name}", f"src/{name}"):
                    if header in self._cpp and header not in found:
                        found.add(header)
                        todo.append(header)
        return frozenset(found)

    def _resolve(self, dotted: str, seen: frozenset[str]) -> tuple[str, str] | str | None:
        if dotted in seen:  # modules that import one another
            return None
        seen |= {dotted}
        parts = dotted.split(".")
        for end in range(len(parts) - 1, 0, -1):
            file = self._modules.get(".".join(parts[:end]))
            if file is None:
                continue
            name, rest = parts[end], parts[end + 1 :]
            if (file.path, name) in self._defined:
                return file.path, name
            if name in file.imports:
                return self._resolve(".".join([file.imports[name], *rest]), seen)
            for star in file.stars:
                if found := self._resolve(".".join([star, name, *rest]), seen):
                    return found
            return f"{file.ffi_prefix}.{name}" if file.ffi_prefix else None
        return None
