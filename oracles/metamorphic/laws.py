"""Laws of operators: code agrees with itself where nothing documents a single result.

An operator is called by itself, in functions of its own, on other numbers than the module has; see
`generators/ops/laws.py`. So neither what is wrong elsewhere in the module nor a value that nobody
has defined keeps a violation back. The operator is blamed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx

from ...generators.ops import table
from ...generators.ops.laws import Law, Trial, elements
from ...generators.ops.record import Tolerance
from ..composition import contract_of
from ..dtypes import dtype_of
from ..errors import Mismatch, Undefined, Unsupported
from ..evaluate import Evaluator
from ..execute import Plan, execute, from_numpy, to_numpy
from ..grades.grade import Grade
from ..identity import FailureKind
from ..inspect import calls_of, op_name, ops_used, relax_functions, static
from ..keys import computes
from ..oracle import Oracle
from ..pass_runs import PassRuns, digest
from ..silence import inventory
from ..silence.log import abstain
from ..text.standalone import nested_module, standalone
from ..text.value_reproducer import PIPELINE_TEXTS, assert_close, literal
from ..values.comparison import difference
from ..values.expectation import copies
from ..violation import Case, Journal, Violation

SHORT = 3
"""Size of each dimension of an operand that is not 1, where the operator takes such."""

LARGE = 4096
"""Elements of an operand that are too many where it does not."""

REMEMBERED = 4096
"""Verdicts on calls that are kept."""

WITH_NAN = ", with NaN among them"
"""The end of the key of a violation that ordinary numbers do not show."""


@dataclass(frozen=True, slots=True)
class Question:
    """A trial of a law, with the functions that make its calls."""

    op: str
    law: Law
    trial: Trial
    functions: tuple[str, ...]
    types: tuple[relax.Type, ...]
    """Of their results."""

    @property
    def broken(self) -> str:
        """The predicate of a sentence on an operator that breaks the law here."""
        return self.law.broken + (WITH_NAN if self.trial.nan else "")

    def plans(self) -> list[Plan]:
        """The calls, one by one."""
        return list(map(_plan, self.functions, self._operands))

    @property
    def _operands(self) -> list[list[Any]]:
        return [[arg for arg in call if isinstance(arg, np.ndarray)] for call in self.trial.calls]

    def wrong(self, results: Sequence[Any]) -> str | None:
        """The law is broken: the operands and results that show it."""
        if not all(map(_has_shape, self.types, results)):
            return None  # that is another finding, and so is what raises
        try:
            seen = views(self.trial, results)
        except IndexError as error:
            return f"an index outside of the operand: {error}"
        if self.trial.bounds is not None:
            return _beyond(seen[0], self.trial.bounds)
        others = (difference(seen[0], other, tolerance=Tolerance()) for other in seen[1:])
        return next(filter(None, others), None)

    def shown(self, results: Sequence[Any]) -> str:
        """Operands and results, for people."""
        pairs = zip(self._operands, results, strict=True)
        return "\n".join(
            f"{self.op}({', '.join(map(_short, args))}) = {_short(result)}"
            for args, result in pairs
        )


def _has_shape(ty: relax.Type, value: Any) -> bool:
    """The structure and the shapes are those of the type, whatever the dtypes are."""
    if isinstance(ty, relax.TupleType):
        fits = isinstance(value, tuple) and len(value) == len(ty.fields)
        return fits and all(map(_has_shape, ty.fields, value))
    if not isinstance(value, np.ndarray):
        return False
    if static(ty):
        return bool(value.shape == tuple(int(dim.value) for dim in ty.shape.values))
    return ty.ndim in (-1, value.ndim)


def _plan(function: str, args: list[Any]) -> Plan:
    return lambda run: run(function, copies(args))


def views(trial: Trial, results: Sequence[Any]) -> list[Any]:
    """The parts of the results that the law relates."""
    return [
        eval(view, {"np": np, "result": result, "args": args})
        for view, result, args in zip(trial.views, results, trial.calls, strict=True)
    ]


def _beyond(value: Any, bounds: tuple[float, float]) -> str | None:
    low, high = bounds
    exact = np.asarray(value).astype("float64")
    leeway = 0.0 if value.dtype.kind in "iub" else _leeway(value, bounds)
    if bool(((exact >= low - leeway) & (exact <= high + leeway)).all()):
        return None
    return f"values: expected numbers from {low:g} to {high:g} but got {_short(value)}"


def _leeway(value: Any, bounds: tuple[float, float]) -> float:
    finite = max((abs(bound) for bound in bounds if np.isfinite(bound)), default=0.0)
    tolerance: float = getattr(Tolerance(), str(value.dtype), Tolerance().float16)
    return tolerance * (1 + finite)


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_short, value))})"
    return np.array2string(np.asarray(value), threshold=12, precision=6).replace("\n", " ")[:200]


# Questions


@dataclass(frozen=True, slots=True)
class Subject:
    """One kind of call of an operator, and the questions that its laws ask."""

    op: str
    mod: tvm.IRModule
    """A function for each list of types of operands."""
    questions: tuple[Question, ...]


def subjects(mod: tvm.IRModule) -> Iterator[Subject]:
    """The kinds of calls in the module whose operators have laws."""
    seen: list[relax.Call] = []
    for _, func in relax_functions(mod):
        for call in calls_of(func):
            name = op_name(call) or ""
            record = table.get(name.removeprefix("relax."))
            if record is None or not record.laws or not record.executes:
                continue
            small = _small(call)
            if small is None or any(tvm_ffi.structural_equal(small, each) for each in seen):
                continue
            seen.append(small)
            if subject := _subject(small, name, record.laws, f"f{len(seen)}"):
                yield subject


def _subject(call: relax.Call, op: str, laws: Sequence[Law], prefix: str) -> Subject | None:
    operands = [_operand(arg) for arg in call.args]
    functions: dict[str, relax.Function] = {}
    names: dict[tuple[Any, ...], str] = {}

    def name_of(args: Sequence[Any]) -> str:
        types = tuple((arg.shape, str(arg.dtype)) for arg in args if isinstance(arg, np.ndarray))
        if types not in names:
            name = names[types] = f"{prefix}_{len(names)}"
            functions[name] = _function(call, args).with_attr("global_symbol", name)
        return names[types]

    def question(law: Law, trial: Trial) -> Question:
        called = tuple(map(name_of, trial.calls))
        return Question(op, law, trial, called, tuple(functions[name].ret_ty for name in called))

    try:
        asked = tuple(
            question(law, trial) for law in laws for trial in law.trials(operands, call.attrs)
        )
    except TypeError:  # type inference refuses an operand of another rank
        return None
    return Subject(op, tvm.IRModule(functions), asked) if asked else None


def _operand(arg: relax.Expr) -> Any:
    ty = arg.ty
    if not isinstance(ty, relax.TensorType):
        return arg
    return elements([int(dim.value) for dim in ty.shape.values], dtype_of(str(ty.dtype)))


def _small(call: relax.Call) -> relax.Call | None:
    """The same call on short tensors that are parameters; None where a type leaves it open."""
    for longest in (SHORT, LARGE):
        args = [_parameter(arg, longest) for arg in call.args]
        if any(arg is None for arg in args):
            return None
        made = relax.Call(call.op, args, call.attrs, call.ty_args)
        try:
            made = relax.BlockBuilder().normalize(made)
        except Exception:  # a window, say, is longer
            continue
        if all(map(_positive, (made, *args))):
            return made
    return None


def _parameter(arg: relax.Expr, longest: int) -> relax.Expr | None:
    ty = arg.ty
    if not isinstance(ty, relax.TensorType):
        return arg
    if ty.dtype is None or not isinstance(ty.shape, relax.ShapeExpr):
        return None
    sizes = [_size(dim, longest) for dim in ty.shape.values]
    return relax.Var("x", relax.TensorType(sizes, str(ty.dtype)))


def _size(dim: tirx.Expr, longest: int) -> int:
    """Its own up to the longest; but few sizes among short ones, so that calls are alike."""
    size = int(dim.value) if isinstance(dim, tirx.IntImm) else SHORT
    return min(size, longest) if longest > SHORT or size < 2 else SHORT


def _positive(expr: relax.Expr) -> bool:
    """No tensor among its values is known to be empty, or to be large."""
    if isinstance(expr.ty, relax.TupleType):
        shapes = [getattr(field, "shape", None) for field in expr.ty.fields]
    else:
        shapes = [getattr(expr.ty, "shape", None)]
    known = [shape.values for shape in shapes if isinstance(shape, relax.ShapeExpr)]
    sizes = [[int(d.value) for d in dims if isinstance(d, tirx.IntImm)] for dims in known]
    return all(min(dims, default=1) > 0 and np.prod(dims) <= LARGE for dims in sizes)


def _function(call: relax.Call, args: Sequence[Any]) -> relax.Function:
    """A function of the call whose parameters take the arrays."""
    params: list[relax.Var] = []

    def operand(arg: Any) -> relax.Expr:
        if not isinstance(arg, np.ndarray):
            return arg
        ty = relax.TensorType(arg.shape, str(arg.dtype))
        params.append(relax.Var(f"x{len(params)}", ty))
        return params[-1]

    made = relax.Call(call.op, list(map(operand, args)), call.attrs, call.ty_args)
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(made))
    return builder.get()["main"]


# One pass that makes code of operators


def check(runs: PassRuns) -> tuple[Violation, ...]:
    """The laws that the code breaks which a pass makes of an operator, in NumPy and in the VM."""
    after = runs.changed_result()
    if after is None:
        return ()
    found: dict[tuple[str, ...], Violation] = {}
    judged, left = False, ops_used(after)
    for subject in subjects(runs.mod):
        if subject.op in left:
            continue
        broken = _broken(runs, subject)
        judged |= broken is not None
        for each in broken or ():
            found.setdefault((each.pass_name, *each.key), each)
    if not judged:
        abstain(inventory.NO_PROMISE, "the pass makes code of no operator that has laws")
    return tuple(found.values())


def _broken(runs: PassRuns, subject: Subject) -> tuple[Violation, ...] | None:
    """What is wrong with one kind of call; None where the pass makes no code of it.

    Small calls are the same in many modules. A user's own pass may remember the last one.
    """
    if runs.call.factory is not None:
        return _judged(runs, subject)
    known = str(runs.call), digest(subject.mod)
    if known not in _verdicts:
        if len(_verdicts) > REMEMBERED:
            _verdicts.clear()
        _verdicts[known] = _judged(runs, subject)
    return _verdicts[known]


_verdicts: dict[tuple[str, int], tuple[Violation, ...] | None] = {}
"""By pass of TVM and call."""


def _judged(runs: PassRuns, subject: Subject) -> tuple[Violation, ...] | None:
    after = _lowered(runs, subject.mod)
    if after is None:
        return None
    found: dict[tuple[str, ...], Violation] = {}
    runs.step("evaluate an operator")
    for question in subject.questions:
        if (question.broken,) not in found and _suspicious(question, after):
            violation = _violation(question, execute(after, question.plans()))
            if violation is not None:
                found[violation.key] = violation
    return tuple(found.values())


def _lowered(runs: PassRuns, mod: tvm.IRModule) -> tvm.IRModule | None:
    """What the pass makes of a module; None where an operator is left."""
    if runs.contract.requires(mod) is not None:
        return None
    runs.step("apply the pass to an operator")
    after = PassRuns(mod, runs.calls, runs.contract, alone=True).direct.mod
    if after is None or any(map(computes, ops_used(after))):
        return None
    return after


def _suspicious(question: Question, after: tvm.IRModule) -> bool:
    """The law is broken in NumPy."""
    try:
        results = [plan(Evaluator(after, wraps=True).run) for plan in question.plans()]
    except (Unsupported, Mismatch, Undefined):
        return False
    return question.wrong(results) is not None


def _violation(question: Question, results: Any) -> Violation | None:
    if not isinstance(results, list) or (wrong := question.wrong(results)) is None:
        return None
    detail = f"{wrong}\n{question.shown(results)}"
    title = f"{question.op} {question.broken}"
    return Violation(title, detail, (question.broken,), pass_name=question.op)


# Whole builds


def of_pipeline(mod: tvm.IRModule, pipeline: str, journal: Journal) -> tuple[Violation, ...]:
    """The laws that a build by the pipeline breaks."""
    journal("execute operators")
    asked = list(subjects(mod))
    if not asked:
        abstain(inventory.NO_PROMISE, "no operator of the module has laws")
        return ()
    functions = {name: func for each in asked for name, func in _named(each.mod)}
    questions = [question for each in asked for question in each.questions]
    together = execute(tvm.IRModule(functions), _plans(questions), pipeline)
    if isinstance(together, list):
        return _of_results(questions, together)
    found: dict[tuple[str, ...], Violation] = {}
    for each in asked:  # one of them is not built
        results = execute(each.mod, _plans(each.questions), pipeline)
        if isinstance(results, list):
            for violation in _of_results(each.questions, results):
                found.setdefault((violation.pass_name, *violation.key), violation)
    return tuple(found.values())


def _named(mod: tvm.IRModule) -> list[tuple[str, Any]]:
    return [(str(gvar.name_hint), func) for gvar, func in mod.functions_items()]


def _plans(questions: Sequence[Question]) -> list[Plan]:
    return [plan for question in questions for plan in question.plans()]


def _of_results(questions: Sequence[Question], results: Sequence[Any]) -> tuple[Violation, ...]:
    found: dict[tuple[str, ...], Violation] = {}
    left = iter(results)
    for question in questions:
        own = list(itertools.islice(left, len(question.functions)))
        violation = _violation(question, own)
        if violation is not None:
            blamed = violation.blame(LAWS_OF_BUILDS.name, question.op)
            found.setdefault((question.op, question.broken), blamed)
    return tuple(found.values())


# Reproducers

_RUN = """\
target = tvm.target.Target({{"kind": "llvm", "opt-level": 0}})
built = relax.build({mod}, target, relax_pipeline={pipeline})
machine = relax.VirtualMachine(built, [tvm.cpu()])


