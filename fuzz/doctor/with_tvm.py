"""Checks that need TVM, in a process of their own: TVM may end or hang it.

Run as `python -m relaxfuzz.fuzz.doctor.with_tvm WORKERS [SCHEDULER KIND]`. It prints JSON lines: a
`Line` for each part, and a `Step` before what may end the process.
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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...generators import tvm_api
from .environment import Line, Verdict, ok, problem, warning

if TYPE_CHECKING:
    from ..campaign.zoo import Detection
    from ..process.executor import Executor, News

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


@dataclass(frozen=True, slots=True)
class Step:
    """What is checked next: to be blamed if the process ends or hangs."""

    part: str
    advice: str
    """What to do in this case."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A faulty pass of the zoo."""

    specimen: str
    oracle: str
    """That must find it."""
    what: str

    @property
    def part(self) -> str:
        """The name of its line."""
        return f"{SELF_TEST}: {self.what}"


FAULTS = (
    Fault("counts_in_place", "segfault", "crash"),
    Fault("merges_twins", "evaluated", "values"),
)
"""Both are found and reduced in seconds. One needs isolation, the other the evaluator."""


# The process, seen from outside


def lines(*arguments: str, silence: float = SILENCE) -> Iterator[Line]:
    """The lines of the process, and one more if it ends before its time.

    Args:
        silence: seconds without a line, after which it is killed.
    """
    step = Step("TVM", "run the command again; if that does not help, report it")
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
                match message := _message(json.loads(text)):
                    case Step():
                        step = message
                    case Line():
                        yield message
            else:
                yield problem(step.part, f"hangs: no answer for {silence:.0f} s", step.advice)
                return
            if (code := process.wait()) != 0:
                yield problem(step.part, _end(code, stderr.fileno()), step.advice)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)  # it removes its temporary files
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(5)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()


def _message(fields: Mapping[str, Any]) -> Line | Step:
    if "verdict" in fields:
        return Line(**{**fields, "verdict": Verdict(fields["verdict"])})
    return Step(**fields)


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
        for message in _checks(int(workers), *cluster):
            print(json.dumps(asdict(message)), file=replies, flush=True)
        os.chdir("/")


# TVM and the compiler


def _checks(workers: int, scheduler: str = "", kind: str = "") -> Iterator[Line | Step]:
    """TVM, the compiler, the zygote, the cluster, the self-test; until one of them is unfit."""
    for message in itertools.chain(_tvm(), _compiler()):
        yield message
        if isinstance(message, Line) and message.verdict is Verdict.PROBLEM:
            return
    yield from _zygote_and_self_test(workers, scheduler, kind)


def _tvm() -> Iterator[Line | Step]:
    yield Step("TVM", f"`python -c 'import tvm'` must work; repair it, or {INSTALL}")
    part = "ffi"
    try:
        tvm_api.refuse_bad_ffi()
        part = "TVM"
        with warnings.catch_warnings(record=True) as caught:
            versions = tvm_api.require_tvm()
    except tvm_api.TVMUnsupported as error:
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
    advice = f"apache-tvm-ffi {versions['tvm_ffi']} does not fit this TVM; {INSTALL}"
    yield Step("ffi", advice)
    tvm.ir.save_json(relax.Var("x", relax.TensorType((2, 3), "float32")))
    yield ok("ffi", f"{versions['tvm_ffi']}, saves JSON")


def _compiler() -> Iterator[Line | Step]:
    """Code for this machine is compiled, linked, loaded and run, as the oracles do it."""
    import tvm_ffi

    advice = f"use a TVM that is built with LLVM (USE_LLVM): {INSTALL}"
    if tvm_ffi.get_global_func("target.build.llvm", allow_missing=True) is None:
        yield problem("LLVM", "this TVM is built without it", advice)
        return
    yield Step("LLVM", advice)
    version = tvm_ffi.get_global_func("target.llvm_version_major", allow_missing=True)
    yield ok("LLVM", f"{version()}" if version is not None else "in TVM")
    compiler = next(filter(None, map(shutil.which, ("gcc", "cc", "clang"))), None)
    advice = "install gcc or clang, with its linker (Debian: apt install gcc)"
    yield Step("compiler", advice)
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


# The self-test, here or on a cluster


def _zygote_and_self_test(workers: int, scheduler: str, kind: str) -> Iterator[Line | Step]:
    from ..process.executor import ExecutorError
    from ..process.local_pool import LocalPool
    from ..user_input.mistake import Mistake

    yield Step("zygote", "run `python -m relaxfuzz.fuzz.process.zygote </dev/null` to see why")
    began = time.monotonic()
    try:
        with LocalPool(min(workers, len(FAULTS))) as pool:
            yield ok("zygote", f"up in {time.monotonic() - began:.1f} s")
            if not scheduler and not kind:
                yield Step(SELF_TEST, SEE)
                yield from hunts(FAULTS, pool)
                return
    except ExecutorError as error:
        *_, last = str(error).splitlines()
        yield problem("zygote", last, "see the problems above; else report it")
        return
    yield Step("cluster", START)
    try:
        yield from _on_cluster(scheduler, kind, workers)
    except Mistake as error:
        yield problem("cluster", str(error), START)


def _on_cluster(scheduler: str, kind: str, workers: int) -> Iterator[Line | Step]:
    """
    Raises:
        Mistake: nothing answers there, or no worker is fit.
    """
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
            yield Step(SELF_TEST, SEE)
            yield from hunts(FAULTS, executor)


def hunts(
    faults: tuple[Fault, ...], executor: Executor, *, seconds: float = SECONDS
) -> Iterator[Line]:
    """Look for the faults, all at the same time."""
    from ...corpus.zoo import ZOO
    from ..campaign.zoo import Budget, hunt
    from ..findings.store import Store

    stop = threading.Event()
    budget = Budget(seed=0, seconds=seconds)
    with (
        tempfile.TemporaryDirectory(prefix="relaxfuzz-doctor-") as folder,
        Store(Path(folder) / "out") as store,
        ThreadPoolExecutor(len(faults)) as threads,
    ):
        found = [
            threads.submit(hunt, ZOO[fault.specimen], budget, executor, store, stop)
            for fault in faults
        ]
        try:
            for fault, future in zip(faults, found, strict=True):
                yield judge(fault, future.result())
        finally:
            stop.set()


def judge(fault: Fault, detection: Detection) -> Line:
    """What the search for a fault shows of the environment."""
    finding = detection.finding
    value = f"found in {detection.modules} modules, {detection.seconds:.1f} s"
    if detection.faults:
        *_, last = detection.faults[0].strip().splitlines()
        return problem(fault.part, f"fault of relaxfuzz: {last}", SEE)
    if finding is None:
        if detection.unconfirmed:
            return problem(fault.part, f"not confirmed: {detection.unconfirmed[0]}", SEE)
        if detection.modules < MODULES:
            return problem("speed", f"{fault.what}: not {value}", BUSY)
        return problem(fault.part, f"not {value}", SEE)
    if finding.oracle != fault.oracle:
        value = f"expected {fault.oracle} but found {finding.oracle}: {finding.title}"
        return problem(fault.part, value, SEE)
    if detection.reproducer is None:
        return problem(fault.part, f"{value}, but no reproducer of it fails", SEE)
    if not finding.reduced:
        return warning(fault.part, f"{value}, but not reduced in time", BUSY)
    reduced = f"{detection.bindings} binding{'s' * (detection.bindings != 1)}"
    return ok(fault.part, f"{value}, confirmed, reduced to {reduced}, its reproducer fails")


if __name__ == "__main__":
    main()
