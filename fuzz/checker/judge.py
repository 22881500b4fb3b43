"""The judgement of a pass that has run in a build: oracles look at the observed run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import tvm

from ...oracles import catalogue
from ...oracles.contract import Exemption, PassContract, Relation
from ...oracles.oracle import Oracle
from ...oracles.pass_runs import Outcome, PassRuns, same_functions
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
"""By promise: the relations of a contract that keep it. A pass does not keep it if a pass that it
runs inside does not."""

CHEAP = (well_formed.ORACLE, interface.FUNCTIONS, interface.SIGNATURE, interface.ATTRIBUTES)

INSIDE = frozenset({*KEPT, well_formed.ORACLE.name})
"""Not promised by parts that only a pass of TVM runs inside."""

OVER_KERNELS = INSIDE - {"values"}
"""Not promised by passes over PrimFuncs: they change how PrimFuncs are called, and TensorIR gets
forms that its checker does not know."""

FREED = "a pass inside does not keep it, or no pass over PrimFuncs does"
"""The reason for exemptions that nobody has written."""

UNSEEN = (Relation.BOUND_PARAMS, Relation.BOUND_SIZES, Relation.LAZY_PARAMS)
"""The expected result depends on the arguments of the pass, which cannot be seen."""


class Observed(PassRuns):
    """An observed run: it cannot be repeated, and nothing is run to judge it."""

    def __init__(
        self, running: Running, call: PassCall, contract: PassContract, seen: Outcome
    ) -> None:
        super().__init__(
            running.state.mod,
            (call,),
            contract,
            alone=True,
            # Dozens of passes over PrimFuncs are judged on two kinds of arguments each.
            thorough=not is_over_kernels(running),
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
    """The user's contract of the pass, or the catalogue's, or what the passes inside it keep."""
    if running.name in own:
        return own[running.name]
    if (known := catalogue.contract_of(public_name(running.name) or running.name)) is not None:
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
    """The pass works on PrimFuncs: it is named like one that does, or there is nothing else."""
    return running.name.startswith(TENSOR_IR) or not running.state.has_relax


def _is_part(running: Running) -> bool:
    """Only the pass of TVM around it runs it, and is judged by its own result."""
    outer = running.outer
    while outer is not None and outer.is_sequential and outer.name not in catalogue.catalogue:
        outer = outer.outer
    return outer is not None and outer.name in catalogue.catalogue


def frees(contract: PassContract) -> set[str]:
    """The promises that a pass which runs this one inside does not make either."""
    if contract.universal_only:
        return set(KEPT)
    return {name for name, kept in KEPT.items() if contract.relation not in kept} | {
        exemption.oracle for exemption in contract.exemptions
    }


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of one run of a pass."""

    promised: bool
    """The contract promises more than not to change the input."""
    violation: Violation | None = None
    too_large: bool = False
    """Values of some function were not compared, since NumPy would take too long."""


def judge(
    running: Running,
    call: PassCall,
    contract: PassContract,
    result: tvm.IRModule,
    *,
    semantics: bool,
    idle: bool = False,
) -> Verdict:
    """What the contract promises, and what was violated.

    Args:
        idle: the pass only ran others.
    """
    if idle and running.is_sequential:
        return Verdict(False)
    runs = Observed(running, call, contract, Outcome(mod=result))
    if not runs.intact:
        return Verdict(True, _mutation(runs, running))
    oracles: tuple[Oracle, ...] = () if idle else CHEAP
    if semantics and not idle and _keeps_values(runs):
        oracles += (evaluated.ORACLE,)
    oracles = tuple(oracle for oracle in oracles if oracle.promised(runs))
    if not oracles or not _applies(running, contract):
        return Verdict(False)
    # Evaluation builds modules, which instruments of the user's must not see.
    with tvm.transform.PassContext(), answers() as answered:
        for oracle in oracles:
            asking(oracle.name)
            for violation in oracle.violations(runs):
                return Verdict(True, violation.blame(oracle.name, call.name))
    return Verdict(True, too_large=any(each.omitted for each in answered.values()))


def _keeps_values(runs: Observed) -> bool:
    """The result is called as the module was, or in a way that the contract says, and gives the
    same."""
    if runs.contract.relation in UNSEEN or runs.exempt("values"):
        return False
    freed = runs.exemption(interface.SIGNATURE.name)
    # Into what such a pass changes how functions are called, nobody has written.
    return freed is None or freed.reason != FREED or interface.SIGNATURE.check(runs) is None


def fault(running: Running, call: PassCall, contract: PassContract, error: Exception) -> Verdict:
    """Whether a result was promised, and the violation that the exception is, if it was.

    A rejection is none. It is not documented which forms of TensorIR a pass over PrimFuncs takes.
    """
    runs = Observed(running, call, contract, Outcome(error=error))
    if not runs.intact:
        return Verdict(True, _mutation(runs, running))
    promised = keeps_form(contract) and _applies(running, contract)
    for violation in crash.ORACLE.violations(runs):
        return Verdict(promised, violation.blame(crash.ORACLE.name, call.name))
    return Verdict(promised)


def _mutation(runs: PassRuns, running: Running) -> Violation:
    """The place of the change is known only if the input was recorded."""
    found = mutation.ORACLE.violations(runs) if running.state.noted else ()
    violation = found[0] if found else Violation.titled(mutation.WHAT)
    return violation.blame(mutation.ORACLE.name, runs.call.name)


def keeps_form(contract: PassContract) -> bool:
    """The result of the pass must be well-formed."""
    return all(each.oracle != well_formed.ORACLE.name for each in contract.exemptions)


def _applies(running: Running, contract: PassContract) -> bool:
    flaw = running.state.flaw if keeps_form(contract) else None
    return flaw is None and contract.requires(running.state.mod) is None
