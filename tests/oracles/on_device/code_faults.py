"""Passes that are right, and modules on which code generation for the CPU is wrong, or is not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from relaxfuzz.compat import ir


def marks() -> tvm.transform.Pass:
    """It adds an attribute to each function."""

    def transform(func: tirx.PrimFunc, mod: tvm.IRModule, context: Any) -> tirx.PrimFunc:
        return func.with_attr("marked", True)

    return tirx.transform.prim_func_pass(transform, opt_level=0, name="marks")


def subtracts() -> tvm.transform.Pass:
    """Wrong: the result means something else, and code for it does what it means."""

    def transform(func: tirx.PrimFunc, mod: tvm.IRModule, context: Any) -> tirx.PrimFunc:
        return func.with_body(subtracting(func.body))

    return tirx.transform.prim_func_pass(transform, opt_level=0, name="subtracts")


def subtracting(body: Any) -> Any:
    return tvm_ffi.structural_map(body, (ir.Add, lambda add: ir.Sub(add.a, add.b)), order="post")


@I.ir_module
class Sums:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] + T.float32(3)


@I.ir_module
class Remainders:
    """LLVM has no rule for fmod: a bug of TVM, see corpus/found/llvm-fmod.toml."""

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = T.fmod(A[i], T.float32(2))


@I.ir_module
class Steps:
    """A pass of the build is wrong: see corpus/found/vectorize-loop-step.toml."""

    @T.prim_func(s_tir=True)
    def main(B: T.Buffer((8,), "int32")):
        for i in T.vectorized(0, 8, step=2):
            B[i] = i + 100


@I.ir_module
class Scheduled:
    """Code for CUDA, which a CPU does not take."""

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        for i in T.thread_binding(32, thread="threadIdx.x"):
            B[i] = A[i] + T.float32(3)


@contextmanager
def faulty_code_generation(kind: str) -> Iterator[None]:
    """Code for devices of this kind subtracts meanwhile instead of adding."""
    name = f"target.build.{kind}"
    generate = tvm.get_global_func(name)

    def faulty(mod: tvm.IRModule, target: Any) -> Any:
        functions = {
            gvar: func.with_body(subtracting(func.body)) for gvar, func in mod.functions_items()
        }
        return generate(tvm.IRModule(functions, attrs=mod.attrs), target)

    tvm.register_global_func(name, faulty, override=True)
    try:
        yield
    finally:
        tvm.register_global_func(name, generate, override=True)
