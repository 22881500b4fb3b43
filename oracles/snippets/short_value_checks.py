"""Checks of values in a few lines: build, run, compare one call."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import tirx

from ...generators.ops.record import Tolerance
from ..execute import DEVICES
from ..execute.device import ON_CPU, C
from ..execute.vectors import vectors_of
from ..expected.expectation import Expectation
from ..expected.recipes import is_large
from .value_reproducer import (
    PIPELINE_TEXTS,
    bounds_of,
    constant,
    device_texts,
    functions_text,
    literal,
    pipeline_text,
    remaining_text,
)

TENSORS = " if isinstance(arg, tvm.runtime.Tensor)"
"""The condition that leaves out the scalars among arguments."""


def both_sides(
    e: Expectation, call: str, tolerance: Tolerance | None, after: tvm.IRModule | None
) -> Iterator[str]:
    """Run the module and the pass's result on the same arguments; or the result alone.

    Args:
        call: statements that set `actual`, from `run` and the list `args`.
        after: the expression for the result.
    """
    func = e.mod[e.function]
    of_prim_func = isinstance(func, tirx.PrimFunc)
    args = _buffers(func, e.args) if of_prim_func else _arguments(e.args)
    if args is None:
        return
    if of_prim_func:
        scalars = not all(isinstance(arg, np.ndarray) for arg in e.args)
        yield (
            f"results = []\nfor one in (mod, the_pass(mod)):\n    args = {args}\n"
            f'    tvm.compile(one, "llvm")[{e.function!r}](*args)\n'
            f"    results.append([arg.numpy() for arg in args{TENSORS if scalars else ''}])\n"
            f"before, after = results\n{_compared(e, 'after', 'before', tolerance)}"
        )
        return
    if call == f"actual = run({e.function!r}, args)" and (kept := _numpy(e.result)) is not None:
        for build in _builds("one", after):
            result = kept.format(f"machine[{e.function!r}](*args)")
            yield (
                f"args = {args}\nresults = []\n"
                f"for one in (mod, the_pass(mod)):\n    machine = {_machine(build, e.mod)}\n"
                f"    results.append({result})\n"
                f"before, after = results\n{_compared(e, 'after', 'before', tolerance)}"
            )
    yield from _against_numpy(e, call, tolerance, "the_pass(mod)", after)


def against_numpy(e: Expectation, pipeline: str) -> Iterator[str]:
    """Build the module by a pipeline and compare with NumPy's result, if one is promised."""
    call = f"actual = run({e.function!r}, args)"
    if e.promised:
        yield from _against_numpy(e, call, None, "mod", None, pipeline)
    else:
        yield from _called(e, call, "mod", None, pipeline)


def refused(e: Expectation, call: str, after: tvm.IRModule | None) -> Iterator[str]:
    """Run the result on arguments that the module takes."""
    func = e.mod[e.function]
    if isinstance(func, tirx.PrimFunc):
        if (args := _buffers(func, e.args)) is not None:
            yield f'args = {args}\ntvm.compile(the_pass(mod), "llvm")[{e.function!r}](*args)'
    else:
        yield from _called(e, call, "the_pass(mod)", after)


def _called(
    e: Expectation, call: str, mod: str, after: tvm.IRModule | None, pipeline: str = "default"
) -> Iterator[str]:
    if (args := _arguments(e.args)) is not None:
        for build in _builds(mod, after, pipeline):
            yield f"args = {args}\nmachine = {_machine(build, e.mod)}\n{_ran(call)}"


def on_one_device(
    e: Expectation, names: Sequence[str], kind: str, tolerance: Tolerance | None, *, runs: bool
) -> Iterator[str]:
    """Build PrimFuncs of the result for a device of this machine, and run one there.

    Args:
        names: names of the PrimFuncs.
        kind: the kind of the device.
        runs: True if they can be built.
    """
    target, device = device_texts(kind)
    build, library = f"tvm.tirx.build({functions_text(names)}, {target})", ""
    if kind == C:
        library = (
            "import tempfile\nfile = tempfile.mkdtemp() + '/code.so'\n"
            f"{build}.export_library(file)\n"
        )
        build = "tvm.runtime.load_module(file)"
    if not runs:
        yield f"after = the_pass(mod)\n{library}{build}"
        return
    args = _buffers(e.mod[e.function], e.args, "" if kind in ON_CPU else device)
    if args is None or is_large(e.result):
        return
    yield (
        f"after = the_pass(mod)\nargs = {args}\n{library}{build}[{e.function!r}](*args)\n"
        f"actual = [arg.numpy() for arg in args{TENSORS}]\n"
        f"expected = {_one_line(e.result)}\n{_compared(e, 'actual', 'expected', tolerance)}"
    )


