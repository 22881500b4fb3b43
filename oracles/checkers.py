"""Checkers of well-formedness: TVM's two, and our own for rules that neither covers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import GlobalVar, PrimType
from tvm.relax.analysis import BaseCheckResult, type_base_check

from ..compat import ir
from ..generators.rewrite.nodes import same_functions, without_undefined_dims
from ..generators.rewrite.rewriter import CannotRewrite, Rewriter
from .inspect import attr, calls_of, global_vars, nodes, prim_funcs, relax_functions, tensor_types
from .text import frames, messages
from .text.frames import Trace
from .violation import Violation

RELAX = "ill-formed"
TENSOR_IR = "ill-formed TensorIR"
"""Names of the checker that complains, for the first part of a key."""
OPERANDS = "ill-formed TensorIR: operands of one operator have different types"


def flaw(mod: tvm.IRModule) -> Violation | None:
    """The first error in a module, or None."""
    return relax_flaw(mod) or tensor_ir_flaw(mod) or operands_flaw(mod) or names_flaw(mod)


def input_flaw(mod: tvm.IRModule) -> Violation | None:
    """The reason why nothing is promised for a module that is given to a pass, or None.

    The module is ill-formed, or breaks a rule that TVM's checkers do not check.
    """
    return (
        flaw(mod)
        or sizes_flaw(mod)
        or calls_flaw(mod)
        or branches_flaw(mod)
        or casts_flaw(mod)
        or devices_flaw(mod)
    )


def relax_flaw(mod: tvm.IRModule) -> Violation | None:
    """The complaint of Relax's checker, or None."""
    # The checker that answers with a bool costs a fifth of an exception's unwinding.
    if relax.analysis.check_well_formed(mod):
        return None
    try:
        relax.analysis.well_formed(mod)
    except Exception as error:
        return complaint(RELAX, error, mod)
    raise AssertionError("TVM's two forms of the checker disagree: only one refuses the module")


INFERENCE = "type inference"
"""The name to blame for an ill-formed module whose types are all TVM's own."""


def inferred_flaw(mod: tvm.IRModule) -> Violation | None:
    """The complaint of Relax's checker about a type that TVM itself infers.

    The module's types are those that TVM infers, and with weaker types it is well-formed. The
    author of such calls, e.g. an importer, cannot write the module in another way.
    """
    found = relax_flaw(mod)
    if found is None:
        return None
    try:
        written = has_old_types(mod) or flaw(_Weaker(mod).rewritten()) is not None
    except MemoryError:
        raise
    except Exception:  # a rewriter may not cope with an ill-formed module
        return None
    return None if written else found


def sound_form(mod: tvm.IRModule) -> tvm.IRModule | None:
    """A well-formed module with the same meaning, for one that is ill-formed by its types; or None.

    Types may name variables outside of dataflow blocks. If that does not help, types are weakened.
    """
    forms = (relax.transform.ToNonDataflow(), lambda mod: _Weaker(mod).rewritten())
    for form in forms:
        made = form(mod)
        if flaw(made) is None:
            return made
    return None


def has_old_types(mod: tvm.IRModule) -> bool:
    """True if a type differs from the inferred one, or no type can be inferred."""
    try:
        return not same_functions(mod, _Inferred(mod).rewritten())
    except CannotRewrite:
        return True


class _Inferred(Rewriter):
    infers_all = True


class _Weaker(Rewriter):
    """Removes sizes that depend on a variable from the types of calls and bound variables."""

    def expr(self, expr: Any) -> Any:
        """See `Rewriter`."""
        made = super().expr(expr)
        if not isinstance(made, relax.Call) or isinstance(made.ty, PrimType):
            return made
        weaker = without_undefined_dims(made.ty, [])
        return relax.Call(made.op, made.args, made.attrs, made.ty_args, ret_ty=weaker)

    def annotation(self, owner: Any, old: Any, before: Any, now: Any) -> Any:
        """See `Rewriter`."""
        return without_undefined_dims(super().annotation(owner, old, before, now), [])


def tensor_ir_flaw(mod: tvm.IRModule) -> Violation | None:
    """The complaint of TensorIR's checker, or None."""
    error = ir.tensor_ir_complaint(mod)
    return None if error is None else complaint(TENSOR_IR, error, mod)


def operands_flaw(mod: tvm.IRModule) -> Violation | None:
    """An operator of TensorIR with operands of two types.

    TVM refuses to construct one ('mismatched types', src/tirx/ir/expr.cc), but does not notice when
    a pass puts another buffer or variable into an existing one.
    """
    mixed: list[Any] = []

    def visit(node: Any) -> None:
        if node.a.ty != node.b.ty:
            mixed.append(node)

    for gvar, func in prim_funcs(mod):
        tvm_ffi.structural_walk(func, (OPERATORS, visit))
        if mixed:
            node = mixed[0]
            return Violation.titled(
                OPERANDS,
                f"{type(node).__name__} of {node.a.ty} and {node.b.ty} in {gvar.name_hint!r}: "
                f"{node}\n\n{messages.listing(mod)}",
            )
    return None


