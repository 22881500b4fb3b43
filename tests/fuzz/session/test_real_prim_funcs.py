"""PrimFuncs of TVM's own tests, under the passes below Relax: no report is new."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
import tvm
from tvm import tirx

from relaxfuzz.compat.release import versions
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.known import Choice
from relaxfuzz.fuzz.process.executor import JobFailed, check_each
from relaxfuzz.fuzz.process.jobs import CheckEach
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.process.sequences import call_of
from relaxfuzz.generators.prim_funcs.kernels import TARGETS
from relaxfuzz.generators.stages import Stage, advance
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.inspect import attr, prim_funcs

ARCHIVE = Path(
    os.environ.get("RELAXFUZZ_UPSTREAM_MODULES")
    or Path(__file__).parents[4] / "shared" / "upstream_modules.tar.xz"
)
SLICE = 24  # every so many of the small modules with PrimFuncs
SMALL = 20_000  # characters of TVM JSON: the others take seconds to evaluate
STAGES = (Stage.EXPRESSIONS, Stage.TENSORIR, Stage.BLOCKS_LOWERED, Stage.LOOPS_LOWERED)


def texts() -> list[tuple[str, str]]:
    """The small modules of the archive with PrimFuncs."""
    if not ARCHIVE.exists():
        pytest.skip(f"no archive of real modules at {ARCHIVE}")
    found = []
    with tarfile.open(fileobj=io.BytesIO(ARCHIVE.read_bytes()), mode="r:xz") as archive:
        for member in archive.getmembers():
            file = archive.extractfile(member) if member.name.endswith(".json") else None
            text = "" if file is None else file.read().decode()
            if "tirx.PrimFunc" in text and len(text) <= SMALL:
                found.append((Path(member.name).stem, text))
    return sorted(found)


def raw() -> Iterator[tuple[str, tvm.IRModule]]:
    """The PrimFuncs of each module that have not been through a pipeline yet."""
    for name, text in texts()[::SLICE]:
        mod = load_json(text)
        funcs = {str(gvar.name_hint): func for gvar, func in prim_funcs(mod)}
        if all(attr(func, "target") is None for func in funcs.values()):
            named = {name: func.with_attr("global_symbol", name) for name, func in funcs.items()}
            yield name, tvm.IRModule(named)


def at_stages(mod: tvm.IRModule) -> Iterator[tuple[Stage, tvm.IRModule]]:
    for stage in STAGES:
        yield stage, advance(mod, stage)
    target = tvm.target.Target(TARGETS["cuda"], host="llvm")
    yield Stage.KERNELS, tirx.transform.BindTarget(target)(mod)


def test_no_report_is_false(pool: LocalPool) -> None:
    version = versions()
    expected = Choice().load(version["tvm"])
    checks, news = 0, []
    for name, raw_mod in raw():
        for stage, mod in at_stages(raw_mod):
            here = (each for each in catalogue.values() if stage in each.stages)
            drawn = [call_of(contract, mod, Random(name)) for contract in here]
            calls = tuple(call for call in drawn if call is not None)
            job = CheckEach(module=save_json(mod), calls=calls)
            for call, answer in zip(calls, check_each(pool, job), strict=True):
                assert not isinstance(answer, JobFailed), (name, str(stage), str(call), answer)
                checks += 1
                for violation in answer.violations:
                    found = Finding(violation=violation, module="", versions=version, calls=(call,))
                    if not expected.of(found):
                        news.append((name, str(stage), str(call), violation.title))
    assert checks > 150
    assert not news
