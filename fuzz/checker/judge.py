"""Judges a pass that has run in a build: oracles check the observed run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import tvm

from ...oracles import catalogue
from ...oracles.contract import Exemption, PassContract, Relation
from ...oracles.oracle import Oracle
from ...oracles.pace import paced
from ...oracles.pass_runs import Outcome, PassRuns, outcome_of, same_functions
from ...oracles.passcall import PassCall
from ...oracles.silence.log import answers, asking
from ...oracles.structural import crash, interface, mutation, well_formed
from ...oracles.values import evaluated
from ...oracles.violation import Violation
from .calls import TENSOR_IR, public_name
from .running import Running

KEPT: Mapping[str, tuple[Relation, ...]] = {
    interface.FUNCTIONS.name: interface.SAME_FUNCTIONS,
    interface.SIGNATURE.name: interface.SAME_SIGNATURE,
    interface.ATTRIBUTES.name: (*interface.SAME_SIGNATURE, Relation.LOWERED),
    "values": (Relation.SAME, Relation.LOWERED, Relation.LOOSE),
}
"""The relations of a contract that keep each promise. A pass does not keep a promise if an inner
pass does not."""

CHEAP = (well_formed.ORACLE, interface.FUNCTIONS, interface.SIGNATURE, interface.ATTRIBUTES)

INSIDE = frozenset({*KEPT, well_formed.ORACLE.name})
"""Promises that a pass does not make if it only runs as a part of a pass of TVM."""

OVER_KERNELS = INSIDE - {"values"}
"""Promises that passes over PrimFuncs do not make: they change the calls of PrimFuncs, and give
TensorIR forms unknown to its checker."""

FREED = "a pass inside does not keep it, or no pass over PrimFuncs does"
"""The reason for exemptions that are not declared anywhere."""

UNSEEN = (Relation.BOUND_PARAMS, Relation.BOUND_SIZES, Relation.LAZY_PARAMS)
"""Relations whose expected result depends on the pass's arguments, which are not visible."""


class Observed(PassRuns):
    """An observed run: it cannot be repeated, and judging it runs nothing."""

    def __init__(
        self, running: Running, call: PassCall, contract: PassContract, seen: Outcome
    ) -> None:
        super().__init__(
            running.state.mod,
            (call,),
            contract,
            alone=True,
            # Dozens of passes over PrimFuncs are judged, each on two kinds of arguments.
            thorough=not is_over_kernels(running),
            known=running.state,
            seen=seen,
        )
        self._intact = running.state.intact

    @property
    def intact(self) -> bool:
        """True if the pass has left its input unchanged."""
        return self._intact

    @property
    def changed(self) -> bool:
        """True if the result does not consist of the very same functions."""
        after = self.direct.mod
        return after is not None and not same_functions(after, self.mod)


def contract_of(running: Running, own: Mapping[str, PassContract]) -> PassContract:
    """The contract of the pass: the user's, the catalogue's, or what its inner passes keep."""
    if running.name in own:
        return own[running.name]
    if (known := catalogue.promised_by(public_name(running.name) or running.name)) is not None:
        return known
    strict = PassContract(name=running.name, variants=lambda choices, mod: None)
    freed = set(running.freed)
    if is_over_kernels(running):
        freed |= OVER_KERNELS
    if _is_part(running):
        freed |= INSIDE
    exemptions = (Exemption(name, FREED, "") for name in sorted(freed))
    return replace(strict, exemptions=tuple(exemptions))


def is_over_kernels(running: Running) -> bool:
    """Return whether the pass works on PrimFuncs: by its name, or for want of other functions."""
    return running.name.startswith(TENSOR_IR) or not running.state.has_relax


def _is_part(running: Running) -> bool:
    """Return whether the pass is part of a pass of TVM, which is judged by its own result."""
    outer = running.outer
    while outer is not None and outer.is_sequential and outer.name not in catalogue.catalogue:
        outer = outer.outer
    return outer is not None and outer.name in catalogue.catalogue


