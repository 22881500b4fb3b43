"""Exhibits of findings are made in processes of their own, and kept with them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable

import pytest

from relaxfuzz.compat.release import versions
from relaxfuzz.fuzz.findings.confirm import exhibit
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.oracles.exhibit import Exhibit
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Violation
from tests.fuzz.changed import changed


@pytest.fixture
def finding(sums: str, faulty: Callable[[str], PassCall]) -> Finding:
    """A pass that takes its process with it."""
    return Finding(
        violation=Violation("segmentation fault", "", (), oracle="segfault", pass_name="segfault"),
        module=sums,
        source="mod = 'the source'",
        calls=(faulty("segfault"),),
        versions=versions(),
    )


def test_a_death_shows_the_module_and_is_not_repeated(pool: LocalPool, finding: Finding) -> None:
    shown = exhibit(pool, finding)
    assert "R.add(x, x)" in shown.module
    assert shown.left == shown.module
    assert (shown.right, shown.diff) == ("", "")
    assert shown.right_label == "segfault: segmentation fault"


def test_a_pass_that_dies_of_being_shown_loses_nothing(pool: LocalPool, finding: Finding) -> None:
    shown = exhibit(pool, changed(finding, oracle="idempotent", title="more bindings"))
    assert "R.add(x, x)" in shown.module
    assert shown.right_label.startswith("segfault: segmentation fault")


def test_where_not_even_the_printer_lives_the_source_is_shown(
    pool: LocalPool, finding: Finding, monkeypatch: pytest.MonkeyPatch
) -> None:
    from relaxfuzz.fuzz.findings import confirm as module
    from relaxfuzz.fuzz.process.protocol import Death, Died

    monkeypatch.setattr(module, "ask", lambda *_, **__: Died(1, Death.SEGFAULT, -11, None))
    assert exhibit(pool, finding).module == "mod = 'the source'"


def test_it_is_stored_and_older_findings_have_none(finding: Finding) -> None:
    shown = Exhibit("m", "before", "a\nb", "after", "a\nc")
    kept = dataclasses.replace(finding, exhibit=shown)
    assert Finding.from_json(kept.to_json()) == kept
    assert kept.exhibit is not None
    assert kept.exhibit.diff == "--- before\n+++ after\n@@ -1,2 +1,2 @@\n a\n-b\n+c"
    older = json.loads(finding.to_json())
    del older["exhibit"]
    assert Finding.from_json(json.dumps(older)).exhibit is None
