"""`check_pass`: one pass and one module, for tests of one's own."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Collection, Iterable

import psutil
import tvm
from tvm.relax.dpl import PatternMatchingRewriter

from ...compat.release import versions
from ...compat.serialization import save_json
from ...oracles import check as oracle_layer
from ...oracles.composition import contract_of
from ...oracles.contract import Exemption, PassContract
from ...oracles.grades.rule import decides
from ...oracles.passcall import PassCall, as_pass, parse
from ...oracles.violation import Case, Violation
from ..findings.finding import Finding
from ..process.executor import check
from ..process.jobs import Check
from ..process.protocol import Death
from ..user_input.unnamed_pass import UnnamedPass
from .pass_violation import FOLDER, PassViolation, pool
from .under_hypothesis import fail, searching, untimed

__all__ = ["PassViolation", "check_pass"]

VALUES = "values"
"""What is exempt from all oracles that compare values has this exemption."""


def check_pass(
    pass_: tvm.transform.Pass | PatternMatchingRewriter | PassCall | str,
    mod: tvm.IRModule,
    *,
    contract: PassContract | None = None,
    oracles: Collection[str] | None = None,
    exempt: Collection[str] = (),
    isolate: bool = False,
) -> None:
    """Check that a pass keeps its promises on a module.

    A pass object, or a rewriter by patterns, is checked in this process. A pass by name is checked
    in a process of its own, where it may crash: "FuseOps", "FuseOps(fuse_opt_level=2)",
    "package.module:Name" or "path/to/file.py:Name" (a pass, or a function or class that makes one
    without arguments).

    Should a pass object take this process with it, then the next check of the same pass and
    module does not run: it reports the crash, once, from the journal in `.relaxfuzz`.

    Args:
        contract: what the pass promises; None: what the catalogue says of a pass of this name, or
            everything.
        oracles: only these, by name.
        exempt: promises that the pass does not make, by the oracle that would ask ("idempotent",
            "functions", ...); "values" for all of those that compare values.
        isolate: check in a process of its own. It needs a pass by name.

    Raises:
        PassViolation: it broke a promise.
        BadSpelling: the text spells no pass.
        ValueError: an unknown oracle or promise; a pass object, or a contract with functions of
            its own, that is to go to another process.
    """
    __tracebackhide__ = True  # in what pytest shows
    _named("oracles", oracles or (), oracle_layer.ORACLES)
    _named("exempt", exempt, (*oracle_layer.ORACLES, VALUES))
    made = as_pass(pass_)
    if made is not None and isolate:
        raise ValueError(
            f"{made.info.name!r} is a pass object, which cannot go to another process; name it, "
            "or what makes it, as 'package.module:Name'"
        )
    chosen = None if oracles is None else tuple(oracles)
    call, silent = called(pass_), tuple(exempt)
    module = save_json(mod)  # before a pass may change it
    with untimed():
        if isinstance(call, UnnamedPass):
            violations = _in_process(call, mod, module, _relaxed(call, contract, silent), chosen)
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
        fail(PassViolation(finding, brief=searching()), broken[0])


def called(pass_: tvm.transform.Pass | PatternMatchingRewriter | PassCall | str) -> PassCall:
    """The pass as a call, whichever way it is given.

    Raises:
        BadSpelling: the text spells no pass.
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
    module: str,
    contract: PassContract | None,
    oracles: tuple[str, ...] | None,
) -> list[Violation]:
    if (former := _died(call, module)) is not None:
        return [former]
    path = FOLDER / f"check_pass-{os.getpid()}.json"
    FOLDER.mkdir(exist_ok=True)
    path.write_text(
        json.dumps({"pid": os.getpid(), "identity": _identity(call, module), "module": module}),
        encoding="utf-8",
    )
    try:
        besides = oracle_layer.VALUES if oracles is None else ()
        case = Case(mod, (call,))
        return list(
            oracle_layer.check(
                case, oracles=oracles, besides=besides, contract=contract, all_kinds=True
            )
        )
    finally:
        path.unlink(missing_ok=True)


def _relaxed(
    call: PassCall, contract: PassContract | None, exempt: tuple[str, ...]
) -> PassContract | None:
    if not exempt:
        return contract
    contract = contract or contract_of(call)
    exemptions = tuple(Exemption(name, "its author says so", "") for name in exempt)
    return dataclasses.replace(contract, exemptions=contract.exemptions + exemptions)


def _died(call: PassCall, module: str) -> Violation | None:
    """A former process died while it checked just this: its journal is still there."""
    for path in FOLDER.glob("check_pass-*.json"):
        try:
            left = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue  # somebody else's, just being written or removed
        if psutil.pid_exists(left["pid"]) or left["identity"] != _identity(call, module):
            continue
        path.unlink(missing_ok=True)
        return Violation(
            oracle=Death.SIGNAL.value,
            pass_name=call.name,
            title="took the process with it when it was checked last time",
            detail=f"The process {left['pid']} ended while {call.name} was checked on this module. "
            "The next run tries it again.",
            key=(),
        )
    return None


def _identity(call: PassCall, module: str) -> str:
    return hashlib.sha256(f"{call.expr}\n{module}".encode()).hexdigest()


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
