"""Contracts of the passes that place values on devices and operators on libraries."""

from __future__ import annotations

import ast

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import GlobalVar

from ...compat import ir
from ...generators.choices import Choices
from ...generators.stages import Stage
from ...generators.traits import Trait
from ..contract import Exemption, NormalForm, PassContract, Rejection, Sought
from ..inspect import attr, calls_of, is_public, nodes, ops_used, prim_funcs, relax_functions
from ..passcall import PassCall
from ..reference.realize_vdevice import realize_vdevice
from .common import any_of, for_all_operators, no_ops, one_of
from .launches import launchable


def _hints_realized(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: "Propagate virtual device information"; types agree as well_formed demands."""
    if "relax.hint_on_device" in ops_used(after):
        return "relax.hint_on_device is left"
    placed = {
        gvar: func
        for gvar, func in relax_functions(after)
        if any(_device(param) is not None for param in func.params)
    }
    for node in calls_of(after) if placed else ():
        if isinstance(node.op, GlobalVar) and node.op in placed:
            for param, arg in zip(placed[node.op].params, node.args, strict=True):
                device = _device(param)
                if device is not None and not tvm_ffi.structural_equal(device, _device(arg)):
                    return "an argument does not live where the called function wants it"
    return None


def _device(expr: relax.Expr) -> ir.VDevice | None:
    return expr.ty.vdevice if isinstance(expr.ty, relax.TensorType) else None


def _update_vdevice(c: Choices, mod: tvm.IRModule) -> PassCall:
    devices = mod.global_infos.get("vdevice", ())
    index = c.below(max(1, len(devices)))
    number = ((devices[index].vdevice_id + 1 if devices else 0) + c.below(3)) % 4
    new = f"{ir.spelling(ir.VDevice)}('llvm', {number}, {c.pick(['global', 'shared'])!r})"
    return PassCall(f"UpdateVDevice({new}, {index})")


def _vdevice_updated(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: the device at the given index is the new one, here and in all types."""
    devices = list(after.global_infos["vdevice"])
    if len(devices) != len(before.global_infos["vdevice"]):
        return "the number of virtual devices changes"
    node = ast.parse(call.expr, mode="eval").body
    assert isinstance(node, ast.Call)
    index = ast.literal_eval(node.args[1])
    number = ast.literal_eval(node.args[0].args[1])  # type: ignore[attr-defined]
    if devices[index].vdevice_id != number:
        return "the virtual device of the index is not the new one"
    for ty in nodes(after, relax.TensorType):
        # GlobalInfo.same_as recurses without end, hence that of its base class.
        if ty.vdevice is not None and not any(
            tvm_ffi.Object.same_as(ty.vdevice, device) for device in devices
        ):
            return "a type names a virtual device that the module does not have"
    return None


SORT_AND_SCAN = frozenset(
    f"relax.{op}" for op in ("argsort", "bucketize", "cumprod", "cumsum", "sort", "topk")
)


UNKNOWN_SHAPE = Rejection(
    r"non-symbolic shape is not supported for now|Expecting a expr with known shape",
    "the message names the shape that has to be known",
)


def _free_buffers(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: layout_free_buffers are "the model weights and relax constants" passed."""
    for _, func in relax_functions(after):
        inputs = attr(func, "num_input")
        weights = set() if inputs is None else set(list(func.params)[inputs:])
        for node in calls_of(func.body, "relax.call_tir"):
            free = [
                index
                for index, arg in enumerate(node.args[1].fields)
                if isinstance(arg, ir.GenericConst) or arg in weights
            ]
            given = attr(after[node.args[0]], "layout_free_buffers")
            if given is None:
                return "a called PrimFunc has no layout_free_buffers"
            if list(given) != free:
                return "layout_free_buffers are not the constants and weights among the arguments"
    return None


def _layout_rewriters(mod: tvm.IRModule) -> list[tirx.PrimFunc]:
    """The PrimFuncs with a block that is marked as layout rewrite."""
    return [func for _, func in prim_funcs(mod) if _layout_rewrites(func)]


def _layout_rewrites(func: tirx.PrimFunc) -> list[ir.SBlock]:
    marked = "meta_schedule.layout_rewrite_preproc"
    return [block for block in nodes(func.body, ir.SBlock) if marked in block.annotations]


def _prepacks_what_is_computed(mod: tvm.IRModule) -> str | None:
    """A weight is a parameter; FuseTIR turns it into something else only if it runs afterwards."""
    for func in _layout_rewriters(mod):
        computed = {b for block in nodes(func.body, ir.SBlock) for b in block.alloc_buffers}
        reads = (read for block in _layout_rewrites(func) for read in block.reads)
        if any(ir.tensor_of(read) in computed for read in reads):
            return (
                "a layout rewrite of what the PrimFunc itself computes (docstring: 'used in the "
                "prepack weight after meta_schedule tuning')"
            )
    return None


def _split(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: the layout rewrites become PrimFuncs of their own; public ones stay besides."""
    if all(map(is_public, _layout_rewriters(after))):
        return None
    return "a block marked as layout rewrite is left"


def _scopes_agree(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: the PrimFunc's buffers carry the virtual device of the call's arguments."""
    for _, func in relax_functions(after):
        if attr(func, "Primitive"):
            continue
        for node in calls_of(func.body, "relax.call_tir"):
            for param, arg in zip(after[node.args[0]].params, node.args[1].fields, strict=False):
                device = arg.ty.vdevice if isinstance(arg.ty, relax.TensorType) else None
                if device is not None and param.ty.storage_scope != device.memory_scope:
                    return "a buffer's scope is not the memory scope of the argument"
    return None


def _attach_extern_modules(c: Choices, mod: tvm.IRModule) -> PassCall:
    # Any file will do: it is read only when the build is linked.
    return PassCall(
        "AttachExternModules([ObjectModule({}, tvm.__file__)])",
        imports=("from tvm.relax.frontend.nn import ObjectModule",),
    )


def _attached(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """The name tells it: the modules are attached as the attribute `external_mods`."""
    had = before.attrs.get("external_mods", ()) if before.attrs else ()
    has = after.attrs.get("external_mods") if after.attrs else None
    if has is None:
        return "the module has no external_mods"
    return None if len(has) == len(had) + 1 else "external_mods does not grow by the module given"


CONTRACTS: tuple[PassContract, ...] = (
    for_all_operators(
        name="RealizeVDevice",
        stages=(Stage.RAW, Stage.LEGALIZED, Stage.IMPERATIVE),
        looks_for=any_of("relax.hint_on_device", "relax.to_vdevice", traits=[Trait.VDEVICES]),
        post=_hints_realized,
        reference=lambda call: realize_vdevice(documented_only=True),
        normal_form=NormalForm(
            "docstring: 'Propagate virtual device information': hints become types"
        ),
        rejections=(
            Rejection(
                r"The target VDevice in the GlobalInfos was not found"
                r"|no such device was found in the IRModule's \"vdevice\" annotation"
                r"|The device id in R\.hint_on_device must not be negative",
                "the message names what the module lacks, or the device that there cannot be",
            ),
            Rejection(
                r"Binary operators with Tensor arguments must have the same VDevice",
                "the message names the operator and the two devices that the module asks for",
            ),
        ),
        exemptions=(
            Exemption(
                "signature",
                "parameters and results get the devices that hints give them",
                "docstring: 'Propagate virtual device information.'",
            ),
        ),
    ),
    for_all_operators(
        name="UpdateVDevice",
        variants=_update_vdevice,
        stages=(Stage.RAW, Stage.LEGALIZED),
        looks_for=Sought(
            lambda mod: bool(mod.global_infos.get("vdevice")), traits=(Trait.VDEVICES,)
        ),
        post=_vdevice_updated,
        normal_form=NormalForm("docstring: 'Update virtual device': to the one that is asked for"),
        exemptions=(
            Exemption("attributes", "replaces a device", "docstring: 'Update virtual device.'"),
            Exemption("signature", "replaces a device", "docstring: 'Update virtual device.'"),
        ),
    ),
    PassContract(
        name="DispatchSortScan",
        variants=one_of(
            "relax.backend.DispatchSortScan()",
            "relax.backend.DispatchSortScan()",
            "relax.backend.DispatchSortScan(index_bits=32)",
            "relax.backend.DispatchSortScan(index_bits=64)",
        ),
        stages=(Stage.RAW, Stage.LEGALIZED),
        looks_for=any_of(*SORT_AND_SCAN),
        post=launchable(no_ops(*SORT_AND_SCAN)),
        normal_form=NormalForm(
            "docstring: 'dispatch scan and sort operators to platform dependent implementation'"
        ),
        rejections=(UNKNOWN_SHAPE,),
    ),
    PassContract(
        name="DispatchSampling",
        variants=one_of("relax.backend.DispatchSampling()"),
        stages=(Stage.RAW, Stage.LEGALIZED),
        looks_for=any_of("relax.multinomial_from_uniform"),
        post=launchable(no_ops("relax.multinomial_from_uniform")),
        normal_form=NormalForm(
            "docstring: operators are dispatched 'to platform dependent implementation'"
        ),
        rejections=(
            UNKNOWN_SHAPE,
            Rejection(
                r"(uniform_sample|sample_indices) should be a 2D tensor with shape \(N, 1\)",
                "the message names the shape that is supported",
            ),
        ),
    ),
    for_all_operators(
        name="AttachAttrLayoutFreeBuffers",
        stages=(Stage.LEGALIZED, Stage.TIR_FUSED),
        post=_free_buffers,
        inside=("DeadCodeElimination",),
    ),
    PassContract(
        name="SplitLayoutRewritePreproc",
        stages=(Stage.LEGALIZED, Stage.TIR_FUSED),
        requires=_prepacks_what_is_computed,
        looks_for=Sought(lambda mod: bool(_layout_rewriters(mod)), traits=(Trait.CALL_TIR,)),
        post=_split,
        rejections=(
            Rejection(
                r"There should be (?:only one \w+|no alloc|no match) buffer in the layout rewrite",
                "the message itself; src/s_tir/meta_schedule/postproc/rewrite_layout.cc makes "
                "blocks that copy one buffer",
            ),
        ),
        exemptions=(
            Exemption(
                "functions",
                "the parts of a public PrimFunc are public too",
                "docstring: 'Split the TIR layout rewrite into multiple TIR functions'",
                when=lambda mod, call: any(map(is_public, _layout_rewriters(mod))),
            ),
        ),
        inside=("DeadCodeElimination",),
    ),
    for_all_operators(
        name="SpecializePrimFuncBasedOnCallSite",
        stages=(Stage.LEGALIZED, Stage.TIR_FUSED),
        post=_scopes_agree,
        normal_form=NormalForm(
            "docstring: 'updates the var_buffer mapping of PrimFunctions from the call_tir info', "
            "after which the two agree"
        ),
    ),
    for_all_operators(
        name="AttachExternModules",
        variants=_attach_extern_modules,
        stages=(Stage.RAW, Stage.LEGALIZED),
        post=_attached,
    ),
)
