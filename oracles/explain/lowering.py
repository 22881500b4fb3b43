"""Operators that are left when the virtual machine's code generator takes over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import tvm
from tvm import relax

from ..inspect import calls_of, has_op_attr, local_functions, op_name, relax_functions
from ..passcall import PassCall, bare_call
from ..pipelines import steps as steps_of
from ..structural.lowering_gaps import Gap, Reason, gaps, leftovers, lowered_by
from ..violation import silent
from .spelling import operator
from .steps import State, Walk, along
from .traced import Traced, number, underlined
from .trouble import Excerpt, Kind, Trouble
from .unknown import Loss, advice, lost, open_types

LEGALIZE = "LegalizeOps"

_UNKNOWN = (Reason.UNKNOWN_SHAPE, Reason.UNKNOWN_DTYPE, Reason.UNKNOWN_TYPE)


@dataclass(frozen=True, slots=True)
class _Left:
    gap: Gap
    call: relax.Call
    """In the last module."""
    source: tuple[str, relax.Call] | None
    """Function and call in the user's module."""
    losses: list[Loss]

    def explained_by(self, other: _Left) -> bool:
        """What is wrong with the other is all that is wrong with this one."""
        if self.gap.reason is not other.gap.reason:
            return False
        if self.gap.reason is Reason.NOT_LEGALIZED:
            return _lowers(self.gap.op) == _lowers(other.gap.op)
        if self.losses:
            known = {loss.identity for loss in other.losses}
            return all(loss.identity in known for loss in self.losses)
        return not other.losses and self.gap.op == other.gap.op


def _lowers(op: str) -> str | None:
    """The pass that lowers an operator where it can."""
    return lowered_by(op) or (LEGALIZE if has_op_attr(op, "FLegalize") else None)


def troubles(traced: Traced, walk: Walk, calls: Sequence[PassCall] | None) -> list[Trouble]:
    """The calls that are not lowered, one trouble for each cause.

    Args:
        calls: the steps of the pipeline, for trying remedies; None: it is the user's own.
    """
    causes: list[list[_Left]] = []
    for left in _left(traced, walk):
        if walk.broken is not None and left.gap.reason is Reason.NOT_LEGALIZED:
            continue  # its step has not come yet
        group = next((group for group in causes if left.explained_by(group[0])), None)
        if group is None:
            causes.append([left])
        else:
            group.append(left)
    found = [_trouble(traced, walk, group, calls) for group in causes]
    return found + _local(traced, walk) + _removed(traced, walk)


def _left(traced: Traced, walk: Walk) -> list[_Left]:
    # Later steps lower types, too: the reason is what it was when LegalizeOps was done.
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
        found.append(_Left(gap, binding.value, source, losses))
    return found


