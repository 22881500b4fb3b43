"""Bisecting: what is good, bad and other, which is the first bad one, and what is told of it."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import tvm

from relaxfuzz import corpus
from relaxfuzz.fuzz.bisect import bisect
from relaxfuzz.fuzz.bisect.bisect import Bisection, Failure, Seen, Status, Trial, Verdict, judged
from relaxfuzz.fuzz.bisect.environments import FFI, Choice
from relaxfuzz.fuzz.commands.bisect import run as command
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.system.subprocesses import Stopped, Subprocesses
from relaxfuzz.fuzz.user_input.mistake import Mistake
from relaxfuzz.oracles.violation import Violation
from tests.fuzz.changed import changed

HERE = Path(sys.executable)


def script(folder: Path, body: str, before: str = "", header: str = "") -> Path:
    path = folder / "reproducer.py"
    path.write_text(f'{header}\n{before}\n\nif __name__ == "__main__":\n    {body}\n')
    return path


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python without TVM."""
    folder = tmp_path_factory.mktemp("plain")
    subprocess.run([HERE, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def finding() -> Finding:
    return Finding(
        violation=Violation("ValueError: no", "", ("a",), oracle="crash", pass_name="FuseOps"),
        module="{}",
        versions={"tvm": tvm.__version__},
        confirmed=True,
    )


def wrapper(folder: Path, name: str, line: str) -> Path:
    """A Python interpreter of the user's own making, as a build of TVM from source often has."""
    path = folder / name
    path.write_text(f'#!/bin/sh\n{line}\nexec {sys.executable} "$@"\n')
    path.chmod(0o755)
    return path


# What a version makes of it

EXPECTED = Failure("ValueError: no <n>", whole=True)


@pytest.mark.parametrize(
    ("seen", "status", "said"),
    [
        (Seen("1", {}, failed="ValueError: no <n>"), Status.BAD, "ValueError: no <n>"),
        (Seen("1", {}), Status.GOOD, ""),
        (Seen("1", {}, failed="SIGSEGV"), Status.OTHER, "fails otherwise: SIGSEGV"),
        (
            Seen("1", {}, failed="ValueError: no <n> at all"),
            Status.OTHER,
            "fails otherwise: ValueError: no <n> at all",
        ),
        (Seen("1", {}, trouble="cannot import tvm"), Status.OTHER, "cannot import tvm"),
    ],
)
def test_good_bad_and_other(seen: Seen, status: Status, said: str) -> None:
    trial = judged(seen, EXPECTED)
    assert (trial.status, trial.said) == (status, said)


def test_some_versions_print_the_function_and_some_do_not() -> None:
    long, short = (
        "ValueError: they differ at <list>: <function>",
        "ValueError: they differ at <list>:",
    )
    assert Failure(long, whole=True).matches(short)
    assert Failure(short, whole=True).matches(long)
    assert not Failure("ValueError: <function>", whole=True).matches(short)


def test_a_corpus_says_how_a_failure_begins() -> None:
    expected = dataclasses.replace(EXPECTED, whole=False)
    assert judged(Seen("1", {}, failed="ValueError: no <n> at all"), expected).status is Status.BAD


# Which is the first


def verdict(statuses: str) -> Verdict:
    """One version for each letter: g(ood), b(ad), o(ther)."""
    kinds = {status.value[0]: status for status in Status}
    trials = [Trial(Seen(str(i), {}), kinds[letter], "") for i, letter in enumerate(statuses)]
    return Verdict(tuple(trials), EXPECTED)


@pytest.mark.parametrize(
    ("statuses", "first", "good", "silent"),
    [
        ("ggbb", "2", "1", ""),
        ("bbbb", "0", None, ""),
        ("gggg", None, None, ""),
        ("oooo", None, None, ""),
        ("goob", "3", "0", "12"),
        ("oob", "2", None, "01"),
        ("gbgb", "1", "0", ""),
        ("obog", "1", None, "0"),
        ("", None, None, ""),
    ],
)
def test_the_first_bad_one(statuses: str, first: str | None, good: str | None, silent: str) -> None:
    told = verdict(statuses)

    def name(trial: Trial | None) -> str | None:
        return None if trial is None else str(trial.seen.choice)

    assert (name(told.first_bad), name(told.last_good)) == (first, good)
    assert "".join(str(trial.seen.choice) for trial in told.silent) == silent


@pytest.mark.parametrize(
    ("statuses", "again"), [("gbbg", "3"), ("bgbog", "4"), ("ggbb", None), ("gg", None), ("", None)]
)
def test_the_one_that_mended_it(statuses: str, again: str | None) -> None:
    mended = verdict(statuses).good_again
    assert (None if mended is None else str(mended.seen.choice)) == again


class Scripted(Bisection):
    """What every version makes of it is given; the search for the first bad one is the real one."""

    def __init__(self, path: Path, statuses: str) -> None:
        choices = [str(i) for i in range(len(statuses))]
        subprocesses = Subprocesses(threading.Event())
        super().__init__(path, choices, subprocesses, lambda line: None, fails_with="bad")
        self.asked: list[int] = []
        self._statuses = statuses

    def _see(self, choice: Choice) -> Seen:
        self.asked.append(int(str(choice)))
        match self._statuses[int(str(choice))]:
            case "g":
                return Seen(choice, {})
            case "b":
                return Seen(choice, {}, failed="bad")
        return Seen(choice, {}, trouble="other")


@pytest.mark.parametrize("good", range(41))
def test_of_many_as_many_are_run_as_it_takes(tmp_path: Path, good: int) -> None:
    searched = Scripted(script(tmp_path, "pass"), "g" * good + "b" * (40 - good))
    told = searched.run()
    if good == 40:
        assert told.first_bad is None
        return
    assert told.first_bad is not None
    assert told.first_bad.seen.choice == str(good)
    assert len(searched.asked) == len(set(searched.asked)) <= 7
    assert [int(str(t.seen.choice)) for t in told.trials] == sorted(searched.asked)


@pytest.mark.parametrize(
    ("statuses", "first", "silent"),
    [
        ("gggooobbbb", 6, 3),
        ("oooooooobb", 8, 8),
        ("bbbbbbbbbo", 0, 0),
        ("gggbbbbbgg", 3, 0),
        ("ogogobobob", 5, 1),
    ],
)
def test_those_that_cannot_say_are_passed_over(
    tmp_path: Path, statuses: str, first: int, silent: int
) -> None:
    told = Scripted(script(tmp_path, "pass"), statuses).run()
    assert told.first_bad is not None
    assert told.first_bad.seen.choice == str(first)
    assert len(told.silent) == silent


# Files that are run


def seen(
    path: Path, choices: list[Choice], fails_with: str | None = None
) -> tuple[list[Status], list[str]]:
    stop = Subprocesses(threading.Event())
    told = Bisection(path, choices, stop, lambda line: None, fails_with=fails_with).run()
    return [t.status for t in told.trials], [t.said for t in told.trials]


@pytest.mark.session
def test_a_file_that_fails_here(tmp_path: Path, plain: Path) -> None:
    path = script(
        tmp_path, 'import os\n    assert "GOOD" in os.environ, os.environ.get("SAYS", "no lv12")'
    )
    choices: list[Choice] = [
        wrapper(tmp_path, "good", "export GOOD=1"),
        plain,
        HERE,
        wrapper(tmp_path, "another", "export SAYS='no lv34'"),
        wrapper(tmp_path, "other", "export SAYS='something else'"),
    ]
    statuses, said = seen(path, choices)
    assert statuses == [Status.GOOD, Status.OTHER, Status.BAD, Status.BAD, Status.OTHER]
    assert said[1].startswith("cannot import tvm: ModuleNotFoundError")
    assert said[2:] == [
        "AssertionError: no <n>",
        "AssertionError: no <n>",
        "fails otherwise: AssertionError: something else",
    ]


@pytest.mark.session
def test_a_file_that_fails_elsewhere_only(tmp_path: Path) -> None:
    body = "import os\n    os.kill(os.getpid(), int(os.environ.get('SIGNAL', 0)))"
    path = script(tmp_path, body)
    old = wrapper(tmp_path, "old", "export SIGNAL=6")
    new = wrapper(tmp_path, "new", "export SIGNAL=11")
    statuses, said = seen(path, [old, new, HERE])
    assert statuses == [Status.OTHER, Status.BAD, Status.GOOD]
    assert said == ["fails otherwise: SIGABRT", "SIGSEGV", ""]


def test_a_file_that_does_not_get_to_its_check(tmp_path: Path) -> None:
    path = script(tmp_path, "pass", before="import math; math.no_such_thing()")
    (status,), (said,) = seen(path, [HERE])
    assert status is Status.OTHER
    assert "does not get to its check: AttributeError" in said


@pytest.mark.session
def test_a_file_that_needs_relaxfuzz(tmp_path: Path) -> None:
    path = script(tmp_path, 'raise ValueError("no")', before="from relaxfuzz import sanitize")
    statuses, said = seen(path, ["0.26.0", HERE])
    assert statuses == [Status.OTHER, Status.BAD]
    assert said[0] == "it needs relaxfuzz: name a Python that has that, too"


def test_stopping(tmp_path: Path) -> None:
    path = script(tmp_path, "import time; time.sleep(600)")
    stop = threading.Event()

    def tell(line: str) -> None:
        if line.endswith("running"):
            stop.set()

    with pytest.raises(Stopped):
        Bisection(path, [HERE], Subprocesses(stop), tell, fails_with="hang").run()


# The command

HEADER = f"""\
# pass: FuseOps
# oracle: crash
# key: ["crash", "FuseOps", "ValueError"]
# tvm: fails on {tvm.__version__}
# fails with: ValueError: no
# promise: none
"""


@pytest.mark.parametrize(
    ("body", "code", "conclusion"),
    [
        ('raise ValueError("no way")', 1, f"first bad: {tvm.__version__}, the first of these"),
        ("pass", 0, "bad on none of these"),
        ('raise ValueError("yes")', 2, "bad on none of these"),
    ],
)
def test_a_file_of_a_corpus(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], body: str, code: int, conclusion: str
) -> None:
    path = script(tmp_path, body, header=HEADER)
    assert command(path, [str(HERE)], workers=1) == code
    assert capsys.readouterr().out.splitlines()[-1] == conclusion


def test_the_first_bad_one_is_kept_with_the_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], finding: Finding
) -> None:
    text = script(tmp_path, 'import os\n    assert "GOOD" in os.environ, "no"').read_text()
    good = wrapper(tmp_path, "good", "export GOOD=1")
    with Store(tmp_path / "store") as store:
        store.publish(finding, text)
    path = tmp_path / "store" / finding.id
    assert command(path, [f"{good},{HERE}"], workers=2, json=True) == 1
    *events, summary = map(json.loads, capsys.readouterr().out.splitlines())
    assert [(event["tvm"], event["status"], event["said"]) for event in events] == [
        (str(good), "good", ""),
        (str(HERE), "bad", "AssertionError: no"),
    ]
    assert summary == {
        "event": "summary",
        "bad_means": "AssertionError: no",
        "first_bad": str(HERE),
        "last_good": str(good),
        "good_again": None,
        "cannot_say": [],
        "asked": 2,
        "tried": 2,
    }
    with Store(tmp_path / "store") as store:
        kept = store.get(finding.id)
    assert kept is not None
    assert kept.first_bad is not None
    assert kept.first_bad.startswith(tvm.__version__)


