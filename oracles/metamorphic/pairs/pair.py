"""A pair of computations that must agree, and whether they do in the VM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from ....generators.ops import table
from ....generators.ops.batching import Along
from ....generators.ops.record import Tolerance
from ...errors import Mismatch, Undefined, Unsupported
from ...evaluate import Evaluator
from ...execute import Failure, Plan, execute
from ...inspect import ops_used, public_functions
from ...values.comparison import difference, perturbed
from ...values.expectation import Expectation, copies
from ...values.expectations import Expectations, executes
from ...values.inputs import Kind, drawn
from .batch import followed

BLIND = (Kind.WHOLE, Kind.POSITIVE)
"""Numbers for functions that the evaluator does not know: nothing unusual comes of them."""

PHASES = (0, 1)

_FRAGILE = """
argmax argmin argsort astype bucketize ceil divide dynamic_strided_slice floor floor_divide
floor_mod gather_elements gather_nd index_put index_tensor left_shift mod multinomial_from_uniform
nonzero one_hot power quantize right_shift round scatter_elements scatter_nd sign sort take topk
trunc unique
"""

FRAGILE = frozenset(f"relax.{name}" for name in _FRAGILE.split())
"""Operators with operands for which nothing is defined, or that make leaps of rounding errors:
where no evaluation has shown that neither happens, the pair is not compared."""

PACKED = frozenset(
    f"relax.{name}" for name in ("call_packed", "call_pure_packed", "call_dps_packed", "print")
)
"""What the evaluator need not know either."""


class PairFault(RuntimeError):
    """The two sides of a pair do not mean the same: relaxfuzz's mistake, no finding."""


@dataclass(frozen=True, slots=True)
class Question:
    """One call of a function of the module, and the call that must agree with it."""

    function: str
    args: list[Any]
    twin_args: list[Any]
    known: Expectation | None
    """The evaluated result of the module's side; None where the evaluator lacks something."""
    along: Along = None
    order: Sequence[int] | None = None
    """Given: the twin's result follows the module's in this order, see `batch.followed`."""

    def want(self, value: Any) -> Any:
        """From the module's result, what the twin's must be."""
        return value if self.order is None else followed(value, self.along, self.order)

    def have(self, value: Any) -> Any:
        """From the twin's result, what is compared with that."""
        return value if self.order is None else followed(value, self.along)

    def plan(self) -> Plan:
        """The module's call."""
        return _call(self.function, self.args)

    def twin_plan(self) -> Plan:
        """The twin's call."""
        return _call(self.function, self.twin_args)


@dataclass(frozen=True, slots=True)
class Pair:
    """A module and its twin, which may be the module itself, and what to ask them."""

    mod: tvm.IRModule
    twin: tvm.IRModule
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """A question to which the twin gives another answer."""

    question: Question
    wrong: str
    """"values: expected ... but got ...": what the twin gives, and what the module does."""
    left: Any
    """The module's result."""
    right: Any
    """The twin's, or the failure that came instead."""
    tolerance: Tolerance
    shaken: tuple[Any, ...]

    @property
    def kind(self) -> str:
        """ "values", "shape", "dtype", "structure" or "results" (the VM raises)."""
        return self.wrong.split(":", 1)[0].split(" (", 1)[0]


def _call(function: str, args: list[Any]) -> Plan:
    return lambda run: run(function, copies(args))


def questions(mod: tvm.IRModule, drawn_for: tvm.IRModule | None = None) -> Iterator[Question]:
    """What to ask the public functions of a module, the same arguments on both sides.

    Args:
        drawn_for: the module whose functions the arguments are for; None: `mod` itself.
    """
    every = Expectations(mod if drawn_for is None else drawn_for)
    for gvar, func in public_functions(mod):
        name = str(gvar.name_hint)
        if not executes(func):
            continue
        known = tuple(every.of(name))
        for e in known:
            own = e if drawn_for is None else _evaluated(mod, e)
            if own is not None:
                yield Question(name, e.args, e.args, own)
        if not known and _robust(mod, every, name):
            of = func if drawn_for is None else drawn_for[name]
            for seed, kind in enumerate(BLIND):
                try:
                    args = drawn(of, kind, seed)
                except Unsupported:
                    break
                yield Question(name, args, args, None)


