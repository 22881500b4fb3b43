"""The identity of a violation, from its oracle's report and facts about its module."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tvm.ir import Op
from tvm.s_tir.schedule import ScheduleError

from ..generators.ops import table
from ..generators.stages import LEGALIZER
from .catalogue import catalogue, parts
from .catalogue.common import MUTATOR, REWRITER
from .checkers import OPERATORS
from .execute.device import CPU
from .grading import decides
from .identity import TYPES, FailureKind, Identity
from .ingredients import ELEMENTWISE, INTERCHANGEABLE, of_family
from .keys import computes
from .on_device.oracle import build_of
from .passcall import PassCall, is_users
from .text import messages
from .text.frames import LEGALIZATION
from .tiers import ORACLES
from .values.pipeline_values import CODE_GENERATION
from .violation import Violation

LEGALIZERS = frozenset(name for name in catalogue if LEGALIZER in {name, *parts(name)})
"""Passes that call the legalizations of operators; a wrong legalization shows in all of them."""

TYPE_INFERENCE = "type inference"

DEVICE = "virtual device"
"""A respect in which a result differs from its type; see `Circumstances.retyped`."""

_ARITHMETIC = frozenset(kind.__name__ for kind in OPERATORS)

_OPERATOR = re.compile(r"\brelax(?:\.\w+)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """Facts about a violation beyond its report, known once its module is minimized."""

    ingredients: frozenset[str] | None = None
    inside: str = ""
    """The pass that runs inside the blamed one and alone shows the same; or empty."""
    retyped: tuple[str, str] | None = None
    """The first operator whose legalization gives another type than the call has, and the differing
    part of the type."""
    unknowns: tuple[str, ...] = ()
    """Unknown parts of call types that a legalization must know."""


UNKNOWN = Circumstances()


def identity_of(
    violation: Violation, calls: Sequence[PassCall] = (), known: Circumstances = UNKNOWN
) -> Identity:
    """The identity of a violation.

    Args:
        calls: the passes that were checked.
        known: facts about the minimized module; `UNKNOWN` before that.
    """
    user = next((c for c in calls if c.name == violation.pass_name and is_users(c)), None)
    if user is not None:
        return _of_users(violation, user, known)
    failure, site = failure_of(violation)
    blamed, condition = known.inside or violation.pass_name, violation.trace.condition
    if violation.reason:
        site, condition = (), violation.reason
    if failure is FailureKind.RAISES:
        site = _below_callers(site, blamed)
    named = bool(violation.reason)
    is_mistyped = any(messages.MISTYPED in part for part in site)
    refused = _constructed(site) if violation.oracle == "tvmscript" else ""
    within = "" if violation.raised is None else violation.raised.within
    if failure is FailureKind.RAISES and within:
        blamed = within
    elif failure is FailureKind.RAISES and blamed == build_of(CPU):
        blamed = CODE_GENERATION  # relax.build leaves its PrimFuncs to the same code
    if refused:
        # Reading a script constructs its calls, and constructors check them. Calls that are made in
        # another way are only checked by type inference.
        blamed, site, condition = TYPE_INFERENCE, (refused,), ""
    elif within == LEGALIZATION and known.unknowns and violation.pass_name != LEGALIZER:
        # LegalizeOps checks the types first; other callers of legalizations must do so, too.
        blamed, site, condition = violation.pass_name, known.unknowns[:1], ""
    elif known.retyped is not None and (is_mistyped or _is_of_legalized(violation, failure)):
        # The result has another type than the call, so its consumers refuse it.
        operator, respect = known.retyped
        failure, blamed, site, condition = FailureKind.ILL_FORMED, operator, (respect,), ""
        if respect == DEVICE:  # the same code gives all legalizations the device of their result
            blamed, named = LEGALIZATION, True
    elif is_mistyped or (
        failure in (FailureKind.VALUES, FailureKind.ILL_FORMED) and blamed in LEGALIZERS
    ):
        blamed, site = _by_operator(blamed, site)
    elif failure is FailureKind.VALUES:
        site = site[:1]  # the first operator that differs depends on the module
    return Identity(
        failure=failure,
        how="" if violation.oracle in ORACLES else violation.oracle,
        blamed=(_sharing(blamed) if failure is FailureKind.ILL_FORMED else blamed,),
        site=site,
        condition=condition,
        ingredients=_needed(known.ingredients, blamed, failure, named=named),
    )


def _below_callers(site: tuple[str, ...], blamed: str) -> tuple[str, ...]:
    """The site without the callers of code that passes share, whether of TVM or of the user."""
    if blamed == REWRITER:
        return tuple(itertools.dropwhile(lambda name: not name.startswith("relax/dpl/"), site))
    if blamed == MUTATOR:  # a pass in C++ has no frames of Python
        last = max((i for i, name in enumerate(site) if name.startswith(_VISITORS)), default=-1)
        return site[last + 1 :]
    return site


_VISITORS = "relax/expr_functor.py:"


def _constructed(site: Sequence[str]) -> str:
    """The family of the operator whose Python constructor is on the stack of the throw."""
    for found in filter(None, map(_CONSTRUCTOR.match, site)):
        name = f"{found[1] or ''}{found[2]}".replace("/", ".")
        if name in table:
            return of_family(f"relax.{name}")
    return ""


_CONSTRUCTOR = re.compile(r"relax/op/(\w+/)?\w+\.py:(\w+)$")


def _sharing(blamed: str) -> str:
    """A name for all operators that share the type inference code of the blamed one."""
    return "elementwise operators" if blamed in ELEMENTWISE else of_family(blamed)


def _needed(
    ingredients: frozenset[str] | None,
    blamed: str,
    failure: FailureKind,
    *,
    named: bool = False,
) -> frozenset[str] | None:
    """The ingredients without operators that others can replace.

    All operators are left out if the pass treats them alike, or the oracle has named the cause. If
    an operator is blamed, only its attributes and the types remain.
    """
    if ingredients is None:
        return None
    contract = catalogue.get(blamed)
    alike = named or (contract is not None and contract.ops_alike)
    raises = failure is FailureKind.RAISES and not named
    told_by = contract.ops_by if contract is not None and raises else ""
    only = of_family(blamed) if blamed.startswith("relax.") else ""

    def counts(ingredient: str) -> bool:
        operator, _, attribute = ingredient.partition(" ")
        if only:
            return ingredient in TYPES or (operator == only and bool(attribute))
        if not operator.startswith("relax."):
            return not (alike and ingredient in _ARITHMETIC)
        return operator not in INTERCHANGEABLE and not (alike and computes(operator))

    return frozenset(_told(each, told_by) for each in ingredients if counts(each))


def _told(ingredient: str, attribute: str) -> str:
    """The ingredient, or the value of the attribute by which the pass distinguishes operators."""
    if not attribute or ingredient.removeprefix("relax.") not in table:
        return ingredient
    return f"{attribute} {Op.get(ingredient).get_attr(attribute)}"


def _is_of_legalized(violation: Violation, failure: FailureKind) -> bool:
    raises_or_types = failure in (FailureKind.RAISES, FailureKind.ILL_FORMED)
    return raises_or_types and violation.pass_name in LEGALIZERS


def failure_of(violation: Violation) -> tuple[FailureKind, tuple[str, ...]]:
    """The class of a violation, and its site."""
    oracle = ORACLES.get(violation.oracle)
    if oracle is None:  # the end of a process
        if violation.oracle == "side-effect":
            return FailureKind.MUTATES, violation.key
        return FailureKind.DIES, violation.trace.functions
    kind = oracle.breach_of(violation.key).failure
    if kind is FailureKind.UNSTABLE:
        return kind, ()
    if violation.raised is not None or kind is FailureKind.RAISES:
        return FailureKind.RAISES, violation.trace.functions
    of_part = kind is not oracle.breach.failure and len(violation.key) > 1
    site = violation.key[1:] if of_part else violation.key
    if kind is FailureKind.VALUES and site[:1] == ("dtype",):
        kind = FailureKind.ILL_FORMED  # running it shows the same as its types
    if kind is FailureKind.FORM:
        site = tuple(_OPERATOR.sub(lambda found: of_family(found[0]), part) for part in site)
    return kind, site


def _by_operator(blamed: str, site: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Blame and site, with the operator that has a wrong legalization, if there is one."""
    found = [name for part in site for name in _OPERATOR.findall(part)]
    if len(found) != 1:
        return blamed, site
    rest = tuple(_OPERATOR.sub("<operator>", part) for part in site if part != found[0])
    return found[0], rest


