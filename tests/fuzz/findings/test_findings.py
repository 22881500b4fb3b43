"""relaxfuzz findings: rows listed, shown with a reproducer that fails, merged, split, judged."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tvm import relax
from typer.testing import CliRunner, Result

from bench.formats import BEGIN, END, PAGE, table
from bench.pages import part
from relaxfuzz.compat.release import build_name, versions
from relaxfuzz.compat.serialization import save_json
from relaxfuzz.corpus.knowns import knowns
from relaxfuzz.fuzz.cli import app
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.rows import BY_HAND, SAME
from relaxfuzz.fuzz.findings.runs import Run
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.jobs.evidence import evidence_of
from relaxfuzz.fuzz.reproducer import source_of
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.exhibit import Exhibit
from relaxfuzz.oracles.grades.consequence import Consequence, Effect, Where
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case, silent
from tests.fuzz.changed import changed

USER = Path(__file__).parents[1] / "user_passes.py"


def relaxfuzz(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["findings", *map(str, arguments)])


def made(op: Callable[[relax.Expr], relax.Expr], ty: relax.Type, call: PassCall) -> Finding:
    """The violations of the pass on main(x) = op(x)."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", ty)
    with builder.function("main", [x]):
        with builder.dataflow():
            output = builder.emit_output(op(x))
        builder.emit_func_output(output)
    mod = builder.get()
    text = save_json(mod)
    return Finding(
        violation=check(Case(mod, (call,)))[0],
        module=text,
        source=source_of(text),
        versions=versions(),
        calls=(call,),
        confirmed=True,
        reduced=True,
        evidence=evidence_of(mod, silent, whole=True),
    )


@pytest.fixture(scope="module")
def findings() -> list[Finding]:
    """Two reports of one bug of TVM, and one of a user's pass."""
    unknown = relax.TensorType(dtype="float32", ndim=2)
    legalize = PassCall("LegalizeOps()")
    own = PassCall("raises_on_exp()", factory=f"{USER}:raises_on_exp")
    known = relax.TensorType((2,), "float32")
    return [
        made(relax.op.exp, unknown, legalize),
        made(relax.op.sin, unknown, legalize),
        made(relax.op.exp, known, own),
    ]


@pytest.fixture
def out(tmp_path: Path, findings: list[Finding]) -> Path:
    """A store in which no rule has looked at the findings yet, as an older one is."""
    folder = tmp_path / "out"
    with Store(folder) as store:
        for finding in findings:
            store.put(finding)
    return folder


def of(folder: Path) -> tuple[object, ...]:
    """Options for what is recorded in a folder."""
    return ("--out", folder, "--format", "diff")


def listed(out: Path, *options: str) -> list[dict[str, object]]:
    done = relaxfuzz(out, "--json", *options)
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_page_of_formats_has_the_fields_of_rows(out: Path) -> None:
    assert part(PAGE, BEGIN, END).strip() == table(), "make settings"
    fields = re.findall(r"^\| `(\w+)`", table(), re.M)
    for row in listed(out):
        assert [*row] == ["event", "schema", *fields]


WITHOUT_TVM = """
import sys
from pathlib import Path
from relaxfuzz.fuzz.findings.listed import Filter
from relaxfuzz.fuzz.report.listing import list_kept, show_kept
folder = Path(sys.argv[1])
assert list_kept(folder, Filter(), json=True) == 0
if len(sys.argv) > 2:
    assert show_kept(folder, sys.argv[2], "diff") == 0
assert not {"tvm", "numpy"} & sys.modules.keys()
"""


