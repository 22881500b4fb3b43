"""Infers the call that creates a pass seen in a build, so that another process can run it."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import tvm

from ...oracles.passcall import PassCall, bare_call, public_passes
from ..user_input.pass_home import home_of, home_of_name
from ..user_input.unnamed_pass import UnnamedPass

TENSOR_IR = ("tirx.", "s_tir.")
"""Prefixes of the names of passes over PrimFuncs, e.g. `tirx.StorageRewrite`."""


def inferred_call(
    name: str, made: tvm.transform.Pass | None, config: Mapping[str, Any]
) -> PassCall:
    """Infer the call that creates a pass of this name, without arguments; it must be verified.

    The inference calls and imports nothing.

    Args:
        made: the pass itself, if known.
        config: the options of the PassContext.
    """
    plain = {k: v for k, v in config.items() if isinstance(v, bool | int | float | str)}
    return replace(_call(name, made), config=plain)


@functools.lru_cache(maxsize=1024)
def _call(name: str, made: tvm.transform.Pass | None) -> PassCall:
    home = None if made is None else home_of(made)
    public = None if home is not None or _is_users(made) else public_name(name)
    if public is not None:
        return PassCall(f"{public_passes()[public]}()")
    if home is None and name.startswith(TENSOR_IR):
        module, _, function = name.partition(".")
        if hasattr(importlib.import_module(f"tvm.{module}.transform"), function):
            return PassCall(f"tvm.{module}.transform.{function}()")
    if home is None:
        home = home_of_name(name)
    if home is None:
        return UnnamedPass(f"{name}()", instance=made)
    return PassCall(f"{name}()", factory=home)


def public_name(name: str) -> str | None:
    """The public pass to which TVM's instruments give this name; None if there is none.

    They write `relax.BindSymbolicVars` for BindSymbolicVars, `ApplyDefaultSchedule` for the pass of
    that name in DLight, and `DecomposeOps` for DecomposeOpsForInference.
    """
    public = public_passes()
    bare = name.removeprefix("relax.")
    if bare in public:
        return bare
    found = [each for each in public if each.rpartition(".")[2] == bare]
    return found[0] if len(found) == 1 else _by_own_name().get(name)


@functools.cache
def _by_own_name() -> Mapping[str, str]:
    """The public passes of Relax by their own names, if these differ and are unambiguous."""
    found: dict[str, list[str]] = {}
    for public, expr in public_passes().items():
        if expr != public or not hasattr(tvm.relax.transform, public):
            continue
        with contextlib.suppress(Exception):  # it needs arguments
            made = bare_call(public).build()
            if not isinstance(made, tvm.transform.Sequential):  # most have the same name
                found.setdefault(str(made.info.name), []).append(public)
    return {name: few[0] for name, few in found.items() if len(few) == 1}


def _is_users(made: tvm.transform.Pass | None) -> bool:
    return made is not None and type(made).__module__.partition(".")[0] != "tvm"
