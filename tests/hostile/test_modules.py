"""Whatever a module file holds: it is read, or refused in one sentence that can be shown."""

from __future__ import annotations

import resource
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.system.scratch import scratch
from relaxfuzz.fuzz.user_input.read_module import BadModule, load

from . import bases
from .mutations import damaged_bytes, damaged_json, damaged_program

File = tuple[str, bytes]
"""How its name ends, and what is in it."""

LONGEST = 1500
"""Characters of a refusal, paths included."""
SECONDS = 20.0


@dataclass
class Tally:
    """What became of the files."""

    read: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    longest: float = 0.0

    def __str__(self) -> str:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        lines = [f"{count:6} {kind}" for kind, count in self.refused.most_common()]
        total = self.read + self.refused.total()
        head = f"{total} files, {self.read} read, longest {self.longest:.1f} s, peak {peak:.0f} MB"
        return "\n".join([head, *lines])


def try_to_read(path: Path, pool: LocalPool, tally: Tally, *, well_formed: bool = True) -> None:
    began = time.monotonic()
    try:
        text = load(path, pool, well_formed=well_formed, seconds=SECONDS)
    except BadModule as error:
        message = str(error)
        assert message.isprintable(), ascii(message)
        assert len(message) < LONGEST, message
        assert path.name in message
        tally.refused[kind(message)] += 1
    else:
        tally.read += 1
        assert save_json(load_json(text)) == text
    tally.longest = max(tally.longest, time.monotonic() - began)


KINDS = (
    "is not UTF-8",
    "is UTF-16",
    "neither a Python file",
    "refers to node",
    "contains itself",
    "to have a type",
    "has no nodes of type",
    "compiled code",
    "the number of a node",
    "a list of nodes",
    "unfold into",
    "levels deep",
    "Cannot convert",
    "Required field",
    "was written by",
    "can load",
    "cannot check whether",
    "is not well-formed",
    "has no functions",
    "does not parse",
    "defines no IRModule",
    "defines several",
    "raised",
    "was killed by",
    "ended with code",
    "did not finish",
    "of memory",
    "cannot be written",
    "holds a",
    "is empty",
)


def kind(message: str) -> str:
    """The same for files that are refused for the same reason."""
    return next((each for each in KINDS if each in message), message)


def fuzz(count: int, shard: int, files: st.SearchStrategy[File], pool: LocalPool) -> Tally:
    """Read so many damaged files; nothing is left of them."""
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:

        @seed(shard)
        @settings(
            max_examples=count,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(files, st.booleans())
        def run(file: File, well_formed: bool) -> None:
            suffix, data = file
            path = Path(folder) / f"module{suffix}"
            path.write_bytes(data)
            try_to_read(path, pool, tally, well_formed=well_formed)

        run()
        assert {path.suffix for path in Path(folder).iterdir()} <= {".json", ".py"}
    assert list(scratch().glob("tmp*")) == []
    assert psutil.Process(pool.zygote).children() == []
    return tally


def damaged(every: int) -> st.SearchStrategy[File]:
    """JSON three times as often as Python; the tree more often than the bytes.

    Args:
        every: one of so many of the files that there are.
    """
    texts = st.sampled_from([*bases.modules(12), *bases.upstream(every)])
    programs = st.sampled_from(bases.programs(every))
    as_json = (
        texts.flatmap(damaged_json)
        | texts.flatmap(damaged_json)
        | texts.flatmap(lambda text: damaged_bytes(text.encode()))
    ).map(lambda data: (".json", data))
    as_python = (
        programs.flatmap(damaged_program)
        | programs.flatmap(lambda text: damaged_bytes(text.encode()))
    ).map(lambda data: (".py", data))
    return as_json | as_json | as_python


def test_damaged_files(pool: LocalPool) -> None:
    tally = fuzz(40, 0, damaged(200), pool)
    assert tally.refused.total() > 10


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(1, 14))
def test_many_damaged_files(shard: int, pool: LocalPool) -> None:
    tally = fuzz(500, shard, damaged(10), pool)
    print(f"\n{tally}")
    assert tally.read > 10
    assert tally.refused.total() > 100
