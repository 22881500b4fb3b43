"""Known bugs in other words, and other bugs in the words of a known one."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from relaxfuzz.compat.release import versions
from relaxfuzz.compat.serialization import save_json
from relaxfuzz.corpus.knowns import SHIPPED, Known, known
from relaxfuzz.fuzz.findings.evidence import evidence_of
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.known import Expected
from relaxfuzz.fuzz.findings.recognize import recognized, unlike
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
