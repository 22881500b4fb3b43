"""`kernels`: the strategy for PrimFuncs that a device is to run, not scheduled yet."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tvm
import tvm_ffi
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from tvm import tirx

from ...compat import ir
from ..modules import ir_modules
from ..stages import DEVICE, Stage
from . import SMALL, at_stage, legalized, of_relax, stage_among
from .reductions import BYTES as REDUCTION
from .reductions import reduction
from .threads import BYTES as KERNEL
from .threads import WARP, kernel
from .tiled import BYTES as TILED
from .tiled import tiled

TARGETS: Mapping[str, Mapping[str, Any]] = {
    "cuda": {
        "kind": "cuda",
        "arch": "sm_86",
        "max_threads_per_block": 1024,
        "max_shared_memory_per_block": 49152,
    },
    "rocm": {"kind": "rocm", "mcpu": "gfx900", "mtriple": "amdgcn-amd-amdhsa-hcc"},
    "vulkan": {"kind": "vulkan"},
    "metal": {"kind": "metal"},
    "opencl": {"kind": "opencl"},
    "adreno": {"kind": "opencl", "device": "adreno"},
    "webgpu": {"kind": "webgpu"},
}
"""The devices, by names that users know. None of them has to be present: nothing is compiled.
Limits that TVM would query from the device or its compiler are spelled out."""

KINDS = tuple(dict.fromkeys(str(target["kind"]) for target in TARGETS.values()))
"""The kinds of targets; each is also the name of a target."""


@functools.cache
def _names() -> Mapping[frozenset[str], str]:
    return {
        frozenset(map(str, tvm.target.Target(target).keys)): name
        for name, target in TARGETS.items()
    }


def name_of(target: tvm.target.Target) -> str | None:
    """The name in `TARGETS` of a target with the same kind of device, as TVM sees it."""
    return _names().get(frozenset(map(str, target.keys)))


SIZES = (16, 32, 17, 15, 64, 31, 33, 1, 7, 63, 65, 128)
"""Sizes of dimensions: around the tiles of schedules, and primes."""


def kernels(
    *,
    stage: Stage | str = Stage.KERNELS,
    target: str | None = None,
    numbers: Sequence[float] | None = None,
    dtypes: Sequence[str] = (),
    **settings: Any,
) -> st.SearchStrategy[tvm.IRModule]:
    """Strategy for well-formed IRModules of public PrimFuncs that are bound to a target.

    Most come from LegalizeOps on modules of `ir_modules`, or from FuseTIR after it. Two in nine
    are a reduction in TE, one in nine a kernel as people write it, whose threads are bound
    already, and one in nine a product of matrices whose tiles are scheduled by hand.

    Args:
        stage: the stage of the modules in `tirx.build` for a device; see `prim_funcs`.
        target: a name of `TARGETS`; None: any of them.
        numbers: sizes of many dimensions; extents of threads are near them. None: `SIZES`, and the
            usual extents.
        dtypes: see `prim_funcs`.
        settings: further settings of `ir_modules`, for modules to legalize.

    Raises:
        InvalidArgument: the target or the stage is unknown, or the installed TVM does not have the
            stage; or `ir_modules` refuses a setting.
    """
    to = stage_among(DEVICE, stage)
    if target is not None and target not in TARGETS:
        raise InvalidArgument(f"Expected a target among {', '.join(TARGETS)}, got {target!r}")
    sizes = SIZES if numbers is None else numbers
    relax = {"numbers": sizes, **SMALL, **settings, "dtypes": of_relax(dtypes)}
    funcs = st.one_of(
        legalized(ir_modules(**relax)),
        legalized(ir_modules(**relax, stage=Stage.TIR_FUSED)),
        legalized(ir_modules(**relax)),
        legalized(ir_modules(**relax, stage=Stage.TIR_FUSED)),
        _made(st.binary(min_size=REDUCTION, max_size=REDUCTION), _of(reduction, sizes)),
        _made(st.binary(min_size=REDUCTION, max_size=REDUCTION), _of(reduction, sizes)),
        legalized(ir_modules(**relax)),
        _made(
            st.binary(min_size=KERNEL, max_size=KERNEL),
            functools.partial(kernel, numbers=numbers or ()),
        ),
        _made(st.binary(min_size=TILED, max_size=TILED), _of(tiled, sizes)),
    )
    names = list(TARGETS) if target is None else [target]
    fitting = funcs.filter(lambda mod: mod is not None and bool(_fitting(mod, names)))
    modules = _bound(fitting, names)
    return modules if to is Stage.KERNELS else at_stage(modules, to)


@st.composite
def _made(
    draw: st.DrawFn, data: st.SearchStrategy[bytes], make: Callable[[bytes], tirx.PrimFunc]
) -> tvm.IRModule:
    func = make(draw(data))
    return tvm.IRModule({func.attrs["global_symbol"]: func})


def _of(
    make: Callable[[bytes, Sequence[int]], tirx.PrimFunc], numbers: Sequence[float]
) -> Callable[[bytes], tirx.PrimFunc]:
    """A function that makes kernels with dimensions of these sizes."""
    sizes = [size for number in numbers if 0 < (size := int(number)) <= max(SIZES)]
    return lambda data: make(data, sizes or SIZES)


@st.composite
def _bound(
    draw: st.DrawFn, modules: st.SearchStrategy[tvm.IRModule], names: Sequence[str]
) -> tvm.IRModule:
    mod = draw(modules)
    name = draw(st.sampled_from(_fitting(mod, names)))
    target = tvm.target.Target(TARGETS[name], host="llvm")
    return tvm.tirx.transform.BindTarget(target)(mod)


def _fitting(mod: tvm.IRModule, names: Sequence[str]) -> list[str]:
    """The targets that can run it: memory of a warp is shared only by threads that run together."""
    if not _has_warp_memory(mod):
        return list(names)
    warps = {name: tvm.target.Target(TARGETS[name]).attrs["thread_warp_size"] for name in names}
    return [name for name, warp in warps.items() if warp >= WARP]


def _has_warp_memory(mod: tvm.IRModule) -> bool:
    found: list[Any] = []
    for func in mod.functions.values():
        tvm_ffi.structural_walk(func, (ir.AllocBuffer, found.append))
    return any(str(alloc.buffer.ty.storage_scope) == "warp" for alloc in found)
