"""`python -m bench.mutants FILE...`: what becomes of the edits of pieces of real modules.

Of each module of a folder or an archive of TVM JSON, a share is drawn by a fixed seed; modules are
generated around the pieces of each. Printed is, for each kind of edit, how many stand in a module;
how many modules are ill-formed; and what a module costs beyond one of as many bindings that has
no pieces. All times are CPU time.
"""

from __future__ import annotations

import argparse
import math
import re
import statistics
import tarfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import tvm
from tvm import relax

from relaxfuzz.compat.serialization import load_json
from relaxfuzz.fuzz.campaign.draw import example
from relaxfuzz.generators.bindings.pieces import edits, splice
from relaxfuzz.generators.choices import Choices
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.ops.variation import OFTEN, RARE, Variation
from relaxfuzz.generators.scope import Scope
from relaxfuzz.generators.seeds import Piece, pieces_of, recorded
from relaxfuzz.generators.traits import Trait
from relaxfuzz.oracles.structural.checkers import flaw

KINDS: Mapping[str, str] = {
    r"^\d+ becomes (symbolic|[01])$": "size",
    r"^an operand that nearly fits$": "glue",
    r" has other operands$": "operands",
    r" varies$": "variation",
    r" inlined$": "inlined",
    r" in a private function$": "private function",
    r" in the branches of an If$": "branches",
    r" in a local function$": "local function",
    r"^called$": "call of the piece",
    r" twice$": "duplicate",
    r" behind ": "link",
    r"^(?P<one>\S+) becomes \S+$": "operator or kernel",
}
"""The kind of an edit by how it reads."""


def kind_of(edit: str) -> str:
    """The kind of an edit."""
    return next(kind for pattern, kind in KINDS.items() if re.search(pattern, edit))