def test_rows_are_listed_and_shown_without_tvm(out: Path, findings: list[Finding]) -> None:
    text = Exhibit("the module", "before", "a", "after", "b")
    with Store(out) as store:
        store.put(dataclasses.replace(findings[2], exhibit=text))
    relaxfuzz("note", findings[2].id, "seen", "--out", out)

    def alone(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", WITHOUT_TVM, str(out), *options]
        return subprocess.run(command, capture_output=True, text=True)

    kept = alone(findings[2].id[:4])
    assert kept.returncode == 0, kept.stderr
    assert f"{text.story}\n" in kept.stdout
    assert "note: seen" in kept.stderr
    rows = [json.loads(line) for line in kept.stdout.splitlines() if line.startswith("{")]
    (out / "rows.json").unlink()
    assert rows == listed(out), "as from the findings themselves"
    relaxfuzz("note", findings[2].id, "seen again", "--out", out)
    assert alone().returncode == 0
    with Store(out) as store:
        store.put(changed(findings[2], oracle="idempotent", key=("x",)))
    assert alone().returncode, "the store has changed since"


def test_rows_are_filtered(out: Path, findings: list[Finding]) -> None:
    own = findings[2].id
    relaxfuzz("verdict", own, "wontfix", "--out", out)
    for options, number in (
        (("--pass", "LegalizeOps"), 1),
        (("--oracle", "crash"), 1),
        (("--verdict", "wontfix"), 1),
        (("--new",), 0),
        (("--pass", "LegalizeOps", "--pass", "raises_on_exp"), 2),
    ):
        assert len(listed(out, *options)) == number, options


def test_the_gravest_come_first(out: Path, findings: list[Finding]) -> None:
    """An exception that was not measured, and what is left because a shape is not known."""
    with Store(out) as store:
        for each in findings[:2]:
            store.put(changed(each, consequence=Consequence(Effect.UNBUILT, Where.CONTRIVED)))
    names = ("passes", "grade", "consequence")
    rows = [tuple(row[name] for name in names) for row in listed(out, "--grade", "C")]
    assert rows == [
        (["raises_on_exp"], "B", "not measured"),
        (["LegalizeOps"], "C", "does not build (contrived)"),
    ]
    assert listed(out, "--grade", "A") == []
    with Store(out) as store:
        (kept,) = (each for each in store.findings() if each.pass_name == "raises_on_exp")
        for oracle in ("idempotent", "evaluated"):
            store.put(changed(kept, oracle=oracle, key=("x",), raised=None))
    grades = [row["grade"] for row in listed(out, "--pass", "raises_on_exp")]
    assert grades == sorted(map(str, grades))
    assert grades[0] == "A", "of a row, the grade of its gravest finding"


@pytest.mark.session
def test_when_and_where_a_row_was_seen(out: Path, findings: list[Finding]) -> None:
    own = findings[2].id

    def run(build: str, day: int, **fields: Any) -> None:
        made_on = {"tvm": "0.28.dev0", "tvm_build": build}
        with Store(out, create=False, write=True) as store:
            store.runs.begin(
                Run(
                    command="nightly",
                    started=day * 86_400.0,
                    workers=1,
                    versions=made_on,
                    passes=("raises_on_exp",),
                    **fields,
                )
            )

    def row() -> dict[str, object]:
        (found,) = listed(out, "--pass", "raises_on_exp")
        return found

    assert (row()["first_seen"], row()["builds"]) == (None, [build_name(versions())])
    relaxfuzz("verdict", own, "fixed", "--out", out)
    run("aa", 1, found=(own,))
    run("bb", 3, replayed={own: "still fails"})
    seen = row()
    assert (seen["first_seen"], seen["last_seen"]) == (
        "1970-01-02T00:00:00Z",
        "1970-01-04T00:00:00Z",
    )
    assert seen["builds"] == ["TVM 0.28.dev0 (build aa)", "TVM 0.28.dev0 (build bb)"]
    run("cc", 5, replayed={own: "gone"})
    assert (row()["gone_on"], row()["status"]) == ("TVM 0.28.dev0 (build cc)", "fixed")
    assert listed(out)[-1]["passes"] == ["raises_on_exp"], "what is gone stands at the end"
    run("dd", 7, found=(own,))
    assert (row()["gone_on"], row()["back"], row()["status"]) == (None, True, "back")
    assert listed(out, "--new") == [row()]
    shown = relaxfuzz("show", own, "--format", "diff", "--out", out).stderr
    assert "seen: 1970-01-02 to 1970-01-08, on TVM 0.28.dev0 (build aa), " in shown
    assert "back: it was gone in between" in shown


def test_no_store_is_a_mistake(tmp_path: Path) -> None:
    done = relaxfuzz(tmp_path)
    assert done.exit_code == 2
    assert "no findings in" in done.output


@pytest.mark.session
def test_show_prints_what_fails(out: Path, findings: list[Finding]) -> None:
    done = relaxfuzz("show", findings[2].id[:6], "--out", out)
    assert done.exit_code == 0, done.output
    assert "raises_on_exp" in done.stdout
    assert done.stdout.lstrip().startswith("#")
    assert findings[2].title in done.stderr


@pytest.mark.session
def test_show_prints_what_was_compared(out: Path, findings: list[Finding]) -> None:
    left, raised = findings[0], findings[2]
    done = relaxfuzz("show", left.id, "--out", out, "--format", "diff")
    assert done.exit_code == 0, done.output
    assert "after LegalizeOps: the same" in done.stdout
    assert "R.exp(x)" in done.stdout
    with Store(out, create=False) as store:
        assert store.get(left.id) == left  # what only reads writes nothing
    done = relaxfuzz("show", raised.id, "--out", out, "--format", "diff")
    assert f"raises_on_exp raises {raised.title}" in done.stdout


def test_names_do_not_reach_the_terminal_as_commands(out: Path, findings: list[Finding]) -> None:
    shown = Exhibit("m", "before", "x = 1", "after", "x\x1b[31m\ud800 = 1")
    with Store(out) as store:
        store.put(dataclasses.replace(findings[0], exhibit=shown))
    done = relaxfuzz("show", findings[0].id, "--out", out, "--format", "diff")
    assert done.exit_code == 0, done.output
    assert done.stdout.endswith("-x = 1\n+x\\x1b[31m\\ud800 = 1\n")


@pytest.mark.session
def test_show_gives_the_reason_why_findings_are_one_row(out: Path, findings: list[Finding]) -> None:
    done = relaxfuzz("show", findings[1].id, "--out", out, "--format", "issue")
    assert done.exit_code == 0, done.output
    assert f"as {findings[0].id}: {SAME}" in done.stderr
    assert "```python" in done.stdout


@pytest.mark.session
def test_what_does_not_fail_is_not_shown(out: Path, findings: list[Finding]) -> None:
    gone = changed(findings[2], key=("gone",), module=findings[1].module, source="")
    with Store(out) as store:
        store.put(gone)
    done = relaxfuzz("show", gone.id, "--out", out)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "no file reproduces it" in done.stderr


def test_people_merge_and_split(out: Path, findings: list[Finding]) -> None:
    one, other, own = (finding.id for finding in findings)
    assert relaxfuzz("split", other, "--out", out).output.startswith(other)
    assert len(listed(out)) == 3
    merged = relaxfuzz("merge", own[:6], other[:6], "--out", out)
    assert merged.output == f"{own}: 2 reports\n"
    (row,) = (row for row in listed(out) if row["id"] == own)
    assert {"id": other, "why": BY_HAND} in row["findings"]  # type: ignore[operator]
    assert relaxfuzz("merge", one, one, "--out", out).exit_code == 2
    assert relaxfuzz("split", one, "--out", out).exit_code == 2


def test_people_judge(out: Path, findings: list[Finding]) -> None:
    own = findings[2].id
    assert relaxfuzz("note", own, "by design", "--out", out).exit_code == 0
    assert relaxfuzz("verdict", own[:5], "wontfix", "--out", out).output == (
        f"{own}: wontfix (by design)\n"
    )
    table = relaxfuzz(out, "--new")
    assert "by design" not in table.output
    assert "by design" in relaxfuzz(out).output
    assert relaxfuzz("verdict", own, "", "--out", out).output == f"{own}: no verdict (by design)\n"


def test_people_record_that_a_row_is_a_known_bug(
    out: Path, findings: list[Finding], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own, name = findings[2], "lift-params-undefined-output"
    done = relaxfuzz("known", own.id[:6], name, "--out", out)
    assert (done.exit_code, done.output) == (
        0,
        f"{own.id}: {name}, in relaxfuzz-known/{name}.toml\n",
    )
    (one,) = knowns(tmp_path / "relaxfuzz-known")
    assert (one.name, one.identities) == (name, (own.identity,))
    assert one.path.read_text().count("[[also]]") == 1
    (row,) = listed(out, "--pass", "raises_on_exp")
    assert (row["status"], row["known"]) == ("known", name)
    # Whoever says so again changes nothing; another folder gets a record of its own.
    before = one.path.read_text()
    assert relaxfuzz("known", own.id, name, "--out", out).exit_code == 0
    assert one.path.read_text() == before
    folder = ("--known", tmp_path / "another")
    assert relaxfuzz("known", own.id, name, *folder, "--out", out).exit_code == 0
    (other,) = knowns(tmp_path / "another")
    assert other.identities == one.identities
    assert one.path.read_text() == before


def test_a_row_may_be_a_known_bug_in_several_ways(
    out: Path, findings: list[Finding], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each finding of the row is one; those that one identity covers are one."""
    monkeypatch.chdir(tmp_path)
    one, other, own = findings
    relaxfuzz("merge", own.id, one.id, "--out", out)
    name = "lift-params-undefined-output"
    assert relaxfuzz("known", own.id, name, "--out", out).exit_code == 0
    (bug,) = knowns(tmp_path / "relaxfuzz-known")
    assert one.identity == other.identity
    assert set(bug.identities) == {own.identity, one.identity}


def test_a_wrong_id_or_verdict_is_a_mistake(out: Path, findings: list[Finding]) -> None:
    own = findings[2].id
    swapped = own[1] + own[0] + own[2:]
    for arguments, message in (
        (("show", swapped), f"Did you mean '{own}'?"),
        (("verdict", own, "wontfx"), "Did you mean 'wontfix'?"),
        (("show", own, "--format", "isue"), "Did you mean 'issue'"),
        (("note", "", "x"), "several findings begin with ''"),
        (
            ("known", own, "lift-params-undefined-outptu"),
            "Did you mean 'lift-params-undefined-output'",
        ),
    ):
        done = relaxfuzz(*arguments, "--out", out)
        assert done.exit_code == 2
        assert message in done.output
