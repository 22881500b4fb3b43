"""Insert pieces of real modules into a scope."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import tvm
from tvm import relax, tirx
from tvm.ir import GlobalVar, Op

from ...choices import Choices
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
from ...seeds.edit import PieceEdit
from ...seeds.piece import Piece, bindings_of, main_of
from ...seeds.record import record
from ..calls import argument
from ..kind import Callees, Ops
from ..values import operator
from .edits import OTHER_KERNEL, changed, is_deadly, is_tabulated, kernel_of, with_other_kernel
from .functions import add
from .operands import glued

EDITED = 0.75
"""The share of pieces that are changed at all."""
CALLED = 0.15
"""The share of pieces that stay functions, and are called."""
GLUED = 0.3
"""The share of parameters that take a value that nearly fits."""
INLINED = 0.4
"""The share of calls of functions of the piece that are inlined."""
EXPORTED = 0.1
"""The share of values that outlive their dataflow block."""


def piece(c: Choices, s: Scope, ops: Ops, callees: Callees) -> None:
    """The bindings of a piece, on values in scope where they fit.

    Calls are changed as generated calls are: operators, attributes, dtypes, operands. If
    type inference refuses the result, the piece is inserted unchanged.
    """
    chosen = c.pick(s.module.pieces)
    start, exporting = s.state(), s.exporting
    for edited in (True, False) if c.again(1).flag(EDITED) else (False,):
        try:
            splice = _Splice(c.again(2), s, chosen, edited=edited)
            splice.emit()
        except Exception:  # type inference refuses with errors of all kinds
            s.restore(start)
            s.exporting, s.next_operands = exporting, ()
        else:
            record(chosen.name, splice.edits)
            return
    operator(c, s, ops, callees)


class Unfit(Exception):
    """A piece cannot be put into a scope in this way."""


class _Splice:
    """The insertion of one piece into a scope."""

    def __init__(self, c: Choices, s: Scope, piece: Piece, *, edited: bool) -> None:
        self.edits: list[str] = []
        """Descriptions of the changes."""
        self._c = c
        self._s = s
        self._edited = edited
        self._new: dict[Any, Any] = {}
        """Replacements of variables and functions of the piece."""
        self._mod = on_devices(piece.load(), s.module.vdevices)
        self._func = main_of(self._mod)

    def _may(self, edit: PieceEdit) -> bool:
        """True if edits of this kind are made."""
        return self._edited and edit in self._s.module.edits

    def emit(self) -> None:
        """Bind the piece in the scope.

        Raises:
            Exception: type inference refuses something.
        """
        c, s, func = self._c, self._s, self._func
        bindings = bindings_of(func)
        called = (c.flag(CALLED) and self._may(PieceEdit.CALLED)) or _manages_memory(func)
        inner = any(map(_has_blocks, bindings))
        if not func.is_pure or (inner and not called):
            s.dataflow(False)
            s.pure = s.pure and bool(func.is_pure)
        self._add_functions()
        dims = {var: self._dim(var) for var in defined_symbolic_vars(func)}
        args = self._arguments(dims)
        if called:
            gvar = add(c, s, substitute(func, self._new))
            s.bind(relax.Call(gvar, args))
            self.edits.append("called")
            return
        self._new |= dims | dict(zip(func.params, args, strict=True))
        exporting = s.exporting
        for at, binding in enumerate(bindings):
            own = c.again(at + 3)
            s.exporting = exporting or own.flag(EXPORTED)
            self._bind(binding, own)
        s.exporting = exporting

    # Functions and operands of the piece

    def _add_functions(self) -> None:
        """Add the functions that the piece calls, under free names."""
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
            return self._s.param(ty)  # the piece may use it in unknown ways
        if c.flag(GLUED) and self._may(PieceEdit.NEAR_OPERAND) and tensor:
            found = glued(c, self._s, ty)
            if found is not None:
                self.edits.append("an operand that nearly fits")
                return found
        return argument(c, self._s, ty, {})

    # Changes of its bindings

    def _bind(self, binding: relax.Binding, c: Choices) -> None:
        """Bind it in the scope."""
        s = self._s
        free = _is_inferred(binding) and not is_deadly(binding.value)
        if not free and not self._keeps_types(binding.value):
            raise Unfit  # nothing would notice wrong types inside it or in its operands
        if isinstance(binding.value, relax.Function) and hash(binding.var) in used_vars(
            [binding.value]
        ):  # it calls itself
            self._new[binding.var] = relax.Var(binding.var.name, binding.var.ty)
            value = substitute(binding.value, self._new)
            s.bind(value, var=self._new[binding.var])
            return
        called = self._callee(binding)
        if called is not None and self._may(PieceEdit.INLINED) and c.flag(INLINED):
            self._inline(binding, called, c)
            return
        value = untyped(substitute(binding.value, self._new))
        if isinstance(binding, relax.MatchCast):
            self._new[binding.var] = s.match_cast(value, substitute(binding.ty, self._new))
            return
        if isinstance(value, relax.Call) and self._edited:
            value = self._otherwise(value, c)
        self._new[binding.var] = s.bind(value)

    def _keeps_types(self, value: relax.Expr) -> bool:
        """True if all variables that the value uses have the same types as in the piece."""
        used = used_vars([value])
        return all(
            equal_types(new.ty, substitute(old.ty, self._new))
            for old, new in self._new.items()
            if isinstance(old, relax.Var) and hash(old) in used and not is_symbolic(old)
        )

    def _otherwise(self, call: relax.Call, c: Choices) -> relax.Expr:
        """The call, sometimes with one detail changed."""
        if is_tabulated(call):
            made, edits = changed(c, self._s, call)
            self.edits += edits
            return made
        wanted = c.flag(OTHER_KERNEL) and self._may(PieceEdit.KERNEL)
        other = with_other_kernel(c, self._s.module, call) if wanted else None
        if other is None:
            return call
        self.edits.append(f"{call.args[0].name_hint} becomes {other.args[0].name_hint}")
        return other

    # Functions of the piece

    def _callee(self, binding: relax.Binding) -> relax.Function | None:
        """The function that the binding calls, if the call can be inlined."""
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
        """Bind the function's bindings instead of the call."""
        normalize = self._s.module.builder.normalize
        args = [normalize(untyped(substitute(arg, self._new))) for arg in binding.value.args]
        for param, arg in zip(func.params, args, strict=True):
            self._new |= _matched(param.ty, arg.ty)
            self._new[param] = arg
        for number, each in enumerate(bindings_of(func)):
            self._bind(each, c.again(number + 1))
        result = untyped(substitute(func.body.body, self._new))
        self._new[binding.var] = result if isinstance(result, relax.Var) else self._s.bind(result)
        self.edits.append(f"{binding.value.op.name_hint} inlined")


