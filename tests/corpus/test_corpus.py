"""Every file of the corpus says what it shows, and shows it on the installed TVM."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tvm

from relaxfuzz import corpus
from relaxfuzz.fuzz import reproducer


@pytest.mark.parametrize("path", corpus.reproducers(), ids=lambda path: path.stem)
def test_it_fails_as_it_says(path: Path) -> None:
    claimed = corpus.header(path)["tvm"]
    if f"fails on {tvm.__version__}" not in claimed:
        pytest.skip(f"it says nothing of TVM {tvm.__version__}: {claimed}")
    code, stderr = reproducer.run(path)
    assert code != 0, f"{path.name} no longer fails"
    # A file that cannot even build its module shows nothing; signals leave no traceback.
    assert code < 0 or "hang" in path.name or reproducer.prepared(path, stderr), stderr


def test_every_reproducer_has_a_verdict() -> None:
    verdicts = (corpus.FOUND.parent / "VERDICTS.md").read_text(encoding="utf-8")
    missing = [p.name for p in corpus.reproducers() if f"corpus/found/{p.name}" not in verdicts]
    assert not missing


@pytest.mark.parametrize("path", corpus.reproducers(), ids=lambda path: path.stem)
def test_its_fingerprint_is_judged(path: Path) -> None:
    """The verdicts name what relaxfuzz says of the file; so it is known when it comes again."""
    fields = corpus.header(path)
    assert json.loads(fields["fingerprint"])[0] == fields["oracle"]
    verdicts = (corpus.FOUND.parent / "VERDICTS.md").read_text(encoding="utf-8")
    # A bar inside of a cell of a Markdown table is escaped.
    assert f"| `{fields['fingerprint'].replace('|', chr(92) + '|')}` |" in verdicts


def test_a_header_without_a_field_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text("# pass: FuseOps\n")
    with pytest.raises(ValueError, match="oracle"):
        corpus.header(file)
