"""What is asked of a pass that has run in a build: oracles look at the run that was seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import tvm

from ...oracles.catalogue import catalogue
from ...oracles.contract import Exemption, PassContract, Relation
from ...oracles.oracle import Oracle
from ...oracles.pass_runs import Outcome, PassRuns, same_functions
from ...oracles.passcall import PassCall
from ...oracles.structural import crash, interface, mutation, well_formed
from ...oracles.values import evaluated
from ...oracles.violation import Violation
from .running import Running
from .spelling import TENSOR_IR

KEPT: Mapping[str, tuple[Relation, ...]] = {
    interface.FUNCTIONS.name: interface.SAME_FUNCTIONS,
    interface.SIGNATURE.name: interface.SAME_SIGNATURE,
    interface.ATTRIBUTES.name: (*interface.SAME_SIGNATURE, Relation.LOWERED),
    "values": (Relation.SAME, Relation.LOWERED, Relation.LOOSE),
}
"""Which relations of a contract keep which promise whole; a pass that runs one that does not keep
it inside does not keep it either."""

CHEAP = (well_formed.ORACLE, interface.FUNCTIONS, interface.SIGNATURE, interface.ATTRIBUTES)

UNPROMISED = frozenset({*KEPT, well_formed.ORACLE.name})
"""What nobody promises of passes over PrimFuncs, which change how these are called, and from the
first of which on TensorIR is in forms that its checker does not know; nor of the parts that only a
pass of TVM runs, inside."""


UNSEEN = (Relation.BOUND_PARAMS, Relation.BOUND_SIZES, Relation.LAZY_PARAMS)
"""What the result is to give depends on the arguments of the pass, which cannot be seen."""


class Observed(PassRuns):
    """A run that was seen from outside: it cannot be repeated, and nothing is run to judge it."""

    def __init__(
        self, running: Running, call: PassCall, contract: PassContract, seen: Outcome
    ) -> None:
        super().__init__(
            running.state.mod,
            (call,),
            contract,
            alone=True,
            thorough=True,
            known=running.state,
            seen=seen,
        )
        self._intact = running.state.intact

    @property
    def intact(self) -> bool:
        """The pass has left the module as it was."""
        return self._intact

    @property
    def changed(self) -> bool:
        """The result is not made of the very same functions."""
        after = self.direct.mod
        return after is not None and not same_functions(after, self.mod)


def contract_of(running: Running, own: Mapping[str, PassContract]) -> PassContract:
    """What the user says of the pass, or the catalogue; else what the passes inside it keep."""
    if running.name in own:
        return own[running.name]
    if running.name in catalogue:
        return catalogue[running.name]
    strict = PassContract(name=running.name, variants=lambda choices, mod: None)
    freed = set(running.freed)
    over_kernels = running.name.startswith(TENSOR_IR) or not running.state.has_relax
    if over_kernels or _is_part(running):
        freed |= UNPROMISED
    exemptions = (Exemption(name, "a pass inside does not keep it", "") for name in sorted(freed))
    return replace(strict, exemptions=tuple(exemptions))


def _is_part(running: Running) -> bool:
    """Nobody can run it but the pass of TVM around it, whose result tells."""
    outer = running.outer
    while outer is not None and outer.is_sequential and outer.name not in catalogue:
        outer = outer.outer
    return outer is not None and outer.name in catalogue


def frees(contract: PassContract) -> set[str]:
    """The promises that a pass which runs this one inside does not make either."""
    return {name for name, kept in KEPT.items() if contract.relation not in kept} | {
        exemption.oracle for exemption in contract.exemptions
    }


def judge(
    running: Running,
    call: PassCall,
    contract: PassContract,
    result: tvm.IRModule,
    *,
    semantics: bool,
    idle: bool = False,
) -> tuple[bool, Violation | None]:
    """Whether more was promised than to leave the module alone, and what was broken.

    Args:
        idle: it has done nothing but to run others.
    """
    if idle and running.is_sequential:
        return False, None
    runs = Observed(running, call, contract, Outcome(mod=result))
    if not runs.intact:
        return True, _mutation(runs, running)
    oracles: tuple[Oracle, ...] = () if idle else CHEAP
    if semantics and not idle and contract.relation not in UNSEEN and not runs.exempt("values"):
        oracles += (evaluated.ORACLE,)
    oracles = tuple(oracle for oracle in oracles if not runs.exempt(oracle.name))
    if not oracles or not _applies(running, contract):
        return False, None
    # Evaluation builds modules, which is nobody's business outside.
    with tvm.transform.PassContext():
        for oracle in oracles:
            for violation in oracle.violations(runs):
                return True, violation.blame(oracle.name, call.name)
    return True, None


def fault(
    running: Running, call: PassCall, contract: PassContract, error: Exception
) -> tuple[bool, Violation | None]:
    """Whether a result was promised, and the violation that the exception is, if it was.

    A clean refusal is none. Nobody says which forms of TensorIR a pass over PrimFuncs takes.
    """
    runs = Observed(running, call, contract, Outcome(error=error))
    if not runs.intact:
        return True, _mutation(runs, running)
    promised = keeps_form(contract) and _applies(running, contract)
    for violation in crash.ORACLE.violations(runs):
        return promised, violation.blame(crash.ORACLE.name, call.name)
    return promised, None


def _mutation(runs: PassRuns, running: Running) -> Violation:
    """Which place is changed can only be told where the module was taken down."""
    found = mutation.ORACLE.violations(runs) if running.state.noted else ()
    violation = found[0] if found else Violation.titled(mutation.WHAT)
    return violation.blame(mutation.ORACLE.name, runs.call.name)


def keeps_form(contract: PassContract) -> bool:
    """The result of the pass is to be well-formed."""
    return all(each.oracle != well_formed.ORACLE.name for each in contract.exemptions)


def _applies(running: Running, contract: PassContract) -> bool:
    """The module is one for which the pass promises anything."""
    flaw = running.state.flaw if keeps_form(contract) else None
    return flaw is None and contract.requires(running.state.mod) is None
