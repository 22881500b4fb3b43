"""Whatever a store, a state or a file of settings holds: it is read, or refused in a sentence."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from relaxfuzz import corpus
from relaxfuzz.corpus.knowns import SHIPPED, known, knowns
from relaxfuzz.fuzz.findings import executable_text
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.script import is_reproducer
from relaxfuzz.fuzz.findings.store import DATABASE, SCHEMA_VERSION, BadStore, Store
from relaxfuzz.fuzz.jobs.jobs import Check
from relaxfuzz.fuzz.nightly.config import plan
from relaxfuzz.fuzz.nightly.state import FILE, Night, load_night
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.protocol import ProtocolError, Submit, decode_request, encode
from relaxfuzz.fuzz.reproducer.replay import ReplayItem, ReplayStatus, replay
from relaxfuzz.fuzz.system.errors import UserError
from relaxfuzz.fuzz.system.lock import LOCK, alone
from relaxfuzz.fuzz.user_input.settings import NIGHTLY
from relaxfuzz.fuzz.user_input.settings_file import load
from relaxfuzz.fuzz.zygote import HANDLERS
from relaxfuzz.oracles.passcall import PassCall
from tests.fuzz.changed import changed

from ..commands import relaxfuzz
from .mutations import ODD, damaged_bytes, damaged_text
from .stores import (
    Tally,
    damaged_stores,
    made_finding,
    make_store,
    nothing_outside,
    read_all,
    shows,
    without,
    write_all,
)


@pytest.fixture(scope="module")
def finding() -> Finding:
    return made_finding("exp")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("stores") / "original")


@pytest.fixture
def store(original: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "in" / "store"
    shutil.copytree(original, folder)
    return folder


def execute(folder: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)


@dataclass(frozen=True)
class Drawn:
    """What a failure shows the beginning of: inputs may be large."""

    value: object

    def __repr__(self) -> str:
        return f"{self.value!r:.500}"


def fuzz(count: int, strategy: st.SearchStrategy[object], work: Callable[[object], None]) -> None:
    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy.map(Drawn))
    def run(drawn: Drawn) -> None:
        work(drawn.value)

    run()


# Stores


def fuzz_stores(original: Path, count: int) -> Tally:
    tally = Tally()

    def work(make: object) -> None:
        assert callable(make)
        with tempfile.TemporaryDirectory(prefix="hostile-store-") as folder:
            inside = Path(folder) / "in" / "store"
            inside.parent.mkdir()
            make(inside)
            with nothing_outside(inside):
                read_all(inside, tally)
                write_all(inside, tally)

    # The shipped knowns are what takes the time, and are the same each time.
    with mock.patch("relaxfuzz.fuzz.findings.known.knowns", functools.cache(knowns)):
        fuzz(count, damaged_stores(original), work)
    return tally


@pytest.mark.parametrize("count", [12, pytest.param(500, marks=pytest.mark.slow)])
def test_damaged_stores(original: Path, count: int) -> None:
    tally = fuzz_stores(original, count)
    assert tally.read
    assert tally.refused


ROWS = ("members", "identities", "apart", "judgements")


@pytest.mark.parametrize("tables", [("pending",), (*ROWS, "runs")], ids="+".join)
def test_a_store_that_lacks_tables_is_read_as_it_is(store: Path, tables: tuple[str, ...]) -> None:
    with Store(store, create=False) as opened:
        expected = list(opened.findings())
    without(store, *tables)
    before = (store / DATABASE).read_bytes()
    with Store(store, create=False) as opened:
        assert list(opened.findings()) == expected
        opened.set_aside()
        first = expected[0]
        assert opened.rows.enter(first.id, first.identity) == opened.rows.of(first.id)
    assert (store / DATABASE).read_bytes() == before
    with Store(store) as opened:  # and given what it lacks by whoever writes
        assert len(opened.runs.all()) == ("runs" not in tables)


@pytest.mark.parametrize(
    ("version", "create"), [(SCHEMA_VERSION - 1, True), (SCHEMA_VERSION + 1, False)]
)
def test_a_store_of_another_format_is_left_as_it_is(
    store: Path, version: int, create: bool
) -> None:
    execute(store, f"PRAGMA user_version = {version}")
    before = (store / DATABASE).read_bytes()
    with pytest.raises(BadStore, match=f"has format {version}"):
        Store(store, create=create)
    assert (store / DATABASE).read_bytes() == before


def test_a_store_that_cannot_be_written_to(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relaxfuzz.fuzz.system.database._on_read_only_disk", lambda folder: True)
    with Store(store) as writer:
        expected = writer.rows.all()
        writer.rows.judge(expected[0].id, note="in the log only")
        assert (store / f"{DATABASE}-wal").stat().st_size
        with Store(store, create=False) as opened:
            assert opened.rows.get(expected[0].id).note == "in the log only"
    with Store(store, create=False) as opened:
        assert len(opened.rows.all()) == len(expected)


HOSTILE = {
    "trigger": "CREATE TRIGGER t AFTER INSERT ON findings BEGIN DELETE FROM members; END",
    "view": "CREATE VIEW v AS SELECT * FROM findings",
    "column": "ALTER TABLE findings ADD COLUMN x TEXT DEFAULT 'x'",
}


@pytest.mark.parametrize("statement", HOSTILE.values(), ids=HOSTILE)
def test_a_schema_that_is_not_ours_is_refused(store: Path, statement: str) -> None:
    execute(store, statement)
    for create in (False, True):
        with pytest.raises(BadStore, match="which no version of relaxfuzz creates"):
            Store(store, create=create)


def test_what_is_beside_the_file_leads_nowhere(store: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    for name in ("-wal", "-shm", "-journal", ""):
        path = store / f"{DATABASE}{name}"
        path.unlink(missing_ok=True)
        path.symlink_to(victim)
        for create in (False, True):
            with pytest.raises(BadStore, match="a link"):
                Store(store, create=create)
        path.unlink()
    assert victim.read_text() == "mine"


def test_a_journal_that_names_another_file_is_not_followed(store: Path, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("mine")
    end = str(tmp_path / "victim").encode() + bytes.fromhex("00000010d9d505f920a163d7")
    (store / f"{DATABASE}-journal").write_bytes(end)
    with pytest.raises(BadStore, match="names another file"):
        Store(store)
    assert (tmp_path / "victim").exists()


@pytest.mark.parametrize("name", ["reproducers", "modules", LOCK])
def test_nothing_is_written_through_a_link(store: Path, tmp_path: Path, name: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.rmtree(store / name, ignore_errors=True)
    target = elsewhere / "victim" if name == LOCK else elsewhere
    (store / name).symlink_to(target)
    with pytest.raises(UserError, match="cannot write"), Store(store), alone(store, "test"):
        pass
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "x\0.py"])
def test_a_reproducer_lies_in_the_store(store: Path, finding: Finding, name: str) -> None:
    text = json.loads(finding.to_json()) | {"reproducer": name}
    with pytest.raises(UserError, match="reproducer="):
        Finding.from_json(json.dumps(text))


def test_a_reproducer_that_is_a_link_is_none(store: Path, tmp_path: Path) -> None:
    with Store(store, create=False) as opened:
        (path,) = filter(None, map(opened.reproducer, opened.findings()))
        path.unlink()
        path.symlink_to("/etc/passwd")
        assert not any(map(opened.reproducer, opened.findings()))


def test_one_broken_finding_hides_no_other(store: Path) -> None:
    execute(store, "UPDATE findings SET finding = '{\"format\": 1}' WHERE rowid = 2")
    execute(store, "UPDATE runs SET run = '[]'")
    done = relaxfuzz("findings", store)
    assert done.returncode == 0, done.stderr
    assert "cannot be read" in done.stderr
    assert "2 rows, 2 reports" in done.stdout
    with Store(store, create=False) as opened:
        assert len(list(opened.findings())) == 2
        assert opened.runs.all() == {}
        assert "and 1 more" in opened.complaint


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        *(("findings", kind) for kind in ("pipe", "empty", "foreign")),
        ("report", "noise"),
        ("replay", "folder"),
    ],
)
def test_what_is_no_database(store: Path, kind: str, command: str) -> None:
    path = store / DATABASE
    path.unlink()
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "noise":
            path.write_bytes(os.urandom(9000))
        case "foreign":
            execute(store, "CREATE TABLE mine (x)")
        case "empty":
            path.touch()
    done = relaxfuzz(command, store)
    assert "Traceback" not in done.stderr
    assert done.returncode == (0 if (kind, command) == ("empty", "findings") else done.returncode)
    assert done.returncode in (0, 2)
    if kind != "empty":
        assert done.returncode == 2
        assert done.stderr.startswith("error: "), done.stderr


@pytest.mark.slow
def test_a_value_of_gigabytes_is_not_read(store: Path) -> None:
    execute(
        store, "UPDATE findings SET finding = CAST(zeroblob(300000000) AS TEXT) WHERE rowid = 2"
    )
    with Store(store, create=False) as opened:
        assert len(list(opened.findings())) == 2
        assert "too big" in opened.complaint


def test_a_text_of_many_pieces_is_not_parsed(finding: Finding) -> None:
    text = finding.to_json().replace('"exempt": []', f'"exempt": [{"[]," * 4_000_000}[]]')
    with pytest.raises(UserError, match="too many pieces"):
        Finding.from_json(text)


# Findings


def fuzz_findings(finding: Finding, count: int) -> Tally:
    tally = Tally()

    def work(text: object) -> None:
        assert isinstance(text, str)
        made = tally.attempt(lambda: Finding.from_json(text))
        if made is not None:
            assert Finding.from_json(made.to_json()) == made
            assert made.reproducer is None or "/" not in made.reproducer
            executable_text.warning([made])

    fuzz(count, damaged_text(finding.to_json()), work)
    return tally


@pytest.mark.parametrize("count", [100, pytest.param(3_000, marks=pytest.mark.slow)])
def test_damaged_findings(finding: Finding, count: int) -> None:
    tally = fuzz_findings(finding, count)
    assert tally.read
    assert tally.refused


PLAIN = (
    "LegalizeOps()",
    "FuseOps(fuse_opt_level=2)",
    "relax.backend.DispatchSortScan()",
    "BindParams('main', {'x': 1, 'y': [1, -2.5, None]})",
)
CODE = (
    "__import__('os').system('id')",
    "LegalizeOps(__import__('os').system('id'))",
    "LegalizeOps(**{'a': 1})",
    "LegalizeOps(*[1])",
    "tvm.os.system('id')",
    "FuseOps",
    "(lambda: LegalizeOps())()",
    "LegalizeOps()()",
    "LegalizeOps(f'{open(1)}')",
    "(" * 50_000,
    "a" + ".b" * 50_000,
    "\0",
)


def test_what_is_code_in_a_finding(finding: Finding) -> None:
    assert [expr for expr in PLAIN if executable_text.is_code(PassCall(expr))] == []
    assert [expr[:40] for expr in CODE if not executable_text.is_code(PassCall(expr))] == []
    assert executable_text.is_code(PassCall("LegalizeOps()", imports=("import os",)))
    assert executable_text.is_code(PassCall("LegalizeOps()", factory="/x.py:f"))
    dpl = ("from tvm.relax.dpl import is_const, is_op, wildcard",)
    pattern = "FuseOpsByPattern([('a', is_op('relax.add')(wildcard(), is_const()))])"
    assert not executable_text.is_code(PassCall(pattern, imports=dpl))
    rule = "is_op('relax.add')(~is_const(), is_op('relax.abs')(wildcard()).has_dtype('int8')) | {}"
    for other, is_code in (("wildcard()", False), ("f()", True), ("is_op(f)('x')", True)):
        call = PassCall(f"FuseOpsByPattern([('a', {rule.format(other)})])", imports=dpl)
        assert executable_text.is_code(call) == is_code
    assert executable_text.is_code(PassCall(pattern, imports=(f"{dpl[0]}, f",)))
    assert executable_text.is_code(PassCall(pattern, imports=(f"{dpl[0]}; f()",)))


INJECTED = "import os; os.system('touch {}')"


def test_reading_executes_nothing(store: Path, finding: Finding, tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    code = INJECTED.format(mark)
    (tmp_path / "evil.py").write_text(code)
    call = PassCall(f"exec({code!r})", imports=(code,), factory=f"{tmp_path / 'evil.py'}:x")
    with Store(store) as opened:
        for number, each in enumerate((call, PassCall(call.expr), PassCall("F()", {}, (code,)))):
            changes = {"key": (str(number),), "calls": (each,), "source": code}
            opened.publish(made_finding("exp", **changes), code)
    read_all(store, Tally())  # with rules, which place findings that have no row yet
    shown = relaxfuzz("findings", "show", made_finding("exp", key=("0",)).id, "--out", store)
    assert code in shown.stdout, shown.stderr
    assert not mark.exists()


# Findings, replayed


def call(**changes: object) -> dict[str, object]:
    return {"calls": (dataclasses.replace(PassCall("LegalizeOps()"), **changes),)}  # type: ignore[arg-type]  # what anybody may write


ODD_FINDINGS: dict[str, tuple[dict[str, object], str]] = {
    "oracle": ({"oracle": "nonsense"}, "no oracle 'nonsense'"),
    "pipeline": ({"pipeline": "\x1b[2J", "calls": ()}, r"no pipeline '\\x1b"),
    "contract": (call(like="nobody"), "no pass 'nobody'"),
    "nothing to run": ({"calls": (), "exempt": ("idempotent",)}, "cannot be checked"),
    "option": (call(config={"no.such.option": 1}), ""),
    "no JSON": ({"module": "{"}, "does not load"),
    "source": ({"versions": {"tvm": "0.1"}, "source": "import os; os._exit(0)"}, "does not load"),
    "ends": (call(expr="__import__('os')._exit(3)"), ""),
    "raises": (call(expr="1 / 0"), ""),
    "factory": (call(factory="/no/such/file.py:make"), ""),
}


@pytest.mark.parametrize(("changes", "message"), ODD_FINDINGS.values(), ids=ODD_FINDINGS)
def test_odd_findings_are_replayed(
    pool: LocalPool, finding: Finding, changes: dict[str, object], message: str
) -> None:
    odd = changed(finding, **changes)
    outcome = replay(ReplayItem(Path("store"), Finding.from_json(odd.to_json())), pool)
    assert outcome.status in (
        (ReplayStatus.BROKEN,) if message else (ReplayStatus.BROKEN, ReplayStatus.GONE)
    )
    assert re.search(message, outcome.message), outcome.message
    assert len(outcome.message) < 1_000
    shows(outcome.message)


# Nights


def fuzz_nights(count: int) -> Tally:
    tally = Tally()
    night = Night(settings="0f", seed=3, after=2, replayed={"a": "fixed"}, back=("c",))
    with tempfile.TemporaryDirectory(prefix="hostile-state-") as name:
        folder = Path(name)
        night.save(folder)
        text = (folder / FILE).read_text()

        def work(drawn: object) -> None:
            assert isinstance(drawn, str)
            (folder / FILE).write_bytes(drawn.encode("utf-8", "replace"))
            tally.attempt(lambda: load_night(folder))

        fuzz(count, damaged_text(text), work)
    return tally


@pytest.mark.parametrize("count", [40, pytest.param(2_000, marks=pytest.mark.slow)])
def test_damaged_nights(count: int) -> None:
    assert fuzz_nights(count).read


# Messages


def fuzz_messages(finding: Finding, count: int) -> Tally:
    tally = Tally()
    job = Check(module="{}", calls=finding.calls, oracles=("crash",))
    line = encode(Submit(1, job)).decode()

    def work(text: object) -> None:
        assert isinstance(text, str)
        made = tally.attempt(lambda: decode_request(text, HANDLERS), ProtocolError)
        if made is not None:
            assert decode_request(encode(made), HANDLERS) == made

    fuzz(count, damaged_text(line), work)
    return tally


@pytest.mark.parametrize("count", [60, pytest.param(1_000, marks=pytest.mark.slow)])
def test_damaged_messages(finding: Finding, count: int) -> None:
    assert fuzz_messages(finding, count).refused


# Settings, knowns, headers

RECORD = 'what = "a"\nformat = 4\nreports = [["a", "b"]]\ntvm = "fails on 1"'

TOML = (
    'budget = "9e9h"',
    "modules = -1",
    "seed = 99999999999999999999999999999999999999",
    'out = "a\\u0000b"',
    "seed = nan",
    "x = " + "[" * 5_000 + "]" * 5_000,
    "report = 7",
    'corpus = ["/dev/zero", "/nowhere"]',
    "x" * 100_000 + " = 1",
    'what = ["a"]\nformat = 4\nreports = [[]]\ntvm = 1\nidentity = 7',
    'what = "a"\nkey_format = 3\nkeys = [["a", "b"]]\ntvm = "fails on 1"',
    f'{RECORD}\nreproducer = "{"a" * 5_000}"',
    f'{RECORD}\n[[identity]]\nfailure = "boredom"\nblamed = ["a"]',
    f'{RECORD}\n[[identity]]\nfailure = "dies"\nblamed = ["a"]\ningredients = {{a = 1}}',
    f'{RECORD}\n[[also]]\nfailure = 1e400\nblamed = [""]\nsite = "a"',
    f'what = "a"\nformat = 4\nreports = [["a", "b"]]\ntvm = "fails on {"9" * 5_000}"',
)


def fuzz_files(count: int) -> Tally:
    tally = Tally()
    texts = [
        *(path.read_text() for path in sorted(SHIPPED.glob("*.toml"))[:4]),
        'passes = ["FuseOps"]\nbudget = "8h"\n[report]\nhtml = "a.html"\n',
        *TOML,
        *(path.read_text() for path in corpus.found()[:3]),
        "# pass: a\n# oracle: b\n# tvm: fails on " + "1, " * 5_000 + "\n"
        "# fails with: a\n# promise: b\n",
        "# pass: a\n# oracle: b\n# tvm: fails on 1\n# fails with: a\n# promise: b\n",
        '{"tvm": "0.27.0", "python": "3.11"}',
    ]
    with tempfile.TemporaryDirectory(prefix="hostile-files-") as name:
        path = Path(name) / "file"

        def work(data: object) -> None:
            assert isinstance(data, bytes)
            path.write_bytes(data)
            tally.attempt(lambda: plan(load(path, NIGHTLY), {}))
            tally.attempt(lambda: known(path), ValueError)
            tally.attempt(lambda: corpus.entry(path), ValueError, OSError)
            assert is_reproducer(path) in (True, False)

        for text in texts:
            work(text.encode())
        bytes_ = st.sampled_from(texts).flatmap(lambda text: damaged_bytes(text.encode()))
        fuzz(count, bytes_, work)
        path.unlink()
        os.mkfifo(path)
        for refused in (
            lambda: load(path, NIGHTLY),
            lambda: known(path),
            lambda: corpus.entry(path),
        ):
            with pytest.raises((UserError, ValueError, OSError), match="not a regular file"):
                refused()
    return tally


@pytest.mark.parametrize("count", [40, pytest.param(1_500, marks=pytest.mark.slow)])
def test_damaged_files(count: int) -> None:
    tally = fuzz_files(count)
    assert tally.read
    assert tally.refused


def test_the_holder_of_a_folder_is_named_as_far_as_possible(tmp_path: Path) -> None:
    for odd in (*ODD, {"command": "\x1b[2J", "pid": 1, "since": 1e300}, {"since": []}):
        with alone(tmp_path, "one"):
            (tmp_path / LOCK).write_text(json.dumps(odd))
            with pytest.raises(UserError, match="works in") as raised, alone(tmp_path, "two"):
                pass
            shows(str(raised.value))
