"""The identity of a bug: its failure, the blamed pass or operator, its site, and its ingredients.

The same comparison decides if two reports are of one bug: a report and a known bug, two findings of
a campaign, a module and a smaller one. docs/known.md explains it to users. No field holds the text
of a message.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from .text.frames import LEGALIZATION

FORMAT = 4
"""Version of identities in records, stores and JSON; a reader refuses any other."""


class FailureKind(enum.StrEnum):
    """Coarse classes of failures: one cause falls into one class."""

    DIES = "dies"
    RAISES = "raises"
    ILL_FORMED = "ill-formed"
    """The result is ill-formed, or a type in it is wrong."""
    VALUES = "values"
    """The result computes other values, accesses other memory, or has other effects."""
    FORM = "form"
    """The result lacks a normal form, or TVM cannot read its own output."""
    UNSTABLE = "unstable"
    """The result depends on more than the module: addresses, an order, names, history."""
    MUTATES = "mutates"
    """The pass changes its input or the state of the process."""


_FIELD = re.compile(r"^\w+, \w+$")
"""Node and field where two modules differ; the name of a broken rule does not match."""

_ON_THE_WAY = (FailureKind.RAISES, FailureKind.DIES)
"""Failures whose site is the call path from the pass to the throw."""


class Sameness(enum.IntEnum):
    """Degrees of agreement of two identities."""

    OTHER = 0
    SIMILAR = 1
    SAME = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The identity of a bug: the fields by which it differs from others."""

    failure: FailureKind
    how: str = ""
    """The cause of death of a process, e.g. "segfault"; empty if none died."""
    blamed: tuple[str, ...]
    """The blamed pass, operator or function of TVM; in a record, all that show the bug."""
    site: tuple[str, ...] = ()
    """Functions from the pass to the throw, the innermost last; else the fault named by the oracle,
    from the whole to the part."""
    condition: str = ""
    """See `Trace.condition`."""
    ingredients: frozenset[str] | None = None
    """See `ingredients`; None if the module was not analysed or is not minimized."""

    @property
    def last(self) -> str:
        """The innermost function; empty if none is known."""
        return self.site[-1] if self.site else ""

    @property
    def telling(self) -> tuple[str, ...]:
        """The functions of the site that point to a cause."""
        return tuple(name for name in self.site if is_telling(name))

    @property
    def has_place(self) -> bool:
        """True if the site alone distinguishes the bug from others of the pass.

        A function on the way to the throw points to it then, or an oracle has named the rule.
        """
        if self.failure in _ON_THE_WAY:
            return bool(self.telling)
        form = self.failure is FailureKind.FORM and bool(self.condition)
        return form and _FIELD.match(self.condition) is None


def compare(one: Identity, other: Identity) -> Sameness:
    """The agreement of two identities.

    Same: failure, blamed and site agree, and so do the ingredients unless the site names a place.
    Similar: the site agrees but another pass is blamed; or blamed and ingredients agree and no site
    contradicts.
    """
    failure, blamed, site = _agreements(one, other)
    needs = same_ingredients(one, other)
    placed = site and _placed(one, other)
    if failure and blamed and site and (needs or placed):
        return Sameness.SAME
    if failure and placed:
        return Sameness.SIMILAR
    contradict = failure and not site and one.has_place and other.has_place
    if blamed and needs and not contradict and _is_much(one, other):
        return Sameness.SIMILAR
    return Sameness.OTHER


def _agreements(one: Identity, other: Identity) -> tuple[bool, bool, bool]:
    """The agreement of failures, of blamed names, and of sites."""
    failure = (one.failure, one.how) == (other.failure, other.how)
    return failure, not set(one.blamed).isdisjoint(other.blamed), same_site(one, other)


def distinction(one: Identity, other: Identity) -> str:
    """The difference between two identities, as text for people."""
    failure, blamed, site = _agreements(one, other)
    found = []
    if not failure:
        found.append(f"{other.how or other.failure} instead of {one.how or one.failure}")
    if not blamed:
        found.append(f"{' or '.join(other.blamed)} is blamed")
    if not site:
        found.append(f"at {' > '.join(other.site[-2:]) or 'no known place'}")
    elif None not in (one.ingredients, other.ingredients) and not same_ingredients(one, other):
        lacking = sorted((other.ingredients or frozenset()) - (one.ingredients or frozenset()))
        found.append(f"with {', '.join(lacking) or 'less'}")
    return "; ".join(found) or "the module is not minimized"


def same_site(one: Identity, other: Identity) -> bool:
    """True if the conditions agree, and one path has all telling functions of the other, in order.

    Also true if both are refusals by one function that a legalization calls. The condition is
    ignored if type inference refuses both, since the operands decide which of its checks fails.

    A build with symbols names functions that a release omits.
    """
    return _same_way(one, other) or _same_check(one, other)


