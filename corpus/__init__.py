"""What is kept: files that show bugs of TVM, and what was judged of each report.

`seeds/` holds the bugs that relaxfuzz was made for, `found/` one file for each root cause that it
found. Each file runs by itself, fails as long as the bug is there, and begins with what it shows:

    # pass: LiftTransformParams
    # oracle: well-formed
    # fingerprint: ["well-formed", "LiftTransformParams", "ill-formed", ...]
    # tvm: fails on 0.26.0, 0.27.0.post1
    # fails with: ValueError: Var <name> is not defined.
    # upstream: https://github.com/apache/tvm/issues/17231
    # promise: ...

`versions` gives the grammar of `tvm`. `fails with` is how the failure begins, in the words of
`relaxfuzz replay`, which drops names and numbers. `upstream` is there where a report or a fix is
known. A line that is indented by three or more spaces goes on with the field above it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .reading import LONGEST_GENERATED, read_text
from .versions import Claim, claim

HERE = Path(__file__).parent
REQUIRED = ("pass", "oracle", "fingerprint", "tvm", "fails with", "promise")
FIELDS = (*REQUIRED, "upstream")


@dataclass(frozen=True, slots=True)
class Entry:
    """What a file says of itself."""

    pass_name: str
    oracle: str
    fingerprint: tuple[str, ...]
    tvm: Claim
    fails_with: str
    promise: str
    upstream: tuple[str, ...]


def seeds() -> list[Path]:
    """The files of `seeds/`, by name."""
    return sorted((HERE / "seeds").glob("*.py"))


def found() -> list[Path]:
    """The files of `found/`, by name."""
    return sorted((HERE / "found").glob("*.py"))


def entry(path: Path) -> Entry | None:
    """What a file says of itself; None where it has no field of a corpus at all.

    Raises:
        ValueError: a field is missing, or cannot be read.
        OSError: the file cannot be read.
    """
    try:
        fields = _fields(path)
    except ValueError as error:  # no text
        raise ValueError(f"{path}: {error}") from None
    if not fields:
        return None
    missing = [name for name in REQUIRED if name not in fields]
    if missing:
        raise ValueError(f"Expected a header with {', '.join(REQUIRED)} but {path} lacks {missing}")
    try:
        return Entry(
            pass_name=fields["pass"],
            oracle=fields["oracle"],
            fingerprint=_fingerprint(fields["fingerprint"]),
            tvm=claim(fields["tvm"]),
            fails_with=fields["fails with"],
            promise=fields["promise"],
            upstream=tuple(fields.get("upstream", "").replace(",", " ").split()),
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _fingerprint(text: str) -> tuple[str, ...]:
    try:
        read = json.loads(text)
    except RecursionError:
        read = None
    if not isinstance(read, list) or not all(isinstance(part, str) for part in read):
        raise ValueError(f"Expected a fingerprint that is a list of texts but got {text[:80]!r}")
    return tuple(read)


def _fields(path: Path) -> Mapping[str, str]:
    fields: dict[str, str] = {}
    current: str | None = None
    for line in read_text(path, LONGEST_GENERATED).splitlines():
        if not line.startswith("#"):
            break
        if current is not None and line.startswith("#   "):
            fields[current] += " " + line.removeprefix("#").strip()
            continue
        name, colon, value = line.removeprefix("#").partition(":")
        current = name.strip() if colon and name.strip() in FIELDS else None
        if current is not None:
            fields[current] = value.strip()
    return fields
