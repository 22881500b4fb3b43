"""On a TVM that lacks something, relaxfuzz says what, and goes on with the rest."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import pytest

from .cases import KINDS, Case, case, together
from .drill import campaign, wrong

ROOT = Path(__file__).parents[2]

EVERY = [(kind, number) for kind, (_, count) in KINDS.items() for number in range(count)]
OTHERS = [("step", 0), ("class", 1), ("signature", 0), ("addition", 0)]


@pytest.mark.session
@pytest.mark.parametrize(("kind", "count"), [("op", 10), ("pass", 5)])
def test_many_at_once(kind: str, count: int, tmp_path: Path) -> None:
    _drill(
        together(f"{count} of {kind}", (case(kind, number) for number in range(count))), tmp_path
    )


@pytest.mark.session
def test_several_kinds_at_once(tmp_path: Path) -> None:
    _drill(together("others", (case(kind, number) for kind, number in OTHERS)), tmp_path)


@pytest.mark.session
def test_a_field_alone(tmp_path: Path) -> None:
    """Whatever reads the field may be off for another reason, if more is gone."""
    _drill(case("field", 0), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "number"), EVERY)
def test_each_alone(kind: str, number: int, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """`make test-drift`. What has passed for this very source is not done again."""
    assert request.config.cache is not None
    key = f"drift/{kind}-{number}"
    if request.config.cache.get(key, None) == _source():
        pytest.skip("has passed already")
    _drill(case(kind, number), tmp_path)
    request.config.cache.set(key, _source())


def _drill(case: Case, folder: Path) -> None:
    ending = campaign(case, folder)
    assert not wrong(case, ending), "\n".join([case.name, *case.changes, ending.output])


@functools.cache
def _source() -> str:
    """A digest of all that a campaign executes, and of the drill."""
    folders = ("src", "compat", "generators", "oracles", "fuzz", "corpus", "tests/drift")
    digest = hashlib.sha256()
    for file in sorted(file for each in folders for file in (ROOT / each).rglob("*.py")):
        digest.update(str(file.relative_to(ROOT)).encode() + file.read_bytes())
    return digest.hexdigest()
