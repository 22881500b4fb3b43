"""Execution in TVM's VM: a real build for the CPU, loaded, run on NumPy arguments.

Each distinct PrimFunc is compiled once (`kernels`), by LLVM into a shared library, at half the cost
of just-in-time compilation; only bytecode is made for each module. LLVM optimises only modules
whose arithmetic would take long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.relax import vm_build

from ...compat import ir
from ...compat.drift import Drift, drift_of
from ...compat.script import quick_frames
from ...generators.values import elements, static_product
from .. import keys
from ..errors import Unsupported
from ..inspect import attr, nodes, prim_funcs, relax_functions
from ..pace import of_build
from ..silence.log import omit
from ..violation import Violation
from . import kept, kernels
from .fork import HANG, LATE, WALL_SECONDS, allow, in_fork
from .linker import linker
from .lowering import remaining
from .vectors import vectors_of, with_vectors

NONE: Mapping[str, Callable[..., Any]] = MappingProxyType({})

__all__ = [
    "DEVICES",
    "TARGET",
    "Failure",
    "Plan",
    "ProcessDeath",
    "VMRunner",
    "carried_out",
    "execute",
    "from_numpy",
    "is_large",
    "linker",
    "lower",
    "raised",
    "recorded",
    "to_numpy",
    "transferable",
]


class VMRunner(Protocol):
    """Calls a function of a module by its name: NumPy arguments, NumPy results."""

    def __call__(
        self, name: str, args: Sequence[Any], functions: Mapping[str, Callable[..., Any]] = NONE, /
    ) -> Any:
        """
        Args:
            functions: packed functions that the module may call, by their names. The VM looks
                functions up when it starts, and so takes none here.
        """


Plan = Callable[[VMRunner], Any]
"""A function that makes the calls to carry out: `lambda run: run("main", args)`."""

TARGET = tvm.target.Target({"kind": "llvm", "opt-level": 0})

DEVICES = 4
"""Number of devices that a module may place values on; all of them are the CPU."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception instead of a result."""

    step: str
    """"lower" (the passes), "build" (code generation) or "run"."""
    error: str
    """Name of the exception's class."""
    text: str
    violation: Violation
    """The exception with its key; no pass is blamed yet."""


@dataclass(frozen=True, slots=True)
class ProcessDeath(Failure):
    """The process died instead, twice in the same way: `error` is a signal's name or "hang"."""

    plan: int = -1
    """The index of the plan; -1 if the process ended before the first one."""


def execute(
    mod: tvm.IRModule,
    plans: Sequence[Plan],
    pipeline: str = "default",
    *,
    optimize: bool = True,
    record: Sequence[str] = (),
    seconds: float | None = None,
    beat: Callable[[], None] | None = None,
) -> list[Any] | Failure | None:
    """Build a module and carry out the plans.

    Args:
        mod: a module at any stage; it goes through the passes that remain.
        pipeline: "default", "zero" (and default after it) or "cpu_generic".
        optimize: optimize the code of a large module with much arithmetic. It may round
            differently, and give NaN where other code gives infinity.
        record: packed functions whose calls (name and arguments) replace the results.
        seconds: limit for everything; None: the usual limit of a check. More is for one large
            model: each plan may use as much.
        beat: called now and then meanwhile.

    Returns:
        The result of each plan, or a Failure if it raises. A Failure if the build raises, a Death
        if the process dies. None if nothing is known: the time was too short, a second attempt
        ended differently, or a value or PrimFunc is for another device.

    Raises:
        Drift: this TVM lacks what relaxfuzz needs to build and run a module.
    """
    if plans and not all(map(_is_cpu, _targets(mod))):
        omit("values in the VM: it has no device but the CPU, and the module places some elsewhere")
        return None
    large = is_large(mod)
    if large and seconds is None:
        seconds, beat = of_build()
        seconds = None if seconds is None else max(seconds, WALL_SECONDS)
    linker()  # once, before the forks
    kept.folder()

    def work() -> Iterator[tuple[str, Any]]:
        step = "lower"
        try:
            lowered = lower(mod, pipeline)
            yield step, None
            step = "build"
            calls = recorded(record)  # before the machine looks the functions up
            run = _machine(lowered, optimize=optimize and large)
            yield step, None
        except Exception as error:
            yield raised(step, error)
            return
        for plan in plans:
            allow(None if seconds is None else int(seconds))
            try:
                calls.clear()
                result = plan(run)
                yield "run", transferable(tuple(calls) if record else result)
            except Exception as error:
                yield raised("run", error)

    return carried_out(work, slow=large, seconds=seconds, beat=beat)


