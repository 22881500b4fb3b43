"""What a repository's own tests use: corpus and knowns, the fixture, the marker, the profiles."""

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
from relaxfuzz import ir_modules


def module(params):
    builder = relax.BlockBuilder()
    xs = [relax.Var(f"x{i}", relax.TensorType((2, 3), "float32")) for i in range(params)]
    with builder.function("main", xs):
        builder.emit_func_output(builder.emit(relax.op.exp(xs[0])))
    return builder.get()


def test_a_pass_by_name(relaxfuzz):
    relaxfuzz.check("my_pkg.passes:Raises", module(1))
    relaxfuzz.check("my_pkg.passes:Raises", module(2))


def test_a_pass_that_dies(relaxfuzz):
    relaxfuzz.check("my_pkg.passes:Dies", module(2))


def test_a_pass_object(relaxfuzz):
    relaxfuzz.check(Keeps, module(1))


@pytest.mark.relaxfuzz(oracles=["idempotent"])
class TestMarked:
    def test_only_what_is_asked(self, relaxfuzz):
        relaxfuzz.check("my_pkg.passes:Counts", module(1))

    @pytest.mark.relaxfuzz(exempt=["idempotent"])
    def test_what_is_not_promised(self, relaxfuzz):
        relaxfuzz.check("my_pkg.passes:Counts", module(1))


def test_promises_of_pyproject(relaxfuzz):
    relaxfuzz.check("my_pkg.passes:Promised", module(1))


@pytest.mark.relaxfuzz(exmpt=["idempotent"])
def test_no_option(relaxfuzz):
    pass


@pytest.mark.relaxfuzz(not_idempotent=True)
def test_former_option(relaxfuzz):
    pass


@pytest.mark.relaxfuzz(exempt=["idempotency"])
def test_no_promise(relaxfuzz):
    pass


@pytest.mark.relaxfuzz(oracles=["idempotency"])
def test_no_oracle(relaxfuzz):
    pass


@pytest.mark.relaxfuzz("idempotent")
def test_no_name(relaxfuzz):
    pass


@pytest.mark.relaxfuzz(like="FuseOps")
def test_a_pass_of_tvm(relaxfuzz):
    relaxfuzz.check("FuseOps", module(1))


def test_a_bug_on_generated_modules(relaxfuzz):
    relaxfuzz.fuzz("my_pkg.passes:Raises", modules=2, seed=1)


def test_no_budget(relaxfuzz):
    relaxfuzz.fuzz("my_pkg.passes:Keeps")


@given(ir_modules(max_functions=1, max_bindings=2))
@settings(max_examples=3)
def test_drawn(relaxfuzz, mod):
    assert settings.get_current_profile_name() == "relaxfuzz-pr"
    assert settings().derandomize
    relaxfuzz.check("my_pkg.passes:Keeps", mod)
"""

COUNTS = """

@tvm.transform.module_pass(opt_level=0)
def Counts(mod, ctx):
    count = int(mod.attrs["count"]) if mod.attrs and "count" in mod.attrs else 0
    return mod.with_attr("count", count + 1)


@tvm.transform.module_pass(opt_level=0)
def Promised(mod, ctx):
    return Counts(mod)
"""

PYPROJECT = """
[tool.pytest.ini_options]
addopts = "--strict-markers"
testpaths = ["tests"]
pythonpath = ["."]

[tool.relaxfuzz]
corpus = ["regressions"]
known = ["known"]
[tool.relaxfuzz.promises."my_pkg.passes:Promised"]
exempt = ["idempotent", "attributes"]
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
    passes = made.folder / "my_pkg/passes.py"
    passes.write_text(passes.read_text() + COUNTS)
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
    assert "[XPASS(strict)] fixed: change the header of" in output
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
        "TestMarked::test_only_what_is_asked": "FAILED",
        "TestMarked::test_what_is_not_promised": "PASSED",
        "test_promises_of_pyproject": "PASSED",
        "test_no_option": "ERROR",
        "test_former_option": "ERROR",
        "test_no_promise": "ERROR",
        "test_no_oracle": "ERROR",
        "test_no_name": "ERROR",
        "test_a_pass_of_tvm": "FAILED",
        "test_a_bug_on_generated_modules": "FAILED",
        "test_no_budget": "FAILED",
        "test_drawn": "PASSED",
    }


