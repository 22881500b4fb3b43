"""Reductions that remove the owner's strings and data from a module."""

from __future__ import annotations

import functools
import mmap
import re
from collections.abc import Collection, Iterator
from functools import partial
from itertools import count
from pathlib import Path

import tvm

from ...compat.build import libraries
from ...generators.source.graph import inline_fields_of
from ...oracles.graph import Graph
from ...oracles.inspect import nodes
from .attributes import ARBITRARY, arbitrary_constants, plain_constants
from .reduction import Edit, runs

NAMES = ("name", "name_hint")
"""Fields with names, all of which are replaced. In other fields, TVM's own strings stay."""

_PLAIN = re.compile(r"(main|lv|gv|kernel|[a-z])\d*")
"""Meaningless names, as given by the minimizer and TVM's importers."""


def neutral_strings(mod: tvm.IRModule) -> Iterator[Edit]:
    """Replace strings of the module's owner: all, then runs of them. Fewer of them remain."""
    graph = Graph(mod)
    found = list(_foreign(graph))
    for run in runs(found):
        yield partial(_replaced, mod, frozenset(run))
    if not found and any(graph.of("SourceName")):  # positions in files
        yield partial(_replaced, mod, frozenset())


def neutral_constants(mod: tvm.IRModule) -> Iterator[Edit]:
    """Fill constants that have arbitrary values; see `plain_constants`."""
    return plain_constants(mod, above=ARBITRARY - 1)


def _replaced(mod: tvm.IRModule, chosen: Collection[str]) -> tvm.IRModule:
    graph = Graph(mod)
    there = {node["data"] for node in graph.nodes if node["type"] == "ffi.String"}
    fresh = (name for number in count(1) if (name := f"s{number}") not in there)
    new = {text: graph.add("ffi.String", next(fresh)) for text in sorted(chosen)}
    for index, key, text in _slots(graph):
        if text in new:
            graph.nodes[index]["data"][key] = new[text]
    nowhere = graph.add("None", None)
    for node in graph.nodes:
        if isinstance(node.get("data"), dict) and "span" in node["data"]:
            node["data"]["span"] = nowhere
    return graph.load()


def _foreign(graph: Graph) -> dict[str, None]:
    """The strings to replace, in the order of the graph."""
    return dict.fromkeys(text for *_, text in _slots(graph) if not _PLAIN.fullmatch(text))


def _slots(graph: Graph) -> Iterator[tuple[int, str | int, str]]:
    """The places of strings that are not TVM's: node, field or index in it, and text."""
    functions = {graph.name(gvar) for gvar, _ in graph.functions()}
    for index, key in _references(graph):
        target = graph.nodes[graph.nodes[index]["data"][key]]
        if target["type"] != "ffi.String" or not target["data"]:
            continue
        text = target["data"]
        if key in NAMES or text in functions or not _is_of_tvm(text):
            yield index, key, text


def _references(graph: Graph) -> Iterator[tuple[int, str | int]]:
    """The places that refer to a node, except in attributes of operators, whose strings are TVM's
    layouts, modes and dtypes."""
    for index, node in enumerate(graph.nodes):
        data, kind = node.get("data"), node["type"]
        if isinstance(data, list) and kind in ("ffi.Array", "ffi.Map"):
            yield from ((index, place) for place in range(len(data)))
        elif isinstance(data, dict) and ".attrs." not in kind:
            yield from ((index, name) for name in data if name not in inline_fields_of(kind))


@functools.cache
def _is_of_tvm(text: str) -> bool:
    """True if TVM's libraries contain the string, or TVM has registered a function of that name."""
    if tvm.get_global_func(text, allow_missing=True) is not None:
        return True
    return any(_contains(library, text) for library in libraries())


def _contains(library: Path, text: str) -> bool:
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        return mapped.find(b"\0" + text.encode() + b"\0") >= 0


def left_in(mod: tvm.IRModule) -> list[str]:
    """The strings, constants and operators of the module's owner, each in a few words."""
    operators = sorted({str(each.name) for each in nodes(mod, tvm.ir.Op)})
    return [
        *(f"the string {text!r}" for text in _foreign(Graph(mod))),
        *(f"a constant of type {const.ty}" for const in arbitrary_constants(mod)),
        *(f"the operator {name}" for name in operators if not _is_of_tvm(name)),
    ]
