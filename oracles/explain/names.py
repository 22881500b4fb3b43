"""Names that code generation and the runtime look up, and that nothing defines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import Op

from ...compat import ir
from ...generators.near import near
from ..inspect import attr, calls_of, nodes, prim_funcs, relax_functions
from .lowering import later
from .spelling import operator
from .steps import State, Walk
from .traced import Traced
from .trouble import Excerpt, Kind, Trouble


@dataclass(frozen=True, slots=True)
class _Wrong:
    """A function that is not found by its GlobalVar's name."""

    kind: str
    name: str
    symbol: str | None


def troubles(traced: Traced, walk: Walk) -> list[Trouble]:
    """What is wrong with the names in the last module."""
    return [
        *_symbols(traced, walk),
        *not_compiled(traced, walk),
        *_unknown(traced, walk),
    ]


# A function's two names


def _wrong(mod: tvm.IRModule) -> Iterator[_Wrong]:
    for gvar, func in mod.functions_items():
        name, symbol = str(gvar.name_hint), attr(func, "global_symbol")
        if isinstance(func, relax.ExternFunc):
            continue
        if symbol is None or str(symbol) != name:
            kind = "Relax function" if isinstance(func, relax.Function) else "PrimFunc"
            yield _Wrong(kind, name, None if symbol is None else str(symbol))


def _symbols(traced: Traced, walk: Walk) -> Iterator[Trouble]:
    prefix = _prefix(walk.end)
    for wrong in _wrong(walk.end):
        if wrong.symbol is None:
            yield _without_symbol(traced, walk, wrong)
            continue
        step = _since(walk, lambda mod, wrong=wrong: wrong in set(_wrong(mod)))  # type: ignore[misc]
        prefixed = bool(prefix) and wrong.symbol == f"{prefix}{wrong.name}"
        who = f"{step} gave" if step is not None else "The module comes with"
        because = f", with the module's `system_lib_prefix` (`{prefix}`)" if prefixed else ""
        callers = _callers(traced.mod, wrong.name) or _callers(walk.end, wrong.name)
        yield Trouble(
            Kind.WRONG_NAME,
            f"`{wrong.name}` is called by this name but exported as `{wrong.symbol}`",
            callers[0][0] if callers else wrong.name,
            step,
            _excerpts(traced, walk, [call for _, call in callers], wrong.name),
            (
                f"{who} the {wrong.kind} the global_symbol `{wrong.symbol}`{because}, and left its "
                f"GlobalVar at `{wrong.name}`.",
                "Calls go by the GlobalVar; what is compiled is found by its global_symbol. When "
                f"the module is loaded, the virtual machine looks for `{wrong.name}` in vain.",
            ),
            (
                _align(wrong, step),
                f'Or set the attribute: `func.with_attr("global_symbol", "{wrong.name}")`.',
            ),
        )


def _align(wrong: _Wrong, step: str | None) -> str:
    what = (
        f"Rename the GlobalVar and all its uses to `{wrong.symbol}`: build the functions anew with "
        "a GlobalVar of that name."
    )
    if step is None:
        return what
    return (
        f"Have {step} rename the GlobalVar and all its uses to `{wrong.symbol}`, too, as TVM's own "
        "AttachGlobalSymbol does."
    )


def _without_symbol(traced: Traced, walk: Walk, wrong: _Wrong) -> Trouble:
    ran = any(state.step == "AttachGlobalSymbol" for state in walk.states)
    return Trouble(
        Kind.WRONG_NAME,
        f"`{wrong.name}` has no global_symbol: nothing can find it",
        wrong.name,
        None,
        traced.function(wrong.name, "has no global_symbol"),
        (
            f"Code generation exports the {wrong.kind} by its global_symbol. "
            + (
                "A step after AttachGlobalSymbol made the function."
                if ran
                else "AttachGlobalSymbol gives every function one; no step of this pipeline is it."
            ),
        ),
        ("Make `relax.transform.AttachGlobalSymbol()` the last step.",),
    )


# Functions for another compiler


