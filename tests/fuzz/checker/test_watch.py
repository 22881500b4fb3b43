"""`relaxfuzz watch`: the program runs as usual, and the faults of its passes are reported."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from relaxfuzz.fuzz.checker import log
from relaxfuzz.fuzz.checker.watch import run
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.session.silences import NOTHING_COMPARED
from relaxfuzz.fuzz.user_input.settings import Settings
from relaxfuzz.fuzz.user_input.unnamed_pass import UnnamedPass
from relaxfuzz.oracles.passcall import PassCall

FAULTS = Path(__file__).with_name("build_faults.py")

Watch = Callable[..., int]


@pytest.fixture
def watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Runs a program of this text beside the faulty passes; the exit code."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "build_faults.py").write_text(FAULTS.read_text())

    def watched(text: str, *args: str, as_module: bool = False) -> int:
        (tmp_path / "program.py").write_text(textwrap.dedent(text))
        name = "program" if as_module else "program.py"
        return run(name, args, Settings(out=tmp_path / "out"), as_module=as_module)

    return watched


SELF = """
import json, pickle, sys, __main__
class Own: pass
pickle.loads(pickle.dumps(Own()))
names = ("__name__", "__file__", "__doc__", "__package__")
state = {name: globals()[name] for name in names}
state |= {"argv": sys.argv, "path": sys.path[0], "main": __main__.Own is Own}
print(json.dumps(state))
sys.exit(7)
"""


def test_a_program_is_run_as_python_runs_it(
    watch: Watch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It imports no TVM: then nothing else is imported before it either."""
    code = watch(f"import sys\nassert 'tvm' not in sys.modules\n{SELF}", "--flag", "x")
    out, err = capfd.readouterr()
    assert code == 7
    plain = subprocess.run(
        [sys.executable, "program.py", "--flag", "x"], cwd=tmp_path, capture_output=True, text=True
    )
    assert plain.returncode == 7
    assert json.loads(out) == json.loads(plain.stdout)
    assert "no pass ran; the program ended with exit code 7" in err


def test_a_program_in_which_no_pass_runs_has_a_code_of_its_own(watch: Watch) -> None:
    assert watch("print('no build')") == NOTHING_COMPARED


