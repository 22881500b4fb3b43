"""Pieces of real modules on their way into a scope."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import tvm
from tvm import relax, tirx
from tvm.ir import GlobalVar, Op

from ...choices import Choices
from ...idioms.building import BLOCK, RETURNED, TWICE, Builder, Link
from ...rewrite.nodes import (
    defined_symbolic_vars,
    equal_types,
    is_symbolic,
    references,
    substitute,
    untyped,
    used_vars,
)
from ...scope import Scope
from ...seeds.devices import on_devices
from ...seeds.edit import Edit
from ...seeds.piece import Piece, bindings_of, main_of
from ...seeds.record import record
from ...seeds.sizes import resized
from ...traits import Trait
from ...values import Request, value_of
from ..calls import argument
from ..kind import Callees, Ops
from ..values import operator
from .edits import OTHER_KERNEL, changed, is_deadly, is_tabulated, kernel_of, with_other_kernel
from .holders import HOLDERS, Holder, Run, add
from .operands import glued

EDITED = 0.75
"""The share of pieces that are changed at all."""
RESIZED = 0.2
"""The share of these of which a size changes."""
HELD = 0.2
"""The share of which some bindings go into a branch or a function."""
LONGEST = 6
"""The most bindings that do."""
CALLED = 0.15
"""The share of pieces that stay functions, and are called."""
GLUED = 0.3
"""The share of parameters that take a value that nearly fits."""
INLINED = 0.4
"""The share of calls of functions of the piece that become what the functions do."""
LINKED = 0.06
"""The share of values behind which something stands, such as a cast or the end of a block."""
DUPLICATED = 0.04
"""The share of values that are computed twice."""
EXPORTED = 0.1
"""The share of values that outlive their dataflow block."""

SIZES = (
    (Trait.SYMBOLIC_SHAPES, None),
    (Trait.UNIT_DIMS, 1),
    (Trait.ZERO_SIZE, 0),
)
"""What a size may become in modules of a trait; None: symbolic."""

Links = Callable[[], Sequence[Link]]


def piece(c: Choices, s: Scope, ops: Ops, callees: Callees, links: Links = tuple) -> None:
    """The bindings of a piece, on values in scope where they fit.

    Calls are changed as those of generated code are: operators, attributes, dtypes, operands. What
    stands between generated calls stands between these, too. Where what follows does not allow
    that, the piece comes as it is.

    Args:
        links: what may stand behind a value.
    """
    chosen = c.pick(s.module.pieces)
    start, exporting = s.state(), s.exporting
    for edited in (True, False) if c.again(1).flag(EDITED) else (False,):
        try:
            splice = _Splice(c.again(2), s, chosen, links, edited=edited)
            splice.emit()
        except Exception:  # type inference refuses with errors of all kinds
            s.restore(start)
            s.exporting, s.next_operands = exporting, ()
        else:
            record(chosen.name, splice.edits)
            return
    operator(c, s, ops, callees)


class Unfit(Exception):
    """A piece cannot be put into a scope so."""


class _Step(NamedTuple):
    """What is decided about one binding beforehand."""

    c: Choices
    """For the rest."""
    exported: bool = False
    link: Link | None = None
    duplicated: bool = False

    @property
    def ends_block(self) -> bool:
        """A dataflow block ends behind the binding."""
        return self.link is not None and (self.link is BLOCK or not self.link.dataflow)


class _Splice:
    """One piece on its way into a scope."""

    def __init__(self, c: Choices, s: Scope, piece: Piece, links: Links, *, edited: bool) -> None:
        self.edits: list[str] = []
        """What has been changed, in words."""
        self._c = c
        self._s = s
        self._links = links
        self._edited = edited
        self._new: dict[Any, Any] = {}
        """What stands for variables and functions of the piece."""
        self._duplicates: dict[Any, Any] = {}
        """What the next use of a variable takes instead."""
        self._mod = self._adapted(piece)
        self._func = main_of(self._mod)

    def _adapted(self, piece: Piece) -> tvm.IRModule:
        """The module of the piece, with another size or not, on the devices of this module."""
        c, s = self._c, self._s
        ways = [new for trait, new in SIZES if s.has(trait)]
        wanted, way, which = c.flag(RESIZED), c.below(6), c.below(256)
        if self._may(Edit.SIZE) and wanted and ways:
            found = resized(piece, which, ways[way % len(ways)])
            if found is not None:
                piece, edit = found
                self.edits.append(edit)
        return on_devices(piece.load(), s.module.vdevices)

    def _may(self, edit: Edit) -> bool:
        """Edits of this kind are made."""
        return self._edited and edit in self._s.module.edits

    def emit(self) -> None:
        """Bind the piece in the scope.

        Raises:
            Exception: type inference refuses something.
        """
        c, s, func = self._c, self._s, self._func
        bindings = bindings_of(func)
        called = (c.flag(CALLED) and self._may(Edit.CALLED)) or _manages_memory(func)
        inner = any(map(_has_blocks, bindings))
        if not func.is_pure or (inner and not called):
            s.dataflow(False)
            s.pure = s.pure and bool(func.is_pure)
        held = None if called else self._held_run(bindings, c.part(4))
        steps = [] if called else self._steps(len(bindings), c)
        ends = _ends(steps, held)
        if ends and s.in_dataflow:  # what is in scope only here would be lost on the way
            s.dataflow(False)
            s.dataflow(True)
        self._add_functions()
        dims = {var: self._dim(var) for var in defined_symbolic_vars(func)}
        exporting, s.exporting = s.exporting, s.exporting or bool(ends)
        args = self._arguments(dims)
        s.exporting = exporting
        if called:
            gvar = add(c, s, substitute(func, self._new))
            s.bind(relax.Call(gvar, args))
            self.edits.append("called")
            return
        self._new |= dims | dict(zip(func.params, args, strict=True))
        self._bind_all(bindings, steps, held, _outliving(bindings, ends) if ends else set())

    def _bind_all(
        self,
        bindings: Sequence[relax.Binding],
        steps: Sequence[_Step],
        held: tuple[range, Holder] | None,
        outliving: Collection[int],
    ) -> None:
        s = self._s
        exporting = s.exporting
        for at, (binding, step) in enumerate(zip(bindings, steps, strict=True)):
            if held is not None and at in held[0]:
                if at == held[0].start:
                    s.exporting = True
                    run = [bindings[each] for each in held[0]]
                    later = _used_in(bindings[held[0].stop :]) | used_vars([self._func.body.body])
                    self._hold(run, later, held[1], step.c)
                continue
            outlives = hash(binding.var) in outliving
            s.exporting = exporting or step.exported or outlives or step.ends_block
            self._bind(binding, step)
        s.exporting = exporting

    # What the piece is given

    def _add_functions(self) -> None:
        """What the piece calls, under names that are free."""
        s, added = self._s, []
        for gvar, func in self._mod.functions_items():
            if not func.same_as(self._func):
                new = self._new[gvar] = s.module.add(str(gvar.name_hint), func)
                added.append(new)
                if func.attrs is not None and "Codegen" in func.attrs:  # code is made by its symbol
                    named = func.with_attr("global_symbol", str(new.name_hint))
                    s.module.functions[new] = named
        for gvar in added:
            func = s.module.functions[gvar]
            if references(func):
                s.module.functions[gvar] = substitute(func, self._new)
        for binding in bindings_of(self._func):
            called = kernel_of(binding.value)
            if called is not None:
                s.module.kernels[self._new[called[0]]] = called[1]

    def _dim(self, var: Any) -> Any:
        """A symbolic dimension of the function, or a new one."""
        symbolic = [dim for dim in self._s.dims if isinstance(dim, tvm.ir.Var)]
        at = self._c.below(len(symbolic) + 1)
        return symbolic[at] if at < len(symbolic) else tirx.Var(var.name, "int64")

    def _arguments(self, dims: Mapping[Any, Any]) -> list[relax.Expr]:
        return [
            self._argument(param.ty, dims, self._c.again(number + 1))
            for number, param in enumerate(self._func.params)
        ]

    def _argument(self, ty: relax.Type, dims: Mapping[Any, Any], c: Choices) -> relax.Expr:
        ty = substitute(ty, dims)
        tensor = isinstance(ty, relax.TensorType)
        if isinstance(ty, relax.AnyType) or (tensor and (ty.shape is None or ty.dtype is None)):
            return self._s.param(ty)  # what the piece does with it is not known
        if c.flag(GLUED) and self._may(Edit.NEAR_OPERAND) and tensor:
            found = glued(c, self._s, ty)
            if found is not None:
                self.edits.append("an operand that nearly fits")
                return found
        return argument(c, self._s, ty, {})

    # What is done to its bindings

    def _steps(self, number: int, c: Choices) -> list[_Step]:
        """What happens to each of so many bindings."""
        builder = Builder(c, self._s, self._links)
        links = [each for each in builder.fitting(spine=True) if each not in (RETURNED, TWICE)]
        steps = []
        for at in range(number):
            own = c.again(at + 3)
            exported, linked, which = own.flag(EXPORTED), own.flag(LINKED), own.below(256)
            duplicated = own.flag(DUPLICATED)
            link = links[which % len(links)] if linked and self._may(Edit.LINK) else None
            steps.append(_Step(own, exported, link, duplicated and self._may(Edit.TWICE)))
        return steps

    def _bind(self, binding: relax.Binding, step: _Step) -> None:
        """Bind it in the scope, and what stands behind it."""
        s, c = self._s, step.c
        free = _is_inferred(binding) and not is_deadly(binding.value)
        if not free and not self._keeps_types(binding.value):
            raise Unfit  # nobody would see that types inside of it, or of operands, do not fit
        if isinstance(binding.value, relax.Function) and hash(binding.var) in used_vars(
            [binding.value]
        ):  # it calls itself
            self._new[binding.var] = relax.Var(binding.var.name, binding.var.ty)
            value = substitute(binding.value, self._new)
            s.bind(value, var=self._new[binding.var])
            return
        called = self._callee(binding)
        if called is not None and self._may(Edit.INLINED) and c.flag(INLINED):
            self._inline(binding, called, c)
            return
        value = untyped(substitute(binding.value, self._given(binding)))
        if isinstance(binding, relax.MatchCast):
            self._new[binding.var] = s.match_cast(value, substitute(binding.ty, self._new))
            return
        if isinstance(value, relax.Call) and self._edited:
            value = self._otherwise(value, c)
        made = self._new[binding.var] = s.bind(value)
        if step.duplicated and isinstance(value, relax.Call) and self._func.is_pure:
            self._duplicates[binding.var] = s.bind(value)
            self.edits.append(f"{binding.var.name} twice")
        if step.link is not None:
            self._new[binding.var] = self._linked(made, value, step.link, c)

    def _given(self, binding: relax.Binding) -> Mapping[Any, Any]:
        """What stands for variables in the value of a binding: duplicates once each."""
        if not self._duplicates:
            return self._new
        used = used_vars([binding.value])
        taken = {old: new for old, new in self._duplicates.items() if hash(old) in used}
        for old in taken:
            del self._duplicates[old]
        return {**self._new, **taken}

    def _keeps_types(self, value: relax.Expr) -> bool:
        """What the value uses has the types that it had in the piece."""
        used = used_vars([value])
        return all(
            equal_types(new.ty, substitute(old.ty, self._new))
            for old, new in self._new.items()
            if isinstance(old, relax.Var) and hash(old) in used and not is_symbolic(old)
        )

    def _otherwise(self, call: relax.Call, c: Choices) -> relax.Expr:
        """The call, now and then with one thing or other changed."""
        if is_tabulated(call):
            made, edits = changed(c, self._s, call)
            self.edits += edits
            return made
        wanted = c.flag(OTHER_KERNEL) and self._may(Edit.KERNEL)
        other = with_other_kernel(c, self._s.module, call) if wanted else None
        if other is None:
            return call
        self.edits.append(f"{call.args[0].name_hint} becomes {other.args[0].name_hint}")
        return other

    def _linked(self, made: relax.Var, value: relax.Expr, link: Link, c: Choices) -> relax.Expr:
        """What the link makes of a value, which is of the same type."""
        tensor = value_of(made)
        if tensor is None or not tensor.complete:
            return made
        request = Request(
            (tensor.dtype or "",), None, tensor.shape, False, True, None, None, tensor.vdevice
        )
        builder = Builder(c, self._s, self._links)
        self.edits.append(f"{link.name} behind {made.name}")
        return builder.passed_on(link, tensor, value, request, c.again(1)).expr

    # Functions of the piece

    def _callee(self, binding: relax.Binding) -> relax.Function | None:
        """The function that the binding calls, if its bindings can stand in place of the call."""
        call = binding.value
        if not isinstance(binding, relax.VarBinding) or not isinstance(call, relax.Call):
            return None
        if not isinstance(call.op, GlobalVar):
            return None
        func = self._mod.functions.get(call.op)
        if not isinstance(func, relax.Function) or str(call.op.name_hint) in references(func):
            return None
        stays = any(map(_has_blocks, bindings_of(func))) or _manages_memory(func)
        return None if stays else func

    def _inline(self, binding: relax.Binding, func: relax.Function, c: Choices) -> None:
        """Bind what the function does instead of the call."""
        given = self._given(binding)
        normalize = self._s.module.builder.normalize
        args = [normalize(untyped(substitute(arg, given))) for arg in binding.value.args]
        for param, arg in zip(func.params, args, strict=True):
            self._new |= _matched(param.ty, arg.ty)
            self._new[param] = arg
        for number, each in enumerate(bindings_of(func)):
            self._bind(each, _Step(c.again(number + 1)))
        result = untyped(substitute(func.body.body, self._new))
        self._new[binding.var] = result if isinstance(result, relax.Var) else self._s.bind(result)
        self.edits.append(f"{binding.value.op.name_hint} inlined")

    # Branches and functions around bindings

    def _held_run(
        self, bindings: Sequence[relax.Binding], c: Choices
    ) -> tuple[range, Holder] | None:
        """The bindings that go into a branch or a function, and into which."""
        s = self._s
        wanted, which, first, more = c.flag(HELD), c.below(6), c.below(256), c.below(LONGEST)
        holders = [each for each in HOLDERS if s.has(each.trait)]
        if not (self._may(Edit.HELD) and wanted and holders and bindings):
            return None
        first %= len(bindings)
        run = range(first, min(first + 1 + more, len(bindings)))
        fits = all(map(_may_be_held, (bindings[at] for at in run)))
        return (run, holders[which % len(holders)]) if fits else None

    def _hold(
        self, run: Sequence[relax.Binding], later: Collection[int], holder: Holder, c: Choices
    ) -> None:
        """Bind the holder of the bindings, and its results in their place."""
        s = self._s
        results = [each.var for each in run if hash(each.var) in later] or [run[-1].var]
        used = _used_in(run)
        operands = {
            old: s.module.builder.normalize(new)
            for old, new in self._new.items()
            if isinstance(old, relax.Var) and hash(old) in used and not is_symbolic(old)
        }
        if any(not _is_data(arg.ty) for arg in operands.values()):
            raise Unfit

        def emit(inner: Scope, given: Mapping[Any, relax.Expr], own: Choices) -> relax.SeqExpr:
            outer, new, duplicates = self._s, dict(self._new), dict(self._duplicates)
            self._s = inner
            self._new |= given
            self._duplicates.clear()
            for number, binding in enumerate(run):
                inner.exporting = any(binding.var.same_as(result) for result in results)
                self._bind(binding, _Step(own.again(number + 1)))
            fields = [self._new[var] for var in results]
            inner.close()
            self._s, self._new, self._duplicates = outer, new, duplicates
            return relax.SeqExpr(inner.blocks, relax.Tuple(fields) if fields[1:] else fields[0])

        with _outside(s, wanted=not holder.dataflow):
            made = holder.hold(c, s, Run(operands, emit, bool(self._func.is_pure)))
            if len(results) == 1:
                self._new[results[0]] = made
            else:
                for at, var in enumerate(results):
                    self._new[var] = s.bind(relax.TupleGetItem(made, at))
        names = ", ".join(str(each.var.name) for each in run)
        self.edits.append(f"{names} in {holder.name}")


@contextmanager
def _outside(s: Scope, *, wanted: bool) -> Iterator[None]:
    """Outside of any dataflow block, if that is wanted; afterwards in another one."""
    on = s.in_dataflow and wanted
    if on:
        s.dataflow(False)
    yield
    if on:
        s.dataflow(True)


def _ends(steps: Sequence[_Step], held: tuple[range, Holder] | None) -> list[int]:
    """The bindings before which a dataflow block ends."""
    ends = [at + 1 for at, step in enumerate(steps) if step.ends_block]
    if held is not None and not held[1].dataflow:
        ends += [held[0].start, held[0].stop]
    return ends


def _outliving(bindings: Sequence[relax.Binding], ends: Collection[int]) -> set[int]:
    """The variables that are used behind the end of the block that they are bound in."""
    used = [used_vars([each.value]) for each in bindings]
    return {
        hash(binding.var)
        for at, binding in enumerate(bindings)
        for end in ends
        if at < end and any(hash(binding.var) in each for each in used[end:])
    }


def _used_in(bindings: Sequence[relax.Binding]) -> set[int]:
    return used_vars([binding.value for binding in bindings])


def _matched(param: relax.Type, arg: relax.Type) -> dict[Any, Any]:
    """What the symbolic dimensions of a parameter's type are in an operand's."""
    if isinstance(param, relax.TupleType) and isinstance(arg, relax.TupleType):
        pairs = zip(param.fields, arg.fields, strict=True)
        return {old: new for a, b in pairs for old, new in _matched(a, b).items()}
    shapes = [ty.shape if isinstance(ty, relax.TensorType) else ty for ty in (param, arg)]
    dims = [getattr(shape, "values", None) or () for shape in shapes]
    return {old: new for old, new in zip(*dims, strict=False) if isinstance(old, tvm.ir.Var)}


def _is_data(ty: relax.Type) -> bool:
    """Of a tensor, a shape, or a tuple of such: no function, and no number."""
    if isinstance(ty, relax.TupleType):
        return all(map(_is_data, ty.fields))
    return isinstance(ty, relax.TensorType | relax.ShapeType)


def _may_be_held(binding: relax.Binding) -> bool:
    """It defines no symbolic dimension, and its value is data."""
    return (
        isinstance(binding, relax.VarBinding)
        and not _has_blocks(binding)
        and _is_data(binding.var.ty)
    )


def _is_inferred(binding: relax.Binding) -> bool:
    """Type inference finds out all about the value from its operands, and refuses wrong ones: not
    so for PrimFuncs, packed functions, and what has bindings inside.
    """
    value = binding.value
    return not _has_blocks(binding) and (not isinstance(value, relax.Call) or is_tabulated(value))


_LIFETIMES = re.compile(r"relax\.(?:memory|vm)\.(?:alloc|kill)")


def _manages_memory(func: relax.Function) -> bool:
    """Values end in the middle of the function, or share a storage: nobody else may use them."""
    calls = (each.value for each in bindings_of(func) if isinstance(each.value, relax.Call))
    return any(isinstance(c.op, Op) and _LIFETIMES.match(str(c.op.name)) for c in calls)


def _has_blocks(binding: relax.Binding) -> bool:
    """No dataflow block may hold it."""
    return isinstance(binding.value, relax.If | relax.Function)
