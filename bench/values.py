"""Modules evaluated as in tier 3, and executed in the naive way."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

import tvm

from relaxfuzz.fuzz.jobs.draw import entropy, example
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.execute import from_numpy, to_numpy
from relaxfuzz.oracles.expected.inputs import InputKind, drawn
from relaxfuzz.oracles.inspect import public_functions
from relaxfuzz.oracles.pass_runs import PassRuns
from relaxfuzz.oracles.values.evaluated import evaluated as tier_3
from relaxfuzz.oracles.values.sides import sides

from .forks import Report, cpu_of_all, until
from .naive import compare, machine, some_calls


@dataclass(frozen=True, slots=True)
class Rates:
    """Modules per CPU second, without generation."""

    modules: int
    cold: float
    """The rate in the first run. PrimFuncs translated or compiled for one module are reused by the
    next."""
    warm: float
    """The rate in the second run of each module."""


def evaluated(seed: int, seconds: float) -> Rates:
    """Two modules for a pass that changes something: before and after, by the oracle of tier 3."""

    def each(mod: tvm.IRModule, index: int) -> Iterator[tuple[float, float]]:
        for call in some_calls(mod, Random(entropy("values", seed, index))):
            seconds = []
            for _ in range(2):
                runs = PassRuns(mod, (call,), catalogue[call.name])
                if runs.direct.mod is None or not runs.changed:
                    break
                seconds.append(_cpu(functools.partial(tier_3, runs)))
            # Results that cannot be compared cost nothing.
            if len(seconds) == 2 and next(sides(runs), None) is not None:
                yield seconds[0] / 2, seconds[1] / 2

    return _rates(each, seed, seconds, per_check=2)


def naively_executed(seed: int, seconds: float) -> Rates:
    """The same modules with `relax.build` and `relax.VirtualMachine`; two runs are compared."""

    def each(mod: tvm.IRModule, index: int) -> Iterator[tuple[float, float]]:
        def once() -> None:
            built = machine(mod)
            for gvar, func in public_functions(mod):
                args = [from_numpy(arg) for arg in drawn(func, InputKind.WHOLE)]
                one, other = (to_numpy(built[gvar.name_hint](*args)) for _ in range(2))
                compare(one, other)

        yield _cpu(once), _cpu(once)

    return _rates(each, seed, seconds)


def _rates(
    each: Callable[[tvm.IRModule, int], Iterator[tuple[float, float]]],
    seed: int,
    seconds: float,
    per_check: int = 1,
) -> Rates:
    """The rates, from the cold and warm CPU seconds that the function yields for each module."""

    def work(report: Report, start: int) -> None:
        strategy = ir_modules()
        begin = cpu_of_all()
        for index in itertools.count(start):
            report(("module", index))
            mod = example(strategy, seed, index)
            with contextlib.suppress(Exception):
                for pair in each(mod, index):
                    report(("check", pair))
            if cpu_of_all() - begin > seconds:
                return

    pairs, _ = until(work, seconds)
    cold, warm = (sum(column) for column in zip(*pairs, strict=True)) if pairs else (0.0, 0.0)
    count = len(pairs)
    return Rates(count * per_check, count / cold if cold else 0.0, count / warm if warm else 0.0)


def _cpu(work: Callable[[], object]) -> float:
    begin = cpu_of_all()
    work()
    return cpu_of_all() - begin
