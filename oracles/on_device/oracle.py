"""Executed semantics of code for a device: the device must compute what the PrimFunc means.

There are three values. Those evaluated before and after the pass must agree (else the pass is to
blame, and `evaluated` reports it). If the device's value differs from both, code generation for the
device is to blame, unless a pass that `tirx.build` runs before it changes the value or raises.
These passes have checks of their own.

The CPU is a device like any other here, so all of this also runs without another device.
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
from ..errors import Mismatch, Undefined, Unsupported
from ..execute import Failure, ProcessDeath
from ..execute.device import KINDS, ON_CPU, execute_on
from ..expected.comparison import difference, is_float, leaves
from ..expected.expectation import Expectation
from ..expected.expectations import Expectations
from ..expected.inputs import EXTREMES, InputKind
from ..identity import FailureKind
from ..inspect import attr, nodes
from ..oracle import Breach, Half, Halves, Oracle
from ..pass_runs import PassRuns, run_alone
from ..silence import inventory
from ..silence.log import abstain, excused
from ..snippets.short_value_checks import on_one_device
from ..snippets.value_comments import called
from ..tensorir.threads.launch import tag
from ..text.messages import anonymous, headline
from ..values.sides import LOOSE, rule_of, sides, tolerance_of
from ..violation import Case, Violation
from .explained import explained

REFUSALS = re.compile(
    # VerifyMemory: a statement outside of the kernels accesses memory of the device.
    r"Memory verification failed"
    # The code generators for devices name a type, a scope or an operation that they do not
    # support.
    r"|[Dd]o(es)? not support|[Oo]nly (support|allow)s?\b|not supported in|Unsupported FP\d type"
    r"|Cannot convert type .* to \w+ type|Do not know how to handle type|Unresolved call"
    # The generator for Metal does not know shared memory whose size is set at launch.
    r"|Unknown storage scope `shared\.dyn`"
    # The compiler of the device lacks a header of its toolkit.
    r"|cannot open source file|No such file or directory"
    # More shared memory or registers than a block may have, which depends on the compiler.
    r"|uses too much shared data|CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
    r"|too many resources requested for launch"
)
"""Clean refusals: the message names something that the device or its toolkit lacks."""


@dataclass(frozen=True, slots=True)
class DeviceMismatch:
    """A call for which a device deviates from the meaning of the PrimFunc."""

    before: Expectation
    after: Expectation
    part: tvm.IRModule
    """The module that was built: the PrimFunc and its callees."""
    value: Any
    """The result on the device, or a Failure."""
    wrong: str
    """"values: expected ... but got ..."."""


def name_of(kind: str) -> str:
    """The name of the oracle for this kind of device."""
    return f"executed-on-{kind}"


def build_of(kind: str) -> str:
    """The pass to blame: code generation for the device."""
    return f"tirx.build for {kind}"


def on_device(kind: str, runs: PassRuns) -> Violation | None:
    """Report the first call that the device carries out differently from the result's meaning."""
    found = next(differences(kind, runs), None)
    return None if found is None else _violation(kind, found)


def _violation(kind: str, found: DeviceMismatch) -> Violation:
    name, value = found.after.function, found.value
    if isinstance(value, Failure):
        return _failed(kind, name, value).blame(name_of(kind), build_of(kind))
    wrong, dtype = found.wrong.split(":", 1)[0], _dtype(found)
    title = f"code for {kind} computes other {wrong} of {dtype} than its PrimFunc means"
    violation = Violation(title, f"{name}: {found.wrong}", (wrong, dtype))
    return violation.blame(name_of(kind), build_of(kind))


def _failed(kind: str, name: str, failure: Failure) -> Violation:
    detail = f"{name}: {failure.violation.detail}"
    if isinstance(failure, ProcessDeath):
        return failure.violation.under(f"code for {kind} kills the process", detail=detail)
    what = f"code for {kind} fails to {failure.step}"
    violation = failure.violation.under(what, detail=detail)
    # Compilers list everything that they reject; the length of the list is accidental.
    if (error := _COMPILERS.search(failure.text)) is None:
        first = anonymous(headline(failure.text))
        return replace(violation, key=(what, failure.error, first)) if first else violation
    said = re.sub("[‘’'\"]", "", error[1])  # the quotation marks depend on the locale
    first = anonymous(said)
    title = f"{what}: the compiler rejects it: {said}"
    trace = replace(violation.trace, condition=first)
    return replace(violation, key=(what, failure.error, first), title=title, trace=trace)


_COMPILERS = re.compile(r"\berror: (.+)")
"""The reason of gcc, clang and nvcc. The stack does not tell what they reject: they get a file."""


def _dtype(found: DeviceMismatch) -> str:
    """The dtype of the first buffer that differs: other dtypes have other code, thus other bugs."""
    pairs = list(zip(leaves(found.after.result), leaves(found.value), strict=True))
    odd = [want for (_, want), (_, got) in pairs if difference(want, got, (), LOOSE)]
    return str((odd or [pairs[0][0][1]])[0].dtype)


