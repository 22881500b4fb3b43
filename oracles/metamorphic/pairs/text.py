"""Reproducers of pairs: both modules, the arguments, both builds, their comparison."""

from __future__ import annotations

from typing import Any

from ....generators.ops.record import Tolerance
from ...execute import DEVICES, from_numpy, to_numpy
from ...inspect import local_functions
from ...text.standalone import nested_module, standalone
from ...text.value_reproducer import PIPELINE_TEXTS, assert_close, bounds_of, literal
from .batch import followed
from .pair import Difference, Pair, Question

_RUN = """\
target = tvm.target.Target({{"kind": "llvm", "opt-level": 0}})


def run(mod, name, args):
{prepared}    built = relax.build(mod, target, relax_pipeline={pipeline})
    machine = relax.VirtualMachine(built, [tvm.cpu()] * {devices})
    return to_numpy(machine[name](*map(from_numpy, args)))
"""


def text(pair: Pair, found: Difference | None, pipeline: str) -> str:
    """Statements that fail as long as the sides of the pair differ.

    Args:
        found: the difference to show; None: all questions are asked.
    """
    asked = pair.questions if found is None else (found.question,)
    alike = pair.twin.same_as(pair.mod)
    helpers: list[Any] = [from_numpy, to_numpy, assert_close, *([followed] if alike else [])]
    parts = [
        standalone(*helpers),
        _RUN.format(prepared=_prepared(pair), pipeline=PIPELINE_TEXTS[pipeline], devices=DEVICES),
    ]
    if not alike:
        parts.append(f"# A module that computes the same.\n{nested_module('twin', pair.twin)}")
    parts += [_asked(q, alike, found) for q in asked]
    return "\n\n".join(parts)


def _prepared(pair: Pair) -> str:
    """What `execute` does before the pipeline, where there is something to do."""
    lines = []
    if local_functions(pair.mod):
        lines.append("mod = relax.transform.LambdaLift()(mod)")
    if "system_lib_prefix" in (pair.mod.attrs or {}):
        lines.append('mod = mod.without_attr("system_lib_prefix")')
    return "".join(f"    {line}\n" for line in lines)


def _asked(q: Question, alike: bool, found: Difference | None) -> str:
    relative = absolute = Tolerance().float32
    if found is not None:
        relative, absolute = bounds_of(found.left, found.tolerance, found.shaken)
    bounds = f"rtol={relative:g}, atol={absolute:g}"
    name = repr(q.function)
    if not alike:
        return (
            f"args = {literal(q.args)}\n"
            f"expected, actual = run(mod, {name}, args), run(twin(), {name}, args)\n"
            f"assert_close(actual, expected, {bounds})"
        )
    return (
        f"args = {literal(q.args)}\n"
        f"permuted = {literal(q.twin_args)}\n"
        f"order, along = {list(q.order or ())}, {q.along!r}  # axes of the results that follow\n"
        f"expected = followed(run(mod, {name}, args), along, order)\n"
        f"actual = followed(run(mod, {name}, permuted), along)\n"
        f"assert_close(actual, expected, {bounds})"
    )