def carried_out(
    work: Callable[[], Iterator[tuple[str, Any]]],
    *,
    what: str = "values in the VM",
    slow: bool = False,
    seconds: float | None = None,
    beat: Callable[[], None] | None = None,
) -> list[Any] | Failure | None:
    """The results of a build and its runs, made in a fork; see `execute`.

    Args:
        work: yields "lower" and "build" with None, then "run" with the result of each run; a
            Failure in place of None ends it.
        what: the thing to log as omitted if the time is up.
        slow: running out of time does not indicate a hang.
        seconds: limit for everything.
        beat: called now and then meanwhile.

    Raises:
        Drift: this TVM lacks what relaxfuzz needs.
    """
    steps, end = in_fork(work, seconds, beat)
    if end is not None:
        if end == LATE or (end == HANG and slow):
            omit(what)
            return None
        again, same = in_fork(work, seconds, beat)
        return _death(len(steps), end) if (end, len(steps)) == (same, len(again)) else None
    step, last = steps[-1]
    if step == _LACKS:
        raise Drift(last)
    if step != "run" and last is not None:
        failure: Failure = last
        return failure
    return [value for _, value in steps[2:]]


def _targets(mod: tvm.IRModule) -> Iterator[Any]:
    """The targets that values are placed on, and those that PrimFuncs are bound to."""
    yield from (device.target for device in nodes(mod, ir.VDevice))
    bound = (attr(func, "target") for _, func in prim_funcs(mod))
    yield from (target for target in bound if target is not None)


def _is_cpu(target: Any) -> bool:
    return int(target.get_target_device_type()) == int(tvm.cpu().dlpack_device_type())


LARGE = 10_000
"""Elements of a tensor above which unoptimised kernels may take longer than `CPU_SECONDS`."""


def is_large(mod: tvm.IRModule) -> bool:
    """True if the module has a large tensor: a long run is then not a sign of a hang."""
    types = (var.ty for _, func in relax_functions(mod) for var in nodes(func, relax.Var))
    shapes = (
        buffer.ty.shape
        for _, func in prim_funcs(mod)
        for buffer in func.params
        if isinstance(buffer.ty, tirx.BufferType)
    )
    return any(elements(ty) > LARGE for ty in types) or any(
        static_product(getattr(shape, "values", shape) or ()) > LARGE for shape in shapes
    )


_LACKS = "lacks"
"""In place of a step: the item names the thing that this TVM lacks."""


def raised(step: str, error: Exception) -> tuple[str, Any]:
    """The item to yield for an exception; see `carried_out`."""
    lacking = drift_of(error)
    return (step, _failure(step, error)) if lacking is None else (_LACKS, lacking)


def lower(mod: tvm.IRModule, pipeline: str) -> tvm.IRModule:
    """The module in the form that code generation takes.

    Raises:
        Whatever the passes raise.
    """
    if mod.attrs is not None and "system_lib_prefix" in mod.attrs:
        # Functions of a system library get other names: a loaded library would not have them.
        mod = mod.without_attr("system_lib_prefix")
    with TARGET, quick_frames():  # legalizations are partly written in TVMScript
        return remaining(mod, pipeline)(mod)


def _machine(mod: tvm.IRModule, *, optimize: bool) -> VMRunner:
    """The steps of `relax.build` after its pipeline, with kept PrimFuncs in place of new ones."""
    attrs = mod.attrs or {}
    builder = relax.ExecBuilder()
    libraries = kernels.provide(vm_build._vmcodegen(builder, mod), TARGET, optimize=optimize)
    executable = vm_build._vmlink(
        builder,
        TARGET,
        ext_libs=[*attrs.get("external_mods", []), *libraries],
        params=dict(attrs.get("const_name_to_constant", {})),
    )
    # The module itself: gcc would compile an Executable's empty source of host code.
    machine = relax.VirtualMachine(executable.mod, [tvm.cpu()] * DEVICES)

    entered = {str(gvar.name_hint) for gvar, _ in prim_funcs(mod)}

    def run(
        name: str, args: Sequence[Any], functions: Mapping[str, Callable[..., Any]] = NONE, /
    ) -> Any:
        if functions:
            raise Unsupported(f"packed functions {', '.join(functions)} in the VM")
        given = list(map(from_numpy, args))
        if name in entered:
            tvm.get_global_func(name)(*with_vectors(given, vectors_of(mod[name])))
            return tuple(arg.numpy() for arg in given if isinstance(arg, tvm.runtime.Tensor))
        return to_numpy(machine[name](*given))

    return run


def recorded(names: Sequence[str]) -> list[Any]:
    """Calls of packed functions from now on, each with its name and its arguments in NumPy."""
    calls: list[Any] = []

    def override(name: str) -> None:
        known = tvm.get_global_func(name)

        def function(*args: Any) -> Any:
            calls.append((name, *map(to_numpy, args)))
            return known(*args)

        tvm.register_global_func(name, function, override=True)

    for name in names:
        override(name)
    return calls


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
    if isinstance(value, int | float):
        return value
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


def transferable(result: Any) -> Any:
    """The result, if it can leave the fork; a closure cannot."""
    if isinstance(result, tuple):
        return tuple(map(transferable, result))
    if isinstance(result, tvm.runtime.Object):
        raise Unsupported(f"a result of the type {type(result).__name__}")
    return result


def _failure(step: str, error: Exception) -> Failure:
    return Failure(step, type(error).__name__, str(error), keys.exception(error))


def _death(steps: int, end: str) -> ProcessDeath:
    step = ("lower", "build", "run")[min(steps, 2)]
    what = f"the process ends by {end} in the step {step!r}"
    return ProcessDeath(step, end, what, Violation(what, what, (step, end)), steps - 2)
