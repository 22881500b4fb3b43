"""Sequential: a pass does the same directly and inside Sequential, in either order, every time."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator

from .. import keys
from ..contract import PassContract
from ..identity import FailureKind
from ..oracle import FORMS, About, Breach, Halves, Oracle
from ..pass_runs import Outcome, PassRuns, same_functions
from ..silence import inventory
from ..silence.log import abstain
from ..violation import Case, Violation
from .halves import both

COPIES = 4
"""Number of fresh copies for each way of running, to explain a difference. These mostly suffice to
show iteration in address order."""

MANY = 64
"""Number of fresh copies to try before blaming anything but chance for a difference: an order of
addresses may give another result on only one copy in twenty."""

NONDETERMINISTIC = "the result differs from run to run on equal modules"
HIDDEN_STATE = "a second application to the same module object gives another result"
SKIPPED = "Sequential silently skips the pass: its opt_level is above the default context's"
DIFFERENT = "Sequential gives another result than the pass itself"


@functools.lru_cache(maxsize=1)
def explanation(runs: PassRuns) -> tuple[str, Violation] | None:
    """The responsible oracle and the violation, if the direct and the Sequential run differ."""
    direct, sequential = runs.direct, runs.sequential
    both = direct.mod is not None and sequential.mod is not None
    if both and same_functions(direct.mod, sequential.mod):
        return None
    if direct.mark == sequential.mark:
        return None
    if direct.mod is not None and sequential.mod is not None:
        # Hashes of equal modules may differ; the comparison decides.
        found = keys.mismatch(direct.mod, sequential.mod, DIFFERENT)
        if found is None:
            return None
    if not runs.enabled() and sequential.mark == runs.given.mark:
        return None if runs.skips else ("sequential", Violation.titled(SKIPPED))
    return _diagnose(runs)


def _diagnose(runs: PassRuns) -> tuple[str, Violation] | None:
    """Distinguish randomness, a fault of Sequential, and state that an earlier run left."""
    direct, sequential = _on_copies(runs)
    for name, outcomes in (("direct", direct), ("Sequential", sequential)):
        other = next((one for one in outcomes if one.mark != outcomes[0].mark), None)
        if other is not None:
            return _random(name, outcomes[0], other)
    if (random := by_chance(runs)) is not None:
        return random
    if direct[0].mark != sequential[0].mark:
        return "sequential", _difference(direct[0], sequential[0], DIFFERENT)
    return "repeatable", _difference(runs.direct, runs.sequential, HIDDEN_STATE)


def _on_copies(runs: PassRuns) -> tuple[list[Outcome], list[Outcome]]:
    """Direct and Sequential runs on copies that are all alive, so at different addresses."""
    copies = [runs.given.copy() for _ in range(2 * COPIES)]
    return (
        [runs.attempt("direct on a fresh copy", runs.directly, mod) for mod in copies[:COPIES]],
        [
            runs.attempt("Sequential on a fresh copy", runs.in_sequential, mod)
            for mod in copies[COPIES:]
        ],
    )


def by_chance(runs: PassRuns) -> tuple[str, Violation] | None:
    """The violation if the result for some of many copies of the module differs from the others."""
    mods = [runs.given.copy() for _ in range(MANY)]
    first, *others = [runs.attempt("direct on a fresh copy", runs.directly, mod) for mod in mods]
    other = next((one for one in others if one.mark != first.mark and _apart(first, one)), None)
    return None if other is None else _random("direct", first, other)


def _random(way: str, one: Outcome, other: Outcome) -> tuple[str, Violation]:
    detail = f"{way} runs on fresh copies:\n{_difference(one, other, way).detail}"
    return "deterministic", Violation.titled(NONDETERMINISTIC, detail)


def _apart(a: Outcome, b: Outcome) -> bool:
    """True if comparison shows that the outcomes differ; hashes of equal modules may differ."""
    if a.mod is None or b.mod is None:
        return True
    return keys.mismatch(a.mod, b.mod, DIFFERENT) is not None


def _difference(a: Outcome, b: Outcome, what: str) -> Violation:
    if a.mod is not None and b.mod is not None:
        found = keys.mismatch(a.mod, b.mod, what)
        return found or Violation.titled(f"{what}, in what only a hash sees")
    error = a.error or b.error
    assert error is not None
    raised = keys.exception(error)
    alone = a.mod is not None or b.mod is not None
    which = "only one of the two runs raises" if alone else "the runs raise different things"
    return raised.under(which, title=f"{which} {raised.title}").under(what)


def _only(name: str) -> Callable[[PassRuns], Violation | None]:
    def check(runs: PassRuns) -> Violation | None:
        if runs.result() is None:
            return None
        if runs.once:
            abstain(inventory.NO_TIME)
            return None
        explained = explanation(runs)
        return explained[1] if explained is not None and explained[0] == name else None

    return check


_TWO_WAYS = ("the_pass", "tvm.transform.Sequential([the_pass])")


def _brief(case: Case, violation: Violation) -> Iterator[str]:
    """Both ways, on separate copies, as an earlier run may have changed the module."""
    copy = "tvm.ir.load_json(tvm.ir.save_json(mod))"
    if len(case.calls) == 1:
        runs = f"inside = tvm.transform.Sequential([the_pass])({copy})\ndirect = the_pass(mod)"
    else:
        runs = (
            f"inside, direct = tvm.transform.Sequential(passes)({copy}), mod\n"
            "for p in passes:\n    direct = p(direct)"
        )
    yield f"{runs}\ntvm.ir.assert_structural_equal(inside, direct, map_free_vars=True)"


def halves(runs: PassRuns, violation: Violation) -> Halves | None:
    """The two runs that differ, of one pass or of several."""
    if violation.oracle == REPEATABLE.name:
        directly, inside = runs.direct, runs.sequential
        if runs.given.mark & 1:
            return both(inside, "first, in Sequential", directly, "then, directly")
        return both(directly, "first, directly", inside, "then, in Sequential")
    direct, sequential = _on_copies(runs)
    if violation.oracle == SEQUENTIAL.name:
        return both(direct[0], "directly", sequential[0], "in Sequential")
    for each in (direct, sequential):
        for other in each:
            if other.mark != each[0].mark:
                return both(each[0], "one run", other, "another run")
    return None


def _halves(case: Case, violation: Violation) -> Halves | None:
    contract = PassContract(name=case.calls[0].name, variants=lambda choices, mod: None)
    return halves(PassRuns(case.mod, case.calls, contract), violation)


_of_runs = functools.partial(Oracle, about=About.RUNS, tier=1, universal=True, halves=_halves)

DETERMINISTIC = _of_runs(
    name="deterministic",
    breach=Breach(FailureKind.UNSTABLE, explains=FORMS),
    promise="A pass gives equal results for equal modules.",
    source="docs/arch/index.rst: 'relax/transform and tirx/transform are deterministic "
    "rule-based transformations'",
    check=_only("deterministic"),
    brief=lambda case, violation: (
        "text = tvm.ir.save_json(mod)\n"
        "mods = [tvm.ir.load_json(text) for _ in range(16)]\n"
        "first, *others = [the_pass(m) for m in mods]\n"
        "for other in others:\n"
        "    tvm.ir.assert_structural_equal(other, first, map_free_vars=True)",
    ),
)

REPEATABLE = _of_runs(
    name="repeatable",
    breach=Breach(FailureKind.UNSTABLE, explains=FORMS),
    promise="A pass gives the same result however often it is applied to the same module object.",
    source="docs/arch/index.rst: 'relax/transform and tirx/transform are deterministic "
    "rule-based transformations'",
    check=_only("repeatable"),
    brief=lambda case, violation: tuple(
        f"first, second = {first}(mod), {second}(mod)\n"
        "tvm.ir.assert_structural_equal(second, first, map_free_vars=True)"
        for first, second in itertools.product(_TWO_WAYS, _TWO_WAYS)
    ),
)

SEQUENTIAL = _of_runs(
    name="sequential",
    breach=Breach(FailureKind.FORM, explains=FORMS),
    promise="Sequential([p, q]) gives what q(p(mod)) gives.",
    source="docstring of tvm.transform.Sequential: 'a pass that works on a sequence of pass "
    "objects. Multiple passes can be executed sequentially using this class.'",
    check=_only("sequential"),
    brief=_brief,
)
