"""`relaxfuzz minimize`, as a user meets it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from relaxfuzz.compat.release import versions
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.fuzz.cli import app
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.loading import read_module
from relaxfuzz.fuzz.minimize import session
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.user_input.module_file import execute
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.inspect import bindings_of, ops_used
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case
from tests.fuzz.sharing import probe_here, share_pool

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
COMMAND = [sys.executable, "-m", "relaxfuzz.fuzz.cli", "minimize"]

MODULE = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.add(a, y)
            c = R.multiply(b, y)
            d = R.sin(c)
            e = R.multiply(d, y)
            R.output(e)
        return e
"""

USER = '''
import time

import tvm


def _pass(name, transform):
    return tvm.transform.module_pass(transform, opt_level=0, name=name)


def two_faults():
    """Raises with `add`; without it, `exp` raises something else."""

    def transform(mod, context):
        text = mod.script()
        if "R.add" in text:
            raise ValueError("no add")
        if "R.exp" in text:
            raise KeyError("no exp")
        return mod

    return _pass("two_faults", transform)


def slow():
    def transform(mod, context):
        time.sleep(0.1)
        if "R.add" in mod.script():
            raise ValueError("no add")
        return mod

    return _pass("slow", transform)


def sometimes():
    """The sixth run and those after it do not raise, in any process."""

    def transform(mod, context):
        with open(__file__ + ".runs", "a") as file:
            file.write("x")
            runs = file.tell()
        if "R.add" in mod.script() and runs < 6:
            raise ValueError("no add")
        return mod

    return _pass("sometimes", transform)

'''


