"""The table of operators: one record each, one module a family."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from . import (
    binary,
    convolution,
    creation,
    devices,
    gradient,
    host,
    image,
    indexing,
    inspection,
    linear_algebra,
    manipulate,
    nn,
    pooling,
    quantize,
    reduction,
    runtime,
    search,
    unary,
    vision,
)
from .record import Op

__all__ = ["FAMILIES", "table"]

FAMILIES: Mapping[str, tuple[Op, ...]] = MappingProxyType(
    {
        "unary": unary.OPS,
        "binary": binary.OPS,
        "reduction": reduction.OPS,
        "manipulate": manipulate.OPS,
        "creation": creation.OPS,
        "indexing": indexing.OPS,
        "linear_algebra": linear_algebra.OPS,
        "nn": nn.OPS,
        "convolution": convolution.OPS,
        "pooling": pooling.OPS,
        "search": search.OPS,
        "runtime": runtime.OPS,
        "image": image.OPS,
        "vision": vision.OPS,
        "quantize": quantize.OPS,
        "gradient": gradient.OPS,
        "inspection": inspection.OPS,
        "devices": devices.OPS,
        "host": host.OPS,
    }
)
"""Every family with its operators, the simplest first."""


def _tabulate(families: Mapping[str, tuple[Op, ...]]) -> Mapping[str, Op]:
    """All records by name.

    Raises:
        ValueError: two records have one name.
    """
    ops: dict[str, Op] = {}
    for family, records in families.items():
        for op in records:
            if op.name in ops:
                raise ValueError(
                    f"Expected one record for each operator, got two of {op.name!r}, "
                    f"the second in {family!r}"
                )
            ops[op.name] = op
    return MappingProxyType(ops)


table: Mapping[str, Op] = _tabulate(FAMILIES)
"""Every operator by its registered name without `relax.`."""
