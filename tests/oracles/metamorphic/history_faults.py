"""Passes that remember other modules, and correct ones that only look so; and their module."""

# ruff: noqa: RET504  (TVMScript reads statements, it does not execute them)

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

Pass = tvm.transform.Pass
Transform = Callable[[tvm.IRModule], tvm.IRModule]


def module() -> tvm.IRModule:
    @I.ir_module
    class Module:
        @R.function(private=True)
        def helper(x: R.Tensor((6,), "float32")) -> R.Tensor((6,), "float32"):
            gv = R.multiply(x, x)
            return gv

        @R.function
        def main(x: R.Tensor((6,), "float32")) -> R.Tensor((6,), "float32"):
            cls = Module
            lv = R.add(x, R.const([1.0, 2, 3, 4, 5, 6], "float32"))
            gv = cls.helper(lv)
            return gv

    return Module


def _pass(name: str, transform: Transform) -> Pass:
    return tvm.transform.module_pass(lambda mod, context: transform(mod), opt_level=0, name=name)


def _with(mod: tvm.IRModule, change: Callable[[str, relax.Function], relax.Function]) -> Pass:
    return tvm.IRModule(
        {gvar: change(gvar.name_hint, func) for gvar, func in mod.functions_items()}
    )


_first: list[bool] = []


def marks_until_it_saw_a_subtraction() -> Pass:
    """A function that needs nothing ends all work, for good."""

    def change(name: str, func: relax.Function) -> relax.Function:
        if "R.subtract" in func.script():
            _first.append(True)
        return func if _first else func.with_attr("marked", True)

    return _pass("marks_until_it_saw_a_subtraction", lambda mod: _with(mod, change))


_seen: list[bool] = []


def marks_until_it_saw_many_subtractions() -> Pass:
    """As a pass that goes by addresses: it takes some time until one is used again."""

    def change(name: str, func: relax.Function) -> relax.Function:
        if "R.subtract" in func.script():
            _seen.append(True)
        return func if len(_seen) > 10 else func.with_attr("marked", True)

    return _pass("marks_until_it_saw_many_subtractions", lambda mod: _with(mod, change))


_scratch = tvm.runtime.tensor(np.zeros(1, "float32"))


def notes_into_one_array() -> Pass:
    """The note of a result lies in memory that the next one overwrites."""

    def change(name: str, func: relax.Function) -> relax.Function:
        if name != "main":
            return func
        _scratch.copyfrom(np.full(1, len(func.script()), "float32"))
        return func.with_attr("length", relax.const(_scratch))

    return _pass("notes_into_one_array", lambda mod: _with(mod, change))


_sizes: dict[str, str] = {}


def remembers_functions_by_name() -> Pass:
    """What a private function was like is looked up by its name."""

    def change(name: str, func: relax.Function) -> relax.Function:
        if name == "main":
            return func
        op = func.body.blocks[0].bindings[0].value.op.name
        return func.with_attr("operator", _sizes.setdefault(name, op))

    return _pass("remembers_functions_by_name", lambda mod: _with(mod, change))


FAULTS = {
    "another result": marks_until_it_saw_a_subtraction,
    "an earlier result": notes_into_one_array,
    "the same names": remembers_functions_by_name,
}


def marks() -> Pass:
    return _pass("marks", lambda mod: _with(mod, lambda _, func: func.with_attr("marked", True)))


_known: dict[str, str] = {}


def remembers_functions_by_text() -> Pass:
    """A cache with the right key."""

    def change(name: str, func: relax.Function) -> relax.Function:
        op = func.body.blocks[0].bindings[0].value.op.name
        return func.with_attr("operator", _known.setdefault(tvm.ir.save_json(func), op))

    return _pass("remembers_functions_by_text", lambda mod: _with(mod, change))


def writes_names() -> Pass:
    """Its result depends on names, which another oracle reports."""
    return _pass(
        "writes_names", lambda mod: _with(mod, lambda name, func: func.with_attr("label", name))
    )


CORRECT = (marks, remembers_functions_by_text, writes_names)
