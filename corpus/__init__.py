"""What is kept: a reproducer of every bug found in TVM, and what was judged of each report.

`found/` holds one file for each root cause. It runs by itself, fails as long as the bug is there,
and begins with what it shows:

    # pass: LiftTransformParams
    # oracle: well-formed
    # fingerprint: [...]
    # tvm: fails on 0.27.0.post1
    # promise: ...
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

FOUND = Path(__file__).parent / "found"
FIELDS = ("pass", "oracle", "fingerprint", "tvm", "promise")


def reproducers() -> list[Path]:
    """The files of `found/`, by name."""
    return sorted(FOUND.glob("*.py"))


def header(path: Path) -> Mapping[str, str]:
    """The fields at the top of a file.

    Raises:
        ValueError: a field is missing.
    """
    fields: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        name, colon, value = line.removeprefix("#").partition(":")
        if colon and name.strip() in FIELDS:
            fields.setdefault(name.strip(), value.strip())
    missing = [name for name in FIELDS if name not in fields]
    if missing:
        raise ValueError(f"Expected a header with {', '.join(FIELDS)} but {path} lacks {missing}")
    return fields
