"""What the fixture `relaxfuzz` returns, and the options that its marker takes."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import tvm

from ...compat.release import versions
from ...oracles.grades.grade import Grade
from ..campaign.campaign import CampaignConfig
from ..campaign.runner import CampaignRunner
from ..campaign.seeds import Seeds
from ..campaign.triage import Triage
from ..findings.dedup import fails
from ..findings.finding import Finding
from ..findings.known import Choice
from ..findings.store import Store
from ..output import failure_text
from ..output.terminal import counted
from ..probe.shipped import seeds_of
from ..property_tests.check_pass import called, check_pass
from ..property_tests.pass_violation import pool
from ..user_input.errors import UserError, near, parse_budget
from ..user_input.options import EXEMPT_INSTEAD, Relaxations
from ..user_input.seeds import pieces_of
from ..user_input.settings import read
from ..user_input.targets import check_names, oracles_of, targets
from ..user_input.unnamed_pass import UnnamedPass
from .options import ITEM, SETTINGS

RESERVE = 0.25
"""Share of a time budget that is reserved for confirming and reducing findings."""

GRACE = 30.0
"""Seconds for that, if modules are the budget."""


@functools.cache
def _seeds(given: tuple[str, ...], share: float) -> tuple[Seeds, ...]:
    """What the campaigns of this process are partly made of."""
    return seeds_of(pool(), Seeds(pieces_of(given, pool()), share))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Marker(Relaxations):
    oracles: tuple[str, ...] | None = None


def options(item: pytest.Item) -> tuple[tuple[str, ...] | None, Mapping[str, Any]]:
    """The oracles of a test's markers, and its relaxations by name of a field of `Relaxations`.

    Raises:
        UserError: there is no such option, oracle, stage or pass, or a value has another type.
    """
    given: dict[str, Any] = {}
    for mark in reversed(list(item.iter_markers("relaxfuzz"))):  # the closest comes first
        if mark.args:
            raise UserError(f"expected options by name but got {mark.args[0]!r}")
        given |= mark.kwargs
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
    return marker.oracles, {name: getattr(marker, name) for name in given if name != "oracles"}


class PassViolations(AssertionError):
    """A pass broke promises on generated modules.

    Attributes:
        findings: one for each bug, minimized.
    """

    def __init__(self, text: str, findings: Sequence[Finding]) -> None:
        super().__init__(text)
        self.findings = findings


class RelaxFuzz:
    """Checks passes in a test, with the options of its marker `relaxfuzz`."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def check(self, pass_: tvm.transform.Pass | str, mod: tvm.IRModule) -> None:
        """Check that a pass keeps its promises on a module; see `relaxfuzz.check_pass`.

        Args:
            pass_: by name, "FuseOps" or "package.module:Name": checked in a process of its own,
                where it may crash. A pass object is checked in this process.

        Raises:
            PassViolation: it broke a promise.
            UserError: there is no such pass, or an option does not apply.
        """
        __tracebackhide__ = True
        call = called(pass_)
        oracles, relaxations = self._options(pass_)
        if relaxations != Relaxations():
            if call.factory is None and not isinstance(call, UnnamedPass):
                raise UserError(
                    f"{pass_!r} is a pass of TVM, whose contract is in the catalogue: no option "
                    "but oracles can be given for it"
                )
            call = dataclasses.replace(call, like=relaxations.like)
        check_pass(call, mod, oracles=oracles, exempt=relaxations.exempt)

    def fuzz(
        self,
        pass_: str,
        *,
        budget: str | None = None,
        modules: int | None = None,
        seed: int = 0,
    ) -> None:
        """Check a pass on generated modules, in processes of its own.

        Known bugs of the installed TVM, and those in folders of --relaxfuzz-known, are no failures.

        Args:
            pass_: "FuseOps" or "package.module:Name".
            budget: a time, "10s" or "2m"; how much is checked then depends on the machine.
            modules: the number of modules. At least one of both is given.
            seed: the same seed gives the same modules.

        Raises:
            PassViolations: the pass broke promises; the message has all bugs, minimized.
            UserError: there is no such pass, an option does not apply, or no module was checked.
        """
        __tracebackhide__ = True
        if not isinstance(pass_, str):
            raise UserError(
                f"expected the name of a pass, as 'package.module:Name', but got {pass_!r}: "
                "it goes to another process"
            )
        if budget is None and modules is None:
            raise UserError("expected a budget: relaxfuzz.fuzz(..., budget='10s') or modules=200")
        if modules is not None and modules < 1:
            raise UserError(f"expected at least one module but got modules={modules!r}")
        seconds = None if budget is None else parse_budget(budget, "budget =")
        oracles, relaxations = self._options(pass_)
        settings = self._config.stash[SETTINGS]
        own = {} if relaxations == Relaxations() else {pass_: relaxations}
        (target,) = targets([pass_], Relaxations(), own)
        expected = Choice(folders=settings.known).load(versions()["tvm"])
        config = CampaignConfig(
            seed=seed,
            targets=(target,),
            seconds=None if seconds is None else seconds * (1 - RESERVE),
            modules=modules,
            oracles=oracles,
            compositions=False,
            is_known=expected.presumes,
            seeds=_seeds(settings.seeds, settings.seed_share),
        )
        with Store(settings.out) as store:
            found: list[Finding] = []
            triage = Triage(store, pool(), found.append, expected=expected)
            runner = CampaignRunner(config, pool(), triage, command="pytest")
            finished = runner.run()
            triage.drain(GRACE if seconds is None else seconds * RESERVE, lambda: None)
            runner.end()
            texts = [failure_text.whole(each, failure_text.hints(each, store)) for each in found]
        tried = counted(finished.modules, "module")
        if fails(found, Grade.C, oracles or ()):
            head = f"{counted(len(found), 'bug')} of {target.name} in {tried}"
            raise PassViolations(f"{head}\n\n" + "\n\n\n".join(texts), tuple(found))
        runner.check()
        if runner.unchecked:
            raise RuntimeError("\n\n".join(["relaxfuzz itself failed:", *runner.unchecked]))
        if not finished.checks:
            raise UserError(f"{target.name} did not apply to any of {tried}: nothing was checked")

    def __repr__(self) -> str:
        return "relaxfuzz"

    def _options(self, pass_: object) -> tuple[tuple[str, ...] | None, Relaxations]:
        """The oracles, and the relaxations of the pass; a marker wins over pyproject.toml."""
        oracles, own = options(self._config.stash[ITEM])
        promises = self._config.stash[SETTINGS].promises
        general = promises.get(pass_) if isinstance(pass_, str) else None
        return oracles, dataclasses.replace(general or Relaxations(), **own)