def _of_users(violation: Violation, call: PassCall, known: Circumstances) -> Identity:
    """The identity for a user's pass, which is blamed by its file and its name.

    Nothing is known about its code, so all wrong results are one class: ill-formed, of other types
    or values, or refused by TVM on the way. The pass's own exceptions have their function and line.
    A hint stays separate, since it breaks no promise. So does the refusal of a schedule primitive:
    it says that the schedule does not fit the module, as every schedule refuses an empty one.
    """
    failure, site = failure_of(violation)
    condition, raised = violation.trace.condition, violation.raised
    ingredients = known.ingredients
    if ingredients is not None and known.unknowns:  # the operator is accidental
        ingredients = frozenset(known.unknowns)
    own = raised is not None and violation.trace.functions[-1:] == (raised.own,)
    if failure is FailureKind.RAISES and own:
        site = site[-1:]
    elif failure is FailureKind.RAISES and raised is not None and raised.kind == UNSCHEDULED:
        site, condition = (UNSCHEDULED,), ""
    elif failure in _RESULT and decides(violation.full_key):
        failure, site, condition = FailureKind.VALUES, (), ""
    return Identity(
        failure=failure,
        how="" if violation.oracle in ORACLES else violation.oracle,
        blamed=(call.factory or call.name,),
        site=site,
        condition=condition,
        ingredients=ingredients,
    )


UNSCHEDULED = ScheduleError.__name__
"""The exception of all schedule primitives for a module to which they do not apply."""

_RESULT = (FailureKind.RAISES, FailureKind.ILL_FORMED, FailureKind.VALUES, FailureKind.FORM)
"""Classes of failures of a result, or of the run that makes it."""
