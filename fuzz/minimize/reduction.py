"""What a reduction is: a plain function from a module to edits that make it smaller."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import tvm

Edit: TypeAlias = Callable[[], tvm.IRModule | None]
"""Makes one smaller module; None where it turns out that it cannot. The input is left alone.

What an edit makes may be ill-formed: it is thrown away then. An edit that raises is a fault of the
reduction, and told as such.
"""

Reduction: TypeAlias = Callable[[tvm.IRModule], Iterator[Edit]]
"""The edits to try on a module, best first; cheap to list, dear to make.

The order is the same in every process: an edit is named by its reduction and its number. Applied
again and again to its own results, a reduction comes to an end.
"""


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """The name of an edit: its reduction's place in the list, and its number there."""

    reduction: int = 0
    number: int = 0


FIRST = Spot()
"""Where a search begins."""
