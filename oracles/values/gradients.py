"""Gradients: `<function>_adjoint` returns the slope of the function.

Both are evaluated in float64, on a copy of the module, along one random direction for each
parameter. A parameter is skipped if two step sizes disagree on the slope (at a kink or a jump).
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
from tvm import relax

from ...compat.serialization import load_json, save_json
from ...generators.ops import table
from ..contract import Relation
from ..errors import Mismatch, Undefined, Unsupported
from ..evaluate import Evaluator
from ..expected.comparison import finite
from ..expected.inputs import InputKind, drawn
from ..graph import Graph
from ..identity import FailureKind
from ..inspect import bindings_of, calls_of, nodes, op_name
from ..oracle import Breach, Half, Halves, Oracle
from ..pass_arguments import argument, positional
from ..pass_runs import PassRuns, attempt, run_alone
from ..passcall import PassCall
from ..silence import inventory
from ..silence.log import abstain
from ..snippets.value_reproducer import PIPELINE_TEXTS, literal, machine_text
from ..violation import Case, Violation
from .blame import alone

STEP = 2.0**-12
"""Step of central differences. Their error is about its square, 6e-8, plus 1e-16 / STEP for
rounding."""

AGREE = 1e-5
"""Relative difference up to which two slopes agree, so that no kink lies between the steps."""

WRONG = 1e-3
"""Difference above which a gradient is wrong, relative to the slope and the size of its terms."""

COMBINATION = "a combination of operators"
FUNCTION = "a call of a function"


@dataclass(frozen=True, slots=True)
class Slope:
    """One parameter's gradient along one direction, and its expected value."""

    param: int
    args: list[Any]
    direction: Any
    expected: float
    actual: float
    """NaN if the adjoint has undefined behaviour."""

    @property
    def wrong(self) -> bool:
        """True if they differ by more than rounding and the finite step can explain."""
        return not abs(self.actual - self.expected) <= WRONG * (1 + abs(self.expected))


def gradients(runs: PassRuns) -> Violation | None:
    """The first parameter whose gradient is not the slope of the function."""
    if runs.contract.relation is not Relation.ADJOINT:
        abstain(inventory.NO_PROMISE, "the pass makes no gradients")
        return None
    after = runs.result()
    if after is None:
        return None
    name, index = _target(runs.call)
    if f"{name}_adjoint" in runs.mod:
        return None
    if name not in after or f"{name}_adjoint" not in after:
        abstain(inventory.NOT_CALLED, "the result has lost the function, or has no adjoint of it")
        return None
    runs.step("evaluate gradients")
    slope = _first_wrong(after, name, index)
    if slope is None:
        return None
    culprit = _culprit(runs, name, slope)
    what = f"the gradient is not the slope, because of {culprit}"
    detail = (
        f"{name}: along one direction of parameter {slope.param} the gradient of "
        f"{name}_adjoint {_text(slope.actual)}, finite differences {slope.expected:.6g}"
    )
    return Violation(what, detail, ("gradient", culprit))


def _text(actual: float) -> str:
    return "is undefined" if math.isnan(actual) else f"gives {actual:.6g}"


def _target(call: PassCall) -> tuple[str, int]:
    return str(positional(call)[0]), int(argument(call, "target_index", 2) or 0)


def _first_wrong(after: tvm.IRModule, name: str, index: int) -> Slope | None:
    try:
        return next((slope for slope in _slopes(_doubled(after), name, index) if slope.wrong), None)
    except Unsupported:
        return None


def _slopes(mod: tvm.IRModule, name: str, index: int) -> Iterator[Slope]:
    """Yields slopes and gradients of every parameter, for positive arguments and for others."""
    for kind in (InputKind.POSITIVE, InputKind.FRACTION):
        rng = np.random.default_rng(7)
        try:
            # Avoid whole numbers, where most kinks are.
            args = [_moved(arg, rng) for arg in drawn(mod[name], kind, 1)]
            found = _gradients_at(mod, name, args)
        except (Unsupported, Mismatch):
            continue
        for param, gradient in found.items():
            if _unavailable(mod[name], param):
                continue
            direction = _random(args[param], rng)
            slope = _slope(mod, name, index, args, param, direction)
            if slope is not None and gradient is None:
                yield Slope(param, args, direction, slope, math.nan)
            elif slope is not None and finite(gradient):
                yield Slope(param, args, direction, slope, along(gradient, direction))


