"""Real stores, and what may be done to them; commands, and what they may answer."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import sqlite3
import tempfile
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from tvm import relax

from relaxfuzz.compat.release import versions
from relaxfuzz.compat.serialization import save_json
from relaxfuzz.fuzz.cli.report import run as write_reports
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.listed import Filter
from relaxfuzz.fuzz.findings.runs import Run
from relaxfuzz.fuzz.findings.store import DATABASE, Store
from relaxfuzz.fuzz.jobs.evidence import evidence_of
from relaxfuzz.fuzz.output.readable import message
from relaxfuzz.fuzz.process.targets import PassStats
from relaxfuzz.fuzz.report.rows import list_rows
from relaxfuzz.fuzz.reproducer import source_of
from relaxfuzz.fuzz.reproducer.replay import items
from relaxfuzz.fuzz.system.errors import UserError
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.exhibit import exhibit
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case, silent
from tests.fuzz.changed import changed

from .mutations import ODD, damaged_bytes, damaged_text

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


def make_store(folder: Path) -> Path:
    """A store with findings that are one row, others, an unfinished run, and what is pending."""
    first = made_finding("exp")
    others = [
        made_finding("sin", reason="unknown rank"),
        made_finding("cos", key=("a", "b"), reason="unknown dtype"),
    ]
    run = Run(
        command="run",
        started=1.7e9,
        seed=7,
        workers=2,
        versions=versions(),
        passes=("LegalizeOps",),
        stats={"LegalizeOps": PassStats(9, 1, 1, 0.5, 4, {"reference": 1})},
        found=(first.id,),
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
        store.runs.begin(run)
        store.pend(changed(first, key=("pending",), confirmed=False))
    return folder


def without(folder: Path, *tables: str) -> None:
    """Make the store what a process has left that was killed before it had made all tables."""
    with contextlib.closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as db:
        for table in tables:
            db.execute(f"DROP TABLE {table}")


# Damage


TEXTS = (
    ("findings", "finding"),
    ("findings", "finding"),
    ("findings", "finding"),
    ("findings", "title"),
    ("runs", "run"),
    ("runs", "run"),
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

    read: int = 0
    refused: int = 0

    def attempt(self, work: Callable[[], object], *refusals: type[Exception]) -> Any:
        """Do it: it ends well, or is refused in one sentence that can be shown."""
        shown = io.StringIO()
        result = None
        try:
            with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
                result = work()
        except (UserError, *refusals) as error:
            text = message(str(error))
            assert len(text) < LONGEST, text
            self.refused += 1
        else:
            self.read += 1
        shows(shown.getvalue())
        return result


def shows(shown: str) -> None:
    """What goes to a terminal steers nothing there."""
    shown.encode()
    odd = {c for c in set(shown) - {"\n"} if unicodedata.category(c) in ("Cc", "Cf", "Cs")}
    assert not odd, ascii(odd)


def read_all(folder: Path, tally: Tally) -> None:
    """What commands do with a store that they only read; it is as it was then."""
    before = _state_of(folder)
    everything = Filter()
    unconfirmed = Filter(unconfirmed=True)
    tally.attempt(lambda: list_rows(folder, everything, json=False))
    tally.attempt(lambda: list_rows(folder, unconfirmed, json=True))
    tally.attempt(lambda: list(items(folder)))
    with tempfile.TemporaryDirectory(prefix="hostile-report-") as out:
        files = {name: Path(out) / name for name in ("jsonl", "markdown")}
        tally.attempt(lambda: write_reports(folder, files))
    after = _state_of(folder)
    assert [name for name in {**before, **after} if before.get(name) != after.get(name)] == []


def write_all(folder: Path, tally: Tally) -> None:
    """A campaign that begins in a store that is there, and verdicts on rows."""
    tally.attempt(lambda: _begin(folder))


def _begin(folder: Path) -> None:
    with Store(folder) as store:
        store.runs.all()
        store.pending()
        for row in store.rows.all()[:3]:
            store.rows.judge(row.id, note="n")
        for finding in store.findings():
            store.put(finding)
            store.reproducer(finding)


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
