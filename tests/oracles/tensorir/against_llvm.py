"""The evaluator against LLVM: `python -m tests.oracles.tensorir.against_llvm 300 --seed 0`.

Generated PrimFuncs are evaluated at each stage of `tirx.build` for a CPU, and compared with what
LLVM compiles of the first one without optimization. Where the last stages agree with compiled code
and earlier ones do not, a pass of TVM has changed the values. Where the last one does not agree,
the evaluator is wrong, or TVM's code generation is: that is to be explained. Functions for which
the sanitizer finds a fault, or which overflow, have no values to compare.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tvm
from tvm import tirx

from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.generators.prim_funcs import prim_funcs
from relaxfuzz.generators.stages import TENSORIR, Stage, step, steps
from relaxfuzz.oracles.errors import Mismatch, Undefined, Unsupported
from relaxfuzz.oracles.expected.expectation import Expectation
from relaxfuzz.oracles.expected.expectations import Expectations
from relaxfuzz.oracles.expected.inputs import InputKind
from relaxfuzz.oracles.tensorir import SMALL, sanitize
from relaxfuzz.oracles.text.messages import headline

from .native import copies, in_fork, run

KINDS = (InputKind.WHOLE, InputKind.FRACTION, InputKind.POSITIVE)
"""Of arguments: the first one is taken for which a function is defined."""

LIMIT = 120
"""Seconds for one module."""

EQUAL, DIFFERENT = "equal", "different"


@dataclass
class Compared:
    """What the evaluator says of one function."""

    name: str
    native: str = EQUAL
    """Why there is nothing to compare with, if so."""
    stages: dict[Stage, str] = field(default_factory=dict)
    """By stage: "equal", "different", or why it is not evaluated."""
    detail: str = ""
    """The first difference."""
    by: str = ""
    """The pass behind which the evaluator agrees with compiled code, and before which it does not.
    """

    @property
    def unexplained(self) -> bool:
        """Compiled code differs from the module at the last stage."""
        return bool(self.stages) and [*self.stages.values()][-1] == DIFFERENT


EVALUATED = tuple(TENSORIR)[: list(TENSORIR).index(Stage.PACKED)]
"""The stages before the packed API."""


def passes_of(mod: tvm.IRModule) -> Iterator[tuple[Stage, str, tvm.IRModule | None]]:
    """The module behind each pass of the pipeline; None from where one fails."""
    at: tvm.IRModule | None = mod
    for stage in EVALUATED:
        for name in steps(stage):
            try:
                at = None if at is None else step(at, name)
            except Exception:
                at = None
            yield stage, name, at


def stages_of(mod: tvm.IRModule) -> dict[Stage, tvm.IRModule | None]:
    """The module at each stage; None from where a pass fails."""
    return {Stage.TENSORIR: mod, **{stage: at for stage, _, at in passes_of(mod)}}


def compare(seed: int, index: int) -> list[Compared]:
    """The functions of one generated module, compared at all stages."""
    return compared(example(prim_funcs(), seed, index))


def compared(mod: tvm.IRModule) -> list[Compared]:
    """The functions of a module, compared at all stages."""
    expectations = Expectations(mod)
    calls: dict[str, Expectation] = {}
    found: list[Compared] = []
    for gvar, func in mod.functions_items():
        name = str(gvar.name_hint)
        call = next(expectations.of(name, kinds=KINDS), None)
        why = (
            expectations.why_not(name) or "no arguments" if call is None else _undefined(func, call)
        )
        if call is None or why:
            found.append(Compared(name, why or ""))
        else:
            calls[name] = call
    natives: dict[str, list[Any]] = {}
    for name, call in calls.items():
        native = in_fork(lambda n=name, c=call: _compiled(mod[n], c.args), LIMIT // 4)
        if native is None:
            found.append(Compared(name, "the build fails, or what it builds dies"))
        else:
            natives[name] = native
    results = {name: Compared(name) for name in natives}
    for stage, at in stages_of(mod).items():
        for name, one in results.items():
            text, wrong = _at(at, calls[name], natives[name])
            one.stages[stage] = text
            one.detail = one.detail or (f"{stage}: {wrong}" if wrong else "")
    for name, one in results.items():
        if one.detail and not one.unexplained:
            one.by = _changing(mod, calls[name], natives[name])
    return [*found, *results.values()]


def _changing(mod: tvm.IRModule, call: Expectation, native: list[Any]) -> str:
    """The last pass behind which the evaluator agrees with compiled code, and before did not."""
    before, found = DIFFERENT, ""
    for _, name, at in passes_of(mod):
        text, _ = _at(at, call, native)
        if text == EQUAL and before == DIFFERENT:
            found = name
        before = text if text in (EQUAL, DIFFERENT) else before
    return found


def _compiled(func: tirx.PrimFunc, args: list[Any]) -> list[Any] | None:
    """The buffers as compiled code leaves them; None where the build fails."""
    try:
        left = run({"main": func}, {"main": args})["main"]
    except Exception:  # passes are judged elsewhere
        return None
    return [x for x in left if isinstance(x, np.ndarray)]


def _undefined(func: tirx.PrimFunc, call: Expectation) -> str:
    """What the function does that has no meaning on these arguments."""
    try:
        fault = sanitize(func, copies(call.args), SMALL)
    except (Unsupported, Mismatch, Undefined) as error:
        return f"sanitizer: {type(error).__name__}"
    if fault is not None:
        return fault.kind
    return "overflow" if call.overflows else ""


def _at(at: tvm.IRModule | None, call: Expectation, native: list[Any]) -> tuple[str, str | None]:
    """What the evaluator says of the function in a module, and where it differs."""
    if at is None:
        return "a pass fails", None
    here = Expectation(at, call.function, copies(call.args), None, call.kind)
    try:
        here.result = here.value()
    except (Unsupported, Mismatch, Undefined) as error:
        return f"{type(error).__name__}: {headline(str(error))}", None
    wrong = here.differs(tuple(native))
    if wrong is None and here.arbitrary:  # of the first stage, the sanitizer says that it is not
        wrong = "what nobody has written decides"
    return (EQUAL if wrong is None else DIFFERENT), wrong


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.oracles.tensorir.against_llvm")
    parser.add_argument("count", type=int, help="modules")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first module")
    options = parser.parse_args()
    said: dict[Stage, Counter[str]] = {stage: Counter() for stage in EVALUATED}
    without: Counter[str] = Counter()
    functions = unexplained = changed = 0
    for index in range(options.first, options.first + options.count):
        answers = in_fork(lambda i=index: compare(options.seed, i), LIMIT)
        if answers is None:
            without["the process died, or took too long"] += 1
            print(f"module {index}: the process died, or took too long", flush=True)
            continue
        for one in answers:
            functions += 1
            if not one.stages:
                without[one.native] += 1
            for stage, text in one.stages.items():
                said[stage][text] += 1
            if one.unexplained:
                unexplained += 1
                print(f"module {index}, {one.name}: DIFFERENT\n  {one.detail}", flush=True)
            elif one.detail:
                changed += 1
                print(f"module {index}, {one.name}: equal behind {one.by}", flush=True)
                print(f"  {one.detail}", flush=True)
    print(f"{functions} functions of {options.count} modules from number {options.first} on")
    for why, count in without.most_common():
        print(f"  not compared: {count} {why}")
    for stage, texts in said.items():
        total = sum(texts.values())
        evaluated = texts[EQUAL] + texts[DIFFERENT]
        share = 100 * evaluated / max(1, total)
        print(f"{stage}: {evaluated} of {total} evaluated ({share:.1f} %), {texts[EQUAL]} equal")
        for text, count in texts.most_common():
            if text not in (EQUAL, DIFFERENT):
                print(f"  {count} {text}")
    print(f"{unexplained} to be explained; in {changed} a pass changes the values")


if __name__ == "__main__":
    main()
