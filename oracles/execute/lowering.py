"""The passes that remain before code generation, for a module at any stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import tvm
from tvm import relax

from ...generators.stages import Stage, pass_to
from .. import pipelines
from ..inspect import local_functions, nodes, ops_used
from ..passcall import PassCall
from ..pipelines import steps

Seen = frozenset[str]
"""Names of the operators and external functions that a module calls."""


def _any(*prefixes: str) -> Callable[[Seen], bool]:
    return lambda seen: any(name.startswith(prefixes) for name in seen)


DONE: Mapping[str, Callable[[Seen], bool]] = {
    pass_to(Stage.PLANNED): _any("relax.memory.", "relax.vm."),
    pass_to(Stage.KILLED): _any("relax.memory.kill_", "relax.vm."),
    pipelines.LOWERS: _any("vm.builtin.alloc_shape_heap", "vm.builtin.check_"),
}
"""The passes that must not run twice on a module, each with a test that it has run."""


def remaining(mod: tvm.IRModule, pipeline: str) -> tvm.transform.Pass:
    """The passes that take a module from where it is to code generation.

    They are those of the pipeline, except passes that have run already and must not run twice; the
    others have no effect on a module that is past them. LambdaLift, which no pipeline has, comes
    first if there are local functions.
    """
    passes = whole(pipeline)
    if (calls := steps_left(mod)) is not None:
        passes = tvm.transform.Sequential([call.build() for call in calls])
    if local_functions(mod):
        passes = tvm.transform.Sequential([relax.transform.LambdaLift(), passes])
    return passes


def steps_left(mod: tvm.IRModule) -> list[PassCall] | None:
    """The steps of the default pipeline without those that must not run twice on a module; None if
    no such step has run."""
    seen = frozenset(ops_used(mod)) | {str(f.global_symbol) for f in nodes(mod, relax.ExternFunc)}
    done = {name for name, shows in DONE.items() if shows(seen)}
    return [call for call in steps("default") if call.name not in done] if done else None


def whole(pipeline: str) -> tvm.transform.Pass:
    """The passes of a build with this pipeline. The default pipeline follows "zero", and a user's
    pipeline that only prepares the module."""
    passes = pipelines.whole(pipeline)
    if not pipelines.lowers(pipeline):
        return tvm.transform.Sequential([passes, pipelines.whole("default")])
    return passes
