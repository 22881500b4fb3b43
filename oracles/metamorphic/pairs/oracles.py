"""The oracles of pairs: asked of pipelines, answered by the VM."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import tvm
from tvm import relax, tirx

from ....generators.ops.record import Tolerance
from ....generators.rewrite.rewriter import CannotRewrite, Rewriter
from ...execute import DEVICES, Failure, from_numpy, to_numpy
from ...grades.grade import Grade
from ...identity import FailureKind
from ...inspect import global_vars, local_functions, public_functions, relax_functions
from ...oracle import Half, Halves, Oracle
from ...structural import checkers
from ...text.standalone import nested_module, standalone
from ...text.value_comments import called
from ...text.value_reproducer import PIPELINE_TEXTS, assert_close, bounds_of, literal
from ...values.inputs import ARITHMETIC, SIZES
from ...violation import Case, Journal, Violation
from .batch import batched, followed, order_of, permuted
from .blame import first_operator, guilty_pass
from .pair import Difference, Pair, PairFault, Question, compare, questions, verify
from .rewritten_twin import Place, rewritten_twin

SEVERAL = "several rewrites together"

Found = tuple[Pair, Difference, Place | None]
"""The pair, what differs, and the one rewrite that is enough to show it, if there is one."""

Make = Callable[[tvm.IRModule], Pair | None]


def check(
    mod: tvm.IRModule, pipeline: str, chosen: Collection[Oracle], journal: Journal
) -> Violation | None:
    """The first pair of these oracles that differs after the pipeline, or None.

    Raises:
        PairFault: a pair whose sides do not mean the same.
    """
    for oracle in ORACLES:
        if oracle not in chosen:
            continue
        journal(oracle.name)
        found = _find(oracle.name, mod, pipeline)
        if found is not None:
            return _violation(oracle, found, pipeline)
    return None


def _violation(oracle: Oracle, found: Found, pipeline: str) -> Violation:
    pair, difference, place = found
    where = first_operator(pair, difference, pipeline)
    step = guilty_pass(pair, difference, pipeline)
    how: tuple[str, ...] = ()
    if oracle is REWRITTEN:
        how = (SEVERAL,) if place is None else (place.rewrite.name,)
    key = (difference.kind, *how, where or (place.op if place else "the result"))
    what = ", ".join((_DIFFERS[oracle.name], *how))
    title = f"{what}: other {difference.kind}" + (f", starting with {where}" if where else "")
    detail = f"{difference.question.function}: {difference.wrong}"
    blamed = step or where or f"{pipeline} (a combination of operators)"
    return Violation(title, detail, key).blame(oracle.name, blamed)


def _find(oracle: str, mod: tvm.IRModule, pipeline: str) -> Found | None:
    pair = _PAIRS[oracle](mod)
    if pair is None:
        return None
    verify(pair)
    difference = compare(pair, pipeline)
    if difference is None:
        return None
    if oracle != REWRITTEN.name:
        return pair, difference, None
    return _one_rewrite(mod, pipeline) or (pair, difference, None)


def _one_rewrite(mod: tvm.IRModule, pipeline: str) -> Found | None:
    """A difference that one rewrite of those alone makes."""
    made = rewritten_twin(mod)
    assert made is not None
    for place in made[1]:
        pair = _rewritten(mod, place)
        difference = None if pair is None else compare(pair, pipeline)
        if pair is not None and difference is not None:
            return pair, difference, place
    return None


# The pairs


def _static(mod: tvm.IRModule) -> Pair | None:
    twin = static_twin(mod)
    if twin is None:
        return None
    changed = {
        name
        for gvar, func in mod.functions_items()
        if not twin[name := str(gvar.name_hint)].same_as(func)
    }
    asked = [q for q in questions(mod, _sound(twin)) if q.function in changed]
    return Pair(mod, twin, tuple(asked)) if asked else None


def _rewritten(mod: tvm.IRModule, only: Place | None = None) -> Pair | None:
    made = rewritten_twin(mod, None if only is None else only.__eq__)
    if made is None:
        return None
    asked = tuple(questions(mod))
    return Pair(mod, _sound(made[0]), asked) if asked else None


def _sound(twin: tvm.IRModule) -> tvm.IRModule:
    flaw = checkers.flaw(twin)
    if flaw is not None:
        raise PairFault(f"the twin is ill-formed: {flaw.detail}")
    return twin


def _batch(mod: tvm.IRModule) -> Pair | None:
    asked = [p for q in questions(mod) if (p := _permuted(mod, q)) is not None]
    return Pair(mod, mod, tuple(asked)) if asked else None


def _permuted(mod: tvm.IRModule, q: Question) -> Question | None:
    found = batched(mod, mod[q.function], q.args)
    if found is None:
        return None
    chosen, along = found
    order = order_of(len(q.args[min(chosen)]))
    return replace(q, twin_args=permuted(q.args, chosen, order), along=along, order=order.tolist())


# Sizes for symbolic dimensions


def static_twin(mod: tvm.IRModule) -> tvm.IRModule | None:
    """The module with sizes for what the parameters of its public functions leave open.

    Private functions stay as they are, and so do public ones that are called inside the module:
    they may be called with several sizes. None where no function has a symbolic dimension that can
    be replaced.
    """
    called = {gvar.name_hint for _, func in relax_functions(mod) for gvar in global_vars(func)}
    twin = mod
    for gvar, func in public_functions(mod):
        sizes = {} if gvar.name_hint in called else _sizes(func)
        if sizes:
            twin = _BindSizes(twin, str(gvar.name_hint), sizes).run() or twin
    return None if twin.same_as(mod) else twin


def _sizes(func: relax.Function) -> dict[tirx.Var, int]:
    """A size for each variable that the parameters define; several of them get several sizes."""
    sizes: dict[tirx.Var, int] = {}
    todo = [param.ty for param in func.params]
    for ty in todo:  # grows on the way
        dims: Any = ()
        if isinstance(ty, relax.TupleType):
            todo.extend(ty.fields)
        elif isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.ShapeExpr):
            dims = ty.shape.values
        elif isinstance(ty, relax.ShapeType):
            dims = ty.values or ()
        for dim in dims:
            if isinstance(dim, tirx.Var):
                sizes.setdefault(dim, SIZES[(len(sizes) + 1) % len(SIZES)])
    return sizes


class _BindSizes(Rewriter):
    def __init__(self, mod: tvm.IRModule, function: str, sizes: Mapping[tirx.Var, int]) -> None:
        super().__init__(mod)
        self._function_name = function
        self._sizes = sizes

    def rewrites(self, name: str) -> bool:
        return name == self._function_name

    def dim(self, expr: tirx.Expr) -> tirx.Expr:
        if isinstance(expr, tirx.IntImm | tirx.FloatImm):
            return expr
        if isinstance(expr, tirx.Var):
            size = self._sizes.get(expr)
            return expr if size is None else tirx.IntImm(str(expr.ty.dtype), size)
        operation = ARITHMETIC.get(type(expr))
        if operation is None:
            raise CannotRewrite(f"a dimension that is a {type(expr).__name__}")
        a, b = self.dim(expr.a), self.dim(expr.b)
        if isinstance(a, tirx.IntImm) and isinstance(b, tirx.IntImm):
            return tirx.IntImm(str(a.ty.dtype), operation(int(a.value), int(b.value)))
        return expr if a.same_as(expr.a) and b.same_as(expr.b) else type(expr)(a, b)


# Reproducers: both modules, the arguments, both builds, their comparison

_RUN = """\
target = tvm.target.Target({{"kind": "llvm", "opt-level": 0}})


