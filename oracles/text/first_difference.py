"""The first difference of two modules in all that TVM saves, for people.

TVM's structural comparison gives the path of the first node that differs, but it looks neither at
names of variables nor at what a pass notes in nodes. This walks over what the JSON form holds, and
shows the path as TVM writes it, with the two values as TVM prints them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import tvm

from ...generators.source.graph import inline_fields_of
from ..metamorphic.graph import Graph
from . import messages

Step = tuple[str, Any]
"""A field by its name; an item (`[]`) by its number or its key."""

Path = tuple[Step, ...]

SOURCE = frozenset({"span", "source_map"})
"""Fields with places in source code, which are no content."""


def first_difference(before: tvm.IRModule, after: tvm.IRModule) -> str:
    """The path, and the two values; empty for modules with the same content.

    Nodes that are shared in only one of the modules are a difference, too.
    """
    old, new = Graph(before), Graph(after)
    waiting: list[tuple[int, int, Path]] = [
        (old.document["root_index"], new.document["root_index"], ())
    ]
    paired: dict[int, tuple[int, Path]] = {}
    while waiting:
        i, j, path = waiting.pop()
        one, other = old.nodes[i], new.nodes[j]
        if i in paired and isinstance(one.get("data"), dict):
            if paired[i][0] != j:
                shared = f"the node of {written(paired[i][1])}"
                return _shown(path, shared, "a node of its own")
            continue
        paired[i] = j, path
        parts, others = (list(_parts(graph, node)) for graph, node in ((old, one), (new, other)))
        if one["type"] != other["type"] or [p[0] for p in parts] != [p[0] for p in others]:
            return _shown(path, _value(before, path), _value(after, path))
        ahead = []
        for (step, left, is_node), (_, right, _) in zip(parts, others, strict=True):
            if is_node:
                ahead.append((left, right, (*path, *step)))
            elif left != right:
                place = (*path, *step)
                return _shown(place, _value(before, place), _value(after, place))
        waiting += reversed(ahead)
    return ""


def _parts(graph: Graph, node: dict[str, Any]) -> Iterator[tuple[Path, Any, bool]]:
    """The steps to the parts of a node, each part, and whether it is the index of a node."""
    data, kind = node.get("data"), node["type"]
    if isinstance(data, dict):
        inline = inline_fields_of(kind)
        for name, value in data.items():
            if name not in SOURCE:
                yield ((name, None),), value, name not in inline
    elif kind == "ffi.Array":
        for number, index in enumerate(data or ()):
            yield (("[]", number),), index, True
    elif kind == "ffi.Map":
        for key, index in zip((data or ())[::2], (data or ())[1::2], strict=True):
            yield (("[]", _key(graph, key)),), index, True
    else:
        yield (), data, False


def _key(graph: Graph, index: int) -> Any:
    """A key of a map: a text, or the name of a GlobalVar."""
    data = graph.nodes[index].get("data")
    if isinstance(data, dict) and "name_hint" in data:
        return _Function(graph.name(index))
    return data


class _Function(str):
    """The key of a function: the GlobalVar of this name."""


def written(path: Path) -> str:
    """A path as TVM writes it."""
    return "<root>" + "".join(
        f"[{_item(key)}]" if name == "[]" else f".{name}" for name, key in path
    )


def _item(key: Any) -> str:
    return f'I.GlobalVar("{key}")' if isinstance(key, _Function) else repr(key)


def _shown(path: Path, old: str, new: str) -> str:
    return f"at {written(path)}\n  one:   {old}\n  other: {new}"


def _value(mod: tvm.IRModule, path: Sequence[Step]) -> str:
    node: Any = mod
    for name, key in path:
        try:
            if name != "[]":
                node = getattr(node, name)
            else:
                node = node[mod.get_global_var(key) if isinstance(key, _Function) else key]
        except (AttributeError, IndexError, KeyError, TypeError):
            return "nothing that Python can reach"
    return messages.value_text(node)