def not_compiled(traced: Traced, walk: Walk) -> Iterator[Trouble]:
    """Functions that are left for an external compiler."""
    backends: dict[str, list[str]] = {}
    known = {str(gvar.name_hint) for gvar in traced.mod.functions}
    for gvar, func in relax_functions(walk.end):
        if (backend := attr(func, "Codegen")) is not None:
            backends.setdefault(str(backend), []).append(str(gvar.name_hint))
    ran = any(state.step == "RunCodegen" for state in walk.states)
    for backend, names in backends.items():
        compiler = f"relax.ext.{backend}"
        # AttachGlobalSymbol has prefixed what is new.
        own = names[0] if names[0] in known else names[0].removeprefix(_prefix(walk.end))
        others = f" and {len(names) - 1} more" if len(names) > 1 else ""
        why = (
            "RunCodegen ran, and left it."
            if ran
            else "No step of the pipeline is RunCodegen, which "
            f"hands functions with the attribute `Codegen` to their compiler, here `{compiler}`."
        )
        first = "Run `relax.transform.RunCodegen()` on the module before the pipeline."
        if not _registered(compiler):
            why += f" This TVM has no `{compiler}` either."
            first = (
                f"Use a TVM that is built with `{backend}`, or register the compiler "
                f'(`tvm_ffi.register_global_func("{compiler}", ...)`); then run '
                "`relax.transform.RunCodegen()` before the pipeline."
            )
        yield Trouble(
            Kind.NOT_COMPILED,
            f"`{names[0]}`{others} is meant for the compiler `{backend}`, which was never called",
            names[0],
            None,
            traced.function(own, f'has Codegen "{backend}"'),
            (why, "TVM's own code generation does not know the composites inside."),
            (first, f"Or do not partition the module for `{backend}`."),
        )


# Calls of names


def _unknown(traced: Traced, walk: Walk) -> Iterator[Trouble]:
    known = _provided(walk.end)
    reported: set[str] = set()
    for name, calls in _names_called(walk.end):
        if name in reported or name in known or _registered(name) or _attached(walk.end, name):
            continue
        reported.add(name)
        yield _nobody(traced, walk, name, calls, known)


def _names_called(mod: tvm.IRModule) -> Iterator[tuple[str, list[relax.Call]]]:
    """Names that are looked up when the module is loaded, or when a PrimFunc calls them."""
    for _, func in relax_functions(mod):
        if attr(func, "Codegen") is not None or attr(func, "Composite") is not None:
            continue
        calls = calls_of(func)
        for extern in nodes(func, relax.ExternFunc):
            if "c_source" not in (extern.attrs or {}):
                name = str(extern.global_symbol)
                yield name, [call for call in calls if _mentions(call, name)]
    for _, func in mod.functions_items():
        if isinstance(func, relax.ExternFunc):
            yield str(func.global_symbol), []
    for _, prim in prim_funcs(mod):
        for call in nodes(prim, relax.Call):
            if isinstance(call.op, Op) and str(call.op.name) in _PACKED and call.args:
                first = call.args[0]
                if isinstance(first, ir.StringImm):
                    yield str(first.value), []


_PACKED = ("tirx.tvm_call_packed", "tirx.tvm_call_cpacked", "tirx.tvm_call_packed_lowered")


def _mentions(call: relax.Call, name: str) -> bool:
    """It calls the name, or hands it on."""
    return any(
        isinstance(part, relax.ExternFunc) and str(part.global_symbol) == name
        for part in (call.op, *call.args)
    )


HOST_PREFIX = "__tvm_ffi_"
"""What TVM puts before the symbol of a PrimFunc when it makes a packed function of it."""


def _provided(mod: tvm.IRModule) -> set[str]:
    """What the compiled module itself offers by name."""
    names = set()
    for gvar, func in mod.functions_items():
        if not isinstance(func, relax.ExternFunc):
            symbol = str(attr(func, "global_symbol") or gvar.name_hint)
            names |= {symbol, symbol.removeprefix(HOST_PREFIX)}
    return names


def _registered(name: str) -> bool:
    return tvm.get_global_func(name, allow_missing=True) is not None


def _attached(mod: tvm.IRModule, name: str) -> bool:
    """A compiled module that is attached (`external_mods`) offers the name."""
    attached = attr(mod, "external_mods") or ()
    return any(library.implements_function(name) for library in attached)


