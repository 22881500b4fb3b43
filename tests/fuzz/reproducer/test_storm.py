"""The reproducer of a pass that starts too many processes fails, and leaves none of them."""

from __future__ import annotations

from collections.abc import Callable

import tvm

from relaxfuzz.fuzz import reproducer
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.jobs.asking import check
from relaxfuzz.fuzz.jobs.jobs import Check
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.oracles.passcall import PassCall


def test_a_file_shows_it(pool: LocalPool, faulty: Callable[[str], PassCall], sums: str) -> None:
    call = faulty("storm")
    (violation,) = check(pool, Check(module=sums, calls=(call,)))
    finding = Finding(
        violation=violation,
        module=sums,
        calls=(call,),
        versions={"tvm": tvm.__version__},
        source=reproducer.source_of(sums),
    )
    text = reproducer.failing(finding, executor=pool)
    assert text is not None
    assert "starts more than 256 processes" in text
