"""`relaxfuzz findings`: the bugs of a store, one a row, and what people say of them."""

from __future__ import annotations

import dataclasses
import difflib
import json as jsonlib
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from ...generators.tvm_api import load_json, versions
from ...oracles.inspect import bindings_of
from .. import reproducer
from ..dedup.place import by_row, place
from ..display import columns, counted, results
from ..exhibit import Exhibit, exhibit
from ..finding import Finding
from ..known import Choice, Expected
from ..local_pool import LocalPool
from ..mistake import Mistake, near
from ..report.visible import visible
from ..reproducer import Form
from ..rows import Member, Row
from ..store import Store

VERDICTS = ("true", "false", "wontfix", "reported", "fixed", "unclear")
"""What may be said of a row; all else is a note."""

DIFF = "diff"

MOST = 30
"""Lines of a difference that are shown beside something else."""

SHORTEST = 4
"""Characters of an id that are shown at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which rows are listed."""

    passes: tuple[str, ...] = ()
    oracles: tuple[str, ...] = ()
    verdicts: tuple[str, ...] = ()
    new: bool = False
    unconfirmed: bool = False
    """What did not come out again, or was met on modules that only minimization made."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A row with its findings, the one to show first."""

    row: Row
    findings: tuple[Finding, ...]
    known: str | None
    """The name of the known that expects one of its findings."""

    @property
    def status(self) -> str:
        """What is said of it: by people, by the knowns, or that it is new."""
        if self.row.verdict is not None:
            return self.row.verdict
        return "new" if self.known is None else f"known: {self.known}"

    def names(self, attribute: str) -> list[str]:
        """The passes or oracles of its findings, those of the first one first."""
        return list(dict.fromkeys(getattr(finding, attribute) for finding in self.findings))


def listing(folder: Path, chosen: Filter, *, json: bool) -> int:
    """List the rows.

    Raises:
        Mistake: no store, or nothing in it has what the filter names.
    """
    with Store(folder, create=False) as store:
        rows = _unconfirmed(store) if chosen.unconfirmed else _rows(store)
        for option, names, attribute in (
            ("--pass", chosen.passes, "pass_name"),
            ("--oracle", chosen.oracles, "oracle"),
        ):
            there = sorted({name for row in rows for name in row.names(attribute)})
            for name in names:
                if name not in there:
                    raise Mistake(f"nothing in '{folder}' has {option} {name!r}{near(name, there)}")
        for name in chosen.verdicts:
            _verdict(name)
        shown = [row for row in rows if _passes(row, chosen)]
        if json:
            for each in shown:
                print(jsonlib.dumps(_event(each, store)), flush=True)
            return 0
        _table(shown, [id for row in rows for id in (row.row.id, *_ids(row))])
        reports = sum(len(each.findings) for each in shown)
        print(f"{len(shown)} of {len(rows)} rows, {reports} reports.")
    return 0


def show(folder: Path, id: str, form: str) -> int:
    """Print a reproducer that was just seen to fail; what else is known goes to stderr.

    Args:
        form: of a reproducer, or `DIFF`: what the oracle compared, instead of one.

    Raises:
        Mistake: no such id or form, or the finding's module comes from another TVM.
    """
    if form not in (*Form, DIFF):
        raise Mistake(f"no format {form!r}{near(form, [*map(str, Form), DIFF])}")
    with Store(folder, create=False) as store:
        rows = _rows(store)
        row, finding = _found(rows, id)
        if finding.id == row.row.id:  # a row stands for the finding that shows it best
            finding = row.findings[0]
        print(_story(row, finding), file=sys.stderr)
        shown = _exhibit(store, finding)
        if form == DIFF:
            print(visible(shown.story))
            return 0
        if shown.diff:
            print(_begun(visible(shown.diff)), file=sys.stderr)
        path = store.reproducer(finding)
        if form == Form.SOURCE and path is not None:
            text = path.read_text(encoding="utf-8")
            if reproducer.fails(text, finding):
                print(text)
                return 0
        made = reproducer.failing(dataclasses.replace(finding, exhibit=shown), Form(form))
        if made is not None:
            print(made)
            return 0
    print("no file reproduces it here; `relaxfuzz replay` asks the oracle itself", file=sys.stderr)
    return 1


