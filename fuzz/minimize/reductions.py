"""The reductions in the order in which they are tried."""

from __future__ import annotations

from .bindings import drop_bindings, drop_dead, flatten_branches, return_less
from .functions import drop_functions, keep_one_function
from .reduction import Reduction
from .signatures import drop_attributes, drop_params

REDUCTIONS: tuple[Reduction, ...] = (
    # Whole functions first: every later reduction costs as much as the functions that are left.
    keep_one_function,
    drop_functions,
    # An earlier result makes all that follows it dead, so it goes before single bindings.
    return_less,
    drop_dead,
    # What stands in branches is out of reach of all other reductions.
    flatten_branches,
    drop_bindings,
    drop_params,
    drop_attributes,
)
