"""`replay` reports what still fails, what is gone, and what cannot be run."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import tvm

from relaxfuzz.compat import availability
from relaxfuzz.compat.availability import Availability
from relaxfuzz.fuzz import reproducer
from relaxfuzz.fuzz.cli.replay import replay as command
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.jobs.asking import check
from relaxfuzz.fuzz.jobs.jobs import Check
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.reproducer.replay import ReplayItem, ReplayStatus, failure, items, replay
from relaxfuzz.fuzz.user_input.settings import Settings
from relaxfuzz.oracles.passcall import PassCall
from tests.fuzz.changed import changed

USER = Path(__file__).parents[1] / "user_passes.py"


@pytest.fixture(scope="module")
def finding(pool: LocalPool, sums: str) -> Finding:
    call = PassCall("marks()", factory=f"{USER}:marks")
    violation = check(pool, Check(module=sums, calls=(call,)))[0]
    return Finding(
        violation=violation,
        module=sums,
        source=reproducer.source_of(sums),
        calls=(call,),
        versions={"tvm": tvm.__version__},
        confirmed=True,
    )


def statuses(path: Path, pool: LocalPool) -> list[ReplayStatus]:
    return [replay(item, pool).status for item in items(path)]


def test_a_folder_and_one_finding_of_it(pool: LocalPool, finding: Finding, tmp_path: Path) -> None:
    fixed = changed(finding, key=("another bug",), oracle="evaluated")
    with Store(tmp_path) as store:
        store.put(finding)
        store.put(fixed)
    assert sorted(statuses(tmp_path, pool)) == [ReplayStatus.GONE, ReplayStatus.FAILS]
    assert statuses(tmp_path / finding.id, pool) == [ReplayStatus.FAILS]
    assert statuses(tmp_path / fixed.id, pool) == [ReplayStatus.GONE]


def test_what_is_off_on_this_tvm_is_named(pool: LocalPool, finding: Finding) -> None:
    before = availability.current()
    availability.use(Availability(oracles={finding.oracle: "it fails"}))
    try:
        outcome = replay(ReplayItem(Path(), finding), pool)
    finally:
        availability.use(before)
    assert outcome.status is ReplayStatus.BROKEN
    assert f"oracle {finding.oracle} is not available on this TVM: it fails" in outcome.message


def test_a_reproducer(pool: LocalPool, finding: Finding, tmp_path: Path) -> None:
    text = next(reproducer.texts(finding))
    for name, content, status in (
        ("fails.py", text, ReplayStatus.FAILS),
        ("gone.py", text.replace("marks']()", "correct']()"), ReplayStatus.GONE),
        (
            "broken.py",
            text.replace("import tvm\n", "import no_such_module, tvm\n"),
            ReplayStatus.BROKEN,
        ),
    ):
        path = tmp_path / name
        path.write_text(content)
        assert statuses(path, pool) == [status], name


def test_a_module_that_does_not_load_is_reported(
    pool: LocalPool, finding: Finding, tmp_path: Path
) -> None:
    with Store(tmp_path) as store:
        store.put(dataclasses.replace(finding, source="", module="not JSON"))
    (item,) = items(tmp_path)
    outcome = replay(item, pool)
    assert outcome.status is ReplayStatus.BROKEN
    assert "does not load" in outcome.message


HEADER = """\
# pass: FuseOps
# oracle: crash
# tvm: {tvm}
# fails with: {fails_with}
# promise: none
"""
CHECK = "Check failed: (it != end)"
FAILS = f"fails on {tvm.__version__}"
FIXED = f"fails on 0.1.0; fixed in {tvm.__version__}"


@pytest.mark.parametrize(
    ("body", "claim", "fails_with", "status"),
    [
        ('raise ValueError("no lv12 in [1, 2]")', FAILS, "ValueError", ReplayStatus.AS_EXPECTED),
        (
            f'raise ValueError("{CHECK} is false: no lv12")',
            FAILS,
            "ValueError",
            ReplayStatus.AS_EXPECTED,
        ),
        (
            *(f'raise ValueError("{CHECK} is false: no lv12")', FAILS),
            *(f"ValueError: {CHECK}", ReplayStatus.AS_EXPECTED),
        ),
        (
            *('raise ValueError("Check failed: (n > 0) is false: no lv12")', FAILS),
            *(f"ValueError: {CHECK}", ReplayStatus.CHANGED),
        ),
        ('raise ValueError("no")', FAILS, f"ValueError: {CHECK}", ReplayStatus.CHANGED),
        ('raise TypeError("no")', FAILS, "ValueError", ReplayStatus.CHANGED),
        ("os.kill(os.getpid(), 11)", FAILS, "SIGSEGV", ReplayStatus.AS_EXPECTED),
        ("os.kill(os.getpid(), 6)", FAILS, "SIGSEGV", ReplayStatus.CHANGED),
        (
            "import faulthandler, time; "
            "faulthandler.dump_traceback_later(0.1, exit=True); time.sleep(60)",
            FAILS,
            "hang",
            ReplayStatus.AS_EXPECTED,
        ),
        ("pass", FAILS, "ValueError", ReplayStatus.FIXED),
        ("pass", "fails on 0.1.0", "ValueError", ReplayStatus.FIXED),
        ("pass", FIXED, "ValueError", ReplayStatus.PASSES),
        ('raise ValueError("no")', FIXED, "ValueError", ReplayStatus.CHANGED),
        ('raise ValueError("no")', "fails on 0.1.0", "ValueError", ReplayStatus.AS_EXPECTED),
    ],
)
def test_a_file_of_a_corpus(
    pool: LocalPool, tmp_path: Path, body: str, claim: str, fails_with: str, status: ReplayStatus
) -> None:
    path = tmp_path / "one.py"
    header = HEADER.format(tvm=claim, fails_with=fails_with)
    path.write_text(f'{header}\nimport os\n\nif __name__ == "__main__":\n    {body}\n')
    assert statuses(path, pool) == [status]


def test_a_file_of_a_corpus_that_cannot_be_run(pool: LocalPool, tmp_path: Path) -> None:
    header = HEADER.format(tvm=FIXED, fails_with="ValueError")
    (tmp_path / "one.py").write_text(
        f'{header}\nimport nothing\n\nif __name__ == "__main__":\n    1\n'
    )
    assert statuses(tmp_path, pool) == [ReplayStatus.BROKEN]


@pytest.mark.parametrize(
    ("code", "stderr", "message"),
    [
        (0, "whatever", None),
        (-11, "", "SIGSEGV"),
        (1, "Timeout (0:00:15)!\nThread 0x1:\n", "hang"),
        (3, "", "exit code 3"),
        (
            1,
            'Traceback (most recent call last):\n  File "x"\n    a: B\na.b.E: x7 is\n',
            "E",
        ),
        (
            1,
            "Traceback (most recent call last):\nE: 1\n\nTraceback (most recent call last):\nF\n",
            "F",
        ),
        (1, f"Traceback (most recent call last):\nE: {CHECK} is false: no x7\n", f"E: {CHECK}"),
        (
            *(1, "Traceback (most recent call last):\nE: Check failed: a == b (3 vs. 1) : no\n"),
            "E: Check failed: a == b",
        ),
        (
            *(1, "Traceback (most recent call last):\nE: \nno\n\nCheck failed: a.f() is false\n"),
            "E: Check failed: a.f()",
        ),
    ],
)
def test_the_message_of_a_failure(code: int, stderr: str, message: str | None) -> None:
    assert failure(code, stderr) == message


@pytest.mark.parametrize(
    ("bodies", "code", "summary"),
    [
        ({"a": 'raise ValueError("no")'}, 0, "1 fails as expected"),
        ({"a": 'raise ValueError("no")', "b": "pass"}, 1, "1 fails as expected, 1 fixed"),
        ({"a": 'raise TypeError("no")'}, 1, "1 changed"),
    ],
)
def test_the_command(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    bodies: dict[str, str],
    code: int,
    summary: str,
) -> None:
    for name, body in bodies.items():
        header = HEADER.format(tvm=FAILS, fails_with="ValueError")
        (tmp_path / f"{name}.py").write_text(f'{header}\nif __name__ == "__main__":\n    {body}\n')
    assert command(Settings(workers=1), [tmp_path]) == code
    assert capsys.readouterr().out.splitlines()[-1] == summary
    assert command(Settings(workers=1, json=True), [tmp_path]) == code
    *events, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert {event["pass"] for event in events} == {"FuseOps"}
    counts = {name: count for name, count in last.items() if name != "schema"}
    assert sum(count for count in counts.values() if isinstance(count, int)) == len(bodies)
