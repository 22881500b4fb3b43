"""A repository's own tests: corpus and knowns, `check_pass`, the profiles."""

from __future__ import annotations

import re
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import tvm

from .foreign import Foreign, foreign

pytestmark = pytest.mark.session

HEADER = """\
# {what}
#
# pass: Raises
# oracle: crash
# tvm: {claim}
# fails with: ValueError
# promise: none
# upstream: https://example.org/{name}
"""
BODY = '\nif __name__ == "__main__":\n    {line}\n'
FAILS = 'raise ValueError("no lv12")'
HERE = f"fails on {tvm.__version__}"
BEFORE = f"fails on 0.1.0; fixed in {tvm.__version__}"

KNOWN = """\
what = "{what}"
reports = [["crash", "Raises"]]
format = 4
tvm = "{claim}"
reproducer = "{name}.py"
upstream = ["https://example.org/{name}"]

[[identity]]
failure = "raises"
blamed = ["Raises"]
"""

TESTS = """
import pytest
from hypothesis import given, settings
from tvm import relax

from my_pkg.passes import Keeps
from relaxfuzz import check_pass, ir_modules


def module(params):
    builder = relax.BlockBuilder()
    xs = [relax.Var(f"x{i}", relax.TensorType((2, 3), "float32")) for i in range(params)]
    with builder.function("main", xs):
        builder.emit_func_output(builder.emit(relax.op.exp(xs[0])))
    return builder.get()


def test_a_pass_by_name():
    check_pass("my_pkg.passes:Raises", module(1))
    check_pass("my_pkg.passes:Raises", module(2))


def test_a_pass_that_dies():
    check_pass("my_pkg.passes:Dies", module(2))


def test_a_pass_object():
    check_pass(Keeps, module(1))


@given(ir_modules(max_functions=1, max_bindings=2))
@settings(max_examples=3)
def test_drawn(mod):
    assert settings.get_current_profile_name() == "relaxfuzz-pr"
    assert settings().derandomize
    check_pass("my_pkg.passes:Keeps", mod)
"""

PYPROJECT = """
[tool.pytest.ini_options]
addopts = "--strict-markers"
testpaths = ["tests"]
pythonpath = ["."]

[tool.relaxfuzz]
corpus = ["regressions"]
known = ["known"]
"""

