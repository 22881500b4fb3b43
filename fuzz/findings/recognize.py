"""Known bugs in other words: a finding that no record covers by its key, and the reverse.

A key is what an oracle reports of a pass. One bug may be reported in another way than its record
says; then the modules tell. And another bug may be reported in just that way; then the module has
not what the reproducer of the record has.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from tvm import relax

from ...corpus.knowns import ANYTHING, Known
from ...corpus.reading import read_text
from ...generators.traits import Trait
from ...oracles.catalogue import catalogue, parts
from ...oracles.grades.rare import UNKNOWN_RANK
from ...oracles.metamorphic.scripted import TVMSCRIPT, is_cause
from ...oracles.passcall import bare_call
from ...oracles.pipelines import PIPELINES
from ...oracles.structural import interface
from ...oracles.tiers import ORACLES
from ...oracles.violation import Violation
from ..minimize.calls import PACKED
from ..process.executor import Executor, JobFailed, check, check_reproducers
from ..process.jobs import Check
from ..process.reproducers import CheckReproducers, Reproduced
from ..user_input.errors import UserError
from .confirm import DEATHS
from .dedup import causes
from .evidence import Evidence
from .finding import Finding
from .pattern import elements
from .rules import LEGALIZERS, OWN_PLACE, RULES, Rule, not_known, other_type

MOST = 32
"""Reproducers that a finding is compared with, those that have most in common with it first."""

FEW_RAISE_IT = 2
"""Known bugs with one message: what more bugs raise, tells little of any of them."""

FEW = 3
"""Known bugs that a finding may be, at the most."""


def recognized(executor: Executor, finding: Finding, knowns: Collection[Known]) -> Finding:
    """The finding, with the known bug that it is, or with those that it may be.

    It is a known bug if a record says that the legalization of an operator gives another type, and
    that is the cause of the finding. It is one if the module of the reproducer, under the passes of
    the finding, shows the same or has a cause in common with it, and the module of the finding
    shows what the record says: of the same pass, or of another one that raises the same. It is one,
    too, if the reproducer raises the same in the same place of a pass's own source, or of TVM's
    arithmetic, under a pass of either. Of a list of passes that all are needed, it is one if the
    first of them shows it. It may be one if only the module of the reproducer shows the same, or if
    that is made of the same as the finding's and fails in another way.

    Args:
        finding: with its evidence.
        knowns: those that may be it.

    Raises:
        ExecutorError: the harness failed at a check.
    """
    known = _by_type(finding, knowns) or _of_first_pass(executor, finding, knowns)
    if known is not None:
        return dataclasses.replace(finding, known=known.name, perhaps=())
    suspects = likely(finding, knowns)[:MOST]
    shown = reproduced(executor, finding, suspects)
    perhaps = [known for known, one in zip(suspects, shown, strict=True) if _shows(finding, one)]
    if len(perhaps) > FEW:  # so much the pass does to any module
        perhaps.clear()
    found = next((known for known in perhaps if _shown_by(executor, known, finding)), None)
    error, place = finding.violation.raised, finding.violation.place
    if found is None and error is not None and (error.analysis or OWN_PLACE.search(place)):
        found = next(
            (
                known
                for known, one in zip(suspects, shown, strict=True)
                if _same_words(known, finding)
                and (_raises_in_place(finding, one) or _raises_there(executor, known, finding))
            ),
            None,
        )
    if found is not None:
        return dataclasses.replace(finding, known=found.name, perhaps=())
    alike = [known for known, one in zip(suspects, shown, strict=True) if _fails_too(finding, one)]
    if len(alike) <= FEW:
        perhaps += [known for known in alike if known not in perhaps]
    return dataclasses.replace(finding, perhaps=tuple(known.name for known in perhaps))


def _by_type(finding: Finding, knowns: Iterable[Known]) -> Known | None:
    """The known bug that an operator is legalized to another type, which the finding comes of."""
    of_type = () if finding.evidence is None else other_type(finding, finding.evidence)
    signature = [
        (interface.SIGNATURE.name, name, interface.retyped(operator))
        for operator, _ in of_type
        for name in LEGALIZERS
    ]
    return next((known for known in knowns if any(map(known.matches, signature))), None)


def _of_first_pass(executor: Executor, finding: Finding, knowns: Iterable[Known]) -> Known | None:
    """The known bug that the first of several passes shows on the module, which a later one meets.

    The list has no pass that the finding does not need. The oracles that are asked are those that
    report the known bugs of the first pass.
    """
    if len(finding.calls) < 2:
        return None
    first = finding.calls[:1]
    of_first = [
        known
        for known in knowns
        if first[0].name in known.passes and known.name not in finding.unlike
    ]
    keys = [key for known in of_first for key in known.keys if key[1] == first[0].name]
    oracles = tuple(sorted({key[0] for key in keys} & ORACLES.keys()))
    if not oracles:
        return None
    violations = check(executor, Check(module=finding.module, calls=first, oracles=oracles))
    return next(
        (known for known in of_first if any(known.matches(one.full_key) for one in violations)),
        None,
    )


def unlike(
    executor: Executor, finding: Finding, knowns: Sequence[Known], every: Iterable[Known]
) -> tuple[str, ...]:
    """The names of the known bugs whose key the reduced finding has, and nothing else of them.

    It is like one if a trigger of the record is true for its module, or if it has all that one of
    the modules in the record's field `like` has, or if the module of the reproducer raises in the
    same place of TVM, under the passes of the finding or under another one of the record, or has a
    cause in the types of calls in common with it. It is unlike one whose reproducer raises the same
    in other places only, unless the record names its operator, or gives another type in another
    respect, or does without something that the finding needs and that tells
    (`_needs_something_else`). Where that does not tell, and what is raised is no message of a few
    bugs only, it is like one if it needs nothing that the reproducer does without, and the
    reproducer shows the same, or what one open key covers as well, with those attributes of
    operators only that it has, too; or, where the reproducer shows something else, if it has all
    that the reproducer has; but never if a trigger of the record is false for a module of PrimFuncs
    alone. For a legalization they have an operator in common, too, unless the record names that of
    the finding, or says that any will do.

    Args:
        finding: reduced, with its evidence; else none is unlike it, as where the key is the cause.
        knowns: those whose key it has.
        every: all known bugs.

    Raises:
        ExecutorError: the harness failed at a check.
    """
    key_tells = finding.oracle == TVMSCRIPT.name and is_cause(finding.key)
    if key_tells or not finding.reduced or finding.evidence is None:
        return ()
    known = [each for each in knowns if each.reproducer is not None]
    shown = reproduced(executor, finding, known)
    telling = _is_telling(finding, every)
    return tuple(
        each.name
        for each, one in zip(known, shown, strict=True)
        if not _triggered(each, finding)
        and (
            _needs_something_else(finding, one)
            or not (
                _resembles(executor, finding, each, one, telling=telling)
                or _raises_there(executor, each, finding)
            )
        )
    )


def _triggered(known: Known, finding: Finding) -> bool:
    """The module has what the record says that modules have on which the bug shows."""
    assert finding.evidence is not None
    if known.trigger is not None and known.trigger in finding.evidence.triggers:
        return True
    return known.shows_on(elements(finding.evidence.pattern, parameters=True))


def _is_telling(finding: Finding, every: Iterable[Known]) -> bool:
    """A message of TVM that at most a few bugs have, and not only a kind of difference."""
    if _HELPERS.search(finding.violation.place):
        return False
    message = finding.violation.raised is not None or (
        finding.oracle == TVMSCRIPT.name and len(finding.key) == 1
    )
    return message and sum(known.reports(finding.key) for known in every) <= FEW_RAISE_IT


def _resembles(
    executor: Executor, finding: Finding, known: Known, shown: Reproduced, *, telling: bool
) -> bool:
    mine, its = finding.evidence, shown.evidence
    if mine is None or its is None:  # the reproducer ends its process: nothing is known of it
        return True
    if _raises_in_place(finding, shown) or _has_cause_of(finding, shown, _OF_TYPES):
        return True
    if _retypes_otherwise(mine, its):
        return False
    same = _same(finding, shown)
    in_place = [each for each in same if each.place == finding.violation.place]
    if finding.violation.raised is not None and same and not in_place:
        # Another operator raises it elsewhere, as the record may say.
        disjoint = mine.legalized.isdisjoint(its.legalized)
        if not (_of_legalization(finding) and disjoint and _named(finding, known, mine)):
            return False
    if in_place and mine.unknowns and mine.unknowns == its.unknowns:
        return True
    if not _operators_alike(finding, known, mine, its):
        return False
    if telling:
        return not same or _attributes_alike(executor, finding, known, its)
    if known.trigger is not None and mine.has_only_prim_funcs and len(finding.calls) == 1:
        return False  # it is false for what the pass gets, and parts of PrimFuncs tell little
    # The operators that are legalized have been compared.
    others = {*mine.legalized, *its.legalized} if _of_legalization(finding) else set()
    my_parts, its_parts = set(mine.parts) - others, set(its.parts) - others
    if not same and (its_parts <= my_parts or not _same_to(known, finding, shown)):
        return its_parts <= my_parts
    # The minimizer makes a packed call of whatever will do.
    my_parts -= {PACKED, relax.ExternFunc.__name__}
    return my_parts <= its_parts and _attributes_alike(executor, finding, known, its)


def _needs_something_else(finding: Finding, shown: Reproduced) -> bool:
    """The finding, which is reduced, has what the reproducer does without, and that tells: types
    that leave something open, or arithmetic in PrimFuncs. Or each of them has what the other does
    without, an operator and a part, and what raises is no code of the pass.
    """
    mine, its = finding.evidence, shown.evidence
    if mine is None or its is None:
        return False
    if _OPEN.intersection(mine.rare) and not _OPEN.intersection(its.rare):
        return True
    arithmetic, others = mine.arithmetic, its.arithmetic
    if arithmetic - others and others - arithmetic:
        return True
    if finding.violation.raised is None or OWN_PLACE.search(finding.violation.place):
        return False
    return not {*mine.ops} <= {*its.ops} and not {*its.parts} <= {*mine.parts}


_OPEN = frozenset({Trait.INCOMPLETE_TYPES, UNKNOWN_RANK})
"""What is rare of modules whose types leave something open."""


def _retypes_otherwise(mine: Evidence, its: Evidence) -> bool:
    """A legalization of an operator gives another type than the call has, in another respect."""
    respects = dict(its.retyped)
    return any(respects.get(operator, respect) != respect for operator, respect in mine.retyped)


def _raises_in_place(finding: Finding, shown: Reproduced) -> bool:
    return any(_same_place(finding, violation) for violation in shown.violations)


def _same_place(finding: Finding, violation: Violation) -> bool:
    """Both raise in one place of TVM.

    In a legalization, that is one cause only where one function of an operator has led there.
    """
    mine, its, place = finding.violation.raised, violation.raised, finding.violation.place
    if not place or place != violation.place or _HELPERS.search(place):
        return False
    if mine is None or its is None or not mine.legalizes:
        return True
    return bool(mine.legalization) and mine.legalization == its.legalization


_HELPERS = re.compile(r"utils\.\w+:|\brelax/ir/transform\.cc:")
"""Functions that many call, and what all passes run through: what raises there tells nothing of the
caller's fault."""


