"""A step that raises or gives an ill-formed module: which function, which binding, why."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import tvm
from tvm import relax

from ..inspect import bindings_of, global_vars, relax_functions, static
from ..structural.checkers import flaw
from ..structural.lowering_gaps import Reason
from ..text.messages import headline
from ..violation import Journal
from .spelling import one_line
from .steps import Broken
from .traced import Traced, underlined
from .trouble import Excerpt, Kind, Trouble
from .unknown import Loss, advice, lost, unknown_operands

MOST = 60
"""Bindings of a function that are tried one by one; of a longer one only its name is reported."""

CHECK = "`relaxfuzz check MODULE --pipeline PIPELINE` makes a small reproducer of it."

Fails = Callable[[tvm.IRModule], bool]


def trouble(traced: Traced, broken: Broken, journal: Journal | None) -> Trouble:
    """What a step did to the module.

    Args:
        journal: called before parts of the module are tried; None: they are not tried.
    """
    site = None if journal is None else _site(broken, journal)
    step = broken.step
    excerpts: tuple[Excerpt, ...] = ()
    if site is not None:
        label = f"{step} fails on this" if broken.error else "ill-formed from here on"
        excerpts = _excerpts(traced, broken, *site, label)
    function = site[0] if site is not None else None
    if broken.error is not None:
        losses = [] if site is None else _losses(traced, site[1])
        excerpts += tuple(excerpt for loss in losses for excerpt in loss.excerpts)
        return Trouble(
            Kind.RAISES,
            f"{step} raises {one_line(broken.error)}",
            function,
            step,
            excerpts,
            (
                *_perhaps(losses),
                "The module was well-formed when the step began, and a pass must handle what is "
                "well-formed or name what it does not support."
                if flaw(broken.before) is None
                else "The module that the step was given was not well-formed any more.",
                *_smallest(site),
            ),
            (
                *advice(losses),
                f"Keep what is marked out of the module, or leave {step} out of the pipeline, if "
                "you can.",
                f"If the message does not name what to change, it is a bug of {step}. {CHECK}",
            ),
        )
    assert broken.after is not None
    problem = flaw(broken.after)
    assert problem is not None, "only a module with a flaw is broken"
    return Trouble(
        Kind.ILL_FORMED,
        f"{step} makes an ill-formed module",
        function,
        step,
        excerpts,
        (
            f"{problem.title.removeprefix('ill-formed: ')}.".replace("..", "."),
            "The module was well-formed before, and no later step repairs it.",
            *_smallest(site),
        ),
        (
            f"It is a bug of {step}. {CHECK}",
            f"Until it is mended, leave {step} out, or keep what is marked out of the module.",
        ),
    )


def caused_by(failure: Trouble, trouble: Trouble) -> bool:
    """The step fails on the very thing that the trouble is about: the marked line shows it, or the
    function, where the trouble is about the whole of it."""
    if not failure.excerpts or failure.function != trouble.function or not trouble.excerpts:
        return False
    mine, other = failure.excerpts[0], trouble.excerpts[0]
    whole = trouble.kind is Kind.NOT_COMPILED or other.line.lstrip().startswith("def ")
    return whole or (mine.line, mine.column) == (other.line, other.column)


def _losses(traced: Traced, binding: relax.Binding | None) -> list[Loss]:
    """Operands of the offending call of which the shape or dtype is not known."""
    source = None if binding is None else traced.back(binding.value)
    if source is None:
        return []
    for reason in (Reason.UNKNOWN_DTYPE, Reason.UNKNOWN_SHAPE):
        if unknown_operands(source[1], reason):
            return lost(traced, *source, reason)
    return []


def _perhaps(losses: list[Loss]) -> Iterator[str]:
    for loss in losses:
        why = f" {loss.why}" if loss.why else ""
        yield f"In the marked call {loss.what} is not known, which few passes expect.{why}"


def ill_formed(traced: Traced) -> Trouble | None:
    """What is wrong with the user's module before any step."""
    problem = flaw(traced.mod)
    if problem is None:
        return None
    site = next(
        (
            (str(gvar.name_hint), _first_bad(traced.mod, gvar, func))
            for gvar, func in relax_functions(traced.mod)
            if not relax.analysis.check_well_formed(func)
        ),
        None,
    )
    excerpts: tuple[Excerpt, ...] = ()
    if site is not None:
        name, binding = site
        excerpts = traced.function(name, "this function")
        if binding is not None:
            excerpts = traced.binding(binding, "ill-formed from here on") or excerpts
    lines = [headline(line) for line in problem.detail.partition("\n\n")[0].splitlines() if line]
    check = "`tvm.relax.analysis.well_formed(mod)` shows whether a module is well-formed."
    return Trouble(
        Kind.ILL_FORMED,
        "the module is not well-formed: nothing is promised for what passes make of it",
        None if site is None else site[0],
        None,
        excerpts,
        tuple(lines[:3]),
        (*_normalized(traced.original), check),
    )


