"""Helpers that several contracts share: variants, exemptions, questions on modules and calls."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from typing import Any

import tvm
from tvm import relax

from ...generators.choices import Choices
from ...generators.stages import Stage
from ...generators.traits import Trait
from ..contract import PassContract, Post, Sought, Variants
from ..inspect import has_dataflow, op_name, ops_used, relax_functions
from ..passcall import PassCall

PURE = (Stage.RAW, Stage.LEGALIZED, Stage.ANNOTATED, Stage.FUSED, Stage.TIR_FUSED)
"""The stages in which modules still have dataflow blocks and pure calls."""


CLEANUP = ("CanonicalizeBindings", "DeadCodeElimination")
"""Passes that many passes of src/relax/transform run on their results."""

REWRITING = ("CanonicalizeBindings", "EliminateCommonSubexpr", "DeadCodeElimination")
"""Passes that rewriting by patterns runs on its results: src/relax/ir/dataflow_expr_rewriter.cc."""

REWRITER = "PatternMatchingRewriter"
"""Rewriting by patterns. It renews the types of a function even if no pattern matches in it."""

MUTATOR = "ExprMutator"
"""The base of passes that rewrite functions. It infers the types of visited nodes again."""


for_all_operators = functools.partial(PassContract, ops_alike=True)
"""The contract of a pass that treats all operators alike; see `PassContract`."""


def one_of(*expressions: str) -> Variants:
    """One of these expressions, the first being the simplest."""
    calls = [PassCall(expression) for expression in expressions]

    @functools.cache
    def accepted() -> list[PassCall]:
        """The calls whose arguments this TVM's passes accept; all of them if it accepts none."""
        return list(filter(_is_accepted, calls)) or calls

    def variants(choices: Choices, mod: tvm.IRModule) -> PassCall:
        return choices.pick(accepted())

    return variants


def _is_accepted(call: PassCall) -> bool:
    try:
        call.build()
    except TypeError:
        return False
    except Exception:  # not a concern here: the probe reports passes that cannot be built
        return True
    return True


def any_of(*ops: str, traits: Collection[Trait] = ()) -> Sought:
    """Calls of one of these operators, found in modules with the traits."""
    return Sought(
        lambda mod: not ops_used(mod).isdisjoint(ops), _bare(sorted(ops)), traits=tuple(traits)
    )


def all_of(*ops: str, traits: Collection[Trait] = ()) -> Sought:
    """Calls of each of these operators, which a pass rewrites where they follow one another."""
    return Sought(
        lambda mod: ops_used(mod).issuperset(ops), _bare(ops), (_bare(ops),), tuple(traits)
    )


def none_left(what: str, has: Callable[[tvm.IRModule], object]) -> Post:
    """The post-condition that nothing of the kind that the pass eliminates is left.

    The normal form of the contract quotes the docstring that promises it, since a second run must
    also find none.

    Args:
        what: the name of one such thing.
        has: the test for it.
    """
    return lambda before, after, call: f"{what} is left" if has(after) else None


def no_ops(*ops: str) -> Post:
    """The post-condition that no call of these operators is left; see `none_left`."""

    def post(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
        left = sorted(ops_used(after).intersection(ops))
        return f"{left[0]} is left" if left else None

    return post


@functools.cache  # to find the end of a function, inspect reads its source token by token
def definition(function: Callable[..., Any]) -> str:
    """The source of a function, to be put before an expression that calls it."""
    return f"\n\n{inspect.getsource(function)}"


def _bare(ops: Collection[str]) -> tuple[str, ...]:
    return tuple(op.removeprefix("relax.") for op in ops)


def named_functions(mod: tvm.IRModule) -> list[tuple[str, relax.Function]]:
    """The Relax functions with their names, in order of name."""
    return sorted(((g.name_hint, f) for g, f in relax_functions(mod)), key=lambda item: item[0])


def without_dataflow(mod: tvm.IRModule) -> str | None:
    """The reason why a pass over dataflow blocks does not apply, or None."""
    return None if has_dataflow(mod) else "no dataflow block"


def kind(node: object) -> str:
    """The operator that a node calls, else the node's class; fit for a finding's key."""
    return op_name(node) or type(node).__name__


def spelled(name: str, **arguments: object) -> str:
    """The text of a call, without the arguments that are None (the pass's default)."""
    given = ", ".join(f"{key}={value!r}" for key, value in arguments.items() if value is not None)
    return f"{name}({given})"
