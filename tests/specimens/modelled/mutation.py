"""Passes that change their input, or share what they must not share."""

from __future__ import annotations

import numpy as np
import tvm
import tvm_ffi
from tvm import relax

from relaxfuzz.compat import ir
from relaxfuzz.generators.rewrite.nodes import with_functions, with_type
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.inspect import attr, is_public, nodes, op_name

from ..specimen import Family, Specimen, of
from .tools import made, on_blocks, on_calls, writes_in_place

_FOLDED = {
    "relax.negative": np.negative,
    "relax.abs": np.abs,
    "relax.square": np.square,
    "relax.floor": np.floor,
    "relax.ceil": np.ceil,
    "relax.add": np.add,
    "relax.subtract": np.subtract,
    "relax.multiply": np.multiply,
}


def folds_into_its_operand() -> tvm.transform.Pass:
    """Arithmetic of float32 constants is done at compile time, into the first one's memory."""

    def change(call: relax.Call) -> relax.Expr | None:
        if not all(isinstance(arg, ir.GenericConst) for arg in call.args):
            return None
        first = call.args[0]
        if any(not tvm_ffi.structural_equal(arg.ty, first.ty) for arg in call.args):
            return None
        if str(first.ty.dtype) != "float32" or not tvm_ffi.structural_equal(call.ty, first.ty):
            return None
        arrays = [np.from_dlpack(ir.constant_data(arg)) for arg in call.args]
        with np.errstate(all="ignore"):
            _FOLDED[call.op.name](*arrays, out=arrays[0])
        return first

    return made("folds_into_its_operand", lambda mod: on_calls(mod, change, *_FOLDED))


def drops_reshapes_by_shape_node() -> tvm.transform.Pass:
    """A reshape to the shape that the operand has already is dropped; shapes are compared once."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        if writes_in_place(mod):
            return mod
        useless: dict[relax.ShapeExpr, bool] = {}

        def change(call: relax.Call) -> relax.Expr | None:
            tensor, shape = call.args
            if not isinstance(shape, relax.ShapeExpr):
                return None
            if shape not in useless:
                useless[shape] = bool(tvm_ffi.structural_equal(tensor.ty, call.ty))
            return tensor if useless[shape] else None

        return on_calls(mod, change, "relax.reshape")

    return made("drops_reshapes_by_shape_node", transform)


def reuses_buffers_of_operands() -> tvm.transform.Pass:
    """An elementwise kernel writes into the operand that is read for the last time."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        builder = relax.BlockBuilder(mod)

        def rewrite(
            block: relax.BindingBlock, bindings: list[relax.Binding]
        ) -> list[relax.Binding]:
            if not isinstance(block, relax.DataflowBlock):
                return bindings
            fresh: set[relax.Var] = set()
            for i, binding in enumerate(bindings):
                if op_name(getattr(binding, "value", None)) != "relax.call_tir":
                    continue
                later = {var for b in bindings[i + 1 :] for var in nodes(b.value, relax.Var)}
                args = list(binding.value.args[1].fields)
                for at, arg in enumerate(args):
                    mine = arg in fresh and arg not in later
                    alone = sum(arg.same_as(other) for other in args) == 1
                    if mine and alone and _fits(mod, binding, at):
                        bindings[i] = _in_place(builder, mod, binding, at)
                        break
                if isinstance(binding.var, relax.DataflowVar):
                    fresh.add(binding.var)
            return bindings

        functions = {
            gvar: on_blocks(func, rewrite)
            for gvar, func in mod.functions_items()
            if isinstance(func, relax.Function)
        }
        for gvar, func in functions.items():
            builder.update_func(gvar, func)
        result = builder.get()
        return with_functions(mod, dict(result.functions_items()))

    return made("reuses_buffers_of_operands", transform)


def _fits(mod: tvm.IRModule, binding: relax.VarBinding, at: int) -> bool:
    """The kernel reads and writes the same place at once, and the operand is like the result."""
    kernel = mod[binding.value.args[0]]
    arg = binding.value.args[1].fields[at]
    return (
        attr(kernel, "op_pattern") == 0
        and len(binding.value.args) == 2
        and isinstance(binding.var.ty, relax.TensorType)
        and len(kernel.params) == len(binding.value.args[1].fields) + 1
        and bool(tvm_ffi.structural_equal(arg.ty, binding.var.ty))
        and not is_public(kernel)
    )


def _in_place(
    builder: relax.BlockBuilder, mod: tvm.IRModule, binding: relax.VarBinding, at: int
) -> relax.VarBinding:
    value, var = binding.value, binding.var
    assert isinstance(value, relax.Call)
    assert var is not None
    callee, args = value.args[:2]
    kernel = mod[callee]
    # A deep copy: no two functions of a module may define the same variables.
    special = kernel.specialize({kernel.params[-1]: kernel.params[at]})
    func = tvm.ir.load_json(tvm.ir.save_json(special))
    gvar = builder.add_func(func, f"{callee.name_hint}_in_place")
    call = relax.call_tir_inplace(gvar, args, at, var.ty)
    return relax.VarBinding(var, with_type(call, var.ty))


SPECIMENS: tuple[Specimen, ...] = (
    Specimen(
        factory=of(folds_into_its_operand),
        family=Family.MUTATION,
        fault="Folds arithmetic of float32 constants into the memory of the first constant, which "
        "the input module still uses.",
        source="apache/tvm#17213: [Relax] Refactor RealizeVDevice to remove in-place mutation",
    ),
    Specimen(
        factory=of(drops_reshapes_by_shape_node),
        family=Family.MUTATION,
        fault="Remembers by the identity of the ShapeExpr node, not by the operand too, whether a "
        "reshape changes anything.",
        source="apache/tvm#14728: [Unity][CUTLASS] Fixed stacked attention offload when QKV "
        "reshape uses the same shape expression",
        needs=("two reshapes with one ShapeExpr node", "only the first of them changes nothing"),
    ),
    Specimen(
        factory=of(reuses_buffers_of_operands),
        family=Family.MUTATION,
        fault="Lets a kernel overwrite an operand of which an alias or a tuple is read later.",
        source="apache/tvm#19644: [Relax][IR] Skip in-place multiply when two operands are views "
        "of the same tensor",
        stages=(Stage.ANNOTATED,),
        needs=("an elementwise kernel on a fresh tensor", "an alias of that tensor, read later"),
    ),
)
