"""Findings that leave the house: the same bugs, without a word of their owner's."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from typer.testing import CliRunner

from relaxfuzz.compat.release import versions
from relaxfuzz.compat.serialization import save_json
from relaxfuzz.fuzz.cli import app
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.jobs.asking import check
from relaxfuzz.fuzz.jobs.jobs import Check
from relaxfuzz.fuzz.minimize.redacted import _without_folders
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.user_input.module_file import execute
from relaxfuzz.oracles.passcall import PassCall

MODEL = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    I.module_attrs({"acme_project": "acme_moonshot"})

    @R.function
    def acme_main(acme_x: R.Tensor((2,), "float32")):
        acme_sum = R.add(acme_x, R.const([0.25, 8.5], "float32"))
        return acme_sum
"""

PASSES = '''
import tvm


def names_a_function():
    """Its message has the name of a function."""

    def transform(mod, context):
        raise ValueError(f"cannot do {mod.get_global_vars()[0].name_hint}")

    return tvm.transform.module_pass(transform, opt_level=0, name="names_a_function")


def wants_no_moonshot():
    """Fails for a word of the module's owner."""

    def transform(mod, context):
        if mod.attrs and "acme_moonshot" in [str(value) for value in dict(mod.attrs).values()]:
            raise ValueError("no moonshot")
        return mod

    return tvm.transform.module_pass(transform, opt_level=0, name="wants_no_moonshot")
'''


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    model, passes = tmp_path / "model.py", tmp_path / "passes.py"
    model.write_text(MODEL)
    passes.write_text(PASSES)
    return model, passes


@pytest.fixture
def store(files: tuple[Path, Path], pool: LocalPool, tmp_path: Path) -> Path:
    """A folder with a finding of each pass."""
    model, passes = files
    module = save_json(execute(model))
    with Store(tmp_path / "out") as store:
        for name in ("names_a_function", "wants_no_moonshot"):
            call = PassCall(f"{name}()", factory=f"{passes}:{name}")
            (violation,) = check(pool, Check(module=module, calls=(call,), oracles=("crash",)))
            made = Finding(violation=violation, module=module, versions=versions(), calls=(call,))
            store.put(dataclasses.replace(made, confirmed=True))
    return tmp_path / "out"


@pytest.mark.session
def test_a_copy_of_a_folder_has_the_same_bugs_and_names_what_stays(store: Path) -> None:
    listed = CliRunner().invoke(app, ["findings", str(store), "--redact", "--json"])
    assert listed.exit_code == 0, listed.output
    assert "acme_main" not in listed.stdout
    kept = [line for line in listed.stderr.splitlines() if "kept" in line]
    assert sum("the string 'acme_moonshot'" in line for line in kept) == 1
    assert not any("acme_main" in line or "constant" in line for line in kept)
    assert any("the pass names_a_function()" in line for line in kept)

    copy = store.with_name("out-redacted")
    with Store(copy, create=False) as redacted, Store(store, create=False) as whole:
        by_id = {each.id: each for each in redacted.findings()}
        assert {each.id: each.reported for each in whole.findings()} == {
            id: each.reported for id, each in by_id.items()
        }
        assert all(redacted.reproducer(each) for each in by_id.values())
        titles = {each.pass_name: each.title for each in by_id.values()}
    assert titles["names_a_function"].startswith("ValueError: cannot do s")
    for file in copy.rglob("*.py"):
        found = file.read_text().replace("wants_no_moonshot", "").replace("acme_moonshot", "")
        assert "acme" not in found, file

    # A finding that is there already is not run again.
    before = {file: file.stat().st_mtime_ns for file in copy.rglob("*.py")}
    page = store.parent / "page.md"
    CliRunner().invoke(app, ["report", str(store), "--redact", "--markdown", str(page)])
    assert before == {file: file.stat().st_mtime_ns for file in copy.rglob("*.py")}
    assert "acme_main" not in page.read_text()


@pytest.mark.session
def test_a_minimized_module_is_redacted(files: tuple[Path, Path], tmp_path: Path) -> None:
    model, passes = files
    out = tmp_path / "small.py"
    words = ["minimize", str(model), "--pass", f"{passes}:wants_no_moonshot", "--oracle", "crash"]
    done = CliRunner().invoke(app, [*words, "--redact", "--out", str(out), "--budget", "20s"])
    assert done.exit_code == 1, done.output
    assert "kept, since the failure needs it: the string 'acme_moonshot'" in done.stderr
    assert "acme_project" not in out.read_text()


def test_a_predicate_cannot_be_asked_for_a_redaction(files: tuple[Path, Path]) -> None:
    done = CliRunner().invoke(app, ["minimize", str(files[0]), "--predicate", "true", "--redact"])
    assert done.exit_code == 2
    assert "--redact asks oracles again" in done.output


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('File "/home/acme/secret/run.py", line 3', 'File "run.py", line 3'),
        ("in ~/tvm/src/relax/ir/expr.cc:12: x", "in expr.cc:12: x"),
        ("lv / gv, and/or, a//b, x /= y", "lv / gv, and/or, a//b, x /= y"),
        ("https://example.org/a/b", "https://example.org/a/b"),
    ],
)
def test_folders_are_left_out(text: str, left: str) -> None:
    assert _without_folders(text) == left
