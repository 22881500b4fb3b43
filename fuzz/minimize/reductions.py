"""The reductions in the order in which they are tried."""

from __future__ import annotations

from .bindings import drop_bindings, drop_dead, flatten_branches, return_less
from .functions import drop_functions, keep_one_function
from .kernels_bodies import all_bodies_trivial, trivial_bodies
from .kernels_statements import drop_definitions, drop_statements, unwrap
from .reduction import Reduction
from .signatures import drop_attributes, drop_params

REDUCTIONS: tuple[Reduction, ...] = (
    # Whole functions first: every later reduction costs as much as the functions that are left.
    keep_one_function,
    drop_functions,
    # Most bugs are in Relax functions: three tries, and no PrimFunc costs anything any more.
    all_bodies_trivial,
    # An earlier result makes all that follows it dead, so it goes before single bindings.
    return_less,
    drop_dead,
    # What stands in branches is out of reach of all other reductions.
    flatten_branches,
    drop_bindings,
    # The PrimFuncs that are left by now have something to do with it, most of them.
    trivial_bodies,
    drop_statements,
    drop_definitions,
    unwrap,
    drop_params,
    drop_attributes,
)
