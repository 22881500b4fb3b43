"""Old bugs are run at the beginning of a night; some are fixed or back."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from relaxfuzz.compat.release import versions
from relaxfuzz.corpus import CorpusEntry
from relaxfuzz.corpus.knowns import knowns
from relaxfuzz.corpus.versions import claim
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.known import Expected
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.nightly.old_bugs import is_back, known_key, old_bugs, replay_all
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.reproducer.replay import ReplayItem, ReplayOutcome, ReplayStatus
from relaxfuzz.oracles.violation import Violation
from tests.fuzz.changed import changed

HERE = versions()["tvm"]

HEADER = """\
# pass: FuseOps
# oracle: crash
# tvm: {claim}
# fails with: ValueError
# promise: none
"""


def script(path: Path, fails: bool, header: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'{header}\nif __name__ == "__main__":\n    if {fails}:\n        raise ValueError("no")\n'
    )
    return path


def known(folder: Path, name: str, fails: bool, versions_text: str) -> None:
    script(folder / f"{name}.py", fails)
    (folder / f"{name}.toml").write_text(
        'what = "x"\nformat = 4\nreports = [["crash", "FuseOps"]]\n'
        f'tvm = "{versions_text}"\nreproducer = "{name}.py"\n'
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "out")


def test_each_file_is_run_once_and_has_a_status(
    pool: LocalPool, store: Store, tmp_path: Path
) -> None:
    corpus = tmp_path / "corpus"
    script(corpus / "a" / "as_recorded.py", True, HEADER.format(claim="fails on 0.1.0"))
    script(corpus / "a" / "mended.py", False, HEADER.format(claim="fails on 0.1.0"))
    script(corpus / "a" / "came_back.py", True, HEADER.format(claim="fails on 0.1; fixed in 0.2"))
    script(corpus / "plain.py", True)
    own = corpus / "known"
    known(own, "still", True, "fails on 0.1.0")
    known(own, "gone", False, "fails on 0.1.0")
    known(own, "sure", False, f"fails on {HERE}")
    expected = Expected((), knowns(own), HERE)
    todo = old_bugs([corpus], expected, store, versions())
    # What is known to fail on this very TVM is no known to ask, but still a file of the corpus.
    assert len(todo) == 7
    outcomes = {
        each.name: (each, outcome) for each, outcome in replay_all(todo, pool, threading.Event())
    }
    assert {name: outcome.status for name, (_, outcome) in outcomes.items()} == {
        "a/as_recorded.py": ReplayStatus.AS_EXPECTED,
        "a/mended.py": ReplayStatus.FIXED,
        "a/came_back.py": ReplayStatus.CHANGED,
        "plain.py": ReplayStatus.FAILS,
        "still": ReplayStatus.FAILS,
        "gone": ReplayStatus.GONE,
        "sure.py": ReplayStatus.GONE,
    }
    assert outcomes["gone"][0].key == known_key(expected.knowns[0])
    back = [name for name, (_, outcome) in outcomes.items() if is_back(outcome, None, HERE)]
    assert back == ["a/came_back.py"]


def test_a_finding_of_another_build_is_replayed(store: Store) -> None:
    finding = Finding(
        violation=Violation("no", "", ("a",), oracle="crash", pass_name="FuseOps"),
        module="{}",
        versions=versions(),
        confirmed=True,
    )
    store.put(finding)
    for key in ("tvm_git", "tvm_build"):
        store.put(changed(finding, key=(key,), versions={**versions(), key: "0f"}))
    others = [old.item.finding for old in old_bugs([], Expected((), (), HERE), store, versions())]
    assert sorted(other.violation.key[0] for other in others if other) == ["tvm_build", "tvm_git"]
    # A commit that was reverted gives a build that was there before.
    again = old_bugs([], Expected((), (), HERE), store, versions(), {finding.id: "gone"})
    assert len(again) == 3


def test_nothing_is_run_when_the_user_wants_to_stop(
    pool: LocalPool, store: Store, tmp_path: Path
) -> None:
    script(tmp_path / "corpus" / "plain.py", True)
    todo = old_bugs([tmp_path / "corpus"], Expected((), (), HERE), store, versions())
    stop = threading.Event()
    stop.set()
    assert len(todo) == 1
    assert list(replay_all(todo, pool, stop)) == []


@pytest.mark.parametrize(
    ("versions_text", "status", "before", "back"),
    [
        ("fails on 0.1; fixed in 0.2", ReplayStatus.CHANGED, None, True),
        ("fails on 0.1; fixed in 0.2", ReplayStatus.CHANGED, ReplayStatus.CHANGED, False),
        ("fails on 0.1; fixed in 0.2", ReplayStatus.PASSES, None, False),
        (None, ReplayStatus.FAILS, ReplayStatus.GONE, True),
        # On builds of a development version: the claim says nothing of the build before.
        ("fails on 0.1", ReplayStatus.AS_EXPECTED, ReplayStatus.FIXED, True),
        ("fails on 0.1", ReplayStatus.AS_EXPECTED, ReplayStatus.AS_EXPECTED, False),
    ],
)
def test_back_is_what_was_fixed_and_fails_since_last_night(
    versions_text: str | None, status: ReplayStatus, before: str | None, back: bool
) -> None:
    entry = None
    if versions_text is not None:
        entry = CorpusEntry("FuseOps", "crash", claim(versions_text), "ValueError", "", ())
    assert (
        is_back(ReplayOutcome(ReplayItem(Path("a.py"), entry=entry), status, ""), before, HERE)
        is back
    )
