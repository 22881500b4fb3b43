"""Operators that are left when the virtual machine's code generator takes over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tvm
from tvm import relax

from ...generators.ops.roles import BY_ATTRIBUTE, REMOVES
from ..inspect import has_op_attr, local_functions, relax_functions
from ..lowering_gaps import Gap, Reason, gaps, leftovers, lowered_by
from ..passcall import PassCall, bare_call, public_passes
from ..violation import silent
from .spelling import operator
from .steps import PipelineStates, along
from .traced import Traced, number
from .trouble import Excerpt, Trouble, TroubleKind
from .unknown import Loss, advice, lost

LEGALIZE = BY_ATTRIBUTE["FLegalize"]

_UNKNOWN = (Reason.UNKNOWN_SHAPE, Reason.UNKNOWN_DTYPE, Reason.UNKNOWN_TYPE)


@dataclass(frozen=True, slots=True)
class _Left:
    gap: Gap
    source: tuple[str, relax.Call] | None
    """The function and the call in the user's module."""
    losses: list[Loss]

    @property
    def cause(self) -> tuple[object, ...]:
        """Equal for calls that are not lowered for the same reason."""
        reason, op = self.gap.reason, self.gap.op
        if reason is Reason.NOT_LEGALIZED:
            return reason, _lowers(op)
        return reason, frozenset(loss.identity for loss in self.losses) or op


def _lowers(op: str) -> str | None:
    """The pass that lowers an operator if it can."""
    return lowered_by(op) or (LEGALIZE if has_op_attr(op, "FLegalize") else None)


def troubles(traced: Traced, walk: PipelineStates, calls: Sequence[PassCall]) -> list[Trouble]:
    """The calls that are not lowered, one trouble for each cause.

    Args:
        calls: the steps of the pipeline, for trying remedies.
    """
    causes: dict[tuple[object, ...], list[_Left]] = {}
    for left in _left(traced, walk):
        # Otherwise its step has not run yet.
        if walk.broken is None or left.gap.reason is not Reason.NOT_LEGALIZED:
            causes.setdefault(left.cause, []).append(left)
    found = [_trouble(traced, walk, group, calls) for group in causes.values()]
    return found + _local(walk)


def _left(traced: Traced, walk: PipelineStates) -> list[_Left]:
    # Later steps also lower types, so take the reason from right after LegalizeOps.
    legalized = next((s.mod for s in walk.states if s.step == LEGALIZE), walk.end)
    reasons = {number(gap.binding.value): gap for gap in (*gaps(walk.end), *gaps(legalized))}
    found = []
    for gvar, binding, name in leftovers(walk.end):
        at = number(binding.value)
        gap = None if at is None else reasons.get(at)
        if gap is None or gap.op != name:
            gap = Gap(name, Reason.NOT_LEGALIZED, str(gvar.name_hint), binding, "")
        source = traced.back(binding.value)
        losses: list[Loss] = []
        if gap.reason in _UNKNOWN and source is not None:
            losses = lost(traced, *source, gap.reason)
        found.append(_Left(gap, source, losses))
    return found


def _trouble(
    traced: Traced, walk: PipelineStates, group: list[_Left], calls: Sequence[PassCall]
) -> Trouble:
    first = group[0]
    spelled = operator(first.gap.op)
    title, notes, help = _texts(traced, walk, first, calls)
    step = _since(walk, first)
    when = f"{step} left it as it is, and no later step lowers `{spelled}`."
    if first.gap.reason is Reason.NOT_LEGALIZED:
        when = ""
    elif step is None:
        when = f"The module comes with it, and no step of the pipeline lowers `{spelled}`."
    elif walk.broken is not None and walk.broken.step == step:
        when = f"{step}, which should lower it, fails."
    others = [left for left in group[1:] if left.source is None or left.source != first.source]
    also = [_also(others)] if others else []
    return Trouble(
        TroubleKind.NOT_LOWERED,
        title,
        first.source[0] if first.source is not None else first.gap.function,
        step,
        _excerpt(traced, first, step),
        tuple(filter(None, (when, *notes, *also))),
        tuple(help),
    )


