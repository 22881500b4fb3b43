"""Reference: the pass agrees with the reference pass of its contract."""

from __future__ import annotations

from collections.abc import Iterator

import tvm
from tvm import relax

from ...compat.serialization import load_json, save_json
from ...compat.structural import structural_map
from .. import checkers, keys
from ..catalogue import contract_of
from ..errors import NoAnswer
from ..identity import FailureKind
from ..oracle import TWINS, Breach, Half, Halves, Oracle
from ..pass_runs import PassRuns, attempt, digest
from ..silence import inventory
from ..silence.log import abstain
from ..text import messages
from ..text.scripted import nested_module
from ..violation import Case, Violation
from .canonical import canonical, equivalent
from .halves import alike, ran

DIFFERENT = "gives another result than the reference"
REFUSED = "refuses a module for which the reference has a result"


class ReferenceFault(RuntimeError):
    """A reference raises or breaks a promise itself: an error of relaxfuzz, not a finding."""


def check(runs: PassRuns) -> Violation | None:
    """Compare with the reference's result.

    A pass that refuses a module for which the reference has a result is reported, even with a clean
    message.

    Raises:
        ReferenceFault: the reference raises where the pass does not, or its result is wrong.
    """
    reference = runs.contract.reference
    made = None if reference is None else reference(runs.call)
    if reference is None or made is None:
        of_these = "" if reference is None else " for these arguments"
        abstain(inventory.NO_PROMISE, f"the contract has no reference{of_these}")
        return None
    error, actual = runs.direct.error, runs.direct.mod
    if error is not None and not runs.rejected(error):
        abstain(inventory.EXPLAINED, "the pass raises")
        return None
    expected = _expected(runs, made)
    if expected is None:
        return None
    if error is not None:
        refusal = keys.exception(error)
        detail = f"{REFUSED}\n{refusal.detail}\n\nthe result:\n{messages.listing(expected)}"
        return refusal.under(REFUSED, detail=detail)
    assert actual is not None
    if runs.direct.mark == digest(expected):
        return None
    if runs.contract.post(runs.mod, actual, runs.call) is not None:
        abstain(inventory.EXPLAINED, "the result lacks the post-condition")
        return None
    expected, actual = keys.comparable(expected), keys.comparable(actual)
    if equivalent(expected, actual) or equivalent(_coarse(expected), _coarse(actual)):
        return None
    return keys.mismatch(canonical(expected), canonical(actual), DIFFERENT)


def _coarse(mod: tvm.IRModule) -> tvm.IRModule:
    """The module without differences that merely rebuilding nodes creates.

    Sizes in types are dropped, since a rebuilt node may know more of them. A call in a match_cast
    gets a variable, as ExprMutator makes one when it rebuilds the match_cast.
    """

    def without_sizes(ty: relax.TensorType) -> relax.TensorType:
        return relax.TensorType(dtype=ty.dtype, ndim=ty.ndim, vdevice=ty.vdevice)

    functions = {
        gvar: structural_map(
            structural_map(func, (relax.BindingBlock, _calls_before_casts)),
            (relax.TensorType, without_sizes),
        )
        if isinstance(func, relax.Function)
        else func
        for gvar, func in mod.functions_items()
    }
    return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)


def _calls_before_casts(block: relax.BindingBlock) -> relax.BindingBlock:
    in_dataflow = isinstance(block, relax.DataflowBlock)
    bindings: list[relax.Binding] = []
    for binding in block.bindings:
        if isinstance(binding, relax.MatchCast) and isinstance(binding.value, relax.Call):
            var = (relax.DataflowVar if in_dataflow else relax.Var)("gv", binding.value.ty)
            bindings.append(relax.VarBinding(var, binding.value))
            binding = relax.MatchCast(binding.var, var, binding.ty)
        bindings.append(binding)
    return type(block)(bindings) if len(bindings) > len(block.bindings) else block


def _expected(runs: PassRuns, made: tvm.transform.Pass) -> tvm.IRModule | None:
    """The reference's result for the module before the runs; None if it has no answer."""
    before = runs.mod if runs.intact else runs.given.copy()
    outcome = runs.attempt("reference", runs.under(made), before)
    if isinstance(outcome.error, NoAnswer):
        abstain(inventory.NO_ANSWER)
        return None
    if outcome.error is not None and runs.direct.error is not None:
        return None  # both refuse
    name = runs.call.name
    if outcome.error is not None:
        raise ReferenceFault(f"The reference of {name} raises") from outcome.error
    assert outcome.mod is not None
    if outcome.mark != runs.direct.mark:
        flaw = checkers.flaw(outcome.mod)
        if flaw is not None:
            raise ReferenceFault(f"The result of the reference of {name}: {flaw.detail}")
        wrong = runs.contract.post(before, outcome.mod, runs.call)
        if wrong is not None:
            raise ReferenceFault(f"The result of the reference of {name}: {wrong}")
    return outcome.mod


def _brief(case: Case, violation: Violation) -> Iterator[str]:
    """The correct result, spelled out as in the compiler's own tests."""
    (call,) = case.calls
    reference = contract_of(call).reference
    made = None if reference is None else reference(call)
    if reference is None or made is None:
        return
    if violation.key[0] == REFUSED:
        yield "the_pass(mod)"
        return
    with call.context():
        expected = attempt(made, case.mod).mod
    if expected is not None:
        yield (
            f"{nested_module('expected', expected)}\n\nactual = the_pass(mod)\n"
            "tvm.ir.assert_structural_equal(actual, expected(), map_free_vars=True)"
        )


def _halves(case: Case, violation: Violation) -> Halves | None:
    (call,) = case.calls
    reference = contract_of(call).reference
    made = None if reference is None else reference(call)
    if made is None:
        return None
    with call.context():
        expected = made(load_json(save_json(case.mod)))
    given = ran(attempt(call.run, case.mod), f"what {call.name} gives", call.name)
    return alike(Half("what the reference gives", expected), given)


ORACLE = Oracle(
    name="reference",
    # A second run completes work that the pass left undone.
    breach=Breach(FailureKind.FORM, explains=TWINS | {1}),
    tier=1,
    promise="The pass does what an independent implementation of its documentation does.",
    source="the docstring of the pass and what its reference in oracles/reference quotes",
    check=check,
    brief=_brief,
    halves=_halves,
)
