"""Reference: the pass does what the reference pass of its contract does."""

from __future__ import annotations

from collections.abc import Iterator

import tvm
from tvm import relax

from ...compat.serialization import load_json, save_json
from ...compat.structural import structural_map
from .. import keys
from ..composition import contract_of
from ..contract import Reference
from ..errors import NoAnswer
from ..grades.grade import Grade
from ..identity import FailureKind
from ..inspect import is_public
from ..oracle import TWINS, Half, Halves, Oracle
from ..pass_runs import PassRuns, attempt, digest
from ..silence import inventory
from ..silence.log import abstain
from ..text import messages
from ..text.halves import alike, ran
from ..text.standalone import nested_module, standalone
from ..violation import Case, Violation
from . import checkers
from .canonical import canonical, equivalent

DIFFERENT = "gives another result than the reference"
REFUSED = "refuses a module for which the reference has a result"


class ReferenceFault(RuntimeError):
    """A reference that raises or breaks a promise itself: relaxfuzz's mistake, no finding."""


def check(runs: PassRuns) -> Violation | None:
    """Compare with the reference's result, where there is one right one.

    Elsewhere the reference shows what is possible: a pass that refuses where it has a result, even
    with a clean message, is reported. What else a pass owes there, the other oracles ask.

    Raises:
        ReferenceFault: the reference raises where the pass does not, or gives what is wrong itself.
    """
    reference = runs.contract.reference
    made = None if reference is None else reference.make(runs.call)
    if reference is None or made is None:
        of_these = "" if reference is None else " for these arguments"
        abstain(inventory.NO_PROMISE, f"the contract has no reference{of_these}")
        return None
    error, actual = runs.direct.error, runs.direct.mod
    if error is not None and not runs.rejected(error):
        return None  # a crash
    if actual is not None and not reference.unique:
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
        return None  # the post-condition reports it
    expected, actual = keys.comparable(expected), keys.comparable(actual)
    if equivalent(expected, actual) or equivalent(_coarse(expected), _coarse(actual)):
        return None
    return keys.mismatch(canonical(expected), canonical(actual), DIFFERENT)


def _coarse(mod: tvm.IRModule) -> tvm.IRModule:
    """Without the sizes in types: a node that is built again may know more of them. And with a
    variable for the call in a match_cast: ExprMutator makes one where it builds that again.
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
    """What the reference gives for the module as it was before the runs; None: no answer."""
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


def _snippet(case: Case) -> str:
    (call,) = case.calls
    reference = contract_of(call).reference
    if reference is None:
        return "# The contract of the pass has no reference."
    given = f"expr={call.expr!r}, config={dict(call.config)!r}, name={call.name!r}"
    make = reference.make
    helpers = [make, canonical] if _private_names_matter(case, reference) else [make]
    lines = [
        "from types import SimpleNamespace\n",
        f"{standalone(*helpers)}\n\n",
        f"call = SimpleNamespace({given})",
        f"expected = apply(mod, {make.__name__}(call))",
        "actual = apply(mod)",
    ]
    if canonical in helpers:
        lines.append("expected, actual = canonical(expected), canonical(actual)")
    if reference.unique:
        lines.append("tvm.ir.assert_structural_equal(expected, actual, map_free_vars=True)")
    return "\n".join(lines)


def _brief(case: Case, violation: Violation) -> Iterator[str]:
    """The right result, spelled out, as the compiler's own tests do."""
    (call,) = case.calls
    reference = contract_of(call).reference
    made = None if reference is None else reference.make(call)
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
    made = None if reference is None else reference.make(call)
    if made is None:
        return None
    with call.context():
        expected = made(load_json(save_json(case.mod)))
    given = ran(attempt(call.run, case.mod), f"what {call.name} gives", call.name)
    return alike(Half("what the reference gives", expected), given)


def _private_names_matter(case: Case, reference: Reference) -> bool:
    """The results have private functions, whose names are up to the pass."""
    result = attempt(case.calls[0].run, case.mod).mod if reference.unique else None
    return result is not None and not all(map(is_public, result.functions.values()))


ORACLE = Oracle(
    name="reference",
    failure=FailureKind.FORM,
    tier=1,
    grade=Grade.B,
    promise="The pass does what an independent implementation of its documentation does.",
    source="the docstring of the pass and what its reference in oracles/reference quotes",
    check=check,
    snippet=_snippet,
    brief=_brief,
    halves=_halves,
    # What the pass left undone, its second run does.
    explains=TWINS | {1},
)
