"""The identity of a violation, from what its oracle says and what is known of its module."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..generators.ops import table
from .catalogue import catalogue, parts
from .catalogue.common import REWRITER
from .grades.rule import decides
from .identity import TYPES, FailureKind, Identity
from .ingredients import ELEMENTWISE, INTERCHANGEABLE, of_family
from .keys import computes
from .passcall import PassCall, is_users
from .text.frames import LEGALIZATION
from .tiers import ORACLES
from .violation import Violation

LEGALIZERS = frozenset(name for name in catalogue if "LegalizeOps" in {name, *parts(name)})
"""Passes that call the legalizations of operators; what is wrong with these shows in all."""

TYPE_INFERENCE = "type inference"

_OPERATOR = re.compile(r"\brelax(?:\.\w+)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """Facts about a violation besides its report, once its module is minimized."""

    ingredients: frozenset[str] | None = None
    inside: str = ""
    """The pass that runs inside of the blamed one and shows the same in its place; or empty."""
    retyped: tuple[str, str] | None = None
    """The first operator whose legalization gives another type than the call has, and in what."""
    unknowns: tuple[str, ...] = ()
    """Gaps in types of calls that a legalization must know."""


UNKNOWN = Circumstances()


def identity_of(
    violation: Violation, calls: Sequence[PassCall] = (), known: Circumstances = UNKNOWN
) -> Identity:
    """The identity of a violation.

    Args:
        calls: the passes that were checked.
        known: nothing, as long as the module is not minimized.
    """
    user = next((c for c in calls if c.name == violation.pass_name and is_users(c)), None)
    if user is not None:
        return _of_users(violation, user, known)
    failure, site = failure_of(violation)
    blamed, condition = known.inside or violation.pass_name, violation.trace.condition
    if violation.reason:
        site, condition = (), violation.reason
    if blamed == REWRITER and failure is FailureKind.RAISES:
        # Whoever calls the rewriting: a pass of TVM, or of the user's.
        site = tuple(itertools.dropwhile(lambda name: not name.startswith("relax/dpl/"), site))
    refused = _constructed(site) if violation.oracle == "tvmscript" else ""
    within = "" if violation.raised is None else violation.raised.within
    if failure is FailureKind.RAISES and within:
        blamed = within
    if refused:
        # To read a script is to make its calls, which the operators check: those that are made
        # otherwise are checked by type inference alone.
        blamed, site, condition = TYPE_INFERENCE, (refused,), ""
    elif within == LEGALIZATION and known.unknowns and violation.pass_name != "LegalizeOps":
        # LegalizeOps looks at the types first; whoever calls legalizations has to do so, too.
        blamed, site, condition = violation.pass_name, known.unknowns[:1], ""
    elif known.retyped is not None and _is_of_legalized(violation, failure):
        # The result has another type than the call: its consumers refuse it.
        operator, respect = known.retyped
        failure, blamed, site, condition = FailureKind.ILL_FORMED, operator, (respect,), ""
    elif failure in (FailureKind.VALUES, FailureKind.ILL_FORMED) and blamed in LEGALIZERS:
        blamed, site = _by_operator(blamed, site)
    elif failure is FailureKind.VALUES:
        site = site[:1]  # which operator is the first that differs depends on the module
    return Identity(
        failure=failure,
        how="" if violation.oracle in ORACLES else violation.oracle,
        blamed=(_sharing(blamed) if failure is FailureKind.ILL_FORMED else blamed,),
        site=site,
        condition=condition,
        ingredients=_needed(known.ingredients, blamed, named=bool(violation.reason)),
    )


def _constructed(site: Sequence[str]) -> str:
    """The operator, by its family, whose constructor in Python is on the way to the throw."""
    for found in filter(None, map(_CONSTRUCTOR.match, site)):
        name = f"{found[1] or ''}{found[2]}".replace("/", ".")
        if name in table:
            return of_family(f"relax.{name}")
    return ""


_CONSTRUCTOR = re.compile(r"relax/op/(\w+/)?\w+\.py:(\w+)$")


def _sharing(blamed: str) -> str:
    """The operators that infer their types by the code of the one that is blamed, if one is."""
    return "elementwise operators" if blamed in ELEMENTWISE else of_family(blamed)


def _needed(
    ingredients: frozenset[str] | None, blamed: str, *, named: bool = False
) -> frozenset[str] | None:
    """Without operators that others can replace.

    Without any operator where the pass treats them alike, or the oracle has named the cause. Where
    an operator is blamed: its attributes and the types alone.
    """
    if ingredients is None:
        return None
    alike = named or (blamed in catalogue and catalogue[blamed].ops_alike)
    only = of_family(blamed) if blamed.startswith("relax.") else ""

    def counts(ingredient: str) -> bool:
        operator, _, attribute = ingredient.partition(" ")
        if only:
            return ingredient in TYPES or (operator == only and bool(attribute))
        if not operator.startswith("relax."):
            return True
        return operator not in INTERCHANGEABLE and not (alike and computes(operator))

    return frozenset(filter(counts, ingredients))


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
    kind = oracle.failure_of.get(violation.key[0], oracle.failure)
    if kind is FailureKind.UNSTABLE:
        return kind, ()
    if violation.raised is not None or kind is FailureKind.RAISES:
        return FailureKind.RAISES, violation.trace.functions
    of_part = violation.key[0] in oracle.failure_of and len(violation.key) > 1
    site = violation.key[1:] if of_part else violation.key
    if kind is FailureKind.VALUES and site[:1] == ("dtype",):
        kind = FailureKind.ILL_FORMED  # whoever runs it sees what whoever looks at types sees
    if kind is FailureKind.FORM:
        site = tuple(_OPERATOR.sub(lambda found: of_family(found[0]), part) for part in site)
    return kind, site


def _by_operator(blamed: str, site: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Blame the operator whose legalization gives a wrong result."""
    found = [name for part in site for name in _OPERATOR.findall(part)]
    if len(found) != 1:
        return blamed, site
    rest = tuple(_OPERATOR.sub("<operator>", part) for part in site if part != found[0])
    return found[0], rest


def _of_users(violation: Violation, call: PassCall, known: Circumstances) -> Identity:
    """A pass of the user's is blamed by its file and its name.

    Nothing is known of its code, so a wrong result is one class: ill-formed, of other types or
    values, or refused by TVM on the way. An exception of its own has its function and line. A hint
    is apart: it says nothing of what is wrong.
    """
    failure, site = failure_of(violation)
    condition, raised = violation.trace.condition, violation.raised
    ingredients = known.ingredients
    if ingredients is not None and known.unknowns:  # of which operator, is an accident
        ingredients = frozenset(known.unknowns)
    own = raised is not None and violation.trace.functions[-1:] == (raised.own,)
    if failure is FailureKind.RAISES and own:
        site = site[-1:]
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


_RESULT = (FailureKind.RAISES, FailureKind.ILL_FORMED, FailureKind.VALUES, FailureKind.FORM)
"""Classes of failures of a result, or of what makes it."""