def _operators_alike(finding: Finding, known: Known, mine: Evidence, its: Evidence) -> bool:
    """A legalization is of one operator: they have one in common, or the record says which."""
    key = known.expected(finding.full_key) or ()
    ops = its.legalized
    if not _of_legalization(finding) or not ops or any(map(_any_operator, key)):
        return True
    return not ops.isdisjoint(mine.legalized) or _named(finding, known, mine)


def _named(finding: Finding, known: Known, mine: Evidence) -> bool:
    """The record says that an operator of the finding shows the bug, too."""
    key = known.expected(finding.full_key) or ()
    said = set(re.findall(r"[\w.]*\w", " ".join((*key, known.what, *known.symptoms))))
    # Without "relax.", a name such as "negative" may be a word.
    names = {op.rpartition(".")[2] for op in mine.legalized}
    return not said.isdisjoint({*mine.legalized, *(n for n in names if re.search(r"[_\d]", n))})


def _of_legalization(finding: Finding) -> bool:
    """The pass legalizes all operators, or the legalization of one has raised the exception."""
    raised = finding.violation.raised
    return finding.pass_name in LEGALIZERS or (raised is not None and raised.legalizes)


def _any_operator(part: str) -> bool:
    """A part of a record's key stands for operators by the beginning of their names."""
    name = part.removesuffix(ANYTHING)
    return name != part and (not name or re.search(r"\brelax\.[\w.]*$", name) is not None)


