"""Real modules and files, to be damaged."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

from relaxfuzz import corpus
from relaxfuzz.compat.serialization import save_json
from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.source import to_source
from relaxfuzz.generators.stages import Stage, advance

ROOT = Path(__file__).resolve().parents[2]
ARCHIVE = Path(
    os.environ.get("RELAXFUZZ_UPSTREAM_MODULES")
    or ROOT.parent / "shared" / "upstream_modules.tar.xz"
)
"""Modules of TVM's own tests, where they are at hand."""
LARGE = 60_000
"""Bytes; of larger ones nothing more is learnt."""


def modules(count: int) -> list[str]:
    """JSON of generated modules, as they come and legalized."""
    made = [example(ir_modules(max_functions=2), 1, index) for index in range(count)]
    made += [advance(example(ir_modules(max_functions=1), 2, 0), Stage.LEGALIZED)]
    return [save_json(mod) for mod in made]


def upstream(every: int) -> list[str]:
    """JSON of TVM's own modules: one of so many."""
    if not ARCHIVE.is_file():
        return []
    found = []
    with tarfile.open(ARCHIVE) as archive:
        for number, member in enumerate(m for m in archive if m.name.endswith(".json")):
            if number % every == 0 and member.size < LARGE:
                file = archive.extractfile(member)
                assert file is not None
                found.append(file.read().decode())
    return found


def programs(every: int) -> list[str]:
    """Python files: found bugs, source that was written for a module, and TVMScript."""
    mod = example(ir_modules(max_functions=2), 1, 0)
    files = [path.read_text(encoding="utf-8") for path in corpus.found()[::every]]
    return [*(text for text in files if len(text) < LARGE), to_source(mod), mod.script()]
