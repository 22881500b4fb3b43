"""Execution on a device of this machine: a PrimFunc built for it, called there, and read back.

All of it happens in forks, even the test for a device: a process that has initialised CUDA cannot
fork any more, and its forks cannot use the device.
"""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as builder
from tvm.target import Target

from ..inspect import prim_funcs
from ..tensorir.threads.limits import over_limits
from ..text import messages
from . import TARGET, Failure, carried_out, raised
from .fork import allow, in_fork
from .vectors import vectors_of, with_vectors

CPU = "llvm"
"""The kind of target whose device always exists; the CPU is treated like every other device."""

C = "c"
"""Source for the compiler of the host, such as gcc."""

ON_CPU = (CPU, C)
"""Kinds of targets whose code the CPU runs, so that it has no threads of a device."""

KINDS: Mapping[str, str] = {
    "cuda": "CUDA",
    "rocm": "ROCm",
    "vulkan": "Vulkan",
    "metal": "Metal",
    "opencl": "OpenCL",
    CPU: "CPU",
    C: "CPU",
}
"""Kinds of targets whose code runs from Python, with the names of their devices. Code for webgpu
runs in a browser."""

SECONDS = 60.0
"""Limit for a whole fork, which initialises a driver and runs the compiler of the device."""

RUN_SECONDS = 20
"""CPU time for each run, which busy-waits for the device; the first one also loads the code."""


def device_of(kind: str) -> tvm.runtime.Device:
    """The first device of this kind."""
    return tvm.cpu() if kind in ON_CPU else tvm.device(kind)


def missing(kind: str) -> str | None:
    """The reason why no device of this kind can execute code, in one line; None: one can.

    A tiny kernel is built and run there, which also shows whether the compiler is installed.
    """

    def look() -> Iterator[str | None]:
        _unlimited()
        try:
            yield _absent(kind) or _wrong(kind)
        except Exception as error:
            text = f"{type(error).__name__}: {messages.headline(str(error))}"
            yield f"the {KINDS[kind]} device cannot be used: {text}"

    answers, end = in_fork(look, SECONDS)
    if not answers:
        return f"the {KINDS[kind]} device cannot be used: the process that tried ends by {end}"
    answer: str | None = answers[0]
    return answer


def execute_on(
    kind: str,
    mod: tvm.IRModule,
    name: str,
    calls: Sequence[Sequence[Any]],
    beat: Callable[[], None] | None = None,
) -> list[Any] | Failure | None:
    """Build the PrimFuncs of a module for the device, and call one of them.

    Args:
        mod: PrimFuncs, at any stage before host and device are split. Targets that they are bound
            to are replaced: the code must be for the device at hand.
        calls: lists of arguments, in NumPy.
        beat: called now and then meanwhile.

    Returns:
        For each call the final state of all buffers (a Failure if it raises); else as `execute`. A
        Failure of the step "lower" means code that the device at hand cannot take.

    Raises:
        Drift: this TVM lacks what relaxfuzz needs.
    """

    def work() -> Iterator[tuple[str, Any]]:
        step = "lower"
        try:
            _unlimited()
            if (why := _absent(kind)) is not None:
                raise ValueError(why)
            device, target = device_of(kind), target_of(kind)
            for _, func in prim_funcs(mod):
                if (limit := over_limits(func, target)) is not None:
                    raise ValueError(limit)
            yield step, None
            step = "build"
            function = built(mod, target)[name]
            yield step, None
        except Exception as error:
            yield raised(step, error)
            return
        for args in calls:
            allow(RUN_SECONDS)
            try:
                yield "run", called(function, args, device, vectors_of(mod[name]))
            except Exception as error:
                yield raised("run", error)

    return carried_out(work, what=f"values on {kind}", seconds=SECONDS, beat=beat)


def target_of(kind: str) -> Target:
    """The target of the device at hand, with the CPU as its host."""
    if kind in ON_CPU:
        return TARGET if kind == CPU else Target(kind, host=kind)
    return Target(Target.from_device(kind), host=TARGET)


def built(mod: tvm.IRModule, target: Target) -> tvm.runtime.Module:
    """The PrimFuncs of a module, built for this target whatever they are bound to."""
    free = {gvar: func.without_attr("target") for gvar, func in mod.functions_items()}
    made = tirx.build(tvm.IRModule(free), target)
    return made if str(target.kind.name) != C else _compiled(made)


def _compiled(source: tvm.runtime.Module) -> tvm.runtime.Module:
    """A module of C source after the compiler of the host, which the process then holds open."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "code.so"
        source.export_library(str(path))
        return tvm.runtime.load_module(str(path))


def called(
    function: Any, args: Sequence[Any], device: Any, vectors: Mapping[int, str] | None = None
) -> tuple[Any, ...]:
    """The final buffers of a compiled PrimFunc, called with copies on the device.

    Args:
        vectors: see `vectors_of`.
    """
    given = [
        tvm.runtime.tensor(arg, device) if isinstance(arg, np.ndarray) else arg for arg in args
    ]
    function(*with_vectors(given, vectors or {}))
    return tuple(arg.numpy() for arg in given if isinstance(arg, tvm.runtime.Tensor))


def _absent(kind: str) -> str | None:
    """The reason why there is no such device, or None; asked in a fork."""
    if kind not in ON_CPU and tvm.get_global_func(f"device_api.{kind}", allow_missing=True) is None:
        return (
            f"no {KINDS[kind]} device: this build of TVM has no runtime for {kind}, or cannot load "
            "it (is the driver installed?)"
        )
    if not device_of(kind).exist:
        return f"no {KINDS[kind]} device: tvm.device({kind!r}) does not exist on this machine"
    return None


def _unlimited() -> None:
    """Lift the limit on memory, since a driver maps more than a worker may have."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))


THREADS = 32


def _wrong(kind: str) -> str | None:
    """Report a device that does not add one to each element; None if it does."""
    numbers = np.arange(THREADS, dtype="float32")
    function = built(tvm.IRModule({"probe": _probe(kind)}), target_of(kind))["probe"]
    _, actual = called(function, [numbers, np.zeros_like(numbers)], device_of(kind))
    if np.array_equal(actual, numbers + 1):
        return None
    return f"the {KINDS[kind]} device cannot be used: it does not add 1 to {THREADS} numbers"


def _probe(kind: str) -> tirx.PrimFunc:
    with IRBuilder() as ib, builder.prim_func():
        builder.func_name("probe")
        a, b = (builder.arg(name, builder.buffer((THREADS,), "float32")) for name in "AB")
        loop = (
            builder.serial(THREADS)
            if kind in ON_CPU
            else builder.thread_binding(0, THREADS, thread="threadIdx.x")
        )
        with loop as i:
            builder.buffer_store(b, a[i] + tirx.const(1, "float32"), [i])
    return ib.get()
