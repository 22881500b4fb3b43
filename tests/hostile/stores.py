"""Real stores, and what may be done to them; commands, and what they may answer."""

from __future__ import annotations

import contextlib
import io
import json
import resource
import shutil
import sqlite3
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from tvm import relax

from relaxfuzz.compat.release import versions
from relaxfuzz.compat.serialization import save_json
from relaxfuzz.fuzz.campaign.recorder import _Checkpoint
from relaxfuzz.fuzz.campaign.state import State
from relaxfuzz.fuzz.cli.report import run as write_reports
from relaxfuzz.fuzz.findings.evidence import evidence_of
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.replay import items
from relaxfuzz.fuzz.findings.runs import Run, Sample
from relaxfuzz.fuzz.findings.store import DATABASE, Store
from relaxfuzz.fuzz.output.readable import message
from relaxfuzz.fuzz.process.block import ModuleDone
from relaxfuzz.fuzz.process.serialize import plain
from relaxfuzz.fuzz.process.targets import PassStats, Recipe
from relaxfuzz.fuzz.report.listing import Filter, list_rows
from relaxfuzz.fuzz.reproducer import source_of
from relaxfuzz.fuzz.user_input.errors import UserError
from relaxfuzz.generators.seeds import Piece
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.text.exhibit import exhibit
from relaxfuzz.oracles.violation import Case, mark_of, silent
from tests.fuzz.changed import changed

from .mutations import ODD, damaged_bytes

LONGEST = 3_000
"""Characters of a refusal, paths included."""


# Real stores


