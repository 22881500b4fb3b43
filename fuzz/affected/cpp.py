"""Reads a C++ file into definitions, without a compiler.

TVM's sources are laid out by clang-format: what stands in a namespace is not indented, so that a
line without indentation begins a definition or ends one.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from .definition import Definition

_COMMENT_OR_LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\')', re.DOTALL
)
_STRING = re.compile(r'"((?:\\.|[^"\\])*)"')
_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
_NAMESPACE = re.compile(r"(?:inline )?namespace\b\s*([\w:]*)[^;]*\{\s*$|extern \"C\" \{")
_USING = re.compile(r"^\s*using [\w:]+::(\w+);", re.MULTILINE)
_NO_DEFINITION = re.compile(r"using (namespace )?[\w:]+;|(class|struct|enum( class)?) \w+;")
_FUNCTION = re.compile(r'\.def(?:_packed|_method)?\(\s*"([^"]*\.[^"]*)"')
_ATTRIBUTE = re.compile(r'\.set_attr<[^"]*?>\(\s*"(\w+)"')
_CLAUSE = re.compile(r"(?=\.set_attr<|\.def(?:_packed|_method)?\()")
# A member that is accessed belongs to a class that is mentioned elsewhere.
_IDENTIFIER = re.compile(r"(?<!\.)(?<!->)(?<![\w:])(?:[A-Za-z_]\w*::)*[A-Za-z_]\w*")
_TYPE = re.compile(
    r"(?:class|struct|union|enum(?: class)?)\s+(?:[A-Z_]+\s+)?(\w+)|using\s+(\w+)\s*="
)
_DECLARATOR = re.compile(r"((?:^|[\s*&])(?:\w+::)*)(~?\w+)\s*(?:\[\w*\])?$")


@dataclass(frozen=True, slots=True)
class CppFile:
    """A source file or header."""

    path: str
    definitions: tuple[Definition, ...]
    includes: tuple[str, ...]
    using: frozenset[str]
    """Names of other namespaces that it mentions without a qualifier."""


def read(path: str, text: str) -> CppFile:
    """Read a file; `path` is relative to the checkout."""
    plain = _COMMENT_OR_LITERAL.sub(lambda m: m[1] or "\n" * m[0].count("\n"), text)
    definitions = tuple(
        definition
        for namespace, chunk in _chunks(plain)
        for definition in _definitions(path, namespace, chunk)
    )
    using = frozenset(_USING.findall(plain))
    return CppFile(path, definitions, tuple(_INCLUDE.findall(plain)), using)


def _chunks(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The top-level definitions as text, with their namespaces."""
    namespaces: list[str] = []
    lines: list[str] = []
    depth = 0
    for line in text.replace("\\\n", "\\\0").split("\n"):
        if line.startswith("#"):
            if re.match(r"#\s*define\b", line):
                yield tuple(namespaces), line.replace("\\\0", "\n")
            continue
        if not line.strip():
            continue
        begins = line[0].isalpha() or line[0] in "_}:"
        if begins and depth <= 0 and lines and lines[-1].rstrip()[-1] in ";})":
            yield tuple(namespaces), "\n".join(lines)
            lines, depth = [], 0
        if not lines:
            if found := _NAMESPACE.match(line):
                namespaces.append(found[1] or "")
                continue
            if line[0] == "}":
                del namespaces[-1:]
                continue
        lines.append(line)
        bare = _STRING.sub("", line)
        depth += sum(map(bare.count, "({")) - sum(map(bare.count, ")}"))
    if lines:
        yield tuple(namespaces), "\n".join(lines)


def _definitions(path: str, namespace: tuple[str, ...], chunk: str) -> Iterator[Definition]:
    """The definition, and each registration in it as one of its own.

    So a changed layout rule of an operator is a change of FRelaxInferLayout only, not of all
    attributes that the same statement sets.
    """
    if _NO_DEFINITION.fullmatch(chunk.strip()):
        return
    name = _name(chunk)
    macro = chunk.startswith("#")
    first, *clauses = _CLAUSE.split(chunk) if macro or name is None else [chunk]
    for part in (first, *clauses):
        registered = chunk if macro and part is first else part
        words = _IDENTIFIER.findall(_STRING.sub('""', part))
        yield Definition(
            path,
            name if part is first else None,
            " ".join(part.split()),
            mentions=frozenset(mention for word in words for mention in _mentions(word)),
            strings=frozenset(_STRING.findall(part)),
            functions=frozenset(_FUNCTION.findall(registered)),
            attributes=frozenset(_ATTRIBUTE.findall(registered)),
            namespace=tuple(each for name in namespace for each in name.split("::") if each),
        )


def _mentions(word: str) -> Iterator[str]:
    """`a`, `a::b` and `b::c` of "a::b::c"."""
    parts = word.split("::")
    yield parts[0]
    yield from map("::".join, itertools.pairwise(parts))


def _name(chunk: str) -> str | None:
    """The name that a definition defines, that of its class for a member.

    None for a statement such as `TVM_REGISTER_OP("relax.add").set_num_inputs(2);`.
    """
    if macro := re.match(r"#\s*define\s+(\w+)", chunk):
        return macro[1]
    text = re.sub(r"^(?:template\s*<[^\n]*>\s*\n)+", "", chunk)
    if named := _TYPE.match(text):
        return named[1] or named[2]
    head = re.split(r"[{;]", text, maxsplit=1)[0]
    count = 1
    while count:
        head, count = re.subn(r"<[^<>]*>", "", head)
    head = re.split(r"[(=]", head, maxsplit=1)[0].rstrip()
    declared = _DECLARATOR.search(head)
    if declared is None:
        return None
    qualifiers = declared[1].strip(" *&\n").split("::")
    if qualifiers[0]:
        return qualifiers[0]
    return None if head == declared[2] else declared[2]
