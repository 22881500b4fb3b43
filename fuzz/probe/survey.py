"""The order of the trials: everything a trial needs, apart from its subject, is tried before it."""

from __future__ import annotations

import dataclasses
import queue
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...compat import build, ir
from ...compat.availability import Availability
from ...compat.release import TVMUnsupported
from ...corpus.models import MODELS
from ...generators import idioms
from ...generators.families import DEFAULT, FAMILIES, Family
from ...generators.ops import table
from ...generators.seeds import Piece
from ...generators.stages import STEPS
from ...generators.traits import Trait
from ...oracles.catalogue import catalogue
from ...oracles.pipelines import PIPELINES
from ...oracles.tiers import USUAL
from ..campaign.costs import ORACLES
from ..jobs.trials import RUN, SAMPLES, STRIDE, TrialResult, Try
from ..process import death
from ..process.executor import Executor, ExecutorError
from ..process.protocol import Broken, Died, Ended, Failed, Limits, Reply, Result

ROUNDS = 4
"""Number of jobs for each worker and kind of trial; with more, a death repeats less work."""


SHORT = Limits(step_seconds=5.0)
"""Limits for one trial, which takes milliseconds."""


_STRIDES = {name: max(STRIDE, int(cost.ms)) for name, cost in ORACLES.items()}


class Survey:
    """Runs the trials; the workers must not know any availability, see `LocalPool`."""

    def __init__(
        self,
        executor: Executor,
        progress: Callable[[str], None] = lambda text: None,
        limits: Limits = SHORT,
    ) -> None:
        self._executor = executor
        self._limits = limits
        self._progress = progress
        self.found = Availability(build=build.identity())
        self.pieces: dict[str, tuple[Piece, ...]] = {}
        """The pieces of models, by name."""
        self._samples: tuple[str, ...] = ()
        self._died: set[str] = set()
        """Samples on which a pass of TVM kills the process."""
        self._replies: queue.SimpleQueue[tuple[_Part, Reply | None]] = queue.SimpleQueue()

    def run(self) -> Availability:
        """Find out what works on this TVM.

        Raises:
            TVMUnsupported: nothing can be generated or checked, for the reason in the message.
            ExecutorError: the workers cannot be kept alive, or a trial itself is at fault.
        """
        self._switch_off(nodes=ir.MISSING)
        self._generators()
        for family in FAMILIES.values():
            self.stages(family)
        self._switch_off(pipelines=self.failed("pipeline", list(PIPELINES)))
        self._switch_off(oracles=self.some("oracle", list(USUAL), "no oracle works"))
        self._switch_off(passes=self.some("pass", list(catalogue), "no pass can be checked"))
        self.seeds()
        return self.found

    def _switch_off(self, **more: Mapping[str, str]) -> None:
        known: dict[str, Any] = {
            field: getattr(self.found, field) | dict(names) for field, names in more.items()
        }
        self.found = dataclasses.replace(self.found, **known)

    def _generators(self) -> None:
        failed = self.some("operator alone", list(table), "no module can be generated")
        self._switch_off(ops=failed)
        traits = [trait for trait in Trait if trait is not Trait.IDIOMS]
        self._switch_off(traits=self.failed("trait", traits))
        # The others are patterns of operators, each of which has its own trial.
        names = [idiom.name for idiom in idioms.IDIOMS if idiom.code is not None]
        self._switch_off(idioms=self.failed("idiom", names))
        self._switch_off(ops=self.failed("operator", [n for n in table if n not in failed]))

    def stages(self, family: Family) -> None:
        """Leave out steps until modules get through; a stage that lacks one of its steps is off."""
        steps = [name for stage in family.stages for name in STEPS[stage]]
        self._switch_off(steps=self.failed("step", steps))
        samples = [f"{family.name} {number}" for number in range(SAMPLES)]
        while True:
            ends = self.failed("walk", samples)
            unmade = {sample for sample, why in ends.items() if why.partition(": ")[0] not in steps}
            samples = [each for each in samples if each not in self._died | unmade]
            if unmade and not samples:
                why = f"no module can be generated on this TVM: {ends[min(unmade)]}"
                if family.name == DEFAULT:
                    raise TVMUnsupported(why)
                self._switch_off(stages=dict.fromkeys(family.stages, why))
                return
            ends = {sample: why for sample, why in ends.items() if sample not in unmade}
            if not samples or len(ends) < len(samples):
                break
            # No sample reaches the end, so the last step that stops one is left out.
            last = max(ends.values(), key=lambda why: steps.index(why.partition(": ")[0]))
            self._switch_off(steps={last.partition(": ")[0]: last.partition(": ")[2]})
        self._samples += tuple(samples)
        for stage in family.stages:
            gone = [name for name in STEPS[stage] if name in self.found.steps]
            if gone:
                self._switch_off(stages={stage: f"{gone[0]}: {self.found.steps[gone[0]]}"})

    def seeds(self) -> None:
        """Cut the models."""
        self._switch_off(models=self.failed("model", list(MODELS)))

    def some(self, trial: str, names: Sequence[str], otherwise: str) -> dict[str, str]:
        """Do the same as `failed`, but require at least one trial to succeed."""
        failed = self.failed(trial, names)
        if len(failed) == len(names):
            (why, _), *_ = Counter(failed.values()).most_common(1)
            raise TVMUnsupported(f"{otherwise} on this TVM: {why}")
        return failed

    def failed(self, trial: str, names: Sequence[str]) -> dict[str, str]:
        """The names whose trials fail, with the reasons."""
        failed: dict[str, str] = {}
        size = max(1, -(-len(names) // (ROUNDS * self._executor.workers)))
        parts = [self._submit(trial, names[at : at + size]) for at in range(0, len(names), size)]
        running, done = len(parts), 0
        while running:
            part, reply = self._replies.get()
            match reply:
                case None:
                    part.tried = 0
                case Result(value=TrialResult(name=name, reason=reason, pieces=pieces)):
                    part.tried += 1
                    done += 1
                    if reason is not None:
                        failed[name] = reason
                    if pieces:
                        self.pieces[name] = pieces
                    self._progress(f"trying what works on this TVM: {trial} {done} of {len(names)}")
                case Failed(traceback=text):
                    raise ExecutorError(text)
                case Broken(reason=reason):
                    raise ExecutorError(reason)
                case Died():
                    running -= 1
                    culprit, *rest = part.names[part.tried :]
                    if reply.position is not None and reply.position.step == RUN:
                        self._died.add(culprit)
                        done += 1
                    elif len(part.names) == 1:
                        failed[culprit] = death.violation(reply).title
                        done += 1
                    else:  # an earlier death may be the cause
                        rest, running = rest, running + 1
                        self._submit(trial, [culprit])
                    if rest:
                        running += 1
                        self._submit(trial, rest)
                case Ended():
                    running -= 1
        return {name: failed[name] for name in names if name in failed}

    def _submit(self, trial: str, names: Sequence[str]) -> _Part:
        part = _Part(tuple(names))
        job = Try(
            trial=trial,
            names=part.names,
            availability=self.found,
            samples=self._samples,
            strides=_STRIDES,
        )
        self._executor.submit(
            job, lambda reply: self._replies.put((part, reply)), limits=self._limits
        )
        return part


@dataclasses.dataclass(slots=True, eq=False)
class _Part:
    names: tuple[str, ...]
    tried: int = 0
