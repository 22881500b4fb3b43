"""Passes that meet broken modules: one refuses what TVM's checker accepts, one dies on it."""

from __future__ import annotations

import os

import tvm
from tvm import relax


def _wrong(mod: tvm.IRModule) -> bool:
    return any(
        isinstance(func, relax.Function) and func.ret_ty.dtype != func.body.ty.dtype
        for func in mod.functions.values()
    )


def _pass(name: str, on_wrong: object) -> tvm.transform.Pass:
    def transform(mod: tvm.IRModule, _: object) -> tvm.IRModule:
        if _wrong(mod):
            on_wrong()
        return mod

    return tvm.transform.module_pass(transform, opt_level=0, name=name)


def refuse() -> None:
    raise ValueError("the return type is of another dtype than the result")


def Refuses() -> tvm.transform.Pass:
    return _pass("Refuses", refuse)


def Dies() -> tvm.transform.Pass:
    return _pass("Dies", os.abort)
