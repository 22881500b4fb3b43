"""Runs reproducers in fresh processes, and compares their failures with the findings."""

from __future__ import annotations

import atexit
import functools
import re
import signal
from pathlib import Path

from ...oracles.check import ORACLES
from ...oracles.metamorphic import scripted
from ...oracles.oracle import About
from ...oracles.text.frames import frames_in, from_within, inside, trace
from ...oracles.tiers import USUAL
from ...oracles.values.pipeline_values import CODE_GENERATION
from ..findings.finding import Finding
from ..findings.script import MAIN
from ..process.protocol import Death
from ..system.sandbox import HUNG
from ..system.script_runner import Runners
from ..system.supervisor import TOO_MANY

SECONDS = 60.0
"""The time limit in seconds of one execution, for a busy machine."""

MISTAKES = frozenset({"NameError", "SyntaxError", "ImportError", "ModuleNotFoundError"})
"""Exceptions that a faulty check raises; a finding raises them only if its detail names them."""

_NAMES = re.compile(
    r"^(?:\w+\.)*([A-Z]\w*(?:Error|Exception|Warning)|Mismatch|Undefined)(?::|$)", re.M
)
"""Names of exceptions at the end of a traceback; `evaluate` raises the last two if the module is
undefined."""

_TRACEBACK = "Traceback (most recent call last):\n"


def run(path: Path) -> tuple[int, str]:
    """Run a Python file; return its exit code (negative: a signal; `HUNG`: a hang) and stderr."""
    return _runners().run(path, SECONDS)


@functools.cache
def _runners() -> Runners:
    runners = Runners()
    atexit.register(runners.close)
    return runners


def raised_by_check(path: Path, stderr: str) -> bool:
    """Return whether the exception comes from the check, not from building the module before it."""
    # The line of the file's top level in the first traceback.
    at = re.search(rf'File "{re.escape(str(path))}", line (\d+), in <module>', stderr)
    before, found, _ = path.read_text(encoding="utf-8", errors="replace").partition(f"\n{MAIN}\n")
    return bool(found) and at is not None and int(at[1]) > before.count("\n") + 1


def raised(stderr: str) -> tuple[str, str] | None:
    """Type and text of the exception of the last traceback; None if there is no traceback."""
    _, found, trace = stderr.rpartition(_TRACEBACK)
    # The frames, and the source text of each, are indented.
    name = re.search(r"^((?:\w+\.)*[A-Z]\w*)(?::|$)", trace, re.MULTILINE)
    if not found or name is None:
        return None
    return name[1], trace[name.end() :].strip()


def fails_as_found(path: Path, finding: Finding) -> bool:
    """Run a reproducer; return whether it fails in the same way as the finding."""
    code, stderr = run(path)
    match finding.oracle:
        case Death.SEGFAULT:
            return -code in (signal.SIGSEGV, signal.SIGBUS)
        case Death.ARITHMETIC:
            return -code == signal.SIGFPE
        case Death.ABORT:
            return -code == signal.SIGABRT
        case Death.SIGNAL | Death.KILLED:
            return code < 0
        case Death.HANG:
            return "Timeout (" in stderr
        case Death.PROCESSES if code == TOO_MANY:  # the runner has counted them first
            return True
        case Death.OUT_OF_MEMORY if code < 0:  # C++ code that nobody catches an exception from
            return "std::bad_alloc" in stderr
        case Death.OUT_OF_MEMORY:
            return code not in (0, HUNG) and raised_by_check(path, stderr)
    if code != 1:  # the oracle runs such endings in a fork, the file in its own process
        return code not in (0, HUNG) and _ended(code) in finding.violation.key
    if not raised_by_check(path, stderr):
        return False
    kinds = _NAMES.findall(stderr)
    if not kinds or any(kind in MISTAKES and kind not in finding.detail for kind in kinds):
        return False
    return _is_same(stderr, finding)


def _ended(code: int) -> str:
    """The end of a process in the form used by keys; see `oracles.execute.fork.in_fork`."""
    return signal.Signals(-code).name if code < 0 else f"exit {code}"


_RAISES = re.compile(r"\b(?:raises?|refuses|fails|kills|no meaning)\b")
"""Words in the title of a finding about values that say there are no values to compare."""

_COMPILER = re.compile(r'File "[^"\n]*/tvm/(?:ir/transform|relax/vm_build)\.py"')
"""Frames of the run of a pass, or of a build."""


def _is_same(stderr: str, finding: Finding) -> bool:
    """Return whether the exception is the finding's; if that has none, the check's."""
    seen = raised(stderr)
    if seen is None:
        return False
    kind, text = seen[0].rpartition(".")[2], seen[1]
    violation = finding.violation
    if violation.raised is not None:
        there = kind == violation.raised.kind and _is_there(stderr, text, finding)
        if there or finding.oracle not in _COMPARE_RUNS:
            return there
    match (finding.oracle, *finding.violation.key):
        case ("tvmscript", what, *_) if what == scripted.UNREADABLE:
            return kind != "AssertionError"
        case ("lowering-complete", operator, *_):
            return operator.removeprefix("relax.") in text
    if finding.pass_name == CODE_GENERATION or finding.oracle not in ORACLES:
        return True
    oracle = ORACLES[finding.oracle]
    if oracle.tier > 2 and not _RAISES.search(finding.title):
        return kind == "AssertionError"
    # A finding on a device is about the code built for it, not about a pass.
    return oracle.name not in USUAL or _COMPILER.search(stderr.rpartition(_TRACEBACK)[2]) is None


_COMPARE_RUNS = frozenset(name for name, oracle in ORACLES.items() if oracle.about is About.RUNS)
"""Oracles whose check compares two runs even if one of them raises."""


def _is_there(stderr: str, text: str, finding: Finding) -> bool:
    """Return whether the exception comes from the same place as that of the finding.

    A script runs the pass without relaxfuzz, and no terminal cuts its frames.
    """
    frames = inside(frames_in(stderr.rpartition(_TRACEBACK)[2]))
    kind = "" if finding.violation.raised is None else finding.violation.raised.kind
    expected = finding.violation.trace
    seen = trace(from_within(frames), kind, text)
    return seen.condition == expected.condition or (
        bool(seen.functions) and seen.functions[-1:] == expected.functions[-1:]
    )
