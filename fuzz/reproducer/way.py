"""The ways to show a finding: short checks first, then the oracle's own, or how a process dies."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from ...generators.tvm_api import load_json
from ...oracles.check import ORACLES
from ...oracles.violation import Case
from ..findings.finding import Finding
from ..process.process_state import VITAL, question
from ..process.protocol import Death

HANG_SECONDS = 30
MEMORY_MB = 3072


@dataclass(frozen=True, slots=True)
class Way:
    """Statements that fail as long as the bug is there."""

    text: str
    brief: bool = False
    """Made for this one violation; else they check what the oracle checks, by its own helpers."""
    targeted: bool = True
    """A pass runs for the target that it has in a campaign; else for none in particular."""


def ways(finding: Finding) -> Iterator[Way]:
    """What to try, the simplest first."""
    if finding.oracle not in ORACLES:
        quick = finding.oracle not in (Death.HANG, Death.OUT_OF_MEMORY)
        for text in _deaths(finding):
            for targeted in (False, True) if quick else (True,):
                yield Way(text, brief=True, targeted=targeted)
        return
    oracle = ORACLES[finding.oracle]
    case = Case(load_json(finding.module), finding.calls, finding.pipeline)
    for text in oracle.brief(case, finding.violation):
        for targeted in (False, True) if "the_pass" in text or "passes" in text else (False,):
            yield Way(text.strip(), brief=True, targeted=targeted)
    snippet = oracle.snippet
    yield Way((snippet if isinstance(snippet, str) else snippet(case)).strip())


_AS_A_GRANDCHILD = """\
import os

pid = os.fork()
if pid == 0:  # whom the pass kills
    if os.fork() == 0:
{way}
        os._exit(0)
    os.wait()
    os._exit(0)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
assert code == 0, f"the pass killed the process that had started its own, with {{code}}"\
"""

_IN_A_CHILD = """\
import {modules}

pid = os.fork()
if pid == 0:  # who need not say anything
    before = {expression}
{way}
    try:
        same = {expression} == before
    except Exception:  # closed, or gone
        same = False
    os._exit(0 if same else 42)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
assert code != 42, "the pass leaves it changed"\
"""

_WAYS_TO_DIE = (
    "the_pass(mod)",
    "the_pass(mod)\nthe_pass(mod)",
    "tvm.transform.Sequential([the_pass])(mod)",
)
"""A pass may die only when it is run again, or inside Sequential."""

_LOOKED_AT = "import tvm_ffi\n\ntvm_ffi.structural_hash(the_pass(mod))"
"""Or what it gives is such that nobody can look at it."""


def _deaths(finding: Finding) -> Iterator[str]:
    overflows = finding.oracle == Death.SEGFAULT
    for way in (*_WAYS_TO_DIE, _LOOKED_AT) if overflows else _WAYS_TO_DIE:
        match finding.oracle:
            case Death.HANG:
                yield (
                    "import faulthandler\n\n"
                    f"faulthandler.dump_traceback_later({HANG_SECONDS}, exit=True)\n{way}"
                )
            case Death.OUT_OF_MEMORY:
                limit = f"({MEMORY_MB} << 20, {MEMORY_MB} << 20)"
                yield f"import resource\n\nresource.setrlimit(resource.RLIMIT_DATA, {limit})\n{way}"
            case Death.EXIT:
                yield (
                    "import os\n\npid = os.fork()\nif pid == 0:\n"
                    + textwrap.indent(way, "    ")
                    + "\n    os.kill(os.getpid(), 9)\n"
                    "code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])\n"
                    'assert code == -9, f"the pass ended the process with exit code {code}"'
                )
            case Death.PARENT:
                yield _AS_A_GRANDCHILD.format(way=textwrap.indent(way, " " * 8))
            case Death.CHANGED:
                modules, expression = question(finding.key[0])
                if finding.key[0] in VITAL:
                    yield _IN_A_CHILD.format(
                        modules=", ".join(sorted({"os", *modules.split(", ")})),
                        expression=expression,
                        way=textwrap.indent(way, "    "),
                    )
                    continue
                yield (
                    f"import {modules}\n\nbefore = {expression}\n{way}\n"
                    f'assert {expression} == before, "the pass leaves it changed"'
                )
            case _:
                yield way