def _gradients_at(mod: tvm.IRModule, name: str, args: list[Any]) -> Mapping[int, Any]:
    """The gradients that the adjoint gives, by parameter.

    None if the adjoint has undefined behaviour, such as an index out of bounds; if the function has
    a slope, that is an error.
    """
    try:
        return dict(enumerate(_evaluated(mod, f"{name}_adjoint", args)[1]))
    except Undefined:
        return dict.fromkeys(param for param, arg in enumerate(args) if _is_float(arg))


def _is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size > 0


def _evaluated(mod: tvm.IRModule, name: str, args: list[Any]) -> Any:
    evaluator = Evaluator(mod)
    result = evaluator.run(name, args)
    if evaluator.misused:
        raise Undefined("a tensor is needed after it was updated in place")
    return result


def _slope(
    mod: tvm.IRModule, name: str, index: int, args: list[Any], param: int, direction: Any
) -> float | None:
    """The slope along a direction; None at a kink, or if the function is not defined."""

    def at(step: float) -> float:
        moved = [*args]
        moved[param] = shifted(args[param], direction, step)
        result = _evaluated(mod, name, moved)
        return float(result[index] if isinstance(result, tuple) else result)

    try:
        here = at(0)
        sides = [(at(s) - at(-s)) / (2 * s) for s in (STEP, STEP / 2)]
        sides += [(at(STEP) - here) / STEP, (here - at(-STEP)) / STEP]
    except (Unsupported, Mismatch, Undefined):
        return None
    size = AGREE * (1 + abs(sides[0]))
    # One-sided differences have an error as large as the step itself.
    curved = abs(sides[2] - sides[3]) > (1 + abs(sides[0])) * WRONG * 10
    smooth = np.isfinite(sides).all() and abs(sides[0] - sides[1]) <= size and not curved
    return sides[0] if smooth else None


def _unavailable(func: relax.Function, param: int) -> bool:
    """True if the parameter reaches an operand that has no gradient."""
    reached = {func.params[param]}
    for binding in bindings_of(func):
        value = binding.value
        if not reached.isdisjoint(nodes(value, relax.Var)):
            reached.add(binding.var)
        record = table.get((op_name(value) or "").removeprefix("relax."))
        places = () if record is None else record.without_gradient
        if any(value.args[place] in reached for place in places if place < len(value.args)):
            return True
    return False


def _random(value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, tuple):
        return tuple(_random(item, rng) for item in value)
    return rng.uniform(0.5, 1.5, value.shape) * rng.choice([-1, 1], value.shape)


def _moved(value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, tuple):
        return tuple(_moved(item, rng) for item in value)
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return value
    return value + rng.uniform(0.01, 0.1, value.shape)


# The copy in float64

NARROW = ("float32", "float16")
FLOAT_CODE = 2
"""DLPack's code of floats."""


def _doubled(mod: tvm.IRModule) -> tvm.IRModule:
    """The module in float64, so that rounding does not matter.

    Raises:
        Unsupported: the module is ill-formed in float64.
    """
    graph = Graph(mod)
    for node in graph.nodes:
        data = node.get("data")
        if node["type"] == "ffi.Tensor":
            node["data"] = _tensor(node["data"])
        elif isinstance(data, dict):
            node["data"] = {key: _wide(value) for key, value in data.items()}
        else:
            node["data"] = _wide(data)
    try:
        twin = graph.load()
    except Exception as error:
        raise Unsupported(f"a twin in float64: {error}") from error
    if not relax.analysis.check_well_formed(twin):
        raise Unsupported("a twin in float64 that is well-formed")
    return twin


def _wide(value: Any) -> Any:
    return "float64" if isinstance(value, str) and value in NARROW else value


def _tensor(text: str) -> str:
    """A tensor in TVM's saved form, in float64 if it is of narrower floats.

    The form has magic, reserved, device, rank, dtype, shape, size, data.
    """
    raw = base64.b64decode(text)
    rank, code, bits, lanes = struct.unpack_from("<iBBH", raw, 24)
    if code != FLOAT_CODE or bits not in (16, 32) or lanes != 1:
        return text
    start = 32 + 8 * rank
    numbers = np.frombuffer(raw, f"<f{bits // 8}", offset=start + 8).astype("<f8").tobytes()
    dtype = struct.pack("<BBH", FLOAT_CODE, 64, 1)
    wide = raw[:28] + dtype + raw[32:start] + struct.pack("<q", len(numbers)) + numbers
    return base64.b64encode(wide).decode()


