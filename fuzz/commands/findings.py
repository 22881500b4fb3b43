"""`relaxfuzz findings`: the bugs of a store, one a row, and what people say of them."""

from __future__ import annotations

import dataclasses
import json as jsonlib
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from ...corpus.reading import LONGEST_GENERATED, read_text
from ...generators.near import did_you_mean
from ...generators.tvm_api import versions
from .. import reproducer
from ..findings import executable_text
from ..findings.dedup import by_row, place
from ..findings.exhibit import Exhibit, exhibit
from ..findings.finding import Finding
from ..findings.known import Choice, Expected
from ..findings.replay import module_of, unknown
from ..findings.rows import Member, Row
from ..findings.store import Store
from ..output.readable import sentence
from ..output.terminal import columns, counted, results
from ..process.executor import JobFailed
from ..process.local_pool import LocalPool
from ..report.visible import readable, visible
from ..reproducer import Form
from ..user_input.mistake import Mistake, near
from ..user_input.read_module import BadModule

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
            _complain(store)
            return 0
        _table(shown, [id for row in rows for id in (row.row.id, *_ids(row))])
        reports = sum(len(each.findings) for each in shown)
        print(f"{len(shown)} of {len(rows)} rows, {reports} reports.")
        _complain(store)
    return 0


def show(folder: Path, id: str, form: str) -> int:
    """Print a reproducer; what else is known goes to stderr.

    That of the store is printed as it is, and not run: it was seen to fail before it was kept.
    Others are made now, and printed when they were seen to fail.

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
        path = store.reproducer(finding)
        kept = form == Form.SOURCE and path is not None
        shown = finding.exhibit if kept else _exhibit(finding)
        if form == DIFF and shown is not None:
            print(visible(shown.story))
            return 0
        if shown is not None and shown.diff:
            print(_begun(visible(shown.diff)), file=sys.stderr)
        if form == Form.SOURCE and path is not None:
            print(visible(_text(path)))
            return 0
        module = _module(finding)
        made = reproducer.failing(
            dataclasses.replace(finding, exhibit=shown, module=module), Form(form)
        )
        if made is not None:
            print(visible(made))
            return 0
    print("no file reproduces it here; `relaxfuzz replay` asks the oracle itself", file=sys.stderr)
    return 1


def merge(folder: Path, ids: Sequence[str]) -> int:
    """Make one row of several, for good.

    Raises:
        Mistake: no such id, or fewer than two rows.
    """
    with Store(folder, create=False, write=True) as store:
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
    with Store(folder, create=False, write=True) as store:
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
    with Store(folder, create=False, write=True) as store:
        row, _ = _found(_rows(store), id)
        store.rows.judge(row.row.id, verdict=verdict, note=note)
        now = store.rows.get(row.row.id)
        note = f" ({visible(now.note)})" if now.note else ""
        print(f"{now.id}: {visible(now.verdict or 'no verdict')}{note}")
    return 0


# Pieces


def _rows(store: Store) -> list[Listed]:
    """Every row of confirmed findings; those that are in none are put in one now.

    A store that is only read does not keep that.
    """
    findings = {finding.id: finding for finding in store.findings()}
    if new := [each for each in findings.values() if store.rows.of(each.id) is None]:
        store.set_aside()
        for finding in new:
            place(store, finding)
    expected = Choice().load(versions()["tvm"])
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
    """The one that most of them may be: several may have one key."""
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
    hint = did_you_mean(id, by_id)
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
        note = f"\n{visible(row.row.note)}" if row.row.note else ""
        table.add_row(
            Text(sentence(_short(row.row.id, ids))),
            Text(sentence(", ".join(row.names("pass_name")))),
            Text(sentence(", ".join(row.names("oracle")))),
            str(len(row.findings)),
            _bindings(row.findings[0]),
            Text(sentence(row.status)),
            Text(sentence(row.findings[0].title)).append(note, style="dim"),
        )
    if rows:
        console.print(table)
        console.print()


def _bindings(finding: Finding) -> str:
    """How many its module has; unknown where it is none.

    They are counted in the text: TVM may die of what anybody has written.
    """
    if '"ir.IRModule"' not in finding.module:
        return "?"
    return str(sum(1 for _ in _BINDING.finditer(finding.module)))


_BINDING = re.compile(r'"type"\s*:\s*"relax\.expr\.(?:VarBinding|MatchCast)"')


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
    return readable("\n".join(lines))


def _exhibit(finding: Finding) -> Exhibit:
    """What the oracle compared; an older store lacks it, and it is made now."""
    if finding.exhibit is not None:
        return finding.exhibit
    version = versions()["tvm"]
    if finding.versions["tvm"] != version:
        raise Mistake(
            f"{finding.id} was found with TVM {finding.versions['tvm']}, whose modules "
            f"TVM {version} cannot read"
        )
    if (reason := unknown(finding)) is not None:
        raise Mistake(f"{finding.id} cannot be run: {reason}")
    _warn(finding)
    try:
        with LocalPool(1) as pool:
            return exhibit(pool, finding)
    except JobFailed as error:
        raise Mistake(f"{finding.id} cannot be run: {str(error).strip()[-200:]}") from None


def _module(finding: Finding) -> str:
    _warn(finding)
    try:
        return module_of(finding, None, well_formed=True)
    except BadModule as error:
        raise Mistake(f"the module of {finding.id} does not load: {error}") from None


def _warn(finding: Finding) -> None:
    if said := executable_text.told([finding]):
        print(sentence(said), file=sys.stderr)


def _text(path: Path) -> str:
    try:
        return read_text(path, LONGEST_GENERATED)
    except (OSError, ValueError) as error:
        raise Mistake(f"cannot read '{path}': {error}") from None


def _complain(store: Store) -> None:
    if store.complaint:
        print(store.complaint, file=sys.stderr)


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
