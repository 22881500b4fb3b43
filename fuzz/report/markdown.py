"""The report as Markdown, for the summary of a CI run.

Texts from modules, passes and compilers are formatted as code: renderers do not interpret markup in
code, and GitHub neither mentions people nor links issues in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ..findings.finding import Finding
from ..output.readable import fenced, one_line, readable
from ..output.terminal import by_grade, clipped, counted
from ..process.targets import marked
from .behaviours import of_passes, summary
from .data import LEFT_OUT, Entry, EntryState, Report, compared, detail, expected

LIMIT = 1_000_000
"""Most bytes; GitHub does not show a summary of more than a mebibyte."""

LONGEST_CELL = 240
"""Most characters of one cell of a table."""

OPEN = ("grade", "consequence", "id", "pass", "oracle", "what went wrong")
"""The columns of open bugs."""

CLOSED = ("grade", "consequence", "pass", "oracle", "what went wrong", "why it is closed")
"""The columns of the others."""

_CLOSED_BY_STATE = (EntryState.KNOWN, EntryState.FIXED)
"""The states whose entries have a table each; all other closed entries are judged."""

MOST_ROWS = 500
"""Most rows of one table."""

MOST_LINES = {"detail": 40, "compared": 120, "reproducer": 150}
"""Most lines of each block of one bug."""


def markdown(report: Report) -> str:
    """Write the document; if it gets too long, further bugs only appear in the tables."""
    open_ = [entry for entry in report.entries if entry.is_open]
    new = [entry for entry in open_ if entry.state is EntryState.NEW]
    parts = [_head(new, open_), _plain(report.summary()), *_tables(report, open_)]
    size = sum(len(part.encode()) + 2 for part in parts)
    left_out = 0
    for entry in open_:
        _, oracle = entry.places[0] if entry.places else ("", "")
        blamed = entry.labels[0] if entry.labels else ""
        title = f"{entry.grade}: {code(entry.effect)}: {code(blamed)}: "
        title += f"{code(entry.title)} ({code(oracle)})"
        finding = entry.finding
        part = _folded(
            title, "\n\n".join([] if finding is None else _blocks(report, entry, finding))
        )
        length = len(part.encode()) + 2
        if left_out or size + length > LIMIT:
            left_out += 1
            continue
        size += length
        parts.append(part)
    if left_out:
        parts.append(f"There is no room for the details of {counted(left_out, 'more bug')}.")
    return "\n\n".join(parts) + "\n"


def _head(new: Sequence[Entry], open_: Sequence[Entry]) -> str:
    if new:
        grades = by_grade(entry.grade for entry in new)
        return f"## relaxfuzz: {counted(len(new), 'new bug')} ({grades})"
    return f"## relaxfuzz: nothing new, {counted(len(open_), 'open bug')}"


def _tables(report: Report, open_: Sequence[Entry]) -> Iterator[str]:
    for state, title in ((EntryState.NEW, "New"), (EntryState.SEEN, "Seen by earlier runs")):
        entries = [entry for entry in open_ if entry.state is state]
        if entries:
            rows = (
                (
                    entry.grade,
                    entry.effect,
                    entry.id[:10],
                    _joined(entry.labels),
                    _joined(entry.oracles),
                    entry.title,
                )
                for entry in entries
            )
            yield f"### {title}\n\n{_table(OPEN, rows)}"
    if report.last is not None and report.last.lacking:
        lacking = [(each,) for each in report.last.lacking]
        yield _folded(f"{len(lacking)} {LEFT_OUT}", _table(("what, and why",), lacking))
    passes = of_passes(report.stats)
    table = [(marked(name), str(len(found)), summary(found)) for name, found in passes]
    if table:
        yield _folded("Behaviours of passes", _table(("pass", "things", "in checks"), table))
    others = [entry for entry in report.entries if not entry.is_open]
    of_state = {state: [e for e in others if e.state is state] for state in _CLOSED_BY_STATE}
    judged = [entry for entry in others if entry.state not in _CLOSED_BY_STATE]
    for title, entries in (*of_state.items(), ("judged", judged)):
        if entries:
            closed = (
                (
                    entry.grade,
                    entry.effect,
                    _joined(entry.labels),
                    _joined(entry.oracles),
                    entry.title,
                    entry.closed_because,
                )
                for entry in entries
            )
            yield _folded(f"{len(entries)} {title}", _table(CLOSED, closed))


def _joined(names: Iterable[str]) -> str:
    return ", ".join(names)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    all_rows = list(rows)
    lines += [f"| {' | '.join(map(code, row))} |" for row in all_rows[:MOST_ROWS]]
    more = len(all_rows) - MOST_ROWS
    return "\n".join([*lines, *(["", f"and {more} more"] if more > 0 else [])])


def _blocks(report: Report, entry: Entry, finding: Finding) -> Iterator[str]:
    yield f"Expected: {code(expected(finding), 1000)}"
    if (text := detail(finding)) and text != finding.title:
        yield _block(text, "detail")
    language = "diff" if finding.exhibit is not None and finding.exhibit.diff else "python"
    yield _block(compared(finding), "compared", language)
    if text := entry.reproducer_text():
        yield _folded("Reproducer", _block(text, "reproducer", "python"))
    yield f"Replay: {code(report.replay(finding), 1000)}"


def _block(text: str, what: str, language: str = "") -> str:
    """The beginning of a text; for a detail the end, which has the exception."""
    rows = readable(text).strip("\n").split("\n")
    return fenced(clipped(rows, MOST_LINES[what], end=what == "detail"), language)


def _folded(title: str, body: str) -> str:
    # Markdown continues inside HTML only after an empty line.
    return f"<details>\n<summary>{title}</summary>\n\n{body}\n\n</details>"


def code(text: str, most: int = LONGEST_CELL) -> str:
    """A text as inline code, for a line, a table's cell or a summary; empty for an empty text.

    Anything that a renderer could interpret becomes a character reference; the rest stays readable.
    """
    line = one_line(text, most)
    return f"<code>{_plain(line)}</code>" if line else ""


_MARKUP = re.compile(
    r"[&<>*\[\]`~|\\@#!]"
    r"|(?<![^\W_])_|_(?![^\W_])"  # emphasis starts and ends at words
    r"|:(?=[/\w])"  # addresses, names of emoji
    r"|(?<=www)\.",
    re.IGNORECASE,
)


def _plain(text: str) -> str:
    """A text with nothing that Markdown or HTML would interpret inside a line."""
    return _MARKUP.sub(lambda found: f"&#{ord(found[0])};", text)
