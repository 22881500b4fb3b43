"""The threads of a kernel, and the test whether a PrimFunc is treated as kernels.

TensorIR binds threads in two forms: loops of kind THREAD_BINDING, and, once blocks are lowered,
the attribute `thread_extent`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm
from tvm import tirx

from ....compat import ir
from ....compat.structural import structural_equal, structural_map
from ...errors import Unsupported
from ...inspect import attr, nodes
from ..sanitizer.races import variables
from ..statements import REDUCE

VIRTUAL = "virtual_thread"
EXTENTS = ("thread_extent", VIRTUAL)
"""Attributes that bind a variable to threads."""

ALLREDUCE = "tirx.tvm_thread_allreduce"
BARRIER = "tirx.tvm_storage_sync"

DEVICE_KERNEL = 2
"""The calling convention of kernels that SplitHostDevice takes out of a PrimFunc."""


def tag(stmt: Any) -> str | None:
    """The threads that a statement binds its variable to (`threadIdx.x`), or None."""
    if type(stmt) is ir.For:
        bound = stmt.kind == ir.ForKind.THREAD_BINDING
        return str(stmt.thread_binding.thread_tag) if bound else None
    if type(stmt) is ir.AttrStmt and str(stmt.attr_key) in EXTENTS:
        return str(stmt.node.thread_tag)
    return None


def variable(stmt: Any) -> tirx.Var:
    """The variable that a statement binds to threads."""
    return stmt.loop_var if type(stmt) is ir.For else stmt.node.var


def extent(stmt: Any) -> Any:
    """The number of threads that a statement binds its variable to."""
    return stmt.extent if type(stmt) is ir.For else stmt.value


class Disagreement(Unsupported):
    """A kernel has two extents of one thread axis: it cannot be launched.

    UnifyThreadBinding refuses it, too.
    """


def launch(stmt: Any) -> Mapping[str, Any]:
    """The threads that a kernel is launched with: the extent for each tag.

    An extent may be the value of a variable that the kernel itself defines.

    Raises:
        Disagreement: a tag with two extents.
        Unsupported: other tags.
    """
    found: dict[str, Any] = {}
    bindings = [each for each in nodes(stmt, ir.For, ir.AttrStmt) if tag(each) is not None]
    values = {bind.var.__chandle__(): bind.value for bind in nodes(stmt, ir.Bind) if bindings}

    def defined(var: Any) -> Any:
        value = values.get(var.__chandle__())
        return var if value is None else structural_map(value, [(tirx.Var, defined)])

    for each in reversed(bindings):
        name, size = str(tag(each)), extent(each)
        if not isinstance(size, tirx.IntImm):
            size = structural_map(size, [(tirx.Var, defined)])
        if not name.startswith(("blockIdx.", "threadIdx.", "vthread")):
            raise Unsupported(f"threads {name}")
        first = found.setdefault(name, size)
        if _number(first) != _number(size) or (
            _number(first) is None and not structural_equal(first, size)
        ):
            raise Disagreement(f"{name} of extents {first} and {size}")
    return found


def _number(expr: Any) -> int | None:
    return int(expr.value) if isinstance(expr, tirx.IntImm) else None


def is_device_code(func: tirx.PrimFunc) -> bool:
    """True if the threads of a PrimFunc run at once.

    Loops over threads remain loops as long as a block reduces over one of them, since the order of
    its iterations defines its meaning. LowerCrossThreadReduction turns it into an allreduce.
    """
    binding = [stmt for stmt in nodes(func, ir.For, ir.AttrStmt) if tag(stmt) is not None]
    threads = {variable(stmt).__chandle__() for stmt in binding}
    if not threads or calls(func, ALLREDUCE):
        return bool(threads)
    return not any(
        iter_var.iter_type == REDUCE and threads & variables(expr)
        for realize in nodes(func, ir.SBlockRealize)
        for iter_var, expr in zip(realize.block.iter_vars, realize.iter_values, strict=True)
    )


def calls(root: Any, name: str) -> bool:
    """True if an operator is called."""
    return any(getattr(call.op, "name", "") == name for call in nodes(root, tvm.ir.Call))


def is_synchronised(func: tirx.PrimFunc) -> bool:
    """True if ThreadSync has visibly run: there is a barrier, or the host is split off.

    ThreadSync inserts only necessary barriers, and leaves no other trace.
    """
    return calls(func, BARRIER) or bool(attr(func, "calling_conv") == DEVICE_KERNEL)
