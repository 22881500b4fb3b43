"""PrimFunc bodies as trees of statements and expressions that can be changed by number."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import tvm
import tvm_ffi
from tvm import tirx

from ...compat import ir
from ...compat.structural import structural_map

DEEPEST = 100
"""Depth to which nodes are visited, as Python's stack is limited; a node owns deeper parts."""

Change: TypeAlias = Callable[[Any], Any | None]
"""Function that replaces a node whose parts are already changed; None drops a statement."""


class BodyNode(NamedTuple):
    """A node of a body."""

    number: int
    """Number of the node; nodes are numbered from outside to inside, in the order of the text."""
    node: Any
    parent: Any


def places(root: Any) -> list[BodyNode]:
    """All statements and expressions, except those in types, regions and variables."""
    found: list[BodyNode] = []

    def visit(node: Any, parent: Any, depth: int) -> None:
        found.append(BodyNode(len(found), node, parent))
        for part in _parts(node) if depth < DEEPEST else ():
            if part is not None:
                visit(part, node, depth + 1)

    visit(root, None, 0)
    return found


def changed(root: Any, changes: Mapping[int, Change]) -> Any:
    """Change the body at these numbers; statements that become empty go as well."""
    numbers = itertools.count()

    def visit(node: Any, depth: int) -> Any:
        number = next(numbers)
        old = _parts(node) if depth < DEEPEST else []
        new = [None if part is None else visit(part, depth + 1) for part in old]
        if any(a is not b for a, b in zip(old, new, strict=True)):
            node = _with_parts(node, new)
        change = changes.get(number)
        return node if change is None or node is None else change(node)

    result = visit(root, 0)
    return nothing() if result is None else result


def nothing() -> Any:
    """A statement without effect."""
    return ir.Evaluate(tirx.IntImm("int32", 0))


def is_nothing(stmt: Any) -> bool:
    """Return whether the statement has no effect."""
    return isinstance(stmt, ir.Evaluate) and isinstance(stmt.value, tirx.IntImm)


def sequence(stmts: list[Any]) -> Any:
    """The statements one after the other; None if there are none."""
    flat: list[Any] = []
    for stmt in stmts:
        if isinstance(stmt, ir.SeqStmt):
            flat.extend(stmt.seq)
        elif stmt is not None:
            flat.append(stmt)
    return ir.SeqStmt(flat) if len(flat) > 1 else (flat[0] if flat else None)


def substituted(root: Any, mapping: Mapping[int, Any]) -> Any:
    """Replace variables, given by hash, by other expressions, including in declarations."""
    return structural_map(root, [(tvm.ir.Var, lambda var: mapping.get(hash(var), var))])


def variables(root: Any) -> set[int]:
    """Hashes of the variables that occur, including those in types."""
    found: set[int] = set()
    tvm_ffi.structural_walk(root, [(tvm.ir.Var, lambda var: found.add(hash(var)))])
    return found


def dtype(expr: Any) -> str | None:
    """The dtype of an expression; None if it is not a number, or void."""
    ty = getattr(expr, "ty", None)
    # The dtype of void is empty.
    return str(ty.dtype) or None if isinstance(ty, tvm.ir.PrimType) else None


def zero(expr: Any) -> Any:
    """Zero of the dtype of the expression."""
    return tirx.const(0, dtype(expr))


def operands(expr: Any) -> Iterator[Any]:
    """The operands from which an expression is computed."""
    return (part for part in _parts(expr) if part is not None)


# For each kind of node: its parts, and the same node with other parts. Dropped statements are None.

_BINARY = (ir.BinaryOpExpr, ir.CmpExpr, ir.LogicalExpr)
_UNARY = (ir.Not, ir.BitwiseNot)


def _parts(node: Any) -> list[Any]:
    if isinstance(node, _UNARY):
        return [node.a]
    if isinstance(node, _BINARY):
        return [node.a, node.b]
    kind = _KINDS.get(type(node))
    return [] if kind is None else kind[0](node)


def _with_parts(node: Any, parts: list[Any]) -> Any:
    if isinstance(node, (*_BINARY, *_UNARY)):
        return type(node)(*parts)
    return _KINDS[type(node)][1](node, parts)