def _texts(
    traced: Traced, walk: PipelineStates, left: _Left, calls: Sequence[PassCall]
) -> tuple[str, list[str], list[str]]:
    """The title, the reasons and the advice."""
    gap = left.gap
    spelled = operator(gap.op)
    by = lowered_by(gap.op)
    steps = [state.step for state in walk.states]
    if gap.reason in _UNKNOWN:
        title = f"`{spelled}` cannot be lowered: {_what(left)} is not known"
        if by is None:
            why = (
                "LegalizeOps makes loops over the elements of tensors, for which it must know "
                "their shapes and dtypes. Where it does not, it skips the call without a message."
            )
        else:
            why = f"{by} lowers `{spelled}` only where shape and dtype are known."
        if left.losses:
            whys = [loss.why for loss in left.losses]
            return title, [*whys, why], list(advice(left.losses))
        return title, [why], [f"Annotate the operands of `{spelled}` with a complete type."]
    if gap.reason is Reason.NO_LEGALIZATION:
        title = f"nothing lowers `{spelled}`: the operator has no legalization"
        why = f"TVM registers `{gap.op}` without `FLegalize`, so that LegalizeOps passes it over."
        tried = [
            name for name in REMOVES if _helps(traced.original, gap.op, bare_call(name), calls)
        ]
        help = [
            f"Run `relax.transform.{name}()` before the pipeline. Tried on this module: "
            f"`{spelled}` is gone."
            for name in tried
        ]
        if not help:
            help = [
                f"Write what `{spelled}` computes with other operators.",
                _legalization(gap.op),
            ]
        return title, [why], help
    if gap.reason is Reason.DECLINED:
        title = f"`{spelled}` cannot be lowered: its legalization declines this call"
        return (
            title,
            [f"Its message: {gap.what.rstrip('.')}."],
            ["Write the call in a form that it takes.", _legalization(gap.op)],
        )
    # Some pass could lower it: name the pass, and the reason why it failed to.
    by = _lowers(gap.op)
    title = f"`{spelled}` is left: no step of this pipeline has lowered it"
    if by is None or by in steps:
        runs = f"{by} is in the pipeline, but the call was not there yet, or it passed it over"
        return title, [f"{gap.what or runs}."], [f"Run `relax.transform.{by or LEGALIZE}()` later."]
    public = public_passes()[by]
    return (
        title,
        [f"{by} lowers `{spelled}`, and this pipeline does not run it."],
        [f"Add `{public if '.' in public else f'relax.transform.{public}'}()` to the pipeline."],
    )


def _since(walk: PipelineStates, left: _Left) -> str | None:
    """The step that should have lowered the call; None if it was not run."""
    if left.gap.reason is Reason.NOT_LEGALIZED:
        return None
    by = lowered_by(left.gap.op) or LEGALIZE
    ran = {state.step for state in walk.states}
    return by if by in ran or (walk.broken is not None and walk.broken.step == by) else None


def _what(left: _Left) -> str:
    """The unknown properties, such as "the shape of `x` and of `y`"."""
    if not left.losses:
        return left.gap.what
    first, *more = (loss.what for loss in left.losses)
    return first + "".join(f" and of {what.rpartition(' of ')[2]}" for what in more)


def _excerpt(traced: Traced, left: _Left, step: str | None) -> Excerpt | None:
    """The line of the call in the user's module; None if a pass made it."""
    label = "not lowered" if step is None else f"{step} leaves it as it is"
    if left.gap.reason in _UNKNOWN:
        label = f"needs {_what(left)}"
    return None if left.source is None else traced.call(left.source[1], label)


def _also(others: Sequence[_Left]) -> str:
    what = [
        f"`{left.gap.binding.var.name} = {operator(left.gap.op)}(...)` in `{left.gap.function}`"
        for left in others
    ]
    shown = ", ".join(what[:3]) + (f" and {len(what) - 3} more" if len(what) > 3 else "")
    return f"For the same reason these are not lowered: {shown}."


def _local(walk: PipelineStates) -> list[Trouble]:
    """Functions inside functions, for which code generation has no code."""
    found = []
    for gvar, func in relax_functions(walk.end):
        backend = func.attrs is not None and func.attrs.get("Codegen") is not None
        if backend or not local_functions(func):
            continue
        name = str(gvar.name_hint)
        found.append(
            Trouble(
                TroubleKind.NOT_LOWERED,
                f"`{name}` has a function inside, which nothing lifts out",
                name,
                None,
                None,
                (
                    "The virtual machine knows functions of the module only. No step of the "
                    "pipeline makes such of local ones.",
                ),
                ("Run `relax.transform.LambdaLift()` before the pipeline.",),
            )
        )
    return found


# Remedies


def _helps(mod: tvm.IRModule, op: str, first: PassCall, calls: Sequence[PassCall]) -> bool:
    walk = along(mod, [first, *calls], silent)
    return walk.broken is None and all(name != op for _, _, name in leftovers(walk.end))


def _legalization(op: str) -> str:
    return (
        f'Or bring your own: run `relax.transform.LegalizeOps({{"{op}": legalize}})` before the '
        f"build, where `legalize(builder, call)` returns what computes `{operator(op)}`."
    )
