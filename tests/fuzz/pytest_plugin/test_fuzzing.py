"""`pytest --relaxfuzz PASS` in a repository that is not ours."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from relaxfuzz.fuzz.findings.known import add
from relaxfuzz.fuzz.findings.store import Store

from .foreign import PASSES, Foreign, foreign

pytestmark = pytest.mark.session

MODULES = 12


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Foreign:
    return foreign(tmp_path_factory.mktemp("foreign"))


@pytest.fixture(scope="module")
def session(repository: Foreign) -> subprocess.CompletedProcess[str]:
    """Three passes; pytest-randomly is there, and pytest-timeout, which leaves them alone."""
    passes = ("Raises", "Dies", "Keeps")
    return repository.pytest(
        *(part for name in passes for part in ("--relaxfuzz", f"my_pkg.passes:{name}")),
        f"--relaxfuzz-modules={MODULES}",
        "--relaxfuzz-seed=1",
        "--junitxml=junit.xml",
        "--timeout=1",
    )


def test_a_broken_promise_is_a_failed_subtest_and_a_segfault_too(
    session: subprocess.CompletedProcess[str],
) -> None:
    assert session.returncode == 1, session.stdout + session.stderr
    failed = re.findall(
        r"^SUBFAILED\[(.*?)\] relaxfuzz::my_pkg.passes:(\w+) ", session.stdout, re.M
    )
    assert sorted(failed) == [("crash", "Raises"), ("segfault", "Dies")], session.stdout


def test_the_failure_shows_how_to_go_on(
    session: subprocess.CompletedProcess[str], repository: Foreign
) -> None:
    out = session.stdout
    assert "this is too wide" in out
    assert re.search(r"@R\.function.*\n +def \w+\(", out), "the minimized module"
    (path,) = set(re.findall(r"relaxfuzz-out/reproducers/Raises-crash-\w+\.py", out))
    assert (repository.folder / path).is_file()
    assert re.search(r"relaxfuzz replay relaxfuzz-out/\w{10}$", out, re.M)
    assert "pytest_plugin/fuzzing.py" not in out, "no frames of the plugin"


def test_what_was_done_is_summed_up(
    session: subprocess.CompletedProcess[str], repository: Foreign
) -> None:
    section = session.stdout.partition("= relaxfuzz =")[2]
    assert re.search(rf"^my_pkg.passes:Raises +{MODULES} +\d+ +100% .* 1 +0$", section, re.M)
    assert re.search(rf"^my_pkg.passes:Keeps +{MODULES} +\d+ +100% +0% +0 +0$", section, re.M)
    assert "my_pkg.passes:Keeps changed none of the modules" in section
    with Store(repository.folder / "relaxfuzz-out", create=False) as store:
        (run,) = store.runs.all().values()
        rows = {store.rows.of(id) for id in run.found}
    assert (run.command, run.seed, run.workers, run.finished) == ("pytest", 1, 1, True)
    assert run.modules == 3 * MODULES
    assert set(run.stats) == {"Raises()", "Dies()", "Keeps()"}
    assert len(rows) == 2, "two bugs"
    assert not (repository.folder / "relaxfuzz-out" / "sessions").exists()


def test_junit_has_identity_and_reproducer(
    session: subprocess.CompletedProcess[str], repository: Foreign
) -> None:
    cases = ElementTree.parse(repository.folder / "junit.xml").iter("testcase")
    found = {}
    for case in cases:
        for each in case.iter("property"):
            found[case.attrib["name"], each.attrib["name"]] = each.attrib["value"]
    identity = json.loads(found["my_pkg.passes:Raises", "relaxfuzz.identity"])
    assert (identity["failure"], identity["blamed"]) == ("raises", ["my_pkg.passes:Raises"])
    assert Path(found["my_pkg.passes:Dies", "relaxfuzz.reproducer"]).is_file()


def test_a_known_bug_is_expected_and_the_printed_command_repeats_it(
    session: subprocess.CompletedProcess[str], repository: Foreign
) -> None:
    with Store(repository.folder / "relaxfuzz-out", create=False) as store:
        (finding,) = (f for f in store.findings() if f.pass_name == "Raises")
        add(repository.folder / "known", finding, store.reproducer(finding))
    command = re.search(r"pytest (--relaxfuzz my_pkg.passes:Raises .*)$", session.stdout, re.M)
    assert command is not None
    second = repository.pytest(
        *shlex.split(command[1]), "-rx", "--relaxfuzz-known=known", "test_own.py"
    )
    assert second.returncode == 0, second.stdout
    assert f"SUBXFAIL[raises-crash-{finding.id}] relaxfuzz::" in second.stdout, second.stdout
    assert "2 passed, 2 xfailed" in second.stdout, "the known, and what met it"


def test_a_finding_of_a_lower_grade_is_an_expected_failure(repository: Foreign) -> None:
    """A second run that changes the result: grade C."""
    command = ("--relaxfuzz=my_pkg.passes:Marks", "--relaxfuzz-modules=1", "--relaxfuzz-seed=1")
    done = repository.pytest(*command, "-rx", "--relaxfuzz-out=lower")
    assert done.returncode == 0, done.stdout
    assert re.search(
        r"grade C \(.*\), outside of --relaxfuzz-fail-on 'B': Marks: no normal form", done.stdout
    ), done.stdout


def test_a_session_that_compares_nothing_has_a_code_of_its_own(repository: Foreign) -> None:
    """The only oracle has nothing to do for a pass that makes no gradients."""
    asked = ("--relaxfuzz-modules=1", "--relaxfuzz-oracle=gradient")
    done = repository.pytest("--relaxfuzz=my_pkg.passes:Keeps", *asked)
    assert done.returncode == 4, done.stdout
    assert "nothing was compared: this says nothing of the passes" in done.stdout


MODEL = """
from tvm import relax

