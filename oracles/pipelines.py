"""The steps of TVM's own pipelines, read from TVM, so that another version's are followed.

A pipeline is one pass that runs others inside. Which ones is seen by running it on a tiny module
under a pass instrument.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import tvm
from tvm import relax
from tvm.ir.instrument import pass_instrument

from ..compat import availability
from ..compat.drift import Drift
from ..generators.near import did_you_mean
from .passcall import PassCall, pass_context, public_passes

PIPELINES: Mapping[str, Callable[[], tvm.transform.Pass]] = {
    "zero": lambda: relax.get_pipeline("zero"),
    "default": lambda: relax.get_pipeline("default"),
    "cpu_generic": lambda: relax.get_default_pipeline(tvm.target.Target("llvm")),
}
"""Each pipeline by its name, as the users of TVM get it; `default` is what `relax.build` runs."""


BUILT = "default"
"""The pipeline of `relax.build`."""

LIFTS = PassCall("LambdaLift()")
"""No pipeline brings it, but what has local functions can only be built after it."""


class UnknownPipeline(ValueError):
    """No pipeline of `PIPELINES` has the name."""


class UnknownStep(Drift):
    """A pipeline of the installed TVM runs a pass that is no public one."""


@functools.cache
def steps(name: str) -> tuple[PassCall, ...]:
    """The passes that a pipeline runs, in order.

    A step's arguments cannot be seen: it is the pass with its defaults. The tests compare the
    steps' result with the pipeline's.

    Raises:
        UnknownPipeline: no such pipeline; the message names those there are.
        UnknownStep: this TVM's pipeline has a step that is no public pass.
    """
    passes = public_passes()
    calls = []
    for step in names_of_steps(_pipeline(name)):
        if step not in passes:
            raise UnknownStep(
                f"this TVM's pipeline {name!r} runs {step!r}, which is no public pass"
            )
        calls.append(PassCall(f"{passes[step]}()"))
    return tuple(calls)


def names_of_steps(pipeline: tvm.transform.Pass) -> list[str]:
    """The names of the passes that a pipeline runs, in order."""
    names: list[str] = []
    observe(pipeline, _tiny_module(), begin=names.append)
    return names


def following(place: str | None) -> tuple[PassCall, ...]:
    """The passes that pipelines run right after this one of their passes; None: first."""
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
        UnknownPipeline: no such pipeline; the message names those there are.
    """
    with tvm.target.Target("llvm"):
        return _pipeline(name)(mod)


def _pipeline(name: str) -> tvm.transform.Pass:
    if name not in PIPELINES:
        raise UnknownPipeline(
            f"No pipeline {name!r} among {', '.join(PIPELINES)}{did_you_mean(name, PIPELINES)}"
        )
    return PIPELINES[name]()


def observe(
    pipeline: tvm.transform.Pass,
    mod: tvm.IRModule,
    *,
    begin: Callable[[str], object] = lambda name: None,
    end: Callable[[str, tvm.IRModule], object] = lambda name, mod: None,
    config: Mapping[str, Any] | None = None,
) -> tvm.IRModule:
    """Run a pipeline for the CPU target; what it gives.

    Args:
        begin: receives the name of each pass directly inside the pipeline before it runs.
        end: receives the name of each of these passes, and its result.
        config: PassContext options.
    """
    running: list[str] = []

    def at_step() -> bool:
        inside = [name for name in running[1:] if not _is_group(name)]
        return len(inside) == 1 and not _is_group(running[-1])

    @pass_instrument
    class Observer:
        def run_before_pass(self, mod: tvm.IRModule, info: Any) -> None:
            running.append(str(info.name))
            if at_step():
                begin(running[-1])

        def run_after_pass(self, mod: tvm.IRModule, info: Any) -> None:
            if at_step():
                end(running[-1], mod)
            running.pop()

    context = pass_context(config or {}, instruments=[Observer()])
    with context, tvm.target.Target("llvm"):
        return pipeline(mod)


def run_by_builds() -> frozenset[str]:
    """The names of the passes that `relax.build` runs, those inside of others too."""
    return seen_running(functools.partial(_run_built, _tiny_module()))


def _run_built(mod: tvm.IRModule, instrument: Any) -> None:
    with pass_context({}, instruments=[instrument]), tvm.target.Target("llvm"):
        _pipeline(BUILT)(mod)


def seen_running(run: Callable[[Any], object]) -> frozenset[str]:
    """The names of all passes that run meanwhile; groups of passes are none.

    Args:
        run: given the pass instrument under which passes are seen.
    """
    names: set[str] = set()

    @pass_instrument
    class Names:
        def run_before_pass(self, mod: tvm.IRModule, info: Any) -> None:
            names.add(str(info.name))

    run(Names())
    return frozenset(name for name in names if not _is_group(name))


def _is_group(name: str) -> bool:
    """It is no step but a pipeline, or a list of passes, by default called "sequential"."""
    return name == "sequential" or name.endswith("_pipeline")


def _tiny_module() -> tvm.IRModule:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(x)
    return builder.finalize()
