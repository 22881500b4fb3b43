"""The profile of a campaign: what counts for which part, and that the parts exist."""

from __future__ import annotations

import importlib.util
import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from bench.profile import PARTS, profile, show

WORKER = (
    'process 7:"python";main (relaxfuzz/fuzz/process/worker.py:140)'
    ";run_block (relaxfuzz/fuzz/process/block.py:172)"
)
ORACLE = ";Oracle.violations (relaxfuzz/oracles/oracle.py:123);{} (relaxfuzz/oracles/{}:9)"
PASS = ";Pass.__call__ (tvm/ir/transform.py:161)"


def test_shares_count_what_is_on_the_stack() -> None:
    shares = profile(
        [
            f"{WORKER}{ORACLE.format('check', 'structural/crash.py')}{PASS} 3",
            f"{WORKER}{ORACLE.format('evaluated', 'values/evaluated.py')} 1",
            f"{WORKER};example (relaxfuzz/fuzz/campaign/draw.py:50) 1",
            f"{WORKER};step (relaxfuzz/generators/stages.py:257){PASS} 1",
            f"{WORKER};in_fork (relaxfuzz/oracles/execute/fork.py:65) 100",
            'process 7:"python";main (relaxfuzz/fuzz/process/worker.py:140);minimize (x.py:1) 2',
            'process 8:"python";main (relaxfuzz/fuzz/process/zygote.py:419) 4',
        ]
    )
    assert shares["processes"] == {"checks": 6, "triage": 2, "driver and zygote": 4}
    assert shares["parts"]["TVM's passes"] == 4 / 6
    assert shares["parts"]["advancing to a stage"] == 1 / 6
    assert shares["parts"]["generation"] == 1 / 6
    assert shares["oracles"] == {"crash": 3 / 6, "evaluated": 1 / 6}


def test_shares_are_shown_beside_the_last_ones() -> None:
    now, last = (profile([f"{WORKER}{PASS} {n}", f"{WORKER} 2"]) for n in (6, 2))
    text = io.StringIO()
    show(now, last, Console(file=text, width=100))
    assert re.search(r"TVM's passes +75.0% +50.0%", text.getvalue())


@pytest.mark.parametrize(
    ("function", "file"), [frame for frames in PARTS.values() for frame in frames], ids=str
)
def test_each_function_that_is_looked_for_exists(function: str, file: str) -> None:
    spec = importlib.util.find_spec(file.removesuffix(".py").replace("/", "."))
    assert spec is not None
    assert spec.origin is not None
    assert re.search(rf"\bdef {function.rpartition('.')[2]}\b", Path(spec.origin).read_text())


def test_a_command_with_line_breaks_does_not_end_the_stack() -> None:
    shares = profile(['process 9:"python -c import os', 'import sys";main (x.py:1) 5'])
    assert shares["processes"] == {"driver and zygote": 5}
