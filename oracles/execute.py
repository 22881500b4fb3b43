"""Execution in TVM's VM: a real build for the CPU, loaded, run on NumPy arguments.

It is done in a fork. Generated code may die, and it must not take the process of the oracles with
it; a process that has executed a parallel kernel cannot fork any more; and libraries once loaded
are never unloaded.

LLVM at O0, linked to a shared library and loaded again, costs half of what just-in-time compilation
does, since a linker is faster than ORC. Without one it falls back to JIT.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from . import keys
from .oracle import Problem
from .pipelines import PIPELINES

Run = Callable[[str, Sequence[Any]], Any]
"""Calls a function of a module by its name: NumPy arguments, NumPy results."""

Plan = Callable[[Run], Any]
"""What is to be called: `lambda run: run("main", args)`."""

DEVICES = 4
"""A module may place values on several devices; all of them are the CPU."""

SECONDS = 10.0
"""For building and running one module, on a busy machine."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception instead of a result."""

    step: str
    """"build" or "run"."""
    error: str
    """Name of the exception's class."""
    text: str
    problem: Problem
    """What tells it from other exceptions."""


def execute(
    mod: tvm.IRModule, plans: Sequence[Plan], pipeline: str = "default"
) -> list[Any] | Failure | None:
    """Build a module and carry out the plans.

    Args:
        mod: a module at any stage before lowering.
        pipeline: "default", "zero" (and default after it) or "cpu_generic".

    Returns:
        The result of each plan (a Failure where it raises); a Failure where the build raises; None
        where the process dies or takes too long.
    """
    linker()  # once, before the forks

    def work() -> list[Any] | Failure:
        try:
            run = _build(mod, pipeline)
        except Exception as error:
            return _failure("build", error)
        results: list[Any] = []
        for plan in plans:
            try:
                results.append(plan(run))
            except Exception as error:
                results.append(_failure("run", error))
        return results

    result: list[Any] | Failure | None = _in_fork(work)
    return result


def _failure(step: str, error: Exception) -> Failure:
    return Failure(step, type(error).__name__, str(error), keys.exception(error))


def _build(mod: tvm.IRModule, pipeline: str) -> Run:
    target = tvm.target.Target({"kind": "llvm", "opt-level": 0})
    if mod.attrs is not None and "system_lib_prefix" in mod.attrs:
        mod = mod.without_attr("system_lib_prefix")  # system libraries are linked, not loaded
    built = relax.build(mod, target, relax_pipeline=lowering(pipeline))
    link = linker()
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-") as folder:
        if link is not None:
            path = str(Path(folder) / "module.so")
            built.export_library(path, fcompile=link)
            built = tvm.runtime.load_module(path)
        machine = relax.VirtualMachine(built, [tvm.cpu()] * DEVICES)

    def run(name: str, args: Sequence[Any]) -> Any:
        return to_numpy(machine[name](*map(from_numpy, args)))

    return run


def lowering(pipeline: str) -> tvm.transform.Pass:
    """The passes of a build by this pipeline; "zero" only prepares for another one."""
    passes = PIPELINES[pipeline]()
    if pipeline == "zero":
        return tvm.transform.Sequential([passes, PIPELINES["default"]()])
    return passes


@functools.cache
def linker() -> Callable[..., None] | None:
    """Makes a shared library of object files; None (said once, on stderr) without a C compiler.

    Where there is a linker of its own it is asked directly: the compiler's driver is slower.
    """
    compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
    if compiler is None:
        print(
            "No C compiler on the PATH: modules are compiled just in time, at half the speed",
            file=sys.stderr,
        )
        return None
    direct = shutil.which("ld")
    # What LLVM calls for float16 and wide integers.
    answer = subprocess.run([compiler, "-print-libgcc-file-name"], capture_output=True, text=True)
    library = answer.stdout.strip()

    def link(output: str, files: Sequence[str], **ignored: object) -> None:
        command = [compiler, "-shared", "-o", output, *files]
        # A module without any code of its own comes as C.
        if direct and os.path.isfile(library) and all(file.endswith(".o") for file in files):
            command = [direct, "-shared", "-o", output, *files, library]
        subprocess.run(command, check=True, capture_output=True)

    return link


def _in_fork(work: Callable[[], Any]) -> Any:
    """What the work returns, pickled and sent from a fork; None where it does not arrive."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read)
            _quiet()
            with os.fdopen(write, "wb") as pipe:
                pipe.write(pickle.dumps(work()))
        finally:
            os._exit(0)
    os.close(write)
    data = b""
    deadline = time.monotonic() + SECONDS
    try:
        while True:
            ready, _, _ = select.select([read], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                return None
            piece = os.read(read, 1 << 16)
            if not piece:
                break
            data += piece
    finally:
        os.close(read)
        os.waitpid(pid, 0)
    return pickle.loads(data) if data else None


def _quiet() -> None:
    """No words that nobody reads, and no life much longer than the parent's."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGBUS):
        signal.signal(number, signal.SIG_DFL)
    limit = int(2 * SECONDS)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))


def from_numpy(value: Any) -> Any:
    """An argument for the VM: ndarray to tensor, tuple of int to shape, list or tuple to tuple.

    A function becomes one that the VM can call; it is given NumPy values, and gives some.
    """
    if callable(value):
        return tvm_ffi.convert(lambda *args: from_numpy(value(*map(to_numpy, args))))
    if isinstance(value, tuple) and all(isinstance(item, int) for item in value):
        return tvm.runtime.ShapeTuple(value)
    if isinstance(value, tuple | list):
        return tuple(map(from_numpy, value))
    return tvm.runtime.tensor(value)


def to_numpy(value: Any) -> Any:
    """A result of the VM: tensors to ndarrays, arrays to tuples, shapes to tuples of int."""
    if isinstance(value, tvm.runtime.Tensor):
        return value.numpy()
    if isinstance(value, tvm.runtime.ShapeTuple):
        return tuple(int(dim) for dim in value)
    if isinstance(value, str):
        return value
    if isinstance(value, tuple | list) or hasattr(value, "__len__"):
        return tuple(map(to_numpy, value))
    return value