@pytest.fixture(autouse=True)
def files(tmp_path: Path, pool: LocalPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both; `test_redacted` minimizes with a pool of the command's own."""
    share_pool(monkeypatch, pool, read_module, session)
    probe_here(monkeypatch)
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(MODULE)
    Path("user.py").write_text(USER)


def relaxfuzz(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["minimize", *map(str, arguments)])


def ops(path: str) -> tuple[int, set[str]]:
    mod = execute(Path(path))
    return len(bindings_of(mod)), ops_used(mod)


def fails(path: str) -> bool:
    done = subprocess.run([sys.executable, path], capture_output=True, env=ENVIRONMENT)
    return done.returncode == 1 and b"no add" in done.stderr


def alone() -> set[str]:
    return {path.name for path in Path().iterdir()} - {
        "model.py",
        "user.py",
        "__pycache__",
        ".hypothesis",
    }


# Mistakes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["model.py"], "expected --pass, --pipeline or --predicate"),
        (["gone.py", "--pass", "FuseOps"], "no module file 'gone.py'"),
        (["model.py", "--pass", "FuseOp"], "'FuseOps'"),
        (["model.py", "--pass", "FuseOps", "--pipeline", "zero"], "got both"),
        (["model.py", "--pipeline", "defualt"], "'default'"),
        (["model.py", "--pass", "FuseOps", "--oracle", "crsh"], "'crash'"),
        (
            ["model.py", "--pass", "FuseOps", "--predicate", "true"],
            "goes without --pass",
        ),
        (["model.py", "--predicate", "true", "--format", "issue"], "--format issue"),
        (["model.py", "--predicate", "sh -c 'true"], "No closing quotation"),
        (["model.py", "--predicate", "no-such-command"], "cannot be started"),
        (["model.py", "--predicate", "sh -c 'echo boring >&2; exit 4'"], "exit code 4, boring"),
        (["model.py", "--pass", "FuseOps", "--format", "isue"], "'issue'"),
        (["model.py", "--pass", "FuseOps", "--budget", "soon"], "60s, 5m or 1h"),
        (["model.py", "--pass", "FuseOps", "--out", "no/where.py"], "no folder 'no'"),
    ],
)
def test_a_mistake_gets_one_sentence_and_exit_2(arguments: list[str], message: str) -> None:
    result = relaxfuzz(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert alone() == set()


# What comes out


def test_a_module_and_passes() -> None:
    passes = ("ToNonDataflow", "user.py:two_faults", "DeadCodeElimination")
    named = [word for name in passes for word in ("--pass", name)]
    result = relaxfuzz("model.py", *named, "--json")
    assert result.exit_code == 1, result.output
    *steps, last = map(json.loads, result.stdout.splitlines())
    assert {step["event"] for step in steps} == {"smaller"}
    assert (last["event"], last["path"]) == ("minimized", "model-minimized.py")
    assert last["before"] == {"bindings": 5, "functions": 1}
    assert (last["bindings"], last["functions"]) == (1, 1)
    assert (last["ended"], last["flaky"]) == (True, False)
    assert last["calls"] == ["two_faults()"]
    assert steps[-1]["accepted"] == last["accepted"] > 0
    assert ops("model-minimized.py") == (1, {"relax.add"})
    assert fails("model-minimized.py")
    assert alone() == {"model-minimized.py"}


def test_a_finding_of_a_store_gets_smaller_there() -> None:
    call = PassCall("two_faults()", factory=f"{Path('user.py').resolve()}:two_faults")
    (violation,) = check(Case(execute(Path("model.py")), (call,)))
    module = save_json(execute(Path("model.py")))
    finding = Finding(
        violation=violation, module=module, versions=versions(), calls=(call,), confirmed=True
    )
    with Store(Path("out")) as store:
        store.put(finding)
    result = relaxfuzz(f"out/{finding.id[:4]}", "--format", "issue")
    assert result.exit_code == 1, result.output
    text = Path(f"{finding.id}-minimized.md").read_text()
    assert text.startswith("# ")
    assert "two_faults: ValueError: no add" in text
    assert "```python" in text
    with Store(Path("out"), create=False) as store:
        kept = store.get(finding.id)
    assert kept is not None
    assert (kept.reduced, kept.confirmed) == (True, True)
    assert len(bindings_of(load_json(kept.module))) == 1
    # A finding brings its own pass, and a folder of them is none.
    assert relaxfuzz(f"out/{finding.id}", "--pass", "FuseOps").exit_code == 2
    assert relaxfuzz("out").exit_code == 2


def test_a_predicate() -> None:
    Path("still.py").write_text("import sys\nsys.exit('op.add(' not in open(sys.argv[1]).read())\n")
    command = f"{sys.executable} still.py {{}}.py"
    result = relaxfuzz("model.py", "--predicate", command, "--workers", 2, "--json")
    assert result.exit_code == 0, result.output
    last = json.loads(result.stdout.splitlines()[-1])
    assert (last["bindings"], last["ended"]) == (1, True)
    assert ops("model-minimized.py") == (1, {"relax.add"})
    assert alone() == {"model-minimized.py", "still.py"}


# What ends it before its time


def begin(*arguments: str, accepted: int) -> subprocess.Popen[str]:
    """Run the command until so many candidates were accepted."""
    process = subprocess.Popen(
        [*COMMAND, *arguments, "--json", "--budget", "5m"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line)["accepted"] >= accepted:
            break
    return process


def test_the_result_of_an_unfinished_search_can_be_minimized() -> None:
    first = relaxfuzz("model.py", "--predicate", "grep -q relax.add", "--budget", "0.001s")
    assert first.exit_code == 0, first.output
    assert "Not finished: the budget is used up; minimize the result to go on." in first.stdout
    result = relaxfuzz("model-minimized.py", "--predicate", "grep -q relax.add")
    assert result.exit_code == 0, result.output
    assert ops("model-minimized-minimized.py") == (1, {"relax.add"})


@pytest.mark.session
def test_a_killed_search_leaves_the_smallest_module() -> None:
    process = begin("model.py", "--pass", "user.py:slow", accepted=1)
    process.kill()
    process.communicate()
    left, used = ops("model-minimized.py")
    assert left < 5
    assert "relax.add" in used


@pytest.mark.session
def test_ctrl_c_leaves_what_was_reached() -> None:
    process = begin("model.py", "--pass", "user.py:slow", accepted=1)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    last = json.loads(out.splitlines()[-1])
    assert (last["event"], last["ended"]) == ("minimized", False)
    assert last["bindings"] < 5
    assert fails("model-minimized.py")
    assert time.monotonic() - began < 120
