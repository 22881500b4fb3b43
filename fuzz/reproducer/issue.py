"""A report in Markdown, as maintainers of TVM ask for it."""

from __future__ import annotations

from ..findings.finding import Finding
from ..output.fenced import fenced
from .account import promised, seen, title, versions

STORY = 12
"""Lines of what happens."""

COMPARED = 60
"""Lines of a difference; a longer one tells nobody anything."""


def issue_text(finding: Finding, script: str) -> str:
    """Title, what happens, what is expected and who says so, script, versions."""
    promise, source = promised(finding)
    parts = [
        f"# [Bug][Relax] {title(finding)}",
        f"### Expected behavior\n\n{promise}\n\nSource: {source}",
        f"### Actual behavior\n\n{_happens(finding)}",
        f"### Environment\n\n{versions(finding)}",
        *([f"First bad version: {finding.first_bad}"] if finding.first_bad else []),
        f"### Steps to reproduce\n\n```python\n{script.strip()}\n```",
        f"<!-- relaxfuzz: {finding.oracle}, {finding.id} -->",
    ]
    return "\n\n".join(parts) + "\n"


def _happens(finding: Finding) -> str:
    parts = [title(finding)]
    if story := seen(finding, STORY):
        parts.append(fenced("\n".join(story)))
    diff = "" if finding.exhibit is None else finding.exhibit.diff
    if diff and diff.count("\n") < COMPARED:
        parts.append(fenced(diff, "diff"))
    return "\n\n".join(parts)
