"""A fresh process: what a pass gives does not depend on the process that it runs in.

Another process has other hashes of strings (PYTHONHASHSEED), and so other orders of sets; and it
knows of no earlier module.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zlib

import tvm

from ...compat.serialization import load_json, save_json
from .. import keys
from ..composition import documented
from ..grades.grade import Grade
from ..identity import FailureKind
from ..oracle import Half, Halves, Oracle
from ..pass_runs import PassRuns
from ..passcall import OPT_LEVEL, PassCall
from ..structural.canonical import canonical, equivalent
from ..text.halves import alike
from ..violation import Case, Violation

SEEDS = ("1", "2", "3")
"""Hash seeds of fresh processes; the process itself has another one, mostly by chance."""

SECONDS = 50.0
"""For TVM to be imported, on a busy machine too, and the pass to run. Without an answer until then
nothing is compared; a step that takes a minute counts as a hang."""

ONE_IN = 16
"""Checks of TVM's own passes, nearly all of which are written in C++, of which one is made."""

HASHES = "the result depends on the hash seed of the process"
PAST = "the result depends on what the process did before"


def check(runs: PassRuns) -> Violation | None:
    """Apply the pass in a fresh process; where that gives something else, in further ones."""
    after = runs.changed_result()
    if after is None:
        return None
    tvms = documented(runs.call)
    if tvms and not runs.thorough and zlib.crc32(runs.entropy.encode()) % ONE_IN:
        return None
    expected = keys.comparable(after)
    for seed in SEEDS if runs.thorough and not tvms else SEEDS[:1]:
        runs.step("in a fresh process")
        result = applied(runs.given.text, runs.call, seed)
        if result is None:
            return None
        if not equivalent(expected, result):
            what = _cause(runs, result, seed)
            return keys.mismatch(canonical(expected), canonical(result), what)
    return None


def _cause(runs: PassRuns, result: tvm.IRModule, seed: str) -> str:
    """Fresh processes that do not agree with one another have only their hashes to differ in."""
    for other in SEEDS:
        if other != seed:
            runs.step("in another fresh process")
            again = applied(runs.given.text, runs.call, other)
            if again is not None and not equivalent(result, again):
                return HASHES
    return PAST


def applied(module: str, call: PassCall, seed: str) -> tvm.IRModule | None:
    """What the pass gives for a module in a fresh process; None where it gives nothing.

    Args:
        module: as JSON.
        seed: the PYTHONHASHSEED of the process.
    """
    try:
        ended = subprocess.run(
            [sys.executable, "-c", program(call)],
            input=module,
            capture_output=True,
            text=True,
            check=True,
            timeout=SECONDS,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
    except (subprocess.SubprocessError, OSError):
        return None
    return load_json(ended.stdout.rpartition(_RESULT)[2])


def program(call: PassCall) -> str:
    """Python that reads a module as JSON and writes what the pass gives for it.

    Raises:
        BadPass: the module that defines the user's factory cannot be found.
    """
    statements, expression = call.source()
    options = dict(call.config)
    level = f"opt_level={options.pop(OPT_LEVEL)!r}, " if OPT_LEVEL in options else ""
    return _PROGRAM.format(
        statements="\n".join(dict.fromkeys(statements)),
        expression=expression,
        context=f"{level}config={options!r}",
        opaque=keys.OPAQUE,
        result=_RESULT,
    )


_RESULT = "<result>"
"""Comes before the result: a pass may write to stdout."""

_PROGRAM = """\
import sys

import tvm
{statements}

mod = tvm.ir.load_json(sys.stdin.read())
the_pass = {expression}
with tvm.transform.PassContext({context}), tvm.target.Target("llvm"):
    result = the_pass(mod)
if result.attrs is not None and {opaque!r} in result.attrs:
    result = result.without_attr({opaque!r})
print({result!r} + tvm.ir.save_json(result))
"""


def _snippet(case: Case) -> str:
    """The pass applied in processes with other hash seeds."""
    return _SNIPPET.format(program=program(case.calls[0]), seeds=SEEDS, result=_RESULT)


_SNIPPET = """\
import os
import subprocess
import sys
import textwrap

PROGRAM = r'''
{program}'''
here = apply(tvm.ir.load_json(tvm.ir.save_json(mod)))
for seed in {seeds}:
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)],
        input=tvm.ir.save_json(mod),
        stdout=subprocess.PIPE,
        text=True,
        env={{**os.environ, "PYTHONHASHSEED": seed}},
    )
    if ended.returncode:  # not what this is about
        raise SystemExit("the pass does not run in a process of its own")
    there = tvm.ir.load_json(ended.stdout.rpartition({result!r})[2])
    tvm.ir.assert_structural_equal(there, here, map_free_vars=True)
"""


def _halves(case: Case, violation: Violation) -> Halves | None:
    (call,) = case.calls
    text = save_json(case.mod)
    here = keys.comparable(call.run(load_json(text)))
    for seed in SEEDS:
        there = applied(text, call, seed)
        if there is not None and not equivalent(here, there):
            return alike(
                Half(f"{call.name} in one process", here),
                Half(f"{call.name} in a fresh process with PYTHONHASHSEED={seed}", there),
            )
    return None


ORACLE = Oracle(
    name="fresh-process",
    failure=FailureKind.UNSTABLE,
    tier=2,
    grade=Grade.C,
    grade_of={PAST: Grade.B},
    cost=150.0,  # 1,100 where a process is started
    promise="What a pass gives for a module does not depend on the process that it runs in.",
    source="docs/arch/index.rst: 'relax/transform and tirx/transform are deterministic "
    "rule-based transformations'",
    check=check,
    snippet=_snippet,
    halves=_halves,
    compares_runs=True,
    thorough=True,
)
