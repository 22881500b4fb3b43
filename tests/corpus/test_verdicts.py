"""The table of verdicts, the reproducers and the knowns tell the same story."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest

from relaxfuzz import corpus
from relaxfuzz.corpus.knowns import Known, knowns

TEXT = (corpus.HERE / "VERDICTS.md").read_text(encoding="utf-8")
KNOWNS = {known.name: known for known in knowns()}
NO_BUG = ("false", "no bug")


@dataclass(frozen=True)
class Verdict:
    """A row of the table."""

    fingerprint: tuple[str, ...]
    pass_name: str
    oracle: str
    cause: str
    verdict: str

    @property
    def true(self) -> bool:
        return not self.verdict.startswith(NO_BUG)


def verdict(line: str) -> Verdict:
    # A bar inside of a cell of a Markdown table is escaped.
    cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    fingerprint, pass_name, oracle, _, _, cause, said, _ = cells
    return Verdict(tuple(json.loads(fingerprint.strip("`"))), pass_name, oracle, cause, said)


VERDICTS = [verdict(line) for line in TEXT.splitlines() if line.startswith("| `[")]
TRUE = [each for each in VERDICTS if each.true]


def test_rows_name_the_pass_and_oracle_of_their_fingerprint() -> None:
    for each in VERDICTS:
        assert each.fingerprint[:2] == (each.oracle, each.pass_name)


def test_the_numbers_above_the_table_are_counted() -> None:
    reports = len({each.fingerprint for each in VERDICTS})
    true = len({each.fingerprint for each in TRUE})
    causes = len({each.cause for each in TRUE})
    said = f"{reports} distinct reports, {true} of them true, {causes} root causes."
    assert said in TEXT, f"expected {said!r}"


def test_every_true_verdict_is_known_and_nothing_else() -> None:
    judged: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for each in TRUE:
        judged[each.cause].add(each.fingerprint)
    assert judged == {name: set(known.fingerprints) for name, known in KNOWNS.items()}


@pytest.mark.parametrize("path", corpus.found(), ids=lambda path: path.stem)
def test_every_reproducer_is_that_of_a_known(path: Path) -> None:
    paths = {k.reproducer.resolve() for k in KNOWNS.values() if k.reproducer is not None}
    assert path.resolve() in paths


@pytest.mark.parametrize("known", KNOWNS.values(), ids=lambda known: known.name)
def test_a_known_says_what_its_reproducer_says(known: Known) -> None:
    if known.reproducer is None:
        return
    entry = corpus.entry(known.reproducer)
    assert entry is not None
    assert known.matches(entry.fingerprint)
    assert known.tvm == entry.tvm
    assert known.upstream == entry.upstream


def test_no_two_knowns_share_a_reproducer() -> None:
    """It would be said of both that they are fixed."""
    paths = [known.reproducer for known in KNOWNS.values() if known.reproducer is not None]
    assert len(paths) == len({path.resolve() for path in paths})
