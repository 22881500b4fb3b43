"""A step that raises or gives an ill-formed module, and a module that is ill-formed from the start.

`relaxfuzz check` finds the part of the module on which a step fails: it minimizes the module.
"""

from __future__ import annotations

import tvm
from tvm import relax

from ..checkers import flaw
from ..inspect import relax_functions
from ..text.messages import headline
from .spelling import one_line
from .steps import BrokenStep
from .trouble import Trouble, TroubleKind

CHECK = "`relaxfuzz check MODULE --pipeline PIPELINE` makes a small reproducer of it."


def trouble(broken: BrokenStep) -> Trouble:
    """Explain the failure of a step."""
    step = broken.step
    if broken.error is not None:
        return Trouble(
            TroubleKind.RAISES,
            f"{step} raises {one_line(broken.error)}",
            step=step,
            notes=("A pass must handle a well-formed module, or name what it does not support.",),
            help=(f"If the message does not name what to change, it is a bug of {step}. {CHECK}",),
        )
    assert broken.after is not None
    problem = flaw(broken.after)
    assert problem is not None, "only a module with a flaw is broken"
    return Trouble(
        TroubleKind.ILL_FORMED,
        f"{step} makes an ill-formed module",
        step=step,
        notes=(
            f"{problem.title.removeprefix('ill-formed: ')}.".replace("..", "."),
            "The module was well-formed before, and no later step repairs it.",
        ),
        help=(f"It is a bug of {step}. {CHECK}", f"Until it is mended, leave {step} out."),
    )


def ill_formed(mod: tvm.IRModule) -> Trouble | None:
    """Explain the flaw of the user's module before any step."""
    problem = flaw(mod)
    if problem is None:
        return None
    bad = [
        str(gvar.name_hint)
        for gvar, func in relax_functions(mod)
        if not relax.analysis.check_well_formed(func)
    ]
    lines = [headline(line) for line in problem.detail.partition("\n\n")[0].splitlines() if line]
    return Trouble(
        TroubleKind.ILL_FORMED,
        "the module is not well-formed: nothing is promised for what passes make of it",
        bad[0] if bad else None,
        notes=tuple(lines[:3]),
        help=("`tvm.relax.analysis.well_formed(mod)` shows whether a module is well-formed.",),
    )
