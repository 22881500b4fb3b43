"""Checks that need TVM, in separate processes, as TVM may kill or hang them.

Run as `python -m relaxfuzz.fuzz.doctor.with_tvm`; it prints a `DoctorLine` for each part as JSON.
The self-test is two runs of `relaxfuzz run`.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Collection, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ...compat import availability, release
from ..system.environment import HERE
from ..system.scratch import scratch
from ..system.supervised import Supervised
from .environment import OK, PROBLEM, WARNING, DoctorLine

PATIENCE = 600.0
"""Seconds after which a process is killed; an idle machine needs some twenty."""

INSTALL = "pip install 'relaxfuzz[tvm]'"

SELF_TEST = "self-test"
SEE = "see the problems and warnings above; if there are none, report it"

SECONDS = 90.0
"""Seconds for each fault of the self-test on a busy machine; an idle one needs fifteen."""

FAULTS = {"segfault": "dereferences_null", "evaluated": "subtracts"}
"""The faulty passes in `faults`, keyed by the oracle that must find them."""


# The processes, as seen from outside


def lines(seconds: float = PATIENCE) -> Iterator[DoctorLine]:
    """The lines of the process, and an additional one if it ends early.

    Args:
        seconds: time after which it is killed.
    """
    printed, end = _python(__spec__.name, seconds=seconds)
    for fields in printed:
        yield DoctorLine(**fields)
    if end:
        yield DoctorLine("TVM", PROBLEM, end, f"{SEE}; or {INSTALL}")


def self_test(workers: int) -> Iterator[DoctorLine]:
    """Fuzz the faulty passes as a user would; each fault must be found by its oracle."""
    faults = __spec__.name.replace("with_tvm", "faults")
    options = f"--stage raw --seed 0 --budget {SECONDS}s --workers {workers} --until-first --json"
    for oracle, name in FAULTS.items():
        # Other oracles also see a wrong value, and the first finding ends the run.
        only = ("--oracle", oracle) if oracle == "evaluated" else ()
        events, end = _python(
            "relaxfuzz.fuzz.cli",
            *("run", f"{faults}:{name}", *only, *options.split()),
            seconds=SECONDS + PATIENCE,
            codes=(0, 1, 4),
        )
        yield judge(oracle, events, end)


def judge(oracle: str, events: list[dict[str, Any]], end: str) -> DoctorLine:
    """The line for a run.

    Args:
        oracle: the oracle that must find the fault.
        end: how the run ended, if that was abnormal.
    """
    part, name = f"{SELF_TEST}: {oracle}", FAULTS[oracle]
    found = [each for each in events if each["event"] == "finding" and each["pass"] == name]
    by = sorted({each["oracle"] for each in found})
    modules = sum(each["modules"] for each in events if each["event"] == "summary")
    value = f"found by {', '.join(by) or 'no oracle'} in {modules} modules"
    if end or oracle not in by:
        return DoctorLine(part, PROBLEM, end or value, f"{SEE}, unless the machine is busy")
    if not any(each["reproducer"] and each["confirmed"] for each in found):
        late = f"{value}, but not confirmed and reproduced in time"
        return DoctorLine(part, WARNING, late, "wait until the machine is less busy")
    return DoctorLine(part, OK, f"{value}, confirmed, its reproducer fails")


def _python(
    module: str, *options: str, seconds: float, codes: Collection[int] = (0,)
) -> tuple[list[dict[str, Any]], str]:
    """The lines of JSON that a module prints as a program, and how it ended if that was abnormal.

    Args:
        codes: the exit codes of a normal end.
    """
    with (
        tempfile.TemporaryDirectory(dir=scratch()) as folder,
        Supervised(
            [sys.executable, "-m", module, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=HERE.all_variables(),
            cwd=folder,
        ) as process,
    ):
        try:
            stdout, stderr = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.end()
            stdout, stderr = process.communicate()
    *_, last = ["", *stderr.decode(errors="replace").strip().splitlines()]
    end = f"the process ended with code {process.returncode}: {last.strip()[:200]}"
    printed = [json.loads(line) for line in stdout.splitlines()]
    return printed, "" if process.returncode in codes else end.rstrip(": ")


def main() -> None:
    """Run the checks, and print their lines."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # nothing else may be printed between the lines
    for line in itertools.chain(_tvm(), _compiler(), _drift()):
        print(json.dumps(asdict(line)), file=replies, flush=True)
        if line.verdict == PROBLEM:
            return


def _tvm() -> Iterator[DoctorLine]:
    try:
        release.refuse_bad_ffi()
        with warnings.catch_warnings(record=True) as caught:
            versions = release.require_tvm()
    except release.TVMUnsupported as error:
        value, _, advice = str(error).partition("\n")
        yield DoctorLine("TVM", PROBLEM, value, advice or INSTALL)
        return
    import tvm
    from tvm import relax

    # An ffi that does not match dies here.
    tvm.ir.save_json(relax.Var("x", relax.TensorType((2, 3), "float32")))
    value = f"{versions['tvm']} (git {versions['tvm_git'][:10]}), {Path(tvm.__file__).parent}"
    ffi = f"with ffi {versions['tvm_ffi']}"
    if caught:
        advice = "read findings with care; or update relaxfuzz"
        yield DoctorLine("TVM", WARNING, f"{value}, {ffi}: {caught[0].message}", advice)
    else:
        yield DoctorLine("TVM", OK, f"{value}, {ffi}, a tested release")


def _compiler() -> Iterator[DoctorLine]:
    """Compile, link, load and run code for this machine, as the oracles do."""
    import numpy
    from tvm import relax

    from ...oracles.execute import Failure, execute

    compiler = next(filter(None, map(shutil.which, ("gcc", "cc", "clang"))), None)
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    results = execute(builder.get(), [lambda run: run("main", [numpy.ones(2, "float32")])])
    result = results[0] if isinstance(results, list) else results
    if result is None or isinstance(result, Failure):
        why = result and f"{result.error} in {result.step}: {result.text}"
        value = f"{compiler}: {why or 'takes too long'}"
        advice = "install gcc or clang with its linker, and a TVM that is built with LLVM"
        yield DoctorLine("compiler", PROBLEM, value, advice)
    elif compiler is None:
        slow = "none on the PATH: modules are compiled just in time, at a third of the speed"
        yield DoctorLine("compiler", WARNING, slow, "install gcc or clang, with its linker")
    else:
        yield DoctorLine("compiler", OK, f"{compiler}: 1 + 1 is {result.tolist()[0]:.0f}")


def _drift() -> Iterator[DoctorLine]:
    """Run the probe again, and yield a line for each part that does not work on this build."""
    try:
        found = availability.find_out()
    except release.TVMUnsupported as error:
        yield DoctorLine("drift", PROBLEM, str(error), INSTALL)
        return
    off = found.off()
    if not off:
        value = "none: all operators, passes, stages and oracles work on this TVM"
        yield DoctorLine("drift", OK, value)
    for kind, names in off.items():
        for name, reason in names.items():
            yield DoctorLine(f"drift: {kind}", WARNING, f"{name}: {reason}", "it is left out")


if __name__ == "__main__":
    main()