def test_a_store_that_says_nothing_of_it_is_read(finding: Finding) -> None:
    old = json.loads(finding.to_json())
    del old["first_bad"]
    assert Finding.from_json(json.dumps(old)) == finding


@pytest.mark.parametrize("what", ["several", "no reproducer"])
def test_what_cannot_be_bisected_is_a_mistake(tmp_path: Path, finding: Finding, what: str) -> None:
    with Store(tmp_path / "store") as store:
        store.put(finding)
        if what == "several":
            store.put(changed(finding, key=("b",)))
    with pytest.raises(Mistake, match="expected one finding" if what == "several" else what):
        bisect.item(tmp_path / "store")


@pytest.mark.slow
def test_a_released_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = script(
        tmp_path, 'assert tvm.__version__ != "0.26.0", "old"', before="import tvm", header=HEADER
    )
    path.write_text(path.read_text().replace("ValueError: no", "AssertionError: old"))
    assert command(path, ["0.26.0"], workers=1) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "first bad: 0.26.0, the first of these"


@pytest.mark.slow
@pytest.mark.parametrize("path", [*corpus.seeds(), *corpus.found()], ids=lambda path: path.stem)
def test_what_a_file_of_the_corpus_says_of_versions(path: Path) -> None:
    entry = corpus.entry(path)
    assert entry is not None
    subprocesses = Subprocesses(threading.Event())
    told = Bisection(
        path.resolve(), list(FFI), subprocesses, lambda line: None, fails_with=entry.fails_with
    ).run()
    if all("needs relaxfuzz" in trial.said for trial in told.trials):
        pytest.skip("needs relaxfuzz, which no environment of a version has")
    bad = [trial.seen.release for trial in told.trials if trial.status is Status.BAD]
    assert bad == [version for version in FFI if version in entry.tvm.fails_on]
