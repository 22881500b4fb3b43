"""What a killed search leaves on the disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.minimize.checkpoint import BadCheckpoint, Checkpoint, read
from relaxfuzz.fuzz.minimize.parallel import State
from relaxfuzz.fuzz.minimize.reduction import EditId
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Violation

REQUEST = {"the module": "abc", "--pass": ["FuseOps"], "--pipeline": None}
FINDING = Finding(
    violation=Violation("it fell", "far", ("a", "b"), "foo.cc:1").blame("crash", "Foo"),
    module="{}",
    versions={"tvm": "0.27.0"},
    calls=(PassCall("Foo(1)"),),
)
CHECKPOINT = Checkpoint(
    request=REQUEST,
    state=State(module='{"root": 1}', edit_id=EditId(3, 14), tried=15, accepted=9),
    finding=FINDING,
    seconds=2.5,
    flaky=True,
)


@pytest.mark.parametrize("finding", [FINDING, None])
def test_what_is_written_is_read(tmp_path: Path, finding: Finding | None) -> None:
    written = Checkpoint(request=REQUEST, state=CHECKPOINT.state, finding=finding)
    written.write(tmp_path / "out.state")
    assert read(tmp_path / "out.state", REQUEST) == written
    assert [path.name for path in tmp_path.iterdir()] == ["out.state"]


def test_another_request_is_refused_by_name(tmp_path: Path) -> None:
    CHECKPOINT.write(tmp_path / "out.state")
    other = {**REQUEST, "--pass": ["FuseTIR"]}
    with pytest.raises(BadCheckpoint, match=r"--pass was \['FuseOps'\] and is \['FuseTIR'\] now"):
        read(tmp_path / "out.state", other)


@pytest.mark.parametrize("text", ["", "no JSON", "[]", '{"format": 1}'])
def test_what_is_no_state_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "out.state").write_text(text)
    with pytest.raises(BadCheckpoint, match="is not the state of a minimization"):
        read(tmp_path / "out.state", REQUEST)


def test_another_format_is_refused(tmp_path: Path) -> None:
    CHECKPOINT.write(tmp_path / "out.state")
    data = json.loads((tmp_path / "out.state").read_text())
    (tmp_path / "out.state").write_text(json.dumps({**data, "format": 1}))
    with pytest.raises(BadCheckpoint, match="has format 1, this relaxfuzz reads 2"):
        read(tmp_path / "out.state", REQUEST)
