"""The corpus: files that show bugs of TVM, with a record of each bug; models; faulty passes.

`seeds/` holds the bugs that relaxfuzz was made for; `found/` holds, for each root cause that it
found, a reproducer and a record (see `knowns`); `judged.toml` holds the reports that were judged
not to be bugs. Each Python file runs by itself and fails as long as the bug exists. Its expected
behaviour is in its record, or in the header of the file:

    # pass: LiftTransformParams
    # oracle: well-formed
    # tvm: fails on 0.26.0, 0.27.0.post1
    # fails with: ValueError
    # upstream: https://github.com/apache/tvm/issues/17231
    # promise: ...

`versions` gives the grammar of `tvm`. `fails with` is the beginning of the failure as `relaxfuzz
replay` prints it: the class of the exception and the condition that failed. `upstream` is optional.
A line that is indented by three or more spaces continues the field above it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .knowns import known
from .reading import LONGEST_GENERATED, read_text
from .versions import Claim, claim

HERE = Path(__file__).parent
REQUIRED = ("pass", "oracle", "tvm", "fails with", "promise")
FIELDS = (*REQUIRED, "upstream")


@dataclass(frozen=True, slots=True)
class CorpusEntry:
    """The expected behaviour of a file of a corpus."""

    pass_name: str
    oracle: str
    tvm: Claim
    fails_with: str
    promise: str
    upstream: tuple[str, ...]


def seeds() -> list[Path]:
    """The files of `seeds/`, by name."""
    return sorted((HERE / "seeds").glob("*.py"))


def found() -> list[Path]:
    """The reproducers in `found/`, by name."""
    return sorted((HERE / "found").glob("*.py"))


def entry(path: Path) -> CorpusEntry | None:
    """The expected behaviour of a file, from its header or the record of the same name beside it.

    None if neither states how the file fails.

    Raises:
        ValueError: a field is missing, or cannot be read.
        OSError: the file cannot be read.
    """
    try:
        fields = _fields(path)
    except ValueError as error:  # not UTF-8
        raise ValueError(f"{path}: {error}") from None
    if not fields:
        record = path.with_suffix(".toml")
        return _of_record(record) if path != record and record.is_file() else None
    missing = [name for name in REQUIRED if name not in fields]
    if missing:
        raise ValueError(f"Expected a header with {', '.join(REQUIRED)} but {path} lacks {missing}")
    try:
        return CorpusEntry(
            pass_name=fields["pass"],
            oracle=fields["oracle"],
            tvm=claim(fields["tvm"]),
            fails_with=fields["fails with"],
            promise=fields["promise"],
            upstream=tuple(fields.get("upstream", "").replace(",", " ").split()),
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _of_record(path: Path) -> CorpusEntry | None:
    bug = known(path)
    if bug.fails_with is None:
        return None
    oracle, pass_name, *_ = bug.reports[0]
    return CorpusEntry(
        pass_name=pass_name,
        oracle=oracle,
        tvm=bug.tvm,
        fails_with=bug.fails_with,
        promise="; ".join(bug.promise),
        upstream=bug.upstream,
    )


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