def merge(folder: Path, ids: Sequence[str]) -> int:
    """Make one row of several, for good.

    Raises:
        Mistake: no such id, or fewer than two rows.
    """
    with Store(folder, create=False) as store:
        rows = _rows(store)
        into, *others = dict.fromkeys(_found(rows, id)[0].row.id for id in ids)
        if not others:
            raise Mistake(f"expected ids of two rows at least but got {' '.join(ids)}: row {into}")
        store.rows.merge(into, others)
        print(f"{into}: {_reports(store.rows.get(into))}")
    return 0


def split(folder: Path, id: str) -> int:
    """Make a row of its own of a finding, for good.

    Raises:
        Mistake: no such id, or it is alone already.
    """
    with Store(folder, create=False) as store:
        row, finding = _found(_rows(store), id)
        if len(row.row.members) == 1:
            raise Mistake(f"{finding.id} is alone in its row already")
        made = store.rows.split(finding.id)
        print(f"{made}: {_reports(store.rows.get(made))}")
    return 0


def judge(folder: Path, id: str, *, verdict: str | None = None, note: str | None = None) -> int:
    """Say something of a row; an empty text takes back what was said.

    Raises:
        Mistake: no such id, no such verdict.
    """
    if verdict:
        _verdict(verdict)
    with Store(folder, create=False) as store:
        row, _ = _found(_rows(store), id)
        store.rows.judge(row.row.id, verdict=verdict, note=note)
        now = store.rows.get(row.row.id)
        print(f"{now.id}: {now.verdict or 'no verdict'}{f' ({now.note})' if now.note else ''}")
    return 0


# Pieces


def _rows(store: Store) -> list[Listed]:
    """Every row of confirmed findings; those that no rule has looked at yet are looked at now."""
    findings = {finding.id: finding for finding in store.findings()}
    version = versions()["tvm"]
    for finding in findings.values():
        if store.rows.of(finding.id) is not None:
            continue
        try:
            place(store, finding)
        except Exception:
            # Another TVM's module cannot always be read: the finding stays by itself.
            if finding.versions.get("tvm") == version:
                raise
            store.rows.enter(finding.id, ())
    expected = Choice().load(version)
    grouped = by_row(store, findings.values())
    return [
        Listed(row, tuple(members), _known(expected, members))
        for row in store.rows.all()
        if (members := grouped.get(row.id))
    ]


def _unconfirmed(store: Store) -> list[Listed]:
    """Each by itself: no rule looks at them."""
    expected = Choice().load(versions()["tvm"])
    return [
        Listed(Row(f.id, (Member(f.id, ""),)), (f,), _known(expected, (f,)))
        for f in store.findings(confirmed=False)
    ]


def _known(expected: Expected, findings: Sequence[Finding]) -> str | None:
    """The one that most of them may be: one fingerprint may be that of several."""
    names = Counter(known.name for finding in findings for known in expected.of(finding))
    return max(names, key=names.__getitem__, default=None)


def _passes(row: Listed, chosen: Filter) -> bool:
    return (
        (not chosen.passes or bool({*chosen.passes} & {*row.names("pass_name")}))
        and (not chosen.oracles or bool({*chosen.oracles} & {*row.names("oracle")}))
        and (not chosen.verdicts or row.row.verdict in chosen.verdicts)
        and (not chosen.new or row.status == "new")
    )


def _found(rows: Sequence[Listed], id: str) -> tuple[Listed, Finding]:
    """The finding with this id, or the only one whose id begins so, and its row."""
    by_id = {finding.id: (row, finding) for row in rows for finding in row.findings}
    found = [name for name in by_id if name.startswith(id)]
    if len(found) == 1:
        return by_id[found[0]]
    if found:
        raise Mistake(f"several findings begin with {id!r}: {', '.join(sorted(found))}")
    matches = difflib.get_close_matches(id, by_id, n=3)
    hint = f". Did you mean {' or '.join(map(repr, matches))}?" if matches else ""
    raise Mistake(f"no finding begins with {id!r}{hint or '; `relaxfuzz findings` lists them'}")


