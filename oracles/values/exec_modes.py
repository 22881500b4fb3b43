"""The VM's two ways to run Relax functions give the same values: instructions, or compiled code.

Code generation is blamed, never a pass: both ways begin with one lowered module.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tvm

from ..execute import DEVICES, MODES, Failure, from_numpy, to_numpy
from ..grades.grade import Grade
from ..identity import FailureKind
from ..oracle import Half, Halves, Oracle
from ..pass_runs import given
from ..silence import inventory
from ..silence.log import abstain
from ..text.standalone import standalone
from ..text.value_comments import called
from ..text.value_reproducer import assert_close, literal, remaining_text
from ..violation import Case, Journal, Violation, silent
from .comparison import difference
from .expectation import Expectation
from .expectations import PLAIN
from .pipeline_values import CODE_GENERATION, REFUSALS, outcomes


def check(mod: tvm.IRModule, pipeline: str, journal: Journal) -> Violation | None:
    """Where the two modes differ after a pipeline, or None."""
    calls = _outcomes(mod, pipeline, journal)
    if not calls:
        abstain(inventory.NOT_EXECUTED, "it is built, and no result is known to compare with")
    for e, *pair in calls:
        violation = _compared(e, pair)
        if violation is not None:
            return violation.blame(ORACLE.name, CODE_GENERATION)
    return None


def _outcomes(
    mod: tvm.IRModule, pipeline: str, journal: Journal
) -> list[tuple[Expectation, Any, Any]]:
    """Calls, with what each of the modes gives for them; none where a mode runs out of time."""
    both = []
    for mode in MODES:
        expected, result = outcomes(mod, pipeline, mode, journal)
        if result is None:
            return []
        both.append([result] * len(expected) if isinstance(result, Failure) else result)
    # What the others give may be left to chance.
    return [each for each in zip(expected, *both, strict=True) if each[0].kind in PLAIN]


def _compared(e: Expectation, pair: Sequence[Any]) -> Violation | None:
    failed = [isinstance(outcome, Failure) for outcome in pair]
    if all(failed):
        return None
    if any(failed):
        mode, failure = MODES[failed.index(True)], pair[failed.index(True)]
        if REFUSALS.search(failure.text):
            return None
        what = f"only the exec mode {mode!r} fails ({failure.step})"
        title = f"{what}: {failure.error}"
        return Violation(title, f"{e.function}: {failure.text}", (what, failure.error))
    wrong = difference(*pair)
    if wrong is None or e.arbitrary:
        return None
    kind = wrong.split(":", 1)[0]
    what = f"exec modes compute different {kind}"
    return Violation(what, f"{e.function}, {' against '.join(MODES)}: {wrong}", (kind,))


def _halves(case: Case, violation: Violation) -> Halves | None:
    assert case.pipeline is not None
    for e, *pair in _outcomes(case.mod, case.pipeline, silent):
        if _compared(e, pair) is not None:
            one, other = (
                Half(f"exec mode {mode}", None, called(e.function, e.args, value))
                for mode, value in zip(MODES, pair, strict=True)
            )
            return one, other
    return None


_TEXT = """\
target = tvm.target.Target({{"kind": "llvm", "opt-level": 0}})


def run(mode, name, args):
    built = relax.build(mod, target, relax_pipeline={pipeline}, exec_mode=mode)
    machine = relax.VirtualMachine(built, [tvm.cpu()] * {devices})
    return to_numpy(machine[name](*map(from_numpy, args)))

"""


def _snippet(case: Case) -> str:
    parts = [
        standalone(from_numpy, to_numpy, assert_close),
        _TEXT.format(
            pipeline=remaining_text(case.mod, case.pipeline or "default"), devices=DEVICES
        ),
    ]
    parts += [
        f"args = {literal(e.args)}\n"
        + "".join(f"{mode} = run({mode!r}, {e.function!r}, args)\n" for mode in MODES)
        + f"assert_close({MODES[1]}, {MODES[0]}, rtol=1e-5, atol=1e-5)"
        for e in given(case.mod).expectations.all(kinds=PLAIN)
    ]
    return "\n\n".join(parts)


ORACLE = Oracle(
    name="exec-modes",
    failure=FailureKind.VALUES,
    tier=4,
    grade=Grade.A,
    cost=5.0,  # as of executed-by-pipeline: 200 for a pipeline, and few checks are of pipelines
    promise="What a build computes does not depend on its exec mode.",
    source='docstring of relax.build: exec_mode, {"bytecode", "compiled"}, is the execution mode',
    snippet=_snippet,
    halves=_halves,
    of_pipelines=True,
)
