"""`relaxfuzz generate`: modules as files."""

from __future__ import annotations

from pathlib import Path

import pytest
import tvm

from relaxfuzz.compat.script import read_script
from relaxfuzz.compat.serialization import load_json
from relaxfuzz.compat.structural import structural_equal
from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.fuzz.jobs.generating import Generate
from relaxfuzz.fuzz.process.executor import collect
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.generators.families import FAMILIES
from relaxfuzz.generators.source import from_source

from ...commands import relaxfuzz


def from_script(text: str) -> tvm.IRModule:
    """The module of a script, whose first line may be an import, which TVM's parser refuses."""
    return read_script(text.partition("\n")[2] if text.startswith("from ") else text)


READERS = {"json": load_json, "source": from_source, "tvmscript": from_script}


@pytest.mark.parametrize("form", READERS)
def test_each_form_reads_back_or_is_named(form: str, pool: LocalPool) -> None:
    family = "relax" if form == "tvmscript" else "tensorir"
    job = Generate(family=family, seed=1, first=0, count=4, form=form)
    made, died = collect(pool, job)
    assert died is None
    assert len({each.digest for each in made}) == len(made) == 4
    read = [each.reads_back for each in made]
    assert all(read) or (any(read) and form == "tvmscript")
    for number, each in enumerate(made):
        if each.reads_back:
            mod = example(FAMILIES[family].modules(), 1, number)
            assert structural_equal(READERS[form](each.text), mod, map_free_vars=True)


def test_the_command_names_scripts_that_do_not_read_back(tmp_path: Path) -> None:
    given = ("--modules", 5, "--seed", 1, "--format", "tvmscript", "--out", tmp_path / "out")
    run = relaxfuzz("generate", *given)
    assert run.returncode == 0, run.stderr
    files = {file.name for file in (tmp_path / "out").iterdir()}
    assert len(files) == 5
    named = {line.split(": ")[1] for line in run.stdout.splitlines() if line.startswith("not read")}
    assert named
    assert named < files
    assert f"5 modules of relax in {tmp_path / 'out'}, seed 1" in run.stdout.replace("\n", "")