def run(name, args):
    return to_numpy(machine[name](*map(from_numpy, args)))
"""


def _shown(case: Case, broken: str | None = None) -> tuple[Subject, Question] | None:
    """The first question whose answers break the law.

    Args:
        broken: in this way; None: in any.
    """
    for subject in subjects(case.mod):
        after, pipeline = subject.mod, case.pipeline or "default"
        if case.calls:
            runs = PassRuns(case.mod, case.calls, contract_of(case.calls[0]), alone=True)
            lowered = _lowered(runs, subject.mod)
            if lowered is None:
                continue
            after = lowered
        for question in subject.questions:
            if broken in (None, question.broken):
                results = execute(after, question.plans(), pipeline)
                if _violation(question, results) is not None:
                    return subject, question
    return None


def _text(case: Case, shown: tuple[Subject, Question], lowered: str) -> str:
    """Statements that build the operator and fail where it breaks the law.

    Args:
        lowered: an expression for what is built.
    """
    subject, question = shown
    trial = question.trial
    pipeline = PIPELINE_TEXTS[case.pipeline or "default"]
    parts = [
        standalone(from_numpy, to_numpy, assert_close),
        f"# A call of {question.op}, by itself.\n{nested_module('operator', subject.mod)}",
        _RUN.format(mod=lowered, pipeline=pipeline),
    ]
    calls = zip(question.functions, trial.calls, trial.views, strict=True)
    for number, (name, args, view) in enumerate(calls):
        given = [arg for arg in args if isinstance(arg, np.ndarray)]
        parts.append(
            f"args = {literal(given)}\nresult = run({name!r}, args)\nseen{number} = {view}"
        )
        if number:
            parts.append(f"assert_close(seen{number}, seen0, rtol=1e-3, atol=1e-3)")
    if trial.bounds is not None:
        low, high = (repr(bound).replace("inf", "np.inf") for bound in trial.bounds)
        verdict = "assert (seen0 >= low).all() and (seen0 <= high).all(), seen0"
        parts.append(f"low, high = {low}, {high}\n{verdict}")
    return "\n\n".join(parts)


def _snippet(case: Case) -> str:
    shown = _shown(case)
    if shown is None:
        return "apply(mod)" if case.calls else ""
    return _text(case, shown, "apply(operator())" if case.calls else "operator()")


def _brief(case: Case, violation: Violation) -> Iterator[str]:
    """The law that is broken, where others are broken, too."""
    shown = _shown(case, violation.key[0])
    if shown is not None:
        yield _text(case, shown, "the_pass(operator())" if case.calls else "operator()")


_SOURCE = (
    "docstrings of the operators in tvm.relax.op: a maximum, a sum, an average of elements, "
    "elements in order; none of them lets the place of an element decide"
)

_GRADES = {law.broken + WITH_NAN: Grade.B for record in table.values() for law in record.laws}

LAWS = Oracle(
    name="operator-laws",
    failure=FailureKind.VALUES,
    tier=3,
    grade=Grade.A,
    grade_of=_GRADES,
    cost=20.0,  # 45 where the pass makes code of all operators, 2 for most passes
    promise="Code of an operator agrees with itself: on the same operands in another order, on one "
    "element alone, within the bounds of its operands.",
    source=_SOURCE,
    check=check,
    snippet=_snippet,
    brief=_brief,
    of_operators=True,
)

LAWS_OF_BUILDS = Oracle(
    name="operator-laws-by-pipeline",
    failure=FailureKind.VALUES,
    tier=4,
    grade=Grade.A,
    grade_of=_GRADES,
    cost=5.0,
    promise="A build of an operator agrees with itself: on the same operands in another order, on "
    "one element alone, within the bounds of its operands.",
    source=_SOURCE,
    snippet=_snippet,
    brief=_brief,
    of_pipelines=True,
    of_operators=True,
)
