"""Executed semantics: what a built module computes is what the module means.

Four values are at hand: evaluated and executed, before the pass and after. The pass is guilty only
where both values before agree and the one after differs; a disagreement before the pass is the
business of the pipeline (or of the evaluator), and reported under the pipeline's name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from ..generators.ops import table
from ..generators.ops.record import Tolerance
from . import keys
from .evaluate import Evaluator, Mismatch, Unsupported
from .execute import Executable
from .inputs import arguments
from .inspect import public_functions
from .oracle import Problem
from .values import difference, finite, perturbed

DRAWS = ((0, False), (1, True))
"""Seeds of the arguments, and whether they are positive only."""

LOOSE = Tolerance(float16=1e-1, float32=2e-2, float64=1e-3, reason="computes in less precision")


@dataclass(frozen=True, slots=True)
class Expectation:
    """One call of one function, and what it must give."""

    function: str
    args: list[Any]
    result: Any
    sensitive: Any
    """The result where every operator's result is slightly off: the leeway that rounding has."""


def expectations(mod: tvm.IRModule) -> Iterator[Expectation]:
    """Calls of the public functions that the evaluator knows, with finite results throughout.

    NaN and infinity are left out, since operators are free in how they treat them.
    """
    for gvar, func in public_functions(mod):
        if not func.is_pure:
            continue
        for seed, positive in DRAWS:
            usual = True

            def watch(var: relax.Var, value: Any) -> None:
                nonlocal usual
                usual = usual and (callable(value) or finite(value))

            try:
                args = arguments(func, seed, positive=positive)
                name = str(gvar.name_hint)
                result = Evaluator(mod, watch).run(name, args)
                if usual:
                    sensitive = Evaluator(mod, perturb=perturbed).run(name, args)
                    yield Expectation(name, args, result, sensitive)
            except (Unsupported, Mismatch):
                continue


def executed_by_pass(
    before: tvm.IRModule, after: tvm.IRModule, tolerance: Tolerance | None = None
) -> Problem | None:
    """What the VM computes after a pass against NumPy before it."""
    expected = list(expectations(before))
    if not expected:
        return None
    try:
        executable = Executable(after)
    except Exception as error:
        if _builds(before):
            problem = keys.exception(error)
            return Problem(
                f"the result no longer builds: {problem.title}",
                problem.detail,
                ("build", *problem.key),
                ("build", *problem.fingerprint),
            )
        return None
    for case in expected:
        wrong = _judge(executable, case, tolerance)
        if wrong is not None and _judge(Executable(before), case, tolerance) is None:
            kind = wrong.split(":", 1)[0]
            return Problem(
                f"the result computes other {kind} than the module",
                f"{case.function}: {wrong}",
                (kind,),
                (kind,),
            )
    return None


def executed_by_pipeline(mod: tvm.IRModule, pipeline: str) -> Problem | None:
    """What the VM computes after a whole pipeline against NumPy."""
    expected = list(expectations(mod))
    if not expected:
        return None
    try:
        executable = Executable(mod, pipeline)
    except Exception as error:
        return keys.exception(error)
    for case in expected:
        wrong = _judge(executable, case, None)
        if wrong is None:
            continue
        culprit = _culprit(mod, case, pipeline)
        kind = wrong.split(":", 1)[0]
        return Problem(
            f"{culprit} computes other {kind} than its documentation says",
            f"{case.function}: {wrong}",
            (culprit, kind),
            (culprit, kind),
        )
    return None


def _builds(mod: tvm.IRModule) -> bool:
    try:
        Executable(mod)
    except Exception:
        return False
    return True


def _judge(executable: Executable, case: Expectation, tolerance: Tolerance | None) -> str | None:
    try:
        actual = executable.run(case.function, case.args)
    except Exception as error:
        return f"results (the VM raised {type(error).__name__}): {error}"
    return difference(case.result, actual, case.sensitive, tolerance)


def _culprit(mod: tvm.IRModule, case: Expectation, pipeline: str) -> str:
    """The operator that alone, on the values it met, gives another result; or the combination."""
    values: dict[Any, Any] = {}
    Evaluator(mod, values.__setitem__).run(case.function, case.args)
    func = mod[case.function]
    values.update(zip(func.params, case.args, strict=True))
    for block in func.body.blocks:
        for binding in block.bindings:
            call = binding.value
            if isinstance(call, relax.Call) and isinstance(call.op, tvm.ir.Op):
                alone = _alone(call, values)
                if alone is not None and _fails(*alone, pipeline):
                    return str(call.op.name)
    return "a combination of operators"


def _alone(call: relax.Call, values: dict[Any, Any]) -> tuple[tvm.IRModule, list[Any]] | None:
    """A module of this one call, its tensor operands made parameters of the shapes met."""
    if call.op.name.removeprefix("relax.") not in table:
        return None
    params: list[relax.Var] = []
    args: list[Any] = []

    def operand(expr: relax.Expr) -> relax.Expr:
        if isinstance(expr, relax.Tuple):
            return relax.Tuple([operand(field) for field in expr.fields])
        if not isinstance(expr, relax.Var) or expr not in values:
            return expr
        value = values[expr]
        if not hasattr(value, "shape"):
            return expr
        param = relax.Var(f"x{len(params)}", relax.TensorType(value.shape, str(value.dtype)))
        params.append(param)
        args.append(value)
        return param

    builder = relax.BlockBuilder()
    operands = [operand(expr) for expr in call.args]
    try:
        with builder.function("main", params):
            out = builder.emit(relax.Call(call.op, operands, call.attrs, call.ty_args))
            builder.emit_func_output(out)
        return builder.get(), args
    except Exception:
        return None


def _fails(mod: tvm.IRModule, args: list[Any], pipeline: str) -> bool:
    try:
        case = Expectation(
            "main",
            args,
            Evaluator(mod).run("main", args),
            Evaluator(mod, perturb=perturbed).run("main", args),
        )
        return _judge(Executable(mod, pipeline), case, None) is not None
    except Exception:
        return False
