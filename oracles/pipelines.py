"""The steps of TVM's own pipelines, read from the installed TVM, so that they fit any version.

A pipeline is one pass that runs others inside. A pass instrument sees them when the pipeline runs
on a tiny module.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import tvm
from tvm import relax, tirx
from tvm.ir.instrument import pass_instrument

from ..compat import availability
from ..compat.drift import Drift
from ..generators.near import did_you_mean
from ..generators.stages import STEPS, Stage
from .inspect import local_functions
from .passcall import (
    PassCall,
    cpu,
    is_group,
    parse,
    pass_context,
    public_passes,
    steps_inside,
    tiny_module,
)

PIPELINES: Mapping[str, Callable[[], tvm.transform.Pass]] = {
    "zero": lambda: relax.get_pipeline("zero"),
    "default": lambda: relax.get_pipeline("default"),
    "cpu_generic": lambda: relax.get_default_pipeline(tvm.target.Target("llvm")),
}
"""Each pipeline by its name, as users of TVM get it; `relax.build` runs `default`."""


BUILT = "default"
"""The pipeline of `relax.build`."""

FUSING = "cpu_generic"
"""The pipeline for the CPU that also fuses operators."""

OF_KERNELS: Mapping[str, Callable[[], tvm.transform.Pass]] = {
    "s_tir": lambda: tirx.get_tir_pipeline("s_tir")[0],
    "tirx": lambda: tirx.get_tir_pipeline("tirx")[0],
}
"""The pipelines of `tirx.build`, whose default is "s_tir", without their last steps."""

BUILT_KERNELS = "s_tir"
"""The pipeline of `tirx.build`."""

BIND = PassCall('tirx.transform.BindTarget(tvm.target.Target("llvm", host="llvm"))')
"""The first pass of `tirx.build`."""

LIFTS = PassCall("LambdaLift()")
"""The pass that a module with local functions needs before a build; no pipeline includes it."""


class UnknownPipeline(ValueError):
    """No pipeline in `PIPELINES` has this name."""


class UnknownStep(Drift):
    """A pipeline of the installed TVM runs a pass that is not public."""


_remembered: dict[str, tuple[PassCall, ...]] = {}


def remember(name: str, calls: tuple[PassCall, ...]) -> None:
    """Keep the steps of a user's pipeline that another process loaded."""
    _remembered[name] = calls


def steps(name: str) -> tuple[PassCall, ...]:
    """The steps of a pipeline: those that `remember` was given, else those of `_steps`."""
    return _remembered.get(name) or _steps(name)


@functools.cache
def _steps(name: str) -> tuple[PassCall, ...]:
    """The passes that a pipeline runs, in order.

    A step's arguments are not visible, so it is the pass with its defaults. The tests compare the
    steps' result with the pipeline's.

    The steps of a user's own pipeline, `FILE.py:factory`, have their arguments, since it is loaded.

    Raises:
        UnknownPipeline: no pipeline has the name; the message lists the pipelines.
        UnknownStep: this TVM's pipeline has a step that is not a public pass.
        BadPass: the user's pipeline cannot be loaded.
    """
    if is_own(name):
        factory = parse(name).factory
        names = [str(each.info.name) for each in steps_inside(parse(name).build())]
        return tuple(PassCall(f"{s}()", factory=f"{factory}[{n}]") for n, s in enumerate(names))
    passes = public_passes()
    calls = [BIND] if name in OF_KERNELS else []
    for step in names_of_steps(whole(name)):
        if step not in passes and name in OF_KERNELS:
            continue  # the pass is for one kind of device
        if step not in passes:
            raise UnknownStep(
                f"this TVM's pipeline {name!r} runs {step!r}, which is no public pass"
            )
        calls.append(PassCall(f"{passes[step]}()"))
    return tuple(calls)


LOWERS = STEPS[Stage.LOWERED][0]
"""The pass after which code generation takes over."""


def lowers(name: str) -> bool:
    """True if code generation takes the result of the pipeline; others only prepare for `BUILT`."""
    return name == BUILT or any(call.name == LOWERS for call in steps(name))


def steps_on(mod: tvm.IRModule, name: str) -> tuple[PassCall, ...]:
    """The steps of a pipeline, after LambdaLift if it is TVM's and the module has local functions.

    Without LambdaLift the build would end with the refusal of local functions, and no step after it
    would be checked.
    """
    lifts = not is_own(name) and name not in OF_KERNELS and local_functions(mod)
    return (LIFTS, *steps(name)) if lifts else steps(name)


def is_own(name: str) -> bool:
    """True for a user's pipeline, `FILE.py:factory` or `package.module:factory`."""
    return ":" in name


def names_of_steps(pipeline: tvm.transform.Pass) -> list[str]:
    """The names of the passes directly inside a pipeline, in the order in which it runs them."""
    names: list[str] = []
    running: list[str] = []

    @pass_instrument
    class Steps:
        def run_before_pass(self, mod: tvm.IRModule, info: Any) -> None:
            running.append(str(info.name))
            inside = [name for name in running[1:] if not is_group(name)]
            if inside == running[-1:]:
                names.append(running[-1])

        def run_after_pass(self, mod: tvm.IRModule, info: Any) -> None:
            running.pop()

    with pass_context({}, instruments=[Steps()]), cpu():
        pipeline(tiny_module())
    return names


def following(place: str | None) -> tuple[PassCall, ...]:
    """The passes that pipelines run right after this pass; None: the first passes."""
    return _neighbours().get(place, ())


@functools.cache
def _neighbours() -> Mapping[str | None, tuple[PassCall, ...]]:
    off = availability.current().pipelines
    found: dict[str | None, dict[str, PassCall]] = {}
    for pipeline in PIPELINES:
        last = None
        for call in () if pipeline in off else steps(pipeline):
            found.setdefault(last, {})[call.name] = call
            last = call.name
    return {place: tuple(calls.values()) for place, calls in found.items()}


def run(name: str, mod: tvm.IRModule) -> tvm.IRModule:
    """Run a whole pipeline for the CPU target.

    Raises:
        UnknownPipeline: no pipeline has the name; the message lists the pipelines.
    """
    with tvm.target.Target("llvm"):
        return whole(name)(mod)


def whole(name: str) -> tvm.transform.Pass:
    """The pipeline as one pass.

    Raises:
        UnknownPipeline: no pipeline has the name; the message lists the pipelines.
        BadPass: the user's pipeline cannot be loaded.
    """
    if is_own(name):
        return parse(name).build()
    every = {**PIPELINES, **OF_KERNELS}
    if name not in every:
        raise UnknownPipeline(
            f"No pipeline {name!r} among {', '.join(every)}{did_you_mean(name, every)}"
        )
    return every[name]()


@functools.cache
def run_by_builds(name: str = BUILT) -> frozenset[str]:
    """The names of the passes that a pipeline runs, including nested ones."""

    def run(instrument: Any) -> None:
        with pass_context({}, instruments=[instrument]), tvm.target.Target("llvm"):
            whole(name)(tiny_module())

    return seen_running(run)


def seen_running(run: Callable[[Any], object]) -> frozenset[str]:
    """The names of all passes that run inside `run`, without groups of passes.

    Args:
        run: called with the pass instrument that sees the passes.
    """
    names: set[str] = set()

    @pass_instrument
    class Names:
        def run_before_pass(self, mod: tvm.IRModule, info: Any) -> None:
            names.add(str(info.name))

    run(Names())
    return frozenset(name for name in names if not is_group(name))
