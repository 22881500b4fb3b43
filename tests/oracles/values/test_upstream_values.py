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
from relaxfuzz.oracles.expected.inputs import InputKind, drawn
from relaxfuzz.oracles.inspect import public_functions, relax_functions

ROOT = Path(__file__).resolve().parents[3]
ARCHIVE = Path(
    os.environ.get("RELAXFUZZ_UPSTREAM_MODULES")
    or ROOT.parent / "shared" / "upstream_modules.tar.xz"
)
SLICE, START = 16, 2  # in an ordinary run; no module of this slice takes seconds
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
    (InputKind.POSITIVE, None),
    (InputKind.WHOLE, None),
    (InputKind.FRACTION, None),
    (InputKind.BOUNDARY, None),
    (InputKind.POSITIVE, Everywhere(8)),
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
