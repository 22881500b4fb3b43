"""What the forms of text say of an entry, each in its own way."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from ...corpus.reading import LONGEST_GENERATED, read_text
from ..findings.finding import Finding
from ..output.terminal import counted, duration
from ..reproducer.account import promised, without_own_frames
from .data import Entry, Report, State

SETTLED = ("false", "wontfix")
"""Verdicts after which nobody waits for a bug to be fixed."""

NAMES = {
    State.NEW: "new",
    State.SEEN: "seen before",
    State.KNOWN: "known",
    State.FIXED: "fixed",
}


def fails(entry: Entry) -> bool:
    """It is a bug that somebody ought to look at."""
    return entry.state in (State.NEW, State.SEEN) and entry.verdict not in SETTLED


def replay(report: Report, finding: Finding) -> str:
    """The command that sees a finding again."""
    return f"relaxfuzz replay {shlex.quote(f'{report.folder}/{finding.id}')}"


def happened(finding: Finding) -> str:
    """The oracle's account."""
    return "\n".join(without_own_frames(finding.detail.strip().split("\n")))


def expected(finding: Finding) -> str:
    """What was promised, and by whom."""
    promise, source = promised(finding)
    return f"{promise} ({source})"


def compared(finding: Finding) -> str:
    """The difference, or the module where there is none."""
    if finding.exhibit is None:
        return finding.source or finding.module
    return finding.exhibit.story


def reproducer(entry: Entry) -> str:
    """The file that fails; empty where there is none."""
    path = entry.evidence[0].reproducer if entry.evidence else None
    try:
        return "" if path is None else read_text(path, LONGEST_GENERATED, errors="replace")
    except OSError:  # moved away since
        return ""


def known_as(entry: Entry) -> str:
    """Why it is no failure: the known that it is, or what was said of it."""
    if entry.state in (State.NEW, State.SEEN):
        return f"{entry.verdict}: {entry.note}" if entry.note else entry.verdict or ""
    parts = [known.what for known in entry.knowns[:1]]
    return ", ".join([*parts, *entry.links]) or "known"


def counts(report: Report) -> Mapping[State, int]:
    """Entries by state."""
    return {state: len(report.of(state)) for state in State}


def summary(report: Report) -> str:
    """What there is and what was done, in a sentence each."""
    found = ", ".join(f"{number} {NAMES[state]}" for state, number in counts(report).items())
    return " ".join([f"Bugs: {found}.", *_done(report)])


def _done(report: Report) -> Iterator[str]:
    run = report.last
    if run is None:
        return
    seed = "" if run.seed is None else f", seed {run.seed}"
    yield (
        f"The last run ({run.command}{seed}): {counted(run.checks, 'check')} of "
        f"{counted(len(run.passes), 'target')} on {counted(run.modules, 'module')} in "
        f"{duration(run.seconds)}{'' if run.finished else ', not finished'}."
    )
    if len(report.runs) > 1:
        checks = sum(each.checks for each in report.runs.values())
        yield f"All {len(report.runs)} runs: {counted(checks, 'check')}."
    if run.faults:
        yield f"{counted(len(run.faults), 'fault')} of relaxfuzz itself."