def _for(node: Any, parts: list[Any]) -> Any:
    low, extent, body = parts
    if body is None:
        return None
    return with_loop(node, min=low, extent=extent, body=body)


def _if(node: Any, parts: list[Any]) -> Any:
    condition, then, other = parts
    if then is None and other is None:
        return None
    return ir.IfThenElse(condition, nothing() if then is None else then, other)


def _block(node: Any, parts: list[Any]) -> Any:
    init, body = parts
    if init is None and body is None:
        return None
    return with_block(node, init=init, body=nothing() if body is None else body)


def _store(node: Any, parts: list[Any]) -> Any:
    # Built from its fields: the constructor refuses a value whose dtype differs from the buffer's,
    # but passes of TVM make such stores.
    return ir.with_fields(node, value=parts[0], indices=parts[1:])


def _realize(node: Any, parts: list[Any]) -> Any:
    *values, predicate, block = parts
    return None if block is None else ir.SBlockRealize(values, predicate, block)


def with_loop(loop: Any, **fields: Any) -> Any:
    """The loop with other fields."""
    names = ["loop_var", "min", "extent", "kind", "body", "thread_binding", "annotations", "step"]
    return ir.For(**{name: fields.get(name, getattr(loop, name)) for name in names})


def with_block(block: Any, **fields: Any) -> Any:
    """The block with other fields."""
    names = ["iter_vars", "reads", "writes", "name_hint", "body", "init"]
    names += ["alloc_buffers", "match_buffers", "annotations"]
    return ir.SBlock(**{name: fields.get(name, getattr(block, name)) for name in names})


def _needs_body(make: Callable[[Any, list[Any]], Any]) -> Callable[[Any, list[Any]], Any]:
    return lambda node, parts: None if parts[-1] is None else make(node, parts)


_Kind: TypeAlias = tuple[Callable[[Any], list[Any]], Callable[[Any, list[Any]], Any]]

_KINDS: Mapping[type, _Kind] = {
    ir.SeqStmt: (lambda n: list(n.seq), lambda n, p: sequence(p)),
    ir.For: (lambda n: [n.min, n.extent, n.body], _for),
    ir.While: (
        lambda n: [n.condition, n.body],
        _needs_body(lambda n, p: ir.While(*p)),
    ),
    ir.IfThenElse: (lambda n: [n.condition, n.then_case, n.else_case], _if),
    ir.AttrStmt: (
        lambda n: [n.value, n.body],
        _needs_body(lambda n, p: ir.AttrStmt(n.node, n.attr_key, *p)),
    ),
    ir.SBlockRealize: (lambda n: [*n.iter_values, n.predicate, n.block], _realize),
    ir.SBlock: (lambda n: [n.init, n.body], _block),
    ir.BufferStore: (
        lambda n: [n.value, *n.indices],
        _store,
    ),
    ir.Evaluate: (lambda n: [n.value], lambda n, p: ir.Evaluate(*p)),
    ir.Bind: (lambda n: [n.value], lambda n, p: ir.Bind(n.var, *p)),
    ir.DeclBuffer: (lambda n: [n.data], lambda n, p: ir.DeclBuffer(n.buffer, data=p[0])),
    ir.Return: (lambda n: [n.value], lambda n, p: ir.Return(*p)),
    ir.Cast: (lambda n: [n.value], lambda n, p: ir.Cast(n.ty.dtype, *p)),
    ir.Select: (
        lambda n: [n.condition, n.true_value, n.false_value],
        lambda n, p: ir.Select(*p),
    ),
    ir.Let: (lambda n: [n.value, n.body], lambda n, p: ir.Let(n.var, *p)),
    ir.Broadcast: (lambda n: [n.value], lambda n, p: ir.Broadcast(*p, n.lanes)),
    ir.Ramp: (lambda n: [n.base, n.stride], lambda n, p: ir.Ramp(*p, n.lanes)),
    ir.TensorLoad: (
        lambda n: list(n.indices),
        lambda n, p: ir.tensor_load(ir.tensor_of(n), p),
    ),
    tvm.ir.Call: (
        lambda n: list(n.args),
        lambda n, p: tvm.ir.Call(n.op, p, n.attrs, n.ty_args, ret_ty=n.ty),
    ),
}
