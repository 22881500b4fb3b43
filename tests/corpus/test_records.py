"""Records, reproducers, judged reports and the page agree with one another."""

from __future__ import annotations

import functools
import re
import tomllib
from pathlib import Path

import pytest

from relaxfuzz import corpus
from relaxfuzz.corpus.grades import RARE, grade, rare_in, rare_of
from relaxfuzz.corpus.knowns import SHIPPED, Known, knowns
from relaxfuzz.corpus.page import PAGE, judged, page
from relaxfuzz.fuzz.findings.confirm import DEATHS
from relaxfuzz.fuzz.renewal.records import alike, shared
from relaxfuzz.oracles.grades.grade import Grade
from relaxfuzz.oracles.identity import SHARED
from relaxfuzz.oracles.tiers import ORACLES

RECORDS = knowns()
JUDGED = judged()


def test_the_page_is_up_to_date() -> None:
    text = page(RECORDS, JUDGED)
    assert PAGE.read_text(encoding="utf-8") == text, "run `make bugs`, and commit docs/bugs.md"


def test_what_is_rare_is_written_down_for_each_record() -> None:
    written = tomllib.loads(RARE.read_text(encoding="utf-8"))
    assert list(written) == [record.name for record in RECORDS], "run `make bugs`"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("expand-tuple-arguments-function-as-value", Grade.B),
        ("legalize-passes-over-unknown-shape", Grade.B),
        ("fast-math-unknown-shape", Grade.C),
        ("adjust-matmul-order-alias-segfault", Grade.A),
    ],
)
def test_the_grade_of_a_record(name: str, expected: Grade) -> None:
    (record,) = (each for each in RECORDS if each.name == name)
    assert record.reproducer is not None
    assert rare_in(record.reproducer) == rare_of(record), "run `make bugs`"
    assert grade(record) is expected


def test_the_grade_of_a_users_record_is_the_promises(tmp_path: Path) -> None:
    (tmp_path / "fast-math-unknown-shape.toml").write_text(
        'what = "x"\nformat = 4\nreports = [["crash", "FuseOps"]]\ntvm = "fails on 0.26.0"\n'
    )
    (record,) = knowns(tmp_path)
    assert (rare_of(record), grade(record)) == ((), Grade.B)


def test_the_readme_has_their_number() -> None:
    readme = (PAGE.parents[1] / "README.md").read_text(encoding="utf-8")
    assert f"the {len(RECORDS)} root causes that relaxfuzz has found" in readme


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_a_record_is_complete(record: Known) -> None:
    assert record.verdict == "true"
    assert record.promise, "a report without a source for its promise is false"
    assert record.reproducer is not None
    entry = corpus.entry(record.reproducer)
    assert entry is not None
    assert (entry.oracle, entry.pass_name) == record.reports[0][:2]
    assert record.tvm == entry.tvm
    assert record.upstream == entry.upstream


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_a_record_can_be_recognized(record: Known) -> None:
    assert record.identities, "run `make records`"
    assert {report[0] for report in record.reports} <= {*ORACLES, *DEATHS}
    deaths = {report[0] for report in record.reports} & DEATHS
    assert {identity.how for identity in record.identities} <= {"", *deaths}
    assert len(set(record.identities)) == len(record.identities)


EVERY = [(record.name, identity) for record in RECORDS for identity in record.identities]


ALIKE = 29
"""Pairs of records that compare as one bug: a report of either counts for both. `make records`
lists them. The number only falls: each pair needs a person, to merge the records or to find a site
that tells them apart."""


def test_no_further_records_have_one_identity() -> None:
    assert len(alike(EVERY)) == ALIKE


def test_functions_that_many_records_share_are_written_down() -> None:
    written = SHARED.read_text(encoding="utf-8").splitlines()
    assert written == shared(EVERY), "run `make records`"


@functools.cache
def reproducers() -> set[Path]:
    return {r.reproducer.resolve() for r in RECORDS if r.reproducer is not None}


@pytest.mark.parametrize("path", corpus.found(), ids=lambda path: path.stem)
def test_every_reproducer_has_a_record(path: Path) -> None:
    assert path.resolve() in reproducers()
    assert corpus.entry(path) is not None, "the record lacks fails_with"


@pytest.mark.parametrize("path", corpus.found(), ids=lambda path: path.stem)
def test_a_reproducer_begins_with_what_goes_wrong(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("# ")


@pytest.mark.parametrize("path", corpus.found(), ids=lambda path: path.stem)
def test_the_module_of_a_reproducer_is_called_mod(path: Path) -> None:
    """The grade depends on what is rare in it."""
    text = path.read_text(encoding="utf-8")
    assert "@I.ir_module" not in text or re.search(r"^ *(class mod:|mod = )", text, re.MULTILINE)


def test_no_two_records_share_a_reproducer() -> None:
    """If they did, one repair would mark both as fixed."""
    paths = [record.reproducer.resolve() for record in RECORDS if record.reproducer is not None]
    assert len(paths) == len(set(paths))


def test_every_record_of_the_folder_is_read() -> None:
    assert {record.name for record in RECORDS} == {path.stem for path in SHIPPED.glob("*.toml")}


def test_what_was_judged() -> None:
    names = {record.name for record in RECORDS}
    for report in JUDGED:
        oracle, blamed, *_ = report.report
        assert oracle in {*ORACLES, *DEATHS}, report
        assert blamed
        assert report.verdict in {"false", "no bug"}
        assert report.why
        assert not report.bug or report.bug in names
