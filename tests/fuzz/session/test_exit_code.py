"""The exit code of a session: what comes before what."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from relaxfuzz.corpus.knowns import SHIPPED, knowns
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.targets import PassStats
from relaxfuzz.fuzz.session.finding_events import event_of
from relaxfuzz.fuzz.session.session import Session, session
from relaxfuzz.fuzz.session.silences import NOTHING_COMPARED
from relaxfuzz.fuzz.user_input.settings import Settings
from relaxfuzz.oracles.grades.grade import Grade
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.structural import idempotence
from relaxfuzz.oracles.text.frames import Trace
from relaxfuzz.oracles.violation import Violation
from tests.commands import relaxfuzz


@pytest.fixture
def made(pool: LocalPool, tmp_path: Path) -> Iterator[Session]:
    given = Settings(out=tmp_path / "out", shipped_knowns=False, json=True)
    with session(given, pool=pool) as made:
        yield made


def test_a_report_that_cannot_be_written_eats_no_finding(made: Session) -> None:
    made.no_report("no report in page.html")
    assert [made.exit_code(new=new) for new in (False, True)] == [3, 1]


def finding(blamed: str, call: PassCall, similar: str = "") -> Finding:
    """An exception, of grade B."""
    trace = Trace((f"{blamed}::Visit",), "n > 0")
    violation = Violation("it raises", "", ("ValueError",), trace=trace).blame("crash", blamed)
    return Finding(
        violation=violation,
        module="{}",
        calls=(call,),
        versions={"tvm": "0.27.0.post1"},
        confirmed=True,
        similar=similar,
    )


OWN = PassCall("mine()", factory="my_passes.py:mine")
NEW = finding("FuseOps", PassCall("FuseOps()"))
SIMILAR = finding("FuseTIR", PassCall("FuseTIR()"), "a-bug (FuseTIR is blamed)")
ON_THE_WAY = finding("TVMScript", OWN)
OF_MINE = finding("mine", OWN)


@pytest.mark.parametrize(
    ("published", "code", "counts"),
    [
        ([], 0, (0, 0, 0)),
        ([NEW], 1, (1, 0, 0)),
        ([SIMILAR], 1, (1, 1, 0)),
        ([ON_THE_WAY], 0, (0, 0, 1)),
        ([OF_MINE], 1, (1, 0, 0)),
        ([NEW, SIMILAR, ON_THE_WAY], 1, (2, 1, 1)),
    ],
)
def test_what_is_met_of_tvm_while_a_users_pass_is_checked_does_not_fail(
    made: Session,
    capsys: pytest.CaptureFixture[str],
    published: list[Finding],
    code: int,
    counts: tuple[int, int, int],
) -> None:
    """A finding that is similar to a known bug does fail."""
    made.triage.published.extend(published)
    assert made.conclude(1, 1, 1.0) == code
    (summary,) = map(json.loads, capsys.readouterr().out.splitlines())
    names = ("findings", "similar_to_known", "of_tvm_on_the_way")
    assert tuple(summary[name] for name in names) == counts


def test_what_did_not_fail_again_is_named(
    made: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    made.triage.unconfirmed.append(NEW)
    assert made.conclude(1, 1, 1.0) == 0
    named, summary = map(json.loads, capsys.readouterr().out.splitlines())
    wanted = {"event": "unconfirmed", "pass": "FuseOps", "oracle": "crash", "title": "it raises"}
    assert wanted.items() <= named.items()
    assert Path(named["module"]).read_text()
    assert summary["unconfirmed"] == 1


def test_a_report_that_there_was_no_time_to_confirm_fails(
    made: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where nothing else was compared, as where a pass kills its process."""
    assert made.conclude(1, 1, 1.0, compared=False) == NOTHING_COMPARED
    made.interrupt.stop.set()
    assert made.conclude(1, 1, 1.0, compared=False) == NOTHING_COMPARED
    made.interrupt.stop.clear()
    monkeypatch.setattr(made.triage, "unsettled", lambda: [NEW])
    assert made.conclude(1, 1, 1.0, compared=False) == 1


def test_what_is_found_is_an_answer_though_nothing_is_compared(made: Session) -> None:
    """As where each pass kills its process."""
    made.expected.reports[knowns(SHIPPED)[0]] = 1
    assert made.conclude(1, 1, 1.0, compared=False) == 0
    made.expected.reports.clear()
    assert made.conclude(1, 1, 1.0, compared=False) == NOTHING_COMPARED
    made.triage.published.append(NEW)
    assert made.conclude(1, 1, 1.0, compared=False) == 1
    assert made.conclude(1, 1, 1.0, fail_on="A", compared=False) == 0


