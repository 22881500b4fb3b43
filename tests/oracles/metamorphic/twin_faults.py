"""Passes that treat modules differently that mean the same, and the module that shows it."""

# ruff: noqa: RET504  (TVMScript reads statements, it does not execute them)

from __future__ import annotations

from collections.abc import Callable

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

Pass = tvm.transform.Pass


def module() -> tvm.IRModule:
    """Two public functions, and a private one."""

    @I.ir_module
    class Module:
        @R.function(private=True)
        def helper(x: R.Tensor((6,), "float32")) -> R.Tensor((6,), "float32"):
            with R.dataflow():
                gv = R.nn.relu(x)
                R.output(gv)
            return gv

        @R.function
        def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((6,), "float32"):
            cls = Module
            lv = R.reshape(x, (6,))
            gv = cls.helper(lv)
            return gv

        @R.function
        def other(x: R.Tensor((3, 2), "float32")) -> R.Tensor((6,), "float32"):
            with R.dataflow():
                gv = R.reshape(x, (6,))
                R.output(gv)
            return gv

    return Module


def _pass(name: str, transform: Callable[[tvm.IRModule], tvm.IRModule]) -> Pass:
    return tvm.transform.module_pass(lambda mod, context: transform(mod), opt_level=0, name=name)


def _marking(name: str, chosen: Callable[[tvm.IRModule], list[str]]) -> Pass:
    """Gives an attribute to the functions that are chosen by name."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        names = chosen(mod)
        return tvm.IRModule(
            {
                gvar: func.with_attr("marked", True) if gvar.name_hint in names else func
                for gvar, func in mod.functions_items()
            },
            attrs=mod.attrs,
        )

    return _pass(name, transform)


def _names(mod: tvm.IRModule) -> list[str]:
    return [str(gvar.name_hint) for gvar in mod.functions]


def _nodes(func: relax.Function, kind: type) -> list[relax.Expr]:
    found: list[relax.Expr] = []
    relax.analysis.post_order_visit(
        func, lambda e: found.append(e) if isinstance(e, kind) else None
    )
    return found


# Passes that keep the promises


def does_nothing() -> Pass:
    return _pass("DoesNothing", lambda mod: mod)


def marks_all() -> Pass:
    return _marking("MarksAll", _names)


def makes_blocks_ordinary() -> Pass:
    return relax.transform.ToNonDataflow()


def inlines() -> Pass:
    return relax.transform.InlinePrivateFunctions()


def legalizes() -> Pass:
    return relax.transform.LegalizeOps()


CORRECT = (does_nothing, marks_all, makes_blocks_ordinary, inlines, legalizes)


# Passes that do not


def works_on_the_first_function() -> Pass:
    return _marking("FirstFunction", lambda mod: _names(mod)[:1])


def raises_where_another_function_is_first() -> Pass:
    def chosen(mod: tvm.IRModule) -> list[str]:
        if _names(mod)[0] != "helper":
            raise ValueError("Expected helper to be the first function")
        return []

    return _marking("Raises", chosen)


def knows_modules_by_identity() -> Pass:
    known: list[tvm.IRModule] = []

    def chosen(mod: tvm.IRModule) -> list[str]:
        if not known:
            known.append(mod)
        return ["main"] if known[0].same_as(mod) else []

    return _marking("ByIdentity", chosen)


def asks_where_code_was_written() -> Pass:
    def chosen(mod: tvm.IRModule) -> list[str]:
        return [
            name
            for name in _names(mod)
            if any(call.span is not None for call in _nodes(mod[name], relax.Call))
        ]

    return _marking("ByPlace", chosen)


def leaves_a_bare_range() -> Pass:
    """An attribute that TVMScript prints and does not read."""

    def transform(mod: tvm.IRModule) -> tvm.IRModule:
        extent = tvm.ir.Range(0, 4)
        return tvm.IRModule(
            {gvar: func.with_attr("extent", extent) for gvar, func in mod.functions_items()}
        )

    return _pass("Range", transform)


FAULTS: dict[str, tuple[Callable[[], Pass], ...]] = {
    "json": (knows_modules_by_identity,),
    "source": (asks_where_code_was_written,),
    "function-order": (works_on_the_first_function, raises_where_another_function_is_first),
    "tvmscript": (leaves_a_bare_range,),
}
"""For each oracle the passes that it must catch."""
