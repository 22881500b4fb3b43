"""The harness let loose on a pass of the zoo, until it finds something or its budget is used up."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from ...corpus.zoo import Family, Specimen
from ...generators.tvm_api import load_json, versions
from ...oracles.check import ORACLES
from ...oracles.inspect import bindings_of, relax_functions
from ..findings.confirm import again
from ..findings.finding import Finding
from ..findings.store import Store
from ..process.executor import Executor
from ..process.protocol import Target
from .campaign import CampaignConfig
from .campaign import run as campaign
from .events import Event, Fault, Finished, Found
from .triage import Triage

THOROUGH = 20
"""A correct pass gets one module in so many on top that it has to stand all oracles on; else the
dear ones are asked of a sample, as in any campaign."""

REDUCE_SECONDS = 30.0
"""For the one finding of a specimen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How long one specimen is hunted."""

    seed: int
    seconds: float = 60.0
    """For a faulty pass."""
    modules: int = 2000
    """For a correct one, however long they take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """What came of one hunt."""

    specimen: Specimen
    finding: Finding | None
    """The first that came out again in a fresh process; None: nothing was found."""
    modules: int
    """Generated until then."""
    seconds: float
    reproducer: Path | None = None
    unconfirmed: tuple[str, ...] = ()
    """Titles of what did not come out again."""
    faults: tuple[str, ...] = ()
    """What the harness itself did wrong."""
    stopped: bool = False
    """The user ended it before its time."""

    @property
    def right(self) -> bool:
        """A fault was found, or a correct pass was left in peace."""
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

    It stands in the store, reduced. What is blamed on others (TVM's printer, an operator) does not
    count.

    Raises:
        ExecutorError: the workers cannot be kept alive.
    """
    began = time.monotonic()
    unconfirmed: list[str] = []
    faults: list[str] = []
    found: Finding | None = None
    modules = 0
    seconds = 0.0
    with contextlib.closing(_events(specimen, budget, executor, stop)) as events:
        for event in events:
            seconds = time.monotonic() - began
            match event:
                case Found() if event.violation.pass_name == specimen.name:
                    finding = event.finding(versions(), specimen.exempt)
                    if again(executor, finding, finding.module) is not None:
                        modules += event.origin.index + 1
                        found = finding
                        break
                    unconfirmed.append(f"{finding.oracle}: {finding.title}")
                case Fault():
                    faults.append(event.text)
                case Finished():
                    modules += event.modules
    if found is not None:
        found = _reduced(found, executor, store, faults)
    return Detection(
        specimen=specimen,
        finding=found,
        modules=modules,
        seconds=seconds,
        reproducer=None if found is None else store.reproducer(found),
        unconfirmed=tuple(unconfirmed),
        faults=tuple(faults),
        stopped=found is None and stop.is_set(),
    )


def _events(
    specimen: Specimen, budget: Budget, executor: Executor, stop: threading.Event
) -> Generator[Event, None, None]:
    config = CampaignConfig(
        seed=budget.seed,
        targets=(Target(specimen.name, specimen.call, specimen.stages, specimen.exempt),),
        seconds=budget.seconds,
        compositions=False,
    )
    if specimen.family is not Family.CORRECT:
        yield from campaign(config, executor, stop)
        return
    few = max(1, budget.modules // THOROUGH)
    for modules, oracles in ((budget.modules, None), (few, tuple(ORACLES))):
        config = dataclasses.replace(config, seconds=None, modules=modules, oracles=oracles)
        yield from campaign(config, executor, stop)


def _reduced(finding: Finding, executor: Executor, store: Store, faults: list[str]) -> Finding:
    triage = Triage(store, executor, lambda finding: None, seconds=REDUCE_SECONDS)
    triage.add(finding)
    triage.drain(REDUCE_SECONDS, lambda: None)
    faults += triage.faults
    return triage.published[0] if triage.published else finding
