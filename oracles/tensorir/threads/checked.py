"""Statements of kernels as Python text that checks every access of every thread."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from tvm import tirx

from ....compat import ir
from ...errors import Unsupported
from ...inspect import attr
from ..sanitizer.sites import Overflow, Sited
from ..values import BufferArray, PyExpr, bits_of, width_of
from .lockstep import Lockstep, shared

WARP = 32
"""Number of threads of a warp if the target does not say."""


class CheckedThreads(Sited, Lockstep):
    """Writes the text of one PrimFunc with kernels and checks.

    Args:
        outputs: positions of the parameters that hold nothing at first.
        synchronised: True if all necessary barriers are present; a storage scope limits this to
            accesses to memory of that scope.
        overflow: the meaning of overflow of integers; indices are not checked for it.
    """

    def __init__(
        self,
        outputs: Collection[int],
        *,
        synchronised: bool | str,
        overflow: Overflow = Overflow.OF_INDICES,
    ) -> None:
        super().__init__(overflow)
        self._outputs = frozenset(outputs)
        self._synchronised = synchronised
        self._warp = WARP
        self._shadows: dict[int, str] = {}
        """Names of the shadows of buffers, by the handle of the buffer."""

    def function(self, func: tirx.PrimFunc) -> str:
        target = attr(func, "target")
        size = None if target is None else target.attrs.get("thread_warp_size")
        self._warp = WARP if size is None else int(size)
        return super().function(func)

    def parameters(self, func: tirx.PrimFunc, names: Sequence[str]) -> None:
        super().parameters(func, names)
        for position, (param, name) in enumerate(zip(func.params, names, strict=True)):
            if isinstance(param.ty, tirx.BufferType):
                output = position in self._outputs
                self._shadow(param, name, written=not output, common=True)
                if output:
                    self.emit(f"marks[{position}] = {self._shadows[param.__chandle__()]}.marks()")

    def _shadow(self, buffer: Any, name: str, *, written: bool, common: bool) -> None:
        shadow = self._shadows[buffer.__chandle__()] = f"{name}s"
        races = common and self._synchronised in (True, str(buffer.ty.storage_scope))
        self.emit(f"{shadow} = Shadow({name}, written={written}, common={common}, races={races})")

    @property
    def _grid(self) -> str:
        if self.kernel is None:
            raise Unsupported("access of memory outside of kernels")
        return self.kernel.grid

    def grid(self, sizes: str, held: int) -> str:
        return f"CheckedGrid({{{sizes}}}, {held}, {self._warp})"

    @property
    def _active(self) -> str:
        return "True" if self.mask is None else self.mask

    def statement(self, stmt: Any) -> None:
        if self.kernel is not None and type(stmt) in DEPENDENT:
            self.emit(f"{self.kernel.grid}.begin()")
        super().statement(stmt)

    # Values that depend on unwritten memory

    def decision(self, condition: PyExpr) -> PyExpr:
        if self.kernel is None or not _may_be_poison(condition.text):
            return condition
        text = f"{self.kernel.grid}.decide({condition.text}, {self._active})"
        return PyExpr(text, condition.dtype, condition.weak, condition.lanes)

    def bind(self, var: Any, value: PyExpr) -> PyExpr:
        bound = super().bind(var, value)
        if self.kernel is None or not _may_be_poison(value.text):
            return bound
        self.emit(f"{self.kernel.grid}.bind({bound.text!r})")
        text = f"{self.kernel.grid}.use({bound.text!r}, {bound.text})"
        used = self.vars[var.__chandle__()] = replace(bound, text=text)
        return used

    # Accesses

    def indices(self, storage: BufferArray, exprs: Sequence[Any]) -> list[PyExpr]:
        if len(exprs) != len(storage.shape):
            raise Unsupported(f"{len(exprs)} indices of {storage.node.name}")
        with self._as_they_are():
            values = [self.value(expr) for expr in exprs]
        return [replace(each, text=self.exact(each)) if each.lanes else each for each in values]

    @contextlib.contextmanager
    def _as_they_are(self) -> Iterator[None]:
        """Give integers their dtypes meanwhile, as NumPy takes no others for an index."""
        outer, self._wide = self._wide, False
        yield
        self._wide = outer

    def allocate(self, buffer: Any) -> None:
        super().allocate(buffer)
        handle = buffer.__chandle__()
        if self.kernel is not None or handle not in self.waiting:
            own = not shared(buffer) and buffer.ty.storage_scope != "warp"
            common = self.kernel is None or not own
            self._shadow(buffer, self.buffers[handle].name, written=False, common=common)

    def declare_buffer(self, stmt: Any) -> None:
        super().declare_buffer(stmt)
        source = self.pointed(stmt.data).node.__chandle__()
        self._shadows[stmt.buffer.__chandle__()] = self._shadows[source]

    def _access(self, storage: BufferArray, exprs: Sequence[Any], indices: Sequence[PyExpr]) -> str:
        handle = storage.node.__chandle__()
        shadow, copy = self._shadows[handle], self.copies.get(handle)
        texts = "".join(f"{self._index(*each)}, " for each in zip(exprs, indices, strict=True))
        site = self.site(str(storage.node.name))
        return f"{site}, {shadow}, {storage.name}, {copy}, ({texts}), {self._active}"

    def _index(self, expr: Any, index: PyExpr) -> str:
        """Text of an index; for a vector it has the axis of lanes even if all lanes agree."""
        return f"atleast_2d({index.text})" if width_of(expr.ty) > 1 else index.text

    def load(self, expr: Any) -> PyExpr:
        storage = self.storage(ir.tensor_of(expr))
        indices = self.indices(storage, expr.indices)
        part = self.part(storage, expr.indices, indices)
        text = f"{self._grid}.read({self._access(storage, expr.indices, indices)})"
        return PyExpr(text, storage.dtype, lanes=part.lanes or part.vector)

    def save(self, storage: BufferArray, exprs: Sequence[Any], value: PyExpr) -> None:
        access = self._access(storage, exprs, self.indices(storage, exprs))
        self.emit(f"{self._grid}.write({access}, {self.exact(value)})")

    def packed(self, name: str, args: Sequence[Any]) -> None:
        """Refuse the call: only accesses of threads are tracked, not those of calls."""
        raise Unsupported(f"function {name} next to kernels")

    # Operations of several threads

    def barrier(self, scope: str) -> None:
        super().barrier(scope)
        self.emit(f"{self._grid}.barrier({self.site()}, {scope!r}, {self._active})")

    def allreduce(self, args: Sequence[Any]) -> None:
        self.emit(f"{self._grid}.together({self.site()}, {self._active})")
        super().allreduce(args)

    def shuffle(self, kind: str, args: Sequence[Any]) -> PyExpr:
        value, *rest = map(self.value, args)
        texts = ", ".join(each.text for each in rest)
        text = (
            f"{self._grid}.exchanged({self._grid}.apart(), {kind!r}, {self.exact(value)}, "
            f"{texts}, {self._active})"
        )
        return PyExpr(text, value.dtype, lanes=True)

    def _combiner(self, reducer: Any) -> str:
        with self._as_they_are():
            return super()._combiner(reducer)

    # Undefined arithmetic

    def fitting(self, value: PyExpr, site: int) -> str:
        if self.kernel is None or not value.lanes:
            return super().fitting(value, site)
        bits = bits_of(value.dtype)
        return f"{self.kernel.grid}.fitting({value.text}, {bits}, {site}, {self._active})"

    def _guarded(self, function: str, ty: Any, *args: str) -> str:
        mask = self.active(ty) or "True"
        return f"{function}_where({', '.join(args)}, {mask}, {self.site(expr=self._operation)})"


DEPENDENT = (
    ir.BufferStore,
    ir.Bind,
    ir.Evaluate,
    ir.IfThenElse,
    ir.For,
    ir.While,
    ir.SBlockRealize,
)
"""Statements whose effect depends on values."""


def _may_be_poison(text: str) -> bool:
    return ".read(" in text or ".use(" in text
