"""Is a module well-formed? TVM's two checkers, and what neither of them looks at."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import tvm
from tvm import relax, s_tir
from tvm.ir import GlobalVar

from .. import keys
from ..inspect import attr, global_vars, prim_funcs, relax_functions
from ..oracle import Oracle, Problem

if TYPE_CHECKING:
    from ..pass_runs import PassRuns


RELAX = "ill-formed"
TENSOR_IR = "ill-formed TensorIR"
"""Which checker complains: the first part of a key."""


def check(runs: PassRuns) -> Problem | None:
    """The result is well-formed (the input is: other modules are not checked)."""
    result = runs.direct.mod
    if result is None or not runs.changed:
        return None
    known = _same_prim_funcs(runs.mod, result) and runs.intact
    return _relax(result) or (None if known else _tensor_ir(result)) or _names(result)


def flaw(mod: tvm.IRModule) -> Problem | None:
    """The first thing that is wrong with a module, or None."""
    return _relax(mod) or _tensor_ir(mod) or _names(mod)


def _same_prim_funcs(before: tvm.IRModule, after: tvm.IRModule) -> bool:
    """No PrimFunc has come or changed: TensorIR's checker looks at nothing else."""
    old = before.functions
    return all(gvar in old and old[gvar].same_as(func) for gvar, func in prim_funcs(after))


def _relax(mod: tvm.IRModule) -> Problem | None:
    # The checker that answers with a bool costs a fifth of an exception's unwinding.
    if relax.analysis.check_well_formed(mod):
        return None
    try:
        relax.analysis.well_formed(mod)
    except Exception as error:
        return _complaint(RELAX, error, mod)
    raise AssertionError("TVM's two forms of the checker disagree: one of them said no")


def _tensor_ir(mod: tvm.IRModule) -> Problem | None:
    if s_tir.analysis.verify_well_formed(mod, assert_mode=False):
        return None
    try:
        s_tir.analysis.verify_well_formed(mod, assert_mode=True)
    except Exception as error:
        return _complaint(TENSOR_IR, error, mod)
    raise AssertionError("TVM's two forms of the checker disagree: one of them said no")


MISFIT = re.compile(
    r"Expression of type .* cannot be assigned to a variable of type "
    r"|All information in Type annotations must be correct\."
    r"|Each Relax expression must be able to have its Type inferred\..* type mismatch",
    re.S,
)
"""A pass left a type as it was: whether of a variable, a call or an argument is an accident."""

_UNDEFINED = re.compile(r"(?:Var|DataflowVar) (\S+) is (?:not defined|defined more than once)")


def _complaint(what: str, error: Exception, mod: tvm.IRModule) -> Problem:
    misfit = MISFIT.match(str(error)) is not None
    text = "a type does not fit" if misfit else keys.message(str(error), ops=True)
    found = _UNDEFINED.match(str(error))
    kind = _kind_of_variable(mod, found.group(1)) if found else ""
    return Problem(
        title=f"{what}: {keys.headline(str(error))}",
        detail=f"{error}\n\n{keys.listing(mod)}",
        key=(what, text, kind),
        fingerprint=(what, text, kind),
    )


def _kind_of_variable(mod: tvm.IRModule, name: str) -> str:
    """Whether the variable stands for a dimension or for a value: other parts of a pass."""
    for _, func in relax_functions(mod):
        for var in relax.analysis.all_vars(func):
            if str(var.name) == name:
                return "dimension" if isinstance(var.ty, tvm.ir.PrimType) else "value"
    return "dimension"


def _names(mod: tvm.IRModule) -> Problem | None:
    """GlobalVars exist wherever they are used, PrimFuncs included, and agree with global_symbol."""
    functions = {gvar.name_hint: gvar for gvar in mod.functions}
    for gvar, func in mod.functions_items():
        symbol = attr(func, "global_symbol")
        if symbol is not None and symbol != gvar.name_hint:
            return Problem.plain(
                f"ill-formed: the global_symbol of a {type(func).__name__} is not its GlobalVar",
                f"{gvar.name_hint!r} has global_symbol {str(symbol)!r}\n\n{keys.listing(mod)}",
            )
    return _dangling(mod, functions)


def _dangling(mod: tvm.IRModule, functions: dict[str, GlobalVar]) -> Problem | None:
    for gvar, func in mod.functions_items():
        for used in global_vars(func):
            defined = functions.get(used.name_hint)
            if defined is None or not defined.same_as(used):
                which = "no function" if defined is None else "another object than the function's"
                return Problem.plain(
                    f"ill-formed: a GlobalVar in a {type(func).__name__} stands for {which}",
                    f"GlobalVar {used.name_hint!r} in {gvar.name_hint!r}\n\n{keys.listing(mod)}",
                )
    return None


def complaint_text(result: str, what: str) -> Iterator[str]:
    """Python that raises what is wrong with a module.

    Args:
        result: an expression for the module.
        what: the first part of the violation's key.
    """
    if what == RELAX:
        yield f"relax.analysis.well_formed({result})"
    elif what == TENSOR_IR:
        yield f"tvm.s_tir.analysis.verify_well_formed({result})"
    elif "global_symbol" in what:
        yield f"result = {result}\n{_SYMBOLS}"
    else:
        yield f"result = {result}\n{_USES}"


_SYMBOLS = """\
for gvar, func in result.functions_items():
    symbol = (func.attrs or {}).get("global_symbol")
    assert symbol in (None, gvar.name_hint), f"{gvar}: the global_symbol is {symbol!r}"
"""

_USES = """\
functions = {gvar.name_hint: gvar for gvar in result.functions}
for func in result.functions.values():
    used = []
    tvm_ffi.structural_walk(func, (tvm.ir.GlobalVar, used.append))
    for gvar in used:
        assert functions.get(gvar.name_hint, result).same_as(gvar), f"{gvar} is no function"
"""

ORACLE = Oracle(
    name="well-formed",
    tier=1,
    promise="The result of a pass on a well-formed module is well-formed.",
    source="docstrings of relax.analysis.well_formed and s_tir.analysis.verify_well_formed; "
    "relax.ir.instrument.WellFormedInstrument: 'checks the input/output IRModule of the Pass'",
    check=check,
    snippet="""\
import tvm_ffi

result = apply(mod)
relax.analysis.well_formed(result)
new, old = tvm.s_tir.analysis, tvm.tirx.analysis
(new if hasattr(new, "verify_well_formed") else old).verify_well_formed(result)
functions = {gvar.name_hint: gvar for gvar in result.functions}
for gvar, func in result.functions_items():
    symbol = None if func.attrs is None else func.attrs.get("global_symbol")
    assert symbol in (None, gvar.name_hint), f"{gvar}: the global_symbol is {symbol!r}"
    used = []
    if hasattr(tvm_ffi, "structural_walk"):  # since TVM 0.26
        tvm_ffi.structural_walk(func, (tvm.ir.GlobalVar, used.append))
    for other in used:
        defined = functions.get(other.name_hint)
        assert defined is not None and defined.same_as(other), f"{gvar} uses {other}, no function"
""",
    brief=lambda case, violation: complaint_text("the_pass(mod)", violation.key[0]),
)
