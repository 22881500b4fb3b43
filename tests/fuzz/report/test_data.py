"""The data of a report: the bugs of a store, and the state of each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.known import Choice, Expected
from relaxfuzz.fuzz.findings.rows import SAME
from relaxfuzz.fuzz.findings.runs import Run
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.process.targets import Origin
from relaxfuzz.fuzz.report.data import Entry, EntryState, Report, gather
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.grades.grade import Grade

Make = Callable[..., Finding]
MakeRun = Callable[..., Run]


def entries(store: Store, expected: Expected) -> dict[str, Entry]:
    return {entry.title: entry for entry in gather(store, expected).entries}


def test_states_and_their_order(report: Report, known: Finding) -> None:
    assert [(entry.state, entry.title) for entry in report.entries] == [
        (EntryState.NEW, "computes other values"),
        (EntryState.SEEN, "InternalError: Check failed: (it != end) is false"),
        (EntryState.KNOWN, known.title),
    ]
    assert report.unconfirmed == 1


def test_an_entry_is_a_row(report: Report) -> None:
    (crash,) = report.of(EntryState.SEEN)
    assert crash.reports == len(crash.evidence) == 2
    assert crash.places == (("FuseOps", "crash"), ("FuseTIR", "crash"))
    assert (crash.passes, crash.oracles) == (("FuseOps", "FuseTIR"), ("crash",))
    first, second = crash.evidence
    assert first.reproducer is not None, "what has a reproducer is shown first"
    assert second.why.startswith("as ")
    assert second.why.endswith(SAME)
    assert crash.runs == (1, 2)
    assert (crash.verdict, crash.note) == ("reported", "see the mailing list")


def test_what_is_similar_to_a_known_stands_behind_what_is_new(
    tmp_path: Path, make: Make, expected: Expected
) -> None:
    close = make(title="close", oracle="evaluated", similar="some-bug (with relax.take)")
    plain = make(title="plain", oracle="idempotent")
    with Store(tmp_path) as store:
        for finding in (close, plain):
            store.put(finding)
        found = gather(store, expected).entries
    assert [(each.title, each.state, each.status, each.similar) for each in found] == [
        ("plain", EntryState.NEW, "new", ""),
        ("close", EntryState.NEW, "similar to some-bug", "some-bug (with relax.take)"),
    ]
    assert found[0].grade > found[1].grade, "though it is less grave"


def test_counts_of_all_runs(report: Report) -> None:
    assert report.stats["FuseOps"].checks == 800
    assert report.stats["FuseOps"].sampled == {"evaluated": 760, "json": 80}
    assert report.known_reports["FuseOps"] == 40
    assert report.last is report.runs[2]


def test_without_runs_all_is_new(tmp_path: Path, make: Make, expected: Expected) -> None:
    with Store(tmp_path) as store:
        store.put(make())
        report = gather(store, expected)
    assert [entry.state for entry in report.entries] == [EntryState.NEW]
    assert (report.last, report.stats) == (None, {})


def test_knowns_that_were_only_counted(tmp_path: Path, a_run: MakeRun, expected: Expected) -> None:
    met = {"lift-params-undefined-output": 3, "no-such-file": 1}
    with Store(tmp_path) as store:
        store.runs.begin(a_run(knowns=met))
        store.runs.begin(a_run(knowns={"lift-params-undefined-output": 5}))
        report = gather(store, expected)
    by_id = {entry.id: entry for entry in report.entries}
    entry = by_id["lift-params-undefined-output"]
    assert (entry.state, entry.reports, entry.runs) == (EntryState.KNOWN, 5, (1, 2))
    assert ("LiftTransformParams", "well-formed") in entry.places
    assert entry.finding is None
    assert by_id["no-such-file"].title == "no-such-file", "the file may be gone since"


def test_the_night_in_which_a_known_turns_out_to_be_fixed_shows_that(
    tmp_path: Path, known: Finding, a_run: MakeRun
) -> None:
    """From then on it excuses nothing, and is still what the finding was."""
    name = "lift-params-undefined-output"
    expected = Choice().load("0.27.0.post1")
    expected.fixed = frozenset({name})
    with Store(tmp_path) as store:
        store.put(known)
        store.runs.begin(a_run(command="nightly", knowns={name: 1}, found=(known.id,)))
        store.runs.begin(a_run(command="nightly", fixed=(name,)))
        entry = entries(store, expected)[known.title]
    assert entry.state is EntryState.FIXED
    assert [each.name for each in entry.knowns] == [name]


def on_build(build: str, a_run: MakeRun, **fields: object) -> Run:
    versions = {"tvm": "0.28.dev0", "tvm_git": "1a2b3c4d5e6f", "tvm_build": build}
    return a_run(command="nightly", versions=versions, **fields)


def test_what_is_new_and_gone_since_the_build_before(
    tmp_path: Path, make: Make, a_run: MakeRun, expected: Expected
) -> None:
    stays, goes, comes, later = (make(title=title) for title in ("stays", "goes", "comes", "later"))
    with Store(tmp_path) as store:
        for finding in (stays, goes, comes, later):
            store.put(finding)
        store.runs.begin(on_build("aa", a_run, found=(stays.id, goes.id)))
        assert gather(store, expected).change_of_build() == "", "there is no other build"
        replayed = {stays.id: "still fails", goes.id: "gone"}
        store.runs.begin(on_build("bb", a_run, found=(comes.id,), replayed=replayed))
        store.runs.begin(on_build("bb", a_run, found=(later.id,), replayed=replayed))
        report = gather(store, expected)
        states = {entry.title: entry.state for entry in report.entries}
        assert states == {
            "stays": EntryState.SEEN,
            "goes": EntryState.FIXED,
            "comes": EntryState.SEEN,
            "later": EntryState.NEW,
        }
        assert {entry.title for entry in report.new_on_build} == {"comes", "later"}
        assert [entry.title for entry in report.gone_on_build] == ["goes"]
        since = "Since TVM 0.28.dev0 (git 1a2b3c4d5e, build aa): 2 new, 1 gone."
        assert report.change_of_build() == since
        assert report.summary().endswith(f"TVM 0.28.dev0 (git 1a2b3c4d5e, build bb). {since}")
        # A third build has it again: it was gone, and is not new.
        replayed = {stays.id: "still fails", goes.id: "still fails", comes.id: "gone"}
        store.runs.begin(on_build("cc", a_run, replayed=replayed))
        report = gather(store, expected)
        assert report.new_on_build == ()
        assert [entry.title for entry in report.gone_on_build] == ["comes"]
        assert {entry.title: entry.state for entry in report.entries}["goes"] is EntryState.SEEN


def test_a_report_that_looks_like_a_known_that_is_fixed_is_news(
    tmp_path: Path, known: Finding, a_run: MakeRun, expected: Expected
) -> None:
    name = "lift-params-undefined-output"
    with Store(tmp_path) as store:
        store.put(known)
        store.runs.begin(on_build("aa", a_run, knowns={name: 1}))
        store.runs.begin(on_build("bb", a_run, fixed=(name,), found=(known.id,)))
        (entry,) = gather(store, expected).entries
        assert entry.state is EntryState.NEW
        assert [each.id for each in gather(store, expected).new_on_build] == [entry.id]


def test_the_gravest_of_a_state_come_first(
    tmp_path: Path,
    make: Make,
    a_run: MakeRun,
    expected: Expected,
    one_row: Callable[..., None],
) -> None:
    oracles = ("idempotent", "crash", "evaluated")
    found = [
        make(title=oracle, oracle=oracle, origin=Origin(7, 3, Stage.ANNOTATED))
        for oracle in oracles
    ]
    with Store(tmp_path) as store:
        for finding in found:
            store.put(finding)
        one_row(store.rows, found[0], found[2])
        store.runs.begin(a_run(found=tuple(finding.id for finding in found)))
        report = gather(store, expected)
    assert [(entry.grade, set(entry.oracles)) for entry in report.entries] == [
        (Grade.A, {"idempotent", "evaluated"}),  # a row has the grade of its gravest finding
        (Grade.B, {"crash"}),
    ]


def test_what_was_judged_to_be_fixed_is_open_again_when_it_is_back(
    tmp_path: Path, make: Make, a_run: MakeRun, expected: Expected
) -> None:
    finding = make()
    with Store(tmp_path) as store:
        store.put(finding)
        store.rows.enter(finding.id, finding.identity)
        store.rows.judge(finding.id, verdict="fixed")
        states = []
        for fields in ({"found": (finding.id,)}, {"replayed": {finding.id: "gone"}}, {}):
            store.runs.begin(on_build("aa", a_run, **fields))
            states.append(entries(store, expected)[finding.title].state)
        # The build may lack the repair: as long as it was never gone, people know better.
        assert states == [EntryState.FIXED, EntryState.FIXED, EntryState.FIXED]
        store.runs.begin(on_build("bb", a_run, replayed={finding.id: "still fails"}))
        (entry,) = gather(store, expected).entries
    assert (entry.state, entry.status, entry.is_open) == (EntryState.SEEN, "back", True)