def test_a_night_that_compares_nothing(made: Session) -> None:
    assert made.exit_code(new=False, compared=False) == NOTHING_COMPARED
    assert made.exit_code(new=True, compared=False) == 1
    assert made.exit_code(new=False, earlier=("no check",), compared=False) == 3


def test_an_empty_folder_has_nothing_to_replay(tmp_path: Path) -> None:
    Store(tmp_path / "out").close()
    done = relaxfuzz("replay", tmp_path / "out")
    assert done.returncode == NOTHING_COMPARED, done.stderr
    assert done.stdout.strip().endswith("nothing to replay")


def test_findings_of_a_lesser_grade_do_not_fail_where_that_is_asked_for(made: Session) -> None:
    made.triage.published.append(NEW)
    assert [made.conclude(1, 1, 1.0, fail_on=each) for each in Grade] == [0, 1, 1]
    assert made.conclude(1, 1, 1.0) == 1


@pytest.mark.parametrize(
    ("fail_on", "code"),
    [("wrong values,memory", 0), ("A, does not build", 1), ("does not build", 1), ("A", 0)],
)
def test_findings_fail_by_their_effects(made: Session, fail_on: str, code: int) -> None:
    """An exception in a pass: grade B, since it does not build."""
    made.triage.published.append(NEW)
    assert made.conclude(1, 1, 1.0, fail_on=fail_on) == code


def test_a_finding_of_grade_c_does_not_fail_unless_its_oracle_was_named(made: Session) -> None:
    violation = Violation.titled("the script loses it").blame("tvmscript", "mine")
    slight = dataclasses.replace(OF_MINE, violation=violation)
    assert slight.grade is Grade.C
    made.triage.published.append(slight)
    assert made.conclude(1, 1, 1.0) == 0
    assert made.conclude(1, 1, 1.0, fail_on="C") == 1
    assert made.conclude(1, 1, 1.0, named=["tvmscript"]) == 1
    assert made.conclude(1, 1, 1.0, fail_on="B", named=["tvmscript"]) == 0


def test_a_hint_does_not_fail_unless_its_oracle_was_named(made: Session) -> None:
    hint = Violation.titled(idempotence.UNPROMISED).blame("idempotent", "mine")
    made.triage.published.append(dataclasses.replace(OF_MINE, violation=hint))
    assert made.conclude(1, 1, 1.0) == 0
    assert made.conclude(1, 1, 1.0, fail_on="C", named=["idempotent"]) == 1
    made.triage.published.append(OF_MINE)
    assert made.conclude(1, 1, 1.0) == 1


def test_the_table_tells_apart_what_is_new_similar_and_of_tvm(
    pool: LocalPool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = Settings(out=tmp_path / "out", shipped_knowns=False)
    with session(given, pool=pool) as made:
        made.triage.published.extend([NEW, SIMILAR, ON_THE_WAY])
        made.conclude(1, 1, 0.5)
    text = capsys.readouterr().out
    order = ("FuseOps", "Similar to known bugs:", "FuseTIR", "Of TVM itself", "TVMScript")
    places = [text.index(each) for each in order]
    assert places == sorted(places)
    told = "2 findings, 1 of them similar to known bugs, 1 of TVM itself, in 1 module"
    assert told in " ".join(text.split())


def test_an_event_has_the_identity_of_the_finding(made: Session) -> None:
    event: dict[str, Any] = event_of(SIMILAR, made.store)
    assert event["identity"] == {
        "failure": "raises",
        "blamed": ["FuseTIR"],
        "site": ["FuseTIR::Visit"],
        "condition": "n > 0",
    }
    assert (event["identity_format"], event["similar"]) == (4, SIMILAR.similar)
    assert json.loads(json.dumps(event))["identity"] == event["identity"]


def test_passes_on_which_many_checks_end_in_a_known_bug_are_listed(
    made: Session, pool: LocalPool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stats = {"FuseOps": PassStats(checks=8, changed=5), "FuseTIR": PassStats(checks=2)}
    made.print_shares(stats, {"FuseOps": 3})
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["pass"], first["checks"], first["known"]) == ("FuseOps", 8, 3)
    assert (second["known"], second["changed"]) == (0, 0)
    with session(Settings(out=tmp_path / "plain", shipped_knowns=False), pool=pool) as plain:
        plain.print_shares(stats, {"FuseOps": 3})
    assert "checks that ended in a known bug: FuseOps 38%\n" in capsys.readouterr().err
