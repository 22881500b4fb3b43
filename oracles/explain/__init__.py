"""Why a module cannot be built: seen by taking it through the pipeline and looking after each step.

Nothing here reads the texts of TVM's exceptions: the modules themselves show what is wrong.
"""

from __future__ import annotations

import dataclasses

import tvm
from tvm import relax

from ...compat import ir
from ..inspect import attr, prim_funcs
from ..passcall import cpu
from ..violation import Journal, silent
from . import breakage, lowering, names
from .breakage import CHECK
from .spelling import one_line
from .steps import NONE, PIPELINES, Walk, calls_of_pipeline, walk
from .traced import Traced
from .trouble import Excerpt, Explanation, Kind, Trouble

__all__ = ["CHECK", "NONE", "PIPELINES", "Excerpt", "Explanation", "Kind", "Trouble", "explain"]


def explain(
    mod: tvm.IRModule,
    pipeline: str = "default",
    *,
    file: str | None = None,
    locate: bool = True,
    journal: Journal = silent,
) -> Explanation:
    """What keeps a module from being built and loaded, or that nothing does.

    Args:
        pipeline: one of `PIPELINES`, or the user's own: `FILE.py:factory`.
        file: the Python file that the module comes from.
        locate: run a step that fails on parts of the module, to see on which one it does.
        journal: receives each step before it is taken.

    Raises:
        UnknownPipeline: no such pipeline.
        BadSpelling, BadPass: the user's pipeline cannot be had.
    """
    traced = Traced(mod, file)
    if not relax.analysis.check_well_formed(mod):
        wrong = breakage.ill_formed(traced)
        assert wrong is not None, "the checker found the module ill-formed"
        return Explanation(pipeline, (), (wrong,), built=False)
    gone = walk(traced.mod, pipeline, journal)
    steps = tuple(state.step for state in gone.states[1:])
    troubles = _troubles(traced, gone, pipeline, locate=locate, journal=journal)
    built = False
    if gone.broken is None or gone.broken.error is None:
        journal("build")
        error = _build(gone.end)
        built = error is None
        if error is not None and all(trouble.harmless for trouble in troubles):
            troubles.append(_unexplained(traced, gone, error))
    return Explanation(pipeline, steps, tuple(troubles), built)


def _troubles(
    traced: Traced, gone: Walk, pipeline: str, *, locate: bool, journal: Journal
) -> list[Trouble]:
    left = lowering.troubles(traced, gone, calls_of_pipeline(pipeline) or None)
    if gone.broken is None or _only_names(gone):
        return left + names.troubles(traced, gone)
    left += names.not_compiled(traced, gone)
    failure = breakage.trouble(traced, gone.broken, journal if locate else None)
    causes = [trouble for trouble in left if breakage.caused_by(failure, trouble)]
    if not causes:
        return [failure, *left]
    # The causes that are understood are reported; the step's failure is how the user met them.
    note = f"The build ends there: {failure.title}."
    explained = [dataclasses.replace(cause, notes=(*cause.notes, note)) for cause in causes]
    return explained + [trouble for trouble in left if trouble not in causes]


def _only_names(gone: Walk) -> bool:
    """What is ill-formed in the last module are names, which `names` explains better."""
    broken = gone.broken
    return (
        broken is not None
        and broken.error is None
        and relax.analysis.check_well_formed(gone.end)
        and ir.tensor_ir_complaint(gone.end) is None
    )


def _build(mod: tvm.IRModule) -> Exception | None:
    """Compile what the pipeline gave, and load it: then all names are looked up."""
    try:
        with cpu():
            built = relax.build(mod, cpu(), relax_pipeline=None)
        relax.VirtualMachine(built, tvm.cpu())
    except Exception as error:
        return error
    return None


def _unexplained(traced: Traced, gone: Walk, error: Exception) -> Trouble:
    name = _uncompiled(gone.end)
    if name is None:
        return Trouble(
            Kind.UNEXPLAINED,
            "I cannot explain this: every step ran, nothing seems to be left, and the build fails",
            notes=(f"The build fails with {one_line(error)}",),
            help=(
                "Report it with the module: either TVM's code generation has a bug, or this "
                "command does not know of something.",
            ),
        )
    own = _own(traced, gone.end[name])
    excerpts = () if own is None else traced.function(own, "does not compile, even by itself")
    whose = "The module comes with it." if own is not None else "A step of the pipeline made it."
    return Trouble(
        Kind.UNEXPLAINED,
        f"I cannot explain this: every step ran, and the PrimFunc `{name}` does not compile",
        name,
        None,
        excerpts,
        (
            f"{whose} All Relax functions are lowered, and all names lead somewhere.",
            f"The compiler fails with {one_line(error)}",
        ),
        (f'Compile it by itself to see more: `tvm.tirx.build(mod["{name}"], target="llvm")`.',),
    )


def _own(traced: Traced, func: tvm.tirx.PrimFunc) -> str | None:
    """The name that a PrimFunc has in the user's module, if it comes from there."""
    symbol = attr(func, "global_symbol")
    for gvar, own in prim_funcs(traced.mod):
        if own.body.same_as(func.body) or symbol in (gvar.name_hint, attr(own, "global_symbol")):
            return str(gvar.name_hint)
    return None


def _uncompiled(mod: tvm.IRModule) -> str | None:
    """The first PrimFunc that cannot be compiled for the CPU by itself."""
    for gvar, func in prim_funcs(mod):
        try:
            tvm.tirx.build(tvm.IRModule({gvar: func}), target=cpu())
        except Exception:
            return str(gvar.name_hint)
    return None
