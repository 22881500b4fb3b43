"""Executed semantics of code for a device: what the device computes is what the PrimFunc means.

There are three values: evaluated before the pass and after it, which must agree (else the pass is
to blame, and `evaluated` reports it), and that of the device, which differs from both. Then code
generation for the device is to blame, unless one of the passes that `tirx.build` runs before it
already changes the value or raises: these have checks of their own.

The CPU is a device like any other here, so that all of this runs where there is no other one.
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tvm
from tvm import tirx

from ...compat import ir
from ...generators.ops.record import Tolerance
from ..composition import contract_of
from ..errors import Mismatch, Undefined, Unsupported
from ..execute import Death, Failure
from ..execute.device import CPU, KINDS, execute_on
from ..grades.grade import Grade
from ..identity import FailureKind
from ..inspect import attr, nodes
from ..oracle import Half, Halves, Oracle
from ..pass_runs import PassRuns
from ..silence import inventory
from ..silence.log import abstain
from ..tensorir.threads.launch import tag
from ..text.messages import anonymous, headline
from ..text.short_value_checks import on_one_device
from ..text.value_comments import called
from ..text.value_reproducer import device_text
from ..values.comparison import difference, is_float, leaves
from ..values.expectation import Expectation
from ..values.expectations import Expectations
from ..values.inputs import EXTREMES, Kind
from ..values.sides import LOOSE, rule_of, sides, tolerance_of
from ..violation import Case, Violation
from .explained import explained

REFUSALS = re.compile(
    # VerifyMemory: a statement outside of the kernels touches memory that is the device's.
    r"Memory verification failed"
    # The generators of code for devices name a type, a scope or an operation that they have nothing
    # for.
    r"|[Dd]o(es)? not support|[Oo]nly (support|allow)s?\b|not supported in|Unsupported FP\d type"
    r"|Cannot convert type .* to \w+ type|Do not know how to handle type|Unresolved call"
    # WebGPU has no 64-bit integers: its generator narrows them (codegen_webgpu.cc, 'narrow all i64
    # to i32') and refuses a number that does not fit, and buffers.
    r"|Literal value \S+ exceeds range of int32|allocated in the function has dtype"
    # The generator for Metal knows no shared memory whose size the launch says.
    r"|Unknown storage scope `shared\.dyn`"
    # The compiler of the device lacks a header of its toolkit.
    r"|cannot open source file|No such file or directory"
    # More shared memory or registers than a block may have, which depends on the compiler.
    r"|uses too much shared data|CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
    r"|WebGPU workgroup allocations use"
    r"|too many resources requested for launch"
)
"""Clean refusals: the message names what the device, or its toolkit, does not have."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a device does with a call, other than the PrimFunc means."""

    before: Expectation
    after: Expectation
    part: tvm.IRModule
    """What was built: the PrimFunc and those that it calls."""
    value: Any
    """What the device gave, or a Failure."""
    wrong: str
    """"values: expected ... but got ..."."""


def name_of(kind: str) -> str:
    """Of the oracle."""
    return f"executed-on-{kind}"


def build_of(kind: str) -> str:
    """Who is blamed: code generation for the device."""
    return f"tirx.build for {kind}"


def on_device(kind: str, runs: PassRuns) -> Violation | None:
    """The first call that the device carries out other than the result means."""
    found = next(differences(kind, runs), None)
    return None if found is None else _violation(kind, found)


def _violation(kind: str, found: Found) -> Violation:
    name, value = found.after.function, found.value
    if isinstance(value, Failure):
        return _failed(kind, name, value).blame(name_of(kind), build_of(kind))
    wrong, dtype = found.wrong.split(":", 1)[0], _dtype(found)
    title = f"code for {kind} computes other {wrong} of {dtype} than its PrimFunc means"
    violation = Violation(title, f"{name}: {found.wrong}", (wrong, dtype))
    return violation.blame(name_of(kind), build_of(kind))


def _failed(kind: str, name: str, failure: Failure) -> Violation:
    detail = f"{name}: {failure.violation.detail}"
    if isinstance(failure, Death):
        return failure.violation.under(f"code for {kind} kills the process", detail=detail)
    what = f"code for {kind} fails to {failure.step}"
    violation = failure.violation.under(what, detail=detail)
    return by_headline(violation, what, failure)


def by_headline(violation: Violation, what: str, failure: Failure) -> Violation:
    """The violation, identified by the first line of what was raised.

    Compilers list all that they do not accept: how much of it there is, is an accident.
    """
    first = anonymous(headline(failure.text))
    return replace(violation, key=(what, failure.error, first)) if first else violation


def _dtype(found: Found) -> str:
    """Of the first buffer that differs: for another one there is other code, and so another bug."""
    pairs = list(zip(leaves(found.after.result), leaves(found.value), strict=True))
    odd = [want for (_, want), (_, got) in pairs if difference(want, got, (), LOOSE)]
    return str((odd or [pairs[0][0][1]])[0].dtype)


def differences(kind: str, runs: PassRuns) -> Iterator[Found]:
    """The calls that go wrong on the device, and for which no pass is to blame."""
    after = runs.changed_result()
    if after is None:
        return
    for name, calls in _calls(kind, runs).items():
        part = part_of(after, name)
        beat = functools.partial(runs.step, f"execute on {kind}")
        beat()
        values = execute_on(kind, part, name, [side.args for _, side in calls], beat)
        for found in _wrong(part, calls, values, _bounds(kind)):
            if not _is_refusal(found.value) and not explained(
                kind, found.after, found.part, runs.step
            ):
                yield found


