"""The exit code of a session: what comes before what."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from relaxfuzz.fuzz.findings.known import Choice
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.session.session import Session, session


@pytest.fixture
def made(pool: LocalPool, tmp_path: Path) -> Iterator[Session]:
    with session(tmp_path / "out", 1, Choice(shipped=False), as_json=True, pool=pool) as made:
        yield made


def test_findings(made: Session) -> None:
    assert [made.exit_code(new=new) for new in (False, True)] == [0, 1]


def test_a_check_that_could_not_be_made(made: Session) -> None:
    made.fault("no check")
    assert [made.exit_code(new=new) for new in (False, True)] == [3, 3]


def test_a_check_that_could_not_be_made_before_the_session_was_resumed(made: Session) -> None:
    assert [made.exit_code(new=new, earlier=("no check",)) for new in (False, True)] == [3, 3]


def test_a_report_that_cannot_be_written_eats_no_finding(made: Session) -> None:
    made.no_report("no report in page.html")
    assert [made.exit_code(new=new) for new in (False, True)] == [3, 1]
