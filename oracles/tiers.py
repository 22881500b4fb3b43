"""Every oracle, in the order in which a check asks them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from .metamorphic import fresh_process, history, laws, oracles
from .on_device import oracle as on_device
from .oracle import About, Oracle
from .silence.log import Answer
from .structural import (
    crash,
    devices,
    idempotence,
    interface,
    lowering_complete,
    mutation,
    postcondition,
    reference,
    sequential,
    well_formed,
)
from .values import (
    effects,
    evaluated,
    executed,
    gradients,
    pipeline_values,
    sanitized,
)

STRUCTURAL: tuple[Oracle, ...] = (
    # Without a result there is nothing else to check.
    crash.ORACLE,
    # An ill-formed result explains every later failure on it.
    well_formed.ORACLE,
    # After a change of the input, every later run is on another module.
    mutation.ORACLE,
    # Results that vary from run to run cannot be compared with anything.
    sequential.DETERMINISTIC,
    sequential.REPEATABLE,
    sequential.SEQUENTIAL,
    interface.FUNCTIONS,
    interface.SIGNATURE,
    interface.ATTRIBUTES,
    # A second run completes work that the pass left undone: report the unfinished work, not both.
    postcondition.ORACLE,
    # A result that breaks the post-condition also differs from the right one: report the former.
    reference.ORACLE,
    # It reports calls that the pass leaves by design; the others report mistakes.
    lowering_complete.ORACLE,
    idempotence.ORACLE,
)
"""Tier 1: asked in every check."""

EVALUATED: tuple[Oracle, ...] = (
    # A fault in a PrimFunc explains wrong values that it computes.
    sanitized.ORACLE,
    evaluated.ORACLE,
    # Values that differ may also be printed.
    effects.ORACLE,
    gradients.ORACLE,
)
"""Tier 3: asked in nearly every check."""

EXECUTED: tuple[Oracle, ...] = (
    executed.ORACLE,
    pipeline_values.ORACLE,
    laws.ORACLE,
    # After all others, so that drawing one of these changes no earlier draw.
    *on_device.ORACLES,
)
"""Tier 4: asked of a sample."""

_ALL = (
    *STRUCTURAL,
    devices.ORACLE,
    *oracles.ORACLES,
    history.ORACLE,
    # `history` comes first, because it shows traces of an earlier module with that module.
    fresh_process.ORACLE,
    *EVALUATED,
    *EXECUTED,
)

ORACLES: Mapping[str, Oracle] = {oracle.name: oracle for oracle in _ALL}
"""All oracles by name, in that order."""

USUAL = tuple(name for name in ORACLES if name not in on_device.NAMES)
"""The names of the oracles that are asked by default: those that need no device."""


def compared(answers: Iterable[Answer], asked: Collection[str] | None = None) -> bool:
    """True if an oracle compared the result of the pass or the pipeline.

    Oracles that only compare runs count if no others were asked.

    Args:
        asked: the oracles that were named; None: the usual ones.
    """
    only = asked is not None and not any(map(_compares_results, asked))
    return any(
        answer.silent is None and (only or _compares_results(answer.oracle)) for answer in answers
    )


def _compares_results(name: str) -> bool:
    oracle = ORACLES[name]
    return oracle.about not in (About.RUN, About.RUNS) and oracle.tier != 2


assert len(ORACLES) == len(_ALL), "two oracles bear the same name"