def _attributes_alike(executor: Executor, finding: Finding, known: Known, its: Evidence) -> bool:
    """They need the same attributes: the reproducer has those of the finding, and shows the same
    without others.
    """
    assert finding.evidence is not None
    mine = tuple(name for name in finding.evidence.attributes if name not in _AXES)
    others = set(its.attributes) - _AXES
    if set(finding.evidence.ops).isdisjoint(its.ops) or set(mine) == others:
        return True
    if not set(mine) <= others:
        return False
    (less,) = reproduced(executor, finding, [known], attributes=(*mine, *sorted(_AXES)))
    return bool(_same(finding, less))


_OF_TYPES = tuple(rule for rule in RULES if rule.causes in (not_known, other_type))
"""Rules of what is wrong in the type of a call, which do not need the same operator or place."""

_AXES = frozenset({"axis", "axes"})
"""Attributes that have to fit the shapes: the minimizer may be unable to set their defaults."""


def _same(finding: Finding, shown: Reproduced) -> list[Violation]:
    return [each for each in shown.violations if each.full_key == finding.full_key]


def _same_to(known: Known, finding: Finding, shown: Reproduced) -> list[Violation]:
    """What differs only in what the key of the record leaves open, e.g. which effect is lost."""
    key = known.expected(finding.full_key)
    if key is None or finding.violation.raised is not None:
        return []
    return [each for each in shown.violations if known.expected(each.full_key) == key]


