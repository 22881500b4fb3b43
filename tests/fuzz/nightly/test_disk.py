"""The disk space of a store, and what is removed first."""

from __future__ import annotations

import dataclasses
import fcntl
import os
import time
from pathlib import Path

import pytest

from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.nightly.disk import AGED, parse_size, prune, size, used
from relaxfuzz.fuzz.user_input.errors import UserError
from relaxfuzz.oracles.violation import Violation


def finding(name: str, *, confirmed: bool, bytes: int = 50_000) -> Finding:
    return Finding(
        violation=Violation(name, "", (name,), oracle="crash", pass_name="FuseOps"),
        module="m" * bytes,
        versions={"tvm": "0.27.0"},
        confirmed=confirmed,
    )


def age(path: Path) -> None:
    past = time.time() - AGED - 60
    os.utime(path, (past, past))


def test_unconfirmed_findings_are_removed_oldest_first_and_confirmed_ones_never(
    tmp_path: Path,
) -> None:
    with Store(tmp_path / "out") as store:
        kept = store.publish(finding("kept", confirmed=True), "pass")
        for i in range(10):
            store.put(finding(f"met {i}", confirmed=False))
        before = used(store.folder)
        use = prune(store, before - 120_000)
        assert use.bytes <= before - 120_000
        assert 3 <= use.findings <= 5
        left = [each.title for each in store.findings(confirmed=False)]
        assert sorted(left) == [f"met {i}" for i in range(use.findings, 10)]
        assert f"{use.findings} unconfirmed findings dropped" in str(use)

        rest = prune(store, 1000)
        assert use.findings + rest.findings == 10
        assert rest.bytes > 1000
        assert "confirmed and stays" in str(rest)
        assert [each.title for each in store.findings()] == ["kept"]
        assert store.module(kept).is_file()
        assert store.reproducer(kept) is not None


def test_nothing_is_removed_below_the_limit(tmp_path: Path) -> None:
    with Store(tmp_path / "out") as store:
        store.put(finding("met", confirmed=False))
        use = prune(store, 10**9)
        assert (use.files, use.findings) == (0, 0)
        assert len(list(store.findings(confirmed=False))) == 1


def test_files_of_killed_processes_are_removed_but_not_those_of_running_ones(
    tmp_path: Path,
) -> None:
    with Store(tmp_path / "out") as store:
        kept = finding("kept", confirmed=True)
        store.put(kept)
        sourced = dataclasses.replace(kept, source="# a module")
        store.put(sourced)  # its JSON is not named any more
        unnamed = store.module(kept)
        part = store.folder / "modules" / ".abc.part"
        with part.open("w") as writing:
            fcntl.flock(writing, fcntl.LOCK_EX)
            assert prune(store, 10**9).files == 0, "somebody is about to rename it, or to name it"
        age(unnamed)
        age(store.module(sourced))
        assert prune(store, 10**9).files == 2
        assert not part.exists()
        assert not unnamed.exists()
        assert store.module(sourced).is_file()


@pytest.mark.parametrize(
    ("text", "bytes"),
    [("1GB", 10**9), ("500 mb", 5 * 10**8), ("1.5KB", 1500), ("7B", 7), ("1TB", 10**12)],
)
def test_sizes_are_read(text: str, bytes: int) -> None:
    assert parse_size(text) == bytes


@pytest.mark.parametrize("text", ["", "GB", "1", "0GB", "-1GB", "1 gigabyte", "1.GB"])
def test_invalid_sizes_are_refused(text: str) -> None:
    with pytest.raises(UserError, match="expected a size such as 500MB or 1GB but got"):
        parse_size(text)


def test_sizes_are_printed() -> None:
    assert [size(n) for n in (0, 999, 1_234_567, 2 * 10**9)] == ["0 B", "999 B", "1.23 MB", "2 GB"]
