"""Passes that change their input, or share what they must not share."""

from __future__ import annotations

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx

from relaxfuzz.compat import ir
from relaxfuzz.compat.ops import registered
from relaxfuzz.generators.rewrite.nodes import with_functions, with_type
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.inspect import attr, is_public, nodes, op_name

from ..specimen import Family, Specimen, of
from .tools import made, on_blocks, on_calls, on_functions, writes_in_place


def drops_unused_bindings_in_place() -> tvm.transform.Pass:
    """Dead bindings are removed function by function, in the module itself."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        for gvar, func in list(mod.functions_items()):
            if isinstance(func, relax.Function):
                mod.update_func(gvar, _lean(func))
        return mod

    return made("drops_unused_bindings_in_place", transform)


def _lean(func: relax.Function) -> relax.Function:
    """The function without dead bindings; the same object where it has none."""
    lean = relax.analysis.remove_all_unused(func)
    return func if tvm_ffi.structural_equal(lean, func) else lean


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


def counts_buffers_in_place() -> tvm.transform.Pass:
    """Dead bindings are removed and PrimFuncs annotated: no copy where no binding was dead."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        result = on_functions(mod, _lean)
        if all(func.same_as(result[gvar]) for gvar, func in mod.functions_items()):
            result = mod
        for gvar, func in list(result.functions_items()):
            if isinstance(func, tirx.PrimFunc) and attr(func, "num_buffers") is None:
                result.update_func(gvar, func.with_attr("num_buffers", len(func.params)))
        return result

    return made("counts_buffers_in_place", transform)


def drops_unused_vdevices_in_place() -> tvm.transform.Pass:
    """Virtual devices that no function mentions are taken from the module's list."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        listed = list(mod.global_infos.get("vdevice", ()))
        used = nodes(mod, ir.VDevice) + [
            call.attrs.dst_vdevice
            for call in nodes(mod, relax.Call)
            if op_name(call) in ("relax.to_vdevice", "relax.hint_on_device")
        ]
        kept = [d for d in listed if any(tvm_ffi.structural_equal(d, u) for u in used)]
        if len(kept) < len(listed):
            mod.update_global_info("vdevice", kept)
        return mod

    return made("drops_unused_vdevices_in_place", transform)


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


def types_a_shared_sum() -> tvm.transform.Pass:
    """x * 2 becomes x + x; there is one such sum for each x, which is typed wherever it stands."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        sums: dict[relax.Expr, relax.Call] = {}

        def change(call: relax.Call) -> relax.Expr | None:
            operand, factor = call.args
            if not _is_two(factor) or not tvm_ffi.structural_equal(operand.ty, call.ty):
                return None
            if operand not in sums:
                sums[operand] = relax.Call(registered("relax.add"), [operand, operand])
            return with_type(sums[operand], call.ty)

        return on_calls(mod, change, "relax.multiply")

    return made("types_a_shared_sum", transform)


def _is_two(expr: relax.Expr) -> bool:
    if not isinstance(expr, ir.GenericConst):
        return False
    value = ir.constant_data(expr).numpy()
    return value.shape == () and bool(value == 2)


def shares_one_scratch_array() -> tvm.transform.Pass:
    """Creations of fixed size become constants; arrays of one type are made in one buffer."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        scratch: dict[tuple[tuple[int, ...], str], tvm.runtime.Tensor] = {}

        def change(call: relax.Call) -> relax.Expr | None:
            ty, value = call.ty, _created(call)
            if value is None or not isinstance(ty.shape, relax.ShapeExpr):
                return None
            if not all(isinstance(dim, tirx.IntImm) for dim in ty.shape.values):
                return None
            shape, dtype = tuple(int(dim) for dim in ty.shape.values), str(ty.dtype)
            if dtype not in ("float32", "int32", "int64") or not 0 < np.prod(shape) <= 4096:
                return None
            array = scratch.setdefault((shape, dtype), tvm.runtime.empty(shape, dtype))
            array.copyfrom(np.full(shape, value, dtype))
            constant = relax.const(array)
            return constant if tvm_ffi.structural_equal(constant.ty, ty) else None

        return mod if writes_in_place(mod) else on_calls(mod, change, *_CREATIONS)

    return made("shares_one_scratch_array", transform)


_CREATIONS = {
    "relax.zeros": 0,
    "relax.zeros_like": 0,
    "relax.ones": 1,
    "relax.ones_like": 1,
}


def _created(call: relax.Call) -> float | None:
    """The number of which all of the result consists."""
    return _CREATIONS[call.op.name]


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
        factory=of(drops_unused_bindings_in_place),
        family=Family.MUTATION,
        fault="Removes dead bindings and writes the functions back into the module it was given.",
        source="apache/tvm#3712: [Bugfix] Fix the issue that function pass modifies original "
        "module",
    ),
    Specimen(
        factory=of(folds_into_its_operand),
        family=Family.MUTATION,
        fault="Folds arithmetic of float32 constants into the memory of the first constant, which "
        "the input module still uses.",
        source="apache/tvm#17213: [Relax] Refactor RealizeVDevice to remove in-place mutation",
    ),
    Specimen(
        factory=of(counts_buffers_in_place),
        family=Family.MUTATION,
        fault="Works on the input module itself where its first step, the removal of dead "
        "bindings, found nothing to copy the module for.",
        source="apache/tvm#3712: [Bugfix] Fix the issue that function pass modifies original "
        "module",
        stages=(Stage.LEGALIZED, Stage.ANNOTATED),
        needs=("a PrimFunc", "no dead binding in any Relax function"),
    ),
    Specimen(
        factory=of(drops_unused_vdevices_in_place),
        family=Family.MUTATION,
        fault="Takes virtual devices that nothing mentions from the input's own global infos.",
        source="apache/tvm#17213: [Relax] Refactor RealizeVDevice to remove in-place mutation",
        needs=("virtual devices in the module", "one of them that no function mentions"),
        exempt=("attributes",),
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
        factory=of(types_a_shared_sum),
        family=Family.MUTATION,
        fault="Fills in the type of a node that it uses twice a second time.",
        source="apache/tvm#16472: [Unity] Improved error message in tvm::relax::UpdateStructInfo",
        needs=("a doubling of a value", "another doubling of the same value"),
    ),
    Specimen(
        factory=of(shares_one_scratch_array),
        family=Family.MUTATION,
        fault="All constants of one type that it makes have the same memory, so the last one's "
        "value.",
        source="apache/tvm#19801: [Relax] Fix FuseOpsByPattern dropping bound constants on "
        "duplicate-structure functions",
        needs=("zeros of some type", "ones of the same type"),
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
