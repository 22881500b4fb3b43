"""Reductions over the data of constants."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.ir import GenericConst

from ...generators.rewrite.rewriter import Rewriter
from ...oracles.inspect import nodes
from .halving import runs
from .reduction import Edit

LARGEST_LOOKED_AT = 1 << 20
"""Elements: beyond that a constant counts as arbitrary without a look at its data."""


def plain_constants(mod: tvm.IRModule) -> Iterator[Edit]:
    """Constants of ones, or zeros, or 0, 1, 2 ...: all of them, then ever shorter runs of them.

    `_level` of some constants falls, and of none it rises.
    """
    levels = {
        hash(const): _level(const)
        for const in nodes(mod, GenericConst)
        if isinstance(const.ty, relax.TensorType)
    }
    chosen = [address for address, level in levels.items() if level > 0]
    for some in runs(chosen):
        for level in range(max((levels[address] for address in some), default=0)):
            lower = [address for address in some if levels[address] > level]
            yield partial(_filled, mod, frozenset(lower), level)


PLAIN: tuple[Callable[[tuple[int, ...]], Any], ...] = (
    np.ones,
    np.zeros,
    lambda shape: np.arange(int(np.prod(shape))).reshape(shape),
)
"""From plain to special; ones first, since with zeros much is equal that should not be."""


def _level(const: GenericConst) -> int:
    """How plain the data is: its place in `PLAIN`, or after all of them."""
    shape = tuple(map(int, const.value.shape))
    if int(np.prod(shape)) > LARGEST_LOOKED_AT:
        return len(PLAIN)
    data = const.value.numpy()
    return next(
        (level for level, fill in enumerate(PLAIN) if np.array_equal(data, fill(shape))),
        len(PLAIN),
    )


class _Filled(Rewriter):
    def __init__(self, mod: tvm.IRModule, chosen: Collection[int], level: int) -> None:
        super().__init__(mod)
        self._chosen = chosen
        self._level = level

    def constant(self, const: GenericConst) -> Any:
        if hash(const) not in self._chosen:
            return const
        shape = tuple(map(int, const.value.shape))
        # Any element type, those among them that NumPy does not know by name.
        data = PLAIN[self._level](shape).astype(const.value.numpy().dtype)
        return GenericConst(tvm.runtime.tensor(data), const.ty)


def _filled(mod: tvm.IRModule, chosen: Collection[int], level: int) -> tvm.IRModule | None:
    return _Filled(mod, chosen, level).run()
