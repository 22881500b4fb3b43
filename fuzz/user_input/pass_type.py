"""The family of modules that a pass is for, as far as its type says so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import tvm
from tvm import tirx

from ...generators.families import family_of
from ...generators.stages import Stage
from ..process.targets import Named

PRIM_FUNCS = family_of(Stage.TENSORIR).name
"""The family of modules of PrimFuncs that are for no device."""


@dataclass(frozen=True, slots=True)
class Probed:
    """A pass that was built once."""

    named: Named
    """The operators, traits and numbers that its code names."""
    family: str | None = None
    """See `family_by_type`."""


def family_by_type(pass_: tvm.transform.Pass) -> str | None:
    """That of PrimFuncs for a pass that TVM runs on each PrimFunc, and on nothing else.

    None for other passes: they take any module, or Relax functions, which the default is for.
    """
    parts = list(_parts(pass_))
    on_prim_funcs = (isinstance(part, tirx.transform.PrimFuncPass) for part in parts)
    return PRIM_FUNCS if parts and all(on_prim_funcs) else None


def _parts(pass_: tvm.transform.Pass) -> Iterator[tvm.transform.Pass]:
    if isinstance(pass_, tvm.transform.Sequential):
        for part in pass_.passes:
            yield from _parts(part)
    else:
        yield pass_
