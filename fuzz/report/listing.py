"""`relaxfuzz findings`: the rows of a store, one for each bug, listed, shown and judged."""

from __future__ import annotations

import dataclasses
import json as jsonlib
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from ...compat.release import versions
from ...corpus.reading import LONGEST_GENERATED, read_text
from ...oracles.grades.grade import Grade
from ...oracles.text.exhibit import Exhibit
from .. import reproducer
from ..findings import executable_text
from ..findings.confirm import exhibit as exhibit_of
from ..findings.dedup import place
from ..findings.finding import Finding
from ..findings.known import USERS, Choice, Expected, extend
from ..findings.replay import module_of, unknown
from ..findings.store import Store
from ..output.failure_text import failed_step
from ..output.readable import readable, sentence, visible
from ..output.terminal import clipped, columns, counted, graded, results
from ..process.executor import JobFailed
from ..process.local_pool import LocalPool
from ..reproducer import Form
from ..user_input.errors import UserError, near
from ..user_input.read_module import BadModule
from .data import Entry, entries_of_rows, entry_of
from .jsonl import seen_of
from .seen import Seen

VERDICTS = ("true", "false", "wontfix", "reported", "fixed", "unclear")
"""The verdicts on a row; everything else is a note."""

DIFF = "diff"
"""The format of `show` that is no reproducer."""

MOST_LINES = 30
"""Lines of a difference that are printed beside a reproducer."""

SHORTEST = 4
"""The least number of characters of an id that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which rows are listed."""

    passes: tuple[str, ...] = ()
    oracles: tuple[str, ...] = ()
    verdicts: tuple[str, ...] = ()
    new: bool = False
    grade: Grade = Grade.C
    """The least."""
    unconfirmed: bool = False
    """List unconfirmed findings instead of rows."""


def rows(store: Store) -> list[Entry]:
    """The rows of confirmed findings: the open ones before the others, those that are similar to
    known bugs behind the others, the gravest first.

    Findings that are in no row yet are assigned to rows; a store that is only read does not keep
    the assignment.
    """
    if new := [each for each in store.findings() if store.rows.of(each.id) is None]:
        store.set_aside()
        for finding in new:
            place(store, finding)
    found = entries_of_rows(store, _expected(), store.runs.all())
    return sorted(found, key=lambda entry: (not entry.is_open, bool(entry.similar), entry.grade))


def unconfirmed(store: Store) -> list[Entry]:
    """The unconfirmed findings, each as a row of its own: no rule compares them."""
    expected = _expected()
    found = [entry_of([each], store, expected) for each in store.findings(confirmed=False)]
    return sorted(found, key=lambda entry: entry.grade)


def _expected() -> Expected:
    return Choice().load(versions()["tvm"])


def event(entry: Entry) -> dict[str, object]:
    """A row as an object of the JSON protocol."""
    best = entry.evidence[0]
    known = entry.knowns[0].name if entry.knowns else None
    return {
        "event": "row",
        "id": entry.id,
        "passes": entry.passes,
        "contract": best.finding.has_contract,
        "oracles": entry.oracles,
        "title": entry.title,
        "grade": entry.grade,
        "rare": entry.rare,
        "status": "known" if known and entry.verdict is None else entry.status,
        "known": known,
        "verdict": entry.verdict,
        "note": entry.note,
        **seen_of(entry),
        "bindings": bindings(best.finding),
        "reproducer": None if best.reproducer is None else str(best.reproducer),
        "findings": [{"id": each.finding.id, "why": each.why} for each in entry.evidence],
    }


