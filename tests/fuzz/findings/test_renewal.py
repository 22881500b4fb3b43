"""Folders of known bugs of an older format are written anew."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import tvm

from relaxfuzz.compat.release import versions
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.corpus.knowns import SHIPPED, known, knowns
from relaxfuzz.fuzz.findings.dedup import place
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.known import Choice
from relaxfuzz.fuzz.findings.store import DATABASE, Store
from relaxfuzz.fuzz.renewal.records import alike, in_this_format, merged, shared
from relaxfuzz.fuzz.user_input.module_file import execute
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.identity import FailureKind, Identity, Sameness
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.text.frames import Trace
from relaxfuzz.oracles.violation import Case
from tests.fuzz.changed import changed

from ...commands import relaxfuzz

BUG = "canonicalize-match-cast-to-number"

OLD = f"""\
what = "a number is cast to a shape"
key_format = 3
tvm = "fails on {versions()["tvm"]}"
verdict = "true"
note = "seen by hand"
like = [["main"]]
keys = [
    ["crash", "CanonicalizeBindings", "InternalError", "Check failed: (value.as<PrimExpr>())"],
    ["crash", "CanonicalizeBindings", "InternalError", "in other words"],
    ["crash", "KillAfterLastUse", "InternalError", "no"],
]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One bug that shows on this TVM, one whose reproducer passes, and one that has none."""
    found = tmp_path / "known"
    found.mkdir()
    for name, text in (
        ("shows", (SHIPPED / f"{BUG}.py").read_text()),
        ("passes", "import tvm\n\nmod = tvm.IRModule()\n"),
        ("bare", None),
    ):
        (found / f"{name}.toml").write_text(OLD)
        if text is not None:
            (found / f"{name}.py").write_text(text)
    return found


def test_a_folder_of_the_last_format_is_renewed(folder: Path, tmp_path: Path) -> None:
    refused = relaxfuzz("known", "--no-known", "--known", folder, cwd=tmp_path)
    assert refused.returncode == 2
    assert f"`relaxfuzz known --renew '{folder}'` makes them anew" in refused.stderr
    done = relaxfuzz("known", "--renew", folder, "--json", "--workers", 1, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    events = {each["name"]: each for each in map(json.loads, done.stdout.splitlines())}
    assert {name: each["why_not"] for name, each in events.items()} == {
        "shows": "",
        "passes": "its reproducer does not fail here",
        "bare": "it has no reproducer",
    }
    assert {each["event"] for each in events.values()} == {"renewed"}
    by_name = {each.name: each for each in knowns(folder)}
    one = by_name["shows"]
    assert one.reports == (("crash", "CanonicalizeBindings"), ("crash", "KillAfterLastUse"))
    assert (one.what, one.note) == ("a number is cast to a shape", "seen by hand")
    shipped = known(SHIPPED / f"{BUG}.toml")
    assert any(shipped.sameness(each) is Sameness.SAME for each in one.identities)
    assert by_name["passes"].identities == by_name["bare"].identities == ()
    # Now a run takes them, and a second renewal changes nothing.
    assert len(Choice(folders=(folder,), shipped=False).load(versions()["tvm"]).own) == 3
    before = one.path.read_text()
    assert relaxfuzz("known", "--renew", folder, "--workers", 1, cwd=tmp_path).returncode == 1
    assert one.path.read_text() == before


def test_what_people_have_added_stays(folder: Path, tmp_path: Path) -> None:
    for name in ("passes", "bare"):
        (folder / f"{name}.toml").unlink()
    also = '[[also]]\nfailure = "raises"\nblamed = ["FuseOps"]\n'
    path = folder / "shows.toml"
    text = "".join(line for line in OLD.splitlines(True) if not line.startswith("like"))
    text = text.replace("key_format = 3", "format = 4").replace("keys = [", "reports = [")
    path.write_text(f"# by hand\n{text}{also}")
    done = relaxfuzz("known", "--renew", folder, "--workers", 1, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    *_, last = known(path).identities
    assert last == Identity(failure=FailureKind.RAISES, blamed=("FuseOps",))
    assert len(known(path).identities) > 1
    assert path.read_text().count("[[also]]") == 1
    assert path.read_text().startswith("# by hand\n")


def findings_of(*names: str) -> list[Finding]:
    """A fault of a user's pass, and one that no pass has any more."""
    module = save_json(execute(SHIPPED / f"{BUG}.py"))
    call = PassCall("CanonicalizeBindings()")
    (violation,) = check(Case(load_json(module), (call,)), oracles=("crash",))
    one = Finding(
        violation=violation,
        module=module,
        calls=(call,),
        versions=versions(),
        confirmed=True,
        reduced=True,
    )
    return [changed(one, key=(name,), first_id=name) for name in names]


def older(folder: Path) -> None:
    """Make the store of a folder one of the last format."""
    with closing(sqlite3.connect(folder / DATABASE)) as db:
        for id, text in db.execute("SELECT id, finding FROM findings").fetchall():
            fields = json.loads(text)
            for name in ("identity_format", "first_id", "made_of", "similar", "evidence"):
                fields.pop(name, None)
            fields |= {"format": 3, "key_format": 3, "perhaps": [], "unlike": []}
            violation = fields["violation"]
            violation.pop("trace", None)
            violation["raised"] = {"kind": "InternalError", "text": "no", "legalizes": False}
            query = "UPDATE findings SET finding = ? WHERE id = ?"
            db.execute(query, (json.dumps(fields), id))
        db.execute("DROP TABLE identities")
        db.execute("PRAGMA user_version = 4")
        db.commit()