def _normalized(mod: tvm.IRModule) -> Iterator[str]:
    """Whether it is only that expressions are nested."""
    try:
        mended = flaw(relax.transform.Normalize()(mod)) is None
    except Exception:
        return
    if mended:
        yield "Run `relax.transform.Normalize()` on it first. Tried: it is well-formed then."


def _first_bad(
    mod: tvm.IRModule, gvar: tvm.ir.GlobalVar, func: relax.Function
) -> relax.Binding | None:
    """The first binding with which the function is ill-formed."""
    try:
        for binding, part in _prefixes(mod, gvar, func):
            if not relax.analysis.check_well_formed(part[gvar]):
                return binding
    except Exception:  # what is ill-formed cannot always be taken apart
        return None
    return None


def _smallest(site: tuple[str, relax.Binding | None] | None) -> Iterator[str]:
    if site is not None and site[1] is not None:
        yield f"`{site[0]}` without this binding and those after it gives no trouble."


def _site(broken: Broken, journal: Journal) -> tuple[str, relax.Binding | None] | None:
    """The function that the step, run on parts of the module, fails on, and the first binding."""
    again = broken.again
    if again is None:
        return None

    def fails(part: tvm.IRModule) -> bool:
        try:
            return flaw(again(part)) is not None
        except Exception:
            return broken.error is not None

    journal(f"locate {broken.step}")
    parts = [(gvar, f, _closure(broken.before, gvar)) for gvar, f in relax_functions(broken.before)]
    # A callee comes before those that fail only for calling it.
    for gvar, func, alone in sorted(parts, key=lambda part: len(part[2].functions)):
        if not fails(alone):
            continue
        name = str(gvar.name_hint)
        for binding, part in _prefixes(alone, gvar, func):
            journal(f"locate {broken.step}")
            if relax.analysis.check_well_formed(part) and fails(part):
                return name, binding
        return name, None
    return None


def _closure(mod: tvm.IRModule, root: tvm.ir.GlobalVar) -> tvm.IRModule:
    """The function with all that it calls, and nothing else."""
    kept, waiting = {}, [root]
    while waiting:
        gvar = waiting.pop()
        if gvar not in kept:
            kept[gvar] = mod[gvar]
            waiting += [used for used in global_vars(mod[gvar]) if used in mod.functions]
    return tvm.IRModule(kept, attrs=mod.attrs, global_infos=mod.global_infos)


def _prefixes(
    mod: tvm.IRModule, gvar: tvm.ir.GlobalVar, func: relax.Function
) -> Iterator[tuple[relax.Binding, tvm.IRModule]]:
    """The module with ever more of the function's bindings; the last one's variable is returned."""
    whole = func.body
    if not isinstance(whole, relax.SeqExpr) or gvar in global_vars(func):
        return
    if sum(len(block.bindings) for block in whole.blocks) > MOST:
        return
    blocks: list[relax.BindingBlock] = []
    for block in whole.blocks:
        for count in range(1, len(block.bindings) + 1):
            binding = block.bindings[count - 1]
            result = relax.Var(binding.var.name, binding.var.ty)
            last = _rebound(binding, result)
            part = type(block)([*block.bindings[: count - 1], last])
            body = relax.SeqExpr([*blocks, part], result)
            relax.expr._update_type(body, result.ty)
            shorter = relax.Function(
                func.params,
                body,
                result.ty if static(result.ty) else relax.AnyType(),
                is_pure=func.is_pure,
                attrs=func.attrs,
            )
            made = tvm.IRModule(dict(mod.functions_items()), mod.attrs, mod.global_infos)
            made.update_func(gvar, shorter)
            yield binding, made
        blocks.append(block)


def _rebound(binding: relax.Binding, var: relax.Var) -> relax.Binding:
    if isinstance(binding, relax.MatchCast):
        return relax.MatchCast(var, binding.value, binding.ty)
    return relax.VarBinding(var, binding.value)


def _excerpts(
    traced: Traced, broken: Broken, function: str, binding: relax.Binding | None, label: str
) -> tuple[Excerpt, ...]:
    if binding is None:
        return traced.function(function, label)
    source = traced.back(binding.value)
    if source is not None:
        return traced.call(source[1], label)
    for own in bindings_of(traced.mod):
        if own.var.name == binding.var.name and type(own.value) is type(binding.value):
            return traced.binding(own, label)
    return underlined(broken.before, binding, label, origin=f"before {broken.step}")
