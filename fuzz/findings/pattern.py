"""What a module looks like, up to names, dtypes, dimensions and the values of constants."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import tvm
from tvm import relax

from ...compat import ir
from ...oracles.inspect import bindings_of, calls_of, local_functions, nodes, op_name
from ...oracles.keys import computes


def pattern(mod: tvm.IRModule) -> str:
    """A text that is the same for two modules that differ in nothing else; for people, too.

    Functions stand in it sorted by what they look like: their names and order do not matter. The
    attributes of operators are kept: other attributes mostly take other paths through a pass.
    """
    kinds = {
        gvar.name_hint: PRIM_FUNC if isinstance(func, tvm.tirx.PrimFunc) else "Function"
        for gvar, func in mod.functions_items()
    }
    return "\n".join(sorted(_function(func, kinds) for _, func in mod.functions_items()))


def parts(mod: tvm.IRModule) -> set[str]:
    """What a module has that not every module has, besides operators of models.

    What PrimFuncs have counts in modules of PrimFuncs alone, which passes of TensorIR get.
    """
    funcs = [func for _, func in mod.functions_items()]
    if funcs and all(isinstance(func, tvm.tirx.PrimFunc) for func in funcs):
        return {part for func in funcs for part in _tensorir(func)}
    found = {
        type(node).__name__ for node in nodes(mod, relax.If, relax.MatchCast, relax.ExternFunc)
    }
    for call in calls_of(mod):
        name = op_name(call)
        if isinstance(call.op, tvm.ir.GlobalVar):
            found.add("call of a function")
        elif name is not None and not computes(name):
            found.add(name)
    if local_functions(mod):
        found.add("local function")
    if nodes(mod, relax.TupleGetItem):
        found.add("item of a tuple")
    if any(isinstance(binding.value, relax.Tuple) for binding in bindings_of(mod)):
        found.add("bound tuple")
    return found


def _tensorir(func: tvm.tirx.PrimFunc) -> Iterator[str]:
    """How statements follow each other: what a smallest module has by accident is left out."""
    for node in nodes(func.body, *_CONTROL, ir.For, ir.Let, ir.Select, tvm.ir.Call):
        if isinstance(node, ir.For):
            if node.kind != ir.ForKind.SERIAL:
                yield f"loop {ir.ForKind(node.kind).name.lower()}"
            if node.step is not None:
                yield "step"
            if getattr(node.min, "value", 1) != 0:
                yield "loop not from 0"
        elif not isinstance(node, tvm.ir.Call):
            yield type(node).__name__
        elif (name := op_name(node)) is not None and not _is_arithmetic(node.op):
            yield name
        if isinstance(node, ir.IfThenElse) and node.else_case is not None:
            yield "else"


_CONTROL = (ir.While, ir.IfThenElse, ir.DeclBuffer, ir.AssertStmt, ir.Break, ir.Continue)


def _is_arithmetic(op: tvm.ir.Op) -> bool:
    """It computes a number of numbers, and has no effect."""
    return not str(op.name).startswith("prim.") and op.get_attr("TCallEffectKind") in (0, 1)


def elements(pattern: str, *, parameters: bool = False) -> frozenset[str]:
    """What a module is made of, from its pattern: bindings, attributes of functions, PrimFuncs.

    Of which variables they are, and in which order they stand, is left out.

    Args:
        parameters: with the types of parameters.
    """
    found = set()
    for line in pattern.splitlines():
        if line.startswith(("public", "private")):
            found.add(re.sub(r" Function\(.*\)", "", line))
            if parameters:
                found.update(f"parameter: {ty}" for ty in re.findall(r"%\d+: ([^,()]+)", line))
        elif line.startswith(("    ", PRIM_FUNC)):
            found.add(re.sub(r"%\d+", "%", line.strip()))
    return frozenset(found - {"public"})


def is_call(element: str) -> bool:
    """The element of a module is a binding of a call."""
    return re.search(r"= (match_cast )?[\w.]+\(", element) is not None


def _function(func: Any, kinds: dict[str, str]) -> str:
    if isinstance(func, relax.Function):
        return "\n".join(_Numbered(kinds).function(func))
    if isinstance(func, tvm.tirx.PrimFunc):
        found = nodes(func.body, tvm.tirx.Stmt, tvm.ir.Expr)
        body = (op_name(node) or type(node).__name__ for node in found)
        return f"{PRIM_FUNC} {' '.join(name for name in body if name not in _LEAVES)}"
    return type(func).__name__


PRIM_FUNC = "PrimFunc"
"""How the line of a PrimFunc begins, in which the classes of its nodes follow."""

_BINARY = (ir.BinaryOpExpr, ir.CmpExpr, ir.LogicalExpr)

ARITHMETIC = frozenset(
    kind.__name__
    for kind in vars(ir).values()
    if isinstance(kind, type) and issubclass(kind, _BINARY) and kind not in _BINARY
)
"""The classes of binary arithmetic and comparison."""

_LEAVES = ("IntImm", "FloatImm", "Var", "SBlockRealize")
"""What a PrimFunc has more or less of by its shapes alone, or besides something else."""


class _Numbered:
    def __init__(self, kinds: dict[str, str]) -> None:
        self._kinds = kinds
        self._numbers: dict[int, int] = {}

    def function(self, func: relax.Function) -> Iterator[str]:
        params = ", ".join(f"{self._var(param)}: {_type(param.ty)}" for param in func.params)
        attrs = sorted(map(str, func.attrs.keys())) if func.attrs is not None else []
        public = "public" if "global_symbol" in attrs else "private"
        rest = [name for name in attrs if name != "global_symbol"]
        yield f"{public} Function({params}) {' '.join(rest)}".rstrip()
        yield from self._body(func.body)

    def _body(self, body: Any) -> Iterator[str]:
        if not isinstance(body, relax.SeqExpr):
            yield f"  {self._expr(body)}"
            return
        for block in body.blocks:
            yield "  dataflow" if isinstance(block, relax.DataflowBlock) else "  block"
            for binding in block.bindings:
                yield from self._binding(binding)
        yield f"  return {self._expr(body.body)}"

    def _binding(self, binding: Any) -> Iterator[str]:
        value = binding.value
        cast = "match_cast " if isinstance(binding, relax.MatchCast) else ""
        inner: list[Any] = []
        if isinstance(value, relax.If):
            text, inner = f"if {self._expr(value.cond)}", [value.true_branch, value.false_branch]
        elif isinstance(value, relax.Function):
            text, inner = "local", [value.body]
            for param in value.params:
                self._var(param)
        else:
            text = self._expr(value)
        yield f"    {self._var(binding.var)} = {cast}{text}: {_type(binding.var.ty)}"
        for body in inner:
            yield from self._body(body)

    def _var(self, var: Any) -> str:
        return f"%{self._numbers.setdefault(hash(var), len(self._numbers))}"

    def _expr(self, expr: Any) -> str:
        if isinstance(expr, tvm.ir.GlobalVar):
            return self._kinds.get(expr.name_hint, "missing")
        if isinstance(expr, relax.Var):
            return self._var(expr)
        if isinstance(expr, relax.Call):
            callee = op_name(expr) or self._expr(expr.op)
            args = ", ".join(map(self._expr, expr.args))
            return f"{callee}({args}){_attributes(expr.attrs)}"
        if isinstance(expr, relax.Tuple):
            return f"({', '.join(map(self._expr, expr.fields))})"
        if isinstance(expr, relax.TupleGetItem):
            return f"{self._expr(expr.tuple_value)}[{expr.index}]"
        return type(expr).__name__


def _attributes(attrs: Any) -> str:
    """Attributes but dtypes, as they are printed."""
    if attrs is None:
        return ""
    named = {
        field.name: getattr(attrs, field.name)
        for field in type(attrs).__tvm_ffi_type_info__.fields
        if "dtype" not in field.name
    }
    return f" {', '.join(f'{name}={value}' for name, value in named.items())}" if named else ""


def _type(ty: Any) -> str:
    if isinstance(ty, relax.TupleType):
        return f"({', '.join(map(_type, ty.fields))})"
    if not isinstance(ty, relax.TensorType):
        return type(ty).__name__
    if isinstance(ty.shape, relax.ShapeExpr):
        shape = "" if all(isinstance(dim, tvm.tirx.IntImm) for dim in ty.shape) else " symbolic"
    elif ty.shape is not None:
        shape = " of a shape"
    else:
        shape = " of unknown rank" if ty.ndim == -1 else " of unknown shape"
    device = " on a device" if ty.vdevice is not None else ""
    return f"Tensor{shape}{device}{' of unknown dtype' if ty.dtype is None else ''}"
