"""What the drill takes away from TVM: a sample of all that relaxfuzz uses."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import tvm_ffi

from relaxfuzz.generators.ops import table
from relaxfuzz.generators.stages import MODULES, STEPS, pass_of
from relaxfuzz.oracles.catalogue import catalogue

from .used import resolve, used

SEED = 0
FOLDER = Path(__file__).parent
FAULTY = ("NewMutating", "NewCrashing")


@dataclass(frozen=True, slots=True)
class Case:
    """A change of TVM."""

    name: str
    changes: tuple[str, ...]
    """Lines of RELAXFUZZ_DRIFT."""
    missed: tuple[str, ...]
    """What must be named."""
    vital: bool = False
    """Perhaps nothing can do without it: one sentence that names it, and exit code 2, is right."""
    faulty: tuple[str, ...] = ()
    """New passes of which a fault must be found."""

    def __str__(self) -> str:
        return self.name


def together(name: str, cases: Iterable[Case]) -> Case:
    """All changes at once."""
    cases = tuple(cases)
    changes = tuple(change for case in cases for change in case.changes)
    return Case(name, changes, tuple(name for case in cases for name in case.missed))


@cache
def ops() -> tuple[Case, ...]:
    """20 without a function, 6 whose function finds nothing in TVM's library, 4 unregistered."""
    functions = sorted(name for name in table if resolve(f"tvm.relax.op.{name}") is not None)
    in_library = {name: found for name in functions if (found := _in_library(name))}
    chosen = _sample("ops", functions, 30)
    cases = []
    for number, name in enumerate(chosen):
        change = f"remove tvm.relax.op.{name}"
        if number % 5 == 4 and name in in_library:
            change = f"remove {in_library[name]}"
        elif number % 7 == 6:
            change = f"unregister relax.{name}"
        cases.append(Case(f"op {name}, {change.split()[0]}", (change,), (name,)))
    return tuple(cases)


@cache
def passes() -> tuple[Case, ...]:
    """10, some of which are there but cannot be constructed."""
    steps = {pass_of(name) for names in STEPS.values() for name in names}
    names = (name for name in catalogue if name not in steps)
    public = sorted(name for name in names if resolve(_pass(name)) is not None)
    cases = []
    for number, name in enumerate(_sample("passes", public, 10)):
        late = f"tvm.relax.transform._ffi_api.{name}"
        found = number % 2 == 1 and resolve(late) is not None
        change = f"remove {late if found else _pass(name)}"
        cases.append(Case(f"pass {name}, {'late' if found else 'gone'}", (change,), (name,)))
    return tuple(cases)


@cache
def steps() -> tuple[Case, ...]:
    """5 passes that take a module from one stage to the next."""
    names = sorted(pass_of(name) for names in STEPS.values() for name in names)
    return tuple(
        Case(f"step {name}", (f"remove {_pass(name)}",), (name,))
        for name in _sample("steps", names, 5)
    )


@cache
def classes() -> tuple[Case, ...]:
    """6 classes, each second of which has another name."""
    nodes = sorted(map(_full, _nodes()))
    return tuple(
        Case(f"class {name}", (_removed(name, number),), (name.rpartition(".")[2],), vital=True)
        for number, name in enumerate(_sample("classes", nodes, 6))
    )


@cache
def fields() -> tuple[Case, ...]:
    """4 fields, each second of which has another name."""
    asked = used().attributes
    owned = sorted(
        f"{_full(each)}.{field}"
        for each in _nodes()
        for field, value in vars(each).items()
        if isinstance(value, tvm_ffi.core.FFIProperty) and field in asked
    )
    return tuple(
        Case(
            f"field {name}", (_removed(name, number),), (f".{name.rpartition('.')[2]}",), vital=True
        )
        for number, name in enumerate(_sample("fields", owned, 4))
    )


@cache
def signatures() -> tuple[Case, ...]:
    """A parameter of an operator, of a pass and of a class has another name."""
    calls = sorted(used().keywords)
    kinds = {
        "op": [each for each in calls if each[0].startswith("tvm.relax.op.")],
        "pass": [
            each for each in calls if each[0].removeprefix("tvm.relax.transform.") in catalogue
        ],
        "class": [each for each in calls if _is_node(resolve(each[0]))],
    }
    cases = []
    for kind, found in kinds.items():
        ((name, keyword),) = _sample(f"{kind} keywords", found, 1)
        last = name.rpartition(".")[2]
        change = f"keyword {name} {keyword} {keyword}_"
        cases.append(Case(f"keyword {last}({keyword})", (change,), (last,), vital=kind == "class"))
    return tuple(cases)


@cache
def additions() -> tuple[Case, ...]:
    """An operator and passes that are new; faults of the passes must be found."""
    files = (FOLDER / name for name in ("new_op.py", "new_passes.py"))
    return (
        Case("additions", tuple(f"add {file}" for file in files), ("brand_new",), faulty=FAULTY),
    )


KINDS: Mapping[str, tuple[Callable[[], tuple[Case, ...]], int]] = {
    "op": (ops, 30),
    "pass": (passes, 10),
    "step": (steps, 5),
    "class": (classes, 6),
    "field": (fields, 4),
    "signature": (signatures, 3),
    "addition": (additions, 1),
}
"""What makes the cases of each kind, which takes some seconds, and how many there are."""


def case(kind: str, number: int) -> Case:
    """One case."""
    made, count = KINDS[kind]
    assert len(made()) == count, kind
    return made()[number]


def _sample(what: str, population: Sequence[Any], count: int) -> list[Any]:
    return random.Random(f"{what} {SEED}").sample(population, count)


def _pass(name: str) -> str:
    family, _, short = name.rpartition(".")
    return f"tvm.{MODULES.get(family, 'relax.transform')}.{short}"


def _full(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _nodes() -> set[type]:
    return set(filter(_is_node, map(resolve, used().names)))


def _is_node(value: object) -> bool:
    return (
        isinstance(value, type)
        and issubclass(value, tvm_ffi.Object)
        and value.__module__.startswith("tvm.")
    )


def _removed(name: str, number: int) -> str:
    return f"rename {name} {name.rpartition('.')[2]}Anew" if number % 2 else f"remove {name}"


def _in_library(name: str) -> str | None:
    """The function of TVM's library that an operator's Python function calls."""
    function = resolve(f"tvm.relax.op.{name}")
    code = getattr(function, "__code__", None)
    if code is None or "_ffi_api" not in code.co_names:
        return None
    ffi = vars(sys.modules[function.__module__])["_ffi_api"]
    called = [each for each in code.co_names if each in vars(ffi)]
    return f"{ffi.__name__}.{called[-1]}" if called else None
