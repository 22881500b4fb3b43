"""The family of modules that a pass is for, if its type shows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import tvm
from tvm import tirx

from ...generators.families import DEFAULT, by_family, family_of
from ...generators.stages import Stage
from ...oracles.catalogue import catalogue
from ...oracles.passcall import BELOW_RELAX
from ..process.targets import Named

PRIM_FUNCS = family_of(Stage.TENSORIR).name
"""The family of modules of PrimFuncs that are not for a device."""

KERNELS = family_of(Stage.SCHEDULED).name
"""The family of modules of PrimFuncs for a device."""


@dataclass(frozen=True, slots=True)
class Probed:
    """A pass that was built once."""

    named: Named
    """The operators, traits and numbers that its code names."""
    families: tuple[str, ...] = ()
    """See `families_of_pass`."""
    stages: tuple[Stage, ...] = ()
    """The stages of its contract, if that is the user's own."""
    exempt: tuple[str, ...] = ()
    """The promises that this contract never makes."""


def families_of_pass(pass_: tvm.transform.Pass, named: Named) -> tuple[str, ...]:
    """The families of modules for a user's own pass; empty: the default.

    A pass of PrimFuncs whose code names threads is for kernels, too, or leaves them alone. A pass
    of modules is for PrimFuncs if its code names statements, and for Relax functions as well if it
    also names what only these have.
    """
    family = family_by_type(pass_)
    of_modules = isinstance(pass_, tvm.transform.ModulePass) and named.statements
    if family != PRIM_FUNCS and not (family is None and of_modules):
        return () if family is None else (family,)
    families = (DEFAULT,) if family is None and named.bindings else ()
    return (*families, PRIM_FUNCS, *((KERNELS,) if named.threads else ()))


def family_by_type(pass_: tvm.transform.Pass) -> str | None:
    """The family of a pass of TVM below Relax, such as DLight's, with the user's own arguments, and
    that of PrimFuncs for a pass that TVM runs on each PrimFunc, and on nothing else.

    None for other passes: they take any module, or Relax functions, and the default suits these.
    """
    families = {_family(part) for part in _parts(pass_)}
    return families.pop() if len(families) == 1 else None


def _family(pass_: tvm.transform.Pass) -> str | None:
    on_prim_funcs = isinstance(pass_, tirx.transform.PrimFuncPass)
    reported = str(pass_.info.name)
    names = (reported, *(f"{module}.{reported}" for module in BELOW_RELAX))
    of_tvm = next((catalogue[name] for name in names if name in catalogue), None)
    families = () if of_tvm is None else tuple(by_family(of_tvm.stages))
    if on_prim_funcs and (PRIM_FUNCS in families or not families):
        return PRIM_FUNCS
    return families[0] if families and families[0] != DEFAULT else None


def _parts(pass_: tvm.transform.Pass) -> Iterator[tvm.transform.Pass]:
    if isinstance(pass_, tvm.transform.Sequential):
        for part in pass_.passes:
            yield from _parts(part)
    else:
        yield pass_
