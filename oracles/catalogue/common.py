"""What several contracts share: variants, exemptions, and questions about modules and calls."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Collection
from typing import Any

import tvm
from tvm import relax

from ...generators.choices import Choices
from ...generators.stages import Stage
from ...generators.traits import Trait
from ..contract import Sought, Variants
from ..inspect import has_dataflow, op_name, ops_used, relax_functions
from ..passcall import PassCall

PURE = (Stage.RAW, Stage.LEGALIZED, Stage.ANNOTATED, Stage.FUSED, Stage.TIR_FUSED)
"""The stages in which modules still have dataflow blocks and pure calls."""


CLEANUP = ("CanonicalizeBindings", "DeadCodeElimination")
"""What many passes of src/relax/transform run on their results."""

REWRITING = ("CanonicalizeBindings", "EliminateCommonSubexpr", "DeadCodeElimination")
"""What rewriting by patterns runs on its results: src/relax/ir/dataflow_expr_rewriter.cc."""

REWRITER = "PatternMatchingRewriter"
"""Rewriting by patterns, which renews the types of a function in which no pattern matches, too."""


def one_of(*expressions: str) -> Variants:
    """One of these expressions, the first being the simplest."""
    calls = [PassCall(expression) for expression in expressions]

    @functools.cache
    def accepted() -> list[PassCall]:
        """Those whose arguments the passes of this TVM take; all, where it takes none of them."""
        return list(filter(_is_accepted, calls)) or calls

    def variants(choices: Choices, mod: tvm.IRModule) -> PassCall:
        return choices.pick(accepted())

    return variants


def _is_accepted(call: PassCall) -> bool:
    try:
        call.build()
    except TypeError:
        return False
    except Exception:  # of no concern here: the probe reports what cannot be built
        return True
    return True


def any_of(*ops: str, traits: Collection[Trait] = ()) -> Sought:
    """Calls of one of these operators, which modules with the traits have."""
    return Sought(
        lambda mod: not ops_used(mod).isdisjoint(ops), _bare(sorted(ops)), traits=tuple(traits)
    )


def all_of(*ops: str, traits: Collection[Trait] = ()) -> Sought:
    """Calls of each of these operators, which a pass rewrites where one follows the other."""
    return Sought(
        lambda mod: ops_used(mod).issuperset(ops), _bare(ops), (_bare(ops),), tuple(traits)
    )


@functools.cache  # to find the end of a function, inspect reads its source token by token
def definition(function: Callable[..., Any]) -> str:
    """The source of a function, among the statements that an expression of a pass needs."""
    return f"\n\n{inspect.getsource(function)}"


def _bare(ops: Collection[str]) -> tuple[str, ...]:
    return tuple(op.removeprefix("relax.") for op in ops)


def named_functions(mod: tvm.IRModule) -> list[tuple[str, relax.Function]]:
    """The Relax functions with their names, in order of name."""
    return sorted(((g.name_hint, f) for g, f in relax_functions(mod)), key=lambda item: item[0])


def without_dataflow(mod: tvm.IRModule) -> str | None:
    """Why a pass over dataflow blocks does not apply."""
    return None if has_dataflow(mod) else "no dataflow block"


def kind(node: object) -> str:
    """The operator that a node calls, or the node's class: what a finding's key may name."""
    return op_name(node) or type(node).__name__


def argument(call: PassCall, keyword: str) -> Any:
    """The literal given for a keyword in the call's text, or None."""
    for node in _parsed(call).keywords:
        if node.arg == keyword:
            return ast.literal_eval(node.value)
    return None


def positional(call: PassCall) -> list[Any]:
    """The positional arguments in the call's text; of a dictionary its keys."""
    return [
        [ast.literal_eval(key) for key in node.keys if key is not None]
        if isinstance(node, ast.Dict)
        else ast.literal_eval(node)
        for node in _parsed(call).args
    ]


def text_of(call: PassCall, number: int) -> str:
    """The text of a positional argument."""
    return ast.unparse(_parsed(call).args[number])


def _parsed(call: PassCall) -> ast.Call:
    root = ast.parse(call.expr, mode="eval").body
    if not isinstance(root, ast.Call):
        raise ValueError(f"Expected a call but got expr={call.expr!r}")
    return root


def spelled(name: str, **arguments: object) -> str:
    """The text of a call, without the arguments that are None (the pass's default)."""
    given = ", ".join(f"{key}={value!r}" for key, value in arguments.items() if value is not None)
    return f"{name}({given})"
