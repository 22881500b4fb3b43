"""The table of operators: one record each, one module a family."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from . import binary, creation, linear_algebra, manipulate, reduction, unary
from .record import Op

__all__ = ["FAMILIES", "table"]

FAMILIES: Mapping[str, tuple[Op, ...]] = MappingProxyType(
    {
        "unary": unary.OPS,
        "binary": binary.OPS,
        "reduction": reduction.OPS,
        "manipulate": manipulate.OPS,
        "creation": creation.OPS,
        "linear_algebra": linear_algebra.OPS,
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