def _evaluated(mod: tvm.IRModule, e: Expectation) -> Expectation | None:
    try:
        result = Evaluator(mod).run(e.function, copies(e.args))
    except (Unsupported, Mismatch, Undefined):
        return None
    return Expectation(mod, e.function, e.args, result, e.kind)


def _robust(mod: tvm.IRModule, every: Expectations, name: str) -> bool:
    """No operator that the function reaches can do what is not defined, or makes leaps."""
    ops: set[str] = set()
    for one in every.reached(name):
        func = mod[one]
        if not isinstance(func, relax.Function):
            return False
        ops |= {op for op in ops_used(func) if op.startswith("relax.")}
    return all(
        op in PACKED or (op not in FRAGILE and op.removeprefix("relax.") in table) for op in ops
    )


def verify(pair: Pair) -> None:
    """Ask the evaluator whether the sides agree.

    Raises:
        PairFault: they do not.
    """
    for q in pair.questions:
        if q.known is None:
            continue
        try:
            value = Evaluator(pair.twin).run(q.function, copies(q.twin_args))
        except (Unsupported, Undefined):
            continue
        except Mismatch as error:
            raise PairFault(f"{q.function}: the twin refuses its arguments: {error}") from error
        allowed, shaken = q.known.bounds()
        moved = tuple(map(q.want, shaken or ()))
        wrong = difference(q.want(q.known.result), q.have(value), moved, allowed)
        if wrong is not None and shaken is not None:
            raise PairFault(f"{q.function}: evaluated, the sides differ: {wrong}\n{pair.twin}")


def compare(pair: Pair, pipeline: str) -> Difference | None:
    """The first difference in the VM that neither rounding nor a known wrong value explains.

    A module that does not compute what NumPy does is left to the oracle for that.
    """
    asked = pair.questions
    left = [p for q in asked for p in (q.plan(), *_shaking(q))]
    right = [q.twin_plan() for q in asked]
    if pair.twin.same_as(pair.mod):
        both = execute(pair.mod, [*left, *right], pipeline)
        if not isinstance(both, list):
            return None
        ran, answers = both[: len(left)], both[len(left) :]
    else:
        one = execute(pair.mod, left, pipeline)
        if not isinstance(one, list) or all(isinstance(value, Failure) for value in one):
            return None
        other = execute(pair.twin, right, pipeline)
        if not isinstance(other, list):
            return None
        ran, answers = one, other
    values = iter(ran)
    for q, answer in zip(asked, answers, strict=True):
        value, *others = [next(values) for _ in range(1 + len(_shaking(q)))]
        found = _difference(q, value, answer, others)
        if found is not None:
            return found
    return None


def _shaking(q: Question) -> list[Plan]:
    """Calls with arguments that are slightly off, where only the VM can compute the results."""
    if q.known is not None:
        return []
    return [_call(q.function, [perturbed(arg, phase) for arg in q.args]) for phase in PHASES]


def _difference(q: Question, value: Any, answer: Any, others: list[Any]) -> Difference | None:
    if isinstance(value, Failure) or any(isinstance(other, Failure) for other in others):
        return None
    e = q.known
    if e is not None and e.differs(value) is not None:
        return None
    if isinstance(answer, Failure):
        raised = f"results (the VM raised {answer.error}): {answer.text}"
        return Difference(q, raised, value, answer, Tolerance(), ())
    want, have = q.want(value), q.have(answer)
    if difference(want, have) is None and e is None:
        return None
    allowed, shaken = (Tolerance(), tuple(others)) if e is None else e.bounds()
    if shaken is None:
        return None
    moved = tuple(map(q.want, shaken))
    wrong = difference(want, have, moved, allowed)
    if wrong is None or (e and difference(q.want(e.result), have, moved, allowed) is None):
        return None
    return Difference(q, wrong, value, answer, allowed, shaken)
