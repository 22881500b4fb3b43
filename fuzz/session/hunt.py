"""A campaign on one pass of the zoo, until a finding is confirmed or the budget is used up."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...compat.serialization import load_json
from ...corpus.zoo import Family, Specimen
from ...oracles.grades.rule import decides
from ...oracles.inspect import bindings_of, relax_functions
from ...oracles.tiers import USUAL
from ..campaign.campaign import CampaignConfig
from ..campaign.events import Event, Found
from ..campaign.runner import CampaignRunner
from ..campaign.triage import Triage
from ..findings.finding import Finding
from ..findings.store import Store
from ..process.executor import Executor, ExecutorError
from ..process.targets import Target
from ..user_input.named import names_of

THOROUGH = 20
"""A correct pass is also checked by all oracles, on one module in so many; as in any campaign, the
expensive ones are otherwise sampled."""

REDUCE_SECONDS = 30.0
"""To reduce the one finding of a specimen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Of the campaign on one specimen."""

    seed: int
    seconds: float = 60.0
    """For a faulty pass."""
    modules: int = 2000
    """For a correct one, however long they take."""
    whole: bool = False
    """A faulty pass is fuzzed to the end of its time, not only until something is found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """The result of one hunt."""

    specimen: Specimen
    finding: Finding | None
    """The first that failed again in a fresh process; None: nothing was found."""
    modules: int
    """Generated until then."""
    seconds: float
    reproducer: Path | None = None
    rows: int = 0
    """Bugs that were reported of the pass; more than one only if the whole budget was used."""
    unconfirmed: tuple[str, ...] = ()
    """Oracles and titles of what did not fail again."""
    faults: tuple[str, ...] = ()
    """Errors of the harness itself."""
    stopped: bool = False
    """The user interrupted it."""

    @property
    def right(self) -> bool:
        """A faulty pass was found, or nothing was reported of a correct one."""
        return (self.finding is None) == (self.specimen.family is Family.CORRECT)

    @property
    def bindings(self) -> int | None:
        """Of the Relax functions of the reduced module."""
        if self.finding is None:
            return None
        mod = load_json(self.finding.module)
        return sum(len(bindings_of(func)) for _, func in relax_functions(mod))


def hunt(
    specimen: Specimen, budget: Budget, executor: Executor, store: Store, stop: threading.Event
) -> Detection:
    """Let the harness find out whether a pass is faulty; the first confirmed finding ends it.

    With `Budget.whole`, only the budget does. The finding is in the store, reduced. Violations that
    blame something else (TVM's printer, an operator) do not count.

    Raises:
        ExecutorError: the workers cannot be kept alive.
    """
    return _Hunt(specimen, budget, executor, store, stop).run()


def _target(specimen: Specimen) -> Target:
    call = specimen.call
    return Target(specimen.name, call, specimen.stages, specimen.exempt, names_of(call))


@dataclass
class _Hunt:
    specimen: Specimen
    budget: Budget
    executor: Executor
    store: Store
    stop: threading.Event
    end: threading.Event = field(default_factory=threading.Event)
    """The user wants to stop, or a finding is confirmed."""
    confirmed: Finding | None = None
    modules: int = 0
    index: int = 0
    """Of the module of the violation that is being confirmed."""
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.triage = Triage(self.store, self.executor, confirmed=self._on_confirmed)
        self.began = time.monotonic()

    def run(self) -> Detection:
        faults: list[str] = []
        try:
            for config in self._configs():
                if not self.end.is_set():
                    faults += self._fuzz(config)
        finally:
            self.triage.drain(REDUCE_SECONDS, lambda: None)
        found = self.confirmed
        if found is not None:
            found = next(iter(self.triage.published), found)
        return Detection(
            specimen=self.specimen,
            finding=found,
            modules=self.modules,
            seconds=self.seconds,
            reproducer=None if found is None else self.store.reproducer(found),
            rows=len({self.store.rows.of(each.id) for each in self.triage.published}),
            unconfirmed=tuple(f"{each.oracle}: {each.title}" for each in self.triage.unconfirmed),
            faults=(*faults, *self.triage.faults),
            stopped=found is None and self.stop.is_set(),
        )

    def _configs(self) -> Iterator[CampaignConfig]:
        specimen, budget = self.specimen, self.budget
        config = CampaignConfig(
            seed=budget.seed,
            targets=(_target(specimen),),
            seconds=budget.seconds,
            compositions=False,
        )
        if specimen.family is not Family.CORRECT:
            yield config
            return
        few = max(1, budget.modules // THOROUGH)
        for modules, oracles in ((budget.modules, None), (few, USUAL)):
            yield dataclasses.replace(config, seconds=None, modules=modules, oracles=oracles)

    def _fuzz(self, config: CampaignConfig) -> list[str]:
        runner = CampaignRunner(
            config,
            self.executor,
            self.triage,
            stop=self.end,
            listen=self._listen,
            accept=self._accept,
        )
        finished = runner.run()
        if runner.lost is not None:
            raise ExecutorError(runner.lost)
        if self.confirmed is None:
            self.modules += finished.modules
        return runner.faults

    def _accept(self, finding: Finding) -> bool:
        if finding.pass_name != self.specimen.name or self.end.is_set():
            return False
        if not decides(finding.violation.full_key):  # a hint may be of a correct pass
            return False
        assert finding.index is not None, "a campaign found it"
        self.index = finding.index
        return True

    def _listen(self, event: Event) -> None:
        """The campaign waits for each confirmation, so that a seed gives the same detection."""
        while True:
            if self.stop.is_set():
                self.end.set()
            if self.confirmed is None:
                self.seconds = time.monotonic() - self.began
            confirmed = self.budget.whole or not self.triage.pending
            if not isinstance(event, Found) or confirmed or self.end.is_set():
                return
            self.end.wait(0.01)

    def _on_confirmed(self, finding: Finding) -> None:
        if self.confirmed is None:
            self.modules += self.index + 1
            self.confirmed = finding
            if not self.budget.whole:
                self.end.set()
