"""Code in findings: text that Python executes when a finding is run again.

A call of a public pass with literal arguments does not count as code, whoever wrote it, since it
can only run that pass. Other calls may do anything that the user may do. They run only in the
children of a zygote, with their limits, and only in commands whose help says that they run findings
again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ...oracles.catalogue import is_users_contract
from ...oracles.passcall import PassCall, public_passes
from .finding import Finding

PATTERNS = frozenset({"is_op", "is_const", "is_tuple", "is_tuple_get_item", "is_var", "wildcard"})
"""Functions that build patterns for a pass, and do nothing else."""

CONSTRAINTS = frozenset({"dup", "has_attr", "has_dtype", "has_shape"})
"""Methods of patterns that return patterns."""

FROM = "from tvm.relax.dpl import "
"""Start of the only line that may import patterns."""

LONGEST = 100_000
"""Most characters of an expression to analyse."""

SHOWN = 3
"""Most calls to name in the warning."""


def is_code(call: PassCall) -> bool:
    """Return whether building the pass executes more than the constructor of a public pass."""
    if call.factory is not None or not all(map(_imports_patterns, call.imports)):
        return True
    if len(call.expr) > LONGEST:
        return True
    try:
        node = ast.parse(call.expr, mode="eval").body
        return not _constructs(node, frozenset(public_passes().values()))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True


def warning(findings: Iterable[Finding]) -> str:
    """One sentence for a command that is about to run findings; empty if none contains code."""
    calls = {call for finding in findings for call in finding.calls if is_code(call)}
    if not calls:
        return ""
    own = {call.like for call in calls if call.like is not None and is_users_contract(call)}
    names = sorted({call.factory or call.expr[:80] for call in calls} | own)
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return (
        "these findings name code of their own, which is executed, in processes of their own: "
        f"{'; '.join(names[:SHOWN])}{more}"
    )


def _imports_patterns(line: str) -> bool:
    names = line.removeprefix(FROM).split(", ")
    return line.startswith(FROM) and PATTERNS.issuperset(names)


def _constructs(node: ast.expr, names: frozenset[str]) -> bool:
    """Return whether the node calls one of these names with literals, or with patterns."""
    return (
        isinstance(node, ast.Call)
        and ast.unparse(node.func) in names
        and all(_harmless(each) for each in node.args)
        and all(each.arg is not None and _harmless(each.value) for each in node.keywords)
    )


def _harmless(node: ast.expr) -> bool:
    if isinstance(node, ast.List | ast.Tuple):
        return all(map(_harmless, node.elts))
    if _constructs(node, PATTERNS):
        return True
    if isinstance(node, ast.Call) and _constructs(node.func, PATTERNS):  # is_op("add")(...)
        return not node.keywords and all(map(_harmless, node.args))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
        return _harmless(node.left) and _harmless(node.right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return _harmless(node.operand)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        known = node.func.attr in CONSTRAINTS and not node.keywords
        return known and all(map(_harmless, [node.func.value, *node.args]))
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError):
        return False
    return True