def run(mod, name, args):
{prepared}    built = relax.build(mod, target, relax_pipeline={pipeline})
    machine = relax.VirtualMachine(built, [tvm.cpu()] * {devices})
    return to_numpy(machine[name](*map(from_numpy, args)))
"""


def _text(pair: Pair, found: Difference | None, pipeline: str) -> str:
    """Statements that fail while the sides differ, in `found` or (None) in any of the questions."""
    asked = pair.questions if found is None else (found.question,)
    alike = pair.twin.same_as(pair.mod)
    helpers: list[Any] = [from_numpy, to_numpy, assert_close, *([followed] if alike else [])]
    parts = [
        standalone(*helpers),
        _RUN.format(prepared=_prepared(pair), pipeline=PIPELINE_TEXTS[pipeline], devices=DEVICES),
    ]
    if not alike:
        parts.append(f"# A module that computes the same.\n{nested_module('twin', pair.twin)}")
    parts += [_asked(q, alike, found) for q in asked]
    return "\n\n".join(parts)


def _prepared(pair: Pair) -> str:
    """What `execute` does before the pipeline, where there is something to do."""
    lines = []
    if local_functions(pair.mod):
        lines.append("mod = relax.transform.LambdaLift()(mod)")
    if "system_lib_prefix" in (pair.mod.attrs or {}):
        lines.append('mod = mod.without_attr("system_lib_prefix")')
    return "".join(f"    {line}\n" for line in lines)


def _asked(q: Question, alike: bool, found: Difference | None) -> str:
    relative = absolute = Tolerance().float32
    if found is not None:
        relative, absolute = bounds_of(found.left, found.tolerance, found.shaken)
    bounds = f"rtol={relative:g}, atol={absolute:g}"
    name = repr(q.function)
    if not alike:
        return (
            f"args = {literal(q.args)}\n"
            f"expected, actual = run(mod, {name}, args), run(twin(), {name}, args)\n"
            f"assert_close(actual, expected, {bounds})"
        )
    return (
        f"args = {literal(q.args)}\n"
        f"permuted = {literal(q.twin_args)}\n"
        f"order, along = {list(q.order or ())}, {q.along!r}  # axes of the results that follow\n"
        f"expected = followed(run(mod, {name}, args), along, order)\n"
        f"actual = followed(run(mod, {name}, permuted), along)\n"
        f"assert_close(actual, expected, {bounds})"
    )


# The records


def _snippet(oracle: str) -> Callable[[Case], str]:
    def snippet(case: Case) -> str:
        assert case.pipeline is not None, f"{oracle} is asked of pipelines, not of {case.calls}"
        found = _find(oracle, case.mod, case.pipeline)
        if found is not None:
            return _text(found[0], found[1], case.pipeline)
        pair = _PAIRS[oracle](case.mod)
        return "" if pair is None else _text(pair, None, case.pipeline)

    return snippet


def _halves(case: Case, violation: Violation) -> Halves | None:
    assert case.pipeline is not None
    found = _find(violation.oracle, case.mod, case.pipeline)
    if found is None:
        return None
    pair, difference, _ = found
    q, left, right = difference.question, difference.left, difference.right
    if pair.twin.same_as(pair.mod):  # only the parts of which something is known can be compared
        right = right if isinstance(right, Failure) else tuple(q.have(right))
        return (
            Half("what must come", None, called(q.function, q.twin_args, tuple(q.want(left)))),
            Half("what a build computes", None, called(q.function, q.twin_args, right)),
        )
    return (
        Half("the module", pair.mod, called(q.function, q.args, left)),
        Half("its twin", pair.twin, called(q.function, q.twin_args, right)),
    )


STATIC = Oracle(
    name="static-twin",
    failure=FailureKind.VALUES,
    tier=4,
    grade=Grade.A,
    cost=2.5,  # 300 for a pipeline, where there is something symbolic; few checks are of pipelines
    promise="A module with symbolic shapes computes what it does with the sizes written out.",
    source="docstring of relax.transform.BindSymbolicVars: 'Replacements of symbolic vars with "
    "constant dimensions'; docs/deep_dive/relax/abstraction.rst, symbolic shapes",
    snippet=_snippet("static-twin"),
    halves=_halves,
    of_pipelines=True,
)

REWRITTEN = Oracle(
    name="rewritten-twin",
    failure=FailureKind.VALUES,
    tier=4,
    grade=Grade.A,
    cost=8.0,  # 280 for a pipeline
    promise="A detour that gives a value back as it was changes no result of a build.",
    source="docs/arch/index.rst: 'The compiler transforms an IRModule to another functionally "
    "equivalent or approximately equivalent(e.g. in the case of quantization) IRModule'",
    snippet=_snippet("rewritten-twin"),
    halves=_halves,
    of_pipelines=True,
)

BATCH = Oracle(
    name="batch-permutation",
    failure=FailureKind.VALUES,
    tier=4,
    grade=Grade.A,
    cost=3.0,  # 130 for a pipeline, if a rule gives the permutation of the result
    promise="What is computed for one element of a batch does not depend on its place in it.",
    source="docstrings of the operators in tvm.relax.op",
    snippet=_snippet("batch-permutation"),
    halves=_halves,
    of_pipelines=True,
)

ORACLES = (STATIC, REWRITTEN, BATCH)

_PAIRS: dict[str, Make] = {
    STATIC.name: _static,
    REWRITTEN.name: _rewritten,
    BATCH.name: _batch,
}

_DIFFERS = {
    STATIC.name: "a build with symbolic shapes and one with their sizes differ",
    REWRITTEN.name: "a build and one with a detour that changes nothing differ",
    BATCH.name: "a build treats elements of a batch by their place",
}
