"""Reproducers of wrong values: arguments and expected results as literals, build, run, compare."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import tvm

from ...generators.ops.record import Tolerance
from .. import pipelines
from ..errors import TooLarge
from ..execute import DEVICES, from_numpy, to_numpy
from ..execute.device import CPU, C
from ..execute.lowering import steps_left
from ..expected.comparison import leaves, sensitivity
from ..expected.recipes import LARGE, is_large, recipe
from ..inspect import local_functions
from ..passcall import own


def device_texts(kind: str) -> tuple[str, str]:
    """Expressions for the target of the device at hand, and for the device."""
    if kind == CPU:
        return 'tvm.target.Target({"kind": "llvm", "opt-level": 0})', "tvm.cpu()"
    if kind == C:
        return '"c"', "tvm.cpu()"
    here = f'tvm.target.Target.from_device("{kind}")'
    return f'tvm.target.Target({here}, host="llvm")', f'tvm.device("{kind}")'


def functions_text(names: Sequence[str]) -> str:
    """An expression for some PrimFuncs of `after`, bound to no target."""
    return f'tvm.IRModule({{name: after[name].without_attr("target") for name in {list(names)}}})'


def bounds_of(
    result: Any, tolerance: Tolerance, shaken: Sequence[Any] | None
) -> tuple[float, float]:
    """Relative and absolute tolerance; both widen with the effect of rounding on the result.

    Args:
        shaken: see `Expectation.bounds`, which gives the last two arguments.
    """
    relative = max(_relative(x, tolerance) for x in [*_arrays(result), np.zeros(())])
    return relative, relative + _moved(result, shaken or ())


def remaining_text(mod: tvm.IRModule, pipeline: str) -> str:
    """The passes that `execute` applies to a module, spelled out for `relax.build`."""
    whole = pipeline_text(pipeline)
    passes = ['relax.get_pipeline("default")' if pipeline == "default" else whole]
    if (calls := steps_left(mod)) is not None:
        exprs = [call.expr for call in calls]
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
machine = relax.VirtualMachine(built, [tvm.cpu()] * {devices})


def run(name, args):
    return to_numpy(machine[name](*map(from_numpy, args)))

"""


def machine_text(mod: str, pipeline: str, *helpers: Any) -> str:
    """Statements that build a module and define `run(name, args)`.

    Args:
        mod: an expression.
        pipeline: an expression, see `PIPELINE_TEXTS`.
        helpers: functions whose text is included; they use only TVM, NumPy and one another.
    """
    functions = map(_text_of, (from_numpy, to_numpy, *helpers))
    build = _BUILD.format(mod=mod, pipeline=pipeline, devices=DEVICES)
    return "\n\n\n".join(["import numpy as np\nimport tvm\nimport tvm_ffi", *functions, build])


def _text_of(function: Any) -> str:
    """The text of a function without annotations."""
    tree = ast.parse(inspect.getsource(function))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
    return ast.unparse(tree)


PIPELINE_TEXTS = {
    "default": '"default"',
    "cpu_generic": "relax.get_default_pipeline(target)",
    "zero": "tvm.transform.Sequential(\n"
    '    [relax.get_pipeline("zero"), relax.get_pipeline("default")]\n)',
}


def pipeline_text(name: str) -> str:
    """Python for the passes of a pipeline and those that a build needs after it."""
    if not pipelines.is_own(name):
        return PIPELINE_TEXTS[name]
    place, factory, args, _ = own(name)
    home = f"__import__('runpy').run_path({place!r})[{factory!r}]"
    if not place.endswith(".py"):
        home = f"__import__('importlib').import_module({place!r}).{factory}"
    made = f"(lambda it: it if isinstance(it, tvm.transform.Pass) else it())({home})"
    passes = [f"{home}{args}" if args else made]
    passes += [] if pipelines.lowers(name) else ['relax.get_pipeline("default")']
    return f"tvm.transform.Sequential([{', '.join(passes)}])"


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
        TooLarge: a large array that was not made by an expression, see `recipes`.
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
    """An expression for an array of a single number, short but exact; None for others."""
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
    """The distance by which rounding may move a result, according to its perturbed forms."""
    return max(
        (
            sensitivity(a) * float(np.abs(a.astype("float64") - b.astype("float64")).max())
            for one in shaken
            for a, b in zip(_arrays(result), _arrays(one), strict=False)
            if a.size and a.shape == b.shape and np.isfinite(a.astype("float64")).all()
        ),
        default=0.0,
    )
