"""Contracts of the passes for training and reduced precision."""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import Op

from ...generators.choices import Choices
from ...generators.stages import Stage
from ...generators.traits import Trait
from ..contract import Exemption, PassContract, Rejection, Relation, Sought
from ..inspect import blocks_of, calls_of, complete, global_vars, local_functions, nodes, op_name
from ..pass_arguments import argument, positional
from ..passcall import PassCall
from .common import named_functions, spelled

ALWAYS = 0
"""The policy of operators, such as matmul, whose operands are cast wherever they are."""

FLOAT32_ONLY = "docstring: the pass assumes the input module to be fp32 only"


def _to_mixed_precision(c: Choices, mod: tvm.IRModule) -> PassCall:
    names = c.subset(_convertible_inputs(mod)) if c.flag(0.25) else []
    out_dtype = c.pick([None, "float16", "float32"])
    return PassCall(
        spelled("ToMixedPrecision", out_dtype=out_dtype, fp16_input_names=names or None)
    )


def _convertible_inputs(mod: tvm.IRModule) -> list[str]:
    """Names of float32 parameters used only in dataflow blocks of functions that are not called.

    Their other uses are not rewritten; docstring: "Mainly operates within dataflow blocks.
    ConvertToDataflow may need to be called first."
    """
    called = {gvar.name_hint for gvar in global_vars(mod)}
    good: dict[str, None] = {}
    bad: set[str] = set()
    for name, func in named_functions(mod):
        inside = name not in called and not local_functions(func) and not nodes(func, relax.If)
        inside = inside and all(isinstance(b, relax.DataflowBlock) for b in blocks_of(func))
        result = relax.analysis.free_vars(func.body.body)
        for param in func.params:
            tensor = isinstance(param.ty, relax.TensorType) and _float(param.ty) == "float32"
            if inside and tensor and param not in result:
                good[param.name] = None
            else:
                bad.add(param.name)
    return [name for name in good if name not in bad]


def _float(ty: relax.TensorType) -> str | None:
    """The tensor's dtype if it is a float."""
    dtype = "" if ty.dtype is None else str(ty.dtype)
    return dtype if "float" in dtype else None


def _not_fp32_only(mod: tvm.IRModule) -> str | None:
    found = {_float(ty) for ty in nodes(mod, relax.TensorType)} - {None, "float32"}
    # Integers are allowed, except as operands of calls that cast whatever they get.
    if found or any(_always_cast(call) and not _of_floats(call) for call in calls_of(mod)):
        return f"the module is not fp32 only ({FLOAT32_ONLY})"
    return None


def _always_cast(call: relax.Call) -> bool:
    name = op_name(call)
    return name is not None and Op.get(name).get_attr("TMixedPrecisionPolicy") == ALWAYS


def _of_floats(call: relax.Call) -> bool:
    return all(_float(arg.ty) for arg in call.args if isinstance(arg.ty, relax.TensorType))


