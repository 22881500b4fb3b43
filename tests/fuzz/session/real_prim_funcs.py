"""PrimFuncs of TVM's own tests, under the passes below Relax.

`python -m tests.fuzz.session.real_prim_funcs [EVERY [FIRST]]` checks every so many of them from
the first on (default: all), on a pool of one worker, and prints each report that is not known.
"""

from __future__ import annotations

import io
import os
import sys
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import tvm
from tvm import tirx

from relaxfuzz.compat.release import versions
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.fuzz.campaign.sequences import call_of
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.known import Choice
from relaxfuzz.fuzz.jobs.asking import check_each
from relaxfuzz.fuzz.jobs.jobs import CheckEach, CheckOf
from relaxfuzz.fuzz.process.executor import JobFailed
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.generators.prim_funcs import is_well_formed
from relaxfuzz.generators.prim_funcs.kernels import TARGETS
from relaxfuzz.generators.stages import DEVICE, TENSORIR, Stage, step, steps
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.ingredients import ingredients
from relaxfuzz.oracles.inspect import attr, prim_funcs

ARCHIVE = Path(
    os.environ.get("RELAXFUZZ_UPSTREAM_MODULES")
    or Path(__file__).parents[4] / "shared" / "upstream_modules.tar.xz"
)
SMALL = 20_000  # characters of TVM JSON: the others take seconds to evaluate


@dataclass(frozen=True, slots=True)
class Report:
    """A violation that no record explains, or a job that failed."""

    module: str
    stage: Stage
    call: str
    what: str


def texts() -> list[tuple[str, str]]:
    """The small modules of the archive with PrimFuncs."""
    found = []
    with tarfile.open(fileobj=io.BytesIO(ARCHIVE.read_bytes()), mode="r:xz") as archive:
        for member in archive.getmembers():
            file = archive.extractfile(member) if member.name.endswith(".json") else None
            text = "" if file is None else file.read().decode()
            if "tirx.PrimFunc" in text and len(text) <= SMALL:
                found.append((Path(member.name).stem, text))
    return sorted(found)


def raw(every: int, first: int = 0) -> Iterator[tuple[str, tvm.IRModule]]:
    """The PrimFuncs of every so many modules that have not been through a pipeline yet."""
    for name, text in texts()[first::every]:
        mod = load_json(text)
        funcs = dict(prim_funcs(mod))
        if all(attr(func, "target") is None for func in funcs.values()):
            named = {
                gvar: func.with_attr("global_symbol", str(gvar.name_hint))
                for gvar, func in funcs.items()
            }
            yield name, tvm.IRModule(named)


def at_stages(
    mod: tvm.IRModule, stages: Sequence[Stage] = (Stage.EXPRESSIONS, *TENSORIR, *DEVICE)
) -> Iterator[tuple[Stage, tvm.IRModule]]:
    """The module at each stage that it reaches in good form, for a CPU and for CUDA."""
    target = tvm.target.Target(TARGETS["cuda"], host="llvm")
    text = save_json(mod)
    for chain in ((Stage.EXPRESSIONS,), TENSORIR, DEVICE):
        mod = load_json(text)
        if chain is DEVICE:
            mod = tirx.transform.BindTarget(target)(mod)
        for stage in chain:
            mod = load_json(save_json(mod))
            try:
                for name in steps(stage):
                    mod = step(mod, name)
            except Exception:  # what a pass raises is seen where it is checked
                break
            if not is_well_formed(mod):
                break
            if stage in stages:
                yield stage, mod


class Conformance:
    """Checks of modules under all contracts of their stages."""

    def __init__(self, pool: LocalPool) -> None:
        self._pool = pool
        self._version = versions()
        self._expected = Choice().load(self._version["tvm"])
        self.checks = 0
        self.known = 0

    def reports(self, name: str, stage: Stage, mod: tvm.IRModule) -> Iterator[Report]:
        """What is not known."""
        here = (each for each in catalogue.values() if stage in each.stages)
        made_of = tuple(sorted(ingredients(mod)))
        drawn = [call_of(contract, mod, Random(name)) for contract in here]
        calls = tuple(call for call in drawn if call is not None)
        job = CheckEach(
            module=save_json(mod), checks=tuple(CheckOf(calls=(call,)) for call in calls)
        )
        for call, answer in zip(calls, check_each(self._pool, job), strict=True):
            if isinstance(answer, JobFailed):
                yield Report(name, stage, str(call), str(answer))
                continue
            self.checks += 1
            for violation in answer.violations:
                found = Finding(
                    violation=violation,
                    module="",
                    versions=self._version,
                    calls=(call,),
                    made_of=made_of,
                )
                if self._expected.of(found):
                    self.known += 1
                else:
                    yield Report(name, stage, str(call), f"{violation.oracle}: {violation.title}")


def main(every: int = 1, first: int = 0) -> None:
    modules = 0
    with LocalPool(1) as pool:
        conformance = Conformance(pool)
        for name, mod in raw(every, first):
            modules += 1
            for stage, each in at_stages(mod):
                for report in conformance.reports(name, stage, each):
                    print(report.module, report.stage, report.call, report.what, sep="\t")
            print(f"# {modules} {name}: {conformance.checks} checks", flush=True)
    print(f"{modules} modules, {conformance.checks} checks, {conformance.known} known reports")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
