"""Reads the user's modules as seeds: pieces that generated modules are partly made from."""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ...generators.seeds import Piece, Whole, distinct
from ..jobs.jobs import Read
from ..output.readable import sentence
from ..process.executor import Executor
from ..system.errors import UserError
from ..system.scratch import scratch
from ..system.serialize import typed
from ..user_input.module_file import is_call
from ..user_input.sources import is_function
from .read_module import SECONDS, BadModule, result_of

SUFFIXES = (".json", ".onnx", ".py")
"""Suffixes of the files to read in a folder."""


@dataclass(frozen=True, slots=True)
class Seed:
    """One source of pieces."""

    source: str
    """A file, `FILE.py:function` or `package.module:function`."""
    pieces: tuple[Piece, ...] = ()
    whole: Whole | None = None
    """The module unchanged, if it works without its weights and is not too large."""
    problem: str | None = None
    """The reason why there are no pieces, in one sentence."""


def sources(given: Sequence[str]) -> list[str]:
    """The named files and functions; a folder stands for the files in it.

    Raises:
        UserError: there is no such file, or a folder has no file that can be read.
    """
    found: list[str] = []
    for each in given:
        path = Path(each)
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file())
            if not inside:
                wanted = ", ".join(f"*{suffix}" for suffix in SUFFIXES)
                raise UserError(f"the folder '{sentence(each)}' has no file of {wanted}")
            found += map(str, inside)
        elif path.exists() or is_call(each):
            found.append(each)
        else:
            raise UserError(
                f"'{sentence(each)}' is no file, no folder, no FILE.py:function, and no "
                "package.module:function"
            )
    return list(dict.fromkeys(found))


def read_seeds(
    given: Sequence[str],
    pool: Executor,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[Seed]:
    """Read and cut each seed in a separate process; yield the results in order, as they arrive.

    Args:
        given: files, folders and functions, see `sources`.
        pool: the workers.
        progress: called with the number of finished sources, and of all sources.

    Raises:
        UserError: see `sources`.
        ExecutorError: the workers failed.
    """
    todo = sources(given)
    with ThreadPoolExecutor(pool.workers) as threads:
        for done, seed in enumerate(threads.map(lambda source: _read(source, pool), todo), 1):
            progress(done, len(todo))
            yield seed


def _read(source: str, pool: Executor) -> Seed:
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        path = source if is_function(source) else os.path.abspath(source)
        job = Read(path, folder, seconds=SECONDS, pieces=True)
        try:
            result = result_of(job, source, pool)
        except BadModule as error:
            return Seed(source, problem=str(error))
        found = json.loads(result.read_text(encoding="utf-8"))
    pieces = typed(found["pieces"], tuple[Piece, ...])
    unchanged = typed(found["whole"], Whole | None)
    named = (
        dataclasses.replace(p, name=p.name.replace(path, source), source=source) for p in pieces
    )
    return Seed(source, tuple(named), unchanged and dataclasses.replace(unchanged, name=source))


def usable(seeds: Sequence[Seed]) -> tuple[Piece, ...]:
    """All pieces, without duplicates.

    Raises:
        UserError: there are none.
    """
    pieces = distinct(piece for seed in seeds for piece in seed.pieces)
    if not pieces:
        problems = [seed.problem for seed in seeds if seed.problem is not None]
        raise UserError(f"none of the seeds could be used: {problems[0] if problems else 'empty'}")
    return pieces


def pieces_of(given: Sequence[str], pool: Executor) -> tuple[Piece, ...]:
    """All pieces of these files, folders and functions; empty if nothing is given.

    Raises:
        UserError, ExecutorError: see `read_seeds` and `usable`.
    """
    return usable(list(read_seeds(given, pool))) if given else ()
