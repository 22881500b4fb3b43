"""Checks that need TVM, in a process of their own: TVM may end or hang it.

Run as `python -m relaxfuzz.fuzz.doctor.with_tvm WORKERS [SCHEDULER KIND]`; it prints a `Line` for
each part as JSON.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ...compat import availability, release
from .environment import Line, Verdict, ok, problem, warning

if TYPE_CHECKING:
    from ..process.executor import Executor, News
    from ..session.hunt import Detection

SILENCE = 180.0
"""Seconds without a line, after which the process is killed: on a busy machine, the import of TVM
and the start of a zygote take a few."""

INSTALL = "pip install 'relaxfuzz[tvm]'"
LIKE_HERE = "install there what is installed here; it would be left out of a campaign"
START = "start some with `dask worker ADDRESS`, in an environment like this one"

BUSY = "wait until the machine is less busy"

WORKERS = 30.0
"""Seconds for all workers of a cluster to be checked."""

SELF_TEST = "self-test"
SEE = "see the problems and warnings above; if there are none, report it"

SECONDS = 60.0
"""For each fault of the self-test, on a busy machine; an idle one takes four."""

MODULES = 200
"""Far more than a fault takes to be found; after fewer, the machine is slow and no more."""


FAULTS = {"counts_in_place": "segfault", "collapses_unit_reductions": "evaluated"}
"""Faulty passes of the zoo, and the oracles that must find them. Both are found and minimized in
seconds. One needs isolation, the other the evaluator."""


# The process, seen from outside


def lines(*arguments: str, silence: float = SILENCE) -> Iterator[Line]:
    """The lines of the process, and one more if it ends before its time.

    Args:
        silence: seconds without a line, after which it is killed.
    """
    part = "TVM"
    with tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", __spec__.name, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            bufsize=0,  # `select` sees all that was not read
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # Ctrl-C is ours, and its children die with it
        )
        assert process.stdout is not None
        try:
            while select.select([process.stdout], [], [], silence)[0]:
                if not (text := process.stdout.readline()):
                    break
                fields = json.loads(text)
                yield Line(**{**fields, "verdict": Verdict(fields["verdict"])})
                part = f"after {fields['part']}"
            else:
                yield problem(part, f"hangs: no answer for {silence:.0f} s", SEE)
                return
            if (code := process.wait()) != 0:
                yield problem(part, _end(code, stderr.fileno()), f"{SEE}; or {INSTALL}")
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)  # it removes its temporary files
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(5)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()


def _end(code: int, stderr: int) -> str:
    if code < 0:
        return f"the process is killed by {signal.Signals(-code).name}"
    *_, last = ["", *os.pread(stderr, 1 << 20, 0).decode(errors="replace").strip().splitlines()]
    return f"the process ends with code {code}: {last.strip()[:200]}".rstrip(": ")


def main() -> None:
    """Check, and print."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # nothing else may be printed between the lines
    workers, *cluster = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-doctor-") as folder:
        os.chdir(folder)  # Hypothesis makes a folder in the current one
        for line in _checks(int(workers), *cluster):
            print(json.dumps(asdict(line)), file=replies, flush=True)
        os.chdir("/")


# TVM and the compiler


def _checks(workers: int, scheduler: str = "", kind: str = "") -> Iterator[Line]:
    """TVM, the compiler, the zygote, the cluster, the self-test; until one of them is unfit."""
    for line in itertools.chain(_tvm(), _compiler(), _drift()):
        yield line
        if line.verdict is Verdict.PROBLEM:
            return
    yield from _zygote_and_self_test(workers, scheduler, kind)


def _tvm() -> Iterator[Line]:
    part = "ffi"
    try:
        release.refuse_bad_ffi()
        part = "TVM"
        with warnings.catch_warnings(record=True) as caught:
            versions = release.require_tvm()
    except release.TVMUnsupported as error:
        value, _, advice = str(error).partition("\n")
        yield problem(part, value, advice or INSTALL)
        return
    import tvm
    from tvm import relax

    value = f"{versions['tvm']} (git {versions['tvm_git'][:10]}), {Path(tvm.__file__).parent}"
    if caught:
        advice = "read findings with care; or update relaxfuzz"
        yield warning("TVM", f"{value}: {caught[0].message}", advice)
    else:
        yield ok("TVM", f"{value}, a tested release")
    # An ffi that does not fit dies here.
    tvm.ir.save_json(relax.Var("x", relax.TensorType((2, 3), "float32")))
    yield ok("ffi", f"{versions['tvm_ffi']}, saves JSON")


def _compiler() -> Iterator[Line]:
    """Code for this machine is compiled, linked, loaded and run, as the oracles do it."""
    import tvm_ffi

    if tvm_ffi.get_global_func("target.build.llvm", allow_missing=True) is None:
        advice = f"use a TVM that is built with LLVM (USE_LLVM): {INSTALL}"
        yield problem("LLVM", "this TVM is built without it", advice)
        return
    version = tvm_ffi.get_global_func("target.llvm_version_major", allow_missing=True)
    yield ok("LLVM", f"{version()}" if version is not None else "in TVM")
    compiler = next(filter(None, map(shutil.which, ("gcc", "cc", "clang"))), None)
    advice = "install gcc or clang, with its linker (Debian: apt install gcc)"
    import numpy
    from tvm import relax

    from ...oracles.execute import Failure, execute

    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    began = time.monotonic()
    results = execute(builder.get(), [lambda run: run("main", [numpy.ones(2, "float32")])])
    seconds = time.monotonic() - began
    result = results[0] if isinstance(results, list) else results
    name = compiler or "none"
    if result is None:
        yield warning("compiler", f"{name}: building took too long", BUSY)
    elif isinstance(result, Failure):
        yield problem("compiler", f"{name}: {result.error} in {result.step}: {result.text}", advice)
    elif result.tolist() != [2.0, 2.0]:
        yield problem("compiler", f"{name}: 1 + 1 is {result.tolist()}", advice)
    elif compiler is None:
        slow = "none on the PATH: modules are compiled just in time, at a third of the speed"
        yield warning("compiler", slow, advice)
    else:
        linker = shutil.which("ld") or "its own linker"
        yield ok("compiler", f"{compiler}, {linker}: 1 + 1 is 2 ({seconds:.1f} s)")


