"""The references of operators against the VM, on whole tensors of extremes of each dtype.

Each outcome is one of these: the reference gives what the VM gives; it gives something else, which
is a mistake of the record or a known difference of TVM's; the record says that nothing is promised
or what is undefined. Nothing may be refused that NumPy and compiled code define alike.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

from relaxfuzz.generators.choices import Choices
from relaxfuzz.generators.functions import finish
from relaxfuzz.generators.module_scope import ModuleScope
from relaxfuzz.generators.ops import OP_FAMILIES, table
from relaxfuzz.generators.ops.record import Op, Tolerance
from relaxfuzz.generators.ops.undefined import INDEXED, Behaviour, accumulation
from relaxfuzz.generators.ops.variation import DTYPES, accepted, dtypes
from relaxfuzz.oracles.errors import Mismatch, Undefined, Unsupported
from relaxfuzz.oracles.evaluate import Evaluator
from relaxfuzz.oracles.execute import Failure, fork
from relaxfuzz.oracles.expected.comparison import difference
from relaxfuzz.oracles.expected.inputs import TRIES, InputKind, drawn
from tests.faulty_kernels import FAULTY_KERNELS
from tests.generators.test_ops import (
    BATCH,
    DIED,
    KINDS,
    STATIC,
    called,
    differences,
    evaluate,
    kills_a_dtype,
    moved,
    random_bytes,
    results,
    scope_for,
    slow_to_build,
    unloadable,
)

DRAWS = (
    (InputKind.ENDS, TRIES),
    (InputKind.PRECISION, 3),
    (InputKind.SPECIAL, 1),
    (InputKind.BOUNDARY, 1),
)
"""Kinds of arguments, and how many sets of each."""

TRAPS = (Behaviour.DIVISION, Behaviour.INDEX)
"""What ends the process, or reads what it must not."""


DIVISIONS = ("divide", "floor_divide", "mod", "floor_mod")
"""Where nothing is promised of a value on the way, a divisor may be 0 all the same."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one call."""

    op: str
    dtypes: tuple[str, ...]
    refused: str
    """Why the record gives no result; empty: it gives one."""
    differs: str
    """How the VM's result differs; empty: it does not."""
    args: list[Any]

    @property
    def kind(self) -> tuple[str, str]:
        """The operator, and what numbers it is given."""
        return self.op, self.dtypes[0].rstrip("0123456789")

    @property
    def of_integers(self) -> bool:
        """All operands whose dtype is known hold integers."""
        known = [dtype for dtype in self.dtypes if dtype]
        return bool(known) and all("int" in dtype for dtype in known)

    def __str__(self) -> str:
        text = f"{self.op} of {', '.join(self.dtypes)}: {self.refused} {self.differs}"
        return f"{text}\n  {self.args}"


def outcomes(ops: Sequence[Op], numbers: Sequence[int], draws: Any = DRAWS) -> Iterator[Outcome]:
    """What comes of these examples of the operators."""
    module = ModuleScope(STATIC)
    calls: dict[relax.GlobalVar, Op] = {}
    for op in ops:
        if op.executes and op.name not in FAULTY_KERNELS:
            for number in numbers:
                gvar = add_call(op, number, module)
                func = module.functions[gvar]
                known = differences(op, func) & {*KINDS}
                if not (
                    known or unloadable(func) or kills_a_dtype(func) or slow_to_build(op, func)
                ):
                    calls[gvar] = op
    gvars = list(calls)
    for start in range(0, len(gvars), BATCH):
        functions = {gvar: module.functions[gvar] for gvar in gvars[start : start + BATCH]}
        yield from _outcomes(functions, calls, draws)


def add_call(op: Op, number: int, module: ModuleScope) -> relax.GlobalVar:
    """Add a function that calls the operator once, its tensors of the dtype of this number if type
    inference accepts that."""
    c, s = Choices(random_bytes(op, number)), scope_for(op, number, module)
    s.dataflow(op.pure)
    s.exporting = True
    call = op.build(c, s)
    others = list(itertools.islice(dtypes(s, call), len(DTYPES)))
    own = [other for dtype, other in zip(DTYPES, others, strict=False) if _takes(op, dtype)]
    found = accepted(s, call, own[number % len(own)]) if own else None
    if found is not None and s.adopt(found[1]):
        call = found[0]
    result = s.bind(call)
    s.pure = op.pure
    s.close()
    func = finish(s, result)
    name = f"{op.name.replace('.', '_')}_{number}"
    module.add(name, func.with_attr("global_symbol", name))
    return list(module.functions)[-1]


def _takes(op: Op, dtype: str) -> bool:
    """The record says what the operator does with it: one unsigned dtype stands for all."""
    return dtype in op.dtypes or (dtype.startswith("uint") and "uint8" in op.dtypes)


