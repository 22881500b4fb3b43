"""Explanations of failing builds: a module goes through the pipeline, examined after each step.

No code here reads the texts of TVM's exceptions: the modules themselves show the error.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import tvm
from tvm import relax

from ...generators.ops import table
from ..execute import Failure, execute
from ..execute.unbuilt import culprit
from ..passcall import PassCall, cpu
from ..violation import StepJournal, silent
from . import breakage, lowering
from .breakage import CHECK
from .spelling import one_line, operator
from .steps import NONE, PipelineStates, along, steps_of
from .traced import Traced
from .trouble import Explanation, Trouble, TroubleKind


def explain(
    mod: tvm.IRModule,
    pipeline: str = "default",
    *,
    file: str | None = None,
    journal: StepJournal = silent,
) -> Explanation:
    """The troubles that keep a module from being built and loaded, if any.

    Args:
        pipeline: one of TVM's, `NONE`, or the user's own: `FILE.py:factory`.
        file: the Python file that the module comes from.
        journal: receives each step before it is taken.

    Raises:
        UnknownPipeline: no such pipeline.
        BadSpelling, BadPass: the user's pipeline cannot be loaded.
    """
    if not relax.analysis.check_well_formed(mod):
        wrong = breakage.ill_formed(mod)
        assert wrong is not None, "the checker found the module ill-formed"
        return Explanation(pipeline, (), (wrong,), built=False)
    traced = Traced(mod, file)
    calls = steps_of(pipeline)
    gone = along(traced.mod, calls, journal)
    steps = tuple(state.step for state in gone.states[1:])
    troubles = _troubles(traced, gone, calls)
    built = False
    if gone.broken is None or gone.broken.error is None:
        journal("build")
        error = _build(gone.end)
        built = error is None
        if error is not None and not troubles:
            troubles.append(_of_call(traced, pipeline, error) or _unexplained(error))
    return Explanation(pipeline, steps, tuple(troubles), built)


def _troubles(traced: Traced, gone: PipelineStates, calls: Sequence[PassCall]) -> list[Trouble]:
    left = lowering.troubles(traced, gone, calls)
    if gone.broken is None:
        return left
    failure = breakage.trouble(gone.broken)
    if not left:
        return [failure]
    # The unlowered calls already explain why the step fails.
    note = f"The build ends with: {failure.title}."
    return [dataclasses.replace(each, notes=(*each.notes, note)) for each in left]


def _build(mod: tvm.IRModule) -> Exception | None:
    """Compile the result of the pipeline, and load it, which resolves all names."""
    try:
        with cpu():
            built = relax.build(mod, cpu(), relax_pipeline=None)
        relax.VirtualMachine(built, tvm.cpu())
    except Exception as error:
        return error
    return None


def _of_call(traced: Traced, pipeline: str, error: Exception) -> Trouble | None:
    """The operator for whose call alone code generation fails in the same way, if there is one."""
    failure = None if pipeline == NONE else execute(traced.mod, [], pipeline)
    single = culprit(traced.mod, failure, pipeline) if isinstance(failure, Failure) else None
    if single is None or single.op.removeprefix("relax.") not in table:
        return None  # a call of a function, which is to blame
    spelled = operator(single.op)
    return Trouble(
        TroubleKind.RAISES,
        f"code generation fails for `{spelled}`",
        single.function,
        None,
        traced.call(single.call, "this call alone does not build"),
        (
            f"The build fails with {one_line(error)}",
            "Every step ran, and every call is lowered; a module of this one call, on operands of "
            "the same types, fails in the same way.",
        ),
        (
            f"The message may name a dtype or an attribute that `{spelled}` does not support: cast "
            f"its operands, or give it another one. Otherwise it is a bug of TVM. {CHECK}",
        ),
    )


def _unexplained(error: Exception) -> Trouble:
    return Trouble(
        TroubleKind.UNEXPLAINED,
        "I cannot explain this: every step ran, every call is lowered, and the build fails",
        notes=(f"The build fails with {one_line(error)}",),
        help=(
            "A function that is not found must be defined in the module, registered "
            "(`tvm_ffi.register_global_func`), or in a library that is attached.",
            "Anything else may be a bug of TVM's code generation: report it with the module.",
        ),
    )
