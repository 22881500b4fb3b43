"""Reductions over what one node is: two uses of it may be uses of two nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from functools import partial

import tvm

from ...oracles.graph import EXPRESSION_FIELDS, Graph
from .halving import runs
from .reduction import Edit

SHAPE = "relax.expr.ShapeExpr"


def unshare(mod: tvm.IRModule) -> Iterator[Edit]:
    """Shapes that are used more than once become as many nodes. Fewer nodes are shared."""
    graph = Graph(mod)
    uses: Counter[int] = Counter()

    def count(index: int) -> int:
        uses[index] += graph.nodes[index]["type"] == SHAPE
        return index

    _each_use(graph, count)
    for run in runs([index for index, times in uses.items() if times > 1]):
        yield partial(_unshared, mod, frozenset(run))


def _unshared(mod: tvm.IRModule, chosen: Collection[int]) -> tvm.IRModule:
    graph = Graph(mod)
    used: set[int] = set()

    def own(index: int) -> int:
        if index not in chosen or index not in used:
            used.add(index)
            return index
        node = graph.nodes[index]
        return graph.add(node["type"], dict(node["data"]))

    _each_use(graph, own)
    return graph.load()


def _each_use(graph: Graph, replace: Callable[[int], int]) -> None:
    for node in list(graph.nodes):
        if node["type"] == "ffi.Array":
            node["data"] = [replace(index) for index in node["data"]]
        for field in EXPRESSION_FIELDS.get(node["type"], ()):
            node["data"][field] = replace(node["data"][field])
