"""Whatever a module file holds: it is read, or refused in one sentence that can be shown."""

from __future__ import annotations

import tempfile
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.fuzz.loading.read_module import load
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.system.scratch import scratch

from . import bases
from .mutations import damaged_bytes, damaged_text
from .stores import Tally

File = tuple[str, bytes]
"""How its name ends, and what is in it."""

SECONDS = 20.0


def try_to_read(path: Path, pool: LocalPool, tally: Tally, *, well_formed: bool = True) -> None:
    text = tally.attempt(lambda: load(path, pool, well_formed=well_formed, seconds=SECONDS))
    if text is not None:
        assert save_json(load_json(text)) == text


def fuzz(count: int, files: st.SearchStrategy[File], pool: LocalPool) -> Tally:
    """Read so many damaged files; nothing is left of them."""
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:

        @settings(
            max_examples=count,
            derandomize=True,
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
    """JSON twice as often as Python.

    Args:
        every: one of so many of the files that there are.
    """
    texts = st.sampled_from([*bases.modules(12), *bases.upstream(every)])
    programs = st.sampled_from(bases.programs(every))
    as_json = texts.flatmap(damaged_text).map(lambda text: (".json", text.encode()))
    damaged_programs = programs.flatmap(lambda text: damaged_bytes(text.encode()))
    as_python = damaged_programs.map(lambda data: (".py", data))
    return as_json | as_json | as_python


@pytest.mark.parametrize(
    ("count", "every"), [(40, 200), pytest.param(5_000, 10, marks=pytest.mark.slow)]
)
def test_damaged_files(count: int, every: int, pool: LocalPool) -> None:
    tally = fuzz(count, damaged(every), pool)
    assert tally.refused > 10