def _trouble(
    traced: Traced, walk: Walk, group: list[_Left], calls: Sequence[PassCall] | None
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
    marks = [
        *_excerpts(traced, walk, first, _label(first, step)),
        *(excerpt for loss in first.losses for excerpt in loss.excerpts),
    ]
    # What a call itself loses is marked already.
    distinct: dict[tuple[str, int], Excerpt] = {}
    for mark in marks:
        distinct.setdefault((mark.line, mark.column), mark)
    others = [left for left in group[1:] if left.source is None or left.source != first.source]
    also = [_also(others)] if others else []
    return Trouble(
        Kind.NOT_LOWERED,
        title,
        first.source[0] if first.source is not None else first.gap.function,
        step,
        tuple(distinct.values()),
        tuple(filter(None, (when, *notes, *also))),
        tuple(help),
    )


def _texts(
    traced: Traced, walk: Walk, left: _Left, calls: Sequence[PassCall] | None
) -> tuple[str, list[str], list[str]]:
    """Headline, why, and what to do."""
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
            whys = [loss.why for loss in left.losses if loss.why]
            return title, [*whys, why], list(advice(left.losses))
        lost_by = _lost_by(walk, left)
        if lost_by is not None:
            why = f"Your module declares it; {lost_by} lost it. {why}"
        return title, [why], [f"Annotate the operands of `{spelled}` with a complete type."]
    if gap.reason is Reason.NO_LEGALIZATION:
        title = f"nothing lowers `{spelled}`: the operator has no legalization"
        why = f"TVM registers `{gap.op}` without `FLegalize`, so that LegalizeOps passes it over."
        tried = [
            name
            for name in CANDIDATES
            if calls is not None and _helps(traced.original, gap.op, bare_call(name), calls)
        ]
        help = [
            f"Run `relax.transform.{name}()` before the pipeline. Tried on this module: "
            f"`{spelled}` is gone."
            for name in tried
        ]
        if gap.op in INSTEAD and not tried:
            help.append(INSTEAD[gap.op])
        elif not help:
            help.append(f"Write what `{spelled}` computes with other operators.")
        if not tried and gap.op not in MARKS:
            help.append(_legalization(gap.op))
        return title, [why], help
    if gap.reason is Reason.DECLINED:
        title = f"`{spelled}` cannot be lowered: its legalization declines this call"
        return (
            title,
            [f"Its message: {gap.what.rstrip('.')}."],
            ["Write the call in a form that it takes.", _legalization(gap.op)],
        )
    # It could be lowered: by whom, and why was it not?
    by = _lowers(gap.op)
    title = f"`{spelled}` is left: no step of this pipeline has lowered it"
    if by is None or by in steps:
        runs = f"{by} is in the pipeline, but the call was not there yet, or it passed it over"
        return title, [f"{gap.what or runs}."], [f"Run `relax.transform.{by or LEGALIZE}()` later."]
    if len(steps) == 1:
        do = "The module is not lowered yet: build it with a pipeline, such as `default`."
        return title, [f"{by} lowers `{spelled}`, and nothing was run."], [do]
    return (
        title,
        [f"{by} lowers `{spelled}`, and this pipeline does not run it."],
        [f"Add `{_qualified(by)}` to the pipeline{_where(by, steps)}."],
    )


def _qualified(name: str) -> str:
    where = "relax.backend" if name.startswith("Dispatch") else "relax.transform"
    return f"{where}.{name}()"


def _where(name: str, steps: Sequence[str]) -> str:
    """Before which of the steps TVM's default pipeline has the pass."""
    order = [call.name for call in steps_of("default")]
    later = order[order.index(name) + 1 :] if name in order else []
    return next((f", before {step}" for step in later if step in steps), "")


def _since(walk: Walk, left: _Left) -> str | None:
    """The step that should have lowered the call; None where none of these was run."""
    if left.gap.reason is Reason.NOT_LEGALIZED:
        return None
    by = lowered_by(left.gap.op) or LEGALIZE
    ran = {state.step for state in walk.states}
    return by if by in ran or (walk.broken is not None and walk.broken.step == by) else None


def _lost_by(walk: Walk, left: _Left) -> str | None:
    """The step that made an operand's type less precise than in the user's module."""
    previous: relax.Call | None = None
    for state in walk.states:
        same = [
            call
            for call in calls_of(state.mod, left.gap.op)
            if call.span is not None and call.span == left.call.span
        ]
        if not same:
            continue
        opened = any(open_types(arg.ty, left.gap.reason) for arg in same[0].args)
        if opened and previous is not None:
            return state.step
        if opened:
            return None
        previous = same[0]
    return None


def _what(left: _Left) -> str:
    """ "the shape of `x` and of `y`" """
    if not left.losses:
        return left.gap.what
    first, *more = (loss.what for loss in left.losses)
    return first + "".join(f" and of {what.rpartition(' of ')[2]}" for what in more)


def _label(left: _Left, step: str | None) -> str:
    if left.gap.reason in _UNKNOWN:
        return f"needs {_what(left)}"
    return "not lowered" if step is None else f"{step} leaves it as it is"


def _excerpts(traced: Traced, walk: Walk, left: _Left, label: str) -> tuple[Excerpt, ...]:
    """The line in the user's module; else that of the last module."""
    if left.source is not None:
        return traced.call(left.source[1], label)
    return later(walk, left.call, label)


def later(walk: Walk, call: relax.Call, label: str) -> tuple[Excerpt, ...]:
    """The line of a call that the user's module does not hold: where it is first seen."""
    for state in walk.states[1:]:
        for other in calls_of(state.mod):
            if other.same_as(call):
                return underlined(state.mod, other, label, origin=f"after {state.step}")
    return underlined(walk.end, call, label, origin="the last module")


def _also(others: Sequence[_Left]) -> str:
    what = [
        f"`{left.gap.binding.var.name} = {operator(left.gap.op)}(...)` in `{left.gap.function}`"
        for left in others
    ]
    shown = ", ".join(what[:3]) + (f" and {len(what) - 3} more" if len(what) > 3 else "")
    return f"For the same reason these are not lowered: {shown}."


def _local(traced: Traced, walk: Walk) -> list[Trouble]:
    """Functions inside functions, of which code generation makes nothing."""
    found = []
    for gvar, func in relax_functions(walk.end):
        backend = func.attrs is not None and func.attrs.get("Codegen") is not None
        if backend or not local_functions(func):
            continue
        name = str(gvar.name_hint)
        found.append(
            Trouble(
                Kind.NOT_LOWERED,
                f"`{name}` has a function inside, which nothing lifts out",
                name,
                None,
                traced.function(name, "has a function inside"),
                (
                    "The virtual machine knows functions of the module only. No step of the "
                    "pipeline makes such of local ones.",
                ),
                ("Run `relax.transform.LambdaLift()` before the pipeline.",),
            )
        )
    return found


def _removed(traced: Traced, walk: Walk) -> list[Trouble]:
    """What LegalizeOps left and a later step removed: it breaks nothing, but is worth a note."""
    at = next((i for i, state in enumerate(walk.states) if state.step == LEGALIZE), None)
    if at is None or walk.broken is not None:
        return []
    found = []
    for gap in gaps(walk.states[at].mod):
        source = traced.back(gap.binding.value)
        remover = _remover(walk.states[at:], gap)
        if source is None or remover is None:
            continue
        spelled = operator(gap.op)
        found.append(
            Trouble(
                Kind.REMOVED,
                f"`{spelled}` was not lowered, but nothing uses its result",
                source[0],
                remover,
                traced.call(source[1], f"{LEGALIZE} left it; {remover} removed it"),
                (
                    f"{LEGALIZE} left the call as it is ({gap.reason}), and {remover} removed it "
                    "as dead code. Another pipeline may not.",
                ),
                ("Remove the binding, or run `relax.transform.DeadCodeElimination()` first.",),
            )
        )
    return found


def _remover(states: Sequence[State], gap: Gap) -> str | None:
    """The step after which the call is gone; None where it is not."""
    span = gap.binding.value.span
    for state in states:
        if span not in [call.span for call in calls_of(state.mod, op_name(gap.binding.value))]:
            return state.step
    return None


# Remedies

CANDIDATES: tuple[str, ...] = (
    "DeadCodeElimination",
    "RealizeVDevice",
    "LambdaLift",
    "DecomposeOpsForInference",
    "LiftTransformParams",
)
"""Passes that remove some calls, and that no pipeline for the CPU runs by themselves."""

INSTEAD: Mapping[str, str] = {
    "relax.ewise_fma": "Write `R.add(R.multiply(a, b), c)` for `R.ewise_fma(a, b, c)`.",
    "relax.builtin.stop_lift_params": "It is a mark for LiftTransformParams and computes nothing. "
    "LiftTransformParams leaves it where it is: write `a` for `R.builtin.stop_lift_params(a)` when "
    "the parameters are lifted.",
    "relax.wrap_param": "It is a mark that ToMixedPrecision uses inside. Write "
    "`R.astype(a, dtype)` for `R.wrap_param(a, dtype)`.",
    "relax.call_tir_with_grad": "Gradient makes a call_tir of it. Where you need no gradient, "
    "write `R.call_tir(f, args, out_ty)`.",
    "relax.hint_on_device": "It is a hint for RealizeVDevice, which must run before.",
}
"""What to write for operators that are known to have no legalization."""

MARKS = frozenset(INSTEAD) - {"relax.ewise_fma"}
"""Operators that are hints to a pass and compute nothing: no legalization makes sense."""


def _helps(mod: tvm.IRModule, op: str, first: PassCall, calls: Sequence[PassCall]) -> bool:
    walk = along(mod, [first, *calls], silent)
    return walk.broken is None and all(name != op for _, _, name in leftovers(walk.end))


def _legalization(op: str) -> str:
    return (
        f'Or bring your own: run `relax.transform.LegalizeOps({{"{op}": legalize}})` before the '
        f"build, where `legalize(builder, call)` returns what computes `{operator(op)}`."
    )
