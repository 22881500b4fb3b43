"""The lines of a pass that ran and that never ran, as people and tools read them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relaxfuzz.fuzz.report.lines import files, traces

from ...commands import relaxfuzz

SOURCE = '''\
def first(mod):
    """Docstring."""
    total = 0
    for each in mod:
        if each > 1:
            total += (
                each
            )
        else:
            pass
    return total


def second(mod):
    try:
        return mod[0]
    except IndexError:
        return None


class Visitor:
    def visit(self, node):
        return node
'''


def test_what_never_ran_is_named_by_its_first_line(tmp_path: Path) -> None:
    (file := tmp_path / "passes.py").write_text(SOURCE)
    (found,) = files({str(file): (3, 4, 5, 10, 11)})
    assert found.sentence == (
        f"{file}: 5 of 12 lines ran; never: 6-7 (`total += (`), 15-23 (`try:`)"
    )
    assert "DA:11,1\nDA:15,0" in traces([found])


@pytest.mark.session
def test_run_says_which_lines_never_ran(tmp_path: Path) -> None:
    (tmp_path / "keep.py").write_text(
        "import tvm\n\n\n@tvm.transform.module_pass(opt_level=0)\ndef keep(mod, ctx):\n"
        "    if len(mod.functions) > 1000:\n        return None\n    return mod\n"
    )
    words = ("run", "keep.py:keep", "--modules", 2, "--workers", 1, "--seed", 1, "--out", "out")
    done = relaxfuzz(*words, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    events = map(json.loads, done.stdout.splitlines())
    (event,) = [each for each in events if each["event"] == "lines"]
    assert (event["ran"], event["lines"]) == (2, 3)
    assert event["never"] == [{"first": 7, "last": 7, "text": "return None"}]
    assert "DA:7,0" in (tmp_path / "out" / "lines.info").read_text()
    relaxfuzz("report", "out", "--html", "report.html", cwd=tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert '<span class="never">    7          return None' in page
    assert '<span class="ran">    6      if len(mod.functions) &gt; 1000:' in page