def differences(kind: str, runs: PassRuns) -> Iterator[DeviceMismatch]:
    """The calls that go wrong on the device without a pass to blame."""
    after = runs.changed_result()
    if after is None:
        return
    for name, calls in _calls(kind, runs).items():
        part = part_of(after, name)
        beat = functools.partial(runs.step, f"execute on {kind}")
        beat()
        values = execute_on(kind, part, name, [side.args for _, side in calls], beat)
        for found in _wrong(part, calls, values, _bounds(kind)):
            if not _is_refusal(kind, found.value) and not explained(
                kind, found.after, found.part, runs.step
            ):
                yield found


def _calls(kind: str, runs: PassRuns) -> dict[str, list[tuple[Expectation, Expectation]]]:
    """The calls on which both sides agree and that suit the device, by function."""
    after, rule = runs.direct.mod, rule_of(runs)
    assert after is not None
    found: dict[str, list[tuple[Expectation, Expectation]]] = defaultdict(list)
    for e, side in sides(runs) if rule is not None else ():
        assert rule is not None
        plain = rule.otherwise(e.function) is None
        if not plain or not takes(kind, after, e.function) or (kind not in ON_CPU and _rounds(e)):
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
    """True if floats are special or extreme: fast math then leaves nothing to compare."""
    special = e.kind in (InputKind.SPECIAL, *EXTREMES) or not e.finite
    return special and any(is_float(leaf) for _, leaf in leaves((e.args, e.result)))


def takes(kind: str, mod: tvm.IRModule, name: str) -> bool:
    """True for a PrimFunc that is code for the device: written or scheduled for its threads, but
    not split yet.

    PrimFuncs bound to another kind of target are not tried: LowerThreadAllreduce makes other code
    for warps of another size.
    """
    func = mod[name]
    if not isinstance(func, tirx.PrimFunc):
        return False
    bound = attr(func, "target")
    threads = any(tag(stmt) is not None for stmt in nodes(func, ir.For, ir.AttrStmt))
    return (bound is None or str(bound.kind.name) == kind) and threads == (kind not in ON_CPU)


def part_of(mod: tvm.IRModule, name: str) -> tvm.IRModule:
    """A module of only the PrimFunc and its callees."""
    reached = Expectations(mod).reached(name)
    functions = mod.functions_items()
    return tvm.IRModule({gvar: f for gvar, f in functions if str(gvar.name_hint) in reached})


def _wrong(
    part: tvm.IRModule,
    calls: Sequence[tuple[Expectation, Expectation]],
    values: list[Any] | Failure | None,
    tolerance: Tolerance | None,
) -> Iterator[DeviceMismatch]:
    if values is None:
        return
    if isinstance(values, Failure):
        if values.step == "lower":
            abstain(inventory.LATER_PASS, headline(values.text))
            return
        at = values.plan if isinstance(values, ProcessDeath) else 0
        e, side = calls[max(at, 0)]
        yield DeviceMismatch(e, side, part, values, values.text)
        return
    for (e, side), value in zip(calls, values, strict=True):
        wrong = side.differs(value, tolerance)
        if wrong is not None and e.differs(value, tolerance) is not None:
            yield DeviceMismatch(e, side, part, value, wrong)


def _is_refusal(kind: str, value: Any) -> bool:
    """True for a clean refusal; the CPU has all operations, so none of its code may lack one."""
    if kind in ON_CPU or not isinstance(value, Failure) or not REFUSALS.search(value.text):
        return False
    return excused(inventory.BUILD_REFUSAL, headline(value.text))


def _alone(kind: str, case: Case) -> Iterator[DeviceMismatch]:
    return differences(kind, run_alone(case.mod, *case.calls))


def _brief(kind: str, case: Case, violation: Violation) -> Iterator[str]:
    found = next(_alone(kind, case), None)
    if found is not None:
        runs = not isinstance(found.value, Failure) or found.value.step == "run"
        names = names_in(found.part)
        yield from on_one_device(found.after, names, kind, _bounds(kind), runs=runs)


def _bounds(kind: str) -> Tolerance | None:
    """The tolerance for a device: loose for GPUs, whose code is compiled with fast math.

    Functions of float32 and quotients are rounded coarsely, and numbers next to 0 are 0
    (tvm/support/nvcc.py has --use_fast_math, and intrin_rule_cuda.cc takes `__expf` for `exp`).
    """
    return None if kind in ON_CPU else LOOSE


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
        breach=Breach(FailureKind.VALUES),
        tier=4,
        promise=f"Code that TVM makes for {kind} computes what its PrimFunc means.",
        source="docs/arch/index.rst: 'The compiler translates(codegen) the IRModule to an "
        "executable format specified by the target'",
        check=functools.partial(on_device, kind),
        brief=functools.partial(_brief, kind),
        halves=functools.partial(_halves, kind),
    )


ORACLES = tuple(map(_oracle, KINDS))
"""The oracles, one for each kind of device."""

NAMES = frozenset(oracle.name for oracle in ORACLES)
