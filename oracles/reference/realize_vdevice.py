"""RealizeVDevice: hints for the device of a value become types and copies.

The promises and their sources:

- "Propagate virtual device information": the docstring. Operands and result of one operator live on
  one device, as do a value and its aliases. A value may only move at `to_vdevice` and
  `hint_on_device` (tests/python/relax/test_transform_realize_vdevice.py, all of it).
- A device in a type is binding: for parameters, variables, and the result of a function
  (test_func_ret, test_tuple_func_ret).
- The result of a hint lives on the device of the hint. So does its argument, unless something else
  determines the argument's device (apache/tvm#17213). In that case the hint becomes a copy
  (test_insert_to_vdevice), otherwise an alias.
- A call of a function is well-formed: the arguments live on the devices of its parameters. A
  parameter that is passed on lives there, too; other arguments are copied.
- The input is not changed (apache/tvm#17205).
- Types that the author wrote, of `match_cast` and of results of `call_tir`, stay as they are.

No document defines the devices of tuple fields, of arguments of functions, or of values related
only by a shape or a condition. Nor does any define the type of a function passed as a value when
its own result moves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import GlobalVar

from ...compat import ir
from ...generators.rewrite.nodes import global_var, substitute, used_vars, with_functions
from ..errors import NoAnswer
from ..inspect import bindings_of, global_vars, nodes, op_name, ops_used, relax_functions

Devices: TypeAlias = dict[relax.Var, ir.VDevice]
Edges: TypeAlias = dict[relax.Var, list[relax.Var]]

HINT, COPY = "relax.hint_on_device", "relax.to_vdevice"


def realize_vdevice(
    *, mutates_input: bool = False, documented_only: bool = False
) -> tvm.transform.Pass:
    """The correct behaviour of `relax.transform.RealizeVDevice`.

    The pass raises NoAnswer if the module lacks the device of a hint, and if a function that is
    passed as a value gets another type.

    Args:
        mutates_input: the fault of TVM before apache/tvm#17213: types with devices are also written
            into the input, and a hint stays if its value's type has the device. So a second run on
            the same module leaves hints.
        documented_only: raise NoAnswer if no document defines the device of a parameter.
    """

    def transform(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        if not _names_devices(mod):
            return mod
        facts = _facts(mod)
        places = facts.places()
        if documented_only:
            facts.refuse_what_is_open()
        if not mutates_input:
            result = _rewritten(mod, places, _realized)
            if documented_only:
                _refuse_new_types_of_called(mod, result)
            return result
        result = _rewritten(mod, places, _left_where_known)
        for gvar, func in _rewritten(mod, places, _left_for_a_name).functions_items():
            mod.update_func(mod.get_global_var(gvar.name_hint), func)
        return result

    return tvm.transform.module_pass(transform, opt_level=0, name="RealizeVDevice")


# The facts in a module


def _names_devices(mod: tvm.IRModule) -> bool:
    """True if the module names devices; most modules do not, and need no further analysis."""
    types = nodes(mod, relax.TensorType)
    return HINT in ops_used(mod) or any(ty.vdevice is not None for ty in types)


@dataclass
class _Facts:
    """The devices where values live, and the values that live together."""

    known: Devices = field(default_factory=dict)
    hinted: list[tuple[relax.Var, ir.VDevice]] = field(default_factory=list)
    """Arguments of hints, with the device where they live if nothing else determines it."""
    params: list[relax.Var] = field(default_factory=list)
    together: list[tuple[relax.Var, relax.Var]] = field(default_factory=list)
    flows: list[tuple[relax.Var, relax.Var]] = field(default_factory=list)
    """Pairs whose second value lives on the device of the first; the first is not affected."""
    perhaps: list[tuple[relax.Var, relax.Var]] = field(default_factory=list)
    """Pairs that may or may not live together."""

    def places(self) -> Devices:
        """The devices of parameters whose types do not name one.

        Raises:
            NoAnswer: a parameter meets values of two devices.
        """
        found = self._spread(_edges(both_ways=self.together, one_way=self.flows))
        places = {}
        for param in self.params:
            if _device(param) is None and (devices := found.get(param)):
                if len(devices) > 1:
                    raise NoAnswer(f"Parameter {param.name!r} meets values of two devices")
                places[param] = devices[0]
        return places

    def refuse_what_is_open(self) -> None:
        """Refuse parameters that may just as well live elsewhere.

        Raises:
            NoAnswer: there is one.
        """
        sure = self._spread(_edges(both_ways=self.together))
        possible = self._spread(_edges(both_ways=self.together + self.flows + self.perhaps))
        for param in self.params:
            here, others = sure.get(param, []), possible.get(param, [])
            clear = len(here) == len(others) < 2 and all(map(_same, here, others))
            if _device(param) is None and not clear:
                raise NoAnswer(f"No document defines the device of parameter {param.name!r}")

    def _spread(self, edges: Edges) -> dict[relax.Var, list[ir.VDevice]]:
        """All devices that reach a value; those of hints on it only if no other does."""
        sure = self._reached(list(self.known.items()), edges)
        weak = self._reached([(v, d) for v, d in self.hinted if v not in sure], edges, sure)
        return {**weak, **sure}

    def _reached(
        self,
        start: list[tuple[relax.Var, ir.VDevice]],
        edges: Edges,
        closed: Iterable[relax.Var] = (),
    ) -> dict[relax.Var, list[ir.VDevice]]:
        found: dict[relax.Var, list[ir.VDevice]] = {}
        todo = start[::-1]
        while todo:
            var, device = todo.pop()
            here = found.get(var, [])
            elsewhere = var in self.known and not _same(self.known[var], device)
            if var in closed or elsewhere or any(_same(device, other) for other in here):
                continue
            found[var] = [*here, device]
            todo += [(other, device) for other in edges[var]]
        return found


def _refuse_new_types_of_called(before: tvm.IRModule, after: tvm.IRModule) -> None:
    """Raise NoAnswer if the type of a function that others call has changed."""
    for func in after.functions.values():
        for gvar in global_vars(func):
            if not before.get_global_var(gvar.name_hint).same_as(gvar):
                raise NoAnswer(f"No document defines the types in callers of {gvar.name_hint!r}")


def _edges(
    both_ways: Iterable[tuple[relax.Var, relax.Var]],
    one_way: Iterable[tuple[relax.Var, relax.Var]] = (),
) -> Edges:
    edges: Edges = defaultdict(list)
    for a, b in both_ways:
        edges[a].append(b)
        edges[b].append(a)
    for a, b in one_way:
        edges[a].append(b)
    return edges


def _facts(mod: tvm.IRModule) -> _Facts:
    facts = _Facts()
    functions = dict(relax_functions(mod))
    for whole in functions.values():
        bound = {binding.var: binding.value for binding in bindings_of(whole)}
        # A function that calls itself keeps its type, which is also used inside it.
        recursive = {
            hash(value)
            for var, value in bound.items()
            if isinstance(value, relax.Function) and hash(var) in used_vars([value])
        }
        for func in nodes(whole, relax.Function):
            if hash(func) not in recursive:
                facts.params += [p for p in func.params if isinstance(p.ty, relax.TensorType)]
            for var, device in _returned(func.body.body, func.ret_ty, bound):
                facts.known.setdefault(var, device)
        for var in (*facts.params, *bound):
            if _device(var) is not None:
                facts.known[var] = _device(var)
        for binding in bindings_of(whole):
            _note(facts, mod, binding.var, binding.value, {**functions, **bound})
    return facts


def _note(
    facts: _Facts, mod: tvm.IRModule, var: relax.Var, value: relax.Expr, defined: dict[Any, Any]
) -> None:
    """Add the facts in one binding."""
    if isinstance(value, relax.Call):
        if op_name(value) == COPY:
            return
        if op_name(value) == HINT:
            facts.known[var] = _wanted(mod, value)
            if isinstance(value.args[0], relax.Var):
                facts.hinted.append((value.args[0], facts.known[var]))
            return
        args = nodes(list(value.args), relax.Var)
        if isinstance(value.op, tvm.ir.Op):
            facts.together += [(var, arg) for arg in args if _has_tensors(arg)]
            facts.perhaps += [(var, arg) for arg in args if not _has_tensors(arg)]
            return
        facts.perhaps += [(var, arg) for arg in args]
        if isinstance(value.op, relax.Var):  # a closure may return a value that it captures
            facts.perhaps.append((var, value.op))
        callee = defined.get(value.op)
        if isinstance(callee, relax.Function):
            pairs = zip(callee.params, value.args, strict=True)
            facts.flows += [(param, arg) for param, arg in pairs if isinstance(arg, relax.Var)]
            if isinstance(callee.body.body, relax.Var):
                facts.flows.append((callee.body.body, var))
    elif isinstance(value, relax.If):
        for branch in (value.true_branch, value.false_branch):
            same = facts.together if isinstance(branch.body, relax.Var) else facts.perhaps
            same += [(var, used) for used in nodes(branch.body, relax.Var)]
        facts.perhaps += [(var, used) for used in nodes(value.cond, relax.Var)]
    elif isinstance(value, relax.TupleGetItem):
        source = _element(value, defined)
        if isinstance(source, relax.Var):
            # The result of a call lives in one place; a tuple from elsewhere need not.
            if isinstance(source.ty, relax.TupleType) and not isinstance(
                defined.get(source), relax.Call
            ):
                facts.perhaps.append((var, source))
            else:
                facts.together.append((var, source))
        facts.perhaps += [(var, used) for used in nodes(value.tuple_value, relax.Var)]
    elif isinstance(value, relax.Var):
        facts.together.append((var, value))
    elif not isinstance(value, relax.Function):
        facts.perhaps += [(var, used) for used in nodes(value, relax.Var)]


def _element(value: relax.Expr, defined: dict[Any, Any]) -> relax.Expr:
    """The source of a tuple element: the field itself if known, else the tuple."""
    tuple_value = value.tuple_value
    while isinstance(tuple_value, relax.Var) and isinstance(
        defined.get(tuple_value), relax.Var | relax.Tuple
    ):
        tuple_value = defined[tuple_value]
    if isinstance(tuple_value, relax.Tuple):
        return tuple_value.fields[value.index]
    return tuple_value


def _returned(
    expr: relax.Expr, ty: relax.Type, bound: dict[relax.Var, relax.Expr]
) -> Iterator[tuple[relax.Var, ir.VDevice]]:
    """The variables that a function returns and whose device its type names."""
    if isinstance(ty, relax.TensorType) and ty.vdevice is not None and isinstance(expr, relax.Var):
        yield expr, ty.vdevice
    elif isinstance(ty, relax.TupleType):
        while isinstance(expr, relax.Var) and expr in bound:
            expr = bound[expr]
        if isinstance(expr, relax.Tuple):
            for inner, inner_ty in zip(expr.fields, ty.fields, strict=True):
                yield from _returned(inner, inner_ty, bound)


def _has_tensors(var: relax.Var) -> bool:
    return isinstance(var.ty, relax.TensorType | relax.TupleType)


def _device(expr: relax.Expr) -> ir.VDevice | None:
    return expr.ty.vdevice if isinstance(expr.ty, relax.TensorType) else None


def _same(a: ir.VDevice, b: ir.VDevice) -> bool:
    return bool(tvm_ffi.structural_equal(a, b))


def _lives_on(expr: relax.Expr, device: ir.VDevice) -> bool:
    here = _device(expr)
    return here is not None and _same(here, device)


def _wanted(mod: tvm.IRModule, hint: relax.Call) -> ir.VDevice:
    """The module's device that a hint names."""
    wanted = hint.attrs.device_type, hint.attrs.index, hint.attrs.memory_scope
    for device in mod.global_infos.get("vdevice", ()):
        kind = device.target.get_target_device_type()
        if (kind, device.vdevice_id, device.memory_scope) == wanted:
            return device
    raise NoAnswer(
        f"A hint names {hint.attrs}, but no such device was found in the IRModule's "
        f'"vdevice" annotation'
    )


