"""Contracts of the passes that change the layout of tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

from ...compat import ir
from ...generators.choices import Choices
from ...generators.stages import Stage
from ...generators.traits import Trait
from ..contract import NormalForm, PassContract, Rejection, Sought
from ..inspect import attr, calls_of, ops_used, prim_funcs
from ..passcall import PassCall
from .common import REWRITER, REWRITING, any_of, definition
from .tensorir import ELEMENTWISE, IMPORTS, inputs, signature, spell

# Desired layouts of data, weight and (as a third one) output; the first is the usual one.
LAYOUTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "relax.nn.conv2d": (
        ("NHWC", "OHWI"),
        ("NHWC", "HWIO"),
        ("NHWC", "OHWI", "NHWC"),
        ("NCHW", "OIHW"),
        ("NCHW4c", "OIHW4o"),
    ),
    "relax.nn.conv1d": (("NWC", "OWI"), ("NCW", "OIW")),
    "relax.nn.conv3d": (("NDHWC", "ODHWI"), ("NCDHW", "OIDHW")),
    "relax.nn.conv1d_transpose": (("NWC", "IWO"), ("NCW", "IOW")),
    "relax.nn.conv2d_transpose": (("NHWC", "IHWO"), ("NCHW", "IOHW")),
    "relax.nn.conv3d_transpose": (("NDHWC", "IDHWO"), ("NCDHW", "IODHW")),
    "relax.image.resize2d": (("NHWC",), ("NCHW",)),
}


def _convert_layout(c: Choices, mod: tvm.IRModule) -> PassCall:
    present = [op for op in LAYOUTS if op in ops_used(mod)] or ["relax.nn.conv2d"]
    desired = {op: list(c.pick(LAYOUTS[op])) for op in (c.subset(present, 0.8) or present)}
    if c.flag(0.2):
        return PassCall(f"ConvertLayout({{}}, layout_cb=lambda call: {desired})")
    return PassCall(f"ConvertLayout({desired})")


# AlterOpImpl

# Layouts by rank, as (function of the indices, shape after it).
TRANSFORMS: dict[int, tuple[tuple[str, str], ...]] = {
    1: (
        ("lambda i: (i,)", "({0},)"),
        ("lambda i: (i // 4, i % 4)", "(({0} + 3) // 4, 4)"),
    ),
    2: (
        ("lambda i, j: (j, i)", "({1}, {0})"),
        ("lambda i, j: (i, j)", "({0}, {1})"),
        ("lambda i, j: (i // 4, j, i % 4)", "(({0} + 3) // 4, {1}, 4)"),
        ("lambda i, j: (i, j // 2, j % 2)", "({0}, ({1} + 1) // 2, 2)"),
    ),
    3: (
        ("lambda i, j, k: (k, i, j)", "({2}, {0}, {1})"),
        ("lambda i, j, k: (i, k, j)", "({0}, {2}, {1})"),
        ("lambda i, j, k: (i, j // 4, k, j % 4)", "({0}, ({1} + 3) // 4, {2}, 4)"),
    ),
    4: (
        ("lambda i, j, k, l: (i, k, l, j)", "({0}, {2}, {3}, {1})"),
        ("lambda i, j, k, l: (i, j // 4, k, l, j % 4)", "({0}, ({1} + 3) // 4, {2}, {3}, 4)"),
    ),
}


SUGGESTED = (
    "from collections.abc import Callable",
    "from typing import Any",
    "import tvm",
    "import tvm_ffi",
    "from tvm import relax",
)


def suggested(
    make: Callable[..., tvm.transform.Pass], name: str, layout: Callable[..., tuple[object, ...]]
) -> tvm.transform.Pass:
    """The pass with the PrimFunc of this name in the layouts that TVM suggests, given that of its
    output.
    """

    def run(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        if name not in {gvar.name_hint for gvar in mod.get_global_vars()}:
            return mod
        gvar, given = mod.get_global_var(name), mod[name]
        called: list[Any] = []
        tvm_ffi.structural_walk(given, (tvm.ir.GlobalVar, called.append))
        if called:  # in the copy that is laid out they would be no functions of the module
            return mod
        func = given.with_attr("operator_name", name)
        try:
            made, params, layouts = relaid(func)
        except Exception:  # the analysis and the schedule refuse what they do not support
            return mod
        if not layouts:
            return mod
        same = [tvm.tirx.IndexMap.from_func(lambda *i: i, len(each.shape)) for each in params]
        chosen = [layouts.get(*each) for each in zip(params, same, strict=True)]
        named = mod.clone()
        named.update_func(gvar, func)
        after = make({name: made}, {name: chosen})(named)
        if name in {gvar.name_hint for gvar in after.get_global_vars()}:
            after.update_func(after.get_global_var(name), given)
        return after

    def relaid(func: tvm.tirx.PrimFunc) -> tuple[tvm.tirx.PrimFunc, list[Any], dict[Any, Any]]:
        # Schedules change statements that two functions share.
        func = tvm.ir.load_json(tvm.ir.save_json(func.without_attr("global_symbol")))
        schedule = tvm.s_tir.Schedule(func)
        layouts: dict[Any, Any] = {}
        for block, changes in relax.analysis.suggest_layout_transforms(func, [layout]).items():
            for node, index_map in changes.items():
                if node.same_as(block):
                    schedule.transform_block_layout(block.name_hint, index_map)
                elif node not in layouts:
                    layouts[node] = index_map
                    schedule.transform_layout(block.name_hint, node, index_map)
        return schedule.mod["main"], list(func.params), layouts

    return tvm.transform.module_pass(run, opt_level=0, name=make.__name__)


OUTPUTS: dict[int, tuple[tuple[str, int], ...]] = {
    1: (("lambda i: (i // 2, i % 2)", 0),),
    2: (("lambda i, j: (j, i)", -1), ("lambda i, j: (i, j // 2, j % 2)", 1)),
    3: (("lambda i, j, k: (i, k, j)", -1), ("lambda i, j, k: (i, j // 2, k, j % 2)", 1)),
    4: (
        ("lambda i, j, k, l: (i, k, l, j)", -1),
        ("lambda i, j, k, l: (i, j // 2, k, l, j % 2)", 1),
    ),
}
"""Layouts of an output by rank, each with the index of the dim that must be even (-1: none)."""


def _alter_op_impl(c: Choices, mod: tvm.IRModule) -> PassCall | None:
    """Another implementation, computing the same in another layout, for some operator names."""
    part = c.part(2)
    replaceable, laid_out = dict(_replaceable(mod)), _with_one_output(mod)
    # Few modules name an operator with another known implementation: of 48 modules, AlterOpImpl is
    # checked on 12 and changes 10; without suggested layouts, on 1 and none.
    if laid_out and (part.flag() or not replaceable):
        name, layouts = part.pick(laid_out)
        return PassCall(
            f"suggested(AlterOpImpl, {name!r}, {c.pick(layouts)})",
            imports=(*SUGGESTED, definition(suggested)),
        )
    if not replaceable:
        return None
    made, transforms = [], []
    for name in c.subset(sorted(replaceable)) or [c.pick(sorted(replaceable))]:
        shape, dtype = replaceable[name]
        transform, altered = c.pick(TRANSFORMS[len(shape)])
        kernel = name.removeprefix("relax.")
        if c.flag(0.2):
            altered = str(shape)
        else:
            each = ", ".join([transform] * (inputs(kernel) + 1))
            transforms.append(f"{name!r}: [{each}]")
        spelled = spell(kernel, altered.format(*shape), dtype)
        made.append(f"{name!r}: {spelled}.without_attr('global_symbol')")
    return PassCall(
        f"AlterOpImpl({{{', '.join(made)}}}, {{{', '.join(transforms)}}})", imports=IMPORTS
    )


def _replaceable(mod: tvm.IRModule) -> Iterator[tuple[str, tuple[tuple[int, ...], str]]]:
    """Operator names with a known meaning, each with the only shape and dtype it has."""
    signatures: dict[str, set[tuple[tuple[int, ...], str] | None]] = {}
    for _, func in prim_funcs(mod):
        name = str(attr(func, "operator_name"))
        if name.removeprefix("relax.") in ELEMENTWISE:
            signatures.setdefault(name, set()).add(signature(func))
    for name, found in signatures.items():
        (first, *others) = found
        if first is not None and not others and len(first[0]) in TRANSFORMS:
            yield name, first


def _with_one_output(mod: tvm.IRModule) -> list[tuple[str, list[str]]]:
    """PrimFuncs whose last buffer is the only output, with layouts that fit it."""
    calls = (node.args[0] for node in calls_of(mod, "relax.call_tir") if _gives_one_tensor(node))
    found = []
    for gvar in sorted(set(calls), key=lambda gvar: str(gvar.name_hint)):
        func = mod[gvar]
        if not func.params or not all(hasattr(param, "shape") for param in func.params):
            continue
        shape = func.params[-1].shape
        if isinstance(func.body, ir.SBlockRealize) and all(
            isinstance(d, tirx.IntImm) for d in shape
        ):
            fitting = [
                layout
                for layout, even in OUTPUTS.get(len(shape), ())
                if even < 0 or (shape[even] > 0 and shape[even] % 2 == 0)
            ]
            found += [(str(gvar.name_hint), fitting)] if fitting else []
    return found


def _replaced(mod: tvm.IRModule) -> str | None:
    """Docstring, op_buffer_transforms: layouts of the buffers of the PrimFunc that is replaced.

    Its replacement keeps operator_name, and has the name that alter_op_impl.cc gives it.
    """
    if any("_replacement" in str(gvar.name_hint) for gvar, _ in prim_funcs(mod)):
        return "a PrimFunc that has replaced another one: its buffers have the new layouts already"
    return None


def _gives_one_tensor(call: relax.Call) -> bool:
    return isinstance(call.ty_args[0], relax.TensorType)


CONTRACTS: tuple[PassContract, ...] = (
    PassContract(
        name="ConvertLayout",
        variants=_convert_layout,
        stages=(Stage.RAW,),
        looks_for=any_of(*LAYOUTS),
        normal_form=NormalForm(
            "docstring, desired_layouts: 'a map from the name of the op to the desired layout', "
            "which is asked for"
        ),
        rejections=(
            Rejection(
                "Unsupported initial layout|Only support (?:static|known) ", "the message itself"
            ),
        ),
    ),
    PassContract(
        name="AlterOpImpl",
        variants=_alter_op_impl,
        no_variants="it has no PrimFunc whose operator_name or shape allows another implementation",
        stages=(Stage.RAW, Stage.LEGALIZED),
        requires=_replaced,
        looks_for=Sought(
            lambda mod: any(_replaceable(mod)) or bool(_with_one_output(mod)),
            traits=(Trait.CALL_TIR,),
        ),
    ),
    PassContract(
        name="OptimizeLayoutTransform",
        stages=(Stage.RAW, Stage.LEGALIZED),
        looks_for=any_of("relax.layout_transform"),
        normal_form=NormalForm("docstring: 'remove redundant transform layout operators'"),
        inside=REWRITING,
        shares=REWRITER,
    ),
)
