"""The identities of known bugs are written anew."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bench.records import alike, shared
from relaxfuzz.compat.release import versions
from relaxfuzz.corpus.knowns import SHIPPED, known, knowns
from relaxfuzz.fuzz.cli import app
from relaxfuzz.fuzz.findings.known import Choice
from relaxfuzz.fuzz.process import local_pool
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.renewal.records import merged, renew
from relaxfuzz.oracles.identity import FailureKind, Identity, Sameness
from tests.fuzz.sharing import share_pool

from ...commands import relaxfuzz

BUG = "canonicalize-match-cast-to-number"

RECORD = f"""\
what = "a number is cast to a shape"
format = 4
tvm = "fails on {versions()["tvm"]}"
verdict = "true"
note = "seen by hand"
reports = [["crash", "CanonicalizeBindings"], ["crash", "KillAfterLastUse"]]
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
        (found / f"{name}.toml").write_text(RECORD)
        if text is not None:
            (found / f"{name}.py").write_text(text)
    return found


Renewed = Callable[..., Result]


@pytest.fixture
def renewed(pool: LocalPool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Renewed:
    """The command in this process, with the pool of the tests."""
    share_pool(monkeypatch, pool, local_pool)
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(app, ["known", "--renew", *map(str, words)])


def test_a_folder_is_renewed(folder: Path, renewed: Renewed) -> None:
    done = renewed(folder, "--json")
    assert done.exit_code == 1, done.stderr
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
    assert renewed(folder).exit_code == 1
    assert one.path.read_text() == before


def test_the_gravest_consequence_of_the_module_and_the_minimized_one_counts(
    pool: LocalPool, tmp_path: Path
) -> None:
    """Earlier passes of a build simplify the minimized module, and hide the bug."""
    name = "hoist-if-drops-else"
    for end in (".py", ".toml"):
        shutil.copy(SHIPPED / f"{name}{end}", tmp_path)
    assert renew(tmp_path / f"{name}.toml", pool) == ""
    (bug,) = knowns(tmp_path)
    assert str(bug.consequence) == "wrong values (default build)"


def test_what_people_have_added_stays(folder: Path, tmp_path: Path) -> None:
    for name in ("passes", "bare"):
        (folder / f"{name}.toml").unlink()
    also = '[[also]]\nfailure = "raises"\nblamed = ["FuseOps"]\n'
    path = folder / "shows.toml"
    path.write_text(f"# by hand\n{RECORD}{also}")
    done = relaxfuzz("known", "--renew", folder, "--workers", 1, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    *_, last = known(path).identities
    assert last == Identity(failure=FailureKind.RAISES, blamed=("FuseOps",))
    assert len(known(path).identities) > 1
    assert path.read_text().count("[[also]]") == 1
    assert path.read_text().startswith("# by hand\n")


@pytest.mark.parametrize("text", ["[", 'what = "x"\n', 'reports = [["crash"]]\n'])
def test_a_file_that_is_no_record_is_a_mistake(tmp_path: Path, renewed: Renewed, text: str) -> None:
    """It stays as it is."""
    (tmp_path / "x.toml").write_text(text)
    (tmp_path / "x.py").write_text("import tvm\n\nmod = tvm.IRModule()\n")
    done = renewed(tmp_path)
    assert done.exit_code == 2, done.stderr
    assert "x.toml" in done.stderr
    assert (tmp_path / "x.toml").read_text() == text


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