@dataclass(slots=True)
class Mutants:
    """What modules with pieces came to."""

    modules: int = 0
    """With a piece in them."""
    ill_formed: list[str] = field(default_factory=list)
    """What is wrong, with the names of the pieces."""
    tried: Counter[str] = field(default_factory=Counter)
    """Edits by kind: what type inference has accepted or refused, where there was something to
    change."""
    kept: Counter[str] = field(default_factory=Counter)
    """The same, of those that stand in a module."""
    failed: Counter[str] = field(default_factory=Counter)
    """Pieces that could not be put into a function with their edits, by why."""
    seconds: list[tuple[int, float]] = field(default_factory=list)
    """Bindings of each module, and what its generation took."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.mutants", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draw", type=int, default=60, help="modules that are drawn of all")
    parser.add_argument("--first", type=int, default=0, help="mutants to leave out")
    parser.add_argument("--mutants", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=math.inf, help="of the clock, at most")
    options = parser.parse_args()
    texts = sorted(each for file in options.files for each in read(file))
    Random(options.seed).shuffle(texts)
    drawn = texts[: options.draw]
    found = measure(drawn, options.seed, options.first, options.mutants, options.seconds)
    print(f"{found.modules} mutants of {len(drawn)} modules, {len(found.ill_formed)} ill-formed")
    for kind in sorted(found.tried, key=lambda kind: found.kept[kind] / found.tried[kind]):
        kept, tried = found.kept[kind], found.tried[kind]
        print(f"{kind:20}{kept:6} of {tried:6} kept, {kept / tried:7.1%}")
    kept, tried = found.kept.total(), found.tried.total()
    print(f"{'all':20}{kept:6} of {tried:6} kept, {kept / max(1, tried):7.1%}")
    for why, count in found.failed.most_common(12):
        print(f"  {count:5} fail: {why:.150}")
    over, whole = cost(found.seconds, plain(options.seed, 200))
    print(f"{whole:.2f} ms a mutant, {over:.2f} ms over a plain module of as many bindings")
    for problem in found.ill_formed:
        print(f"ILL-FORMED {problem:.400}")


def read(path: Path) -> Iterator[tuple[str, str]]:
    """The names and texts of the JSON files in an archive or a folder, or of one file."""
    if path.is_dir():
        yield from ((each.name, each.read_text()) for each in sorted(path.glob("**/*.json")))
    elif path.suffix == ".json":
        yield path.name, path.read_text()
    else:
        with tarfile.open(path) as archive:
            for member in archive:
                file = archive.extractfile(member) if member.name.endswith(".json") else None
                if file is not None:
                    yield Path(member.name).name, file.read().decode()


def measure(
    texts: list[tuple[str, str]], seed: int, first: int, count: int, limit: float
) -> Mutants:
    """Mutants of these modules, in turn; some are no modules, or ill-formed, and give none.

    Args:
        first: the number of the first mutant.
        limit: seconds of the clock after which no more are made.
    """
    found = Mutants()
    end = time.monotonic() + limit
    sources = [pieces for name, text in texts if (pieces := _pieces(name, text))]
    strategies = [ir_modules(seeds=pieces) for pieces in sources]
    # Operators are grouped on the first exchange of one.
    example(ir_modules(seeds=sources[0]), seed, 0)
    index = first
    with watched(found):
        while found.modules < count and time.monotonic() < end:
            started = time.process_time()
            with recorded() as names:
                mod = example(strategies[index % len(strategies)], seed, index)
            seconds = time.process_time() - started
            index += 1
            if names:
                found.modules += 1
                found.seconds.append((bindings(mod), seconds))
                if (problem := flaw(mod)) is not None:
                    found.ill_formed.append(f"{index - 1}: {problem.title}; {names}")
    return found


def _pieces(name: str, text: str) -> list[Piece]:
    try:
        mod = load_json(text)
        return list(pieces_of(mod, name)) if flaw(mod) is None else []
    except Exception:  # of another version of TVM, or nothing that it can load
        return []


@contextmanager
def watched(found: Mutants) -> Iterator[None]:
    """Count the edits that are tried meanwhile, and those that stand."""
    refused: list[str] = []

    def emitting(emit: Callable[..., None]) -> Callable[..., None]:
        def counted(self: Any) -> None:
            try:
                emit(self)
            except Exception as error:
                if self._edited:
                    found.tried.update([*map(kind_of, self.edits), *refused])
                    found.failed[_reason(error)] += 1
                raise
            else:
                kept = list(map(kind_of, self.edits))
                found.tried.update([*kept, *refused])
                found.kept.update(kept)
            finally:
                refused.clear()

        return counted

    def varying(varied: Callable[..., relax.Expr]) -> Callable[..., relax.Expr]:
        def counted(c: Choices, s: Scope, call: relax.Call) -> relax.Expr:
            wanted = c.again().flag(OFTEN if s.has(Trait.VARIED_CALLS) else RARE)
            made = varied(c, s, call)
            if wanted and made.same_as(call):
                refused.append("variation")
            return made

        return counted

    def rewiring(change: Callable[..., Any]) -> Callable[..., Any]:
        def counted(s: Scope, call: relax.Call, kind: Any, first: int) -> Any:
            made = change(s, call, kind, first)
            if made is None and any(True for _ in kind(s, call)):
                refused.append("operands")
            return made

        return counted

    def exchanging(accepted: Callable[..., Any]) -> Callable[..., Any]:
        def counted(s: Scope, call: relax.Call, variation: Variation) -> Any:
            made = accepted(s, call, variation)
            if made is None and not variation.operands:
                refused.append("operator or kernel")
            return made

        return counted

    def resizing(resized: Callable[..., Any]) -> Callable[..., Any]:
        def counted(piece: Piece, which: int, new: int | None) -> Any:
            made = resized(piece, which, new)
            if made is None:
                refused.append("size")
            return made

        return counted

    counted: list[tuple[Any, str, Callable[[Callable[..., Any]], Callable[..., Any]]]] = [
        (splice._Splice, "emit", emitting),
        (edits, "varied", varying),
        (edits, "_with", rewiring),
        (edits, "accepted", exchanging),
        (splice, "resized", resizing),
    ]
    before = [getattr(place, name) for place, name, _ in counted]
    for (place, name, wrapper), old in zip(counted, before, strict=True):
        setattr(place, name, wrapper(old))
    try:
        yield
    finally:
        for (place, name, _), old in zip(counted, before, strict=True):
            setattr(place, name, old)


def _reason(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1] if lines else ''}"


def bindings(mod: tvm.IRModule) -> int:
    """The bindings of all functions, those in branches and local functions too."""
    count = 0

    def visit(expr: relax.Expr) -> None:
        nonlocal count
        if isinstance(expr, relax.SeqExpr):
            count += sum(len(block.bindings) for block in expr.blocks)

    for func in mod.functions.values():
        if isinstance(func, relax.Function):
            relax.analysis.post_order_visit(func, visit)
    return count


def plain(seed: int, modules: int) -> list[tuple[int, float]]:
    """The same for modules without pieces."""
    found = []
    for index in range(modules):
        started = time.process_time()
        mod = example(ir_modules(), seed, index)
        found.append((bindings(mod), time.process_time() - started))
    return found


def cost(mutants: list[tuple[int, float]], others: list[tuple[int, float]]) -> tuple[float, float]:
    """Milliseconds of a mutant over a plain module of as many bindings, and in all; means."""
    slope, intercept = statistics.linear_regression(*zip(*others, strict=True))
    over = statistics.fmean(took - intercept - slope * size for size, took in mutants)
    return 1000 * over, 1000 * statistics.fmean(took for _, took in mutants)


if __name__ == "__main__":
    main()
