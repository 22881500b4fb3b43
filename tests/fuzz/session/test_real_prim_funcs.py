"""PrimFuncs of TVM's own tests, under the passes below Relax: no report is new."""

from __future__ import annotations

import pytest

from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.generators.stages import Stage
from tests.fuzz.session.real_prim_funcs import ARCHIVE, Conformance, at_stages, raw

SLICE = 24  # every so many of the small modules with PrimFuncs
STAGES = (
    Stage.EXPRESSIONS,
    Stage.TENSORIR,
    Stage.BLOCKS_LOWERED,
    Stage.LOOPS_LOWERED,
    Stage.KERNELS,
    Stage.DEVICE_LOOPS_LOWERED,
)


@pytest.mark.session
def test_no_report_is_false(pool: LocalPool) -> None:
    if not ARCHIVE.exists():
        pytest.skip(f"no archive of real modules at {ARCHIVE}")
    conformance = Conformance(pool)
    news = [
        report
        for name, mod in raw(SLICE)
        for stage, each in at_stages(mod, STAGES)
        for report in conformance.reports(name, stage, each)
    ]
    assert conformance.checks > 150
    assert not news