def _raises_there(executor: Executor, known: Known, finding: Finding) -> bool:
    """The module of the reproducer raises the same in the same place, under a pass of the record.

    It may be of no use under the finding's: that one may look for other operators.
    """
    for name in _same_words(known, finding) if finding.violation.place else ():
        job = CheckReproducers(
            files=(str(known.reproducer),),
            calls=(bare_call(name),),
            oracles=(finding.oracle,),
        )
        (shown,) = check_reproducers(executor, job)
        if _raises_in_place(finding, shown):
            return True
    return False


def _same_words(known: Known, finding: Finding) -> list[str]:
    """The passes of the record that report the same."""
    return [
        name
        for name in sorted(known.passes & catalogue.keys())
        if known.matches((finding.oracle, name, *finding.key))
    ]


def likely(finding: Finding, knowns: Iterable[Known]) -> list[Known]:
    """The knowns that share a pass, an operator or words with the finding, the likeliest first.

    The passes that ran are among its passes, even if something else is blamed; the compiler's own
    operators are among its operators.
    """
    mine = {finding.pass_name, *parts(finding.pass_name), *(call.name for call in finding.calls)}
    ops = set() if finding.evidence is None else finding.evidence.operators
    if finding.pass_name.startswith("relax."):
        ops.add(finding.pass_name)
    scores: dict[str, tuple[int, Known]] = {}
    for known in knowns:
        if known.reproducer is None:
            continue
        words = _words(known.reproducer)
        score = 3 * len(mine & known.passes | {*_same_words(known, finding)}) + sum(
            op.rpartition(".")[2] in words or op in known.passes for op in ops
        )
        if score:
            scores[known.name] = score, known
    return [
        known for _, known in sorted(scores.values(), key=lambda each: (-each[0], each[1].name))
    ]


