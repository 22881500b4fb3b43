"""What remains to be done before code generation, for a module at any stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import tvm
from tvm import relax

from ..inspect import local_functions, nodes, ops_used
from ..pipelines import PIPELINES, steps

Seen = frozenset[str]
"""Names of the operators and external functions that a module calls."""


def _any(*prefixes: str) -> Callable[[Seen], bool]:
    return lambda seen: any(name.startswith(prefixes) for name in seen)


DONE: Mapping[str, Callable[[Seen], bool]] = {
    "StaticPlanBlockMemory": _any("relax.memory.", "relax.vm."),
    "KillAfterLastUse": _any("relax.memory.kill_", "relax.vm."),
    "VMShapeLower": _any("vm.builtin.alloc_shape_heap", "vm.builtin.check_"),
}
"""The passes that a module must not go through twice, and how it shows that it has."""


def remaining(mod: tvm.IRModule, pipeline: str) -> tvm.transform.Pass:
    """The passes that take a module from where it is to code generation.

    That is the pipeline itself, with LambdaLift before it where functions are local (no pipeline
    brings it), but without passes that the module has been through and that are no good twice.
    All others find nothing to do in a module that is past them.
    """
    passes = whole(pipeline)
    seen = frozenset(ops_used(mod)) | {str(f.global_symbol) for f in nodes(mod, relax.ExternFunc)}
    done = {name for name, shows in DONE.items() if shows(seen)}
    if done:
        calls = [call.build() for call in steps("default") if call.name not in done]
        passes = tvm.transform.Sequential(calls)
    if local_functions(mod):
        passes = tvm.transform.Sequential([relax.transform.LambdaLift(), passes])
    return passes


def whole(pipeline: str) -> tvm.transform.Pass:
    """The passes of a build by this pipeline; "zero" only prepares for another one."""
    passes = PIPELINES[pipeline]()
    if pipeline == "zero":
        return tvm.transform.Sequential([passes, PIPELINES["default"]()])
    return passes