def test_a_module_is_run_as_python_runs_it(
    watch: Watch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert watch(SELF, "x", as_module=True) == 7
    out, _ = capfd.readouterr()
    command = [sys.executable, "-m", "program", "x"]
    plain = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert json.loads(out) == json.loads(plain.stdout)


def test_an_exception_is_shown_as_python_shows_it(
    watch: Watch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert watch("def f():\n    raise ValueError('mine')\nf()") == 1
    _, err = capfd.readouterr()
    plain = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert err.startswith(plain.stderr)


@pytest.mark.session
def test_every_context_of_every_thread_is_watched(
    watch: Watch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code = watch("""
        import threading
        import tvm
        from tvm import relax
        from tvm.ir.instrument import pass_instrument
        import build_faults

        @pass_instrument
        class Lists:
            def run_after_pass(self, mod, info):
                print("ran", info.name, flush=True)

        def in_no_context():
            build_faults.AddsParameter()(build_faults.model())

        def in_a_context():
            with tvm.transform.PassContext(instruments=[Lists()]) as context:
                build_faults.RenamesMain()(build_faults.model())
                context.override_instruments([])
                build_faults.LosesBinding()(build_faults.model())

        for work in (in_no_context, in_a_context):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        relax.build(build_faults.model(), "llvm")
        """)
    out, err = capfd.readouterr()
    assert code == 1
    assert "ran RenamesMain" in out
    files = sorted(path.name for path in (tmp_path / "out" / "reproducers").iterdir())
    assert [name.split("-")[0] for name in files] == [
        "AddsParameter",
        "LosesBinding",
        "RenamesMain",
    ]
    assert "the program ended with exit code 0" in err


@pytest.mark.session
def test_a_pass_that_no_other_process_can_import_is_in_the_store(
    watch: Watch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code = watch("""
        import tvm
        from build_faults import AddsParameter, model

        def main():
            @tvm.transform.module_pass(opt_level=0)
            def own(mod, context):
                return AddsParameter().transform_module(mod, context)

            own(model())

        main()
        """)
    _, err = capfd.readouterr()
    assert code == 1
    assert "placeholder for the pass" in err
    assert "\\n" not in err
    with Store(tmp_path / "out") as store:
        (finding,) = store.findings()
        assert (finding.pass_name, finding.oracle) == ("own", "signature")
        file = store.reproducer(finding)
    assert file is not None
    assert "put your pass 'own' here" in file.read_text()


@pytest.mark.session
def test_a_death_is_put_down_to_the_pass_that_ran(
    watch: Watch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code = watch("""
        from tvm import relax
        from build_faults import Dereferences, model, pipeline

        relax.build(model(), "llvm", relax_pipeline=pipeline(Dereferences()))
        """)
    _, err = capfd.readouterr()
    assert code == 1
    assert "Dereferences (in my_pipeline > sequential > sequential): segmentation fault" in err
    assert "the program died of SIGSEGV" in err
    (file,) = (tmp_path / "out" / "reproducers").iterdir()
    died = subprocess.run([sys.executable, file], capture_output=True)
    assert died.returncode == -11


CATCHES = """
import contextlib
from build_faults import Raises, SubtractsForAdds, model

with contextlib.suppress(KeyError):
    Raises()(model())
"""


@pytest.mark.session
def test_an_exception_that_the_program_catches_is_listed_apart(
    watch: Watch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert watch(CATCHES) == 0
    err = capfd.readouterr().err
    assert "caught by the program:\n  Raises: KeyError" in err
    assert watch(f"{CATCHES}\nSubtractsForAdds()(model())\nRaises()(model())") == 1
    err = capfd.readouterr().err
    assert "caught by the program" not in err, "the second one was not caught"
    with Store(tmp_path / "out") as store:
        found = {(each.pass_name, each.oracle) for each in store.findings()}
    assert found == {("Raises", "crash"), ("SubtractsForAdds", "evaluated")}, "values by default"


def test_a_program_that_is_stopped_dies_of_no_pass(
    watch: Watch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code = watch("""
        import os, signal
        import tvm
        from build_faults import model

        @tvm.transform.module_pass(opt_level=0)
        def stopped(mod, context):
            os.kill(os.getpid(), signal.SIGTERM)
            return mod

        stopped(model())
        """)
    assert code == 128 + 15
    assert "the program died of SIGTERM" in capfd.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_death_outside_of_passes_is_the_programs_own(
    watch: Watch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert watch("import ctypes\nctypes.string_at(8)") == 128 + 11
    assert "the program died of SIGSEGV" in capfd.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_log_names_the_passes_that_were_running(tmp_path: Path) -> None:
    written = log.Log(tmp_path)
    written.begins("outer", "outer", UnnamedPass("outer()"), "{}")
    written.begins("inner", "inner (in outer)", PassCall("ToNonDataflow()", {"a": 1}), "{1}")
    assert log.running(tmp_path) == [
        log.LoggedPass("inner", "inner (in outer)", PassCall("ToNonDataflow()", {"a": 1}), "{1}")
    ]
    written.ends()
    written.begins("other", "other (in outer)", PassCall("other()", factory="m:other"), "")
    written.ends()
    assert log.running(tmp_path) == [log.LoggedPass("outer", "outer", UnnamedPass("outer()"), "{}")]
    written.ends()
    assert log.running(tmp_path) == []
    assert (tmp_path / log.PASSES).stat().st_size == 0


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    written = log.Log(tmp_path)
    written.begins("outer", "outer", UnnamedPass("outer()"), "")
    with (tmp_path / log.PASSES).open("a") as file:
        file.write('[1, "inn')
    assert [last.name for last in log.running(tmp_path)] == ["outer"]