def description(entry: Entry, finding: Finding) -> str:
    """A finding of a row, the other findings, and why they are the same bug."""
    lines = [
        f"{finding.id}: {finding.label}, {finding.oracle}: {finding.title}",
        f"grade: {finding.grade}" + (f", rare: {', '.join(finding.rare)}" if finding.rare else ""),
        f"status: {entry.status}",
        *finding.of_known,
        *_seen(entry.seen),
        *(f"made of: {piece.name}" for piece in finding.recipe.pieces),
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
    """When and where the bug was seen, in lines."""
    when = f"{known.period}, " if known.period else ""
    yield f"seen: {when}on {', '.join(known.builds)}"
    if known.gone_on is not None:
        yield f"gone: on {known.gone_on}"
    elif known.is_back:
        yield "back: it was gone in between"


def selected(entries: Sequence[Entry], chosen: Filter, folder: object) -> list[Entry]:
    """The rows that a filter selects.

    Raises:
        UserError: no row has the pass or oracle of the filter, or there is no such verdict.
    """
    passes = {name for entry in entries for name in entry.passes}
    oracles = {name for entry in entries for name in entry.oracles}
    both = ("--pass", chosen.passes, passes), ("--oracle", chosen.oracles, oracles)
    for option, wanted, found in both:
        for name in wanted:
            if name not in found:
                hint = near(name, sorted(found))
                raise UserError(f"no finding in '{folder}' has {option} {name!r}{hint}")
    for verdict in chosen.verdicts:
        check_verdict(verdict)
    return [entry for entry in entries if _is_selected(entry, chosen)]


def _is_selected(entry: Entry, chosen: Filter) -> bool:
    return (
        (not chosen.passes or not set(chosen.passes).isdisjoint(entry.passes))
        and (not chosen.oracles or not set(chosen.oracles).isdisjoint(entry.oracles))
        and (not chosen.verdicts or entry.verdict in chosen.verdicts)
        and (not chosen.new or entry.status in ("new", "back"))
        and entry.grade.reaches(chosen.grade)
    )


def check_verdict(name: str) -> None:
    """
    Raises:
        UserError: there is no such verdict.
    """
    if name not in VERDICTS:
        raise UserError(f"no verdict {name!r}{near(name, VERDICTS)}; use `note` for other words")


def find(entries: Sequence[Entry], id: str) -> tuple[Entry, Finding]:
    """The finding with this id, or the only one whose id begins with it, and its row.

    Raises:
        UserError: there is none, or several.
    """
    by_id = {finding.id: (entry, finding) for entry in entries for finding in entry.findings}
    found = [name for name in by_id if name.startswith(id)]
    if len(found) == 1:
        return by_id[found[0]]
    if found:
        raise UserError(
            f"the ids of several findings begin with {id!r}: {', '.join(sorted(found))}"
        )
    hint = near(id, by_id, otherwise="; `relaxfuzz findings` lists them")
    raise UserError(f"no id of a finding begins with {id!r}{hint}")


def shortest(id: str, ids: Sequence[str]) -> str:
    """The shortest beginning that no other id has."""
    others = [other for other in ids if other != id]
    for length in range(SHORTEST, len(id)):
        if not any(other.startswith(id[:length]) for other in others):
            return id[:length]
    return id


def bindings(finding: Finding) -> str:
    """The number of bindings of its module; "?" where it is no module.

    They are counted in the text: loading a foreign module could crash this process.
    """
    if '"ir.IRModule"' not in finding.module:
        return "?"
    return str(sum(1 for _ in _BINDING.finditer(finding.module)))


_BINDING = re.compile(r'"type"\s*:\s*"relax\.expr\.(?:VarBinding|MatchCast)"')


# List


def list_rows(folder: Path, chosen: Filter, *, json: bool) -> int:
    """Print the rows that a filter selects; the exit code.

    Raises:
        UserError: there is no store, or nothing in it has a name of the filter.
    """
    with Store(folder, create=False) as store:
        entries = unconfirmed(store) if chosen.unconfirmed else rows(store)
        shown = selected(entries, chosen, folder)
        if json:
            for entry in shown:
                print(jsonlib.dumps(event(entry)), flush=True)
        else:
            ids = [id for row in entries for id in (row.id, *(each.id for each in row.findings))]
            _print_table(shown, ids)
            reports = sum(len(entry.findings) for entry in shown)
            print(f"{len(shown)} of {len(entries)} rows, {reports} reports.")
        if store.complaint:
            print(store.complaint, file=sys.stderr)
    return 0


def _print_table(entries: Sequence[Entry], ids: Sequence[str]) -> None:
    names = ("id", "grade", "pass", "oracle", "reports", "bindings", "seen")
    table = columns(*names, "status", "what went wrong", numbers=("reports", "bindings"))
    for entry in entries:
        note = f"\n{visible(entry.note)}" if entry.note else ""
        table.add_row(
            Text(sentence(shortest(entry.id, ids))),
            graded(entry.grade),
            Text(sentence(", ".join(entry.labels))),
            Text(sentence(", ".join(entry.oracles))),
            str(len(entry.findings)),
            bindings(entry.findings[0]),
            Text(sentence(entry.seen.brief)),
            Text(sentence(entry.status)),
            Text(sentence(entry.findings[0].title)).append(note, style="dim"),
        )
    if entries:
        console = results()
        console.print(table)
        console.print()


# Show


def show(folder: Path, id: str, form: str) -> int:
    """Print a reproducer, or with the format `DIFF` what the oracle compared.

    Raises:
        UserError: no such id or format, or the finding's module comes from another TVM.
    """
    if form not in (*Form, DIFF):
        raise UserError(f"no format {form!r}{near(form, [*map(str, Form), DIFF])}")
    with Store(folder, create=False) as store:
        entry, finding = find(rows(store), id)
        if finding.id == entry.id:  # a row stands for the finding that shows it best
            finding = entry.findings[0]
        print(description(entry, finding), file=sys.stderr)
        for failed in store.failed_steps(finding.id):
            print(visible(failed_step(finding, failed, store)), file=sys.stderr)
        path = store.reproducer(finding) if form == Form.TVMSCRIPT else None
        if path is not None:
            exhibit, text = finding.exhibit, _text(path)
        elif form == DIFF and finding.exhibit is not None:
            exhibit, text = finding.exhibit, None
        else:
            exhibit, text = _run_again(finding, form)
    if form == DIFF and exhibit is not None:
        print(visible(exhibit.story))
        return 0
    if exhibit is not None and exhibit.diff:
        diff = visible(exhibit.diff).splitlines()
        print(clipped(diff, MOST_LINES, hint=": --format diff"), file=sys.stderr)
    if text is not None:
        print(visible(text))
        return 0
    print("no file reproduces it here; `relaxfuzz replay` runs the oracle itself", file=sys.stderr)
    return 1


def _run_again(finding: Finding, form: str) -> tuple[Exhibit, str | None]:
    """What the oracle compared, and a file that fails, unless only the former is asked for."""
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
        print(f"{into}: {counted(len(store.rows.get(into).members), 'report')}")
    return 0


def split(folder: Path, id: str) -> int:
    """Move a finding into a row of its own, permanently.

    Raises:
        UserError: no such id, or it is alone already.
    """
    with Store(folder, create=False, write=True) as store:
        entry, finding = find(rows(store), id)
        if len(entry.findings) == 1:
            raise UserError(f"{finding.id} is alone in its row already")
        row = store.rows.split(finding.id)
        print(f"{row}: {counted(len(store.rows.get(row).members), 'report')}")
    return 0


def judge(folder: Path, id: str, *, verdict: str | None = None, note: str | None = None) -> int:
    """Record a verdict or a note on a row; an empty text removes it.

    Raises:
        UserError: no such id, no such verdict.
    """
    if verdict:
        check_verdict(verdict)
    with Store(folder, create=False, write=True) as store:
        entry, _ = find(rows(store), id)
        store.rows.judge(entry.id, verdict=verdict, note=note)
        now = store.rows.get(entry.id)
        note = f" ({visible(now.note)})" if now.note else ""
        print(f"{now.id}: {visible(now.verdict or 'no verdict')}{note}")
    return 0


def add_to_known(folder: Path, id: str, name: str, choice: Choice) -> int:
    """Write into the record of a known bug that a row is that bug in other words.

    Raises:
        UserError: no such id, no such known bug.
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
