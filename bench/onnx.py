"""`make bench-onnx`: ONNX's node tests, whose expected values are independent of relaxfuzz.

TVM's importer makes a module of each test it knows, first with all inputs as parameters, then with
all but the first as constants. The evaluator and a default build compute it, each compared with
ONNX's values. If the build is wrong or fails, `relaxfuzz check --no-known` runs: the checks of the
pipelines and of their passes, on the module as the command reads it.

`onnx.toml` lists faults of the importer, and values that Relax does not promise, with their
reasons. The exit code is 1 if the evaluator computes other values than ONNX.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from relaxfuzz.compat.serialization import load_json
from relaxfuzz.fuzz.jobs.asking import check_each
from relaxfuzz.fuzz.jobs.jobs import CheckEach, CheckOf
from relaxfuzz.fuzz.loading.read_module import BadModule, load
from relaxfuzz.fuzz.process.executor import JobFailed
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.catalogue import contract_of
from relaxfuzz.oracles.identity import FailureKind
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.pipelines import PIPELINES, steps
from relaxfuzz.oracles.tiers import ORACLES

from .node_builds import Outcome, Verdict, built, each_in_fork, evaluated
from .node_tests import Imported, imported, node_tests

TABLE = Path(__file__).with_name("onnx.toml")

UNANSWERED = ("SILENT", "REFUSED", "FAULT")
"""The starts of answers that say nothing about the build."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """Tests in which a disagreement with ONNX says nothing about Relax."""

    tests: re.Pattern[str]
    """Matches the whole label of a test."""
    whose: str
    """ "importer": the module is not the model. "not promised": Relax defines something else."""
    reason: str
    source: str
    outputs: frozenset[int] | None = None
    """The outputs that may differ; None: any."""
    fails: bool = False
    """True if the build may also fail."""

    def excuses(self, verdict: Verdict) -> bool:
        """True if the verdict on a matching test says nothing about Relax."""
        if verdict.outcome is Outcome.NONE:
            return self.outputs is None
        return self.outputs is None or verdict.places <= self.outputs


@dataclass(frozen=True, slots=True)
class Judged:
    """One test with the verdicts on the evaluator and the build."""

    one: Imported
    evaluator: Verdict
    build: Verdict


class Table:
    """The exclusions, and the tests that needed each."""

    def __init__(self, path: Path = TABLE) -> None:
        rows = tomllib.loads(path.read_text(encoding="utf-8")).get("exclusion", ())
        self.exclusions = [_exclusion(**row) for row in rows]
        self.needed: Counter[int] = Counter()

    def excused(self, judged: Judged) -> Judged:
        """The test, with excused verdicts of the table treated as agreement."""
        label = judged.one.test.label
        for place, each in enumerate(self.exclusions):
            if not each.tests.fullmatch(label):
                continue
            evaluator, build = judged.evaluator, judged.build
            if not evaluator.same and each.excuses(evaluator):
                evaluator = Verdict(Outcome.SAME)
            fails = build.outcome is Outcome.NONE
            if not build.same and each.excuses(build) and (each.fails or not fails):
                build = Verdict(Outcome.SAME)
            self.needed[place] += (evaluator, build) != (judged.evaluator, judged.build)
            judged = Judged(judged.one, evaluator, build)
        return judged


def _exclusion(
    tests: str, whose: str, reason: str, source: str, outputs: Sequence[int] = (), **rest: bool
) -> Exclusion:
    return Exclusion(
        tests=re.compile(tests),
        whose=whose,
        reason=reason,
        source=source,
        outputs=frozenset(outputs) or None,
        **rest,
    )


def judged(pattern: str = "") -> Iterator[Judged]:
    """Each test that imports."""
    found = each_in_fork(imported, list(node_tests(pattern)))
    tests = [one for one in found if isinstance(one, Imported)]
    values = {
        one.test.label: Verdict(Outcome.NONE, f"the process died: {value}")
        if isinstance(value, str)
        else value
        for one, value in zip(tests, each_in_fork(evaluated, tests), strict=True)
    }
    for one, build in built(tests):
        yield Judged(one, values[one.test.label], build)


def reports(one: Imported, pool: LocalPool) -> list[str]:
    """The answer of `relaxfuzz check` for the checks of pipelines and their passes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_text(one.module, encoding="utf-8")
        try:
            module = load(path, pool)
        except BadModule as error:
            return [f"REFUSED {error}"]
    checks = (*map(CheckOf, PIPELINES), *(CheckOf(calls=(call,)) for call in _steps(module)))
    job = CheckEach(module=module, checks=checks)
    said: dict[str, None] = {}
    for number, answer in enumerate(check_each(pool, job)):
        if isinstance(answer, JobFailed):
            said[f"FAULT {str(answer).strip().splitlines()[-1]}"] = None
            continue
        for each in answer.violations:
            # Among reports about a single pass, only wrong values explain a wrong build.
            if number < len(PIPELINES) or ORACLES[each.oracle].breach.failure is FailureKind.VALUES:
                said[f"{each.oracle} {each.pass_name}: {each.title}"] = None
    return list(said)


def _steps(module: str) -> tuple[PassCall, ...]:
    """The passes of the default pipeline that `check` runs on a raw module."""
    mod = load_json(module)
    contracts = {call: contract_of(call) for call in steps("default")}
    return tuple(
        call
        for call, contract in contracts.items()
        if Stage.RAW in contract.stages and contract.requires(mod) is None
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge the tests and print each disagreement; the exit code."""
    parser = argparse.ArgumentParser(prog="make bench-onnx", description=__doc__)
    parser.add_argument("tests", nargs="?", default="", help="only tests whose names match")
    options = parser.parse_args(arguments)
    table, counts = Table(), Counter[str]()
    with LocalPool(1) as pool:
        for each in judged(options.tests):
            counts["modules"] += 1
            left = table.excused(each)
            counts[_of_build(each, left)] += 1
            _count(left, pool, counts)
    _summary(counts, table, whole=not options.tests)
    return int(counts["the evaluator differs"] > 0)


def _of_build(each: Judged, left: Judged) -> str:
    if each.build.same:
        return "the build is right"
    return "the build is excused" if left.build.same else "the build is wrong or fails"


def _count(each: Judged, pool: LocalPool, counts: Counter[str]) -> None:
    """Count one test, and print its disagreements."""
    label = each.one.test.label
    if each.evaluator.outcome is Outcome.OTHER:
        counts["the evaluator differs"] += 1
        print(f"{label}: the evaluator differs: {each.evaluator.why}")
    if each.evaluator.outcome is Outcome.NONE and each.build.same:
        counts["the evaluator abstains where the build is right"] += 1
        print(f"{label}: the evaluator abstains: {each.evaluator.why}")
    if not each.build.same:
        said = reports(each.one, pool) or ["SILENT"]
        is_said = not said[0].startswith(UNANSWERED)
        counts["check reports it" if is_said else "check does not report it"] += 1
        what = "differs" if each.build.outcome is Outcome.OTHER else "fails"
        print(f"{label}: the build {what}: {each.build.why}; check: {'; '.join(said)}")
    sys.stdout.flush()


def _summary(counts: Counter[str], table: Table, *, whole: bool) -> None:
    print()
    for what, count in counts.items():
        print(f"{count:6} {what}")
    for place, one in enumerate(table.exclusions):
        if table.needed[place]:
            print(f"{table.needed[place]:6} {one.whose}: {one.reason}")
        elif whole:
            print(f"no longer needed in {TABLE.name}, for nothing disagrees: {one.tests.pattern}")


if __name__ == "__main__":
    sys.exit(main())
