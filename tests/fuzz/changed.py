"""Findings like others, for tests."""

from __future__ import annotations

import dataclasses
from typing import Any

from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.oracles.violation import Violation

OF_VIOLATION = {field.name for field in dataclasses.fields(Violation)}


def changed(finding: Finding, **fields: Any) -> Finding:
    """The finding with other fields, of its own or of its violation."""
    inner = {name: fields.pop(name) for name in OF_VIOLATION & fields.keys()}
    violation = dataclasses.replace(finding.violation, **inner)
    return dataclasses.replace(finding, violation=violation, **fields)
