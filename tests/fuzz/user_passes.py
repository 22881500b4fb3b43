"""Passes that a user might write: one right, some wrong, some factories that give none."""

from __future__ import annotations

import ctypes
import sys
import time

import tvm
from tvm import relax


def _pass(name, transform):  # type: ignore[no-untyped-def]
    return tvm.transform.module_pass(lambda mod, context: transform(mod), opt_level=0, name=name)


def correct() -> tvm.transform.Pass:
    return relax.transform.DeadCodeElimination()


def raises_on_exp() -> tvm.transform.Pass:
    """Does not know `R.exp`."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        for _, func in mod.functions_items():
            if isinstance(func, relax.Function) and "R.exp(" in func.script():
                raise KeyError("relax.exp")
        return mod

    return _pass("raises_on_exp", transform)


def raises_always() -> tvm.transform.Pass:
    """Does not know `R.exp`, and wants one."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        if "R.exp(" in mod.script():
            raise KeyError("relax.exp")
        raise ValueError("nothing to do")

    return _pass("raises_always", transform)


def marks() -> tvm.transform.Pass:
    """Not idempotent: grows an attribute with every run."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        count = int(mod.attrs["marks"]) if mod.attrs and "marks" in mod.attrs else 0
        return mod.with_attr("marks", count + 1)

    return _pass("marks", transform)


def subtracts() -> tvm.transform.Pass:
    """Should drop dead code: makes a difference of a sum, and leaves the sum behind."""

    @relax.expr_functor.mutator
    class Subtracts(relax.PyExprMutator):
        def visit_call_(self, call: relax.Call) -> relax.Expr:
            call = self.visit_expr_post_order(call)
            if call.op == tvm.ir.Op.get("relax.add"):
                self.builder_.emit(call)
                return relax.op.subtract(*call.args)
            return call

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        done = mod.clone()
        for gvar, func in mod.functions_items():
            if isinstance(func, relax.Function):
                done[gvar] = Subtracts(mod).visit_expr(func)
        return done

    return _pass("subtracts", transform)


@tvm.transform.module_pass(opt_level=0)
class Grows:
    """Not idempotent either; named by its class, or by the pass."""

    def transform_module(
        self, mod: tvm.IRModule, context: tvm.transform.PassContext
    ) -> tvm.IRModule:
        count = int(mod.attrs["grown"]) if mod.attrs and "grown" in mod.attrs else 0
        return mod.with_attr("grown", count + 1)


grows = Grows()


def factory_raises() -> tvm.transform.Pass:
    raise RuntimeError("no pass today")


def gives_none() -> None:
    return None


REFUSES_EXP = raises_on_exp()
"""A pass that other processes can import."""


@relax.expr_functor.mutator
class _Approximates(relax.PyExprMutator):  # type: ignore[misc]  # TVM has no types
    def visit_call_(self, call: relax.Call) -> relax.Expr:
        call = self.visit_expr_post_order(call)
        match getattr(call.op, "name", None):
            case "relax.exp":
                return relax.op.add(call.args[0], relax.const(1, call.ty.dtype))
            case "relax.cos":
                return relax.op.ones_like(call.args[0])
            case "relax.mean":
                raise NotImplementedError("mean")
        return call


def approximates() -> tvm.transform.Pass:
    """Wrong of two operators, and does not know a third: three faults."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        functions = {
            gvar: _Approximates(mod).visit_expr(func)
            for gvar, func in mod.functions_items()
            if isinstance(func, relax.Function)
        }
        return tvm.IRModule({**mod.functions, **functions}, attrs=mod.attrs)

    return _pass("approximates", transform)


def forgets_type() -> tvm.transform.Pass:
    """Makes one function, whose parameter and result are on no device."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        x = relax.Var("x", relax.TensorType((2, 3), "float32"))
        builder = relax.BlockBuilder()
        with builder.function("main", [x]):
            builder.emit_func_output(builder.emit(relax.op.add(x, x)))
        return builder.get()

    return _pass("forgets_type", transform)


def tells_context() -> tvm.transform.Pass:
    """Raises with what it runs under, unless that is the default."""

    def transform(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        depth = context.config.get("relax.FuseOps.max_depth")
        kind = tvm.target.Target.current().kind.name
        if (depth, kind) != (None, "llvm"):
            raise ValueError(f"runs under depth {depth} for {kind}")
        return mod

    return tvm.transform.module_pass(transform, opt_level=0, name="tells_context")


def takes_its_time() -> tvm.transform.Pass:
    """Takes two seconds of CPU time."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        end = time.process_time() + 2
        while time.process_time() < end:
            pass
        return mod

    return _pass("takes_its_time", transform)


def prints() -> tvm.transform.Pass:
    """Prints with Python and with C."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        print("printed by Python")
        print("printed to stderr", file=sys.stderr)
        ctypes.CDLL(None).puts(b"printed by C")
        return mod

    return _pass("prints", transform)
