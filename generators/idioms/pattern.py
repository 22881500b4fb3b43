"""Patterns as data: the operators that feed the operands of others, written as an expression.

`nn.relu(add(matmul(X, W), B))` is a product, with a bias, through an activation. Lower-case names
are operators of the table, or groups of them; `add|multiply` is either. Operands are given in the
order in which the record requests them (`where` requests its condition last), and the last ones
may be left out: the record chooses them. A capital names an operand; equal names are one value.
The letter tells the source of the operand:

| W, V, U | a fresh parameter, or a constant |
| B | the same, in the shape of a bias of the operands before it |
| C, D, E, F | a constant |
| S, T | a scalar, mostly 0, 1, 2 or -1 |
| any other | any value |

`Y = split(X); concat(Y[0], Y[1])` names a result, and uses fields of a tuple.
"""

from __future__ import annotations

import ast
import dataclasses
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Leaf:
    """An operand from outside, or a named result."""

    name: str
    field: int | None = None
    """The field of a result that is a tuple."""


@dataclass(frozen=True, slots=True)
class PatternNode:
    """A call of one of several operators."""

    ops: tuple[str, ...]
    operands: tuple[Tree, ...] = ()
    field: int | None = None
    """The field of a result that is a tuple; None: any field."""
    number: int = 0
    """The number of the call in the pattern."""


Tree: TypeAlias = "Leaf | PatternNode"


@dataclass(frozen=True, slots=True)
class Step:
    """One expression of a pattern, with the name of its result."""

    name: str | None
    tree: PatternNode


Pattern: TypeAlias = tuple[Step, ...]


def parse(text: str, groups: Mapping[str, Sequence[str]]) -> Pattern:
    """Read a pattern.

    Args:
        text: the pattern, as above.
        groups: operators by the name of a group.

    Raises:
        ValueError: the text is not a pattern.
    """
    numbers = itertools.count()
    unique = dict[str, None].fromkeys

    def step(statement: ast.stmt) -> Step:
        name, value = None, None
        if isinstance(statement, ast.Expr):
            value = statement.value
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name, value = statement.targets[0].id, statement.value
        tree = None if value is None else read(value)
        if not isinstance(tree, PatternNode):
            raise ValueError(f"Expected calls of operators but got {text!r}")
        return Step(name, tree)

    def read(expr: ast.expr) -> Tree:
        match expr:
            case ast.Name(id=name) if name[0].isupper():
                return Leaf(name)
            case ast.Subscript(value=value, slice=ast.Constant(value=int(at))):
                return dataclasses.replace(read(value), field=at)
            case ast.BinOp(left=other, op=ast.BitOr(), right=call):
                # Python binds `add|multiply(X)` as `add|(multiply(X))`.
                node = read(call)
                if isinstance(node, PatternNode):
                    return dataclasses.replace(node, ops=tuple(unique((*names(other), *node.ops))))
            case ast.Call(func=func, args=args, keywords=[]):
                number = next(numbers)
                return PatternNode(
                    tuple(unique(names(func))), tuple(map(read, args)), number=number
                )
        raise ValueError(f"Expected an operand or a call but got {ast.unparse(expr)} in {text!r}")

    def names(func: ast.expr) -> Iterator[str]:
        if isinstance(func, ast.BinOp) and isinstance(func.op, ast.BitOr):
            yield from names(func.left)
            yield from names(func.right)
        else:
            name = ast.unparse(func)
            yield from groups.get(name, (name,))

    return tuple(map(step, ast.parse(text).body))


def row(names: Sequence[str]) -> Pattern:
    """Operators in a row, each on the result of the previous one."""
    return parse("(".join(reversed(names)) + "(" + ")" * len(names), {})


def beside(names: Sequence[str]) -> Pattern:
    """Operators side by side, with one first operand."""
    return parse("; ".join(f"{name}(X)" for name in names), {})


def calls(pattern: Pattern) -> Iterator[PatternNode]:
    """All the calls of a pattern."""

    def within(tree: Tree) -> Iterator[PatternNode]:
        if isinstance(tree, PatternNode):
            yield tree
            for operand in tree.operands:
                yield from within(operand)

    for step in pattern:
        yield from within(step.tree)


def restricted(pattern: Pattern, ops: Collection[str]) -> Pattern | None:
    """The pattern with these operators only; None if a call has none of them."""

    def within(call: PatternNode) -> PatternNode:
        left = tuple(name for name in call.ops if name in ops)
        operands = (
            within(each) if isinstance(each, PatternNode) else each for each in call.operands
        )
        return dataclasses.replace(call, ops=left, operands=tuple(operands))

    left = tuple(Step(step.name, within(step.tree)) for step in pattern)
    return left if all(call.ops for call in calls(left)) else None
