"""Real modules: nearly all of them are evaluated, and the VM gives the same values."""

from __future__ import annotations

import collections
import functools
import io
import os
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tvm

from relaxfuzz.compat.serialization import load_json
from relaxfuzz.oracles.errors import Mismatch, TooLarge, Undefined, Unsupported
from relaxfuzz.oracles.evaluate import Evaluator
from relaxfuzz.oracles.evaluate.poison import fresh
from relaxfuzz.oracles.execute import Failure, execute
from relaxfuzz.oracles.inspect import public_functions, relax_functions
from relaxfuzz.oracles.values.comparison import difference, leaves, perturbed
from relaxfuzz.oracles.values.inputs import Kind, drawn

ROOT = Path(__file__).resolve().parents[3]
ARCHIVE = Path(
    os.environ.get("RELAXFUZZ_UPSTREAM_MODULES")
    or ROOT.parent / "shared" / "upstream_modules.tar.xz"
)
SLICE, START = 16, 2  # in an ordinary run; no module of this slice takes seconds
BATCHES = 8  # of the modules that the VM runs

SHARE = 0.9
"""Of the modules, those that are evaluated; the others need what no CPU or no library here has."""


class Everywhere(dict[str, int]):
    """One size for every symbolic dimension."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size

    def __contains__(self, name: object) -> bool:
        return True

    def __getitem__(self, name: str) -> int:
        return self._size

    def __bool__(self) -> bool:
        return True


DRAWS = (
    (Kind.POSITIVE, None),
    (Kind.WHOLE, None),
    (Kind.FRACTION, None),
    (Kind.BOUNDARY, None),
    (Kind.POSITIVE, Everywhere(8)),
)
"""What arguments are tried until some are such as the function is defined for."""


@dataclass(frozen=True, slots=True)
class Call:
    """A function, arguments that it is defined for, and what it gives."""

    function: str
    args: list[Any]
    result: Any


@functools.cache
def texts() -> tuple[tuple[str, str], ...]:
    if not ARCHIVE.exists():
        pytest.skip(f"no archive of real modules at {ARCHIVE}")
    found = []
    with tarfile.open(fileobj=io.BytesIO(ARCHIVE.read_bytes()), mode="r:xz") as archive:
        for member in archive.getmembers():
            path = Path(member.name)
            file = archive.extractfile(member) if path.suffix == ".json" else None
            if file is not None and path.name != "index.json":
                found.append((path.stem, file.read().decode()))
    return tuple(sorted(found))


def modules(every: int = 1, start: int = 0) -> Iterator[tuple[str, tvm.IRModule]]:
    """The well-formed ones with Relax functions."""
    for name, text in texts()[start::every]:
        try:
            mod = load_json(text)
        except AttributeError as error:
            if "is not registered" not in str(error):
                raise
            continue  # uses an op that only a test of TVM defines
        if next(relax_functions(mod), None) is not None and tvm.relax.analysis.check_well_formed(
            mod
        ):
            yield name, mod


def calls(mod: tvm.IRModule) -> list[Call]:
    """A call of each public function; of each function, where none is public."""
    found = []
    for gvar, func in list(public_functions(mod)) or list(relax_functions(mod)):
        errors: list[Exception] = []
        for kind, sizes in DRAWS:
            try:
                args = drawn(func, kind, sizes=sizes)
                result = Evaluator(mod).run(str(gvar.name_hint), args)
            except (Unsupported, Mismatch, Undefined) as error:
                errors.append(error)
                continue
            found.append(Call(str(gvar.name_hint), args, result))
            break
        else:
            raise errors[0]
    return found


def verdict(mod: tvm.IRModule) -> str:
    try:
        calls(mod)
    except TooLarge:
        return "too large"
    except (Unsupported, Mismatch, Undefined) as error:
        return f"{type(error).__name__}: {error}"
    return "evaluated"


def check_share(mods: Sequence[tvm.IRModule]) -> None:
    verdicts = collections.Counter(map(verdict, mods))
    judged = len(mods) - verdicts["too large"]
    assert judged > 0
    assert verdicts["evaluated"] >= SHARE * judged, "\n".join(
        f"{count} {text}" for text, count in verdicts.most_common()
    )


def test_a_sample_is_evaluated() -> None:
    check_share([mod for _, mod in modules(SLICE, START)])


@pytest.mark.slow
def test_real_modules_are_evaluated() -> None:
    check_share([mod for _, mod in modules()])


KNOWN = {
    "fe56d7476b31e630": "dynamic_strided_slice of a begin past the end has a negative size",
    "88dedf4c24ee6cb2": "dynamic_strided_slice of a begin past the end has a negative size",
    "eb7151fa0c023c1a": "bytecode cannot call a Relax function that gives an empty tuple",
    "dee576942d361e86": "a parameter must be on the second device, arguments are on the first",
    "7383d094b76e0e7c": "a parameter must be on the second device, arguments are on the first",
    "6026a2c8497802aa": "copies to a GPU",
}
"""Modules for which the VM gives something else, and why."""


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_the_vm_gives_the_same(batch: int) -> None:
    wrong = {}
    for name, mod in modules(BATCHES, batch):
        text = disagreement(mod)
        if text is not None and name not in KNOWN:
            wrong[name] = text
    assert not wrong


def disagreement(mod: tvm.IRModule) -> str | None:
    """Where evaluator and VM differ; also None where one of them has no result."""
    public = {str(gvar.name_hint) for gvar, _ in public_functions(mod)}
    try:
        chosen = [call for call in calls(mod) if call.function in public]
    except (Unsupported, Mismatch, Undefined):
        return None
    plans = [lambda run, call=call: run(call.function, call.args) for call in chosen]
    values = execute(mod, plans)
    if not isinstance(values, list):
        return None
    for call, value in zip(chosen, values, strict=True):
        if any(callable(leaf) or fresh(leaf) for _, leaf in leaves(call.result)):
            continue  # a function, or memory that nobody wrote to
        if isinstance(value, Failure):
            return f"{call.function} raises {value.error}: {value.text}"
        shaken = [
            Evaluator(mod, perturb=lambda value, phase=phase: perturbed(value, phase)).run(
                call.function, call.args
            )
            for phase in (0, 1)
        ]
        wrong = difference(call.result, value, shaken)
        if wrong is not None:
            return f"{call.function}: {wrong}"
    return None
