"""The call that makes a pass which ran in a build, so that it can be run in another process."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tvm

from ...oracles.passcall import PassCall, public_passes
from ..user_input.unnamed_pass import UnnamedPass

TENSOR_IR = ("tirx.", "s_tir.")
"""Prefixes of the names of passes over PrimFuncs, as `tirx.StorageRewrite`."""


def inferred_call(
    name: str, made: tvm.transform.Pass | None, config: Mapping[str, Any]
) -> PassCall:
    """The call that makes a pass of this name, without arguments: a guess that has to be verified.

    Nothing is called or imported for it.

    Args:
        made: the pass itself, if it is known.
        config: the options of the PassContext.
    """
    plain = {k: v for k, v in config.items() if isinstance(v, bool | int | float | str)}
    public = None if _is_users(made) else public_name(name)
    if public is not None:
        return PassCall(f"{public_passes()[public]}()", plain)
    if name.startswith(TENSOR_IR):
        module, _, function = name.partition(".")
        if hasattr(importlib.import_module(f"tvm.{module}.transform"), function):
            return PassCall(f"tvm.{module}.transform.{function}()", plain)
    home = next(_homes(name), None)
    if home is not None:
        return PassCall(f"{name}()", plain, factory=home)
    return UnnamedPass(f"{name}()", plain, instance=made)


def public_name(name: str) -> str | None:
    """The public pass that TVM's instruments call by this name; None where there is none.

    They say `relax.BindSymbolicVars` of BindSymbolicVars, and `ApplyDefaultSchedule` of the pass of
    that name in DLight.
    """
    public = public_passes()
    bare = name.removeprefix("relax.")
    if bare in public:
        return bare
    found = [each for each in public if each.rpartition(".")[2] == bare]
    return found[0] if len(found) == 1 else None


def _is_users(made: tvm.transform.Pass | None) -> bool:
    return made is not None and type(made).__module__.partition(".")[0] != "tvm"


def _homes(name: str) -> Iterator[str]:
    """Where a pass can be imported without running the user's program, functions last."""
    main = sys.modules.get("__main__")
    for is_home in (_is_pass, inspect.isfunction):
        for module, loaded in list(sys.modules.items()):
            own = module.partition(".")[0] in ("tvm", "relaxfuzz") or loaded is main
            thing = getattr(loaded, "__dict__", {}).get(name)
            if not own and is_home(thing) and _home(thing, module) == module:
                yield f"{module}:{name}"
        file = getattr(main, "__file__", None)
        if file is not None and is_home(vars(main).get(name)) and _guarded(Path(file)):
            yield f"{Path(file).resolve()}:{name}"


def _is_pass(thing: object) -> bool:
    return isinstance(thing, tvm.transform.Pass) or (
        inspect.isclass(thing) and issubclass(thing, tvm.transform.Pass)
    )


def _home(thing: Any, found: str) -> str:
    """The module that defines a class or a function, not one that imports it."""
    return found if isinstance(thing, tvm.transform.Pass) else str(thing.__module__)


def _guarded(file: Path) -> bool:
    """The script has a `__main__` guard, so that importing it runs nothing."""
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return False
    return any(
        isinstance(node, ast.If) and ast.unparse(node.test).startswith("__name__ ==")
        for node in tree.body
    )
