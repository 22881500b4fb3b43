"""Contracts of the passes that turn operators into calls of TensorIR functions."""

from __future__ import annotations

from collections import Counter

import tvm
import tvm_ffi

from ...generators.choices import Choices
from ...generators.stages import Stage
from ..contract import PassContract
from ..inspect import (
    attr,
    calls_of,
    complete,
    has_op_attr,
    op_name,
    ops_used,
    prim_funcs,
    relax_functions,
)
from ..passcall import PassCall
from .reading import argument, spelled
from .spelling import always

CUSTOM = {
    "relax.add": "lambda bb, call: bb.call_te(topi.add, call.args[1], call.args[0])",
    "relax.multiply": "lambda bb, call: bb.call_te(topi.multiply, call.args[1], call.args[0])",
    # Legalized to another operator, which the pass has to legalize in turn.
    "relax.square": "lambda bb, call: relax.op.multiply(call.args[0], call.args[0])",
}
"""Legalizations of a user's own, as the docstring's example gives them."""


def _legalize_ops(c: Choices, mod: tvm.IRModule) -> PassCall:
    used = sorted(ops_used(mod))
    way = c.pick(["default", "default", "skip_ops", "customize_legalize_map", "apply_legalize_ops"])
    if way == "skip_ops":
        skipped = c.subset([op for op in used if has_op_attr(op, "FLegalize")])
        return PassCall(spelled("LegalizeOps", skip_ops=skipped or None))
    custom = [op for op in CUSTOM if op in used]
    if way == "customize_legalize_map" and custom:
        op = c.pick(custom)
        expression = f"LegalizeOps(customize_legalize_map={{{op!r}: {CUSTOM[op]}}})"
        return PassCall(expression, imports=("from tvm import topi",))
    if way == "apply_legalize_ops":
        return PassCall("LegalizeOps()", config={"relax.transform.apply_legalize_ops": False})
    return PassCall("LegalizeOps()")


DECLINES = frozenset(
    f"relax.{op}"
    for op in (
        "grad.avg_pool2d_backward",
        "grad.max_pool2d_backward",
        "hamming_window",
        *(f"nn.{kind}_pool{n}d" for kind in ("adaptive_avg", "avg", "max") for n in (1, 2, 3)),
        *(f"nn.conv{n}d{suffix}" for n in (1, 2, 3) for suffix in ("", "_transpose")),
        "nn.nll_loss",
    )
)
"""Operators whose legalization leaves calls with some attributes alone (a warning names them:
"... can not be automatically legalized for now")."""


def _legalized(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: high-level operator calls become call_tir; skipped operators stay."""
    if call.config:
        same = tvm_ffi.structural_equal(before, after, map_free_vars=True)
        return None if same else "changes a module although apply_legalize_ops is off"
    skipped = set() if "lambda" in call.expr else set(argument(call, "skip_ops") or ())
    for node in calls_of(after):
        name = op_name(node)
        if (
            name is not None
            and name not in skipped
            and name not in DECLINES
            and has_op_attr(name, "FLegalize")
            and complete(node.ty)
            and all(complete(arg.ty) for arg in node.args)
        ):
            return f"{name} is left though the types of its arguments and result are complete"
    if skipped:
        had, has = _uses(before), _uses(after)
        lost = sorted(op for op in skipped if has[op] < had[op])
        if lost:
            return f"{lost[0]} was legalized although skip_ops names it"
    return None


def _uses(mod: tvm.IRModule) -> Counter[str | None]:
    return Counter(map(op_name, calls_of(mod)))


OPAQUE = 8
"""The greatest OpPatternKind."""


def _annotated(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docs: every PrimFunc gets its op_pattern; tvm/relax/transform.h: one that a user put by hand
    stays.
    """
    for gvar, func in prim_funcs(after):
        pattern = attr(func, "op_pattern")
        if pattern is None:
            return "a PrimFunc has no op_pattern"
        if not 0 <= pattern <= OPAQUE:
            return "an op_pattern is no OpPatternKind"
        given = attr(before[gvar], "op_pattern")
        if given is not None and given != pattern:
            return "an op_pattern that was there is replaced"
    for gvar, relax_func in relax_functions(before):
        if not tvm_ffi.structural_equal(after[gvar], relax_func):
            return "a Relax function changes"
    return None


CONTRACTS: tuple[PassContract, ...] = (
    PassContract(
        name="LegalizeOps",
        variants=_legalize_ops,
        stages=(Stage.RAW, Stage.LEGALIZED, Stage.FUSED, Stage.IMPERATIVE),
        post=_legalized,
        cost=4.0,
    ),
    PassContract(
        name="AnnotateTIROpPattern",
        variants=always("AnnotateTIROpPattern()"),
        stages=(Stage.LEGALIZED, Stage.RAW, Stage.ANNOTATED, Stage.TIR_FUSED),
        post=_annotated,
        cost=0.2,
    ),
)
