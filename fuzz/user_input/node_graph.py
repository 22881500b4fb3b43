"""Checks the node graph of a TVM JSON text before TVM's reader and passes get it.

TVM follows references by recursion, and visits a shared node once for each reference. A cycle, a
deep nest, or thirty nested pairs of the same node would overflow the stack or never end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...generators.source.graph import inline_fields_of
from ..output.readable import sentence

DEEPEST = 400
"""Nodes on a path; modules of TVM's tests have at most 49."""
LARGEST = 20_000_000
"""Nodes, each counted once for each path to it; modules of TVM's tests have at most 24,284."""

COMPILED = "ffi.Module"
"""The type of a node that holds code for a machine."""


class BadGraph(ValueError):
    """The text is no graph that TVM can handle; the message is the end of a sentence."""


def examine(document: Any, *, compiled: bool = False) -> None:
    """Check a node graph.

    Args:
        document: the text as a JSON reader returns it.
        compiled: accept compiled code in it.

    Raises:
        BadGraph: it is no node graph, or is cyclic, too deep or too large.
    """
    nodes, root = _nodes(document)
    depths: list[int] = [0] * len(nodes)
    sizes: list[int] = [0] * len(nodes)
    open_: list[tuple[int, list[int], Iterator[int]]] = []
    is_open = bytearray(len(nodes))

    def enter(index: int) -> None:
        if is_open[index]:
            raise BadGraph(f"its node {index} contains itself")
        children = list(_children(nodes, index, compiled))
        is_open[index] = 1
        open_.append((index, children, iter(children)))

    enter(root)
    while open_:
        index, children, rest = open_[-1]
        child = next((child for child in rest if not depths[child]), None)
        if child is not None:
            enter(child)
            continue
        open_.pop()
        is_open[index] = 0
        depths[index] = 1 + max((depths[child] for child in children), default=0)
        sizes[index] = 1 + sum(sizes[child] for child in children)
        if depths[index] > DEEPEST:
            raise BadGraph(f"it is nested more than {DEEPEST} levels deep")
        if sizes[index] > LARGEST:
            raise BadGraph(f"its shared nodes unfold into more than {LARGEST:,} nodes")


def _nodes(document: Any) -> tuple[list[Any], int]:
    if not isinstance(document, dict):
        raise BadGraph(f"it holds a {_kind(document)}, not an object with nodes")
    nodes, root = document.get("nodes"), document.get("root_index")
    if not isinstance(nodes, list):
        raise BadGraph(f"expected a list of nodes but got nodes={_shown(nodes)}")
    if type(root) is not int or not 0 <= root < len(nodes):
        raise BadGraph(f"expected the number of a node but got root_index={_shown(root)}")
    return nodes, root


def _children(nodes: list[Any], index: int, compiled: bool) -> Iterator[int]:
    node = nodes[index]
    kind = node.get("type") if isinstance(node, dict) else None
    if not isinstance(kind, str):
        raise BadGraph(f"expected node {index} to have a type but got {_shown(node)}")
    if kind == COMPILED and not compiled:
        raise BadGraph(
            f"its node {index} is compiled code, which is not loaded from a data file; "
            "use a Python file that builds the module"
        )
    data = node.get("data")
    if isinstance(data, dict):
        inline = _inline(kind)
        refs = [value for name, value in data.items() if name not in inline]
    elif isinstance(data, list) and kind not in ("ffi.Shape", "Device"):
        refs = data
    else:
        return
    for ref in refs:
        if type(ref) is not int or not 0 <= ref < len(nodes):
            raise BadGraph(f"node {index} ({sentence(kind, 60)}) refers to node {_shown(ref)}")
        yield ref


def _inline(kind: str) -> frozenset[str]:
    try:
        return inline_fields_of(kind)
    except Exception:
        raise BadGraph(f"this TVM has no nodes of type {sentence(kind, 80)!r}") from None


def _kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__


def _shown(value: Any) -> str:
    try:
        text = repr(value) if not isinstance(value, dict | list) else f"a {_kind(value)}"
    except ValueError:  # an integer of thousands of digits
        text = "a huge number"
    return sentence(text, 60)
