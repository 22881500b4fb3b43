"""Passes that misbehave, a few in a campaign with one that has a fault and one that has none.

Whatever they do, the campaign ends, each fault is reported for the pass itself or for no pass, the
findings of other passes stay the same, and nothing is left behind.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

PASSES = Path(__file__).with_name("passes.py")

MODULES = 3

TOGETHER = 4
"""Passes that misbehave in one campaign: with the two others, all are checked at each stage."""

MARK = "RELAXFUZZ_CHAOS"

SECONDS = 900
"""More than any campaign needs on a busy machine; less than for ever."""

_CONTROL = re.compile(r"[^\n\t -~\u00a0-\U0010ffff]")

NOTHING: frozenset[str] = frozenset()
CRASH = frozenset({"crash"})
EXIT = frozenset({"exit"})
HANG = frozenset({"hang"})
MEMORY = frozenset({"out-of-memory", "crash", "hang"})
"""Where memory is refused, a pass may raise; on a busy machine it does not even come to it."""
SIDE_EFFECT = frozenset({"side-effect"})

EXPECTED = {
    "segfault": frozenset({"segfault"}),
    "abort": frozenset({"abort"}),
    "divide": frozenset({"arithmetic-signal"}),
    "deaf_and_hung": HANG,
    "hang_in_c": HANG,
    "hang_in_python": HANG,
    "blocks_signals": SIDE_EFFECT,
    "handles_signals": SIDE_EFFECT,
    "sets_alarm": SIDE_EFFECT,
    "forks": NOTHING,
    "forks_and_leaves": NOTHING,
    "daemonizes": NOTHING,
    "starts_threads": NOTHING,
    "starts_threads_with_locks": NOTHING,
    "kills_parent": frozenset({"killed-parent"}),
    "kills_group": frozenset({"killed"}),
    "kills_itself": frozenset({"killed"}),
    "terminates_itself": frozenset({"killed"}),
    "kills_session": frozenset({"killed"}),
    "kills_siblings": frozenset({"killed"}),
    "closes_descriptors": SIDE_EFFECT,
    "closes_streams": SIDE_EFFECT | CRASH | {"repeatable"},  # it cannot close them twice
    "replaces_descriptors": SIDE_EFFECT,
    "opens_files": SIDE_EFFECT,
    "floods": NOTHING,
    "speaks_the_protocol": NOTHING,
    "replaces_stdout": SIDE_EFFECT,
    "closes_stdout": SIDE_EFFECT,
    "eats_numpy": MEMORY,
    "eats_cpp": MEMORY,
    "leaks": NOTHING,
    "exits_silently": EXIT,
    "exits": CRASH,
    "raises_system_exit": CRASH,
    "raises_interrupt": CRASH,
    "raises_base": CRASH,
    "raises_generator_exit": CRASH,
    "raises_mute": CRASH | {"segfault"},  # of TVM's, which asks for the text
    "raises_at_length": CRASH,
    "raises_escapes": CRASH | {"segfault"},  # of TVM's, by half a character
    "raises_out_of_memory": MEMORY,
    "recurses": CRASH,
    "recurses_without_limit": frozenset({"segfault", "crash", "out-of-memory", "hang"}),
    "changes_surroundings": SIDE_EFFECT | CRASH,
    "changes_directory": SIDE_EFFECT,
    "stops_the_clock": SIDE_EFFECT,
    "patches_json": SIDE_EFFECT,
    "patches_builtins": SIDE_EFFECT | EXIT,
    "patches_tvm": SIDE_EFFECT,
    "patches_relaxfuzz": SIDE_EFFECT,
    "overrides_functions": SIDE_EFFECT,
    "leaves_contexts": SIDE_EFFECT | CRASH,
    "deletes_temporary_files": NOTHING,
    "deletes_the_temporary_folder": NOTHING,
    "returns_none": CRASH,
    "returns_text": CRASH,
    "returns_generator": CRASH,
    "returns_function": CRASH,
    "returns_huge": frozenset({"functions", "signature", "hang", "out-of-memory", "evaluated"}),
    "returns_nested": frozenset({"segfault", "well-formed", "functions", "signature", "hang"}),
    "returns_cycle": frozenset({"mutation", "attributes", "segfault", "hang", "out-of-memory"}),
    "replaces_its_call": SIDE_EFFECT,
}
"""The oracles that may report each pass; at least one of them does, where there are any."""


@dataclass(frozen=True, slots=True)
class RelaxfuzzError:
    """What came of a campaign."""

    code: int
    findings: dict[tuple[str, str], set[str]]
    """Identities, by pass and oracle."""
    stdout: str
    stderr: str
    summary: dict[str, object]


def run(folder: Path, *names: str) -> subprocess.CompletedProcess[str]:
    """Run the command on a copy of the passes; see that it leaves nothing."""
    folder.mkdir(exist_ok=True)
    copy = Path(shutil.copy(PASSES, folder / "passes.py"))
    temporary = folder / "tmp"
    temporary.mkdir()
    mark = uuid.uuid4().hex
    done = subprocess.run(
        [sys.executable, "-m", "relaxfuzz.fuzz.cli", "run"]
        + [f"{copy}:{name}" for name in names]
        + ["--modules", str(MODULES), "--seed", "0", "--workers", "2", "--json", "--out", "out"],
        cwd=folder,
        env={
            **os.environ,
            MARK: mark,
            "TMPDIR": str(temporary),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert _left(mark) == []
    assert list(temporary.iterdir()) == []
    return done


def campaign(folder: Path, *names: str) -> RelaxfuzzError:
    """Run the command and parse its output."""
    done = run(folder, *names)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    findings: dict[tuple[str, str], set[str]] = {}
    for event in events:
        if event["event"] == "finding":
            assert event["confirmed"]
            identity = json.dumps(event["identity"])
            findings.setdefault((event["pass"], event["oracle"]), set()).add(identity)
            assert not _CONTROL.search(event["title"])
    return RelaxfuzzError(done.returncode, findings, done.stdout, done.stderr, events[-1])


def _left(mark: str) -> list[str]:
    left = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                left.append(" ".join(process.cmdline()))
                process.kill()
        except psutil.Error:
            continue
    return left


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> RelaxfuzzError:
    """A campaign of the two others alone."""
    result = campaign(tmp_path_factory.mktemp("undisturbed") / "work", "innocent", "spotless")
    assert result.code == 1
    assert {name for name, _ in result.findings} == {"innocent"}
    return result


def _groups() -> list[list[str]]:
    """The passes by fours, such as are alike in different ones."""
    names = list(EXPECTED)
    count = math.ceil(len(names) / TOGETHER)
    return [names[start::count] for start in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("names", _groups(), ids="+".join)
def test_passes_that_misbehave(
    names: list[str], tmp_path: Path, undisturbed: RelaxfuzzError
) -> None:
    result = campaign(tmp_path / "work", *names, "innocent", "spotless")
    assert result.code == 1, result.stderr[-2000:]
    assert "fault of relaxfuzz" not in result.stderr
    assert not _CONTROL.search(result.stdout + result.stderr)
    others = {who: what for who, what in result.findings.items() if who[0] not in names}
    assert others == undisturbed.findings
    for name in names:
        oracles = {oracle for who, oracle in result.findings if who == name}
        assert oracles <= EXPECTED[name], name
        assert bool(oracles) == bool(EXPECTED[name]), name


@pytest.mark.slow
def test_a_pass_that_deletes_its_source(tmp_path: Path) -> None:
    done = run(tmp_path / "work", "deletes_its_source", "innocent")
    assert done.returncode == 2, done.stderr[-2000:]
    _, line = done.stderr.splitlines()
    assert "passes.py:" in line
    assert "FileNotFoundError" in line


def test_every_pass_has_an_expectation() -> None:
    text = PASSES.read_text(encoding="utf-8")
    named = set(re.findall(r"^@_(?:does|returns)\ndef (\w+)", text, re.MULTILINE))
    assert named == {*EXPECTED, "deletes_its_source"}