def _calls(kind: str, runs: PassRuns) -> dict[str, list[tuple[Expectation, Expectation]]]:
    """By function: the calls on which both sides agree and that the device can take."""
    after, rule = runs.direct.mod, rule_of(runs)
    assert after is not None
    found: dict[str, list[tuple[Expectation, Expectation]]] = defaultdict(list)
    for e, side in sides(runs) if rule is not None else ():
        assert rule is not None
        plain = rule.otherwise(e.function) is None
        if not plain or not takes(kind, after, e.function) or (kind != CPU and _rounds(e)):
            continue
        try:
            side.result = side.evaluate()
        except (Unsupported, Mismatch, Undefined):
            continue
        if e.differs(side.result, tolerance_of(runs)) is None:
            found[e.function].append((e, side))
    if not found:
        abstain(
            inventory.NO_PRIM_FUNC,
            f"no PrimFunc of the result that is code for {kind} and that can be evaluated",
        )
    return found


def _rounds(e: Expectation) -> bool:
    """Where floats are special or extreme, fast math leaves nothing to compare."""
    special = e.kind in (Kind.SPECIAL, *EXTREMES) or not e.finite
    return special and any(is_float(leaf) for _, leaf in leaves((e.args, e.result)))


def takes(kind: str, mod: tvm.IRModule, name: str) -> bool:
    """A PrimFunc is code for the device: written or scheduled for its threads, not split yet.

    What is bound to another kind of target is not tried: LowerThreadAllreduce makes other code for
    warps of another size.
    """
    func = mod[name]
    if not isinstance(func, tirx.PrimFunc):
        return False
    bound = attr(func, "target")
    threads = any(tag(stmt) is not None for stmt in nodes(func, ir.For, ir.AttrStmt))
    return (bound is None or str(bound.kind.name) == kind) and threads == (kind != CPU)


def part_of(mod: tvm.IRModule, name: str) -> tvm.IRModule:
    """The PrimFunc with those that it calls, on which nobody else depends."""
    reached = Expectations(mod).reached(name)
    functions = mod.functions_items()
    return tvm.IRModule({gvar: f for gvar, f in functions if str(gvar.name_hint) in reached})


def _wrong(
    part: tvm.IRModule,
    calls: Sequence[tuple[Expectation, Expectation]],
    values: list[Any] | Failure | None,
    tolerance: Tolerance | None,
) -> Iterator[Found]:
    if values is None:
        return
    if isinstance(values, Failure):
        if values.step == "lower":
            abstain(inventory.LATER_PASS, headline(values.text))
            return
        at = values.plan if isinstance(values, Death) else 0
        e, side = calls[max(at, 0)]
        yield Found(e, side, part, values, values.text)
        return
    for (e, side), value in zip(calls, values, strict=True):
        wrong = side.differs(value, tolerance)
        if wrong is not None and e.differs(value, tolerance) is not None:
            yield Found(e, side, part, value, wrong)


def _is_refusal(value: Any) -> bool:
    if not isinstance(value, Failure) or not REFUSALS.search(value.text):
        return False
    abstain(inventory.BUILD_REFUSAL, f"the device at hand does not take it: {headline(value.text)}")
    return True


def _alone(kind: str, case: Case) -> Iterator[Found]:
    (call,) = case.calls
    runs = PassRuns(case.mod, case.calls, contract_of(call), alone=True, thorough=True)
    return differences(kind, runs)


def _snippet(kind: str, case: Case) -> str:
    found = next(_alone(kind, case), None)
    if found is None:
        return "apply(mod)"
    return device_text(found.after, names_in(found.part), kind, _bounds(kind))


def _brief(kind: str, case: Case, violation: Violation) -> Iterator[str]:
    found = next(_alone(kind, case), None)
    if found is not None:
        runs = not isinstance(found.value, Failure) or found.value.step == "run"
        names = names_in(found.part)
        yield from on_one_device(found.after, names, kind, _bounds(kind), runs=runs)


def _bounds(kind: str) -> Tolerance | None:
    """Code for GPUs is compiled with fast math: functions of float32 and quotients are rounded
    coarsely, and numbers next to 0 are 0 (tvm/support/nvcc.py has --use_fast_math, and
    intrin_rule_cuda.cc takes `__expf` for `exp`).
    """
    return None if kind == CPU else LOOSE


def names_in(mod: tvm.IRModule) -> list[str]:
    """The names of a module's functions."""
    return sorted(str(gvar.name_hint) for gvar, _ in mod.functions_items())


def _halves(kind: str, case: Case, violation: Violation) -> Halves | None:
    found = next(_alone(kind, case), None)
    if found is None:
        return None
    e = found.after
    return (
        Half("NumPy", found.part, called(e.function, e.args, e.result)),
        Half(f"code for {kind}", None, called(e.function, e.args, found.value)),
    )


def _oracle(kind: str) -> Oracle:
    return Oracle(
        name=name_of(kind),
        failure=FailureKind.VALUES,
        tier=4,
        grade=Grade.A,
        cost=100.0,  # on the CPU; a GPU has a driver to initialise and a compiler of its own
        promise=f"Code that TVM makes for {kind} computes what its PrimFunc means.",
        source="docs/arch/index.rst: 'The compiler translates(codegen) the IRModule to an "
        "executable format specified by the target'",
        check=functools.partial(on_device, kind),
        snippet=functools.partial(_snippet, kind),
        brief=functools.partial(_brief, kind),
        halves=functools.partial(_halves, kind),
        thorough=True,
        on_request=True,
    )


ORACLES = tuple(map(_oracle, KINDS))
"""One for each kind of device."""

NAMES = frozenset(oracle.name for oracle in ORACLES)
