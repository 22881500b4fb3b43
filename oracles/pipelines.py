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

from ..generators.near import did_you_mean
from .passcall import PassCall, public_passes

PIPELINES: Mapping[str, Callable[[], tvm.transform.Pass]] = {
    "zero": lambda: relax.get_pipeline("zero"),
    "default": lambda: relax.get_pipeline("default"),
    "cpu_generic": lambda: relax.get_default_pipeline(tvm.target.Target("llvm")),
}
"""Each pipeline by its name, as the users of TVM get it; `default` is what `relax.build` runs."""


class UnknownPipeline(ValueError):
    """No pipeline of `PIPELINES` has the name."""


class UnknownStep(LookupError):
    """A pipeline runs a pass that is no public pass of TVM."""


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
    for step in _observed(_pipeline(name)):
        if step not in passes:
            raise UnknownStep(f"Pipeline {name!r} runs {step!r}, which is no public pass of TVM")
        calls.append(PassCall(f"{passes[step]}()"))
    return tuple(calls)


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


def _observed(pipeline: tvm.transform.Pass) -> list[str]:
    """Names of the passes that run directly inside the pipeline, not of those inside these."""
    names: list[str] = []
    running: list[str] = []

    @pass_instrument
    class Observer:
        def run_before_pass(self, mod: tvm.IRModule, info: Any) -> None:
            step = str(info.name)
            inside = [name for name in running[1:] if name != UNNAMED]
            if running and not inside and step != UNNAMED:
                names.append(step)
            running.append(step)

        def run_after_pass(self, mod: tvm.IRModule, info: Any) -> None:
            running.pop()

    with tvm.transform.PassContext(instruments=[Observer()]), tvm.target.Target("llvm"):
        pipeline(_tiny_module())
    return names


UNNAMED = "sequential"
"""What TVM calls a Sequential without a name of its own: a grouping, no step."""


def _tiny_module() -> tvm.IRModule:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(x)
    return builder.finalize()
