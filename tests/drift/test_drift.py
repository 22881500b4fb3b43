"""On a TVM that lacks something, relaxfuzz says what, and goes on with the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from .cases import CASES, Case
from .drill import campaign, wrong


@pytest.mark.session
@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_gone_is_named(case: Case, tmp_path: Path) -> None:
    ending = campaign(case, tmp_path)
    assert not wrong(case, ending), "\n".join([case.name, *case.changes, ending.output])
