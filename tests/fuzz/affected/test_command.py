"""`relaxfuzz run --changed-since`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ...commands import relaxfuzz
from .conftest import Repository

GRADIENT = "src/relax/transform/gradient.cc"


@pytest.mark.session
def test_a_change_of_one_pass_is_a_campaign_on_that_pass(
    repository: Repository, tmp_path: Path
) -> None:
    repository.edit("src/relax/transform/normalize.cc", "0,", "1,")
    done = relaxfuzz(
        "run", "--changed-since", "v0.27.0", "--tvm-source", repository.root / "src",
        "--modules", 16, "--seed", 1, "--workers", 1, "--json", "--out", tmp_path / "out",
    )  # fmt: skip
    assert "Normalize: src/relax/transform/normalize.cc" in done.stderr
    assert ": 1 pass on 16 modules" in done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode in (0, 1)
    assert events, "the campaign has run"


def test_no_affected_pass_is_no_campaign(repository: Repository, tmp_path: Path) -> None:
    repository.edit(GRADIENT, "0,", "1,")
    done = relaxfuzz(
        "run", "FuseOps", "--changed-since", "HEAD", "--tvm-source", repository.root,
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert done.returncode == 0
    assert f"Gradient: {GRADIENT}" in done.stderr
    assert done.stderr.endswith("nothing to fuzz: the change affects no pass that was asked for\n")
    assert not (tmp_path / "out").exists()


def test_a_mistake_ends_with_a_sentence(repository: Repository) -> None:
    done = relaxfuzz("run", "--changed-since", "mian", "--tvm-source", repository.root)
    assert done.returncode == 2
    assert done.stderr.startswith("error: --changed-since 'mian': no commit, branch or tag of ")
    assert done.stderr.endswith("Did you mean 'main'?\n")
    done = relaxfuzz("run", "--tvm-source", repository.root)
    assert (done.returncode, done.stderr) == (
        2,
        "error: --tvm-source is the checkout for --changed-since, which is not given\n",
    )