def test_a_failed_check_points_at_the_test_and_explains(
    session: subprocess.CompletedProcess[str], repository: Foreign
) -> None:
    output = section(session, "test_a_pass_by_name")
    assert '>       relaxfuzz.check("my_pkg.passes:Raises", module(2))' in output
    assert "this is too wide" in output
    assert "def main(" in output
    assert "under_hypothesis.py" not in output, "no frames of relaxfuzz"
    (path,) = set(re.findall(r"\.relaxfuzz/Raises-crash-\w+\.py", output))
    assert (repository.folder / path).is_file()
    assert "(segfault)" in section(session, "test_a_pass_that_dies")


def test_a_bug_on_generated_modules_is_minimized(
    session: subprocess.CompletedProcess[str], repository: Foreign
) -> None:
    output = section(session, "test_a_bug_on_generated_modules")
    assert "1 bug of Raises in 2 modules" in output
    (path,) = set(re.findall(r"relaxfuzz-out/reproducers/Raises-crash-\w+\.py", output))
    assert (repository.folder / path).is_file()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("test_no_option", "no option 'exmpt'. Did you mean 'exempt'?"),
        ("test_former_option", "not_idempotent is now exempt=['idempotent']"),
        ("test_no_promise", "no oracle 'idempotency' to exempt from. Did you mean 'idempotent'?"),
        ("test_no_oracle", "no oracle 'idempotency'. Did you mean 'idempotent'?"),
        ("test_no_name", "expected options by name but got 'idempotent'"),
        ("test_a_pass_of_tvm", "'FuseOps' is a pass of TVM, whose contract is in the catalogue"),
        ("test_no_budget", "relaxfuzz.fuzz(..., budget='10s') or modules=200"),
    ],
)
def test_mistakes_are_named(
    session: subprocess.CompletedProcess[str], name: str, message: str
) -> None:
    assert message in section(session, name)


def test_junit_has_report_and_reproducer(
    session: subprocess.CompletedProcess[str], repository: Foreign
) -> None:
    assert session.returncode == 1
    root = ElementTree.parse(repository.folder / "junit.xml").getroot()
    (case,) = (c for c in root.iter("testcase") if "expected" in c.get("classname", ""))
    properties = {p.get("name"): p.get("value") for p in case.iter("property")}
    assert properties["relaxfuzz.report"] == '["crash", "Raises"]'
    assert Path(properties["relaxfuzz.reproducer"] or "").name == "expected.py"


def test_only_what_was_asked_for_is_collected(repository: Foreign) -> None:
    listed = repository.pytest("--collect-only", "-q", "tests/test_mine.py").stdout
    assert "test_drawn" in listed
    assert ".toml" not in listed
    assert "regressions" not in listed


def test_a_path_on_the_command_line(repository: Foreign) -> None:
    """Without xdist and randomly, and with no other test."""
    ran = repository.pytest(
        *(f"--relaxfuzz-corpus=regressions/{name}.py" for name in ("expected", "gone")),
        *("regressions/gone.py", "-p", "no:randomly"),
    )
    assert re.search(r"^regressions/gone\.py \.", ran.stdout, re.M), ran.stdout + ran.stderr
    assert re.search(r"^regressions/expected\.py x", ran.stdout, re.M)
    assert ran.returncode == 0


def test_a_path_that_is_not_there(repository: Foreign) -> None:
    ran = repository.pytest("--relaxfuzz-corpus=nowhere")
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    assert re.fullmatch(r"ERROR: relaxfuzz: no such file or folder: '.*/nowhere'\n\n?", ran.stderr)


def test_the_marker_is_explained(repository: Foreign) -> None:
    output = repository.pytest("--markers").stdout
    assert "@pytest.mark.relaxfuzz(oracles=[...], like='FuseOps'" in output
