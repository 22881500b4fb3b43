"""Contracts of TVM's pipelines for GPUs: the passes of a build before it generates code.

A pipeline is a pass like any other, and an error of one of its steps is that step's fault.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm.ir.instrument import pass_instrument
from tvm.tirx.build import split_host_device_mods

from ...generators.choices import Choices
from ...generators.prim_funcs.kernels import TARGETS, name_of
from ...generators.stages import Stage, between, expression, steps
from ..contract import Exemption, PassContract, Relation
from ..inspect import attr, prim_funcs
from ..passcall import DEVICE_PIPELINES, PassCall, public_passes
from ..pipelines import names_of_steps
from .common import definition
from .devices import ADRENO_LISTS, DEFAULT
from .tensorir_common import on_a_copy, with_target

RELAX, TIRX = DEVICE_PIPELINES

SPLIT = "tirx.SplitHostDevice"
"""The last pass whose result is evaluated: after MakePackedAPI, code sets and calls devices."""


def target_text(name: str) -> str:
    """The target of `TARGETS` as a Python expression."""
    return f"tvm.target.Target({dict(TARGETS[name])!r}, host='llvm')"


# The source of these goes into reproducers.
def until(pipeline: Any, last: str) -> tvm.transform.Pass:
    """The passes of a pipeline of `tirx.build` up to the one of this name."""

    @pass_instrument
    class Stops:
        over = False

        def should_run(self, mod: tvm.IRModule, info: Any) -> bool:
            return not self.over

        def run_after_pass(self, mod: tvm.IRModule, info: Any) -> None:
            self.over = self.over or info.name == last

    def run(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        lowering, _host, _device = pipeline
        inner = tvm.transform.PassContext(instruments=[Stops()], config=dict(context.config))
        with inner:
            return lowering(mod)

    return tvm.transform.module_pass(run, opt_level=0, name="until")


def finished(pipeline: Any) -> tvm.transform.Pass:
    """A pipeline of `tirx.build` with the passes behind it: one list for the host's functions, one
    for those of each device."""

    def run(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        lowering, host, device = pipeline
        hosts, devices = split_host_device_mods(lowering(mod))
        done = host()(hosts)
        for each in devices.values():
            done.update(device()(each))
        return done

    return tvm.transform.module_pass(run, opt_level=0, name="finished")


def for_target(pass_: tvm.transform.Pass, target: tvm.target.Target) -> tvm.transform.Pass:
    """The pass with this target as the current one."""

    def run(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        with target:
            return pass_(mod)

    return tvm.transform.module_pass(run, opt_level=0, name="for_target")


_ANY = ("from typing import Any", "import tvm")
_UNTIL = (*_ANY, "from tvm.ir.instrument import pass_instrument")
_FINISHED = (*_ANY, "from tvm.tirx.build import split_host_device_mods")


def device_of(mod: tvm.IRModule) -> str | None:
    """The name in `TARGETS` of the device that kernels are bound to; None if none or several."""
    bound = (attr(func, "target") for _, func in prim_funcs(mod))
    names = {name_of(target) for target in bound if target is not None} - {None}
    return names.pop() if len(names) == 1 else None


def _relax(choices: Choices, mod: tvm.IRModule) -> PassCall:
    device = device_of(mod) or choices.pick(list(TARGETS))
    return PassCall(f"{RELAX}({target_text(device)})")


def _tirx(choices: Choices, mod: tvm.IRModule) -> PassCall | None:
    device = device_of(mod)
    if device is None:
        return None
    pipeline = f"{TIRX}({target_text(device)})"
    if choices.flag():
        imports = (*_FINISHED, definition(finished))
        return PassCall(f"finished({pipeline})", imports=imports)
    imports = (*_UNTIL, definition(until))
    return PassCall(f"until({pipeline}, {SPLIT!r})", imports=imports)


def _steps_of_relax(call: PassCall) -> tuple[PassCall, ...]:
    target = call.expr.removeprefix(f"{RELAX}(").removesuffix(")")
    imports = ("import tvm", definition(on_a_copy), definition(for_target))
    known = {name: f"{expr}()" for name, expr in public_passes().items() if "." not in name}
    known |= {
        "tirx.BindTarget": f"tirx.transform.BindTarget({target})",
        "DecomposeOps": "DecomposeOpsForInference()",
    }
    lists = iter(ADRENO_LISTS if "adreno" in target else (DEFAULT,))
    exprs = [
        next(lists) if name == "ApplyDefaultSchedule" else known[name]
        for name in names_of_steps(call.build())
        if name in known or name == "ApplyDefaultSchedule"
    ]
    return tuple(
        PassCall(f"for_target(on_a_copy({expr}), {target})", imports=imports) for expr in exprs
    )


def steps_for(device: str) -> tuple[PassCall, ...]:
    """The passes of the default pipeline for a device of `TARGETS`."""
    return _steps_of_relax(PassCall(f"{RELAX}({target_text(device)})"))


def _steps_of_tirx(call: PassCall) -> tuple[PassCall, ...]:
    last = Stage.DEVICE_SPLIT
    names = [name for each in between(Stage.REDUCTIONS_LOWERED, last) for name in steps(each)]
    if call.expr.startswith("finished"):
        names += [*steps(Stage.PACKED), *_BEHIND]
    imports = ("import tvm", definition(on_a_copy))
    return tuple(PassCall(f"on_a_copy({expression(name)})", imports=imports) for name in names)


_BEHIND = (
    "tirx.FP8StorageLegalize",
    "tirx.BF16StorageLegalize",
    "tirx.LowerWarpMemory",
    "tirx.StmtSimplify",
    "tirx.LowerIntrin",
)
"""The last passes of the pipeline, and those for the functions of a device."""


def _not_lowered(mod: tvm.IRModule) -> str | None:
    """Refuse a lowered module: the pipeline begins with blocks and ends with packed functions."""
    why = with_target(mod)
    if why is None and any(attr(func, "calling_conv") is not None for _, func in prim_funcs(mod)):
        return "a PrimFunc behind MakePackedAPI or SplitHostDevice: the pipeline has been run"
    return why


def _by_steps(*oracles: str) -> tuple[Exemption, ...]:
    """Exemptions from oracles whose promise only some steps of the pipeline make."""
    reason = "a step of the pipeline does not keep it"
    return tuple(Exemption(name, reason, "the contracts of the steps") for name in oracles)


_LOWERED = _by_steps(
    "functions",
    "signature",
    "attributes",
)

CONTRACTS: tuple[PassContract, ...] = (
    PassContract(
        name=RELAX,
        variants=_relax,
        stages=(Stage.KERNELS,),
        relation=Relation.LOWERED,
        steps=_steps_of_relax,
        exemptions=_LOWERED,
    ),
    PassContract(
        name=TIRX,
        requires=_not_lowered,
        variants=_tirx,
        no_variants="its PrimFuncs are not bound to one kind of GPU",
        stages=(Stage.SCHEDULED,),
        relation=Relation.LOWERED,
        steps=_steps_of_tirx,
        exemptions=_LOWERED,
    ),
)
