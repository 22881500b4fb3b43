"""A check that a PrimFunc stays inside of its buffers after a change of sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx

from ...compat import ir
from ..rewrite.nodes import is_symbolic, variables

LARGEST = 1 << 30
"""The largest symbolic dimension; the smallest is 1."""

SYMBOLIC = 1
"""The strength of proofs by TVM's analyzer: they also use the bounds of symbolic dimensions."""


def stays_inside(func: tirx.PrimFunc) -> bool:
    """True if each access of a buffer is provably within its shape, and each variable of a block
    within its domain.

    The caller chooses the contents of buffers: an index that depends on them is assumed to be
    right.
    """
    return _Walk(func).stays_inside


class _Walk:
    """One walk over a PrimFunc that collects bounds of its variables."""

    def __init__(self, func: tirx.PrimFunc) -> None:
        self.stays_inside = True
        self._analyzer = ir.Analyzer()
        self._data: set[int] = set()
        """Hashes of the variables whose values depend on the contents of a buffer."""
        for var in variables(func):
            if is_symbolic(var):
                self._ranges(var, 1, LARGEST)
        handlers = _HANDLERS.items()
        entries = [(kind, self._handler(handle)) for kind, handle in handlers]
        tvm_ffi.structural_mutate(func.body, entries)

    def _handler(self, handle: Callable[..., None]) -> Callable[[Any, Any], Any]:
        def handled(node: Any, mutator: Any) -> Any:
            handle(self, node, mutator)
            return node

        return handled

    def loop(self, loop: Any, mutator: Any) -> None:
        self._ranges(loop.loop_var, loop.min, loop.extent)
        if not _is_zero(loop.extent):
            mutator.default_mutate(loop)

    def thread(self, attribute: Any, mutator: Any) -> None:
        if isinstance(attribute.node, tirx.IterVar):
            self._ranges(attribute.node.var, 0, attribute.value)
        mutator.default_mutate(attribute)

    def realize(self, realize: Any, mutator: Any) -> None:
        block = realize.block
        with self._analyzer.constraint_scope(realize.predicate):
            for var, value in zip(block.iter_vars, realize.iter_values, strict=True):
                mutator.mutate(value)
                self._inside(value, var.dom.min, var.dom.extent)
        for var in block.iter_vars:
            self._ranges(var.var, var.dom.min, var.dom.extent)
        mutator.default_mutate(block)

    def bind(self, bind: Any, mutator: Any) -> None:
        mutator.mutate(bind.value)
        if self._is_data(bind.value):
            self._data.add(hash(bind.var))
        elif is_symbolic(bind.var):
            self._analyzer.bind(bind.var, bind.value, allow_override=True)

    def store(self, store: Any, mutator: Any) -> None:
        self._access(store.buffer, store.indices)
        mutator.default_mutate(store)

    def load(self, load: Any, mutator: Any) -> None:
        self._access(ir.tensor_of(load), load.indices)
        mutator.default_mutate(load)

    def call(self, call: tvm.ir.Call, mutator: Any) -> None:
        name = str(getattr(call.op, "name", ""))
        if name.rpartition(".")[2] == "if_then_else":
            self._either(*call.args, mutator=mutator)
        else:
            mutator.default_mutate(call)

    def condition(self, branch: Any, mutator: Any) -> None:
        self._either(branch.condition, branch.then_case, branch.else_case, mutator=mutator)

    def select(self, select: Any, mutator: Any) -> None:
        self._either(select.condition, select.true_value, select.false_value, mutator=mutator)

    def both(self, both: Any, mutator: Any) -> None:
        self._either(both.a, both.b, None, mutator=mutator)

    def any(self, either: Any, mutator: Any) -> None:
        self._either(either.a, None, either.b, mutator=mutator)

    def _either(self, condition: Any, yes: Any, no: Any, *, mutator: Any) -> None:
        """Visit `yes` assuming the condition, and `no` assuming its negation."""
        mutator.mutate(condition)
        for known, node in ((condition, yes), (ir.Not(condition), no)):
            if node is not None:
                with self._analyzer.constraint_scope(known):
                    mutator.mutate(node)

    def _ranges(self, var: Any, least: Any, extent: Any) -> None:
        range = tvm.ir.Range.from_min_extent(least, extent)
        self._analyzer.bind(var, range, allow_override=True)

    def _access(self, buffer: Any, indices: Any) -> None:
        for index, extent in zip(indices, buffer.shape, strict=True):
            self._inside(index, 0, extent)

    def _inside(self, value: Any, least: Any, extent: Any) -> None:
        if self.stays_inside and not self._is_data(value):
            wanted = (value >= least, value < least + extent)
            self.stays_inside = all(self._analyzer.can_prove(each, SYMBOLIC) for each in wanted)

    def _is_data(self, value: Any) -> bool:
        found: list[Any] = []
        tvm_ffi.structural_walk(value, ((ir.TensorLoad, tvm.ir.Var), found.append))
        return any(isinstance(n, ir.TensorLoad) or hash(n) in self._data for n in found)


def _is_zero(extent: Any) -> bool:
    """True if a loop with the extent does nothing."""
    return isinstance(extent, tirx.IntImm) and int(extent.value) == 0


_HANDLERS: Mapping[Any, Callable[[_Walk, Any, Any], None]] = {
    ir.For: _Walk.loop,
    ir.AttrStmt: _Walk.thread,
    ir.SBlockRealize: _Walk.realize,
    ir.Bind: _Walk.bind,
    ir.BufferStore: _Walk.store,
    ir.TensorLoad: _Walk.load,
    tvm.ir.Call: _Walk.call,
    ir.IfThenElse: _Walk.condition,
    ir.Select: _Walk.select,
    ir.And: _Walk.both,
    ir.Or: _Walk.any,
}
"""The method that visits each kind of node."""
