"""Reproducers of wrong values: arguments and expected results as literals, build, run, compare."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax

from ...generators.ops.record import Tolerance
from ..errors import TooLarge
from ..execute import DEVICES, from_numpy, to_numpy
from ..execute.device import CPU, called
from ..execute.lowering import DONE
from ..execute.vectors import vectors_of, with_vectors
from ..inspect import local_functions, nodes, ops_used, relax_functions
from ..pipelines import steps
from ..values.comparison import leaves, sensitivity
from ..values.expectation import Expectation
from ..values.recipes import LARGE, is_large, recipe
from .standalone import standalone


def executed_text(
    expected: Sequence[Expectation],
    calls: Sequence[str],
    tolerance: Tolerance | None = None,
    pipeline: str | None = None,
    after: tvm.IRModule | None = None,
) -> str:
    """Statements that build `apply(mod)`, or `mod` by a pipeline, and fail where a value is wrong.

    Args:
        after: what is built, `apply(mod)` or `mod`: it shows which passes are still to come.
        calls: for each expectation, statements that set `actual`, from `run` and the list `args`.
        tolerance: see `Expectation.bounds`.
    """
    built = built_text(assert_close, pipeline=pipeline, after=after)
    return _compared(built, expected, calls, tolerance)


def evaluated_text(
    expected: Sequence[Expectation], calls: Sequence[str], tolerance: Tolerance | None = None
) -> str:
    """The same where compiled code does not show it: statements that evaluate `apply(mod)`.

    They need relaxfuzz.
    """
    return _compared(f"{standalone(assert_close)}\n\n\n{_EVALUATE}", expected, calls, tolerance)


def device_text(
    e: Expectation, names: Sequence[str], kind: str, tolerance: Tolerance | None
) -> str:
    """Statements that build PrimFuncs of `apply(mod)` for a device of this machine, call one there,
    and fail where a value is wrong.

    Args:
        names: of the PrimFuncs, as `functions_text` takes them.
        kind: of the device.
        tolerance: see `Expectation.bounds`.
    """
    target, device = device_texts(kind)
    prepared = (
        f"{standalone(called, assert_close)}\n\n\n"
        f"after = apply(mod)\npart = {functions_text(names)}\n"
        f"built = tvm.tirx.build(part, {target})\n"
    )
    vectors = vectors_of(e.mod[e.function])
    given = f"args, {device}, {vectors}" if vectors else f"args, {device}"
    call = f"actual = called(built[{e.function!r}], {given})"
    return _compared(prepared, [e], [call], tolerance)


def device_texts(kind: str) -> tuple[str, str]:
    """Expressions for the target of the device at hand, and for the device."""
    if kind == CPU:
        return 'tvm.target.Target({"kind": "llvm", "opt-level": 0})', "tvm.cpu()"
    here = f'tvm.target.Target.from_device("{kind}")'
    return f'tvm.target.Target({here}, host="llvm")', f'tvm.device("{kind}")'


def functions_text(names: Sequence[str]) -> str:
    """An expression for some PrimFuncs of `after`, bound to no target."""
    return f'tvm.IRModule({{name: after[name].without_attr("target") for name in {list(names)}}})'


def _compared(
    prepared: str,
    expected: Sequence[Expectation],
    calls: Sequence[str],
    tolerance: Tolerance | None,
) -> str:
    parts = [prepared]
    for e, call in zip(expected, calls, strict=True):
        if not e.promised:
            parts.append(f"args = {literal(e.args)}\n{call}")
            continue
        relative, absolute = bounds_of(e.result, *e.bounds(tolerance))
        result, made = literal_or_evaluated(e)
        parts.append(
            f"args = {literal(e.args)}\n{made}{call}\n"
            f"assert_close(actual, {result}, rtol={relative:g}, atol={absolute:g})"
        )
    return "\n\n".join(parts)


def literal_or_evaluated(e: Expectation) -> tuple[str, str]:
    """An expression for what a call of `mod` must give, and statements that come before the call.

    A large result is evaluated again, which needs relaxfuzz.
    """
    if not is_large(e.result):
        return literal(e.result), ""
    evaluated = f"expected = evaluate(mod, {e.function!r}, args)\n"
    return "expected", f"from relaxfuzz import evaluate\n\n{evaluated}"


def bounds_of(
    result: Any, tolerance: Tolerance, shaken: Sequence[Any] | None
) -> tuple[float, float]:
    """Relative and absolute: the wider, the further rounding moves the result.

    Args:
        shaken: see `Expectation.bounds`, which gives the last two arguments.
    """
    relative = max(_relative(x, tolerance) for x in [*_arrays(result), np.zeros(())])
    return relative, relative + _moved(result, shaken or ())


def built_text(
    *helpers: Any, pipeline: str | None = None, after: tvm.IRModule | None = None
) -> str:
    """Statements that build `apply(mod)`, or `mod` by a pipeline, and define `run(name, args)`.

    Args:
        helpers: functions whose text comes along.
        after: see `executed_text`.
    """
    if after is not None and not any(True for _ in relax_functions(after)):
        vectors = {str(gvar.name_hint): vectors_of(func) for gvar, func in after.functions_items()}
        if not any(vectors.values()):
            return f"{standalone(from_numpy, *helpers)}\n\n\n{_COMPILE.format(given='given')}"
        given = f"with_vectors(given, {vectors}[name])"
        helped = standalone(from_numpy, with_vectors, *helpers)
        return f"{helped}\n\n\n{_COMPILE.format(given=given)}"
    name = pipeline or "default"
    passes = PIPELINE_TEXTS[name] if after is None else remaining_text(after, name)
    if pipeline:
        build = machine_text("mod", passes)
    else:
        build = machine_text("apply(mod)", passes, template=_GUARDED_BUILD)
    return f"{standalone(from_numpy, to_numpy, *helpers)}\n\n\n{build}"


def remaining_text(mod: tvm.IRModule, pipeline: str) -> str:
    """The passes that `execute` takes a module through, spelled out for `relax.build`."""
    seen = frozenset(ops_used(mod)) | {str(f.global_symbol) for f in nodes(mod, relax.ExternFunc)}
    done = {name for name, shows in DONE.items() if shows(seen)}
    whole = PIPELINE_TEXTS[pipeline]
    passes = ['relax.get_pipeline("default")' if pipeline == "default" else whole]
    if done:
        exprs = [call.expr for call in steps("default") if call.name not in done]
        passes = [e if e.startswith("relax.") else f"relax.transform.{e}" for e in exprs]
    if local_functions(mod):
        passes.insert(0, "relax.transform.LambdaLift()")
    if len(passes) == 1:
        return whole
    lines = "".join(f"        {expression},\n" for expression in passes)
    return f"tvm.transform.Sequential([\n{lines}    ])"


_BUILD = """\
target = tvm.target.Target({{"kind": "llvm", "opt-level": 0}})
built = relax.build({mod}, target, relax_pipeline={pipeline})
"""

_GUARDED_BUILD = """\
target = tvm.target.Target({{"kind": "llvm", "opt-level": 0}})
try:
    built = relax.build({mod}, target, relax_pipeline={pipeline})
