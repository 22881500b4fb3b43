"""PrimFuncs scheduled by DLight mean at every stage of lowering what they meant before."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.relax import op
from tvm.s_tir import dlight
from tvm.s_tir.pipeline import default_s_tir_pipeline
from tvm.target import Target

from relaxfuzz.compat.structural import structural_equal
from relaxfuzz.oracles.dtypes import dtype_of
from relaxfuzz.oracles.errors import Undefined
from relaxfuzz.oracles.inspect import attr
from relaxfuzz.oracles.tensorir import linked, sanitize, translate
from relaxfuzz.oracles.tensorir.threads.limits import over_limits

from .native import assert_close, copies

LAST = "SplitHostDevice"
"""What follows replaces the parameters."""

SYNCHRONISED = "LowerThreadAllreduce"
"""From here on all barriers are there."""

SANITIZED = ("scheduled", "LowerOpaqueBlock", SYNCHRONISED, LAST)
"""The stages that are sanitized, too; that takes ten times as long."""


class Kernel(NamedTuple):
    """A call of an operator, and the dtypes and shapes of its operands."""

    call: Callable[..., Any]
    dtype: str
    shapes: tuple[tuple[int, ...], ...]


KERNELS = {
    "matmul": Kernel(op.matmul, "float32", ((33, 65), (65, 17))),
    "matmul-float16": Kernel(op.matmul, "float16", ((32, 16), (16, 32))),
    "matmul-int32": Kernel(op.matmul, "int32", ((16, 15), (15, 31))),
    "batch-matmul": Kernel(op.matmul, "float32", ((2, 5, 16), (2, 16, 7))),
    "gemv": Kernel(op.matmul, "float32", ((1, 129), (129, 65))),
    "gemv-transposed": Kernel(
        lambda x, w: op.matmul(x, op.permute_dims(w)), "float32", ((1, 64), (17, 64))
    ),
    "conv2d": Kernel(
        lambda x, w: op.nn.conv2d(x, w, padding=1), "float32", ((1, 3, 7, 7), (5, 3, 3, 3))
    ),
    "softmax": Kernel(op.nn.softmax, "float32", ((5, 63),)),
    "layer-norm": Kernel(
        lambda x, g, b: op.nn.layer_norm(x, g, b, axes=[-1]), "float32", ((3, 65), (65,), (65,))
    ),
    "sum": Kernel(lambda x: op.sum(x, axis=1), "float32", ((7, 300),)),
    "sum-of-all": Kernel(op.sum, "int32", ((3, 31),)),
    "max-float16": Kernel(lambda x: op.max(x, axis=0), "float16", ((31, 3),)),
    "argmax": Kernel(lambda x: op.argmax(x, axis=-1), "float32", ((3, 33),)),
    "relu": Kernel(op.nn.relu, "float32", ((1, 1025),)),
    "transpose": Kernel(op.permute_dims, "float32", ((17, 33),)),
    "reshape": Kernel(lambda x: op.reshape(x, (-1,)), "int32", ((5, 7),)),
    "clip": Kernel(lambda x: op.clip(x, -2, 2), "int32", ((3, 5),)),
    "one": Kernel(lambda x: op.add(x, x), "bfloat16", ((1, 1),)),
    "symbolic": Kernel(op.matmul, "float32", ((-1, 32), (32, 16))),
    "symbolic-sum": Kernel(lambda x: op.sum(x, axis=1), "float32", ((-1, 70),)),
}
"""A size of -1 stands for a symbolic one, which is `N` at run time."""

N = 13


def legalized(kernel: Kernel) -> tvm.IRModule:
    """The PrimFuncs of a call."""
    builder = relax.BlockBuilder()
    size = tirx.Var("n", "int64")
    params = [
        relax.Var(f"x{i}", relax.TensorType([size if d < 0 else d for d in shape], kernel.dtype))
        for i, shape in enumerate(kernel.shapes)
    ]
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(kernel.call(*params))
        builder.emit_func_output(result)
    mod = relax.transform.LegalizeOps()(builder.get())
    return tvm.IRModule({g: f for g, f in mod.functions_items() if isinstance(f, tirx.PrimFunc)})


@tvm.instrument.pass_instrument
class Stages:
    """Keeps the module after each pass that has changed it."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, tvm.IRModule]] = []

    def run_after_pass(self, mod: tvm.IRModule, info: Any) -> None:
        name = str(info.name).rpartition(".")[2]
        if self.seen and self.seen[-1][0] == LAST:
            return
        if name == LAST or not self.seen or not structural_equal(mod, self.seen[-1][1]):
            # A pass may change the module that it is given: the functions are kept, not the module.
            self.seen.append((name, tvm.IRModule(dict(mod.functions_items()))))