# The rewriting

OnHint: TypeAlias = Callable[[relax.Call, relax.Call, ir.VDevice], relax.Expr]
"""Makes the replacement of a hint, from the original hint, the hint with its new arguments, and the
device."""


def _realized(before: relax.Call, hint: relax.Call, device: ir.VDevice) -> relax.Expr:
    (arg,) = hint.args
    return arg if _lives_on(arg, device) else relax.op.to_vdevice(arg, device)


def _left_for_a_name(before: relax.Call, hint: relax.Call, device: ir.VDevice) -> relax.Expr:
    return hint if _lives_on(hint.args[0], device) else _realized(before, hint, device)


def _left_where_known(before: relax.Call, hint: relax.Call, device: ir.VDevice) -> relax.Expr:
    return hint if _lives_on(before.args[0], device) else _realized(before, hint, device)


def _rewritten(mod: tvm.IRModule, places: Devices, on_hint: OnHint) -> tvm.IRModule:
    """A new module in which these parameters have devices; all other types follow."""
    renewed: dict[GlobalVar, GlobalVar] = {}
    functions = {}
    for gvar in _callees_first(mod):
        old = new = mod[gvar]
        if isinstance(old, relax.Function):
            new = _Rewriter(mod, places, on_hint, renewed).visit_expr(old)
            if not tvm_ffi.structural_equal(old.ty, new.ty, map_free_vars=True):
                # Its type has changed, but the GlobalVar is still the input's.
                renewed[gvar] = global_var(gvar.name_hint, new.ty)
        functions[gvar] = new
    if renewed:
        # Calls of functions that come later in a cycle.
        functions = {g: substitute(f, renewed) for g, f in functions.items()}
    return with_functions(mod, {renewed.get(g, g): functions[g] for g in mod.functions})