def _nobody(
    traced: Traced, walk: Walk, name: str, calls: list[relax.Call], known: set[str]
) -> Trouble:
    # CallTIRRewrite makes new calls; the name is the same.
    sources = [
        (str(gvar.name_hint), call)
        for gvar, func in relax_functions(traced.mod)
        for call in calls_of(func)
        if _mentions(call, name)
    ] or [source for call in calls if (source := traced.back(call)) is not None]
    by_user = not sources or any(_spelled_by_user(call, name) for _, call in sources)
    prefix = _prefix(walk.end)
    if by_user:
        title = f"the function `{name}` is not defined anywhere"
        note = (
            "A call by name is looked up when the module is loaded: first in the module and the "
            "libraries attached to it, then among the functions that are registered."
        )
    else:
        op = operator(str(sources[0][1].op.name))
        title = f"`{op}` needs the function `{name}`, which this TVM does not have"
        note = f"`{op}` is computed by a function of the runtime, which is looked up by name."
    excerpts = _excerpts(traced, walk, [call for _, call in sources] or calls, name)
    return Trouble(
        Kind.UNKNOWN_NAME,
        title,
        sources[0][0] if sources else None,
        None if by_user else _since(walk, lambda mod: name in dict(_names_called(mod))),
        excerpts,
        (note, *_near(name, known, prefix)),
        tuple(_advice(name, known, prefix, by_user=by_user)),
    )


def _spelled_by_user(call: relax.Call, name: str) -> bool:
    """The user's own module has the name in this call."""
    return any(str(extern.global_symbol) == name for extern in nodes(call, relax.ExternFunc))


def _near(name: str, known: Iterable[str], prefix: str) -> Iterator[str]:
    known = sorted(known)
    if prefix and f"{prefix}{name}" in known:
        yield (
            f"The module has `{prefix}{name}`: AttachGlobalSymbol puts the module's "
            f"`system_lib_prefix` (`{prefix}`) before every name, but not into calls by name."
        )
        return
    registered = map(str, tvm_ffi.registry.list_global_func_names())
    if others := near(name, [*known, *registered], likeness=0.75):
        yield f"Known names near it: {', '.join(f'`{other}`' for other in others)}."


def _advice(name: str, known: set[str], prefix: str, *, by_user: bool) -> Iterator[str]:
    if prefix and f"{prefix}{name}" in known:
        yield (
            f"Call the function of the module itself (`cls.{name}`), not its name; the call is "
            "then renamed with it."
        )
        yield f'Or write the whole name in the call: `"{prefix}{name}"`.'
        return
    if not by_user:
        yield "Use a TVM that is built with it."
    yield (
        f"Register it in the process that loads the module: "
        f'`@tvm_ffi.register_global_func("{name}")`, or load the library that does.'
    )
    if by_user:
        yield (
            "Or attach its compiled library to the module: "
            "`relax.transform.AttachExternModules([...])`."
        )


def _prefix(mod: tvm.IRModule) -> str:
    return str(attr(mod, "system_lib_prefix") or "")


def _callers(mod: tvm.IRModule, name: str) -> list[tuple[str, relax.Call]]:
    """Calls of a function of the module, `call_tir` and its like included, and where they are."""
    return [
        (str(gvar.name_hint), call)
        for gvar, func in relax_functions(mod)
        for call in calls_of(func)
        for part in (call.op, *call.args)
        if isinstance(part, tvm.ir.GlobalVar) and part.name_hint == name
    ]


def _since(walk: Walk, there: Callable[[tvm.IRModule], bool]) -> str | None:
    """The step after which it is there to the end; None: it was always."""
    since: State | None = None
    for state in reversed(walk.states):
        if not there(state.mod):
            break
        since = state
    return since.step or None if since is not None else None


def _excerpts(
    traced: Traced, walk: Walk, calls: Iterable[relax.Call], name: str
) -> tuple[Excerpt, ...]:
    """The first call: in the user's module where it is known there."""
    call = next(iter(calls), None)
    if call is None:
        return ()
    source = traced.back(call)
    label = f"looks for `{name}`"
    return traced.call(source[1], label) if source is not None else later(walk, call, label)
