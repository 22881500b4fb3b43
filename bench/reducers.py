"""`make bench-minimize`: the minimizer beside a text reducer, on the same modules and predicate.

The predicate is the trigger of a pass that loses one operator if another one feeds it: a call of
the one with a result of the other. The text reducer is picire's delta debugging, over the lines of
the module's TVMScript, then over the words of the rest, until its time is up.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import mmap
import os
import re
import signal
import tarfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import tvm
from rich.console import Console
from rich.table import Table
from tvm import relax

from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.fuzz.minimize.search import minimize
from relaxfuzz.generators.modules import BINDING, FUNCTION_HEADER, HEADER, SPECIAL, build
from relaxfuzz.generators.ops import table as operators
from relaxfuzz.generators.traits import Trait
from relaxfuzz.oracles.checkers import flaw
from relaxfuzz.oracles.inspect import bindings_of, op_name

BINDINGS = 1000
LARGEST = 10
PARSE_SECONDS = 20


@dataclasses.dataclass(frozen=True, slots=True)
class Fed:
    """True if a module contains a call of `consumer` with a result of `producer`."""

    producer: str
    consumer: str

    def __call__(self, mod: tvm.IRModule) -> bool:
        """The predicate."""
        return (self.producer, self.consumer) in pairs(mod)


def pairs(mod: tvm.IRModule) -> Counter[tuple[str, str]]:
    """The number of uses of one operator's result as an argument of another, by both names."""
    bindings = bindings_of(mod)
    made = {hash(b.var): name for b in bindings if (name := op_name(b.value)) is not None}
    return Counter(
        (made[hash(arg)], name)
        for binding in bindings
        if (name := op_name(binding.value)) is not None
        for arg in binding.value.args
        if isinstance(arg, relax.Var) and hash(arg) in made
    )


def rarest(mod: tvm.IRModule) -> Fed | None:
    """The rarest pair, the first by name among equals; None if there are no pairs."""
    found = pairs(mod)
    return Fed(*min(found, key=lambda pair: (found[pair], pair))) if found else None


def generated(bindings: int, seed: int) -> tvm.IRModule:
    """A module of one function, from the campaign's generator: a draw gives one or two bindings."""
    random = Random(seed)
    body = [random.randbytes(BINDING) for _ in range(bindings)]
    draws = (
        random.randbytes(HEADER),
        random.randbytes(SPECIAL),
        [(random.randbytes(FUNCTION_HEADER), body)],
    )
    left_out = frozenset({Trait.SEVERAL_FUNCTIONS})
    return build(draws, frozenset(), left_out, tuple(operators.values()))


def largest(archive: Path) -> list[tuple[str, tvm.IRModule]]:
    """The largest modules of an archive in which one operator feeds another, by their JSON."""
    found: list[tuple[str, tvm.IRModule]] = []
    with tarfile.open(archive) as files:
        members = [member for member in files if member.name.endswith(".json")]
        for member in sorted(members, key=lambda each: -each.size):
            file = files.extractfile(member)
            assert file is not None
            try:
                mod = load_json(file.read().decode())
            except Exception:  # a module of another version of TVM
                continue
            if flaw(mod) is None and pairs(mod):
                found.append((Path(member.name).stem, mod))
            if len(found) == LARGEST:
                break
    return found


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a reducer."""

    bindings: int
    lines: int
    calls: int
    seconds: float


Holds = Callable[[tvm.IRModule], bool]
Reducer = Callable[[tvm.IRModule, Holds, float], tvm.IRModule]


def measured(reducer: Reducer, mod: tvm.IRModule, holds: Holds, seconds: float) -> Outcome:
    """Run one reducer, and count its calls of the predicate."""
    # Shared with forks, which also call it.
    calls = mmap.mmap(-1, 8)

    def counted(candidate: tvm.IRModule) -> bool:
        calls[:] = (int.from_bytes(calls[:]) + 1).to_bytes(8)
        return holds(candidate)

    began = time.monotonic()
    small = reducer(mod, counted, seconds)
    took = time.monotonic() - began
    assert holds(small), "a reducer gives back what was asked for"
    lines = len(script(small).splitlines())
    return Outcome(len(bindings_of(small)), lines, int.from_bytes(calls[:]), took)


def by_relaxfuzz(mod: tvm.IRModule, holds: Holds, seconds: float) -> tvm.IRModule:
    """Reduce with relaxfuzz's minimizer, in one process."""
    return minimize(mod, holds, seconds=seconds)


def by_text(mod: tvm.IRModule, holds: Holds, seconds: float) -> tvm.IRModule:
    """Reduce with picire: lines first, then words. Texts that TVM refuses cost time but no call."""
    import picire

    best = script(mod)
    begin = parsed(best)
    if begin is None or not holds(begin):
        return mod  # TVM cannot read its own script, so there is no text to reduce
    deadline = time.monotonic() + seconds

    def test(config: Sequence[str], identity: Any) -> Any:
        nonlocal best
        if time.monotonic() > deadline:
            raise TimeoutError
        text = "".join(config)
        if not survives(lambda: (mod := parsed(text)) is not None and holds(mod)):
            return picire.Outcome.PASS
        best = min(best, text, key=len)
        return picire.Outcome.FAIL

    try:
        for units in (str.splitlines, _words):
            parts = units(best, True) if units is str.splitlines else units(best)
            picire.DD(test)(parts)
    except TimeoutError:
        pass
    small = parsed(best)
    return mod if small is None else small


def survives(question: Callable[[], bool]) -> bool:
    """Ask in a fork, as TVM's parser crashes on some texts and is slow on others."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(PARSE_SECONDS)
        code = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            code = 0 if question() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def script(mod: tvm.IRModule) -> str:
    """Complete TVMScript, including the data of constants."""
    return str(mod.script(show_meta=True))


def parsed(text: str) -> tvm.IRModule | None:
    """The well-formed module that a text describes, or None."""
    try:
        mod = tvm.script.from_source(text)
        save_json(mod)  # some texts parse to modules with missing parts
    except Exception:
        tvm.te.tag.TagScope._current = None
        return None
    return mod if isinstance(mod, tvm.IRModule) and flaw(mod) is None else None


def _words(text: str) -> list[str]:
    return re.findall(r"\s+|\w+|[^\w\s]", text)


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(prog="make bench-minimize", description=__doc__)
    parser.add_argument("--modules", type=Path, help="an archive of modules (*.tar.xz, TVM JSON)")
    parser.add_argument("--seconds", type=float, default=300.0, help="for each reducer and module")
    parser.add_argument(
        "--bindings", type=int, default=BINDINGS, help="at least, in the generated module"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line on stdout")
    options = parser.parse_args()
    mods = [("generated", generated(options.bindings, seed=0))]
    mods += largest(options.modules) if options.modules else []
    table = Table("module", "bindings", "lines", "reducer", "bindings left", "lines", "calls", "s")
    for name, mod in mods:
        holds = rarest(mod)
        assert holds is not None, f"no operator feeds another in {name}"
        for title, reducer in (("relaxfuzz", by_relaxfuzz), ("picire", by_text)):
            outcome = measured(reducer, mod, holds, options.seconds)
            before = len(bindings_of(mod)), len(script(mod).splitlines())
            if options.json:
                fields = dataclasses.asdict(outcome)
                print(json.dumps({"module": name, "reducer": title, **fields}), flush=True)
            after = (outcome.bindings, outcome.lines, outcome.calls, f"{outcome.seconds:.1f}")
            table.add_row(name, *map(str, before), title, *map(str, after))
    if not options.json:
        Console(width=120).print(table)


if __name__ == "__main__":
    main()
