"""Effects of an evaluation besides its result: calls of impure packed functions, in order."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from tvm.ir import Op


@dataclass(frozen=True, slots=True, eq=False)
class PackedCall:
    """A call of a packed function that may have an effect."""

    function: str
    """The name of the packed function, e.g. "relax.run.print"."""
    args: tuple[Any, ...]
    """Copies of the arguments, unaffected by later writes."""
    asserted: bool
    """True if the module declares the call pure: `call_pure_packed`, `relax.force_pure`."""
    claimed: bool
    """True if it happens inside a call of a function that claims to be pure."""


@functools.cache
def packed_effect(op: str) -> str | None:
    """The packed function that stands for an impure operator; None for other operators.

    `relax.print` and `relax.run.print`, to which LegalizeOps lowers it, are one effect.
    """
    registered = Op.get(op)
    function = registered.get_attr("FCallPacked")
    return None if function is None or registered.get_attr("FPurity") else str(function)