except Exception as error:  # not what this is about
    raise SystemExit("TVM cannot build it: " + str(error).strip().partition("\\n")[0])
"""
"""That the result cannot be built is another finding than that it computes something else."""

_RUN = """\
machine = relax.VirtualMachine(built, [tvm.cpu()] * {devices})


def run(name, args):
    return to_numpy(machine[name](*map(from_numpy, args)))

"""


def machine_text(mod: str, pipeline: str, *, template: str = _BUILD) -> str:
    """Statements that build a module and define `run(name, args)`; they need the conversions from
    NumPy and back.

    Args:
        mod: an expression.
        pipeline: another one, see `PIPELINE_TEXTS`.
    """
    return template.format(mod=mod, pipeline=pipeline) + _RUN.format(devices=DEVICES)


_COMPILE = """\
try:
    built = tvm.compile(apply(mod), "llvm")
except Exception as error:  # not what this is about
    raise SystemExit("TVM cannot build it: " + str(error).strip().partition("\\n")[0])


def run(name, args):
    given = list(map(from_numpy, args))
    built[name](*{given})
    return tuple(arg.numpy() for arg in given if isinstance(arg, tvm.runtime.Tensor))

"""
"""Of a module of PrimFuncs, which are called as they are."""

_EVALUATE = """\
# Compiled code does not show this: the result is evaluated in NumPy, as relaxfuzz does it.
from relaxfuzz import evaluate

