"""Source code for devices: what was scheduled and lowered without an error generates code.

TVM writes the code of most devices without one, and without a toolkit. It is not compiled here,
but a generator that has nothing for an expression, or that dies, is seen on any machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import tirx
from tvm.target import Target
from tvm.tirx.build import split_host_device_mods

from ...generators.prim_funcs.kernels import KINDS as ON_DEVICES
from ...generators.prim_funcs.kernels import TARGETS
from ..composition import contract_of
from ..errors import Mismatch, Undefined, Unsupported
from ..execute import Death, Failure, carried_out, raised
from ..execute.device import CPU
from ..grades.grade import Grade
from ..identity import FailureKind
from ..inspect import attr, prim_funcs
from ..oracle import Oracle
from ..pass_runs import PassRuns
from ..silence import inventory
from ..silence.log import abstain
from ..text.messages import headline
from ..text.value_reproducer import functions_text
from ..values.sides import sides, tolerance_of
from ..violation import Case, Violation
from .oracle import REFUSALS, build_of, by_headline, names_in, part_of, takes

LEFT_OUT: Mapping[str, str] = {
    "rocm": "its generator needs the libraries of ROCm, in bitcode, and writes no source",
    "vulkan": "its generator writes SPIR-V, and is not in the packages of TVM",
}
"""Kinds of devices whose code is not generated, and why."""

C = "c"
"""What code for the CPU is written in; there it needs no threads."""

KINDS: Mapping[str, str] = {
    CPU: C,
    **{kind: kind for kind in ON_DEVICES if kind not in LEFT_OUT},
}
"""By the kind of target that a PrimFunc is code for: the generator of source."""

GENERATORS = tuple(map(build_of, KINDS.values()))
"""Who is blamed."""

SECONDS = 20.0
"""For lowering and generating, in a fork."""


@dataclass(frozen=True, slots=True)
class Found:
    """A PrimFunc for which no code is generated."""

    kind: str
    """The generator."""
    name: str
    part: tvm.IRModule
    """The PrimFunc and those that it calls."""
    failure: Failure


def target_of(kind: str) -> Target:
    """The target of a generator of source."""
    return Target(C, host=C) if kind == C else Target(TARGETS[kind], host=CPU)


def target_text(kind: str) -> str:
    """The same as an expression."""
    if kind == C:
        return 'tvm.target.Target("c")'
    return f"tvm.target.Target({dict(TARGETS[kind])!r}, host={CPU!r})"


def generated(kind: str, part: tvm.IRModule) -> Failure | None:
    """What fails in lowering PrimFuncs (step "lower") or in generating their code ("build")."""

    def work() -> Iterator[tuple[str, Any]]:
        step = "lower"
        try:
            modules = _lowered(part, target_of(kind))
            yield step, None
            step = "build"
            for target, mod in modules:
                tvm.get_global_func(f"target.build.{target.kind.name}")(mod, target)
            yield step, None
        except Exception as error:
            yield raised(step, error)

    done = carried_out(work, what=f"code for {kind}", seconds=SECONDS)
    return done if isinstance(done, Failure) else None


def _lowered(part: tvm.IRModule, target: Target) -> list[tuple[Target, tvm.IRModule]]:
    """What `tirx.build` hands to the generators: of a device its kernels, of C the host's."""
    free = {gvar: func.without_attr("target") for gvar, func in part.functions_items()}
    bound = tirx.transform.BindTarget(target)(tvm.IRModule(free))
    lowering, host, device = tirx.get_default_tir_pipeline(target)
    hosts, devices = split_host_device_mods(lowering(bound))
    if str(target.kind.name) == C:
        return [(target, host()(hosts))]
    return [(each, device()(mod)) for each, mod in devices.items()]


def find(runs: PassRuns) -> Iterator[Found]:
    """The PrimFuncs of the result for which no code is generated, and no pass is to blame."""
    after = runs.changed_result()
    if after is None:
        return
    for target, kind in _kinds(after):
        if tvm.get_global_func(f"target.build.{kind}", allow_missing=True) is None:
            abstain(inventory.NOT_AVAILABLE, f"this build of TVM generates no code for {kind}")
            continue
        for name in _right(target, runs):
            part = part_of(after, name)
            runs.step(f"generate code for {kind}")
            failure = generated(kind, part)
            if failure is None:
                continue
            if failure.step == "lower" or REFUSALS.search(failure.text):
                abstain(inventory.LATER_PASS, headline(failure.text))
                continue
            yield Found(kind, name, part, failure)


def _right(kind: str, runs: PassRuns) -> list[str]:
    """The PrimFuncs of the result that are code for this kind of target and mean what they did: one
    that a pass has spoilt may be what nobody has code for.
    """
    after = runs.direct.mod
    right, wrong = dict[str, None](), set[str]()
    for e, side in sides(runs):
        if after is None or not takes(kind, after, e.function):
            continue
        try:
            side.result = side.evaluate()
        except Unsupported:
            continue
        except (Mismatch, Undefined):
            wrong.add(e.function)
            continue
        if e.differs(side.result, tolerance_of(runs)) is None:
            right[e.function] = None
        else:
            wrong.add(e.function)
    names = [name for name in right if name not in wrong]
    if not names:
        abstain(
            inventory.NO_PRIM_FUNC,
            f"no PrimFunc of the result that is code for {kind} and that can be evaluated",
        )
    return names


def _kinds(mod: tvm.IRModule) -> list[tuple[str, str]]:
    """The kinds of targets of a module's PrimFuncs, with their generators."""
    bound = (attr(func, "target") for _, func in prim_funcs(mod))
    kinds = {CPU if target is None else str(target.kind.name) for target in bound}
    for kind in kinds & LEFT_OUT.keys():
        abstain(inventory.NOT_AVAILABLE, f"code for {kind} is left out: {LEFT_OUT[kind]}")
    return [(kind, KINDS[kind]) for kind in sorted(kinds & KINDS.keys())]


def check(runs: PassRuns) -> Violation | None:
    """The first PrimFunc for which no code is generated."""
    found = next(find(runs), None)
    if found is None:
        return None
    failure, kind = found.failure, found.kind
    what = f"no code for {kind} is generated"
    violation = failure.violation.under(what, detail=f"{found.name}: {failure.violation.detail}")
    if not isinstance(failure, Death):
        violation = by_headline(violation, what, failure)
    return violation.blame(ORACLE.name, build_of(kind))


def _found_in(case: Case) -> Found | None:
    (call,) = case.calls
    return next(
        find(PassRuns(case.mod, case.calls, contract_of(call), alone=True, thorough=True)), None
    )


def _snippet(case: Case) -> str:
    found = _found_in(case)
    return "apply(mod)" if found is None else _text(found, "apply(mod)")


def _brief(case: Case, violation: Violation) -> Iterator[str]:
    found = _found_in(case)
    if found is not None:
        yield _text(found, "the_pass(mod)")


def _text(found: Found, result: str) -> str:
    functions = functions_text(names_in(found.part))
    return f"after = {result}\ntvm.tirx.build({functions}, {target_text(found.kind)})"


ORACLE = Oracle(
    name="generates-source",
    failure=FailureKind.VALUES,
    tier=4,
    grade=Grade.A,
    cost=40.0,
    worth=5.0,
    promise="What was lowered without an error has code for its device.",
    source="docs/arch/index.rst: 'The compiler translates(codegen) the IRModule to an executable "
    "format specified by the target'",
    check=check,
    snippet=_snippet,
    brief=_brief,
    thorough=True,
)
