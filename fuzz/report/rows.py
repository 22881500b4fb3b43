"""The rows of a store, one for each bug, as `relaxfuzz findings` shows and changes them."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...compat.release import versions
from ...corpus.reading import LONGEST_GENERATED, read_text
from ...oracles.exhibit import Exhibit
from .. import reproducer
from ..findings import executable_text, joining, listed
from ..findings.confirm import exhibit as exhibit_of
from ..findings.dedup import place
from ..findings.finding import Finding
from ..findings.known import Choice, Expected, extend
from ..findings.listed import USERS, Filter, ListedFinding, ListedRow, Listing, Shown
from ..findings.store import Store
from ..loading.read_module import BadModule
from ..output.readable import readable, sentence, visible
from ..output.terminal import counted
from ..process.executor import JobFailed
from ..process.local_pool import LocalPool
from ..reproducer import Form
from ..reproducer.replay import module_of, unknown
from ..system.errors import UserError, near
from .data import Entry, entries_of_rows, entry_of
from .failure_text import fault
from .jsonl import seen_of
from .listing import DIFF, print_diff, print_rows, print_shown
from .seen import Seen


def rows(store: Store) -> list[Entry]:
    """The rows of confirmed findings, gravest first: open ones first, similar-to-known ones last.

    Findings without a row are assigned to rows; a read-only store does not keep the assignment.
    """
    if new := [each for each in store.findings() if store.rows.of(each.id) is None]:
        store.set_aside()
        for finding in new:
            place(store, finding)
    found = entries_of_rows(store, _expected(), store.runs.all())
    return sorted(found, key=lambda each: (not each.is_open, bool(each.similar), each.weight.rank))


def unconfirmed(store: Store) -> list[Entry]:
    """The unconfirmed findings, each as a separate row, since no rule compares them."""
    expected = _expected()
    found = [entry_of([each], store, expected) for each in store.findings(confirmed=False)]
    return sorted(found, key=lambda entry: entry.weight.rank)


def _expected() -> Expected:
    return Choice().load(versions()["tvm"])


def listing_of(entries: Sequence[Entry], store: Store) -> Listing:
    """Rows of a store as they are listed, with the displayed parts of their findings."""
    shown = {
        finding.id: _shown(entry, finding, store)
        for entry in entries
        for finding in entry.findings
        if not finding.faults
    }
    return Listing(tuple(map(_listed, entries)), shown)


def keep(store: Store) -> None:
    """Write the file from which rows are listed without TVM; see `findings.listed`."""
    made = listing_of(rows(store), store)
    if not store.complaint:
        listed.keep(store.folder, made)


def _listed(entry: Entry) -> ListedRow:
    best = entry.evidence[0]
    known = entry.knowns[0].name if entry.knowns else None
    return ListedRow(
        id=entry.id,
        passes=entry.passes,
        labels=entry.labels,
        contract=best.finding.has_contract,
        oracles=entry.oracles,
        title=entry.title,
        grade=entry.grade,
        consequence=entry.effect,
        status="known" if known and entry.verdict is None else entry.status,
        known=known,
        verdict=entry.verdict,
        note=entry.note,
        **seen_of(entry),
        bindings=bindings(best.finding),
        reproducer=None if best.reproducer is None else str(best.reproducer),
        findings=tuple(ListedFinding(each.finding.id, each.why) for each in entry.evidence),
    )


def _shown(entry: Entry, finding: Finding, store: Store, exhibit: Exhibit | None = None) -> Shown:
    exhibit = exhibit or finding.exhibit
    path = store.reproducer(finding)
    return Shown(
        description(entry, finding),
        "" if exhibit is None else exhibit.diff,
        "" if exhibit is None else exhibit.story,
        None if path is None else path.name,
    )


def description(entry: Entry, finding: Finding) -> str:
    """A finding of a row, its other findings, and the reasons why they are the same bug."""
    lines = [
        f"{finding.id}: {finding.label}, {finding.oracle}: {finding.title}",
        f"grade: {finding.grade}, consequence: {finding.effect}",
        f"status: {entry.status}",
        *finding.of_known,
        *_seen(entry.seen),
        *(f"made of: {piece.name}" for piece in finding.pieces),
        *([f"note: {entry.note}"] if entry.note else []),
    ]
    if len(entry.evidence) > 1:
        (why,) = (each.why for each in entry.evidence if each.finding.id == finding.id)
        lines.append(f"row {entry.id}{f', {why}' if why else ''}:")
    for other, reason in ((each.finding, each.why) for each in entry.evidence):
        if other.id != finding.id:
            why = f" ({reason})" if reason else ""
            lines.append(f"  {other.id}: {other.label}, {other.oracle}{why}")
    return readable("\n".join(lines))


def _seen(known: Seen) -> Iterator[str]:
    """The times and builds at which the bug was seen, as lines."""
    when = f"{known.period}, " if known.period else ""
    yield f"seen: {when}on {', '.join(known.builds)}"
    if known.gone_on is not None:
        yield f"gone: on {known.gone_on}"
    elif known.is_back:
        yield "back: it was gone in between"


def find(entries: Sequence[Entry], id: str) -> tuple[Entry, Finding]:
    """The finding with this id, or the only one whose id starts with it, and its row.

    Raises:
        UserError: there is none, or several.
    """
    return listed.find({f.id: (entry, f) for entry in entries for f in entry.findings}, id)


def bindings(finding: Finding) -> str:
    """The number of bindings of its module; "?" if the text is not a module.

    They are counted in the text, since loading a foreign module could crash this process.
    """
    if '"ir.IRModule"' not in finding.module:
        return "?"
    return str(sum(1 for _ in _BINDING.finditer(finding.module)))


_BINDING = re.compile(r'"type"\s*:\s*"relax\.expr\.(?:VarBinding|MatchCast)"')


# List


def list_rows(folder: Path, chosen: Filter, *, json: bool) -> int:
    """Print the rows that a filter selects; return the exit code.

    Raises:
        UserError: there is no store, or a name in the filter matches nothing in it.
    """
    with Store(folder, create=False) as store:
        entries = unconfirmed(store) if chosen.unconfirmed else rows(store)
        print_rows(tuple(map(_listed, entries)), chosen, folder, json=json)
        if store.complaint:
            print(store.complaint, file=sys.stderr)
    return 0


# Show


def show(folder: Path, id: str, form: str) -> int:
    """Print a reproducer, or with the format `DIFF` the two sides that the oracle compared.

    Raises:
        UserError: no such id or format, or the finding's module comes from another TVM.
    """
    if form not in (*Form, DIFF):
        raise UserError(f"no format {form!r}{near(form, [*map(str, Form), DIFF])}")
    with Store(folder, create=False) as store:
        entry, finding = find(rows(store), id)
        if finding.id == entry.id:  # a row is represented by its best finding
            finding = entry.findings[0]
        print(description(entry, finding), file=sys.stderr)
        for each in finding.faults:
            print(visible(fault(finding, each, folder)), file=sys.stderr)
        path = store.reproducer(finding) if form == Form.TVMSCRIPT else None
        exhibit, text = finding.exhibit, None if path is None else _text(path)
        if text is None and (form != DIFF or exhibit is None):
            exhibit, text = _run_again(finding, form)
        shown = _shown(entry, finding, store, exhibit)
    if text is None and form != DIFF:
        print_diff(shown)
        print(
            "no file reproduces it here; `relaxfuzz replay` runs the oracle itself", file=sys.stderr
        )
        return 1
    print_shown(shown, text)
    return 0


def _run_again(finding: Finding, form: str) -> tuple[Exhibit, str | None]:
    """The two sides that the oracle compared, and a file that fails, unless `form` is `DIFF`."""
    version = versions()["tvm"]
    if finding.exhibit is None:
        if finding.versions["tvm"] != version:
            raise UserError(
                f"{finding.id} was found with TVM {finding.versions['tvm']}, whose modules "
                f"TVM {version} cannot read"
            )
        if (reason := unknown(finding)) is not None:
            raise UserError(f"{finding.id} cannot be run: {reason}")
    if warning := executable_text.warning([finding]):
        print(sentence(warning), file=sys.stderr)
    try:
        with LocalPool(1) as pool:
            exhibit = finding.exhibit or exhibit_of(pool, finding)
            if form == DIFF:
                return exhibit, None
            module = module_of(finding, pool, well_formed=True)
            whole = dataclasses.replace(finding, exhibit=exhibit, module=module)
            return exhibit, reproducer.failing(whole, Form(form), executor=pool)
    except BadModule as error:
        raise UserError(f"the module of {finding.id} does not load: {error}") from None
    except JobFailed as error:
        raise UserError(f"{finding.id} cannot be run: {str(error).strip()[-200:]}") from None


def _text(path: Path) -> str:
    try:
        return read_text(path, LONGEST_GENERATED)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read '{path}': {error}") from None


# Change


def merge(folder: Path, ids: Sequence[str]) -> int:
    """Merge rows, permanently.

    Raises:
        UserError: no such id, or the ids are of one row.
    """
    with Store(folder, create=False, write=True) as store:
        entries = rows(store)
        into, *others = dict.fromkeys(find(entries, id)[0].id for id in ids)
        if not others:
            raise UserError(
                f"expected ids of at least two rows but got {' '.join(ids)}: row {into}"
            )
        store.rows.merge(into, others)
        keep(store)
        print(f"{into}: {counted(len(store.rows.get(into).members), 'report')}")
    return 0


def split(folder: Path, id: str) -> int:
    """Move a finding into a separate row, permanently.

    Raises:
        UserError: no such id, or it is alone already.
    """
    with Store(folder, create=False, write=True) as store:
        entry, finding = find(rows(store), id)
        if len(entry.findings) == 1:
            raise UserError(f"{finding.id} is alone in its row already")
        row = store.rows.split(finding.id)
        keep(store)
        print(f"{row}: {counted(len(store.rows.get(row).members), 'report')}")
    return 0


def judge(folder: Path, id: str, *, verdict: str | None = None, note: str | None = None) -> int:
    """Record a verdict or a note on a row; an empty text removes it.

    Raises:
        UserError: no such id, or no such verdict.
    """
    if verdict:
        listed.check_verdict(verdict)
    with Store(folder, create=False, write=True) as store:
        entry, _ = find(rows(store), id)
        store.rows.judge(entry.id, verdict=verdict, note=note)
        keep(store)
        now = store.rows.get(entry.id)
        note = f" ({visible(now.note)})" if now.note else ""
        print(f"{now.id}: {visible(now.verdict or 'no verdict')}{note}")
    return 0


def join(folder: Path, others: Sequence[Path]) -> int:
    """Join other stores into the one of a folder, which may be new.

    Raises:
        UserError: one of the folders has no store, or is the joined one itself.
    """
    for other in others:
        if other.resolve() == folder.resolve():
            raise UserError(f"'{other}' is the folder of --out itself: name the other folders only")
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(Store(each, create=False)) for each in others]
        store = stack.enter_context(Store(folder))
        before = len(store.rows.all())
        joined = joining.join(store, opened)
        keep(store)
        for text in (*joined.conflicts, *(each.complaint for each in opened if each.complaint)):
            print(visible(text), file=sys.stderr)
        total = len(store.rows.all())
        print(
            f"{folder}: {counted(total, 'row')}, {total - before} new; "
            f"{counted(joined.added, 'new finding')} of {counted(len(others), 'folder')}"
        )
    return 0


def add_to_known(folder: Path, id: str, name: str, choice: Choice) -> int:
    """Record a row as further identities of a known bug.

    Raises:
        UserError: no such id, or no such known bug.
    """
    expected = choice.load(versions()["tvm"])
    names = {known.name: known for known in expected.knowns}
    if name not in names:
        raise UserError(f"no known bug is called {name!r}{near(name, sorted(names))}")
    with Store(folder, create=False) as store:
        entry, _ = find(rows(store), id)
    into = (*choice.own, USERS)[0]
    print(f"{entry.id}: {name}, in {extend(into, names[name], entry.findings)}")
    return 0