after = apply(mod)


def run(name, args, functions={}):
    return evaluate(after, name, args, functions)

"""

PIPELINE_TEXTS = {
    "default": '"default"',
    "cpu_generic": "relax.get_default_pipeline(target)",
    "zero": "tvm.transform.Sequential(\n"
    '    [relax.get_pipeline("zero"), relax.get_pipeline("default")]\n)',
}


def assert_close(actual: Any, expected: Any, rtol: float, atol: float) -> None:
    """Tuples element by element; shapes and dtypes exactly; floats up to rounding."""
    if isinstance(expected, tuple | list):
        assert len(actual) == len(expected), f"expected {len(expected)} results: {actual}"
        for one, other in zip(actual, expected, strict=True):
            assert_close(one, other, rtol, atol)
        return
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.dtype == expected.dtype, f"dtype {actual.dtype}, expected {expected.dtype}"
    if expected.dtype.kind in "iub":
        np.testing.assert_array_equal(actual, expected, strict=True)
    else:
        actual, expected = actual.astype("float64"), expected.astype("float64")
        np.testing.assert_allclose(actual, expected, rtol, atol, strict=True)


def literal(value: Any) -> str:
    """A Python expression for arguments and results.

    Raises:
        TooLarge: a large array that no expression has made, see `recipes`.
    """
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, tuple):
        return f"({''.join(f'{literal(item)}, ' for item in value)})"
    if not isinstance(value, np.ndarray | np.generic):
        return repr(value)
    if is_large(value):
        text = recipe(value) or constant(value)
        if text is None:
            raise TooLarge(f"the text of an array of {value.size} elements")
        return text
    name = str(value.dtype)
    dtype = f'"{name}"' if value.dtype.kind in "fiub" else f'np.dtype("{name}")'
    if not value.size:
        return f"np.zeros({value.shape!r}, {dtype})"
    # The shortest digits that identify a value of the dtype.
    items = np.array2string(
        np.asarray(value), separator=", ", threshold=LARGE + 1, max_line_width=88
    )
    named = _ODD.sub(lambda odd: f"np.{odd.group()}", items)
    return f"np.array({named}, {dtype})"


def constant(value: Any) -> str | None:
    """An expression for an array of one number, as short as it is exact; None for others."""
    first = value.flat[0] if value.dtype.kind in "fiub" and value.size else None
    if first is None or not (value == first).all():
        return None
    number = _ODD.sub(lambda odd: f"np.{odd.group()}", str(first.item()))
    return f'np.full({value.shape}, {number}, "{value.dtype}")'


_ODD = re.compile(r"\b(?:nan|inf)\b")


def _arrays(value: Any) -> list[Any]:
    return [leaf for _, leaf in leaves(value)]


def _relative(array: Any, tolerance: Tolerance) -> float:
    if array.dtype.kind in "iub":
        return 0.0
    found: float = getattr(tolerance, str(array.dtype), tolerance.float16)
    return found


def _moved(result: Any, shaken: Sequence[Any]) -> float:
    """The distance that rounding may move a result, as its perturbed forms show."""
    return max(
        (
            sensitivity(a) * float(np.abs(a.astype("float64") - b.astype("float64")).max())
            for one in shaken
            for a, b in zip(_arrays(result), _arrays(one), strict=False)
            if a.size and a.shape == b.shape and np.isfinite(a.astype("float64")).all()
        ),
        default=0.0,
    )
