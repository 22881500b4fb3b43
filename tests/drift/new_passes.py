"""Passes that TVM does not have yet: right ones, faulty ones, and one that needs arguments."""

from __future__ import annotations

import tvm
from tvm import relax

Context = tvm.transform.PassContext


def NewRight(twice: bool = False) -> tvm.transform.Pass:
    """Changes names, attributes and what a second run does, which some passes are there to do."""

    def transform(mod: tvm.IRModule, context: Context) -> tvm.IRModule:
        count = sum(gvar.name_hint.startswith("extra") for gvar in mod.get_global_vars())
        functions = dict(mod.functions_items())
        for number in range(count, count + 1 + twice):
            name = f"extra{number}"
            x = relax.Var("x", relax.TensorType((2,), "float32"))
            extra = relax.Function([x], relax.SeqExpr([], x), x.ty)
            functions[tvm.ir.GlobalVar(name)] = extra.with_attr("global_symbol", name)
        made = tvm.IRModule(functions, global_infos=mod.global_infos)
        return relax.transform.Normalize()(made)

    return tvm.transform.module_pass(transform, opt_level=0, name="NewRight")


def NewRefusing() -> tvm.transform.Pass:
    """Refuses every module, cleanly."""

    def transform(mod: tvm.IRModule, context: Context) -> tvm.IRModule:
        raise ValueError("NewRefusing: modules of this kind are not supported")

    return tvm.transform.module_pass(transform, opt_level=0, name="NewRefusing")


def NewMutating() -> tvm.transform.Pass:
    """Changes the module that it is given."""

    def transform(mod: tvm.IRModule, context: Context) -> tvm.IRModule:
        for gvar, func in mod.functions_items():
            if isinstance(func, relax.Function):
                mod.update_func(gvar, func.with_attr("seen", True))
        return mod

    return tvm.transform.module_pass(transform, opt_level=0, name="NewMutating")


def NewCrashing() -> tvm.transform.Pass:
    """Looks for a function that no module has."""

    def transform(mod: tvm.IRModule, context: Context) -> tvm.IRModule:
        return mod["no such function"]

    return tvm.transform.module_pass(transform, opt_level=0, name="NewCrashing")


def NewNeedsArguments(level: int, *, kind: str) -> tvm.transform.Pass:
    """Cannot be called without arguments."""
    return NewCrashing() if kind == "crash" else relax.transform.Normalize()


for each in (NewRight, NewRefusing, NewMutating, NewCrashing, NewNeedsArguments):
    each.__module__ = relax.transform.__name__
    setattr(relax.transform, each.__name__, each)