def _verdict(name: str) -> None:
    if name not in VERDICTS:
        raise Mistake(f"no verdict {name!r}{near(name, VERDICTS)}; say more with `note`")


def _ids(row: Listed) -> list[str]:
    return [finding.id for finding in row.findings]


def _short(id: str, ids: Sequence[str]) -> str:
    """The shortest beginning that no other id has."""
    others = [other for other in ids if other != id]
    for length in range(SHORTEST, len(id)):
        if not any(other.startswith(id[:length]) for other in others):
            return id[:length]
    return id


def _table(rows: Sequence[Listed], ids: Sequence[str]) -> None:
    console = results()
    names = ("id", "pass", "oracle", "reports", "bindings", "status", "what went wrong")
    table = columns(*names, numbers=("reports", "bindings"))
    for row in rows:
        note = f"\n{row.row.note}" if row.row.note else ""
        table.add_row(
            _short(row.row.id, ids),
            Text(", ".join(row.names("pass_name"))),
            Text(", ".join(row.names("oracle"))),
            str(len(row.findings)),
            _bindings(row.findings[0]),
            Text(row.status),
            Text(row.findings[0].title).append(note, style="dim"),
        )
    if rows:
        console.print(table)
        console.print()


def _bindings(finding: Finding) -> str:
    """How many its module has; unknown where this TVM does not read the module."""
    try:
        return str(len(bindings_of(load_json(finding.module))))
    except Exception:
        return "?"


def _story(row: Listed, finding: Finding) -> str:
    """The finding, its row, and why it is in it."""
    why = {member.finding: member.why for member in row.row.members}
    lines = [
        f"{finding.id}: {finding.pass_name}, {finding.oracle}: {finding.title}",
        f"status: {row.status}",
        *([f"note: {row.row.note}"] if row.row.note else []),
    ]
    others = [each for each in row.findings if each.id != finding.id]
    if others:
        lines.append(f"row {row.row.id}{f', {why[finding.id]}' if why[finding.id] else ''}:")
    for each in others:
        reason = f" ({why[each.id]})" if why[each.id] else ""
        lines.append(f"  {each.id}: {each.pass_name}, {each.oracle}{reason}")
    return "\n".join(lines)


def _exhibit(store: Store, finding: Finding) -> Exhibit:
    """What the oracle compared; an older store lacks it, and gets it now."""
    if finding.exhibit is not None:
        return finding.exhibit
    version = versions()["tvm"]
    if finding.versions.get("tvm") != version:
        raise Mistake(
            f"{finding.id} was found with TVM {finding.versions.get('tvm')}, whose modules "
            f"TVM {version} cannot read"
        )
    with LocalPool(1) as pool:
        shown = exhibit(pool, finding)
    store.put(dataclasses.replace(finding, exhibit=shown))
    return shown


def _begun(diff: str) -> str:
    """As much of a difference as goes beside a reproducer."""
    lines = diff.splitlines()
    more = counted(len(lines) - MOST, "more line")
    return "\n".join(lines if len(lines) <= MOST else [*lines[:MOST], f"... {more}: --format diff"])


def _reports(row: Row) -> str:
    return counted(len(row.members), "report")


def _event(row: Listed, store: Store) -> dict[str, object]:
    why = {member.finding: member.why for member in row.row.members}
    path = store.reproducer(row.findings[0])
    return {
        "event": "row",
        "id": row.row.id,
        "passes": row.names("pass_name"),
        "oracles": row.names("oracle"),
        "title": row.findings[0].title,
        "status": "known" if row.known and row.row.verdict is None else row.status,
        "known": row.known,
        "verdict": row.row.verdict,
        "note": row.row.note,
        "bindings": _bindings(row.findings[0]),
        "reproducer": None if path is None else str(path),
        "findings": [{"id": id, "why": why[id]} for id in _ids(row)],
    }