def _same_way(one: Identity, other: Identity) -> bool:
    inferred = _INFERENCE.search(one.last) and _INFERENCE.search(other.last)
    if not inferred and not _same_condition(one.condition, other.condition):
        return False
    if one.failure not in _ON_THE_WAY:
        return one.site == other.site
    short, long = sorted((one.telling, other.telling), key=len)
    return _is_subsequence(short, long)


def _same_check(one: Identity, other: Identity) -> bool:
    """True if one function behind a legalization refuses both calls, which type inference accepts.

    The operands decide which condition of that function fails first.
    """
    if not all(LEGALIZATION in each.blamed and each.telling for each in (one, other)):
        return False
    return one.telling[-1] == other.telling[-1] and _throws_in(one) == _throws_in(other)


def _throws_in(identity: Identity) -> str:
    """The Python file that raises; empty if C++ raises."""
    return identity.last.rpartition(":")[0] if ".py" in identity.last else ""


def is_presumed(bug: Identity, report: Identity, made_of: Collection[str]) -> bool:
    """True if a report on a module that is not minimized presumably is the bug.

    Failure, blamed and site must agree, and the module must have all ingredients of the bug. A bug
    without ingredients shows on every module.

    Args:
        made_of: the ingredients of the module.
    """
    if bug.ingredients is None or not bug.ingredients <= set(made_of):
        return False
    return is_alike(bug, report)


def is_alike(one: Identity, other: Identity) -> bool:
    """True if failure, blamed and site agree; a minimizer keeps these."""
    return all(_agreements(one, other))


def same_ingredients(one: Identity, other: Identity) -> bool:
    """True if one needs all ingredients of the other.

    If either needs operator attributes or unknown types, both must share at least one of these. A
    bug that needs nothing agrees only with others that need nothing.
    """
    mine, its = one.ingredients, other.ingredients
    if mine is None or its is None:
        return False
    for kind in (_is_attribute, _OPEN.__contains__):
        if any(map(kind, mine | its)) and not any(map(kind, mine & its)):
            return False
    if not mine or not its:
        return mine == its
    return mine <= its or its <= mine


NO_TENSOR = "no tensor"
"""The operand is a number, a shape, a function or an object where code may expect a tensor."""

OPEN_SHAPE = "open shape"
"""The rank or a dimension of a tensor or shape is unknown or symbolic."""

OPEN_DTYPE = "unknown dtype"

_OPEN = frozenset({OPEN_SHAPE, OPEN_DTYPE})
"""Types that are not fully known."""

TYPES = _OPEN | {NO_TENSOR}
"""Types of operands other than fully known tensors."""


def _is_attribute(ingredient: str) -> bool:
    """True for an attribute of an operator; a minimized module has it only if its bug needs it."""
    return ingredient.startswith("relax.") and " " in ingredient


_INFERENCE = re.compile(r"^Infer[A-Z]\w*$")
"""Functions of type inference, which refuse calls that a pass has made."""

_PLACE = re.compile(r"^(.*):\d+ \((.*)\)$")


def _same_condition(one: str, other: str) -> bool:
    """True if equal; source places from different versions of TVM are compared by file only."""
    mine, its = _PLACE.match(one), _PLACE.match(other)
    if mine and its and mine[2] != its[2]:
        return mine[1] == its[1]
    return one == other


def _placed(one: Identity, other: Identity) -> bool:
    """True if the paths agree and a function that points to a cause is on both."""
    if not _same_way(one, other):
        return False
    if one.failure not in _ON_THE_WAY:
        return one.has_place and other.has_place
    return not set(one.telling).isdisjoint(other.telling)


def _is_much(one: Identity, other: Identity) -> bool:
    """True if the common ingredients are too many to be a coincidence."""
    common = (one.ingredients or frozenset()) & (other.ingredients or frozenset())
    return len(common) > 1


def _is_subsequence(short: Sequence[str], long: Sequence[str]) -> bool:
    rest = iter(long)
    return all(name in rest for name in short)


_HELPER = re.compile(
    r"^(?:(?:\w+::)*(\w+)::\1$"  # a constructor
    r"|ffi::|(?:\w+::)*operator_call$"
    r"|(?:Object|Expr|Stmt|StmtExpr)(?:Mutator|Visitor|Functor)\w*::(?!VisitExprDefault_)"
    r"|(?:\w+::)*DispatchNode$|runtime/|ir/(?:expr|utils|transform|_overload\w*|base)\.py:"
    r"|(?:\w+::)*(?:div|floordiv|floormod|indexdiv|indexmod|truncdiv|truncmod)$)"
)
"""Functions that raise on behalf of their callers. The default of a visitor is not among them: the
pass that reaches it lacks a case for a kind of node."""


def is_telling(name: str) -> bool:
    """True if the function points to a cause: it is not a helper, and few records share it."""
    return _HELPER.match(name) is None and name not in shared_functions()


SHARED = Path(__file__).with_name("shared_functions.txt")
"""Functions in the sites of several records; `make records` writes it."""


@functools.cache
def shared_functions() -> frozenset[str]:
    """The functions that do not point to a cause, since records of many bugs share them."""
    return frozenset(SHARED.read_text(encoding="utf-8").splitlines())
