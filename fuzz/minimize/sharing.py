"""Reductions over what one node is: two uses of it may be uses of two nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

import tvm

from ...oracles.metamorphic.graph import Graph
from ...oracles.metamorphic.twins import SHAPE, unshared
from .halving import runs
from .reduction import Edit


def unshare(mod: tvm.IRModule) -> Iterator[Edit]:
    """Shapes that are used more than once become as many nodes. Fewer nodes are shared."""
    graph = Graph(mod)
    uses: Counter[int] = Counter()

    def count(index: int) -> int:
        uses[index] += graph.nodes[index]["type"] == SHAPE
        return index

    graph.replace_uses(count)
    for run in runs([index for index, times in uses.items() if times > 1]):
        yield partial(unshared, mod, frozenset(run))
