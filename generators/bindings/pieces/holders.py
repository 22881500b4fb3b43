"""Branches and functions that some bindings of a piece go into."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tvm import relax
from tvm.ir import Op

from ...choices import Choices
from ...rewrite.nodes import free_symbolic_vars, with_fresh_variables
from ...scope import Scope
from ...seeds.piece import bindings_of
from ...traits import Trait
from ..branches import condition
from ..calls import argument
from ..composites import BACKENDS

TWO_CALLERS = 0.3
"""The share of functions that are called again, with other operands."""

ATTRIBUTES = 0.5
"""The share of functions with attributes, where some suit them."""


@dataclass(frozen=True, slots=True)
class Run:
    """Bindings that follow one another."""

    operands: Mapping[Any, relax.Expr]
    """By variable of the piece, what they use."""
    emit: Callable[[Scope, Mapping[Any, relax.Expr], Choices], relax.SeqExpr]
    """Binds them in a scope, on these operands; the sequence ends with what is used later."""
    pure: bool
    """Their piece is: they may stand in a dataflow block."""


@dataclass(frozen=True, slots=True)
class Holder:
    """What bindings may go into."""

    name: str
    trait: Trait
    hold: Callable[[Choices, Scope, Run], relax.Var]
    """Binds it, and a call of it; the variable is the result."""
    dataflow: bool = True
    """May stand in a dataflow block."""


def _in_branches(c: Choices, s: Scope, run: Run) -> relax.Var:
    """Both branches have them, each with edits of its own."""
    decided = condition(c, s)
    branches = []
    for number in range(2):
        with s.nested() as inner:
            branches.append(run.emit(inner, {}, c.again(number + 1)))
    return s.bind(relax.If(decided, *branches))


def _in_local_function(c: Choices, s: Scope, run: Run) -> relax.Var:
    """Of their operands, the first is the parameter; the others are captured."""
    first = dict(list(run.operands.items())[:1])
    params = {old: relax.Var("z", arg.ty) for old, arg in first.items()}
    with s.nested() as inner:
        body = s.module.builder.normalize(run.emit(inner, params, c.again(1)))
    func = _with_purity(relax.Function(list(params.values()), body, body.ty))
    return s.bind(relax.Call(s.bind(func), list(first.values())))


def _in_private_function(c: Choices, s: Scope, run: Run) -> relax.Var:
    f = Scope(s.module, s.dims, s.dtypes)
    params = {old: f.param(arg.ty) for old, arg in run.operands.items()}
    f.dataflow(c.flag() and run.pure)
    body = s.module.builder.normalize(run.emit(f, params, c.again(1)))
    types = [param.ty for param in f.params]
    func = _with_purity(relax.Function(f.params, body, body.ty))
    sizes = free_symbolic_vars(func)
    if sizes:
        f.param(relax.ShapeType(sizes), "s")
        func = _with_purity(relax.Function(f.params, body, body.ty))
    gvar = add(c, s, with_fresh_variables(func))
    rest = [relax.ShapeExpr(sizes)] if sizes else []
    if c.flag(TWO_CALLERS):
        others = [argument(c.again(at + 2), s, ty, {}) for at, ty in enumerate(types)]
        s.bind(relax.Call(gvar, [*others, *rest]))
    args = [*run.operands.values()]
    # What a varied call takes is a parameter of the function, too.
    args += [argument(c.again(at), s, ty, {}) for at, ty in enumerate(types[len(args) :])]
    return s.bind(relax.Call(gvar, [*args, *rest]))


def _with_purity(func: relax.Function) -> relax.Function:
    """The function, declared as it is."""
    pure = not relax.analysis.contains_impure_call(func)
    return relax.Function(func.params, func.body, func.ret_ty, pure)


HOLDERS = (
    Holder("a private function", Trait.PRIVATE_FUNCTIONS, _in_private_function),
    Holder("the branches of an If", Trait.IF, _in_branches, dataflow=False),
    Holder("a local function", Trait.CLOSURES, _in_local_function, dataflow=False),
)
"""All of them."""


def add(c: Choices, s: Scope, func: relax.Function) -> relax.GlobalVar:
    """Add a function of a piece's bindings to the module, sometimes with attributes."""
    attrs = _attributes(c, s, func)
    made = func.with_attr(dict(attrs)) if attrs else func
    return s.module.add("piece", made, public="Codegen" in attrs)


def _attributes(c: Choices, s: Scope, func: relax.Function) -> Mapping[str, object]:
    """Those that passes of fusion or of backends put on functions such as this one."""
    values = [binding.value for binding in bindings_of(func)]
    calls = [value for value in values if isinstance(value, relax.Call)]
    plain = all(
        isinstance(value, relax.Call | relax.TupleGetItem | relax.Tuple) for value in values
    )
    wanted, backend, which = c.flag(ATTRIBUTES), c.pick(BACKENDS), c.below(6)
    if not (wanted and plain and func.is_pure and all(isinstance(each.op, Op) for each in calls)):
        return {}
    forms: list[Mapping[str, object]] = []
    kernels = [str(each.op.name) == "relax.call_tir" for each in calls]
    if s.has(Trait.PRIMITIVE) and all(kernels):
        forms.append({"Primitive": True})
    if s.has(Trait.COMPOSITE) and not any(kernels):
        forms.append({"Composite": f"{backend}.piece", "Primitive": True})
        forms.append({"Composite": f"{backend}.piece"})
    if s.has(Trait.CODEGEN) and not any(kernels):
        forms.append({"Codegen": backend})
    return forms[which % len(forms)] if forms else {}
