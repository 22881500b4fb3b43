"""Results of TVM's own build and of the evaluator for ONNX's node tests, in forks."""

from __future__ import annotations

import ctypes
import enum
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import tvm
from tvm import relax

from relaxfuzz.compat.serialization import load_json
from relaxfuzz.oracles.errors import Mismatch, Undefined, Unsupported
from relaxfuzz.oracles.evaluate import evaluate
from relaxfuzz.oracles.execute import from_numpy, to_numpy
from relaxfuzz.oracles.execute.fork import in_fork
from relaxfuzz.oracles.text.messages import headline

from .node_tests import Imported, disagreements

T = TypeVar("T")
R = TypeVar("R")

SECONDS = 120.0
"""The limit for one fork: hundreds of imports, or one build."""

M_PERTURB = -6
"""malloc.h: option that fills the memory from `malloc` with the complement of a byte."""

LARGE = 0xFF ^ 0x4B
"""The float32 whose four bytes are 0x4B is 13323083."""

BATCH = 24
"""The number of modules to build together: creating a VM takes longer than all other steps."""


class Outcome(enum.Enum):
    """The agreement of a result with ONNX's."""

    SAME = enum.auto()
    OTHER = enum.auto()
    NONE = enum.auto()
    """No result: the evaluator abstains, or the build fails."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The comparison of a result with ONNX's."""

    outcome: Outcome
    why: str = ""
    """The first difference, or the reason for the missing result."""
    places: frozenset[int] = frozenset()
    """The outputs that differ, if there is a result."""

    @property
    def same(self) -> bool:
        """True if the result is ONNX's."""
        return self.outcome is Outcome.SAME

    @classmethod
    def of(cls, actual: Any, one: Imported) -> Verdict:
        """The verdict on a result."""
        wrong = disagreements(actual, one.test)
        if not wrong:
            return cls(Outcome.SAME)
        place, why = next(iter(wrong.items()))
        where = f"output {place}: " if len(one.test.outputs) > 1 else ""
        return cls(Outcome.OTHER, where + why, frozenset(wrong))

    @classmethod
    def failed(cls, error: Exception) -> Verdict:
        """The verdict on an exception instead of a result."""
        return cls(Outcome.NONE, f"{type(error).__name__}: {headline(str(error))}")


def each_in_fork(work: Callable[[T], R], items: Sequence[T]) -> Iterator[R | str]:
    """The result for each item, or the death of its process; the next fork continues after it."""
    start = 0
    while start < len(items):
        rest = items[start:]
        results, end = in_fork(functools.partial(map, work, rest), SECONDS)
        yield from results
        start += len(results)
        if end is not None and start < len(items):
            yield end
            start += 1


def evaluated(one: Imported) -> Verdict:
    """The evaluator's verdict on a test."""
    try:
        return Verdict.of(evaluate(load_json(one.module), "main", one.args), one)
    except (Unsupported, Mismatch, Undefined) as error:
        return Verdict.failed(error)


def built(tests: Sequence[Imported]) -> Iterator[tuple[Imported, Verdict]]:
    """The default build's verdict on each test; if tests built together fail, they are halved."""
    together = [one for one in tests if is_one_function(one)]
    for start in range(0, len(together), BATCH):
        yield from _built(together[start : start + BATCH])
    for one in tests:
        if not is_one_function(one):
            yield from _built([one])


def is_one_function(one: Imported) -> bool:
    """True if the module only has `main`, which may have another name in another module."""
    return len(load_json(one.module).functions) == 1


def _built(tests: Sequence[Imported]) -> Iterator[tuple[Imported, Verdict]]:
    found, end = in_fork(lambda: _verdicts(tests), SECONDS)
    if len(tests) == 1:
        yield tests[0], found[0] if found else Verdict(Outcome.NONE, f"the process died: {end}")
    elif len(found) < len(tests):
        middle = len(tests) // 2
        yield from _built(tests[:middle])
        yield from _built(tests[middle:])
    else:
        for one, verdict in zip(tests, found, strict=True):
            # The verdict on the module alone counts.
            yield from [(one, verdict)] if verdict.same else _built([one])


def _verdicts(tests: Sequence[Imported]) -> Iterator[Verdict]:
    """One verdict for each test; a single one if the build fails."""
    _fill_fresh_memory()
    names = _names(tests)
    try:
        mod = load_json(tests[0].module) if len(tests) == 1 else _together(names, tests)
        machine = relax.VirtualMachine(relax.build(mod, tvm.target.Target("llvm")), tvm.cpu())
    except Exception as error:
        yield Verdict.failed(error)
        return
    for name, one in zip(names, tests, strict=True):
        yield _run(machine[name], one)


def _fill_fresh_memory() -> None:
    """Make unwritten results differ from 0, if the C library is glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_PERTURB, LARGE)


def _run(function: Callable[..., Any], one: Imported) -> Verdict:
    try:
        return Verdict.of(to_numpy(function(*map(from_numpy, one.args))), one)
    except Exception as error:
        return Verdict.failed(error)


def _names(tests: Sequence[Imported]) -> list[str]:
    return ["main"] if len(tests) == 1 else [f"test{number}" for number in range(len(tests))]


def _together(names: Sequence[str], tests: Sequence[Imported]) -> tvm.IRModule:
    """One module with the function of each test."""
    mains = [load_json(one.module)["main"] for one in tests]
    return tvm.IRModule(
        {
            name: main.with_attr("global_symbol", name)
            for name, main in zip(names, mains, strict=True)
        }
    )