def stages(mod: tvm.IRModule, name: str, kind: str) -> Iterator[tuple[str, tvm.IRModule]]:
    """A PrimFunc, scheduled by DLight's default rules, and what TVM's pipeline makes of it."""
    target = Target(kind)
    rules = (
        *(dlight.gpu.Matmul(), dlight.gpu.GEMV(), dlight.gpu.Reduction()),
        *(dlight.gpu.GeneralReduction(), dlight.gpu.Fallback()),
    )
    with target:
        scheduled = dlight.ApplyDefaultSchedule(*rules)(mod)
    func = scheduled[name].with_attr("global_symbol", name)
    mod = tirx.transform.BindTarget(Target(target, host="llvm"))(tvm.IRModule({name: func}))
    collected = Stages()
    pipeline, *_ = default_s_tir_pipeline()
    with tvm.transform.PassContext(instruments=[collected]):
        pipeline(mod)
    yield "scheduled", mod
    yield from collected.seen


def arguments(func: tirx.PrimFunc) -> list[Any]:
    rng = np.random.default_rng(0)
    args: list[Any] = []
    for param in func.params:
        if not isinstance(param.ty, tirx.BufferType):
            args.append(N)
            continue
        shape = [int(d) if isinstance(d, tirx.IntImm) else N for d in param.ty.shape]
        args.append(np.asarray(rng.integers(-4, 5, shape)).astype(dtype_of(str(param.ty.dtype))))
    return args


def check(kernel: Kernel, target: str, *, every: bool) -> int:
    """Compare and sanitize the stages of a kernel; how many."""
    compared = 0
    for gvar, func in legalized(kernel).functions_items():
        name = str(gvar.name_hint)
        args = arguments(func)
        expected = copies(args)
        program = translate(func)
        program(*expected)
        outputs = [i for i in program.writes if isinstance(args[i], np.ndarray)]
        synchronised = False
        for stage, mod in stages(tvm.IRModule({gvar: func}), name, target):
            synchronised |= stage in (SYNCHRONISED, LAST)
            if not (every or stage in ("scheduled", LAST)):
                continue
            got = copies(args)
            for output in outputs:
                got[output][...] = 77
            translate(linked(mod[name], mod))(*got)
            assert_close(expected, got, f"{name} after {stage}")
            compared += 1
            if stage not in SANITIZED:
                continue
            fault = sanitize(
                mod[name], args, outputs=outputs, module=mod, synchronised=synchronised
            )
            assert fault is None, f"{name} after {stage}: {fault}"
            if stage == LAST:
                kernels = [f for _, f in mod.functions_items() if attr(f, "calling_conv") == 2]
                assert kernels
                assert [over_limits(f) for f in kernels] == [None] * len(kernels)
    return compared


@pytest.mark.parametrize("name", list(KERNELS))
def test_every_stage_for_cuda(name: str) -> None:
    assert check(KERNELS[name], "cuda", every=True) >= 8


OTHERS = [
    *itertools.product(
        ("softmax", "sum", "transpose", "symbolic-sum"),
        ("rocm", "vulkan", "metal", "opencl", "webgpu"),
    ),
    # For Metal it stores outside of its output: corpus/found/cross-thread-reduction-predicate.toml.
    *itertools.product(("gemv",), ("rocm", "vulkan", "opencl", "webgpu")),
    ("matmul", "vulkan"),
]


def test_a_schedule_that_stores_outside_is_seen() -> None:
    with pytest.raises(Undefined, match="index outside: 65 of a dimension of 65"):
        check(KERNELS["gemv"], "metal", every=False)


@pytest.mark.parametrize(("name", "target"), OTHERS)
def test_first_and_last_stage_for_other_devices(name: str, target: str) -> None:
    assert check(KERNELS[name], target, every=False) >= 2
