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
from ..stages import LEGALIZER, TENSORIR, Stage, advance, step
from .expressions import FLOATS, FLOATS8, INTEGERS
from .function import HEADER, NEST, Incomplete, prim_func

__all__ = ["prim_funcs"]

MOST = 3
"""The most PrimFuncs to take from one legalized module; they are small and share nothing."""

NESTS = 4

SMALL: Mapping[str, int] = {"max_functions": 1, "max_bindings": 4}
"""Settings of `ir_modules` for modules to legalize."""

WRITTEN = frozenset({*FLOATS, *FLOATS8, *INTEGERS}.difference(DTYPES))
"""The dtypes that users may request for loop nests but not for modules of Relax."""

Functions = list[tuple[bytes, list[bytes]]]


def prim_funcs(
    *,
    stage: Stage | str = Stage.TENSORIR,
    dtypes: Sequence[str] = (),
    numbers: Sequence[float] = (),
    **settings: Any,
) -> st.SearchStrategy[tvm.IRModule]:
    """Strategy for well-formed IRModules of PrimFuncs.

    Half of them are loop nests as people write them, with blocks or without; some call a private
    function. The others are the PrimFuncs that LegalizeOps makes of modules of `ir_modules`.

    Args:
        stage: the stage of the modules in `tirx.build` for a CPU. TVM's own passes bring them
            there: an example for which one of them fails is discarded, and one that kills the
            process does kill it (campaigns use separate processes).
        dtypes: the dtypes of most buffers; if empty, mostly float32.
        numbers: see `ir_modules`.
        settings: further settings of `ir_modules`, for modules to legalize.

    Raises:
        InvalidArgument: the stage is unknown, of Relax, or missing in the installed TVM; or
            `ir_modules` refuses a setting.
    """
    to = stage_among(TENSORIR, stage)
    nest = st.binary(min_size=NEST, max_size=NEST)
    function = st.tuples(
        st.binary(min_size=HEADER, max_size=HEADER), st.lists(nest, min_size=1, max_size=NESTS)
    )
    modules = st.one_of(
        _written(st.lists(function, min_size=1, max_size=2), tuple(dtypes), tuple(numbers)),
        legalized(ir_modules(dtypes=of_relax(dtypes), numbers=numbers, **{**SMALL, **settings})),
    ).filter(lambda mod: mod is not None)
    return modules if to is Stage.TENSORIR else at_stage(modules, to)


def of_relax(dtypes: Sequence[str]) -> list[str]:
    """The dtypes without those that only loop nests have, such as bfloat16."""
    return [each for each in dtypes if each not in WRITTEN]


def stage_among(stages: Collection[Stage], stage: Stage | str) -> Stage:
    """The stage of this name.

    Raises:
        InvalidArgument: the stage is unknown, not one of `stages`, or missing in the installed TVM.
    """
    to = named("stage", stage, Stage)
    if to not in stages:
        raise InvalidArgument(f"Expected a stage among {', '.join(stages)}, got {stage!r}")
    if why := availability.current().stages.get(to):
        raise InvalidArgument(f"Stage {to}: {why}")
    return to


# Hypothesis prints results of `map` as calls, with all the bytes.


@st.composite
def _written(
    draw: st.DrawFn,
    functions: st.SearchStrategy[Functions],
    dtypes: tuple[str, ...],
    numbers: tuple[float, ...],
) -> tvm.IRModule | None:
    """The module of these functions; None if TVM fails to complete one of them."""
    drawn = draw(functions)
    names = ["main", "other"][: len(drawn)]
    try:
        made = [
            prim_func(name, *each, dtypes, numbers) for name, each in zip(names, drawn, strict=True)
        ]
    except Incomplete:
        return None
    return tvm.IRModule({gvar: func for functions in made for gvar, func in functions.items()})


@st.composite
def legalized(draw: st.DrawFn, modules: st.SearchStrategy[tvm.IRModule]) -> tvm.IRModule | None:
    """The PrimFuncs that LegalizeOps makes; None if it fails or makes none."""
    try:
        mod = step(draw(modules), LEGALIZER)
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
    """The modules at a stage, without those that fail to reach it."""
    return _at(modules, to).filter(lambda mod: mod is not None)


@st.composite
def _at(
    draw: st.DrawFn, modules: st.SearchStrategy[tvm.IRModule], to: Stage
) -> tvm.IRModule | None:
    """The module at the stage; None if a buggy pass on the way crashes or breaks it."""
    try:
        made = advance(draw(modules), to)
    except Exception:
        return None
    return made if is_well_formed(made) else None


def is_well_formed(mod: tvm.IRModule) -> bool:
    """True if both checkers of TVM accept the module."""
    return relax.analysis.check_well_formed(mod) and ir.tensor_ir_complaint(mod) is None
