"""Questions that contracts ask about modules, answered fast.

All of it rests on `tvm_ffi.structural_walk`, which filters by node type in C++: about 10 µs for a
small function, half of what a Python recursion or `post_order_visit` costs. The walk enters types,
shapes and local functions too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import Op

from ..compat import ir


def relax_functions(mod: tvm.IRModule) -> Iterator[tuple[tvm.ir.GlobalVar, relax.Function]]:
    """The module's Relax functions, without PrimFuncs and external functions."""
    return ((gv, f) for gv, f in mod.functions_items() if isinstance(f, relax.Function))


def prim_funcs(mod: tvm.IRModule) -> Iterator[tuple[tvm.ir.GlobalVar, tirx.PrimFunc]]:
    """The module's PrimFuncs."""
    return ((gv, f) for gv, f in mod.functions_items() if isinstance(f, tirx.PrimFunc))


def is_public(func: tvm.ir.BaseFunc) -> bool:
    """True if the function can be called from outside of the module."""
    return attr(func, "global_symbol") is not None


def attr(func: tvm.ir.BaseFunc | tvm.IRModule, name: str) -> Any:
    """An attribute of a function or module, or None."""
    attrs = func.attrs
    return None if attrs is None else attrs.get(name)


def is_bound_to_threads(func: tirx.PrimFunc) -> bool:
    """True if a loop runs on the threads of a device: the function is not code for the CPU."""
    return any(loop.kind == ir.ForKind.THREAD_BINDING for loop in nodes(func, ir.For))


def stores_in_blocks(func: tirx.PrimFunc) -> list[Any]:
    """The stores in blocks below the root of a PrimFunc."""
    root = getattr(func.body, "block", None)
    found = {
        store.__chandle__(): store
        for block in nodes(func, ir.SBlock)
        if not block.same_as(root)
        for store in nodes(block, ir.BufferStore)
    }
    return list(found.values())


def public_functions(mod: tvm.IRModule) -> Iterator[tuple[tvm.ir.GlobalVar, relax.Function]]:
    """The Relax functions that can be called from outside of the module."""
    return ((gv, f) for gv, f in relax_functions(mod) if is_public(f))


def entries(
    mod: tvm.IRModule,
) -> Iterator[tuple[tvm.ir.GlobalVar, relax.Function | tirx.PrimFunc]]:
    """The entry points for users of a build: the public Relax functions; without any Relax
    function, the public PrimFuncs."""
    if any(True for _ in relax_functions(mod)):
        yield from public_functions(mod)
    else:
        yield from ((gv, f) for gv, f in prim_funcs(mod) if is_public(f))


def nodes(root: Any, *kinds: type[Any]) -> list[Any]:
    """The nodes of these types, or of types derived from them, inside `root` in post-order.

    A module stands for all of its Relax functions. Every use counts: a shared node comes as often
    as it is used.
    """
    found: list[Any] = []
    visit = (kinds, found.append)
    if isinstance(root, tvm.IRModule):
        for _, func in relax_functions(root):
            tvm_ffi.structural_walk(func, visit)
    else:
        tvm_ffi.structural_walk(root, visit)
    return found


def calls_of(root: Any, op: str | None = None) -> list[relax.Call]:
    """All calls inside a function (or expression, or module); only those of one operator if given.

    Calls of `tirx` operators inside symbolic shapes (`T.shift_left(n, 1)`) are among them.
    """
    calls = nodes(root, relax.Call)
    return calls if op is None else [c for c in calls if op_name(c) == op]


def op_name(expr: Any) -> str | None:
    """The registered name of the called operator, e.g. "relax.add"; None if it calls none."""
    if isinstance(expr, relax.Call):
        op = expr.op
        if isinstance(op, Op):
            return str(op.name)
    return None


@functools.cache
def has_op_attr(op: str, name: str) -> bool:
    """True if the registered operator has the attribute, e.g. "FLegalize"."""
    return Op.get(op).get_attr(name) is not None


def is_pure(value: Any) -> bool:
    """True if nothing but the value of a bound expression shows that it was computed."""
    kind = type(value)
    if kind is relax.If:
        return all(map(is_pure, nodes(value, relax.Call)))
    if kind is not relax.Call:
        return True
    name = op_name(value)
    return bool(getattr(value.op.ty, "purity", False)) if name is None else _is_pure_op(name)


@functools.cache
def _is_pure_op(name: str) -> bool:
    return bool(Op.get(name).get_attr("FPurity"))


def ops_used(root: Any) -> set[str]:
    """Registered names of the operators called, e.g. {"relax.add", "relax.call_tir"}."""
    return {call.op.name for call in nodes(root, relax.Call) if isinstance(call.op, Op)}


def bindings_of(root: Any) -> list[relax.Binding]:
    """All bindings inside, in order, those of branches and local functions before their own."""
    return nodes(root, relax.expr.Binding)


def has_dataflow(root: Any) -> bool:
    """True if a dataflow block is somewhere inside."""
    return bool(nodes(root, relax.DataflowBlock))


def blocks_of(root: Any) -> list[relax.BindingBlock]:
    """All blocks of bindings, dataflow or not."""
    return nodes(root, relax.BindingBlock)


def local_functions(root: Any) -> list[relax.Function]:
    """Functions that are bound inside `root`; `root` itself is not among them."""
    if isinstance(root, tvm.IRModule):
        return [local for _, func in relax_functions(root) for local in local_functions(func)]
    return [f for f in nodes(root, relax.Function) if not f.same_as(root)]


def has_recursive_local(root: Any) -> bool:
    """True if a function that is bound inside of another one uses its own name."""
    return any(
        isinstance(binding.value, relax.Function) and binding.var in nodes(binding.value, relax.Var)
        for binding in bindings_of(root)
    )


def global_vars(root: Any) -> list[tvm.ir.GlobalVar]:
    """Every use of a GlobalVar inside."""
    return nodes(root, tvm.ir.GlobalVar)


def tensor_types(ty: Any) -> Iterator[relax.TensorType]:
    """The tensors in a type, tuples taken apart."""
    if isinstance(ty, relax.TensorType):
        yield ty
    elif isinstance(ty, relax.TupleType):
        for field in ty.fields:
            yield from tensor_types(field)


def complete(ty: Any) -> bool:
    """True if the type has dtype and shape of every tensor in it; shapes may be symbolic."""
    if isinstance(ty, relax.TensorType):
        return ty.dtype is not None and isinstance(ty.shape, relax.ShapeExpr)
    if isinstance(ty, relax.TupleType):
        return all(complete(field) for field in ty.fields)
    return not isinstance(ty, relax.AnyType | relax.FuncType)


def static(ty: Any) -> bool:
    """True if the type is complete, and all dimensions are integers."""
    if not complete(ty):
        return False
    return all(
        isinstance(dim, tirx.IntImm) for tensor in tensor_types(ty) for dim in tensor.shape.values
    )


def first(problem: Callable[[Any], str | None], items: Iterator[Any] | list[Any]) -> str | None:
    """The first problem among the items."""
    return next((text for item in items if (text := problem(item)) is not None), None)