def _matched(param: relax.Type, arg: relax.Type) -> dict[Any, Any]:
    """The dims of an operand's type for the symbolic dims of a parameter's type."""
    if isinstance(param, relax.TupleType) and isinstance(arg, relax.TupleType):
        pairs = zip(param.fields, arg.fields, strict=True)
        return {old: new for a, b in pairs for old, new in _matched(a, b).items()}
    shapes = [ty.shape if isinstance(ty, relax.TensorType) else ty for ty in (param, arg)]
    dims = [getattr(shape, "values", None) or () for shape in shapes]
    return {old: new for old, new in zip(*dims, strict=False) if isinstance(old, tvm.ir.Var)}


def _is_inferred(binding: relax.Binding) -> bool:
    """True if type inference derives the value's type from its operands and refuses wrong operands.
    It does not for PrimFuncs, packed functions, and values with bindings inside.
    """
    value = binding.value
    return not _has_blocks(binding) and (not isinstance(value, relax.Call) or is_tabulated(value))


_LIFETIMES = re.compile(r"relax\.(?:memory|vm)\.(?:alloc|kill)")


def _manages_memory(func: relax.Function) -> bool:
    """True if the function allocates or frees memory, so that nothing else may use its values."""
    calls = (each.value for each in bindings_of(func) if isinstance(each.value, relax.Call))
    return any(isinstance(c.op, Op) and _LIFETIMES.match(str(c.op.name)) for c in calls)


def _has_blocks(binding: relax.Binding) -> bool:
    """True if no dataflow block may contain the binding."""
    return isinstance(binding.value, relax.If | relax.Function)
