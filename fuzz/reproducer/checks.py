"""The checks of a reproducer: statements that fail as long as the bug exists.

Checks with TVM and NumPy come first, then one that runs relaxfuzz again. If a process died, the
checks are ways to run the pass.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ...compat.serialization import load_json
from ...oracles.check import ORACLES
from ...oracles.violation import Case
from ..findings.finding import Finding
from ..jobs.jobs import WriteChecks
from ..process.executor import Executor, ask
from ..process.process_state import VITAL, question
from ..process.protocol import LIMITS, Death, Died
from ..system.limits import PROCESSES

HANG_SECONDS = 30
MEMORY_MB = 3072


@dataclass(frozen=True, slots=True)
class FailingCheck:
    """Statements that fail as long as the bug exists."""

    text: str
    brief: bool = False
    """True if the check is made for this violation; the other kind runs relaxfuzz again."""
    targeted: bool = True
    """True if the pass runs within the target of a campaign; otherwise it has no target."""


PATIENT = replace(LIMITS, step_seconds=60.0)
"""Limits for oracles of values, which build modules to write their checks."""


def failing_checks(
    finding: Finding, executor: Executor | None = None, brief: bool | None = None
) -> Iterator[FailingCheck]:
    """The checks to try, the simplest first.

    Args:
        executor: runs the passes again if an oracle needs that; None: this process runs them, for a
            pass that only exists in its memory.
        brief: yield only the checks made for this one violation, or only the other; None: all.
    """
    if finding.oracle not in ORACLES:
        if brief is False:
            return
        quick = finding.oracle not in (Death.HANG, Death.OUT_OF_MEMORY)
        for text in _deaths(finding):
            for targeted in (False, True) if quick else (True,):
                yield FailingCheck(text, brief=True, targeted=targeted)
        return
    for text in _checks(finding, executor, brief=True) if brief is not False else ():
        for targeted in (False, True) if "the_pass" in text or "passes" in text else (False,):
            yield FailingCheck(text.strip(), brief=True, targeted=targeted)
    for text in _checks(finding, executor, brief=False) if brief is not True else ():
        yield FailingCheck(text.strip())


def _checks(finding: Finding, executor: Executor | None, *, brief: bool) -> Iterable[str]:
    """The checks of the oracle; none if a pass kills the process that writes them."""
    violation = finding.violation
    if executor is None:
        case = Case(load_json(finding.module), finding.calls, finding.pipeline)
        return ORACLES[finding.oracle].checks(case, violation, brief=brief)
    job = WriteChecks(finding.module, violation, finding.calls, finding.pipeline, brief)
    written = ask(executor, job, limits=PATIENT)
    return () if isinstance(written, Died) else written


_AS_A_GRANDCHILD = """\
import os

pid = os.fork()
if pid == 0:  # the process that the pass kills
    if os.fork() == 0:
{run}
        os._exit(0)
    os.wait()
    os._exit(0)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
assert code == 0, f"the pass killed its parent process: {{code}}"\
"""

_IN_A_SESSION = """\
import contextlib
import glob
import os
import signal
import time


def session(path):
    with contextlib.suppress(OSError), open(path) as file:
        return int(file.read().rpartition(")")[2].split()[3])


pid = os.fork()
if pid == 0:
    os.setsid()
{run}
    os._exit(0)
seen = 0
while seen <= {most} and os.waitpid(pid, os.WNOHANG)[0] == 0:
    seen = sum(session(path) == pid for path in glob.glob("/proc/[0-9]*/stat"))
    time.sleep(0.01)
with contextlib.suppress(ProcessLookupError):
    os.killpg(pid, signal.SIGKILL)
assert seen <= {most}, "the pass starts more than {most} processes"\
"""

_IN_A_CHILD = """\
import {modules}

pid = os.fork()
if pid == 0:
    before = {expression}
{run}
    try:
        same = {expression} == before
    except Exception:  # closed or removed
        same = False
    os._exit(0 if same else 42)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
assert code != 42, "the pass changes the state of its process"\
"""

_RUNS = (
    "the_pass(mod)",
    "the_pass(mod)\nthe_pass(mod)",
    "tvm.transform.Sequential([the_pass])(mod)",
)
"""Ways to run the pass: some passes kill the process only in a second run or inside Sequential."""

_INSPECTED = "import tvm_ffi\n\ntvm_ffi.structural_hash(the_pass(mod))"
"""A run that inspects the result, since some results kill the process only then."""


def _deaths(finding: Finding) -> Iterator[str]:
    overflows = finding.oracle == Death.SEGFAULT
    for run in (*_RUNS, _INSPECTED) if overflows else _RUNS:
        match finding.oracle:
            case Death.HANG:
                yield (
                    "import faulthandler\n\n"
                    f"faulthandler.dump_traceback_later({HANG_SECONDS}, exit=True)\n{run}"
                )
            case Death.OUT_OF_MEMORY:
                limit = f"({MEMORY_MB} << 20, {MEMORY_MB} << 20)"
                yield f"import resource\n\nresource.setrlimit(resource.RLIMIT_DATA, {limit})\n{run}"
            case Death.EXIT:
                yield (
                    "import os\n\npid = os.fork()\nif pid == 0:\n"
                    + textwrap.indent(run, "    ")
                    + "\n    os.kill(os.getpid(), 9)\n"
                    "code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])\n"
                    'assert code == -9, f"the pass ended the process with exit code {code}"'
                )
            case Death.PROCESSES:
                yield _IN_A_SESSION.format(run=textwrap.indent(run, "    "), most=PROCESSES)
            case Death.PARENT:
                yield _AS_A_GRANDCHILD.format(run=textwrap.indent(run, " " * 8))
            case Death.CHANGED:
                modules, expression = question(finding.violation.key[0])
                if finding.violation.key[0] in VITAL:
                    yield _IN_A_CHILD.format(
                        modules=", ".join(sorted({"os", *modules.split(", ")})),
                        expression=expression,
                        run=textwrap.indent(run, "    "),
                    )
                    continue
                yield (
                    f"import {modules}\n\nbefore = {expression}\n{run}\n"
                    f'assert {expression} == before, "the pass changes the state of its process"'
                )
            case _:
                yield run
