"""What `minimize --json` prints."""

from __future__ import annotations

import json

from ...findings.finding import Finding


def about(finding: Finding) -> dict[str, object]:
    """What is wrong."""
    return {
        "id": finding.id,
        "pass": finding.pass_name,
        "oracle": finding.oracle,
        "title": finding.title,
        "calls": [str(call) for call in finding.calls],
    }


def printed(event: dict[str, object]) -> None:
    """Print an event as a line, at once."""
    print(json.dumps(event), flush=True)
