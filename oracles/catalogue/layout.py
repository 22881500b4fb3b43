"""Contracts of the passes that change the layout of tensors."""

from __future__ import annotations

from collections.abc import Iterator

import tvm

from ...generators.choices import Choices
from ...generators.stages import Stage
from ...generators.traits import Trait
from ..contract import Exemption, PassContract, Rejection, Sought
from ..inspect import attr, ops_used, prim_funcs
from ..passcall import PassCall
from .common import REWRITING, any_of
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


def _alter_op_impl(c: Choices, mod: tvm.IRModule) -> PassCall | None:
    """Another implementation, computing the same in another layout, for some operator names."""
    replaceable = dict(_replaceable(mod))
    if not replaceable:
        return None
    name = c.pick(sorted(replaceable))
    shape, dtype = replaceable[name]
    transform, altered = c.pick(TRANSFORMS[len(shape)])
    kernel = name.removeprefix("relax.")
    each = ", ".join([transform] * (inputs(kernel) + 1))
    transforms = f"{name!r}: [{each}]"
    if c.flag(0.2):
        altered, transforms = str(shape), ""
    made = spell(kernel, altered.format(*shape), dtype)
    return PassCall(
        f"AlterOpImpl({{{name!r}: {made}.without_attr('global_symbol')}}, {{{transforms}}})",
        imports=IMPORTS,
    )


def _replaceable(mod: tvm.IRModule) -> Iterator[tuple[str, tuple[tuple[int, ...], str]]]:
    """Operator names of which we know the meaning, each with the one shape and dtype it has."""
    signatures: dict[str, set[tuple[tuple[int, ...], str] | None]] = {}
    for _, func in prim_funcs(mod):
        name = str(attr(func, "operator_name"))
        if name.removeprefix("relax.") in ELEMENTWISE:
            signatures.setdefault(name, set()).add(signature(func))
    for name, found in signatures.items():
        (first, *others) = found
        if first is not None and not others and len(first[0]) in TRANSFORMS:
            yield name, first


CONTRACTS: tuple[PassContract, ...] = (
    PassContract(
        name="ConvertLayout",
        variants=_convert_layout,
        stages=(Stage.RAW,),
        looks_for=any_of(*LAYOUTS),
        rejections=(Rejection("Unsupported initial layout", "the message itself"),),
        cost=0.6,
    ),
    PassContract(
        name="AlterOpImpl",
        variants=_alter_op_impl,
        no_variants="it has no PrimFunc whose operator_name and shape allow another implementation",
        stages=(Stage.RAW, Stage.LEGALIZED),
        looks_for=Sought(lambda mod: any(_replaceable(mod)), traits=(Trait.CALL_TIR,)),
        exemptions=(
            Exemption(
                "idempotent",
                "the replacement has the operator_name too, and takes another layout",
                "docstring: replaces all PrimFuncs with a matching operator_name",
            ),
        ),
        cost=0.6,
    ),
    PassContract(
        name="OptimizeLayoutTransform",
        stages=(Stage.RAW, Stage.LEGALIZED),
        looks_for=any_of("relax.layout_transform"),
        inside=REWRITING,
        cost=0.3,
    ),
)
