"""Metamorphic checks: a pass treats twins (see `twins`) the same."""

from __future__ import annotations

from collections.abc import Callable

import tvm

from . import keys, twins
from .canonical import canonical, equivalent
from .oracle import Problem

Run = Callable[[tvm.IRModule], tvm.IRModule]


def compare(
    what: str,
    after: tvm.IRModule,
    twin: tvm.IRModule | None,
    run: Run,
    back: Callable[[tvm.IRModule], tvm.IRModule] = lambda mod: mod,
) -> Problem | None:
    """What is wrong if the pass gives something else for the twin than it did for the module.

    Args:
        what: how the twin differs, for the title.
        after: the pass's result for the module itself.
        twin: the twin; None where the module has none of that kind.
        run: applies the pass.
        back: takes from the twin's result what the twin had on top.
    """
    if twin is None:
        return None
    try:
        other = back(run(twin))
    except Exception as error:
        problem = keys.exception(error)
        return Problem(
            f"fails on the same module {what}: {problem.title}",
            problem.detail,
            ("exception", *problem.key),
            ("exception", *problem.fingerprint),
        )
    if equivalent(after, other):
        return None
    return keys.mismatch(
        canonical(after), canonical(other), f"gives something else for the same module {what}"
    )


def sharing(before: tvm.IRModule, after: tvm.IRModule, run: Run) -> Problem | None:
    """Shared ShapeExpr nodes, and equal nodes that are not shared, mean the same."""
    return compare("with no ShapeExpr node shared", after, twins.unshared(before), run) or compare(
        "with all equal ShapeExpr nodes shared", after, twins.shared(before), run
    )


def isolation(before: tvm.IRModule, after: tvm.IRModule, run: Run) -> Problem | None:
    """A function that has nothing to do with the others changes nothing in them."""
    return compare(
        "with an unrelated function",
        twins.without_stranger(after),
        twins.with_stranger(before),
        run,
        twins.without_stranger,
    )


def renaming(before: tvm.IRModule, after: tvm.IRModule, run: Run) -> Problem | None:
    """Names of private functions and bound variables mean nothing."""
    return compare("with other private names", after, twins.renamed(before), run)


def function_order(before: tvm.IRModule, after: tvm.IRModule, run: Run) -> Problem | None:
    """The order of functions means nothing."""
    return compare("with its functions in another order", after, twins.reordered(before), run)
