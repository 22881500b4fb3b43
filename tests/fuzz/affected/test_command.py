"""`relaxfuzz run --changed-since`."""

from __future__ import annotations

from pathlib import Path

import pytest

from ...commands import relaxfuzz
from .conftest import Repository

GRADIENT = "src/relax/transform/gradient.cc"


@pytest.mark.parametrize("command", [("run", "FuseOps"), ("nightly", "--pass", "FuseOps")])
def test_no_affected_pass_is_no_campaign(
    command: tuple[str, ...], repository: Repository, tmp_path: Path
) -> None:
    repository.edit(GRADIENT)
    done = relaxfuzz(
        *command, "--changed-since", "HEAD", "--tvm-source", repository.root,
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
