"""`check_pass`: one pass and one module, for users' own tests."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable

import tvm
from tvm.relax.dpl import PatternMatchingRewriter

from ...compat.release import versions
from ...compat.serialization import save_json
from ...oracles import check as oracle_layer
from ...oracles.catalogue import contract_of
from ...oracles.contract import Exemption, PassContract
from ...oracles.grading import decides
from ...oracles.passcall import PassCall, as_pass, parse
from ...oracles.violation import Case, Violation
from ..findings.finding import Finding
from ..jobs.asking import check
from ..jobs.jobs import Check
from ..user_input.unnamed_pass import UnnamedPass
from .pass_violation import PassViolation, brief, explained, pool
from .under_hypothesis import fail, searching, untimed

__all__ = ["PassViolation", "check_pass"]

VALUES = "values"
"""The exemption from all oracles that compare values."""


def check_pass(
    pass_: tvm.transform.Pass | PatternMatchingRewriter | PassCall | str,
    mod: tvm.IRModule,
    *,
    contract: PassContract | None = None,
    oracles: Collection[str] | None = None,
    exempt: Collection[str] = (),
) -> None:
    """Check that a pass keeps its promises on a module.

    A pass object, or a rewriter by patterns, is checked in this process, which it may end. A pass
    by name is checked in a process of its own, where it may crash: "FuseOps",
    "FuseOps(fuse_opt_level=2)", "package.module:Name" or "path/to/file.py:Name" (a pass, or a
    function or class that makes one without arguments).

    Args:
        contract: the promises of the pass; None: those in the catalogue for a pass of this name, or
            all.
        oracles: names of the oracles to run; None: the usual ones.
        exempt: promises that the pass does not make, by the oracle that would ask ("idempotent",
            "functions", ...); "values" for all of those that compare values.

    Raises:
        PassViolation: it broke a promise.
        BadSpelling: the text does not spell a pass.
        ValueError: an oracle or promise is unknown; or a contract with functions of its own would
            have to go to another process.
    """
    __tracebackhide__ = True  # hides this frame in pytest's output
    _named("oracles", oracles or (), oracle_layer.ORACLES)
    _named("exempt", exempt, (*oracle_layer.ORACLES, VALUES))
    chosen = None if oracles is None else tuple(oracles)
    call, silent = called(pass_), tuple(exempt)
    module = save_json(mod)  # before a pass may change it
    with untimed():
        if isinstance(call, UnnamedPass):
            violations = _in_process(call, mod, _relaxed(call, contract, silent), chosen)
        else:
            silent += _exempt(contract)
            job = Check(module=module, calls=(call,), oracles=chosen, exempt=silent)
            violations = check(pool(), job)
    broken = [each for each in violations if decides(each.full_key, oracles or ())]
    if broken:
        finding = Finding(
            violation=broken[0],
            module=module,
            versions=versions(),
            calls=(call,),
            exempt=silent,
        )
        with untimed():
            error = brief(finding) if searching() else explained(finding)
        fail(error, broken[0])


def called(pass_: tvm.transform.Pass | PatternMatchingRewriter | PassCall | str) -> PassCall:
    """Return the pass as a call, for any form in which it is given.

    Raises:
        BadSpelling: the text does not spell a pass.
    """
    if isinstance(pass_, str):
        return parse(pass_)
    made = None if isinstance(pass_, PassCall) else as_pass(pass_)
    return pass_ if made is None else UnnamedPass(f"{made.info.name}()", instance=pass_)


def _named(argument: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"Expected {argument} among {', '.join(known)} but got {name!r}")


def _in_process(
    call: PassCall,
    mod: tvm.IRModule,
    contract: PassContract | None,
    oracles: tuple[str, ...] | None,
) -> list[Violation]:
    besides = oracle_layer.VALUES if oracles is None else ()
    case = Case(mod, (call,))
    return list(
        oracle_layer.check(
            case, oracles=oracles, besides=besides, contract=contract, all_kinds=True
        )
    )


def _relaxed(
    call: PassCall, contract: PassContract | None, exempt: tuple[str, ...]
) -> PassContract | None:
    if not exempt:
        return contract
    contract = contract or contract_of(call)
    exemptions = tuple(Exemption(name, "its author says so", "") for name in exempt)
    return dataclasses.replace(contract, exemptions=contract.exemptions + exemptions)


def _exempt(contract: PassContract | None) -> tuple[str, ...]:
    if contract is None:
        return ()
    defaults = {field.name: field.default for field in dataclasses.fields(PassContract)}
    own = [
        name
        for name in ("requires", "relation", "post", "normal_form", "rejections")
        if getattr(contract, name) != defaults[name]
    ]
    own += [e.oracle for e in contract.exemptions if e.when is not None]
    if own:
        raise ValueError(
            f"The contract of {contract.name!r} has {', '.join(own)} of its own, which cannot go "
            "to another process; check the pass object itself"
        )
    return tuple(exemption.oracle for exemption in contract.exemptions)
