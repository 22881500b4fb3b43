"""One known bug, for people: in full, or as a report to file."""

from __future__ import annotations

from collections.abc import Iterable

from ...compat.release import versions
from ...corpus.grades import consequence
from ...corpus.knowns import Known
from ..reproducer.description import issue_of


def whole(known: Known) -> str:
    """Everything in its record, one field per paragraph."""
    seen = consequence(known)
    fields = {
        "consequence": f"{seen}, grade {seen.grade}",
        "where": known.source,
        "cause": known.root_cause,
        "blamed": ", ".join(sorted(known.passes)),
        "also": "; ".join(known.symptoms),
        "instead": known.workaround,
        "promise": "; ".join(known.promise),
        "note": known.note,
        "thread": "; ".join(filter(None, [*known.upstream, known.thread])),
        "reproducer": None if known.reproducer is None else str(known.reproducer),
        "record": str(known.path),
    }
    lines = [f"{known.name}: {known.what}"]
    return "\n".join([*lines, *(f"  {name}: {text}" for name, text in fields.items() if text)])


def issue(known: Known) -> str:
    """A bug report in Markdown, in the form that TVM's tracker requests."""
    script = known.reproducer
    actual = [f"{known.what[:1].upper()}{known.what[1:]}."]
    actual.append(f"Consequence: {consequence(known)}.")
    if known.fails_with:
        actual.append(f"The script below ends with `{known.fails_with}`.")
    if known.symptoms:
        actual.append(_listed(known.symptoms))
    place = known.source and f"Place: {known.source}"
    sections = {
        "Expected behavior": _listed(known.promise),
        "Actual behavior": "\n\n".join(actual),
        "Environment": ", ".join(f"{k} {v}" for k, v in versions().items() if v != "unknown"),
        "Cause": "\n".join(filter(None, [known.root_cause, place])),
    }
    return issue_of(
        f"[Bug] {', '.join(sorted(known.passes))}: {known.what}",
        sections,
        "" if script is None else script.read_text(encoding="utf-8"),
    )


def _listed(texts: Iterable[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)