CORPUS = {
    "expected": (HERE, FAILS),
    "fixed": (HERE, "pass"),
    "stays_fixed": (BEFORE, "pass"),
    "again": (BEFORE, FAILS),
    "other": (HERE, "raise TypeError('other')"),
    "broken": (HERE, "import nothing_of_the_kind"),
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Foreign:
    made = foreign(tmp_path_factory.mktemp("own"))
    made.write("pyproject.toml", PYPROJECT)
    made.write("tests/test_mine.py", TESTS)
    for name, (claim, line) in CORPUS.items():
        header = HEADER.format(name=name, what=f"What {name} shows", claim=claim)
        body = BODY.format(line=line)
        made.write(f"regressions/{name}.py", header + body)
    made.write("regressions/helper.py", "VALUE = 1\n")
    made.write("regressions/headless.py", BODY.format(line='raise ValueError("still")'))
    made.write("regressions/gone.py", BODY.format(line="pass"))
    for name, (claim, line) in {"fails": (HERE, FAILS), "mended": (HERE, "pass")}.items():
        made.write(f"known/{name}.toml", KNOWN.format(name=name, what=f"It {name}", claim=claim))
        made.write(f"known/{name}.py", BODY.format(line=line))
    return made


@pytest.fixture(scope="module")
def session(repository: Foreign) -> subprocess.CompletedProcess[str]:
    """Two workers of xdist, with randomly and timeout there."""
    return repository.pytest(
        "--numprocesses=2",
        "--timeout=200",
        "--hypothesis-profile=relaxfuzz-pr",
        "--junitxml=junit.xml",
        "-rA",
    )


@pytest.fixture(scope="module")
def outcomes(session: subprocess.CompletedProcess[str]) -> dict[str, str]:
    found = re.findall(r"^(PASSED|FAILED|ERROR|XFAIL|XPASS) (\S+?)(?: - |$)", session.stdout, re.M)
    assert found, session.stdout + session.stderr
    return {name.rpartition("/")[2].removesuffix("::reproducer"): how for how, name in found}


def section(session: subprocess.CompletedProcess[str], name: str) -> str:
    """The output for one failed test."""
    match = re.search(
        rf"^_+ (?:ERROR at setup of )?{name} _+$(.*?)^(?:_|=)", session.stdout, re.M | re.S
    )
    assert match is not None, session.stdout
    return match[1]


def test_files_of_a_corpus_must_fail_as_recorded(outcomes: dict[str, str]) -> None:
    found = {name: how for name, how in outcomes.items() if ".py" in name and "test_" not in name}
    assert found == {
        "expected.py": "XFAIL",
        "fixed.py": "FAILED",
        "stays_fixed.py": "PASSED",
        "again.py": "FAILED",
        "other.py": "FAILED",
        "broken.py": "FAILED",
        "headless.py": "FAILED",
        "gone.py": "PASSED",
    }


def test_an_expected_failure_has_its_link_as_the_reason(
    session: subprocess.CompletedProcess[str],
) -> None:
    assert "reproducer - What expected shows (https://example.org/expected)" in session.stdout
    assert "known - It fails (https://example.org/fails)" in session.stdout


def test_a_fixed_bug_is_a_strict_xpass(session: subprocess.CompletedProcess[str]) -> None:
    output = section(session, r"fixed\.py::reproducer")
    assert "[XPASS(strict)] fixed: What fixed shows" in output
    assert "change the header of" in output
    assert f"fixed in {tvm.__version__}" in output
    assert "[XPASS(strict)] fixed: It mended" in section(session, r"mended\.toml::known")


def test_a_file_that_fails_otherwise_shows_its_failure(
    session: subprocess.CompletedProcess[str],
) -> None:
    assert "changed: TypeError" in section(session, r"other\.py::reproducer")
    assert "changed: ValueError" in section(session, r"again\.py::reproducer")
    assert "ValueError: still" in section(session, r"headless\.py::reproducer")
    assert "Traceback" not in section(session, r"headless\.py::reproducer")


def test_knowns_are_expected_failures(outcomes: dict[str, str]) -> None:
    found = {name: how for name, how in outcomes.items() if ".toml" in name}
    assert found == {"fails.toml::known": "XFAIL", "mended.toml::known": "FAILED"}


def test_own_tests(outcomes: dict[str, str]) -> None:
    prefix = "test_mine.py::"
    found = {n.removeprefix(prefix): how for n, how in outcomes.items() if n.startswith(prefix)}
    assert found == {
        "test_a_pass_by_name": "FAILED",
        "test_a_pass_that_dies": "FAILED",
        "test_a_pass_object": "PASSED",
        "test_drawn": "PASSED",
    }


def test_a_failed_check_points_at_the_test_and_explains(
    session: subprocess.CompletedProcess[str], repository: Foreign
) -> None:
    output = section(session, "test_a_pass_by_name")
    assert '>       check_pass("my_pkg.passes:Raises", module(2))' in output
    assert "this is too wide" in output
    assert "def main(" in output
    assert "under_hypothesis.py" not in output, "no frames of relaxfuzz"
    (path,) = set(re.findall(r"\.relaxfuzz/Raises-crash-\w+\.py", output))
    assert (repository.folder / path).is_file()
    assert "(segfault)" in section(session, "test_a_pass_that_dies")


def test_junit_has_report_and_reproducer(
    session: subprocess.CompletedProcess[str], repository: Foreign
) -> None:
    assert session.returncode == 1
    root = ElementTree.parse(repository.folder / "junit.xml").getroot()
    (case,) = (c for c in root.iter("testcase") if "expected" in c.get("classname", ""))
    properties = {p.get("name"): p.get("value") for p in case.iter("property")}
    assert properties["relaxfuzz.report"] == '["crash", "Raises"]'
    assert Path(properties["relaxfuzz.reproducer"] or "").name == "expected.py"


def test_a_path_on_the_command_line(repository: Foreign) -> None:
    """Without xdist and randomly, and with no other test."""
    ran = repository.pytest(
        *(f"--relaxfuzz-corpus=regressions/{name}.py" for name in ("expected", "gone")),
        *("regressions/gone.py", "-p", "no:randomly"),
    )
    assert re.search(r"^regressions/gone\.py \.", ran.stdout, re.M), ran.stdout + ran.stderr
    assert re.search(r"^regressions/expected\.py x", ran.stdout, re.M)
    assert ran.returncode == 0
