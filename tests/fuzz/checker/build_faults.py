"""Passes with a fault each, to be put into a real pipeline."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any

import tvm
from tvm import relax, tirx
from tvm.ir import GlobalVar
from tvm.ir.transform import PassContext
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.tirx import compilation_pipeline

from relaxfuzz.compat.structural import structural_map


def main_of(mod: tvm.IRModule) -> tuple[GlobalVar, relax.Function]:
    return next((g, f) for g, f in mod.functions_items() if isinstance(f, relax.Function))


def copied(mod: tvm.IRModule, functions: Any = None) -> tvm.IRModule:
    given = dict(mod.functions_items()) if functions is None else functions
    return tvm.IRModule(given, attrs=mod.attrs, global_infos=mod.global_infos)


@tvm.transform.module_pass(opt_level=0)
class LosesBinding:
    """The result is ill-formed: a variable is returned that nobody binds."""

    def transform_module(self, mod: tvm.IRModule, context: PassContext) -> tvm.IRModule:
        gvar, func = main_of(mod)
        body = relax.SeqExpr(func.body.blocks, relax.Var("undefined", func.ret_ty))
        result = copied(mod)
        result[gvar] = relax.Function(func.params, body, func.ret_ty, func.is_pure, func.attrs)
        return result


@tvm.transform.module_pass(opt_level=0)
class CountsInPlace:
    """The input is annotated."""

    def transform_module(self, mod: tvm.IRModule, context: PassContext) -> tvm.IRModule:
        gvar, func = main_of(mod)
        mod[gvar] = func.with_attr("seen", 1)
        return mod


@tvm.transform.module_pass(opt_level=0)
class RenamesMain:
    """A public function has another name."""

    def transform_module(self, mod: tvm.IRModule, context: PassContext) -> tvm.IRModule:
        gvar, func = main_of(mod)
        functions = {g: f for g, f in mod.functions_items() if not g.same_as(gvar)}
        functions[GlobalVar("other")] = func.with_attr("global_symbol", "other")
        return copied(mod, functions)


@tvm.transform.module_pass(opt_level=0)
class AddsParameter:
    """A public function takes one parameter more."""

    def transform_module(self, mod: tvm.IRModule, context: PassContext) -> tvm.IRModule:
        gvar, func = main_of(mod)
        params = [*func.params, relax.Var("more", relax.TensorType((1,), "float32"))]
        result = copied(mod)
        result[gvar] = relax.Function(params, func.body, func.ret_ty, func.is_pure, func.attrs)
        return result


def _renamed(mod: tvm.IRModule) -> tvm.IRModule:
    gvar, func = main_of(mod)
    functions = {g: f for g, f in mod.functions_items() if not g.same_as(gvar)}
    functions[GlobalVar("other")] = func.with_attr("global_symbol", "other")
    return copied(mod, functions)


@tvm.transform.module_pass(opt_level=0, name="vendor.ByClass")
class RenamesByClass:
    """Another name than that of its class."""

    def transform_module(self, mod: tvm.IRModule, context: PassContext) -> tvm.IRModule:
        return _renamed(mod)


@tvm.transform.module_pass(opt_level=0, name="vendor.ByObject")
def renames_by_object(mod: tvm.IRModule, context: PassContext) -> tvm.IRModule:
    """Another name than that of its variable."""
    return _renamed(mod)


def renames_by_function() -> tvm.transform.Pass:
    """Another name than that of the function that makes it."""

    @tvm.transform.module_pass(opt_level=0, name="vendor.ByFunction")
    def renames(mod: tvm.IRModule, context: PassContext) -> tvm.IRModule:
        return _renamed(mod)

    return renames


@mutator
class _Subtracts(PyExprMutator):
    def visit_call_(self, call: relax.Call) -> relax.Expr:
        call = super().visit_call_(call)
        return relax.op.subtract(*call.args) if call.op.name == "relax.add" else call


@tvm.transform.module_pass(opt_level=0)
class SubtractsForAdds:
    """The result computes something else."""

    def transform_module(self, mod: tvm.IRModule, context: PassContext) -> tvm.IRModule:
        gvar, func = main_of(mod)
        rewriter = _Subtracts(mod)
        rewriter.builder_.update_func(gvar, rewriter.visit_expr(func))
        return rewriter.builder_.get()


@tvm.transform.module_pass(opt_level=0)
class Dereferences:
    """The process ends in a segmentation fault."""

    def transform_module(self, mod: tvm.IRModule, context: PassContext) -> tvm.IRModule:
        ctypes.string_at(8)
        return mod


@tvm.transform.module_pass(opt_level=0)
class Raises:
    """An exception without a message."""

    def transform_module(self, mod: tvm.IRModule, context: PassContext) -> tvm.IRModule:
        raise KeyError("no such thing")


def model(*, adds: int = 2) -> tvm.IRModule:
    """A function with a matrix product, additions and a constant."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 4), "float32"))
    w = relax.Var("w", relax.TensorType((4, 4), "float32"))
    with builder.function("main", [x, w]):
        with builder.dataflow():
            y = builder.emit(relax.op.matmul(x, w))
            for _ in range(adds):
                y = builder.emit(relax.op.add(y, relax.const(1.0, "float32")))
            y = builder.emit_output(relax.op.nn.relu(y))
        builder.emit_func_output(y)
    return builder.finalize()


def pipeline(*passes: tvm.transform.Pass) -> tvm.transform.Pass:
    """The pipeline of `relax.build` with these passes before it, nested as real ones are."""
    inner = tvm.transform.Sequential([relax.transform.CanonicalizeBindings(), *passes])

    @tvm.transform.module_pass(opt_level=0)
    def my_pipeline(mod: tvm.IRModule, context: PassContext) -> tvm.IRModule:
        return tvm.transform.Sequential([inner, relax.get_pipeline("default_build")])(mod)

    return my_pipeline


@tvm.tirx.transform.prim_func_pass(opt_level=0)
class SubtractsInKernels:
    """PrimFuncs compute something else."""

    def transform_function(
        self, func: tirx.PrimFunc, mod: tvm.IRModule, context: PassContext
    ) -> tirx.PrimFunc:
        def subtracts(add: tirx.Add) -> tvm.ir.Expr:
            return tirx.Sub(add.a, add.b) if "float" in str(add.ty.dtype) else add

        body = structural_map(func.body, (tirx.Add, subtracts))
        return func.with_body(body)


@tvm.tirx.transform.prim_func_pass(opt_level=0)
class KeepsKernels:
    """PrimFuncs stay what they are, but for an attribute."""

    def transform_function(
        self, func: tirx.PrimFunc, mod: tvm.IRModule, context: PassContext
    ) -> tirx.PrimFunc:
        return func.with_attr("seen", 1)


@contextlib.contextmanager
def lowering(*passes: tvm.transform.Pass) -> Iterator[str]:
    """The name of a pipeline for `tirx.build`: the default one with these passes before it."""

    def own_lowering() -> tuple[tvm.transform.Pass, Any, Any]:
        default, *rest = compilation_pipeline.get_tir_pipeline("default")
        return tvm.transform.Sequential([*passes, default]), *rest

    compilation_pipeline.register_tir_pipeline("own_lowering", own_lowering)
    try:
        yield "own_lowering"
    finally:
        del compilation_pipeline.PIPELINE_MAP["own_lowering"]
