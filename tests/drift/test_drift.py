"""On a TVM that lacks something, relaxfuzz says what, and goes on with the rest."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import pytest

from . import cases
from .cases import Case, together
from .drill import campaign, wrong

ROOT = Path(__file__).parents[2]

EVERY = (
    *cases.ops(),
    *cases.passes(),
    *cases.steps(),
    *cases.classes(),
    *cases.fields(),
    *cases.signatures(),
    cases.ADDITIONS,
)

QUICK = (
    together("10 ops", cases.ops()[:10]),
    together("5 passes", cases.passes()[:5]),
    cases.steps()[0],
    *cases.classes()[:2],
    *cases.fields()[:2],
    *cases.signatures()[:1],
    cases.ADDITIONS,
)


@pytest.mark.session
@pytest.mark.parametrize("case", QUICK, ids=str)
def test_drift(case: Case, tmp_path: Path) -> None:
    _drill(case, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("case", EVERY, ids=str)
def test_one_at_a_time(case: Case, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """`make test-drift`. What has passed for this very source is not done again."""
    assert request.config.cache is not None
    key = f"drift/{case.name}"
    if request.config.cache.get(key, None) == _source():
        pytest.skip("has passed already")
    _drill(case, tmp_path)
    request.config.cache.set(key, _source())


def _drill(case: Case, folder: Path) -> None:
    ending = campaign(case, folder)
    assert not wrong(case, ending), "\n".join([*case.changes, ending.output])


@functools.cache
def _source() -> str:
    """A digest of all that a campaign executes, and of the drill."""
    folders = ("src", "compat", "generators", "oracles", "fuzz", "corpus", "tests/drift")
    digest = hashlib.sha256()
    for file in sorted(file for each in folders for file in (ROOT / each).rglob("*.py")):
        digest.update(str(file.relative_to(ROOT)).encode() + file.read_bytes())
    return digest.hexdigest()