def model():
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 512), "float32"))
    with builder.function("main", [x]):
        y = builder.emit(relax.op.nn.log_softmax(builder.emit(relax.op.cumprod(x, axis=1))))
        builder.emit_func_output(y)
    return builder.finalize()
"""

PARTICULAR = """

@tvm.transform.module_pass(opt_level=0)
def Particular(mod, ctx):
    if "R.cumprod" in (text := mod.script(show_meta=False)) and "R.nn.log_softmax" in text:
        raise RuntimeError("a log_softmax and a cumprod")
    return mod
"""


def test_seeds(tmp_path: Path) -> None:
    repository = foreign(tmp_path)
    repository.write("my_pkg/passes.py", PASSES + PARTICULAR)
    repository.write("my_pkg/model.py", MODEL)
    session = repository.pytest(
        "--relaxfuzz=my_pkg.passes:Particular",
        "--relaxfuzz-modules=24",
        "--relaxfuzz-seed=1",
        "--relaxfuzz-seeds=my_pkg.model:model",
    )
    assert session.returncode == 1, session.stdout + session.stderr
    assert "a log_softmax and a cumprod" in session.stdout
    assert re.search(r"Made of: +my_pkg.model:model, main, bindings 0 to 1", session.stdout, re.M)
    again = re.search(r"Run it again: pytest .*$", session.stdout, re.M)
    assert again is not None
    assert again[0].endswith("--relaxfuzz-seeds my_pkg.model:model")


LIGHT = """
import sys

def pytest_unconfigure():
    heavy = [name for name in ("tvm", "hypothesis") if name in sys.modules]
    print("heavy:", heavy)
"""


def test_collecting_needs_neither_tvm_nor_hypothesis(tmp_path: Path) -> None:
    repository = foreign(tmp_path)
    repository.write("conftest.py", LIGHT)
    # Hypothesis's own plugin imports it, by a roundabout way.
    collect = ("--collect-only", "--quiet", "-s", "-p", "no:hypothesispytest")
    plain = repository.pytest(*collect)
    assert "heavy: []" in plain.stdout, plain.stdout
    fuzzing = repository.pytest(*collect, "--relaxfuzz=FuseOps")
    assert "relaxfuzz::FuseOps" in fuzzing.stdout
    assert "heavy: []" in fuzzing.stdout, fuzzing.stdout