# Blame


def _culprit(runs: PassRuns, name: str, slope: Slope) -> str:
    """The operator whose gradient is wrong in a module of its own, on its original operands."""
    values: dict[Any, Any] = {}
    try:
        params = runs.mod[name].params
        args = [_as(arg, param.ty) for arg, param in zip(slope.args, params, strict=True)]
        Evaluator(runs.mod, watch=values.setdefault).run(name, args)
    except (Unsupported, Mismatch, Undefined):
        return COMBINATION
    for binding in bindings_of(runs.mod[name]):
        op = op_name(binding.value)
        single = None if op is None else alone(binding.value, values, summed=True)
        if op is None or single is None:
            continue
        run: Callable[[tvm.IRModule], tvm.IRModule] = runs.under(relax.transform.Gradient("main"))
        after = attempt(run, single[0]).mod
        if after is not None and _first_wrong(after, "main", 0) is not None:
            return op
    calls = calls_of(runs.mod[name])
    return FUNCTION if any(op_name(call) is None for call in calls) else COMBINATION


def _as(value: Any, ty: relax.Type) -> Any:
    if isinstance(value, tuple):
        return tuple(_as(item, field) for item, field in zip(value, ty.fields, strict=True))
    return value.astype(str(ty.dtype)) if isinstance(value, np.ndarray) else value


# Reproducer

_CHECK = """\
args = {args}
direction = {direction}


def at(step):
    moved = [*args]
    moved[{param}] = shifted(args[{param}], direction, step)
    result = run({name!r}, moved)
    return float(result[{index}] if isinstance(result, tuple) else result)


expected = (at(2**-5) - at(-(2**-5))) * 2**4
actual = along(run({adjoint!r}, args)[1][{param}], direction)
assert abs(actual - expected) <= 0.05 * (1 + abs(expected)), (
    f"the gradient of parameter {param} gives {{actual}}, finite differences {{expected}}"
)
"""


def shifted(value: Any, direction: Any, step: float) -> Any:
    """The value plus `step` times the direction, in the value's dtype."""
    if isinstance(value, tuple):
        return tuple(shifted(v, d, step) for v, d in zip(value, direction, strict=True))
    return (value + step * direction).astype(value.dtype)


def along(gradient: Any, direction: Any) -> float:
    """The slope that a gradient means, into a direction."""
    if isinstance(gradient, tuple):
        return sum(along(g, d) for g, d in zip(gradient, direction, strict=True))
    return float((np.asarray(gradient).astype("float64") * direction).sum())


def _brief(case: Case, violation: Violation) -> Iterator[str]:
    """Python that compares the built adjoint with the function's slope between two points."""
    (call,) = case.calls
    runs = run_alone(case.mod, call)
    name, index = _target(call)
    slope = None if runs.direct.mod is None else _first_wrong(runs.direct.mod, name, index)
    if slope is None:
        return
    params = case.mod[name].params
    check = _CHECK.format(
        args=literal([_as(arg, param.ty) for arg, param in zip(slope.args, params, strict=True)]),
        direction=literal(slope.direction),
        param=slope.param,
        name=name,
        adjoint=f"{name}_adjoint",
        index=index,
    )
    yield machine_text("the_pass(mod)", PIPELINE_TEXTS["default"], shifted, along) + check


def _halves(case: Case, violation: Violation) -> Halves | None:
    (call,) = case.calls
    after = call.run(load_json(save_json(case.mod)))
    name, index = _target(call)
    slope = _first_wrong(after, name, index)
    if slope is None:
        return None
    what = f"# the slope of {name} along one direction of its parameter {slope.param}:"
    return (
        Half(f"before {call.name}", case.mod, f"{what}\n# {slope.expected:.6g}"),
        Half(f"after {call.name}", after, f"{what}\n# {slope.actual:.6g}"),
    )


ORACLE = Oracle(
    name="gradient",
    breach=Breach(FailureKind.VALUES),
    tier=3,
    promise="The adjoint function returns the gradients of the function's target.",
    source="docstring of relax.transform.Gradient: 'The new function computes the gradient of the "
    "differentiation target with respect to the arguments'",
    check=gradients,
    brief=_brief,
    halves=_halves,
)
