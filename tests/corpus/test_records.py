"""Records, reproducers, judged reports and the pages agree with one another."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.bugs import FIRST, FOLDER, INDEX, ROOT, judged, pages
from bench.records import alike, shared
from relaxfuzz import corpus
from relaxfuzz.corpus.grades import consequence
from relaxfuzz.corpus.knowns import SHIPPED, knowns
from relaxfuzz.fuzz.findings.confirm import DEATHS
from relaxfuzz.fuzz.report.record import issue, whole
from relaxfuzz.oracles.grades.consequence import Consequence, Effect, Where
from relaxfuzz.oracles.identity import SHARED
from relaxfuzz.oracles.tiers import ORACLES

RECORDS = knowns()
JUDGED = judged()


def test_the_pages_are_up_to_date() -> None:
    made = pages(RECORDS, JUDGED)
    assert {*FOLDER.glob("*.md"), INDEX} == made.keys(), "run `make bugs`"
    for path, text in made.items():
        assert path.read_text(encoding="utf-8") == text, "run `make bugs`, and commit docs/bugs"


def test_the_index_fits_a_screen_and_begins_with_the_gravest() -> None:
    rows = [line for line in INDEX.read_text(encoding="utf-8").splitlines() if "](bugs/" in line]
    first = [line for line in rows if re.match(r"\| [ABC] \|", line)]
    assert len(first) == FIRST
    assert {line[2] for line in first} == {"A"}


def test_a_users_record_without_a_consequence_has_the_gravest_of_its_reports(
    tmp_path: Path,
) -> None:
    text = 'what = "x"\nformat = 4\nreports = [["crash", "FuseOps"]]\ntvm = "fails on 0.26.0"\n'
    (tmp_path / "of-mine.toml").write_text(text)
    (record,) = knowns(tmp_path)
    assert consequence(record) == Consequence(Effect.UNBUILT, Where.PIPELINE)
    (tmp_path / "of-mine.toml").write_text(f"{text}consequence = 3\n")
    with pytest.raises(ValueError, match="Expected consequence to be a table but got 3"):
        knowns(tmp_path)


def test_the_readme_has_their_number() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"the {len(RECORDS)} root causes that relaxfuzz has found" in readme


def test_the_records_are_complete() -> None:
    for record in RECORDS:
        assert record.verdict == "true", record.name
        assert record.promise, f"{record.name}: a report without a source for its promise is false"
        assert record.reproducer is not None, record.name
        entry = corpus.entry(record.reproducer)
        assert entry is not None, record.name
        assert (entry.oracle, entry.pass_name) == record.reports[0][:2], record.name
        assert record.tvm == entry.tvm, record.name
        assert record.upstream == entry.upstream, record.name
        assert record.consequence is not None, f"{record.name}: run `make records`"


def test_the_records_can_be_recognized() -> None:
    for record in RECORDS:
        assert record.identities, f"{record.name}: run `make records`"
        assert {report[0] for report in record.reports} <= {*ORACLES, *DEATHS}, record.name
        deaths = {report[0] for report in record.reports} & DEATHS
        assert {identity.how for identity in record.identities} <= {"", *deaths}, record.name
        assert len(set(record.identities)) == len(record.identities), record.name


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


def test_every_reproducer_has_a_record() -> None:
    recorded = {r.reproducer.resolve() for r in RECORDS if r.reproducer is not None}
    for path in corpus.found():
        assert path.resolve() in recorded, path
        assert corpus.entry(path) is not None, f"the record of {path.name} lacks fails_with"


def test_the_form_of_the_reproducers() -> None:
    """Consequence and identity are measured on the module, which is called mod."""
    for path in corpus.found():
        text = path.read_text(encoding="utf-8")
        assert text.startswith("# "), f"{path.name} does not begin with what goes wrong"
        named = re.search(r"^ *(class mod:|mod = )", text, re.MULTILINE)
        assert named or "@I.ir_module" not in text, path.name


def test_a_reproducer_that_needs_relaxfuzz_has_the_reason_in_its_record() -> None:
    for record in RECORDS:
        text = "" if record.reproducer is None else record.reproducer.read_text(encoding="utf-8")
        needs = re.search(r"^ *(from|import) relaxfuzz\b", text, re.MULTILINE) is not None
        assert needs is (record.note or "").startswith("needs relaxfuzz: "), record.name


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


def test_a_record_is_shown_and_filed_with_its_consequence() -> None:
    record = next(each for each in RECORDS if each.name == "argmax-of-lowest")
    assert "consequence: wrong values (default build), grade A" in whole(record)
    assert "Consequence: wrong values (default build)." in issue(record)