def _inputs_converted(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: the parameters of the given names become fp16, no others change."""
    named = argument(call, "fp16_input_names", 1) or []
    results = dict(named_functions(after))
    for name, func in named_functions(before):
        for old, new in zip(func.params, results[name].params, strict=True):
            if not isinstance(old.ty, relax.TensorType):
                continue
            if old.name in named:
                if _float(new.ty) != "float16":
                    return "a parameter of fp16_input_names is not float16"
            elif _float(new.ty) != _float(old.ty):
                return "a parameter that is not of fp16_input_names changed its dtype"
    return None


# Gradient

IEEE = ("float16", "float32", "float64")


def _gradient(c: Choices, mod: tvm.IRModule) -> PassCall | None:
    targets = {name: found for name, func in named_functions(mod) if (found := _targets(func))}
    if not targets:
        return None
    name = c.pick(sorted(targets))
    index = c.pick(targets[name])
    return PassCall(f"Gradient({name!r}, target_index={index})" if index else f"Gradient({name!r})")


def _targets(func: relax.Function) -> list[int]:
    """The indices of results that can be differentiated (docstring and messages of the pass).

    The function has one dataflow block, the target is a float scalar and a variable, and all
    parameters are floats: without `require_grads` (variables, which no text can name) the pass
    differentiates by all of them.
    """
    blocks = func.body.blocks
    if len(blocks) != 1 or not isinstance(blocks[0], relax.DataflowBlock):
        return []
    if not all(_differentiable(param.ty) for param in func.params):
        return []
    result = func.body.body
    results = result.fields if isinstance(result, relax.Tuple) else [result]
    return [
        i
        for i, value in enumerate(results)
        if isinstance(value, relax.Var)
        and isinstance(value.ty, relax.TensorType)
        and complete(value.ty)
        and value.ty.ndim == 0
        and _float(value.ty) in IEEE
    ]


def _differentiable(ty: tvm.ir.Type) -> bool:
    if isinstance(ty, relax.TupleType):
        return all(_differentiable(field) for field in ty.fields)
    return isinstance(ty, relax.TensorType) and _float(ty) in IEEE


def _adjoint_added(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: <fn>_adjoint returns the original value and a tuple of gradients."""
    name: str = positional(call)[0]
    old, new = dict(named_functions(before)), dict(named_functions(after))
    adjoint = new.get(f"{name}_adjoint")
    if adjoint is None:
        return "there is no adjoint function"
    for other, func in old.items():
        if other in new and not tvm_ffi.structural_equal(func, new[other]):
            return "a function other than the adjoint one changed"
    if f"{name}_adjoint" in old:
        return None
    params = [_anywhere(param.ty) for param in old[name].params]
    results = relax.TupleType([_anywhere(old[name].ret_ty), relax.TupleType(params)])
    promised = relax.FuncType(params, results)
    taken = [_anywhere(param.ty) for param in adjoint.params]
    found = relax.FuncType(taken, _anywhere(adjoint.ret_ty))
    if not tvm_ffi.structural_equal(promised, found, map_free_vars=True):
        return "the adjoint function has not the promised type"
    return None


def _anywhere(ty: tvm.ir.Type) -> tvm.ir.Type:
    """The type without the virtual device, about which gradients promise nothing."""
    if isinstance(ty, relax.TupleType):
        return relax.TupleType([_anywhere(field) for field in ty.fields])
    if isinstance(ty, relax.TensorType) and ty.vdevice is not None:
        shape = {"ndim": ty.ndim} if ty.shape is None else {"shape": ty.shape}
        return relax.TensorType(dtype="" if ty.dtype is None else str(ty.dtype), **shape)
    return ty


CONTRACTS: tuple[PassContract, ...] = (
    PassContract(
        name="ToMixedPrecision",
        ops_by="TMixedPrecisionPolicy",
        variants=_to_mixed_precision,
        stages=(Stage.RAW,),
        requires=_not_fp32_only,
        relation=Relation.LOOSE,
        post=_inputs_converted,
        exemptions=(
            Exemption(
                "signature",
                "the parameters that are named become float16",
                "docstring: the function signature would change accordingly",
                when=lambda mod, call: argument(call, "fp16_input_names", 1) is not None,
            ),
        ),
    ),
    PassContract(
        name="Gradient",
        variants=_gradient,
        no_variants="no function is one dataflow block with floats as parameters "
        "and a float scalar as result",
        stages=(Stage.RAW,),
        looks_for=Sought(
            lambda mod: any(_targets(func) for _, func in named_functions(mod)),
            traits=(Trait.DIFFERENTIABLE,),
        ),
        relation=Relation.ADJOINT,
        post=_adjoint_added,
        rejections=(
            Rejection(
                r"[Nn]ow (only support|does not support)|only support \w+ \w+ layout"
                r"|is not supported yet|FPrimalGradient",
                "the message itself",
            ),
            Rejection(
                r"Function tvm\.relax\.te_grad\._register\.\w+ not found",
                "docstring of relax.op.call_tir_with_grad: te_grad_name is 'The registered name of "
                "the te gradient function'",
            ),
        ),
        inside=("DeadCodeElimination",),
    ),
)
