"""Known bugs in other words, and other bugs in the words of a known one."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

import pytest

from relaxfuzz.compat.release import versions
from relaxfuzz.compat.serialization import save_json
from relaxfuzz.corpus.knowns import SHIPPED, Known, known
from relaxfuzz.fuzz.campaign.triage import Triage
from relaxfuzz.fuzz.findings.evidence import evidence_of
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.known import Expected
from relaxfuzz.fuzz.findings.recognize import recognized, unlike
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.user_input.module_file import execute
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case, silent

BRANCH = SHIPPED / "rewrite-call-if-symbolic-shape.py"
"""Fails in every pass that rewrites by a pattern."""


@pytest.fixture(scope="module")
def finding() -> Finding:
    """The bug of `BRANCH`, met by another pass than the one of its reproducer."""
    call = PassCall("AdjustMatmulOrder()")
    mod = execute(BRANCH)
    return Finding(
        violation=check(Case(mod, (call,)), oracles=("crash",))[0],
        module=save_json(mod),
        versions=versions(),
        calls=(call,),
        confirmed=True,
        reduced=True,
        evidence=evidence_of(mod, silent, whole=False),
    )


def record(folder: Path, key: str, reproducer: Path) -> Known:
    path = folder / "recorded.toml"
    (folder / "recorded.py").write_text(reproducer.read_text())
    path.write_text(f'what = "x"\nkey_format = 3\nkeys = [{key}]\ntvm = "fails on 0.26.0"\n')
    return known(path)


def test_what_another_pass_shows_on_the_same_modules_is_one_bug(
    pool: LocalPool, finding: Finding, tmp_path: Path
) -> None:
    kind, text = finding.key
    other = record(tmp_path, f"['crash', 'FoldBatchnormToConv2D', '{kind}', '{text}']", BRANCH)
    assert not other.matches(finding.full_key)
    found = recognized(pool, finding, [other])
    assert (found.known, found.perhaps) == ("recorded", ())
    # From then on it is that bug, for all who ask.
    expected = Expected([other], [], versions()["tvm"])
    assert expected.of(finding) == ()
    assert expected.of(found) == (other,)


def test_it_may_be_one_where_its_module_does_not_show_what_the_record_says(
    pool: LocalPool, finding: Finding, tmp_path: Path
) -> None:
    other = record(tmp_path, "['crash', 'AdjustMatmulOrder', 'ValueError', 'no']", BRANCH)
    found = recognized(pool, finding, [other])
    assert (found.known, found.perhaps) == (None, ("recorded",))


def test_it_is_another_bug_where_the_module_of_the_record_does_not_show_it(
    pool: LocalPool, finding: Finding, tmp_path: Path
) -> None:
    other = record(
        tmp_path,
        "['crash', 'AdjustMatmulOrder', 'ValueError', 'no']",
        SHIPPED / "adjust-matmul-order-1d-operand.py",
    )
    assert recognized(pool, finding, [other]) == finding


@pytest.mark.parametrize(
    ("reproducer", "like"), [(BRANCH.stem, True), ("topological-sort-match-cast", False)]
)
def test_a_key_alone_is_not_the_known_bug(
    pool: LocalPool, finding: Finding, tmp_path: Path, reproducer: str, like: bool
) -> None:
    kind, text = finding.key
    key = f"['crash', 'AdjustMatmulOrder', '{kind}', '{text}']"
    one = record(tmp_path, key, SHIPPED / f"{reproducer}.py")
    names = unlike(pool, finding, [one])
    assert names == (() if like else ("recorded",))
    expected = Expected([one], [], versions()["tvm"])
    assert expected.of(dataclasses.replace(finding, unlike=names)) == ((one,) if like else ())
    # What could be smaller yet may have anything in it.
    assert unlike(pool, dataclasses.replace(finding, reduced=False), [one]) == ()


@pytest.mark.parametrize("known_by_module", [True, False])
def test_a_campaign_counts_a_known_bug_in_other_words(
    pool: LocalPool, finding: Finding, tmp_path: Path, known_by_module: bool
) -> None:
    kind, text = finding.key
    blamed = "FoldBatchnormToConv2D" if known_by_module else "FuseOps"
    one = record(tmp_path, f"['crash', '{blamed}', '{kind}', '{text}']", BRANCH)
    expected = Expected([one], [], versions()["tvm"])
    told: list[Finding] = []
    with Store(tmp_path / "out") as store:
        triage = Triage(store, pool, told.append, expected=expected)
        assert not triage.report(dataclasses.replace(finding, confirmed=False, evidence=None))
        triage.drain(60, lambda: None)
        assert triage.faults == []
        (kept,) = store.findings()
    if known_by_module:
        assert (told, triage.published, kept.known) == ([], [], "recorded")
        assert expected.reports == {one: 1}
    else:
        assert [each.perhaps for each in told] == [("recorded",)]
        assert not expected.reports


def test_a_campaign_reports_what_has_only_the_key_of_a_known_bug(
    pool: LocalPool, finding: Finding, tmp_path: Path
) -> None:
    kind, text = finding.key
    other = SHIPPED / "topological-sort-match-cast.py"
    one = record(tmp_path, f"['crash', 'AdjustMatmulOrder', '{kind}', '{text}']", other)
    expected = Expected([one], [], versions()["tvm"])
    told: list[Finding] = []
    with Store(tmp_path / "out") as store:
        triage = Triage(store, pool, told.append, expected=expected)
        assert triage.report(finding, audit=True)
        while triage.pending:  # audits end with the campaign
            time.sleep(0.01)
        triage.drain(60, lambda: None)
        assert triage.faults == []
    assert [each.unlike for each in told] == [("recorded",)]