def _callees_first(mod: tvm.IRModule) -> list[GlobalVar]:
    order: dict[GlobalVar, None] = {}
    begun: set[GlobalVar] = set()

    def visit(gvar: GlobalVar) -> None:
        if gvar not in begun:
            begun.add(gvar)
            for callee in global_vars(mod[gvar]):
                visit(callee)
            order[gvar] = None

    for gvar in mod.functions:
        visit(gvar)
    return list(order)


def _there(arg: relax.Expr, ty: relax.Type) -> relax.Expr:
    """The argument, moved to where a parameter of this type lives."""
    if not isinstance(ty, relax.TensorType) or ty.vdevice is None or _lives_on(arg, ty.vdevice):
        return arg
    return relax.op.to_vdevice(arg, ty.vdevice)


@relax.expr_functor.mutator
class _Rewriter(relax.PyExprMutator):  # type: ignore[misc]  # TVM has no types
    def __init__(
        self,
        mod: tvm.IRModule,
        places: Devices,
        on_hint: OnHint,
        renewed: dict[GlobalVar, GlobalVar],
    ) -> None:
        super().__init__(mod)
        self.mod = mod
        self.places = places
        self.on_hint = on_hint
        self.renewed = renewed

    def visit_var_def_(self, var: relax.Var) -> relax.Var:
        if var not in self.places:
            # Nothing that a type may use changes. The default would call this again, without end.
            return var
        ty, device = var.ty, self.places[var]
        if ty.shape is not None:
            return relax.Var(var.name, relax.TensorType(ty.shape, ty.dtype, device))
        return relax.Var(var.name, relax.TensorType(None, ty.dtype, device, ty.ndim))

    def visit_global_var_(self, gvar: GlobalVar) -> GlobalVar:
        return self.renewed.get(gvar, gvar)

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        if isinstance(call.op.ty, relax.FuncType) and call.op.ty.params is not None:
            return self._call_of_function(call)
        new = super().visit_call_(call)
        if op_name(call) != HINT:
            return new
        return self.on_hint(call, new, _wanted(self.mod, call))

    def _call_of_function(self, call: relax.Call) -> relax.Expr:
        """The call, with copies of arguments that could not be placed, such as constants."""
        op = self.visit_expr(call.op)
        given = [self.visit_expr(arg) for arg in call.args]
        for before, after in zip(call.args, given, strict=True):
            if nodes(before.ty, relax.FuncType) and not tvm_ffi.structural_equal(
                before.ty, after.ty
            ):
                raise NoAnswer(f"No document defines the type of {before}, a function as a value")
        args = [_there(arg, ty) for arg, ty in zip(given, op.ty.params, strict=True)]
        if op.same_as(call.op) and all(map(tvm_ffi.Object.same_as, args, call.args)):
            return call
        return relax.Call(op, args, call.attrs, call.ty_args)
