"""A module after each step of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tvm

from .. import pipelines
from ..checkers import flaw
from ..passcall import PassCall
from ..violation import StepJournal

NONE = "none"
"""The pipeline without steps: the module goes to code generation unchanged."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The module after one step; that before the first step has no name."""

    step: str
    mod: tvm.IRModule


@dataclass(frozen=True, slots=True)
class BrokenStep:
    """A step that failed on a module."""

    step: str
    before: tvm.IRModule
    error: Exception | None
    """The exception; None: the step made a module that is not well-formed."""
    after: tvm.IRModule | None


@dataclass(frozen=True, slots=True)
class PipelineStates:
    """The states of a module on its way through a pipeline."""

    states: tuple[Snapshot, ...]
    broken: BrokenStep | None

    @property
    def end(self) -> tvm.IRModule:
        """The last module that was reached."""
        return self.states[-1].mod


def steps_of(pipeline: str) -> list[PassCall]:
    """The steps of a pipeline of TVM's, or one of the user's (`FILE.py:factory`).

    Raises:
        UnknownPipeline: no such pipeline.
        BadSpelling, BadPass: the user's factory cannot be loaded.
    """
    # `zero` ends before the module is lowered: its users continue with `relax.build`.
    names: dict[str, tuple[str, ...]] = {NONE: (), "zero": ("zero", "default")}
    return [step for name in names.get(pipeline, (pipeline,)) for step in pipelines.steps(name)]


def along(mod: tvm.IRModule, calls: Sequence[PassCall], journal: StepJournal) -> PipelineStates:
    """Apply the passes one after the other until one fails.

    An ill-formed result of a step is not a failure if a later step repairs it, since TVM runs all
    steps and only the last result counts.
    """
    states = [Snapshot("", mod)]
    for call in calls:
        journal(call.name)
        before = states[-1].mod
        try:
            after = call.run(before)
        except Exception as error:
            return PipelineStates(tuple(states), BrokenStep(call.name, before, error, None))
        states.append(Snapshot(call.name, after))
    return PipelineStates(tuple(states), _first_flaw(states))


def _first_flaw(states: Sequence[Snapshot]) -> BrokenStep | None:
    """The first step after which the module stays ill-formed to the end."""
    first = None
    for at in range(len(states) - 1, 0, -1):
        if flaw(states[at].mod) is None:
            break
        first = at
    if first is None:
        return None
    return BrokenStep(states[first].step, states[first - 1].mod, None, states[first].mod)