OPERATORS = (
    *(ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Mod, ir.FloorDiv, ir.FloorMod, ir.Min, ir.Max),
    *(ir.EQ, ir.NE, ir.LT, ir.LE, ir.GT, ir.GE),
)

_RULES = {
    # A pass did not update a type. The kind of node that has the type does not matter.
    "a type does not fit": re.compile(
        r"Expression of type .* cannot be assigned to a variable of type "
        r"|All information in Type annotations must be correct\."
        r"|Each Relax expression must be able to have its Type inferred\..* type mismatch",
        re.S,
    ),
    # The checker complains of one of these uses, in the order of its walk.
    "a DataflowVar outside of its block": re.compile(
        r"DataflowVar \S+ is (?:not defined|used outside DataflowBlock)"
    ),
    "a DataflowVar in a type": re.compile(
        r"DataflowVar cannot be used as a dependent type expression"
    ),
    "an undefined variable": re.compile(r"(?:ValueError: )?Invalid use of undefined variable"),
    "two definitions of a variable": re.compile(
        r"(?:ValueError: )?TIR is ill-formed, due to multiple definitions of variable"
    ),
    "a buffer that nothing declares": re.compile(
        r"(?:ValueError: )?TIR is ill-formed: buffer .* is used without a prior DeclBuffer"
    ),
}
"""Rules that the checker enforces at several places."""

PACKED_PREFIX = "__tvm_ffi_"
"""Prefix of the symbol of a function with the packed API (tvm/ffi/extra/module.h,
tvm_ffi_symbol_prefix), which is still called by the name of its GlobalVar."""

_PLACE = re.compile(r"\sat <root>[^\s,]*")
"""A place in the module, as a path of fields."""


def complaint(what: str, error: Exception, mod: tvm.IRModule) -> Violation:
    """A complaint, keyed by its rule if several places check it, else by the place that raised."""
    raised = str(error)
    rule = next((name for name, said in _RULES.items() if said.match(raised)), "")
    trace = Trace() if rule else frames.trace(frames.frames_of(error), type(error).__name__, raised)
    return Violation(
        title=f"{what}: {messages.headline(_PLACE.sub('', raised))}",
        detail=f"{raised}\n\n{messages.listing(mod)}",
        key=tuple(filter(None, (what, rule, *trace.functions[-1:]))),
        trace=trace,
    )


def names_flaw(mod: tvm.IRModule, sound: tvm.IRModule | None = None) -> Violation | None:
    """An error in global_symbols or in uses of GlobalVars, also in PrimFuncs.

    Args:
        sound: a module without such errors; functions that `mod` shares with it are skipped.
    """
    functions = {gvar.name_hint: gvar for gvar in mod.functions}
    for gvar, func in mod.functions_items():
        symbol = attr(func, "global_symbol")
        if symbol not in (None, gvar.name_hint, PACKED_PREFIX + gvar.name_hint):
            return Violation.titled(
                f"ill-formed: the global_symbol of a {type(func).__name__} is not its GlobalVar",
                f"{gvar.name_hint!r} has global_symbol {str(symbol)!r}\n\n{messages.listing(mod)}",
            )
    return _dangling(mod, functions, {} if sound is None else _sound(sound, functions))


def sizes_flaw(mod: tvm.IRModule) -> Violation | None:
    """A parameter with a negative size, which no argument can have."""
    for gvar, func in relax_functions(mod):
        for param in func.params:
            for ty in tensor_types(param.ty):
                dims = ty.shape if isinstance(ty.shape, relax.ShapeExpr) else ()
                if any(isinstance(dim, tvm.tirx.IntImm) and dim.value < 0 for dim in dims):
                    return Violation.titled(
                        "ill-formed: a parameter has a size below 0",
                        f"{param.name} of {gvar.name_hint!r} is {ty}\n\n{messages.listing(mod)}",
                    )
    return None


