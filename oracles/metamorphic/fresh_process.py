"""Fresh process: the result of a pass does not depend on the process that it runs in.

Another process has other hashes of strings (PYTHONHASHSEED), and so other orders of sets. It has
not seen any earlier module.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zlib

import tvm

from ...compat.serialization import load_json
from .. import keys
from ..catalogue import documented
from ..identity import FailureKind
from ..oracle import TWINS, About, Breach, Oracle
from ..pass_runs import PassRuns
from ..passcall import PassCall, context_text, target_text
from ..structural.canonical import difference
from ..violation import Violation

SEEDS = ("1", "2", "3")
"""Hash seeds of fresh processes; this process most likely has another one."""

SECONDS = 50.0
"""Time limit to import TVM, even on a busy machine, and to run the pass. Beyond it, nothing is
compared; a step that takes a minute counts as a hang."""

ONE_IN = 16
"""TVM's own passes, nearly all written in C++, are checked in one of this many checks."""

HASHES = "the result depends on the hash seed of the process"
PAST = "the result depends on what the process did before"


def check(runs: PassRuns) -> Violation | None:
    """Apply the pass in a fresh process, and in further ones if the result differs."""
    after = runs.changed_result()
    if after is None:
        return None
    tvms = documented(runs.call)
    if tvms and not runs.thorough and zlib.crc32(runs.entropy.encode()) % ONE_IN:
        return None
    for seed in SEEDS if runs.thorough and not tvms else SEEDS[:1]:
        runs.step("in a fresh process")
        result = applied(runs.given.text, runs.call, seed)
        if result is None:
            return None
        if difference(after, result, PAST) is not None:
            return difference(after, result, _cause(runs, result, seed))
    return None


def _cause(runs: PassRuns, result: tvm.IRModule, seed: str) -> str:
    """The cause: fresh processes differ from one another only by their hashes."""
    for other in SEEDS:
        if other != seed:
            runs.step("in another fresh process")
            again = applied(runs.given.text, runs.call, other)
            if again is not None and difference(result, again, HASHES) is not None:
                return HASHES
    return PAST


def applied(module: str, call: PassCall, seed: str) -> tvm.IRModule | None:
    """The pass's result for a module in a fresh process; None if it gives no result.

    Args:
        module: the module as JSON.
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
    """Python that reads a module as JSON and writes the pass's result for it.

    Raises:
        BadPass: the module that defines the user's factory cannot be found.
    """
    statements, expression = call.source()
    return _PROGRAM.format(
        statements="\n".join(dict.fromkeys(statements)),
        expression=expression,
        context=context_text(call.config),
        target=target_text(call.config),
        opaque=keys.OPAQUE,
        result=_RESULT,
    )


_RESULT = "<result>"
"""Marks the beginning of the result: a pass may write to stdout."""

_PROGRAM = """\
import sys
from collections.abc import Iterator

import tvm
{statements}

mod = tvm.ir.load_json(sys.stdin.read())
the_pass = {expression}
with {context}, {target}:
    result = the_pass(mod)
if result.attrs is not None and {opaque!r} in result.attrs:
    result = result.without_attr({opaque!r})
print({result!r} + tvm.ir.save_json(result))
"""


ORACLE = Oracle(
    name="fresh-process",
    breach=Breach(FailureKind.UNSTABLE, explains=TWINS),
    about=About.RUNS,
    tier=2,
    promise="What a pass gives for a module does not depend on the process that it runs in.",
    source="docs/arch/index.rst: 'relax/transform and tirx/transform are deterministic "
    "rule-based transformations'",
    check=check,
)