@functools.cache
def _words(reproducer: Path) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", read_text(reproducer)))


def reproduced(
    executor: Executor,
    finding: Finding,
    knowns: Sequence[Known],
    *,
    attributes: tuple[str, ...] | None = None,
) -> list[Reproduced]:
    """What the module of each reproducer shows under the passes of the finding.

    Args:
        attributes: with only these attributes of operators; None: as it is.
    """
    job = CheckReproducers(
        files=tuple(str(known.reproducer) for known in knowns),
        calls=finding.calls,
        pipeline=finding.pipeline,
        oracles=None if finding.oracle in DEATHS else (finding.oracle,),
        exempt=finding.exempt,
        attributes=attributes,
        whole=finding.evidence is not None and bool(finding.evidence.retyped),
    )
    return check_reproducers(executor, job)


def _shows(finding: Finding, shown: Reproduced) -> bool:
    """The module of a reproducer shows the finding's violation, or has a cause in common."""
    return bool(_same(finding, shown)) or _has_cause_of(finding, shown, RULES)


def _fails_too(finding: Finding, shown: Reproduced) -> bool:
    """The module of a reproducer is made of the same as the finding's, and the same oracle reports
    something else of it.

    That says little of modules of one operator, which may have several bugs, unless types of both
    leave open what a legalization must know.
    """
    mine, its = finding.evidence, shown.evidence
    if mine is None or its is None or not shown.violations or not finding.reduced:
        return False
    if (mine.ops, mine.parts) != (its.ops, its.parts):
        return False
    needs_more_than_one = len(mine.ops) + len(mine.parts) > 1
    return needs_more_than_one or bool(mine.unknowns and mine.unknowns == its.unknowns)


def _has_cause_of(finding: Finding, shown: Reproduced, rules: Iterable[Rule]) -> bool:
    """A violation that the module of a reproducer shows has a cause in common with the finding."""
    own = {each.cause for each in causes(finding, rules) if each.sure}
    for violation in shown.violations:
        other = dataclasses.replace(finding, violation=violation, evidence=shown.evidence)
        if not own.isdisjoint(each.cause for each in causes(other, rules) if each.sure):
            return True
    return False


def _shown_by(executor: Executor, known: Known, finding: Finding) -> bool:
    """The finding's module shows what the record of the known says.

    Of another pass that has nothing to do with the finding's, it has to be the same exception.
    """
    raised = finding.violation.raised is not None
    for oracle, pass_name in dict.fromkeys((key[0], key[1]) for key in known.keys):
        same_words = known.matches((finding.oracle, pass_name, *finding.key))
        if not _related(pass_name, finding.pass_name) and not (raised and same_words):
            continue  # two passes that fail on one module mostly have a bug each
        job = _check_of(finding, oracle, pass_name)
        try:
            violations = check(executor, job) if job is not None else ()
        except (UserError, JobFailed):  # the pass needs arguments
            continue
        if any(known.matches(each.full_key) for each in violations):
            return True
    return False


def _related(one: str, other: str) -> bool:
    """The passes are one, or one runs the other, or both run a third; operators are of any."""
    if not {one, other} <= catalogue.keys():
        return True
    return not {one, *parts(one)}.isdisjoint({other, *parts(other)})


def _check_of(finding: Finding, oracle: str, pass_name: str) -> Check | None:
    """The check of the finding's module that may show a violation of the oracle by the pass.

    Where a list of passes found it, the pass is in the place of the last one.
    """
    oracles = None if oracle in DEATHS else (oracle,)
    calls, pipeline = finding.calls, finding.pipeline
    if pass_name in catalogue and pass_name != finding.pass_name:
        before = calls[:-1] if finding.blames_last else ()
        calls, pipeline = (*before, bare_call(pass_name)), None
    elif (name := pass_name.partition(" ")[0]) in PIPELINES:
        calls, pipeline = (), name
    if not calls and pipeline is None:
        return None
    return Check(module=finding.module, calls=calls, pipeline=pipeline, oracles=oracles)
