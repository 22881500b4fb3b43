"""Sequences of passes for a module: in the orders of TVM's pipelines, and in untried ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import tvm

from ...generators import stages
from ...generators.choices import Choices
from ...generators.stages import Stage
from ...oracles import pipelines
from ...oracles.contract import PassContract
from ...oracles.inspect import local_functions
from ...oracles.passcall import PassCall
from . import schedule
from .schedule import ScheduleItem

CHOICES = 64
"""Bytes for the choices of one check; choices beyond them are the simplest ones."""

SequenceJournal = Callable[[tuple[PassCall, ...], str], None]
"""Function that receives the passes so far and the next step."""


def call_of(contract: PassContract, mod: tvm.IRModule, random: Random) -> PassCall | None:
    """The pass with arguments that fit the module; None if it does not apply."""
    if contract.requires(mod) is not None:
        return None
    return contract.choose(Choices(random.randbytes(CHOICES)), mod)


@dataclass(frozen=True, slots=True)
class Sequences:
    """The sequences of a block: functions of its seed and a module's number."""

    seed: int
    passes: Sequence[ScheduleItem]
    contracts: Mapping[str, PassContract]
    """Contracts by name of a pass."""

    def draw(
        self, mod: tvm.IRModule, stage: Stage, index: int, random: Random, journal: SequenceJournal
    ) -> tuple[PassCall, ...]:
        """Draw up to eight passes, each of which applies to the result of the ones before it.

        A pass that raises in its position is the last one, since earlier passes may be the cause.

        Args:
            stage: stage of the module. Passes of a pipeline advance it to later stages, whose
                passes follow.
            index: number of the module.

        Raises:
            MemoryError: a pass was refused memory.
        """
        place = stages.last_step(stage)
        calls: tuple[PassCall, ...] = ()
        for _ in range(random.randint(*schedule.SEQUENCE_LENGTHS)):
            call = self._in_pipeline(mod, place, calls, random, journal)
            call = call or self._in_turn(mod, stage, index, calls, random, journal)
            if call is None:
                break
            calls = (*calls, call)
            if call in pipelines.following(place):
                place = call.name
                stage = next(
                    (s for s in stages.chain(stage) if stages.last_step(s) == place), stage
                )
            journal(calls, "sequence")
            try:
                mod = call.run(mod)
            except MemoryError:
                raise
            except Exception:
                break
        return calls

    def _in_pipeline(
        self,
        mod: tvm.IRModule,
        place: str | None,
        calls: tuple[PassCall, ...],
        random: Random,
        journal: SequenceJournal,
    ) -> PassCall | None:
        """In half of the cases, a pass that comes later in a pipeline, directly or not."""
        if random.random() >= schedule.IN_PIPELINES:
            return None
        names = {item.name for item in self.passes}
        following = (pipelines.LIFTS,) if local_functions(mod) else pipelines.following(place)
        for call in random.sample(following, len(following)):
            journal(calls, f"requires {call.name}")
            if call.name in names and self.contracts[call.name].requires(mod) is None:
                return call
        return None

    def _in_turn(
        self,
        mod: tvm.IRModule,
        stage: Stage,
        index: int,
        calls: tuple[PassCall, ...],
        random: Random,
        journal: SequenceJournal,
    ) -> PassCall | None:
        """The pass of this stage whose turn it is after the last pass; the first pass is drawn."""
        here = {item.name: item.share for item in self.passes if stage in item.stages}
        if not here:
            return None
        if calls:
            order = schedule.in_turn(list(here), calls[-1].name, index, self.seed)
        else:
            order = random.choices(list(here), list(here.values()), k=schedule.TRIES)
        for name in order[: schedule.TRIES]:
            journal(calls, f"requires {name}")
            if (call := call_of(self.contracts[name], mod, random)) is not None:
                return call
        return None