def frees(contract: PassContract) -> set[str]:
    """The promises that a pass cannot make if it runs this one inside."""
    if contract.universal_only:
        return set(KEPT)
    return {name for name, kept in KEPT.items() if contract.relation not in kept} | {
        exemption.oracle for exemption in contract.exemptions
    }


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judgement of one run of a pass."""

    promised: bool
    """True if the contract promises more than leaving the input unchanged."""
    violation: Violation | None = None
    uncompared: bool = False
    """True if the values of some function were not compared because NumPy would take too long."""


def judge(
    running: Running,
    call: PassCall,
    contract: PassContract,
    result: tvm.IRModule,
    *,
    seconds: float | None,
    idle: bool = False,
) -> Judgement:
    """Judge a run by its contract.

    Args:
        seconds: the time for values; None: they are not compared.
        idle: the pass only ran others.
    """
    if idle and running.is_sequential:
        return Judgement(False)
    runs = Observed(running, call, contract, outcome_of(result))
    if not runs.intact:
        return Judgement(True, _mutation(runs, running))
    if runs.direct.error is not None:
        (violation,) = crash.ORACLE.violations(runs)
        return Judgement(True, violation.blame(crash.ORACLE.name, call.name))
    oracles: tuple[Oracle, ...] = () if idle else CHEAP
    if seconds is not None and not idle and _keeps_values(runs):
        oracles += (evaluated.ORACLE,)
    oracles = tuple(oracle for oracle in oracles if oracle.promised(runs))
    if not oracles or not _applies(running, contract):
        return Judgement(False)
    # Evaluation builds modules; the user's instruments must not see that.
    limited = paced(seconds or 0.0, seconds, hard=True)
    with tvm.transform.PassContext(), limited, answers() as answered:
        for oracle in oracles:
            asking(oracle.name)
            for violation in oracle.violations(runs):
                return Judgement(True, violation.blame(oracle.name, call.name))
    return Judgement(True, uncompared=any(each.omitted for each in answered.values()))


def _keeps_values(runs: Observed) -> bool:
    """Return whether the result is called like the module, or as the contract says, and must give
    the same values."""
    if runs.contract.relation in UNSEEN or runs.exempt("values"):
        return False
    freed = runs.exemption(interface.SIGNATURE.name)
    # It is undocumented how such a pass changes calls of functions.
    return freed is None or freed.reason != FREED or interface.signature(runs) is None


def fault(running: Running, call: PassCall, contract: PassContract, error: Exception) -> Judgement:
    """Return whether a result was promised, and the violation if the exception is one.

    A rejection is not a violation. The forms of TensorIR that passes over PrimFuncs accept are
    undocumented.
    """
    runs = Observed(running, call, contract, Outcome(error=error))
    if not runs.intact:
        return Judgement(True, _mutation(runs, running))
    promised = keeps_form(contract) and _applies(running, contract)
    for violation in crash.ORACLE.violations(runs):
        return Judgement(promised, violation.blame(crash.ORACLE.name, call.name))
    return Judgement(promised)


def _mutation(runs: PassRuns, running: Running) -> Violation:
    """The violation by a mutation; its place is known only if the input was recorded."""
    found = mutation.ORACLE.violations(runs) if running.state.noted else ()
    violation = found[0] if found else Violation.titled(mutation.WHAT)
    return violation.blame(mutation.ORACLE.name, runs.call.name)


def keeps_form(contract: PassContract) -> bool:
    """Return whether the result of the pass must be well-formed, at least for some modules."""
    form = well_formed.ORACLE.name
    return all(each.oracle != form or each.when is not None for each in contract.exemptions)


def _applies(running: Running, contract: PassContract) -> bool:
    flaw = running.state.flaw if keeps_form(contract) else None
    return flaw is None and contract.requires(running.state.mod) is None
