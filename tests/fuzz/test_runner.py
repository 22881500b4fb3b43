"""A file is executed as `python FILE` would, and whatever it does ends with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from relaxfuzz.fuzz.runner import HUNG, Runners


@pytest.fixture(scope="module")
def runners() -> Iterator[Runners]:
    runners = Runners()
    yield runners
    runners.close()


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("import tvm\ntvm.touched = True", 0, ""),
        ("import tvm\nassert not hasattr(tvm, 'touched')", 0, ""),
        ("raise KeyError('oh')", 1, "KeyError: 'oh'"),
        ("import sys\nsys.exit(5)", 5, ""),
        ("import sys\nsys.exit('no')", 1, ""),
        ("import os\nos._exit(7)", 7, ""),
        ("import os\nos.kill(os.getpid(), 11)", -11, ""),
        ("assert __name__ == '__main__'", 0, ""),
        ("import sys\nassert 'relaxfuzz.oracles' not in sys.modules", 0, ""),
        ("print('x' * 10**6)\nimport os\nos.write(1, b'99')", 0, ""),
        ("x = (", 1, "SyntaxError"),
    ],
)  # fmt: skip
def test_exit_codes(runners: Runners, tmp_path: Path, text: str, code: int, said: str) -> None:
    path = tmp_path / "file.py"
    path.write_text(text)
    result, stderr = runners.run(path, 60)
    assert (result, said in stderr) == (code, True), stderr


def test_after_a_hang_the_next_file_runs(runners: Runners, tmp_path: Path) -> None:
    hanging, quick = tmp_path / "hang.py", tmp_path / "quick.py"
    hanging.write_text("import time\ntime.sleep(600)")
    quick.write_text("raise SystemExit(3)")
    assert runners.run(hanging, 0.5)[0] == HUNG
    assert runners.run(quick, 60)[0] == 3


def test_a_neighbour_is_imported_from_beside_the_file(runners: Runners, tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("answer = 42")
    path = tmp_path / "file.py"
    path.write_text("import sys, neighbour\nsys.exit(neighbour.answer)")
    assert runners.run(path, 60)[0] == 42
