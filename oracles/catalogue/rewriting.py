"""Contracts of rewriting by patterns: `tvm.relax.dpl` with rules that keep values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import tvm
from tvm import relax

from ...generators.choices import Choices
from ...generators.stages import Stage
from ..contract import PassContract, Sought
from ..inspect import calls_of, ops_used, static
from ..passcall import PassCall
from .common import REWRITER, REWRITING, definition
from .rules import CONTEXTS, IMPORTS, MODULES, PATTERNS, RewriteRule

HIGH_LEVEL = (Stage.RAW, Stage.LEGALIZED)


def _rewriter(c: Choices, mod: tvm.IRModule) -> PassCall:
    rules = [_rule(c.part(8), mod, (*PATTERNS, *MODULES)) for _ in range(2)]
    return call_of(rules if c.flag(0.25) else rules[:1])


def _bindings_rewriter(c: Choices, mod: tvm.IRModule) -> PassCall:
    return call_of([_rule(c, mod, CONTEXTS)])


def call_of(rules: Sequence[tuple[RewriteRule, str]]) -> PassCall:
    """The pass that rewrites by these rules, each with the text that makes it."""
    expression = " | ".join(_rewriting(rule, made) for rule, made in rules)
    return PassCall(expression, imports=_sources(rule for rule, _ in rules))


def _rewriting(rule: RewriteRule, made: str) -> str:
    if rule in MODULES:
        return f"dpl.PatternMatchingRewriter.from_module({made})"
    if rule in PATTERNS:
        return f"dpl.PatternMatchingRewriter.from_pattern(*{made})"
    return (
        "relax.transform.function_pass("
        f"lambda func, mod, context: dpl.rewrite_bindings(*{made}, func), opt_level=0)"
    )


def _rule(c: Choices, mod: tvm.IRModule, rules: Sequence[RewriteRule]) -> tuple[RewriteRule, str]:
    """A rule, mostly with operators that occur in the module, and the text that makes it."""
    used = ops_used(mod)
    fitting = [rule for rule in rules if used.issuperset(f"relax.{op}" for op in rule.chain)]
    rule = c.pick(rules if c.flag(0.1) else fitting or rules)
    if not rule.typed:
        return rule, f"{rule.name}()"
    shape, dtype = c.pick(_operands(mod, f"relax.{rule.chain[-1]}") or [((2, 3), "float32")])
    return rule, f"{rule.name}({shape!r}, {dtype!r})"


def _operands(mod: tvm.IRModule, op: str) -> list[tuple[tuple[int, ...], str]]:
    """Shape and dtype of the first operands of an operator, if both are known."""
    types = [call.args[0].ty for call in calls_of(mod, op)]
    known = [ty for ty in types if isinstance(ty, relax.TensorType) and static(ty)]
    found = [(tuple(map(int, ty.shape)), str(ty.dtype).removeprefix("T.")) for ty in known]
    return list(dict.fromkeys(found))


def _sources(rules: Iterable[RewriteRule]) -> tuple[str, ...]:
    """The imports and definitions that a standalone file needs for the rules."""
    return (*IMPORTS, *dict.fromkeys(definition(rule.make) for rule in rules))


def _sought(rules: Sequence[RewriteRule]) -> Sought:
    chains = tuple(dict.fromkeys(rule.chain for rule in rules if rule.chain))
    ops = tuple(dict.fromkeys(op for chain in chains for op in chain))
    registered = {f"relax.{op}" for op in ops}
    return Sought(
        lambda mod: not ops_used(mod).isdisjoint(registered),
        ops,
        tuple(chain for chain in chains if len(chain) > 1),
    )


CONTRACTS: tuple[PassContract, ...] = (
    PassContract(
        name="PatternMatchingRewriter",
        variants=_rewriter,
        stages=HIGH_LEVEL,
        looks_for=_sought((*PATTERNS, *MODULES)),
        inside=REWRITING,
        shares=REWRITER,
    ),
    PassContract(
        name="rewrite_bindings",
        variants=_bindings_rewriter,
        stages=HIGH_LEVEL,
        looks_for=_sought(CONTEXTS),
        inside=REWRITING,
        shares=REWRITER,
    ),
)
