"""Joins the stores of several machines or nights into one, in which each bug is one row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...compat import weights
from ...corpus.reading import LONGEST_GENERATED, read_text
from .dedup import place
from .finding import Finding
from .rows import BY_HAND
from .runs import Run
from .store import Store


@dataclass(slots=True)
class Joined:
    """The effect of a join."""

    added: int = 0
    """The number of findings that the store did not have."""
    conflicts: list[str] = field(default_factory=list)
    """One sentence for each verdict that was not taken over, since the row has another one."""


def join(store: Store, others: Sequence[Store]) -> Joined:
    """Add the findings, runs and human decisions of other stores, which stay unchanged.

    Of a finding that several stores have, the confirmed one is kept, the one with a reproducer, and
    else the one with the smallest module. Findings that wait for triage wait in the joined store.
    The same join again changes nothing, and one that is interrupted has changed no row.
    """
    with store.at_once():
        return _joined(store, others)


def _joined(store: Store, others: Sequence[Store]) -> Joined:
    joined = Joined()
    large = store.folder / weights.FOLDER
    for other in others:
        origins = [other.folder / weights.FOLDER]
        for finding in [*other.findings(), *other.findings(confirmed=False)]:
            known = store.get(finding.id)
            joined.added += known is None
            if known is None or _rank(finding) < _rank(known):
                weights.bring(finding.module, large, origins)
                _put(store, other, finding)
        for finding in other.pending():
            if store.get(finding.id) is None:
                weights.bring(finding.module, large, origins)
                store.pend(finding)
    for other in others:
        joined.conflicts += _join_rows(store, other)
    _join_runs(store, others)
    return joined


def _rank(finding: Finding) -> tuple[bool, bool, int]:
    """The order of findings with one id, the most useful one first."""
    size = len(finding.source) or len(finding.module)
    return not finding.confirmed, finding.reproducer is None, size


def _put(store: Store, other: Store, finding: Finding) -> None:
    path = other.reproducer(finding)
    files = {}
    if path is not None:
        files[store.folder / "reproducers" / path.name] = read_text(path, LONGEST_GENERATED)
    store.put(finding, files)


def _join_rows(store: Store, other: Store) -> Iterator[str]:
    """Put findings in rows by their identities, as people have decided; yield conflicts."""
    store.rows.keep_apart(other.rows.apart())
    for row in other.rows.all():
        members = []
        for member in row.members:
            if (finding := store.get(member.finding)) is not None:
                place(store, finding)
                members.append(member)
        first = next((store.rows.of(member.finding) for member in members), None)
        if first is None:
            continue
        by_hand = [store.rows.of(each.finding) for each in members if each.why == BY_HAND]
        store.rows.merge(first, [id for id in by_hand if id not in (None, first)])
        now = store.rows.get(first)
        if row.verdict and now.verdict not in (None, row.verdict):
            yield f"{first}: stays {now.verdict!r}; '{other.folder}' has {row.verdict!r}"
        notes = [each for each in (now.note, row.note) if each]
        if len(notes) == 2 and notes[1] in notes[0]:
            notes.pop()
        store.rows.judge(first, verdict=now.verdict or row.verdict, note="\n".join(notes))


def _join_runs(store: Store, others: Sequence[Store]) -> None:
    """Enter the runs that the store does not have, in the order in which they began."""
    known = set(map(_mark, store.runs.all().values()))
    runs = [run for other in others for run in other.runs.all().values()]
    for run in sorted(runs, key=lambda run: run.started):
        if _mark(run) not in known:
            known.add(_mark(run))
            store.runs.begin(run)


def _mark(run: Run) -> tuple[float, str, int | None]:
    return run.started, run.command, run.seed
