"""A mistake in a call is found before TVM is imported, in the words that are used afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from relaxfuzz.fuzz.loading.targets import calls_of, oracles_of
from relaxfuzz.fuzz.system.errors import UserError
from relaxfuzz.fuzz.user_input import vocabulary

PROGRAM = """
import sys
from relaxfuzz.fuzz.cli import main
try:
    main()
except SystemExit as end:
    assert "tvm" not in sys.modules, "TVM was imported"
    sys.exit(end.code)
"""


def command(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own; it fails where TVM was imported."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment,
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "FuseOpps"), "No pass 'FuseOpps' in tvm.relax.transform. Did you mean 'FuseOps'?"),
        (("run", "FuseOps", "--oracle", "crsh"), "no oracle 'crsh'. Did you mean 'crash'?"),
        (("run", "--budget", "5x"), "expected a budget such as 60s, 5m or 1h"),
        (("run", "nofile.py:make"), "No file 'nofile.py' for the pass 'nofile.py:make'"),
        (("check", "nofile.json"), "no module file 'nofile.json'"),
        (("minimize", "x.json", "--pass", "FuseOps(1)", "--pass", "Fuse"), "No pass 'Fuse'"),
        (("run", "--budgt", "5s"), "No such option: --budgt"),
    ],
)
def test_a_mistake_is_found_without_tvm(
    words: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    oracles_of(())  # as any command before
    done = command(*words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "TVM was imported" not in done.stderr


@pytest.mark.parametrize("spelling", ["FuseOpps", "FuseOpps(2)", "fuseops"])
def test_the_message_is_that_of_the_catalogue(spelling: str) -> None:
    with pytest.raises(UserError) as late:
        calls_of({spelling: None})
    with pytest.raises(UserError) as early:
        vocabulary.check(passes=[spelling])
    assert str(early.value) == str(late.value)
    with pytest.raises(UserError) as late:
        oracles_of((spelling,))
    with pytest.raises(UserError) as early:
        vocabulary.check(oracles=[spelling])
    assert str(early.value) == str(late.value)


@pytest.mark.parametrize(
    "spelling",
    [
        "FuseOps",
        "FuseOps(fuse_opt_level=2)",
        "tirx.UnrollLoop",
        f"{__file__}:make",
        "pkg.mod:Own",
        "(",
    ],
)
def test_what_may_be_a_pass_is_left_to_the_catalogue(spelling: str) -> None:
    oracles_of(())
    vocabulary.check(passes=[spelling], oracles=["all"])