def _outcomes(
    functions: dict[relax.GlobalVar, relax.Function], ops: dict[relax.GlobalVar, Op], draws: Any
) -> Iterator[Outcome]:
    mod = tvm.IRModule(functions)
    cases: list[tuple[relax.GlobalVar, list[Any], str, Any]] = []
    for gvar, func in functions.items():
        for kind, count in draws:
            for seed in range(count):
                args = drawn(func, kind, seed * len(InputKind))
                found = judged(mod, ops[gvar], gvar, args)
                if found is not None:
                    cases.append((gvar, args, *found))
    actuals = results(functions, [case[:2] for case in cases], "default")
    for (gvar, args, refused, expected), actual in zip(cases, actuals, strict=True):
        if actual is DIED or isinstance(actual, Failure):
            wrong = str(actual)[:200]
        else:
            wrong = _difference(mod, gvar, args, expected, actual, ops[gvar].tolerance)
        call = called(ops[gvar], functions[gvar])
        dtypes = tuple(str(getattr(arg.ty, "dtype", "")) for arg in call.args)
        yield Outcome(ops[gvar].name, dtypes, refused, wrong, args)


def _difference(
    mod: tvm.IRModule,
    gvar: relax.GlobalVar,
    args: list[Any],
    expected: Any,
    actual: Any,
    tolerance: Tolerance,
) -> str:
    """How two results differ. Where numbers of all sizes cancel out, what a tiny change of the
    operands does is no error."""
    with np.errstate(all="ignore"):
        if difference(expected, actual, (), tolerance) is None:
            return ""
        near = [[moved(arg, (turn + at) % 3) for at, arg in enumerate(args)] for turn in range(3)]
        shaken = [evaluate(mod).run(gvar.name_hint, each) for each in near]
        return difference(expected, actual, shaken, tolerance) or ""


def judged(
    mod: tvm.IRModule, op: Op, gvar: relax.GlobalVar, args: list[Any]
) -> tuple[str, Any] | None:
    """Why the record refuses the call, and what its reference gives nevertheless; None if it gives
    nothing, or if to run such a call is dangerous."""
    refused = ""
    try:
        Evaluator(mod).run(gvar.name_hint, args)
    except Undefined as error:
        refused = str(error).split(":", 1)[0]
    except Unsupported:
        refused = str(Behaviour.OPEN)
    if refused in TRAPS or (refused and (op.undefined in INDEXED or op.name in DIVISIONS)):
        return None
    try:
        return refused, evaluate(mod).run(gvar.name_hint, args)
    except (Unsupported, Undefined, Mismatch):
        return None


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are built at once here, also while the machine is busy."""
    monkeypatch.setattr(fork, "WALL_SECONDS", 60.0)


ENDS_WIN = "the reduction starts with index -1 at the end of the dtype, which beats equal ones"

KNOWN = {
    ("argmax", "int"): ENDS_WIN,
    ("argmax", "uint"): ENDS_WIN,
    ("argmin", "int"): ENDS_WIN,
    ("argmin", "uint"): ENDS_WIN,
    ("scatter_elements", "int"): "LegalizeOps fails on the mean of integers",
    ("scatter_elements", "uint"): "LegalizeOps fails on the mean of integers",
    ("clip", "uint"): "LegalizeOps fails on a negative bound of unsigned integers",
    ("cumsum", "bool"): "the build fails without the dtype that the documentation asks for",
    ("cumprod", "bool"): "the build fails without the dtype that the documentation asks for",
}
"""Operators and kinds of numbers for which this TVM does not compute what it documents."""

LEFT_OPEN = {
    "bucketize": "the boundaries must increase",
    "astype": "NaN has no truth value",
    **{
        name: "when integers that a float does not hold are converted is not documented"
        for name, op in table.items()
        if op.undefined is accumulation
    },
}
"""Operators of integers for which nothing is promised on some extremes, though they may agree."""

QUICK = ("binary",)


@pytest.mark.parametrize("family", QUICK)
def test_extremes(family: str) -> None:
    _compare(OP_FAMILIES[family], range(6))


def _compare(ops: Sequence[Op], numbers: Sequence[int]) -> None:
    found = list(outcomes(ops, numbers))
    wrong = [o for o in found if o.differs and not o.refused and o.kind not in KNOWN]
    assert not wrong, f"{len(wrong)} of {len(found)}\n" + "\n".join(map(str, wrong[:10]))
    refused = [o for o in found if o.refused == Behaviour.OPEN and o.of_integers and not o.differs]
    refused = [o for o in refused if o.op not in LEFT_OPEN]
    assert not refused, "\n".join(map(str, refused[:10]))
    assert any(not o.refused for o in found) or not found