def by_evaluator(
    e: Expectation, call: str, tolerance: Tolerance | None, *, raises: bool
) -> Iterator[str]:
    """Evaluate the result as relaxfuzz does it.

    Args:
        raises: the computation is undefined, or refuses its arguments.
    """
    if not all(isinstance(arg, np.ndarray | tuple) for arg in e.args):
        return
    lines = [
        "# Compiled code does not show this: the result is evaluated in NumPy.",
        "from relaxfuzz import evaluate",
        f"args, after = [{', '.join(map(_one_line, e.args))}], the_pass(mod)",
    ]
    if call == f"actual = run({e.function!r}, args)":
        lines.append(f"actual = evaluate(after, {e.function!r}, args, {{}})")
    else:
        lines.append(f"run = lambda name, args: evaluate(after, name, args, {{}})\n{call}")
    if not raises:
        if _numpy(e.result) is None:
            return
        expected = f"evaluate(mod, {e.function!r}, args)"
        lines.append(f"expected = {expected if is_large(e.result) else _one_line(e.result)}")
        lines.append(_compared(e, "actual", "expected", tolerance))
    yield "\n".join(lines)


def _against_numpy(
    e: Expectation,
    call: str,
    tolerance: Tolerance | None,
    mod: str,
    after: tvm.IRModule | None,
    pipeline: str = "default",
) -> Iterator[str]:
    args, kept = _arguments(e.args), _numpy(e.result)
    if args is None or kept is None or is_large(e.result):
        return
    for build in _builds(mod, after, pipeline):
        yield (
            f"args = {args}\nmachine = {_machine(build, e.mod)}\n{_ran(call)}\n"
            f"actual = {kept.format('actual')}\nexpected = {_one_line(e.result)}\n"
            f"{_compared(e, 'actual', 'expected', tolerance)}"
        )


def _ran(call: str) -> str:
    """The calls, made in the VM itself."""
    if "[" in call:
        return f"run = lambda name, args: machine[name](*args)\n{call}"
    return re.sub(r"\brun\((\S+), args\)", r"machine[\1](*args)", call)


def _builds(mod: str, after: tvm.IRModule | None, pipeline: str = "default") -> Iterator[str]:
    if pipeline == "default":
        yield f'relax.build({mod}, "llvm")'
        rest = PIPELINE_TEXTS[pipeline] if after is None else remaining_text(after, pipeline)
        if rest != PIPELINE_TEXTS[pipeline]:
            yield f'relax.build({mod}, "llvm", relax_pipeline={" ".join(rest.split())})'
    else:
        passes = pipeline_text(pipeline).replace("(target)", '(tvm.target.Target("llvm"))')
        yield f'relax.build({mod}, "llvm", relax_pipeline={" ".join(passes.split())})'


def _machine(build: str, mod: tvm.IRModule) -> str:
    devices = f"[tvm.cpu()] * {DEVICES}" if mod.global_infos else "tvm.cpu()"
    return f"relax.VirtualMachine({build}, {devices})"


def _arguments(args: list[Any], device: str = "") -> str | None:
    """The arguments in the VM's form; None if one cannot be written in a line.

    Args:
        device: an expression for the device of tensors; empty: the CPU.
    """
    texts = [_argument(arg, device) for arg in args]
    known = [text for text in texts if text is not None]
    return f"[{', '.join(known)}]" if len(known) == len(texts) else None


def _buffers(func: tirx.PrimFunc, args: list[Any], device: str = "") -> str | None:
    """The same for a compiled PrimFunc, whose buffers may have vectors: their scalars are the last
    axis of the argument's array."""
    texts = []
    vectors = vectors_of(func)
    for at, arg in enumerate(args):
        if (text := _argument(arg, device)) is None:
            return None
        if at in vectors:
            text += f"._create_view({arg.shape[:-1]}, {vectors[at]!r})"
        texts.append(text)
    return f"[{', '.join(texts)}]"


def _argument(value: Any, device: str = "") -> str | None:
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.kind not in "fiub":
            return None
        there = device and f", {device}"
        return f"tvm.runtime.tensor({_one_line(np.asarray(value))}{there})"
    if isinstance(value, tuple) and all(isinstance(item, int) for item in value):
        return f"tvm.runtime.ShapeTuple({list(value)})"
    if isinstance(value, tuple | list):
        fields = [_argument(item) for item in value]
        known = [field for field in fields if field is not None]
        whole = len(known) == len(fields)
        return f"({''.join(f'{field}, ' for field in known)})" if whole else None
    return repr(value) if isinstance(value, int | float | str) else None


def _one_line(value: Any) -> str:
    """A Python expression for arrays, as short as possible but exact."""
    if isinstance(value, tuple):
        return f"({''.join(f'{_one_line(item)}, ' for item in value)})"
    text = constant(value) if isinstance(value, np.ndarray) and value.size > 1 else None
    return text or re.sub(r"\s*\n\s*", " ", literal(value))


def _numpy(result: Any) -> str | None:
    """A template that extracts arrays from a result of the VM."""
    if isinstance(result, np.ndarray | np.generic):
        return "{}.numpy()"
    if isinstance(result, tuple) and all(isinstance(item, np.ndarray) for item in result):
        return "[value.numpy() for value in {}]"
    return None


def _compared(e: Expectation, one: str, other: str, tolerance: Tolerance | None) -> str:
    relative, absolute = bounds_of(e.result, *e.bounds(tolerance))
    bounds = f"rtol={relative:.1g}, atol={absolute:.1g}, strict=True"
    if not isinstance(e.result, tuple):
        return f"np.testing.assert_allclose({one}, {other}, {bounds})"
    return (
        f"for a, b in zip({one}, {other}, strict=True):\n"
        f"    np.testing.assert_allclose(a, b, {bounds})"
    )
