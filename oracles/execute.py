"""Execution in TVM's VM: a real build for the CPU, loaded, run on NumPy arguments.

LLVM at O0, exported as a shared library and loaded again, costs half of what just-in-time
compilation does, since the linker is faster than ORC. Without a C compiler it falls back to JIT.
"""

from __future__ import annotations

import functools
import shutil
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tvm
from tvm import relax


@functools.cache
def compiler() -> str | None:
    """The C compiler that links libraries, or None (said once)."""
    found = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
    if found is None:
        warnings.warn(
            "No C compiler on the PATH: modules are compiled just in time, at about half the speed",
            stacklevel=2,
        )
    return found


class Executable:
    """A built module, ready to run.

    Args:
        mod: a module at any stage before lowering.
        pipeline: "default", "zero" or "cpu_generic".

    Raises:
        Whatever the pipeline, code generation or the linker raises.
    """

    def __init__(self, mod: tvm.IRModule, pipeline: str = "default") -> None:
        target = tvm.target.Target({"kind": "llvm", "opt-level": 0})
        passes: Any = pipeline
        if pipeline == "cpu_generic":
            passes = relax.get_default_pipeline(target)
        built = relax.build(mod, target, relax_pipeline=passes)
        gcc = compiler()
        if gcc is None:
            self._vm = relax.VirtualMachine(built, tvm.cpu())
            return
        # dlopen gives back the old library when a path comes again, hence a folder for each.
        with tempfile.TemporaryDirectory(prefix="relaxfuzz-") as folder:
            path = str(Path(folder) / "module.so")
            built.export_library(path, cc=gcc)
            self._vm = relax.VirtualMachine(tvm.runtime.load_module(path), tvm.cpu())

    def run(self, name: str, args: Sequence[Any]) -> Any:
        """Call a function; results as `Evaluator.run` gives them."""
        return to_numpy(self._vm[name](*map(from_numpy, args)))


def from_numpy(value: Any) -> Any:
    """An argument for the VM: ndarray to tensor, tuple of int to shape, tuple to tuple."""
    if isinstance(value, tuple):
        if all(isinstance(item, int) for item in value):
            return tvm.runtime.ShapeTuple(value)
        return tuple(map(from_numpy, value))
    return tvm.runtime.tensor(value)


def to_numpy(value: Any) -> Any:
    """A result of the VM: tensors to ndarrays, arrays to tuples, shapes to tuples of int."""
    if isinstance(value, tvm.runtime.Tensor):
        return value.numpy()
    if isinstance(value, tvm.runtime.ShapeTuple):
        return tuple(int(dim) for dim in value)
    if isinstance(value, tuple | list) or hasattr(value, "__len__"):
        return tuple(map(to_numpy, value))
    return value
