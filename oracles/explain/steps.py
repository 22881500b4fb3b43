"""A module after each step of a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import tvm

from .. import pipelines
from ..passcall import BadPass, PassCall, parse
from ..structural.checkers import flaw
from ..violation import Journal

NONE = "none"
"""The pipeline without steps: the module goes to code generation as it is."""

PIPELINES = (*pipelines.PIPELINES, NONE)


@dataclass(frozen=True, slots=True)
class State:
    """The module after one step."""

    step: str
    mod: tvm.IRModule


@dataclass(frozen=True, slots=True)
class Broken:
    """The step that a module did not survive."""

    step: str
    before: tvm.IRModule
    error: Exception | None
    """None: it gave a module that is not well-formed."""
    after: tvm.IRModule | None
    again: Callable[[tvm.IRModule], tvm.IRModule] | None
    """Applies the step by itself; None where it cannot be had."""


@dataclass(frozen=True, slots=True)
class Walk:
    """What a pipeline made of a module."""

    states: tuple[State, ...]
    broken: Broken | None

    @property
    def end(self) -> tvm.IRModule:
        """The last module that was reached."""
        return self.states[-1].mod


INPUT = ""
"""The step of the state before the first one."""


def walk(mod: tvm.IRModule, pipeline: str, journal: Journal) -> Walk:
    """Take the module through a pipeline of TVM's, or one of the user's (`FILE.py:factory`).

    It goes on after a step whose result is ill-formed only in what a later step repairs: TVM runs
    them all, and so what the last one gives counts.

    Raises:
        UnknownPipeline: no such pipeline.
        BadSpelling, BadPass: the user's factory cannot be had.
    """
    calls = calls_of_pipeline(pipeline)
    if calls is None:
        return _observed(mod, parse(pipeline), journal)
    return along(mod, calls, journal)


def calls_of_pipeline(pipeline: str) -> list[PassCall] | None:
    """The steps of a pipeline; None: it is the user's own."""
    if ":" in pipeline:
        return None
    # `zero` ends before the module is lowered: its users go on with `relax.build`.
    names: dict[str, tuple[str, ...]] = {NONE: (), "zero": ("zero", "default")}
    return [step for name in names.get(pipeline, (pipeline,)) for step in pipelines.steps(name)]


def along(mod: tvm.IRModule, calls: Sequence[PassCall], journal: Journal) -> Walk:
    """Apply the passes one after the other until one fails."""
    states = [State(INPUT, mod)]
    for call in calls:
        journal(call.name)
        before = states[-1].mod
        try:
            after = call.run(before)
        except Exception as error:
            return Walk(tuple(states), Broken(call.name, before, error, None, call.run))
        states.append(State(call.name, after))
    return Walk(tuple(states), _first_flaw(states, calls))


def _first_flaw(states: Sequence[State], calls: Sequence[PassCall]) -> Broken | None:
    """The step since which the module is ill-formed, to the end."""
    first = None
    for at in range(len(states) - 1, 0, -1):
        if flaw(states[at].mod) is None:
            break
        first = at
    if first is None:
        return None
    again = calls[first - 1].run if calls else None
    before, after = states[first - 1].mod, states[first].mod
    return Broken(states[first].step, before, None, after, again)


def _observed(mod: tvm.IRModule, call: PassCall, journal: Journal) -> Walk:
    pipeline = call.build()
    states = [State(INPUT, mod)]
    begun: list[str] = []

    def begin(name: str) -> None:
        begun.append(name)
        journal(name)

    def finish(name: str, mod: tvm.IRModule) -> None:
        begun.remove(name)
        states.append(State(name, mod))

    journal(call.name)
    try:
        end = pipelines.observe(pipeline, mod, begin=begin, end=finish, config=call.config)
    except Exception as error:
        step = next(iter(begun), call.name)
        return Walk(tuple(states), Broken(step, states[-1].mod, error, None, None))
    if not isinstance(end, tvm.IRModule):
        raise BadPass(f"Expected {call} to give an IRModule but got {end!r}")
    if len(states) == 1 or not states[-1].mod.same_as(end):
        states.append(State(call.name, end))
    return Walk(tuple(states), _first_flaw(states, ()))
