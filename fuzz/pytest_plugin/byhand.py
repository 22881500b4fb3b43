"""What the fixture `relaxfuzz` does, and the options that its marker takes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tvm

from ...generators.tvm_api import versions
from ..campaign.campaign import CampaignConfig
from ..campaign.runner import CampaignRunner
from ..campaign.triage import Triage
from ..findings.finding import Finding
from ..findings.known import Choice
from ..findings.store import Store
from ..output import failure_text
from ..output.terminal import counted
from ..process.executor import ExecutorError
from ..property_tests.check_pass import called, check_pass
from ..property_tests.pass_violation import pool
from ..user_input.errors import UserError, near, parse_budget
from ..user_input.options import EXEMPT_INSTEAD, Relaxations
from ..user_input.settings import read
from ..user_input.targets import check_names, oracles_of, targets
from ..user_input.unnamed_pass import UnnamedPass
from .options import Settings

RESERVE = 0.25
"""Share of a time budget that is reserved for confirming and reducing findings."""

GRACE = 30.0
"""Seconds for that, if modules are the budget."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a marker, only those that are given."""

    oracles: tuple[str, ...] | None
    relaxations: Mapping[str, Any]
    """By name of a field of `Relaxations`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Marker(Relaxations):
    oracles: tuple[str, ...] | None = None


def options(given: Mapping[str, Any]) -> Options:
    """Read the options of a marker.

    Raises:
        UserError: there is no such option, oracle, stage or pass, or a value has another type.
    """
    names = [field.name for field in dataclasses.fields(_Marker)]
    for name in given:
        if (instead := EXEMPT_INSTEAD.get(name.replace("_", "-"))) is not None:
            raise UserError(f"{name} is now exempt=[{instead!r}]")
        if name not in names:
            raise UserError(f"no option {name!r}{near(name, names)}")
    table = {
        name.replace("_", "-"): list(value) if isinstance(value, tuple | set) else value
        for name, value in given.items()
    }
    marker = read(table, _Marker, "options")
    oracles_of(marker.oracles)
    check_names(marker)
    relaxations = {name: getattr(marker, name) for name in given if name != "oracles"}
    return Options(marker.oracles, relaxations)


def check(
    pass_: tvm.transform.Pass | str,
    mod: tvm.IRModule,
    options: Options | None,
    promises: Relaxations | None,
) -> None:
    """See `RelaxFuzz.check`."""
    __tracebackhide__ = True
    call = called(pass_)
    relaxations = _relaxations(options, promises)
    if relaxations != Relaxations():
        if call.factory is None and not isinstance(call, UnnamedPass):
            raise UserError(
                f"{pass_!r} is a pass of TVM, whose contract is in the catalogue: no option but "
                "oracles can be given for it"
            )
        call = dataclasses.replace(call, like=relaxations.like)
    oracles = None if options is None else options.oracles
    check_pass(call, mod, oracles=oracles, exempt=relaxations.exempt)


class PassViolations(AssertionError):
    """A pass broke promises on generated modules.

    Attributes:
        findings: one for each bug, minimized.
    """

    def __init__(self, text: str, findings: Sequence[Finding]) -> None:
        super().__init__(text)
        self.findings = findings


def fuzz(
    pass_: str,
    settings: Settings,
    options: Options | None,
    promises: Relaxations | None,
    *,
    budget: str | None,
    modules: int | None,
    seed: int,
) -> None:
    """See `RelaxFuzz.fuzz`."""
    __tracebackhide__ = True
    if not isinstance(pass_, str):
        raise UserError(
            f"expected the name of a pass, as 'package.module:Name', but got {pass_!r}: it goes to "
            "another process"
        )
    if budget is None and modules is None:
        raise UserError("expected a budget: relaxfuzz.fuzz(..., budget='10s') or modules=200")
    if modules is not None and modules < 1:
        raise UserError(f"expected at least one module but got modules={modules!r}")
    seconds = None if budget is None else parse_budget(budget, "budget =")
    relaxations = _relaxations(options, promises)
    own = {} if relaxations == Relaxations() else {pass_: relaxations}
    (target,) = targets([pass_], Relaxations(), own)
    expected = Choice(folders=settings.known).load(versions()["tvm"])
    config = CampaignConfig(
        seed=seed,
        targets=(target,),
        seconds=None if seconds is None else seconds * (1 - RESERVE),
        modules=modules,
        oracles=None if options is None else options.oracles,
        compositions=False,
        avoid=expected.triggers((target,)),
    )
    with Store(settings.out) as store:
        found: list[Finding] = []
        triage = Triage(store, pool(), found.append, expected=expected)
        runner = CampaignRunner(config, pool(), triage, command="pytest")
        finished = runner.run()
        triage.drain(GRACE if seconds is None else seconds * RESERVE, lambda: None)
        runner.end()
        texts = [failure_text.whole(each, failure_text.hints(each, store)) for each in found]
    result, tried = runner.result(), counted(finished.modules, "module")
    if found:
        head = f"{counted(len(found), 'bug')} of {target.name} in {tried}"
        raise PassViolations(f"{head}\n\n" + "\n\n\n".join(texts), tuple(found))
    if result.lost is not None:
        raise ExecutorError(result.lost)
    if result.user_errors:
        raise UserError("\n".join(result.user_errors))
    if result.faults:
        raise RuntimeError("\n\n".join(["relaxfuzz itself failed:", *result.faults]))
    if not finished.checks:
        raise UserError(f"{target.name} did not apply to any of {tried}: nothing was checked")


def _relaxations(options: Options | None, promises: Relaxations | None) -> Relaxations:
    """A marker wins over pyproject.toml."""
    general = promises or Relaxations()
    return general if options is None else dataclasses.replace(general, **options.relaxations)
