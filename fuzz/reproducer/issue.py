"""A report in Markdown, as maintainers of TVM ask for it."""

from __future__ import annotations

from ..finding import Finding
from .account import promised, seen, title, versions

STORY = 12
"""Lines of what happens."""


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
    story = seen(finding, STORY)
    return "\n".join([f"{title(finding)}", *(["", "```", *story, "```"] if story else [])])
