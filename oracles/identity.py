"""The identity of a bug: how it fails, who is blamed, where it goes wrong, what it needs.

One comparison decides whether two reports are of one bug: of a report and a known bug, of two
findings of a campaign, of a module and a smaller one. docs/known.md explains it to users. No field
holds the text of a message.
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
    """The result lacks a normal form, or TVM does not read what it has written."""
    UNSTABLE = "unstable"
    """The result depends on more than the module: on addresses, an order, names, history."""
    MUTATES = "mutates"
    """The input is changed, or state of the process."""
    ACCEPTED = "accepted"
    """An ill-formed module is not refused."""


_FIELD = re.compile(r"^\w+, \w+$")
"""Node and field in which two modules differ: no rule that was broken."""

_ON_THE_WAY = (FailureKind.RAISES, FailureKind.DIES)
"""Failures whose site is the way from the pass to the throw."""


class Sameness(enum.IntEnum):
    """Degrees of agreement of two identities."""

    OTHER = 0
    SIMILAR = 1
    SAME = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The fields by which a bug differs from others."""

    failure: FailureKind
    how: str = ""
    """The death of a process, e.g. "segfault"; else empty."""
    blamed: tuple[str, ...]
    """The pass, operator or function of TVM that is blamed. A record names all that show it."""
    site: tuple[str, ...] = ()
    """Functions from the pass to the throw, the innermost last; else what an oracle says is wrong,
    from the whole to the part."""
    condition: str = ""
    """See `Trace.condition`."""
    ingredients: frozenset[str] | None = None
    """See `ingredients`; None where the module was not looked at, or is not minimized."""

    @property
    def telling(self) -> tuple[str, ...]:
        """The functions of the site that point to a cause."""
        return tuple(name for name in self.site if is_telling(name))

    @property
    def has_place(self) -> bool:
        """The site alone tells the bug from others of the pass.

        A function on the way to the throw points to it, or an oracle has named the rule.
        """
        if self.failure in _ON_THE_WAY:
            return bool(self.telling)
        form = self.failure is FailureKind.FORM and bool(self.condition)
        return (
            form and _FIELD.match(self.condition) is None
        ) or self.failure is FailureKind.ACCEPTED


def compare(one: Identity, other: Identity) -> Sameness:
    """The agreement of two identities.

    Same: failure, blamed and site agree and, where the site has no place of its own, the
    ingredients. Similar: the site agrees and another pass is blamed, or blamed and ingredients
    agree and no site contradicts.
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
    """The agreement of failures, of who is blamed, and of sites."""
    failure = (one.failure, one.how) == (other.failure, other.how)
    return failure, not set(one.blamed).isdisjoint(other.blamed), same_site(one, other)


def distinction(one: Identity, other: Identity) -> str:
    """The difference between two identities, for people."""
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
    return "; ".join(found)


def same_site(one: Identity, other: Identity) -> bool:
    """The conditions agree, and one way has all telling functions of the other, in their order; or
    one function refuses what a legalization calls it with.

    A build with symbols names functions that a release leaves out.
    """
    return _same_way(one, other) or _same_check(one, other)


def _same_way(one: Identity, other: Identity) -> bool:
    if not _same_condition(one.condition, other.condition):
        return False
    if one.failure not in _ON_THE_WAY:
        return one.site == other.site
    short, long = sorted((one.telling, other.telling), key=len)
    return _is_subsequence(short, long)


def _same_check(one: Identity, other: Identity) -> bool:
    """Type inference lets a call through that the code behind its legalization refuses: which
    condition of the function that does so is the first to fail, depends on the operands."""
    if not all(LEGALIZATION in each.blamed and each.telling for each in (one, other)):
        return False
    return one.telling[-1] == other.telling[-1] and _throws_in(one) == _throws_in(other)


def _throws_in(identity: Identity) -> str:
    """The file of Python that raises; empty where C++ does."""
    return identity.site[-1].rpartition(":")[0] if ".py" in identity.site[-1] else ""


def is_presumed(bug: Identity, report: Identity, made_of: Collection[str]) -> bool:
    """A report on a module that is not minimized is presumed to be the bug.

    Failure, blamed and site agree; and the module has all that the bug needs. A bug that needs
    nothing shows on every module.

    Args:
        made_of: the ingredients of the module.
    """
    if bug.ingredients is None or not bug.ingredients <= set(made_of):
        return False
    return is_alike(bug, report)


def is_alike(one: Identity, other: Identity) -> bool:
    """Failure, blamed and site agree; what a minimizer keeps."""
    return all(_agreements(one, other))


def same_ingredients(one: Identity, other: Identity) -> bool:
    """The one needs all that the other needs, with an attribute of an operator and an open type in
    common if either needs one.

    A module that needs nothing is like no other one that needs something.
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
"""A number, a shape, a function or an object: code that expects tensors meets something else."""

OPEN_SHAPE = "open shape"
"""A tensor or shape of which the rank or a dimension is not known, or is symbolic."""

OPEN_DTYPE = "unknown dtype"

_OPEN = frozenset({OPEN_SHAPE, OPEN_DTYPE})
"""Types that leave something open."""

TYPES = _OPEN | {NO_TENSOR}
"""Types of operands other than of a tensor of which all is known."""


def _is_attribute(ingredient: str) -> bool:
    """An attribute of an operator: a minimized module has it only if its bug needs it."""
    return ingredient.startswith("relax.") and " " in ingredient


_PLACE = re.compile(r"^(.*):\d+ \((.*)\)$")


def _same_condition(one: str, other: str) -> bool:
    """Equal; places in the source of two versions of TVM are compared by their files."""
    mine, its = _PLACE.match(one), _PLACE.match(other)
    if mine and its and mine[2] != its[2]:
        return mine[1] == its[1]
    return one == other


def _placed(one: Identity, other: Identity) -> bool:
    """A function that points to a cause is on both ways, which agree."""
    if not _same_way(one, other):
        return False
    if one.failure not in _ON_THE_WAY:
        return one.has_place and other.has_place
    return not set(one.telling).isdisjoint(other.telling)


def _is_much(one: Identity, other: Identity) -> bool:
    """So many ingredients in common are no chance."""
    common = (one.ingredients or frozenset()) & (other.ingredients or frozenset())
    return len(common) > 1


def _is_subsequence(short: Sequence[str], long: Sequence[str]) -> bool:
    rest = iter(long)
    return all(name in rest for name in short)


_HELPER = re.compile(
    r"^(?:(?:\w+::)*(\w+)::\1$"  # a constructor
    r"|ffi::|(?:\w+::)*operator_call$|(?:Object|Expr|Stmt|StmtExpr)(?:Mutator|Visitor|Functor)\w*::"
    r"|(?:\w+::)*DispatchNode$|runtime/|ir/(?:expr|utils|transform|_overload\w*|base)\.py:"
    r"|(?:\w+::)*(?:div|floordiv|floormod|indexdiv|indexmod|truncdiv|truncmod)$)"
)
"""Functions that raise on behalf of whoever calls them."""


def is_telling(name: str) -> bool:
    """The function points to a cause: it is no helper, and few records share it."""
    return _HELPER.match(name) is None and name not in shared_functions()


SHARED = Path(__file__).with_name("shared_functions.txt")
"""Functions in the sites of several records; `make records` writes it."""


@functools.cache
def shared_functions() -> frozenset[str]:
    """The functions that point to no cause, since records of many bugs have them."""
    return frozenset(SHARED.read_text(encoding="utf-8").splitlines())