def _drift() -> Iterator[Line]:
    """What of relaxfuzz does not work on this build; it is found out anew."""
    try:
        found = availability.find_out()
    except release.TVMUnsupported as error:
        yield problem("drift", str(error), INSTALL)
        return
    off = found.off()
    if not off:
        yield ok("drift", "none: all operators, passes, stages and oracles work on this TVM")
    for kind, names in off.items():
        for name, reason in names.items():
            yield warning(f"drift: {kind}", f"{name}: {reason}", "it is left out")
    from ...generators.ops import new_ops
    from ...oracles.catalogue import new_passes

    if ops := new_ops():
        yield warning("new operators", ", ".join(ops), "no generated module has them")
    for name, reason in new_passes().items():
        value = f"{name}: {reason}" if reason else name
        advice = "it cannot be fuzzed" if reason else "it is fuzzed without a contract"
        yield warning("new pass", value, advice)


# The self-test, here or on a cluster


def _zygote_and_self_test(workers: int, scheduler: str, kind: str) -> Iterator[Line]:
    from ..process.executor import ExecutorError
    from ..process.local_pool import LocalPool
    from ..user_input.errors import UserError

    began = time.monotonic()
    try:
        with LocalPool(min(workers, len(FAULTS))) as pool:
            yield ok("zygote", f"up in {time.monotonic() - began:.1f} s")
            if not scheduler and not kind:
                yield from hunts(FAULTS, pool)
                return
    except ExecutorError as error:
        *_, last = str(error).splitlines()
        yield problem("zygote", last, "see the problems above; else report it")
        return
    try:
        yield from _on_cluster(scheduler, kind, workers)
    except UserError as error:
        yield problem("cluster", str(error), START)


def _on_cluster(scheduler: str, kind: str, workers: int) -> Iterator[Line]:
    """Raises `UserError` where nothing answers, or no worker is fit."""
    from ..cluster.connection import connect, wait_for
    from ..cluster.where import Where

    with connect(Where(scheduler or None, kind or None), workers) as connection:
        from ..cluster.executor import ClusterExecutor

        events: list[News] = []
        with ClusterExecutor(connection, report=events.append) as executor:
            expected = len(connection.client.nthreads())
            wait_for(lambda: len(events) >= expected, WORKERS)
            for event in events:
                part = f"worker {event.worker}"
                joined = event.kind == "joined"
                yield ok(part, "fit") if joined else problem(part, event.text, LIKE_HERE)
            yield ok("cluster", f"{executor.workers} threads that run jobs")
            yield from hunts(FAULTS, executor)


def hunts(
    faults: Mapping[str, str], executor: Executor, *, seconds: float = SECONDS
) -> Iterator[Line]:
    """Look for the faults, all at the same time."""
    from ...corpus.zoo import ZOO
    from ..findings.store import Store
    from ..session.hunt import Budget, hunt

    stop = threading.Event()
    budget = Budget(seed=0, seconds=seconds)
    with (
        tempfile.TemporaryDirectory(prefix="relaxfuzz-doctor-") as folder,
        Store(Path(folder) / "out") as store,
        ThreadPoolExecutor(len(faults)) as threads,
    ):
        found = [threads.submit(hunt, ZOO[name], budget, executor, store, stop) for name in faults]
        try:
            for oracle, future in zip(faults.values(), found, strict=True):
                yield judge(oracle, future.result())
        finally:
            stop.set()


def judge(oracle: str, detection: Detection) -> Line:
    """What the search for a fault shows of the environment.

    Args:
        oracle: that must find it.
    """
    finding, part = detection.finding, f"{SELF_TEST}: {oracle}"
    value = f"found in {detection.modules} modules, {detection.seconds:.1f} s"
    if detection.faults:
        *_, last = detection.faults[0].strip().splitlines()
        return problem(part, f"fault of relaxfuzz: {last}", SEE)
    if finding is None and detection.unconfirmed:
        return problem(part, f"not confirmed: {detection.unconfirmed[0]}", SEE)
    if finding is None:
        slow = detection.modules < MODULES
        return problem("speed" if slow else part, f"{oracle}: not {value}", BUSY if slow else SEE)
    if finding.oracle != oracle:
        return problem(part, f"expected {oracle} but found {finding.oracle}: {finding.title}", SEE)
    if detection.reproducer is None:
        return problem(part, f"{value}, but no reproducer of it fails", SEE)
    if not finding.reduced:
        return warning(part, f"{value}, but not reduced in time", BUSY)
    return ok(part, f"{value}, confirmed, reduced, its reproducer fails")


if __name__ == "__main__":
    main()
