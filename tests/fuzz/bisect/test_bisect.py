"""Bisecting: what is good, bad and other, which is the first bad one, and what is reported."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import tvm
from typer.testing import CliRunner

from relaxfuzz import corpus
from relaxfuzz.fuzz.bisect import bisect
from relaxfuzz.fuzz.bisect.bisect import Bisection, Failure, Status, Trial, Verdict
from relaxfuzz.fuzz.bisect.environments import FFI, Choice
from relaxfuzz.fuzz.cli import app
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.system.subprocesses import Stopped, Subprocesses
from relaxfuzz.fuzz.user_input.errors import UserError
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

EXPECTED = Failure("ValueError: no <n>", complete=True)


@pytest.mark.parametrize(
    ("trial", "status", "message"),
    [
        (Trial("1", {}, failure="ValueError: no <n>"), Status.BAD, "ValueError: no <n>"),
        (Trial("1", {}), Status.GOOD, ""),
        (Trial("1", {}, failure="SIGSEGV"), Status.OTHER, "fails otherwise: SIGSEGV"),
        (
            Trial("1", {}, failure="ValueError: no <n> at all"),
            Status.OTHER,
            "fails otherwise: ValueError: no <n> at all",
        ),
        (Trial("1", {}, error="cannot import tvm"), Status.OTHER, "cannot import tvm"),
    ],
)
def test_good_bad_and_other(trial: Trial, status: Status, message: str) -> None:
    made = Verdict((trial,), EXPECTED)
    assert (made.status(trial), made.message(trial)) == (status, message)


def test_some_versions_print_the_function_and_some_do_not() -> None:
    long, short = (
        "ValueError: they differ at <list>: <function>",
        "ValueError: they differ at <list>:",
    )
    assert Failure(long, complete=True).matches(short)
    assert Failure(short, complete=True).matches(long)
    assert not Failure("ValueError: <function>", complete=True).matches(short)


def test_the_beginning_of_a_failure_is_read_from_the_corpus() -> None:
    expected = dataclasses.replace(EXPECTED, complete=False)
    trial = Trial("1", {}, failure="ValueError: no <n> at all")
    assert trial.status(expected) is Status.BAD


# Which is the first


def verdict(statuses: str) -> Verdict:
    """One version for each letter: g(ood), b(ad), o(ther)."""
    trials = [trial_of(str(i), letter) for i, letter in enumerate(statuses)]
    return Verdict(tuple(trials), EXPECTED)


def trial_of(choice: Choice, letter: str) -> Trial:
    match letter:
        case "g":
            return Trial(choice, {})
        case "b":
            return Trial(choice, {}, failure=EXPECTED.text)
    return Trial(choice, {}, error="other")


@pytest.mark.parametrize(
    ("statuses", "first", "good", "inconclusive"),
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
def test_the_first_bad_one(
    statuses: str, first: str | None, good: str | None, inconclusive: str
) -> None:
    made = verdict(statuses)

    def name(trial: Trial | None) -> str | None:
        return None if trial is None else str(trial.choice)

    assert (name(made.first_bad), name(made.last_good)) == (first, good)
    assert "".join(str(trial.choice) for trial in made.inconclusive) == inconclusive


@pytest.mark.parametrize(
    ("statuses", "fixed"), [("gbbg", "3"), ("bgbog", "4"), ("ggbb", None), ("gg", None), ("", None)]
)
def test_the_version_that_fixed_it(statuses: str, fixed: str | None) -> None:
    mended = verdict(statuses).fixed_in
    assert (None if mended is None else str(mended.choice)) == fixed


class Scripted(Bisection):
    """What every version makes of it is given; the search for the first bad one is the real one."""

    def __init__(self, path: Path, statuses: str) -> None:
        choices = [str(i) for i in range(len(statuses))]
        subprocesses = Subprocesses(threading.Event())
        super().__init__(path, choices, subprocesses, lambda line: None, fails_with="Val")
        self.asked: list[int] = []
        self._statuses = statuses

    def _try(self, choice: Choice) -> Trial:
        self.asked.append(int(str(choice)))
        return trial_of(choice, self._statuses[int(str(choice))])


@pytest.mark.parametrize("good", range(41))
def test_of_many_as_many_are_run_as_it_takes(tmp_path: Path, good: int) -> None:
    searched = Scripted(script(tmp_path, "pass"), "g" * good + "b" * (40 - good))
    made = searched.run()
    if good == 40:
        assert made.first_bad is None
        return
    assert made.first_bad is not None
    assert made.first_bad.choice == str(good)
    assert len(searched.asked) == len(set(searched.asked)) <= 7
    assert [int(str(t.choice)) for t in made.trials] == sorted(searched.asked)


@pytest.mark.parametrize(
    ("statuses", "first", "inconclusive"),
    [
        ("gggooobbbb", 6, 3),
        ("oooooooobb", 8, 8),
        ("bbbbbbbbbo", 0, 0),
        ("gggbbbbbgg", 3, 0),
        ("ogogobobob", 5, 1),
    ],
)
def test_inconclusive_versions_are_passed_over(
    tmp_path: Path, statuses: str, first: int, inconclusive: int
) -> None:
    made = Scripted(script(tmp_path, "pass"), statuses).run()
    assert made.first_bad is not None
    assert made.first_bad.choice == str(first)
    assert len(made.inconclusive) == inconclusive


# Files that are run


def tried(
    path: Path, choices: list[Choice], fails_with: str | None = None
) -> tuple[list[Status], list[str]]:
    stop = Subprocesses(threading.Event())
    made = Bisection(path, choices, stop, lambda line: None, fails_with=fails_with).run()
    return [made.status(t) for t in made.trials], [made.message(t) for t in made.trials]


@pytest.mark.session
def test_a_file_that_fails_here(tmp_path: Path, plain: Path) -> None:
    path = script(
        tmp_path,
        'import os\n    if "GOOD" not in os.environ:\n        '
        'raise ValueError(os.environ.get("SAYS", "Check failed: (n > 0) is false: lv12"))',
    )
    choices: list[Choice] = [
        wrapper(tmp_path, "good", "export GOOD=1"),
        plain,
        HERE,
        wrapper(tmp_path, "another", "export SAYS='Check failed: (n > 0) is false: lv34'"),
        wrapper(tmp_path, "other", "export SAYS='Check failed: (n < 9) is false'"),
    ]
    statuses, messages = tried(path, choices)
    assert statuses == [Status.GOOD, Status.OTHER, Status.BAD, Status.BAD, Status.OTHER]
    assert messages[1].startswith("cannot import tvm: ModuleNotFoundError")
    assert messages[2:] == [
        "ValueError: Check failed: (n > 0)",
        "ValueError: Check failed: (n > 0)",
        "fails otherwise: ValueError: Check failed: (n < 9)",
    ]


@pytest.mark.session
def test_a_file_that_fails_elsewhere_only(tmp_path: Path) -> None:
    body = "import os\n    os.kill(os.getpid(), int(os.environ.get('SIGNAL', 0)))"
    path = script(tmp_path, body)
    old = wrapper(tmp_path, "old", "export SIGNAL=6")
    new = wrapper(tmp_path, "new", "export SIGNAL=11")
    statuses, messages = tried(path, [old, new, HERE])
    assert statuses == [Status.OTHER, Status.BAD, Status.GOOD]
    assert messages == ["fails otherwise: SIGABRT", "SIGSEGV", ""]


def test_a_file_that_does_not_get_to_its_check(tmp_path: Path) -> None:
    path = script(tmp_path, "pass", before="import math; math.no_such_thing()")
    (status,), (message,) = tried(path, [HERE])
    assert status is Status.OTHER
    assert "does not get to its check: AttributeError" in message


@pytest.mark.session
def test_a_file_that_needs_relaxfuzz(tmp_path: Path) -> None:
    path = script(tmp_path, 'raise ValueError("no")', before="from relaxfuzz import sanitize")
    statuses, messages = tried(path, ["0.26.0", HERE])
    assert statuses == [Status.OTHER, Status.BAD]
    assert messages[0] == "it needs relaxfuzz: give a Python that has that, too"


def test_stopping(tmp_path: Path) -> None:
    path = script(tmp_path, "import time; time.sleep(600)")
    stop = threading.Event()

    def report(line: str) -> None:
        if line.endswith("running"):
            stop.set()

    with pytest.raises(Stopped):
        Bisection(path, [HERE], Subprocesses(stop), report, fails_with="hang").run()


# The command

HEADER = f"""\
# pass: FuseOps
# oracle: crash
# tvm: fails on {tvm.__version__}
# fails with: ValueError
# promise: none
"""


@pytest.mark.parametrize(
    ("body", "code", "conclusion"),
    [
        ('raise ValueError("no way")', 1, f"first bad: {tvm.__version__}, the first of these"),
        ("pass", 0, "bad on none of these"),
        ('raise KeyError("no way")', 2, "bad on none of these"),
    ],
)
def test_a_file_of_a_corpus(tmp_path: Path, body: str, code: int, conclusion: str) -> None:
    path = script(tmp_path, body, header=HEADER)
    result = CliRunner().invoke(app, ["bisect", str(path), "--tvm", str(HERE)])
    assert result.exit_code == code, result.output
    assert result.stdout.splitlines()[-1] == conclusion


def test_the_first_bad_one_is_kept_with_the_finding(tmp_path: Path, finding: Finding) -> None:
    text = script(tmp_path, 'import os\n    assert "GOOD" in os.environ, "no"').read_text()
    good = wrapper(tmp_path, "good", "export GOOD=1")
    with Store(tmp_path / "store") as store:
        store.publish(finding, text)
    path = tmp_path / "store" / finding.id
    result = CliRunner().invoke(app, ["bisect", str(path), "--tvm", f"{good},{HERE}", "--json"])
    assert result.exit_code == 1, result.output
    *events, summary = map(json.loads, result.stdout.splitlines())
    assert [(event["tvm"], event["status"], event["message"]) for event in events] == [
        (str(good), "good", ""),
        (str(HERE), "bad", "AssertionError"),
    ]
    assert summary == {
        "event": "summary",
        "bad_means": "AssertionError",
        "first_bad": str(HERE),
        "last_good": str(good),
        "fixed_in": None,
        "inconclusive": [],
        "asked": 2,
        "tried": 2,
    }
    with Store(tmp_path / "store") as store:
        kept = store.get(finding.id)
    assert kept is not None
    assert kept.first_bad is not None
    assert kept.first_bad.startswith(tvm.__version__)


def test_a_store_without_a_first_bad_version_is_read(finding: Finding) -> None:
    old = json.loads(finding.to_json())
    del old["first_bad"]
    assert Finding.from_json(json.dumps(old)) == finding


@pytest.mark.parametrize("what", ["several", "no reproducer"])
def test_what_cannot_be_bisected_is_a_mistake(tmp_path: Path, finding: Finding, what: str) -> None:
    with Store(tmp_path / "store") as store:
        store.put(finding)
        if what == "several":
            store.put(changed(finding, key=("b",)))
    with pytest.raises(UserError, match="expected one finding" if what == "several" else what):
        bisect.item(tmp_path / "store")


@pytest.mark.slow
def test_a_released_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = script(
        tmp_path, 'assert tvm.__version__ != "0.26.0", "old"', before="import tvm", header=HEADER
    )
    path.write_text(
        path.read_text().replace("# fails with: ValueError", "# fails with: AssertionError")
    )
    result = CliRunner().invoke(app, ["bisect", str(path), "--tvm", "0.26.0"])
    assert result.exit_code == 1, result.output
    assert result.stdout.splitlines()[-1] == "first bad: 0.26.0, the first of these"


@pytest.mark.slow
@pytest.mark.parametrize("path", [*corpus.seeds(), *corpus.found()], ids=lambda path: path.stem)
def test_the_version_claim_of_a_corpus_file(path: Path) -> None:
    entry = corpus.entry(path)
    assert entry is not None
    subprocesses = Subprocesses(threading.Event())
    made = Bisection(
        path.resolve(), list(FFI), subprocesses, lambda line: None, fails_with=entry.fails_with
    ).run()
    if all("needs relaxfuzz" in made.message(trial) for trial in made.trials):
        pytest.skip("needs relaxfuzz, which no environment of a version has")
    bad = [trial.release for trial in made.trials if made.status(trial) is Status.BAD]
    assert bad == [version for version in FFI if version in entry.tvm.fails_on]