def calls_flaw(mod: tvm.IRModule) -> Violation | None:
    """An error in calls of Relax functions of a module that was given to a pass.

    TVM's checker compares a call with the type of the GlobalVar, which may not be the function's:
    an earlier pass may have changed only one of them, and no later pass is to blame for that. The
    checker also does not compare the type of a function's body with its declared return type.
    """
    functions = {gvar.name_hint: func for gvar, func in relax_functions(mod)}
    for gvar, func in relax_functions(mod):
        returned = func.body.body.ty
        if returned is not None and int(type_base_check(func.ret_ty, returned)) == 0:
            return Violation.titled(
                "ill-formed: the type of a function's result contradicts its body",
                f"{gvar.name_hint!r} is to give {func.ret_ty}, and returns {returned}\n\n"
                f"{messages.listing(mod)}",
            )
        for call in calls_of(func):
            name = call.op.name_hint if isinstance(call.op, GlobalVar) else None
            callee = functions.get(name)
            if callee is None:
                continue
            if len(call.args) != len(callee.params):
                return Violation.titled(
                    "ill-formed: a call has not as many arguments as the function has parameters",
                    f"{gvar.name_hint!r} calls {name!r}, which has {len(callee.params)}, with "
                    f"{len(call.args)}\n\n{messages.listing(mod)}",
                )
            if int(type_base_check(call.ty, callee.ret_ty)) == 0:
                return Violation.titled(
                    "ill-formed: the type of a call contradicts that of the function's result",
                    f"{gvar.name_hint!r} calls {name!r}, which gives {callee.ret_ty}, and takes "
                    f"the result for {call.ty}\n\n{messages.listing(mod)}",
                )
    return None


def branches_flaw(mod: tvm.IRModule) -> Violation | None:
    """An If, or a branch of one, with a type that its value may not have.

    TVM infers what the branches have in common, but its checker accepts any other type.
    """
    for conditional in nodes([func for _, func in relax_functions(mod)], relax.If):
        for branch in (conditional.true_branch, conditional.false_branch):
            for said, value in ((conditional.ty, branch.ty), (branch.ty, branch.body.ty)):
                if type_base_check(said, value) != BaseCheckResult.PASS:
                    return Violation.titled(
                        "ill-formed: the type of a branch says more than is known of its value",
                        f"it is said to give {said}, and gives {value}\n\n{messages.listing(mod)}",
                    )
    return None


def casts_flaw(mod: tvm.IRModule) -> Violation | None:
    """A match_cast to a type that its value cannot have, e.g. of a float32 tensor to int64.

    TVM's checker accepts it. BlockBuilder, and so the parser, refuses it: 'It is impossible to
    match cast any value into the target ty' (src/relax/ir/block_builder.cc, EmitMatchCast).
    """
    cast = next(iter(impossible_casts(mod)), None)
    if cast is None:
        return None
    return Violation.titled(
        "ill-formed: a match_cast is to a type that its value cannot have",
        f"{str(cast.var.name)!r} is to be {cast.ty}, and its value is {cast.value.ty}\n\n"
        f"{messages.listing(mod)}",
    )


def impossible_casts(mod: tvm.IRModule) -> list[relax.MatchCast]:
    """The match_casts to a type that their values cannot have."""
    casts = nodes([func for _, func in relax_functions(mod)], relax.MatchCast)
    return [cast for cast in casts if not may_be(cast.value.ty, cast.ty)]


def may_be(ty: relax.Type, other: relax.Type) -> bool:
    """True if a value of the one type may also have the other."""
    return bool(type_base_check(ty, other) != BaseCheckResult.FAIL_L0)


def devices_flaw(mod: tvm.IRModule) -> Violation | None:
    """A virtual device that a type or an attribute names but the module does not list.

    Passes and the parser look devices up by their place in the module's list.
    """
    listed = list(mod.global_infos.get("vdevice", ()))
    unlisted: list[ir.VDevice] = []

    def visit(device: ir.VDevice) -> None:
        if not any(tvm_ffi.structural_equal(device, each) for each in listed):
            unlisted.append(device)

    for _, func in relax_functions(mod):
        tvm_ffi.structural_walk(func, (ir.VDevice, visit))
    if not unlisted:
        return None
    return Violation.titled(
        "ill-formed: a virtual device is used that the module does not list",
        f"{unlisted[0]} is not among the {len(listed)} of the module\n\n{messages.listing(mod)}",
    )


def _sound(
    mod: tvm.IRModule, functions: dict[str, GlobalVar]
) -> Mapping[GlobalVar, tvm.ir.BaseFunc]:
    """The functions of a sound module if all of its GlobalVars are among these, else none."""
    for gvar in mod.functions:
        there = functions.get(gvar.name_hint)
        if there is None or not there.same_as(gvar):
            return {}
    sound: Mapping[GlobalVar, tvm.ir.BaseFunc] = mod.functions
    return sound


def _dangling(
    mod: tvm.IRModule,
    functions: dict[str, GlobalVar],
    sound: Mapping[GlobalVar, tvm.ir.BaseFunc],
) -> Violation | None:
    for gvar, func in mod.functions_items():
        if gvar in sound and sound[gvar].same_as(func):
            continue
        for used in global_vars(func):
            defined = functions.get(used.name_hint)
            if defined is None or not defined.same_as(used):
                which = "no function" if defined is None else "another object than the function's"
                where = f"GlobalVar {used.name_hint!r} in {gvar.name_hint!r}"
                return Violation.titled(
                    f"ill-formed: a GlobalVar in a {type(func).__name__} stands for {which}",
                    f"{where}\n\n{messages.listing(mod)}",
                )
    return None
