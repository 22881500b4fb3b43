"""First drafts of passes, as users write them, each with a fault that one operator shows."""

from __future__ import annotations

from collections.abc import Callable

import tables
import tvm
from tvm import relax
from tvm.relax.dpl import is_op, rewrite_call, wildcard
from tvm.relax.expr_functor import PyExprMutator, mutator


def _on_functions(
    mod: tvm.IRModule, change: Callable[[relax.Function], relax.Function]
) -> tvm.IRModule:
    new = tvm.IRModule(mod.functions, attrs=mod.attrs, global_infos=mod.global_infos)
    for gvar, func in mod.functions_items():
        if isinstance(func, relax.Function):
            new[gvar] = change(func)
    return new


def _mutated(mod: tvm.IRModule, kind: type) -> tvm.IRModule:
    rewriter = kind(mod)
    for gvar, func in mod.functions_items():
        if isinstance(func, relax.Function):
            rewriter.builder_.update_func(gvar, rewriter.visit_expr(func))
    return rewriter.builder_.get()


@tvm.transform.module_pass(opt_level=0)
class MergeClips:
    """Keeps the outer bounds alone."""

    def transform_module(self, mod: tvm.IRModule, context: object) -> tvm.IRModule:
        clip = tvm.ir.Op.get("relax.clip")

        @mutator
        class Merge(PyExprMutator):
            def visit_call_(self, call: relax.Call) -> relax.Expr:
                call = super().visit_call_(call)
                if call.op == clip and isinstance(call.args[0], relax.Var):
                    inner = self.lookup_binding(call.args[0])
                    if isinstance(inner, relax.Call) and inner.op == clip:
                        return relax.op.clip(inner.args[0], *(each.value for each in call.args[1:]))
                return call

        return _mutated(mod, Merge)


@mutator
class _LogOfSoftmax(PyExprMutator):
    def visit_call_(self, call: relax.Call) -> relax.Expr:
        call = super().visit_call_(call)
        if tables.is_log(call) and isinstance(call.args[0], relax.Var):
            inner = self.lookup_binding(call.args[0])
            if tables.op_of(inner) == "relax.nn.softmax":
                return relax.op.nn.log_softmax(inner.args[0])
        return call


@tvm.transform.module_pass(opt_level=0)
def log_of_softmax(mod: tvm.IRModule, context: object) -> tvm.IRModule:
    """Forgets the axis."""
    return _mutated(mod, _LogOfSoftmax)


def makes_log_of_softmax() -> tvm.transform.Pass:
    return log_of_softmax


def use_rsqrt() -> tvm.transform.Pass:
    """Takes sqrt(y) / x for x / sqrt(y)."""
    x, y = wildcard(), wildcard()
    root = is_op("relax.sqrt")(y)
    pattern = is_op("relax.divide")(x, root) | is_op("relax.divide")(root, x)

    def rewrite(call: relax.Call, matched: dict[object, relax.Expr]) -> relax.Expr:
        return relax.op.multiply(matched[x], relax.op.rsqrt(matched[y]))

    @relax.transform.function_pass(opt_level=0)
    def transform(func: relax.Function, mod: tvm.IRModule, context: object) -> relax.Function:
        return rewrite_call(pattern, rewrite, func)

    return transform


_PRODUCT = is_op("relax.matmul")(wildcard(), wildcard())
_MATMUL_RELU = is_op("relax.nn.relu")(is_op("relax.add")(_PRODUCT, wildcard()))


def fuse_matmul() -> tvm.transform.Pass:
    return relax.transform.FuseOpsByPattern([("own.matmul", _MATMUL_RELU)])


def drop_rounding() -> tvm.transform.Pass:
    from tables import ROUNDING as rounding

    def change(func: relax.Function) -> relax.Function:
        return func.with_attr("rounding", ", ".join(rounding))

    return tvm.transform.module_pass(
        lambda mod, context: _on_functions(mod, change), opt_level=0, name="drop_rounding"
    )


def look_at_nodes() -> tvm.transform.Pass:
    """Names classes of nodes, attributes of functions, and no operator."""

    @mutator
    class Look(PyExprMutator):
        def visit_if_(self, node: relax.If) -> relax.Expr:
            return super().visit_if_(node)

        def visit_binding(self, binding: relax.Binding) -> None:
            if isinstance(binding, relax.MatchCast):
                return
            super().visit_binding(binding)

    def transform(mod: tvm.IRModule, context: object) -> tvm.IRModule:
        for _, func in mod.functions_items():
            if func.attrs and "Composite" in func.attrs:
                return mod
        return _mutated(mod, Look)

    return tvm.transform.module_pass(transform, opt_level=0, name="look_at_nodes")


def misspell() -> tvm.transform.Pass:
    """Looks for an operator that TVM does not have, and one that no generated module has."""

    def transform(mod: tvm.IRModule, context: object) -> tvm.IRModule:
        wanted = ("relax.softmax", "relax.ccl.allreduce", "not an operator", "relax.my.option")
        return mod.with_attr("wanted", wanted[0]) if len(wanted) < 4 else mod

    return tvm.transform.module_pass(transform, opt_level=0, name="misspell")


class _Shy:
    def __getattr__(self, name: str) -> object:
        raise RuntimeError("do not look at me")


_SHY = _Shy()


def shy() -> tvm.transform.Pass:
    """Refers to an object that raises for any attribute."""

    def transform(mod: tvm.IRModule, context: object) -> tvm.IRModule:
        return mod if _SHY is not None else tvm.ir.Op.get("relax.abs")

    return tvm.transform.module_pass(transform, opt_level=0, name="shy")