def made_finding(name: str, **changes: Any) -> Finding:
    """The violation by LegalizeOps on an operator whose argument has no known shape."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(dtype="float32", ndim=2))
    with builder.function("main", [x]):
        with builder.dataflow():
            output = builder.emit_output(getattr(relax.op, name)(x))
        builder.emit_func_output(output)
    call = PassCall("LegalizeOps()")
    case = Case(builder.get(), (call,))
    violation = check(case)[0]
    text = save_json(case.mod)
    made = Finding(
        violation=violation,
        module=text,
        source=source_of(text),
        versions=versions(),
        calls=(call,),
        confirmed=True,
    )
    evidence = evidence_of(case.mod, silent, whole=True)
    return changed(made, exhibit=exhibit(case, violation), evidence=evidence, **changes)


def campaign_state(finding: Finding) -> State:
    """Of a campaign of a few blocks."""
    state = State()
    for block in range(9):
        state.is_new(mark_of(finding.violation), "LegalizeOps")
        state.count(2, {"LegalizeOps": PassStats(9, 1, 1, 0.5, 0, 4, {"reference": 1})})
        done = ModuleDone(block, ("add", "exp"), {"LegalizeOps": block % 2 == 0})
        state.commit(
            [done, done], 1.5 * block, Recipe(pieces=(Piece("a model", "", digest=f"{block % 2}"),))
        )
    state.is_new_fault("a fault")
    return state


def make_store(folder: Path) -> Path:
    """A store with findings that are one row, others, an unfinished run, and what is pending."""
    first = made_finding("exp")
    others = [
        made_finding("sin", reason="unknown rank"),
        made_finding("cos", key=("a", "b"), reason="unknown dtype"),
    ]
    state = campaign_state(first)
    run = Run(
        command="run",
        started=1.7e9,
        seed=7,
        workers=2,
        versions=versions(),
        passes=("LegalizeOps",),
        stats=dict(state.stats),
        found=(first.id,),
        samples=(Sample(1.0, 2, 3, 1),),
        checks=3,
        modules=2,
        seconds=4.0,
    )
    with Store(folder) as store:
        store.publish(first, "raise AssertionError\n")
        for finding in others:
            store.put(finding)
        store.put(changed(first, key=("met",), confirmed=False))
        store.rows.enter(first.id, first.identity)
        store.rows.enter(others[0].id, others[0].identity)
        store.rows.enter(others[1].id, others[1].identity)
        store.rows.merge(first.id, [others[0].id])
        store.rows.judge(first.id, verdict="true", note="seen\ntwice")
        number = store.runs.begin(run)
        asked = _Checkpoint({"command": "run"}, frozenset({"k"}), state)
        store.runs.checkpoint(number, run, asked.text())
        store.pend(changed(first, key=("pending",), confirmed=False))
    return folder


def without(folder: Path, *tables: str) -> None:
    """Make the store what a process has left that was killed before it had made all tables."""
    with contextlib.closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as db:
        for table in tables:
            db.execute(f"DROP TABLE {table}")


# Damage


def change(draw: DrawFn, tree: Any) -> Any:
    """A JSON tree with something else in one place; the tree itself is left alone."""
    if not isinstance(tree, dict | list) or not tree or draw(st.integers(0, 5)) == 0:
        return draw(
            st.sampled_from((*ODD, "x" * 5_000, _deep(2_000), "../../etc/passwd", "/etc/x.py"))
        )
    copy: Any = dict(tree) if isinstance(tree, dict) else list(tree)
    key = draw(st.sampled_from(list(copy) if isinstance(copy, dict) else range(len(copy))))
    match draw(st.integers(0, 7)):
        case 0:
            del copy[key]
        case 1 if isinstance(copy, dict):
            copy[draw(st.sampled_from(("extra", "format", "kind")))] = copy[key]
        case 1:
            copy.insert(key, copy[key])
        case _:
            copy[key] = change(draw, copy[key])
    return copy


def _deep(levels: int) -> Any:
    found: Any = []
    for _ in range(levels // 4):  # what `json.dumps` can write
        found = [found]
    return found


@st.composite
def damaged_text(draw: DrawFn, original: str) -> str:
    """JSON with its tree or its characters changed."""
    if draw(st.integers(0, 3)):
        tree = json.loads(original)
        for _ in range(draw(st.integers(1, 2))):
            tree = change(draw, tree)
        return json.dumps(tree)
    if draw(st.integers(0, 9)) == 0:
        return "[" * 100_000 + "]" * 100_000
    return draw(damaged_bytes(original.encode())).decode("utf-8", "replace").replace("\0", "?")


TEXTS = (
    ("findings", "finding"),
    ("findings", "finding"),
    ("findings", "finding"),
    ("findings", "title"),
    ("runs", "run"),
    ("runs", "run"),
    ("runs", "state"),
    ("pending", "finding"),
    ("members", "row"),
    ("members", "why"),
    ("judgements", "note"),
    ("judgements", "verdict"),
    ("identities", "identity"),
    ("identities", "made_of"),
)


@st.composite
def damaged_stores(draw: DrawFn, original: Path) -> Callable[[Path], None]:
    """What makes a damaged copy of a store in a folder that is not there yet."""
    kind = draw(st.sampled_from(("bytes", "page", "text", "text", "text", "beside")))
    data = (original / DATABASE).read_bytes()
    if kind == "bytes":
        changed = draw(damaged_bytes(data))
        return lambda folder: _copy(original, folder, changed)
    if kind == "page":
        pages = bytearray(data)
        for _ in range(draw(st.integers(1, 6))):
            # The beginning of a page defines how the rest is read.
            page = draw(st.integers(0, len(data) // 4096 - 1)) * 4096
            at = page + draw(st.integers(0, 40) | st.integers(0, 4095))
            pages[at] = draw(st.integers(0, 255))
        return lambda folder: _copy(original, folder, bytes(pages))
    if kind == "beside":
        name = draw(st.sampled_from(("-wal", "-shm", "-journal")))
        beside = draw(st.binary(max_size=200) | st.just(data[:9000]))
        return lambda folder: _copy(original, folder, data, {name: beside})
    table, column = draw(st.sampled_from(TEXTS))
    rows = _values(original, table, column)
    number, value = draw(st.sampled_from(rows))
    try:
        json.loads(value or "")
        text = draw(damaged_text(value))
    except ValueError:
        odd = [each for each in ODD if isinstance(each, str)]
        text = draw(st.sampled_from(odd) | st.text(max_size=20) | st.just("n" * 100_000))
    text = text.encode("utf-8", "replace").decode()

    def make(folder: Path) -> None:
        _copy(original, folder, data)
        with contextlib.closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as db:
            db.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE rowid = ?", (text, number))

    return make


def _copy(
    original: Path, folder: Path, data: bytes, beside: dict[str, bytes] | None = None
) -> None:
    shutil.copytree(original, folder)
    (folder / DATABASE).write_bytes(data)
    for name, other in (beside or {}).items():
        (folder / f"{DATABASE}{name}").write_bytes(other)


def _values(folder: Path, table: str, column: str) -> list[tuple[int, str]]:
    with contextlib.closing(sqlite3.connect(folder / DATABASE)) as db:
        return db.execute(f"SELECT rowid, {column} FROM {table}").fetchall() or [(0, "")]


# What commands may answer


@dataclass
class Tally:
    """What became of the inputs."""

    inputs: int = 0
    read: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    longest: float = 0.0

    def __str__(self) -> str:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        head = f"{self.inputs} inputs: {self.read} answers read, {self.refused.total()} refused"
        lines = [f"{count:6} {kind}" for kind, count in self.refused.most_common()]
        return "\n".join([f"{head}, longest {self.longest:.1f} s, peak {peak:.0f} MB", *lines])

    def attempt(self, work: Callable[[], object], *refusals: type[Exception]) -> Any:
        """Do it: it ends well, or is refused in one sentence that can be shown."""
        began = time.monotonic()
        shown = io.StringIO()
        result = None
        try:
            with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
                result = work()
        except (UserError, *refusals) as error:
            text = message(str(error))
            assert len(text) < LONGEST, text
            self.refused[kind(text)] += 1
        else:
            self.read += 1
        shows(shown.getvalue())
        self.longest = max(self.longest, time.monotonic() - began)
        return result


KINDS = (
    "is not a file of relaxfuzz",
    "which no version of relaxfuzz creates",
    "is damaged",
    "malformed",
    "has format",
    "in format",
    "no finding",
    "no findings",
    "cannot use",
    "cannot be read",
    "another request",
    "is not the state",
    "the state of a campaign",
    "what was written of it",
    "expected",
    "Expected",
    "no setting",
    "cannot read",
    "nested",
    "no message",
)


def kind(shown: str) -> str:
    """The same for inputs that are refused for the same reason."""
    return next((each for each in KINDS if each in shown), shown[:60])


def shows(shown: str) -> None:
    """What goes to a terminal steers nothing there."""
    shown.encode()
    odd = {c for c in set(shown) - {"\n"} if unicodedata.category(c) in ("Cc", "Cf", "Cs")}
    assert not odd, ascii(odd)


def read_all(folder: Path, tally: Tally) -> None:
    """What commands do with a store that they only read; it is as it was then."""
    tally.inputs += 1
    before = _state_of(folder)
    everything = Filter()
    unconfirmed = Filter(unconfirmed=True)
    tally.attempt(lambda: list_rows(folder, everything, json=False))
    tally.attempt(lambda: list_rows(folder, unconfirmed, json=True))
    tally.attempt(lambda: list(items(folder)))
    with tempfile.TemporaryDirectory(prefix="hostile-report-") as out:
        files = {name: Path(out) / name for name in ("jsonl", "markdown", "junit")}
        tally.attempt(lambda: write_reports(folder, files))
    after = _state_of(folder)
    assert [name for name in {**before, **after} if before.get(name) != after.get(name)] == []


def write_all(folder: Path, tally: Tally) -> None:
    """The state that a campaign in the folder begins with, and verdicts on rows."""
    tally.attempt(lambda: _begin(folder))


def _begin(folder: Path) -> None:
    with Store(folder) as store:
        unfinished = store.runs.unfinished("run")
        if unfinished is not None:
            with contextlib.suppress(ValueError):
                go_on(_Checkpoint.of(unfinished[2]).state)
        store.pending()
        for row in store.rows.all()[:3]:
            store.rows.judge(row.id, note="n")
        for finding in store.findings():
            store.put(finding)
            store.reproducer(finding)


def go_on(state: State) -> None:
    """A few more blocks, and then all of it once more."""
    for _ in range(3):
        state.guide(state.blocks)
        state.guide(min(2 * state.blocks, state.blocks + 1))
        state.count(1, {"LegalizeOps": PassStats(1)})
        done = ModuleDone(0, ("add",), {"LegalizeOps": True})
        state.commit([done], state.seconds + 1)
    assert plain(State.from_json(state.to_json()).stats)


def _state_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith("-shm")
    }


@contextmanager
def nothing_outside(folder: Path) -> Iterator[None]:
    """Nothing is written beside this folder."""
    before = sorted(path.name for path in folder.parent.iterdir())
    yield
    assert sorted(path.name for path in folder.parent.iterdir()) == before
