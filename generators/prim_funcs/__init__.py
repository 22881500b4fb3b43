"""`prim_funcs`: the strategy for IRModules of PrimFuncs, valid by construction."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import tvm
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from tvm import relax, tirx

from ...compat import availability, ir
from ..modules import ir_modules, named
from ..scope import DTYPES
from ..stages import TENSORIR, Stage, advance, step
from .expressions import FLOATS, FLOATS8, INTEGERS
from .function import HEADER, NEST, Incomplete, prim_func

__all__ = ["prim_funcs"]

MOST = 3
"""PrimFuncs that are taken of one legalized module; they are small, and share nothing."""

NESTS = 4

SMALL: Mapping[str, int] = {"max_functions": 1, "max_bindings": 4}
"""Modules to legalize."""

LEGALIZE = "LegalizeOps"

WRITTEN = frozenset({*FLOATS, *FLOATS8, *INTEGERS}.difference(DTYPES))
"""The dtypes that loop nests may be asked to have, and modules of Relax may not."""

Functions = list[tuple[bytes, list[bytes]]]


def prim_funcs(
    *,
    stage: Stage | str = Stage.TENSORIR,
    dtypes: Sequence[str] = (),
    **settings: Any,
) -> st.SearchStrategy[tvm.IRModule]:
    """Strategy for well-formed IRModules of PrimFuncs.

    Half of them are loop nests as people write them, with blocks or without; some call a private
    function. The others are the PrimFuncs that LegalizeOps makes of modules of `ir_modules`.

    Args:
        stage: how far the modules have come on their way through `tirx.build` for a CPU. Passes on
            the way are TVM's own: an example for which one of them fails is discarded, and one
            that kills the process kills it (campaigns work in processes of their own).
        dtypes: most buffers have one of these; none: mostly float32.
        settings: further ones of `ir_modules`, for what is legalized.

    Raises:
        InvalidArgument: an unknown stage, one of Relax, or one that the installed TVM does not
            have; or a setting that `ir_modules` refuses.
    """
    to = stage_among(TENSORIR, stage)
    nest = st.binary(min_size=NEST, max_size=NEST)
    function = st.tuples(
        st.binary(min_size=HEADER, max_size=HEADER), st.lists(nest, min_size=1, max_size=NESTS)
    )
    modules = st.one_of(
        _written(st.lists(function, min_size=1, max_size=2), tuple(dtypes)),
        legalized(ir_modules(dtypes=of_relax(dtypes), **{**SMALL, **settings})),
    ).filter(lambda mod: mod is not None)
    return modules if to is Stage.TENSORIR else at_stage(modules, to)


def of_relax(dtypes: Sequence[str]) -> list[str]:
    """Without those that only loop nests are written for, such as bfloat16."""
    return [each for each in dtypes if each not in WRITTEN]


def stage_among(stages: Collection[Stage], stage: Stage | str) -> Stage:
    """The stage of this name.

    Raises:
        InvalidArgument: there is none, it is none of these, or the installed TVM does not have it.
    """
    to = named("stage", stage, Stage)
    if to not in stages:
        raise InvalidArgument(f"Expected a stage among {', '.join(stages)}, got {stage!r}")
    if why := availability.current().stages.get(to):
        raise InvalidArgument(f"Stage {to}: {why}")
    return to


# Hypothesis prints what `map` gives as a call, with all the bytes.


@st.composite
def _written(
    draw: st.DrawFn, functions: st.SearchStrategy[Functions], dtypes: tuple[str, ...]
) -> tvm.IRModule | None:
    """None where TVM fails to complete a function."""
    drawn = draw(functions)
    names = ["main", "other"][: len(drawn)]
    try:
        made = [prim_func(name, *each, dtypes) for name, each in zip(names, drawn, strict=True)]
    except Incomplete:
        return None
    return tvm.IRModule({gvar: func for functions in made for gvar, func in functions.items()})


@st.composite
def legalized(draw: st.DrawFn, modules: st.SearchStrategy[tvm.IRModule]) -> tvm.IRModule | None:
    """The PrimFuncs of what LegalizeOps makes; None where it fails or makes none."""
    try:
        mod = step(draw(modules), LEGALIZE)
    except Exception:
        return None
    made = [(g.name_hint, f) for g, f in mod.functions_items() if isinstance(f, tirx.PrimFunc)]
    made = made[:MOST]
    if not made:
        return None
    found = tvm.IRModule({name: func.with_attr("global_symbol", name) for name, func in made})
    return found if is_well_formed(found) else None


def at_stage(
    modules: st.SearchStrategy[tvm.IRModule], to: Stage
) -> st.SearchStrategy[tvm.IRModule]:
    """The modules at a stage, without those that do not reach it."""
    return _at(modules, to).filter(lambda mod: mod is not None)


@st.composite
def _at(
    draw: st.DrawFn, modules: st.SearchStrategy[tvm.IRModule], to: Stage
) -> tvm.IRModule | None:
    """The module at the stage; None where a bug of a pass on the way stops it or breaks it."""
    try:
        made = advance(draw(modules), to)
    except Exception:
        return None
    return made if is_well_formed(made) else None


def is_well_formed(mod: tvm.IRModule) -> bool:
    """Both checkers of TVM accept the module."""
    return relax.analysis.check_well_formed(mod) and ir.tensor_ir_complaint(mod) is None