def test_a_store_of_the_last_format_is_renewed_as_its_message_says(tmp_path: Path) -> None:
    """Decisions of people stay."""
    out = tmp_path / "out"
    still, gone, alone = findings_of("still", "gone", "alone")
    gone, alone = (
        changed(each, module=save_json(tvm.IRModule()), trace=Trace((f"{each.id}::Visit",), "n"))
        for each in (gone, alone)
    )
    with Store(out) as store:
        for each in (still, gone, alone):
            store.put(each)
            place(store, each)
        assert len(store.rows.all()) == 3
        store.rows.merge("still", ["gone"])
        store.rows.judge("still", verdict="reported", note="by hand")
        store.rows.judge("alone", verdict="wontfix")
    older(out)
    refused = relaxfuzz("findings", out, cwd=tmp_path)
    assert refused.returncode == 2
    assert f"`relaxfuzz known --renew '{out}'` makes it anew" in " ".join(refused.stderr.split())
    done = relaxfuzz("known", "--renew", out, "--json", "--workers", 1, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    events = {each["name"]: each["why_not"] for each in map(json.loads, done.stdout.splitlines())}
    assert events == {"still": "", **dict.fromkeys(("gone", "alone"), "it does not fail here")}
    assert [each.name for each in out.glob("findings-format-*")] == ["findings-format-4.sqlite"]
    with Store(out, create=False) as store:
        (renewed,) = (each for each in store.findings() if each.evidence is not None)
        assert len(list(store.findings())) == 3
        rows = {row.verdict: row for row in store.rows.all()}
        assert {verdict: len(row.members) for verdict, row in rows.items()} == {
            "reported": 2,
            "wontfix": 1,
        }
        assert rows["reported"].note == "by hand"
    assert known(SHIPPED / f"{BUG}.toml").sameness(renewed.identity) is Sameness.SAME
    again = relaxfuzz("known", "--renew", out, cwd=tmp_path)
    assert again.returncode == 2
    assert "there is nothing to renew" in again.stderr


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_a_folder_that_holds_nothing_to_renew_is_a_mistake(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    done = relaxfuzz("known", "--renew", tmp_path / name, cwd=tmp_path)
    assert done.returncode == 2
    assert f"no records of known bugs (*.toml) in '{tmp_path / name}'" in done.stderr


@pytest.mark.parametrize("text", ["[", 'what = "x"\n', 'reports = [["crash"]]\n'])
def test_a_file_that_is_no_record_is_a_mistake(tmp_path: Path, text: str) -> None:
    """It stays as it is."""
    (tmp_path / "x.toml").write_text(text)
    (tmp_path / "x.py").write_text("import tvm\n\nmod = tvm.IRModule()\n")
    done = relaxfuzz("known", "--renew", tmp_path, "--workers", 1, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "x.toml" in done.stderr
    assert (tmp_path / "x.toml").read_text() == text


def test_keys_become_reports() -> None:
    """With what the grade depends on besides."""
    fields = {
        "what": "x",
        "key_format": 3,
        "like": [["main"]],
        "keys": [
            ["crash", "FuseOps", "ValueError", "no"],
            ["crash", "FuseOps", "KeyError", "no"],
            ["idempotent", "FuseOps", "a second run raises", "ValueError", "no"],
            ["idempotent", "FuseOps", "a second run changes the result"],
            ["segfault", "FuseOps"],
        ],
    }
    assert in_this_format(fields) == {
        "what": "x",
        "reports": [
            ["crash", "FuseOps"],
            ["idempotent", "FuseOps", "a second run raises"],
            ["idempotent", "FuseOps"],
            ["segfault", "FuseOps"],
        ],
    }
    assert in_this_format({"reports": [["crash", "FuseOps"]]}) == {
        "reports": [["crash", "FuseOps"]]
    }


def raises(*site: str, blamed: str = "FuseOps") -> Identity:
    return Identity(failure=FailureKind.RAISES, blamed=(blamed,), site=site, condition="n > 0")


def test_identities_that_differ_in_who_is_blamed_are_one() -> None:
    one, other = raises("Grouping::Visit"), raises("Grouping::Visit", blamed="FuseTIR")
    elsewhere = raises("Grouping::Run")
    (both, apart) = merged([one, other, elsewhere, one])
    assert (both.blamed, both.site) == (("FuseOps", "FuseTIR"), one.site)
    assert apart == elsewhere


def test_functions_of_more_than_two_records_are_shared() -> None:
    """On the way to a throw; what an oracle says is none."""
    values = Identity(failure=FailureKind.VALUES, blamed=("FuseOps",), site=("values",))
    every = [
        *(("a", raises("Common::Visit", "Pair::Visit")), ("a", raises("Own::Visit"))),
        *(("a", raises("Own::Visit", "Other")), ("a", raises("Own::Visit", "Third"))),
        *(("b", raises("Common::Visit", "Pair::Visit")), ("c", raises("Common::Visit"))),
        *((name, values) for name in "abc"),
    ]
    assert shared(every) == ["Common::Visit"]


def test_records_with_one_identity_are_named() -> None:
    every = [
        ("a", raises("Grouping::Visit")),
        ("b", raises("Grouping::Run")),
        ("c", raises("Grouping::Visit")),
        ("c", raises("Grouping::Run")),
        ("c", raises("Grouping::Run")),
    ]
    assert alike(every) == [("a", "c"), ("b", "c")]
