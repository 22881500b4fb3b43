"""Whom to blame for a pair that differs: the pass, the operator."""

from __future__ import annotations

from collections.abc import Sequence

import tvm
from tvm import relax

from ....generators.rewrite.change import Change
from ...errors import Mismatch, Undefined, Unsupported
from ...evaluate import Evaluator
from ...execute import Failure, execute
from ...execute.lowering import remaining
from ...inspect import op_name
from ...pipelines import observe
from ...values.comparison import difference
from ...values.expectation import copies
from .batch import along_of, followed
from .pair import Difference, Pair


def guilty_pass(pair: Pair, found: Difference, pipeline: str) -> str | None:
    """The step of the pipeline after which NumPy evaluates the twin to something else.

    None where the evaluator does not know the module before or after that step.
    """
    q = found.question
    if q.known is None:
        return None
    before = True
    done: list[tuple[str, tvm.IRModule]] = []
    observe(
        remaining(pair.twin, pipeline), pair.twin, end=lambda name, mod: done.append((name, mod))
    )
    for name, mod in done:
        try:
            value = Evaluator(mod).run(q.function, copies(q.twin_args))
        except Mismatch:
            return name if before else None
        except (Unsupported, Undefined):
            before = False
            continue
        moved = tuple(map(q.want, found.shaken))
        if difference(q.want(q.known.result), q.have(value), moved, found.tolerance) is not None:
            return name if before else None
        before = True
    return None


def first_operator(pair: Pair, found: Difference, pipeline: str) -> str | None:
    """The operator whose result is the first to differ where all values are results.

    None where nothing differs then: results that are asked for are computed otherwise.
    """
    q = found.question
    sides = []
    for mod, plan in ((pair.mod, q.plan()), (pair.twin, q.twin_plan())):
        values = [
            binding.var
            for block in mod[q.function].body.blocks
            for binding in block.bindings
            if isinstance(binding.var.ty, relax.TensorType)
        ]
        exposed = _returning(mod, q.function, values)
        ran = None if exposed is None else execute(exposed, [plan], pipeline)
        if not isinstance(ran, list) or isinstance(ran[0], Failure):
            return None
        sides.append(dict(zip((str(var.name) for var in values), ran[0], strict=True)))
    left, right = sides
    known = {} if q.order is None else along_of(pair.mod, pair.mod[q.function], q.args, q.twin_args)
    for name, value in left.items():
        if name not in right:
            continue
        have = right[name]
        if q.order is not None:
            value, have = followed(value, known[name], q.order), followed(have, known[name])
        if difference(value, have) is not None:
            return _kinds(pair.mod[q.function])[name]
    return None


def _kinds(func: relax.Function) -> dict[str, str]:
    return {
        str(binding.var.name): op_name(binding.value) or type(binding.value).__name__
        for block in func.body.blocks
        for binding in block.bindings
    }


def _returning(
    mod: tvm.IRModule, function: str, values: Sequence[relax.Var]
) -> tvm.IRModule | None:
    """The module whose function returns all of these; None where there is no such module."""
    change = Change(
        results={hash(mod[function].body): relax.Tuple(values)},
        plain={hash(var) for var in values},
        functions={function},
    )
    return change.apply(mod)
