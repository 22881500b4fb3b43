"""Gradients: what `<function>_adjoint` returns is the slope of the function.

Both are evaluated in float64, on a twin of the module, along one random direction for each
parameter. A parameter is skipped where two steps do not agree on the slope (at a kink, on a jump).
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
from tvm import relax

from ...compat.serialization import load_json, save_json
from ..catalogue.common import argument, positional
from ..composition import contract_of
from ..contract import Relation
from ..errors import Mismatch, Undefined, Unsupported
from ..evaluate import Evaluator
from ..grades.grade import Grade
from ..identity import FailureKind
from ..inspect import bindings_of, calls_of, nodes, op_name
from ..metamorphic.graph import Graph
from ..oracle import Half, Halves, Oracle
from ..pass_runs import PassRuns, attempt
from ..passcall import PassCall
from ..silence import inventory
from ..silence.log import abstain
from ..text.value_reproducer import built_text, literal
from ..violation import Case, Violation
from .blame import alone
from .comparison import finite
from .inputs import Kind, drawn

STEP = 2.0**-12
"""Central differences are off by about its square, 6e-8, and by 1e-16 / STEP for rounding."""

AGREE = 1e-5
"""Two steps agree on a slope: there is no kink between them."""

WRONG = 1e-3
"""Relative to the slope and the size of its terms."""

UNAVAILABLE = {"relax.nn.nll_loss": 2}
"""Operands for which an operator has no gradient. Docstring of nll_loss_grad in
tvm/relax/op/_op_gradient.py: 'The gradient w.r.t. targets and weights are not available.'"""

COMBINATION = "a combination of operators"
FUNCTION = "a call of a function"


@dataclass(frozen=True, slots=True)
class Slope:
    """One parameter's gradient along one direction, and what it must be."""

    param: int
    args: list[Any]
    direction: Any
    expected: float
    actual: float

    @property
    def wrong(self) -> bool:
        """They differ by more than rounding and the finite step explain."""
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
    runs.step("evaluate gradients")
    slope = _first_wrong(after, name, index)
    if slope is None:
        return None
    culprit = _culprit(runs, name, slope)
    what = f"the gradient is not the slope, because of {culprit}"
    detail = (
        f"{name}: along one direction of parameter {slope.param} the gradient of "
        f"{name}_adjoint gives {slope.actual:.6g}, finite differences {slope.expected:.6g}"
    )
    return Violation(what, detail, ("gradient", culprit))


def _target(call: PassCall) -> tuple[str, int]:
    return str(positional(call)[0]), int(argument(call, "target_index") or 0)


def _first_wrong(after: tvm.IRModule, name: str, index: int) -> Slope | None:
    try:
        return next((slope for slope in _slopes(_doubled(after), name, index) if slope.wrong), None)
    except Unsupported:
        return None


def _slopes(mod: tvm.IRModule, name: str, index: int) -> Iterator[Slope]:
    """Slopes and gradients of every parameter, for positive arguments and for others."""
    for kind in (Kind.POSITIVE, Kind.FRACTION):
        rng = np.random.default_rng(7)
        try:
            # Off the whole numbers, where most kinks are.
            args = [_moved(arg, rng) for arg in drawn(mod[name], kind, 1)]
            _, found = _evaluated(mod, f"{name}_adjoint", args)
        except (Unsupported, Mismatch, Undefined):
            continue
        for param, gradient in enumerate(found):
            if _unavailable(mod[name], param):
                continue
            direction = _random(args[param], rng)
            slope = _slope(mod, name, index, args, param, direction)
            if slope is not None and finite(gradient):
                yield Slope(param, args, direction, slope, along(gradient, direction))


def _evaluated(mod: tvm.IRModule, name: str, args: list[Any]) -> Any:
    evaluator = Evaluator(mod)
    result = evaluator.run(name, args)
    if evaluator.misused:
        raise Undefined("a tensor is needed after it was updated in place")
    return result


def _slope(
    mod: tvm.IRModule, name: str, index: int, args: list[Any], param: int, direction: Any
) -> float | None:
    """None where there is a kink, or the function is not defined."""

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
    # One-sided differences are off by the step itself.
    curved = abs(sides[2] - sides[3]) > (1 + abs(sides[0])) * WRONG * 10
    smooth = np.isfinite(sides).all() and abs(sides[0] - sides[1]) <= size and not curved
    return sides[0] if smooth else None


def _unavailable(func: relax.Function, param: int) -> bool:
    """The parameter reaches an operand for which there is no gradient."""
    reached = {func.params[param]}
    for binding in bindings_of(func):
        value = binding.value
        if not reached.isdisjoint(nodes(value, relax.Var)):
            reached.add(binding.var)
        place = UNAVAILABLE.get(op_name(value) or "")
        if place is not None and place < len(value.args) and value.args[place] in reached:
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


# The twin in float64

NARROW = ("float32", "float16")
FLOAT_CODE = 2
"""DLPack's code of floats."""


def _doubled(mod: tvm.IRModule) -> tvm.IRModule:
    """The module in float64, where rounding does not matter; Unsupported if it is ill-formed."""
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
    """A tensor as TVM saves it: magic, reserved, device, rank, dtype, shape, size, data."""
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
    """The operator whose gradient is wrong in a module of its own, on the values that it had."""
    values: dict[Any, Any] = {}
    try:
        params = runs.mod[name].params
        args = [_as(arg, param.ty) for arg, param in zip(slope.args, params, strict=True)]
        Evaluator(runs.mod, lambda var, value: values.setdefault(var, value)).run(name, args)
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
    """A value moved by so many steps into a direction."""
    if isinstance(value, tuple):
        return tuple(shifted(v, d, step) for v, d in zip(value, direction, strict=True))
    return (value + step * direction).astype(value.dtype)


def along(gradient: Any, direction: Any) -> float:
    """The slope that a gradient means, into a direction."""
    if isinstance(gradient, tuple):
        return sum(along(g, d) for g, d in zip(gradient, direction, strict=True))
    return float((np.asarray(gradient).astype("float64") * direction).sum())


def _snippet(case: Case) -> str:
    """The built function and its adjoint, and the slope between two points."""
    (call,) = case.calls
    runs = PassRuns(case.mod, case.calls, contract_of(call), alone=True)
    name, index = _target(call)
    slope = None if runs.direct.mod is None else _first_wrong(runs.direct.mod, name, index)
    if slope is None:
        return "apply(mod)"
    params = case.mod[name].params
    check = _CHECK.format(
        args=literal([_as(arg, param.ty) for arg, param in zip(slope.args, params, strict=True)]),
        direction=literal(slope.direction),
        param=slope.param,
        name=name,
        adjoint=f"{name}_adjoint",
        index=index,
    )
    return built_text(shifted, along) + check


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
    failure=FailureKind.VALUES,
    tier=3,
    grade=Grade.A,
    cost=0.1,  # 10 where the pass is Gradient
    promise="The adjoint function returns the gradients of the function's target.",
    source="docstring of relax.transform.Gradient: 'The new function computes the gradient of the "
    "differentiation target with respect to the arguments'",
    check=gradients,
    snippet=_snippet,
    halves=_halves,
    thorough=True,
)
