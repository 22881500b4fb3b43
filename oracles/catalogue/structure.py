"""Contracts of the passes that put functions and names into the form that other passes expect."""

from __future__ import annotations

from collections import Counter
from typing import Any

import tvm
from tvm import relax

from ...generators.stages import Stage
from ...generators.traits import Trait
from ..contract import NormalForm, PassContract, Rejection, Sought
from ..inspect import attr, bindings_of, calls_of, is_public, local_functions, relax_functions
from ..passcall import PassCall
from .common import CLEANUP, for_all_operators, none_left

EVERY_FORM = (Stage.RAW, Stage.LEGALIZED, Stage.FUSED, Stage.TIR_FUSED, Stage.IMPERATIVE)


def _normal(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: "no nesting and hence the AST is in ANF", and every expression has its type."""
    nested = (relax.Call, relax.If, relax.Function, relax.SeqExpr)
    for _, func in relax_functions(after):
        for node in calls_of(func.body):
            for arg in node.args:
                if isinstance(arg, nested):
                    return f"a {type(arg).__name__} is an argument of a call"
        for binding in bindings_of(func.body):
            if _missing(binding.var.ty) or _missing(binding.value.ty):
                return "an expression has no type"
    return None


def _missing(ty: Any) -> bool:
    return ty is None or ty.is_missing()


def _names_agree(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: public functions have their global_symbol as name; all names are unique."""
    for gvar, func in after.functions_items():
        symbol = attr(func, "global_symbol")
        if symbol is not None and symbol != gvar.name_hint:
            return "a GlobalVar's name differs from the function's global_symbol"
    names = Counter(gvar.name_hint for gvar, _ in after.functions_items())
    return "two GlobalVars share a name" if max(names.values(), default=1) > 1 else None


def _inlined(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: "Inline all private relax functions"; recursive ones cannot be."""
    left = [gvar for gvar, func in relax_functions(after) if not is_public(func)]
    if not left:
        return None
    recursive = {g.name_hint for group in relax.analysis.detect_recursion(before) for g in group}
    if any(gvar.name_hint not in recursive for gvar in left):
        return "a private function that is not recursive is left"
    return None


CONTRACTS: tuple[PassContract, ...] = (
    for_all_operators(
        name="Normalize",
        stages=EVERY_FORM,
        post=_normal,
        normal_form=NormalForm("docstring: 'Transforming Relax IR to normal form'"),
    ),
    for_all_operators(
        name="NormalizeGlobalVar",
        stages=(Stage.RAW, Stage.LEGALIZED, Stage.TIR_FUSED),
        post=_names_agree,
        normal_form=NormalForm(
            "docstring: renames 'to ensure these properties', of which each is one of the result"
        ),
    ),
    for_all_operators(
        name="LambdaLift",
        stages=EVERY_FORM,
        looks_for=Sought(lambda mod: bool(local_functions(mod)), traits=(Trait.CLOSURES,)),
        post=none_left("a local function", local_functions),
        normal_form=NormalForm("docstring: 'lifts local functions into global': it leaves none"),
    ),
    for_all_operators(
        name="InlinePrivateFunctions",
        stages=(Stage.RAW, Stage.LEGALIZED, Stage.FUSED, Stage.IMPERATIVE),
        post=_inlined,
        normal_form=NormalForm("docstring: 'Inline all private relax functions'"),
        rejections=(
            Rejection(
                r"requires the input tensor to have \w+ dtype\. However, the given input dtype is",
                "the message names the operator and the dtype, of which the type of a private "
                "function says nothing: the call has no meaning before the pass either",
            ),
        ),
        inside=CLEANUP,
    ),
)
